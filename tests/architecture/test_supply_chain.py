"""What releases are made of is pinned twice, by version and by hash, and watched for advisories."""

import re
import runpy
import shutil
import subprocess
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


PACKAGE_INDEX = re.compile(
    r"\b(pypi|pythonhosted|npmjs|anaconda|rubygems|packagist|yarnpkg)\.(org|com)\b|\bcrates\.io\b"
    r"|\b(deb|ftp)\.debian\.org\b|\bproxy\.golang\.org\b|--(extra-)?index-url\b",
    re.IGNORECASE,
)


def test_no_file_names_the_host_of_a_package_index():
    """Where packages come from is the user's setting, and a mirror is as good."""
    git = [shutil.which("git"), "-C", ROOT, "ls-files", "-z"]
    tracked = subprocess.run(git, capture_output=True, text=True, check=True).stdout.split("\0")
    found = {
        name: match[0]
        for name in filter(None, tracked)
        if (ROOT / name).is_file()
        and (match := PACKAGE_INDEX.search((ROOT / name).read_text(errors="replace")))
    }
    assert found == {}


@pytest.mark.parametrize("host", ["pypi", "files.pythonhosted", "registry.npmjs"])
def test_a_host_of_a_package_index_is_found(host):
    assert PACKAGE_INDEX.search(f"see https://{host}.org/project/judgelaw/")


def test_project_urls_start_from_the_repository_that_a_release_names(monkeypatch):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    assert "urls" in project["project"]["dynamic"]
    path = ROOT / project["tool"]["hatch"]["metadata"]["hooks"]["custom"]["path"]
    hook = runpy.run_path(str(path))["ProjectUrls"](str(ROOT), {})

    def written(repository):
        monkeypatch.setenv("REPOSITORY", repository)
        metadata = {}
        hook.update(metadata)
        return metadata["urls"]

    urls = written("https://git.example/team/judgelaw.git")
    assert urls["Repository"] == "https://git.example/team/judgelaw"
    assert set(urls) == {"Repository", "Issues", "Changelog", "Documentation"}
    assert all(url.startswith(urls["Repository"]) for url in urls.values())
    assert written("") == {}
    for wrong in ("git@git.example:team/judgelaw", "https://me:key@git.example/x", "here"):
        with pytest.raises(ValueError, match="the address that people open"):
            written(wrong)


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
