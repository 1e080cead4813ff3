"""Fields of a record by dotted path, and what they are as text."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Final

from judgelaw.errors import TableError
from judgelaw.judges.text import storable

MISSING: Final = object()
_SHOWN = 12


def find(value: Any, path: str) -> Any:
    """Descend a dotted path; a key that has dots itself is found as well, a number picks an entry.

    >>> find({"scores": {"a.b": {"value": [7]}}}, "scores.a.b.value.0")
    7
    """
    if isinstance(value, list):
        head, _, tail = path.partition(".")
        if not head.isdecimal() or int(head) >= len(value):
            return MISSING
        return find(value[int(head)], tail) if tail else value[int(head)]
    if not isinstance(value, Mapping):
        return MISSING
    if path in value:
        return value[path]
    head, dot, tail = path.rpartition(".")
    while dot:
        if head in value:
            return find(value[head], tail)
        head, dot, more = head.rpartition(".")
        tail = f"{more}.{tail}"
    return MISSING


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping as it is, an empty one in the place of anything else."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings in a list, none where it is no list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """Return a single value as text, None for nothing and for what is no single value."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | float):
        return str(value)
    return storable(value)


def need(record: Mapping[str, Any], path: str, *, part: str, place: str) -> str:
    """Return the text of the field that the user named for a part, or say what is there."""
    value = find(record, path)
    if value is MISSING:
        paths = list(_paths(record))
        near = get_close_matches(path, paths, n=1) or get_close_matches(
            path.rpartition(".")[2], paths, n=1
        )
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        listed = ", ".join(paths[:_SHOWN]) + (", ..." if len(paths) > _SHOWN else "")
        raise TableError(f"{place}: no field {path!r} for the {part}{hint}; there are {listed}")
    text = as_text(value)
    if text is None or not text.strip():
        kind = "empty" if value is None or text is not None else f"a {type(value).__name__}"
        raise TableError(
            f"{place}: field {path!r} for the {part} is {kind}; name a field with one value"
        )
    return text.strip()


def scalars(record: Any, names: Iterable[str]) -> dict[str, str]:
    """Return the named fields of a record that hold a single value."""
    if not isinstance(record, Mapping):
        return {}
    found = {name: as_text(record.get(name)) for name in names}
    return {name: text.strip() for name, text in found.items() if text and text.strip()}


def _paths(value: Any, prefix: str = "") -> Iterable[str]:
    """Give the paths of single values, those of mappings only."""
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _paths(inner, f"{prefix}{key}.")
        elif as_text(inner) is not None:
            yield f"{prefix}{key}"
