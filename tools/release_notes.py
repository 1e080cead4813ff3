# ruff: noqa: INP001 - a script, not part of a package
"""Print what a release says of itself: the section of CHANGELOG.md that its tag names.

python tools/release_notes.py v0.2.0

Ends with an error where the tag, the version of the source, CITATION.cff and a dated section of the
changelog do not all say the same.
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def notes(tag: str, root: Path = ROOT) -> str:
    """Return the section of the changelog for a tag.

    Raises:
        SystemExit: the tag, the source, the citation and the changelog do not agree.
    """
    version = tag.removeprefix("v")
    source = (root / "src" / "judgelaw" / "__init__.py").read_text()
    stated = re.search(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    if not stated or stated[1] != version:
        raise SystemExit(f"{tag}: __version__ is {stated[1] if stated else 'not there'}")
    if f"\nversion: {version}\n" not in (root / "CITATION.cff").read_text():
        raise SystemExit(f"{tag}: CITATION.cff has another version")
    sections = re.split(r"^## ", (root / "CHANGELOG.md").read_text(), flags=re.MULTILINE)[1:]
    for section in sections:
        heading, _, body = section.partition("\n")
        if re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", heading):
            return body.strip() + "\n"
    raise SystemExit(f"{tag}: CHANGELOG.md has no section `## {version} (YYYY-MM-DD)`")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [tag]:
            sys.stdout.write(notes(tag))
        case _:
            raise SystemExit(__doc__)
