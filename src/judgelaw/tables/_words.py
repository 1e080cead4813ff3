"""Words for messages: lists cut to a readable length, near misses, plurals."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_LISTED_AT_MOST = 20


def listed(names: Sequence[str]) -> str:
    """Quote the names, the first ones only where there are many."""
    shown = ", ".join(repr(name) for name in names[:_LISTED_AT_MOST]) or "nothing"
    more = len(names) - _LISTED_AT_MOST
    return f"{shown} and {more} more" if more > 0 else shown


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Name the nearest of the names in brackets, or nothing."""
    near = get_close_matches(word, list(names), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def counted(n: int, noun: str) -> str:
    """Write `1 row`, `2 rows`."""
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
