# ruff: noqa: INP001 - a script, not part of a package
"""Write constraints-hashed.txt: the versions of constraints.txt with the hashes of their files.

    python tools/hash_constraints.py

It asks pip which file it would install for each Python on Linux (x86-64), where releases are built
and tested, and takes down the hash of each. The file serves `pip install --require-hashes`; an
editable install, which has no hash, keeps to constraints.txt.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]
PLAIN, HASHED = ROOT / "constraints.txt", ROOT / "constraints-hashed.txt"
PYTHONS = ("3.11", "3.12", "3.13")
PLATFORMS = ("manylinux2014_x86_64", "manylinux_2_28_x86_64", "manylinux_2_34_x86_64")
SOURCE_ONLY = ("pyspark",)
"""Published without a wheel: the source archive is the file."""

HEAD = f"""\
# The versions of {PLAIN.name} with the hashes of their files on Linux (x86-64),
# for Python {", ".join(PYTHONS)}. Made by tools/{Path(__file__).name}. To install exactly these:
#   pip install --require-hashes --no-deps -r {HASHED.name}
"""


def main() -> None:
    """Write the file."""
    pins = PLAIN.read_text().split()
    found: dict[str, set[str]] = defaultdict(set)
    for pin in (p for p in pins if _name(p) in SOURCE_ONLY):
        found[pin].add(_source_hash(pin))
    wheels = [pin for pin in pins if _name(pin) not in SOURCE_ONLY]
    for python in PYTHONS:
        for pin, digest in _wheel_hashes(wheels, python).items():
            found[pin].add(digest)
    HASHED.write_text(HEAD + "".join(_entry(pin, found[pin]) for pin in pins))


def _entry(pin: str, digests: set[str]) -> str:
    return " \\\n    ".join([pin, *(f"--hash=sha256:{d}" for d in sorted(digests))]) + "\n"


def _wheel_hashes(pins: list[str], python: str) -> dict[str, str]:
    """Ask pip what it would install, without installing it."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        platforms = [option for name in PLATFORMS for option in ("--platform", name)]
        _pip(
            *("install", "--dry-run", "--ignore-installed", "--no-deps", "--target", folder),
            # The newest patch of each: some packages leave out the first ones.
            *("--only-binary", ":all:", "--python-version", f"{python}.99", *platforms),
            *("--report", str(report), *pins),
        )
        entries = json.loads(report.read_text())["install"]
    by_name = {_name(pin): pin for pin in pins}
    return {
        by_name[_name(entry["metadata"]["name"])]: entry["download_info"]["archive_info"]["hashes"][
            "sha256"
        ]
        for entry in entries
    }


def _source_hash(pin: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        _pip("download", "--no-deps", "--no-binary", _name(pin), "--dest", folder, pin)
        (archive,) = Path(folder).iterdir()
        said = _pip("hash", "--algorithm", "sha256", str(archive))
    return said.strip().rpartition("sha256:")[2]


def _name(pin: str) -> str:
    """Return a package's name in the one form that pip compares."""
    return pin.partition("==")[0].lower().replace("_", "-").replace(".", "-")


def _pip(*arguments: str) -> str:
    """Run pip without a user's own indexes: hashes must be those of the public files."""
    private = ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL")
    plain = {name: value for name, value in os.environ.items() if name not in private}
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", *arguments],
        env={**plain, "PIP_CONFIG_FILE": os.devnull},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


if __name__ == "__main__":
    main()
