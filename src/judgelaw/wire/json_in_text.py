"""The first JSON object in a text that has words around it, found in linear time."""

import json
import re
from collections.abc import Iterator
from typing import Any

_DECODER = json.JSONDecoder()
_DEEPEST = 400
"""Levels of JSON that are decoded: fewer than any stack of Python allows."""
_STRING = r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
_VALUE = (
    rf"(?P<object>\{{)|(?P<array>\[)|(?P<scalar>{_STRING}|true|false|null|NaN|-?Infinity|"
    r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)"
)
_KEY = rf"(?P<key>{_STRING}[ \t\n\r]*:)"
_TOKENS = {
    expected: re.compile(rf"[ \t\n\r]*(?:{choice})")
    for expected, choice in {
        "value": _VALUE,
        "first value": rf"(?P<end>\])|{_VALUE}",
        "key": _KEY,
        "first key": rf"(?P<end>\}})|{_KEY}",
        "rest of object": r"(?P<comma>,)|(?P<end>\})",
        "rest of array": r"(?P<comma>,)|(?P<end>\])",
    }.items()
}
"""What JSON may hold next, by what came before; as Python's decoder has it."""


def first_object(text: str) -> Any:
    """Decode the first JSON object in a text that may have words or a fence around it.

    One that is nested too deeply is passed over, as one that is no JSON is.
    """
    for start in _object_starts(text):
        try:
            return _DECODER.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            continue
    return None


def _object_starts(text: str) -> Iterator[int]:
    """Yield where a whole object starts: the first brace on trust, then those that were read.

    Decoding from every brace would take quadratic time. One pass from a brace tells of all the
    braces that it meets whether their objects are whole: those still open where it fails are not.
    Only braces inside its strings need a pass of their own, so that no character is seen by more
    than two.
    """
    start = text.find("{")
    if start == -1:
        return
    yield start
    known: dict[int, bool] = {}
    while start != -1:
        if start not in known:
            _survey(text, start, known)
        if known[start]:
            yield start
        start = text.find("{", start + 1)


def _survey(text: str, start: int, known: dict[int, bool]) -> None:
    """Read JSON from a brace on; note for each brace met whether a whole object starts there."""
    opened: list[tuple[int, int]] = []
    """Where each container that is still open starts, and how deep it is so far."""
    place, expected = start, "value"
    while True:
        token = _TOKENS[expected].match(text, place)
        if token is None:
            break
        place, what = token.end(), token.lastgroup or ""
        if what in {"object", "array"}:
            opened.append((token.end() - 1, 1))
        elif what == "end":
            where, depth = opened.pop()
            known[where] = depth <= _DEEPEST
            if not opened:
                return
            above, so_far = opened[-1]
            opened[-1] = (above, max(so_far, depth + 1))
        inside = opened[-1][0]
        expected = _after(what, in_object=text[inside] == "{")
    known.update((where, False) for where, _ in opened)
    known.setdefault(start, False)


def _after(what: str, *, in_object: bool) -> str:
    """Say what may follow a token of JSON."""
    if what == "object":
        return "first key"
    if what == "array":
        return "first value"
    if what == "key":
        return "value"
    if what == "comma":
        return "key" if in_object else "value"
    return "rest of object" if in_object else "rest of array"
