"""JSON as it comes from outside: any number, any depth, and no field that costs the others.

A reply was paid for. What its optional fields hold must not keep its text from being read: a number
that is too long for Python counts as infinite, and what is nested too deep is left out.
"""

import json
import re
from typing import Any

from judgelaw.words import count, storable

DEEPEST = 100
"""Objects and lists within each other; what lies deeper is read as null."""
_MOST_DIGITS = 400
"""Of a whole number; longer ones are beyond every count, and Python refuses very long ones."""
_LONG = 10**15
_NO_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}]', re.DOTALL)


def json_value(content: bytes) -> Any:
    """Read JSON.

    Raises:
        ValueError: it is none, or no UTF-8.
    """
    text = shallow(content).decode("utf-8")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # a whole number of thousands of digits
        return json.loads(text, parse_int=_whole)


def shallow(content: bytes) -> bytes:
    """Return JSON with null for what is nested too deep; the same bytes where nothing is."""
    if not _may_be_deep(content):
        return content
    kept, depth, at = [], 0, 0
    for token in _TOKEN.finditer(content):
        mark = token[0]
        if mark in b"[{":
            depth += 1
            if depth == DEEPEST + 1:
                kept += [content[at : token.start()], b"null"]
        elif mark in b"]}":
            depth -= 1
            if depth == DEEPEST:
                at = token.end()
    if not kept:
        return content
    # What is cut off inside the deep part stays cut off, and is no JSON.
    return b"".join([*kept, content[at:]]) if depth <= DEEPEST else b""


def _may_be_deep(content: bytes) -> bool:
    """Whether brackets may be nested too deep; a look at each of them takes longer than this."""
    if content.count(b"[") + content.count(b"{") <= DEEPEST:
        return False
    brackets = content.translate(None, _NO_BRACKETS)
    for _ in range(DEEPEST):
        inner = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(inner) == len(brackets):
            break
        brackets = inner
    return len(brackets) > DEEPEST


def _whole(digits: str) -> int | float:
    return int(digits) if len(digits) <= _MOST_DIGITS else float(digits)


def shown(value: Any) -> str:
    """Say in a few words what a value is that should be something else.

    >>> shown(float("nan")), shown({"a": 1}), shown("A"), shown(-3)
    ('NaN', 'an object', 'a text', '-3')
    """
    if isinstance(value, str | list | dict):
        return {str: "a text", list: "a list", dict: "an object"}[type(value)]
    if isinstance(value, int) and abs(value) >= _LONG:
        return "a number of over 15 digits"
    return json.dumps(value)


class FieldReader:
    """Reads optional fields of a reply: one that is not what it should be is missing, with why."""

    __slots__ = ("_unread",)

    def __init__(self) -> None:
        self._unread: dict[str, str] = {}

    @property
    def unread(self) -> tuple[tuple[str, str], ...]:
        """The fields that could not be read, each with the reason."""
        return tuple(self._unread.items())

    def cannot(self, field: str, why: str) -> None:
        """Note that a field is missing although something stands there; the first reason stays."""
        self._unread.setdefault(field, why)

    def text(self, holder: dict[str, Any], key: str, within: str = "") -> str | None:
        """Return a text."""
        value = holder.get(key)
        if value is None or isinstance(value, str):
            return storable(value)
        self.cannot(within + key, f"{shown(value)}, where a text belongs")
        return None

    def count(self, holder: dict[str, Any], key: str, within: str = "") -> int | None:
        """Return a number from 0 on."""
        value = holder.get(key)
        found = count(value)
        if found is None and value is not None:
            self.cannot(within + key, f"{shown(value)}, where a whole number from 0 on belongs")
        return found

    def object(self, holder: dict[str, Any], key: str, within: str = "") -> dict[str, Any]:
        """Return an object; an empty one where there is none."""
        value = holder.get(key)
        if isinstance(value, dict):
            return value
        if value is not None:
            self.cannot(within + key, f"{shown(value)}, where an object belongs")
        return {}
