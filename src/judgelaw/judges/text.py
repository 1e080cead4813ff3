"""Foreign text on its way in: storable, printable, of bounded length."""

from typing import Any

_LARGEST = 2**53
_WORDS = 600


def storable(value: Any) -> str | None:
    """Return a string without lone surrogates, which no database takes; None for anything else."""
    if not isinstance(value, str):
        return None
    if value.isascii():
        return value
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return value


def count(value: Any) -> int | None:
    """Return a number of tokens, None for anything that is none."""
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST:
        return value
    return None


def words(text: str) -> str:
    """Make a provider's words safe to print and to keep: no control characters, not too long."""
    clean = "".join(c if c.isprintable() else " " for c in (storable(text) or ""))
    short = " ".join(clean.split())
    return short if len(short) <= _WORDS else f"{short[:_WORDS]}... ({len(text)} characters)"
