"""Every number of the analysis of a dozen small tables, as it was: a changed digit fails.

The file holds, for each table and each part of its document, how many numbers there are, how many
are null, and their sum with weights of their own keys, so that no two changes cancel. What the
answer says has its own tests. After a change on purpose, in tests/:

    PYTHONPATH=. python golden/test_numbers.py
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.small_worlds import analysed, unit, worlds

FILE = Path(__file__).with_name("numbers.json")
ANSWER = {"answer", "sentence", "short", "trust", "to_do", "best", "version"}
DIGITS = 1e-12
DEPTH = {"judges": 3, "layers": 4, "tables": 2}
"""Keys that name a part."""


def parts(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...], Any]]:
    """Yield every leaf of a document: its part, its keys, its value."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in ANSWER:
                yield from parts(inner, (*path, key))
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from parts(inner, (*path, str(at)))
    else:
        yield _part(path), path, value


def _part(path: tuple[str, ...]) -> str:
    """Name the part of a document that a key is in: of a judge one below its name."""
    at = DEPTH.get(path[0], 1) + (2 if path[2:3] == ("criteria",) else 0)
    return ".".join(path[:at])


def signature(document: dict[str, Any]) -> dict[str, list[float]]:
    """Return numbers, nulls and the weighted sum of each part."""
    found: dict[str, list[float]] = {}
    for part, path, value in parts(document):
        told = found.setdefault(part, [0, 0, 0.0])
        if value is None:
            told[1] += 1
        elif isinstance(value, int | float) and not isinstance(value, bool):
            told[0] += 1
            told[2] += (0.5 + unit(*path)) * value
    return found


@pytest.mark.parametrize("name", worlds())
def test_every_number_is_as_it_was(name):
    known = json.loads(FILE.read_text())[name]
    found = signature(analysed(worlds()[name]).to_json())
    assert list(found) == list(known)
    for part, (numbers, nulls, total) in found.items():
        assert (numbers, nulls) == tuple(known[part][:2]), part
        assert total == pytest.approx(known[part][2], rel=DIGITS, abs=DIGITS), part


def test_a_changed_digit_is_found():
    document = analysed(worlds()["one call"]).to_json()
    before = signature(document)
    document["judges"]["j"]["changes"]["reword"]["estimate"] += 1e-10
    part = "judges.j.changes"
    assert signature(document)[part] != pytest.approx(before[part], rel=DIGITS, abs=DIGITS)


if __name__ == "__main__":
    told = {name: signature(analysed(world).to_json()) for name, world in worlds().items()}
    lines = [f"{json.dumps(name)}: {json.dumps(found)}" for name, found in told.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")
