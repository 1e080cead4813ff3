"""Words for messages, and text written by others on its way in and out.

Text written by others: shown as it is, but without the power to reorder or hide what is near.

A completion, a prompt or an item id may hold control characters, direction overrides and lone
surrogates. Each is replaced by its visible code point, so that a reader sees that it is there.
"""

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
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


_AROUND = " \t\r\n`*_\"'“”‘’«»[](){}<>.,:;!?"


def bare(word: str) -> str:
    """Return a word without case, blanks, and the brackets, quotes and marks around it.

    >>> bare(" [[A]]."), bare("'Tie'"), bare("<")
    ('a', 'tie', '<')
    """
    return (word.strip(_AROUND) or word.strip()).casefold()


def words(text: str) -> str:
    """Make a provider's words safe to print and to keep: no control characters, not too long."""
    clean = "".join(c if c.isprintable() else " " for c in (storable(text) or ""))
    short = " ".join(clean.split())
    return short if len(short) <= _WORDS else f"{short[:_WORDS]}... ({len(text)} characters)"


_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls except tab and newline
    "\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # direction, width, joins
    "\ud800-\udfff\ufffe\uffff]"  # surrogates without a partner, noncharacters
)


def visible(text: str) -> str:
    """Replace what cannot be seen by its code point, `<U+202E>` in angle brackets."""
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def visible_json(text: str) -> str:
    """Write what cannot be seen as JSON escapes, which leave the meaning of JSON as it is."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"


def shortened(text: str, length: int) -> str:
    """Cut a label to `length` characters in its middle: ends of names tell them apart."""
    if len(text) <= length:
        return text
    head = length // 2
    return text[:head] + ELLIPSIS + text[len(text) - (length - head - 1) :]


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


def plain_number(value: float) -> str:
    """Write a score in plain digits: `4`, not `4.0`."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


_SIDES = {"pairwise": ("candidate_1", "candidate_2"), "pointwise": ("answer",)}
_LAYER = "probe"


def sides(task: str) -> tuple[str, ...]:
    """Return what a probe changes in turn: each candidate, or the one answer."""
    return _SIDES[task]


def probe_layer(probe: str, side: str) -> str:
    """Name the layer of the calls about one changed side: `probe.longer.candidate_1`."""
    return f"{_LAYER}.{probe}.{side}"


def probed_by(layer: str | None) -> tuple[str, str] | None:
    """Return the probe and the side of a layer by its name; None for any other layer."""
    first, _, rest = (layer or "").partition(".")
    probe, _, side = rest.rpartition(".")
    known = {name for names in _SIDES.values() for name in names}
    return (probe, side) if first == _LAYER and probe and side in known else None
