"""What releases are made of is pinned twice, by version and by hash, and watched for advisories."""

import re
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.!+]+")
HASH = re.compile(r"--hash=sha256:[0-9a-f]{64}")


def entries(name: str) -> dict[str, list[str]]:
    """Read a constraints file: what follows each pin."""
    text = (ROOT / name).read_text().replace("\\\n", " ")
    lines = [line.split() for line in text.splitlines() if line and not line.startswith("#")]
    assert len({line[0] for line in lines}) == len(lines), "a pin stands there twice"
    return {pin: rest for pin, *rest in lines}


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.fixture(scope="module")
def plain():
    return entries("constraints.txt")


@pytest.fixture(scope="module")
def hashed():
    return entries("constraints-hashed.txt")


def test_both_files_name_the_same_versions(plain, hashed):
    assert list(plain) == list(hashed), "run python tools/hash_constraints.py"
    assert all(PIN.fullmatch(pin) for pin in plain)


def test_every_version_has_its_hashes_and_nothing_else(plain, hashed):
    assert not any(plain.values())
    for pin, rest in hashed.items():
        assert rest, f"{pin} has no hash"
        assert all(HASH.fullmatch(word) for word in rest), pin
        assert len(set(rest)) == len(rest), pin


def test_no_constraints_file_names_a_host():
    for name in ("constraints.txt", "constraints-hashed.txt"):
        assert "://" not in (ROOT / name).read_text()


def test_everything_that_the_project_asks_for_is_pinned(plain):
    pinned = {canonical(pin.partition("==")[0]) for pin in plain}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    # inspect-ai is the host of its own extension: who uses it has it, in the version they want.
    asked = [
        *project["dependencies"],
        *(a for name, e in extras.items() if name != "inspect" for a in e),
    ]
    names = {canonical(re.split(r"[^A-Za-z0-9._-]", line)[0]) for line in asked}
    assert names - {"judgelaw"} <= pinned


def test_advisories_are_looked_up_every_week():
    workflow = YAML(typ="safe").load((ROOT / ".github/workflows/advisories.yml").read_text())
    assert workflow["on"]["schedule"]
    assert workflow["permissions"] == {"contents": "read"}
    steps = workflow["jobs"]["audit"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert "pip-audit --strict --require-hashes --disable-pip -r constraints-hashed.txt" in commands
    for step in steps:
        if "uses" in step:
            assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]), "pin actions by commit"
