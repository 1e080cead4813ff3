"""Words for messages, and text written by others on its way in and out.

Text written by others: shown as it is, but without the power to reorder or hide what is near.

A completion, a prompt or an item id may hold control characters, direction overrides and lone
surrogates. Each is replaced by its visible code point, so that a reader sees that it is there.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from itertools import product
from typing import Any, Self

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
    if text.isprintable():  # nothing in it is of the kinds below, and this is ten times as fast
        return text
    return _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text.replace("\r\n", "\n"))


def visible_json(text: str) -> str:
    """Write what cannot be seen as JSON escapes, which leave the meaning of JSON as it is."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


_RUN = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a formula starts; some spreadsheets take the wide forms of East Asian type for the same."""
_NUMBER = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?(?:e[-+]?[0-9]+)?", re.ASCII)


def inert(text: str, *, reversible: bool = False) -> str:
    """Put an apostrophe before a text that a spreadsheet would run as a formula.

    Args:
        text: any text.
        reversible: whether `active` must find the text again: one that begins with apostrophes and
            goes on as a formula gets one more.

    >>> inert("=1+1"), inert("-1.5"), inert("'=1"), inert("'=1", reversible=True)
    ("'=1+1", '-1.5', "'=1", "''=1")
    """
    return f"'{text}" if _runs(text.lstrip("'") if reversible else text) else text


def active(text: str) -> str:
    """Return the text that `inert` made reversibly.

    >>> active("'=1+1"), active("''=1"), active("'tis")
    ('=1+1', "'=1", "'tis")
    """
    return text[1:] if text.startswith("'") and _runs(text.lstrip("'")) else text


def _runs(text: str) -> bool:
    return text.startswith(_RUN) and not _NUMBER.fullmatch(text)


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


def joined(parts: Sequence[str], last: str = "and") -> str:
    """Join parts of a sentence.

    >>> joined(["a", "b", "c"]), joined(["a", "b"], "or"), joined(["a"])
    ('a, b and c', 'a or b', 'a')
    """
    *most, end = parts
    return f"{', '.join(most)} {last} {end}" if most else end


_RANGE = re.compile(r"(?<=\d) (to|→) (?=\d)")


def unbroken(text: str) -> str:
    """Keep the ends of a range on one line, with blanks that no line breaks at."""
    return _RANGE.sub("\u00a0\\1\u00a0", text)


def did_you_mean(word: str, names: Iterable[str]) -> str:
    """Name the nearest of the names in brackets, or nothing."""
    near = get_close_matches(word, list(names), n=1)
    return f" (did you mean {near[0]!r}?)" if near else ""


def counted(n: int, noun: str) -> str:
    """Write `1 row`, `2 rows`, `2 replies`."""
    several = f"{noun[:-1]}ies" if noun.endswith("ly") else f"{noun}s"
    return f"{n} {noun if n == 1 else several}"


class StreamName(str):
    """The name of a judge's verdicts on one criterion, which knows its two parts."""

    __slots__ = ("criterion", "judge")
    judge: str
    criterion: str

    def __new__(cls, judge: str, criterion: str) -> Self:
        """Join the two: `judge \N{MIDDLE DOT} criterion`."""
        name = super().__new__(cls, f"{judge} \N{MIDDLE DOT} {criterion}")
        name.judge, name.criterion = judge, criterion
        return name

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]  # a copy is made of both
        return self.judge, self.criterion


def stream_name(judge: str, criterion: str | None) -> str:
    """Name the verdicts of a judge on one criterion; the judge itself where there is none.

    >>> stream_name("qwen", "safe")
    'qwen · safe'
    """
    return judge if criterion is None else StreamName(judge, criterion)


def judge_of(name: str) -> str:
    """Return the judge whose verdicts a stream holds."""
    return name.judge if isinstance(name, StreamName) else name


def who_judged(names: Sequence[str]) -> str:
    """Say whose verdicts these are: one judge by name, several by number, with their criteria.

    >>> who_judged([stream_name("qwen", "safe"), stream_name("qwen", "helpful")])
    'qwen, 2 criteria'
    """
    judges = list(dict.fromkeys(map(judge_of, names)))
    criteria = {n.criterion for n in names if isinstance(n, StreamName)}
    who = visible(judges[0]) if len(judges) == 1 else f"{len(judges)} judges"
    return f"{who}, {counted_criteria(len(criteria))}" if criteria else who


def counted_criteria(n: int) -> str:
    """Write `1 criterion`, `2 criteria`."""
    return "1 criterion" if n == 1 else f"{n} criteria"


def in_document(name: str | int) -> tuple[str | int, ...]:
    """Return the keys under which a document holds what was found about a stream.

    >>> in_document(stream_name("qwen", "safe"))
    ('qwen', 'criteria', 'safe')
    """
    return (name.judge, "criteria", name.criterion) if isinstance(name, StreamName) else (name,)


def by_criterion(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Put what was found about the criteria of a judge under that judge, as documents have it."""
    whole: dict[str, Any] = {}
    for name, value in found.items():
        if isinstance(name, StreamName):
            judge = whole.setdefault(name.judge, {})
            judge.setdefault("criteria", {})[name.criterion] = value
        else:
            whole[name] = {**value, **whole.get(name, {})}
    return whole


def streams_in(judges: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a document holds of every judge, or of its criteria, by name."""
    found: dict[str, Any] = {}
    for name, judge in judges.items():
        criteria = judge.get("criteria", {})
        if not criteria or len(judge) > 1:
            found[name] = judge
        found |= {stream_name(name, criterion): part for criterion, part in criteria.items()}
    return found


def plain_number(value: float) -> str:
    """Write a score in plain digits: `4`, not `4.0`."""
    return str(int(value)) if float(value).is_integer() else repr(float(value))


MOST_CANDIDATES = 26
"""Candidates are shown under letters."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
DISPLAYED = ("A", "B", "TIE")
"""What a judge of two answers says: the one shown first, the one shown second, none."""
_CANDIDATE = re.compile(r"candidate_([1-9]|1[0-9]|2[0-6])")
_ANSWER = "answer"
_OF_A_PAIR = {
    "both orders": "several orders",
    "swap the answers": "reorder the answers",
    "reword and swap": "reword and reorder",
}
_LAYER = "probe"


def candidate_names(n: int) -> tuple[str, ...]:
    """Return `candidate_1`, ..., as verdicts name the candidates."""
    return tuple(f"candidate_{place}" for place in range(1, n + 1))


def candidate_number(word: str) -> int | None:
    """Return the number of a candidate by its name; None for any other word."""
    found = _CANDIDATE.fullmatch(word)
    return int(found[1]) if found else None


def of_orders(text: str, orders: int) -> str:
    """Say in words about two orders what holds for several."""
    if orders > 2:  # noqa: PLR2004 - a pair
        for pair, several in _OF_A_PAIR.items():
            text = text.replace(pair, several)
    return text


def is_permutation(order: str) -> bool:
    """Whether an order names two candidates or more by letters, each once: `CAB` shows C first."""
    n = len(order)
    return 2 <= n <= MOST_CANDIDATES and sorted(order) == list(LETTERS[:n])  # noqa: PLR2004 - a pair


LEVEL_MARKS = ",="
"""What parts factors and levels in the name of a prompt."""


def factor_prompt(levels: Mapping[str, str]) -> str:
    """Name the prompt of a level of every factor: `wrapper=xml,language=de`."""
    return ",".join(f"{factor}={level}" for factor, level in levels.items())


def prompt_factors(prompts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the factors whose full crossing these prompts are, with their levels.

    Empty where the prompts are anything else. The last factor varies fastest, as in the crossing.
    """
    rows = [[part.partition("=") for part in prompt.split(",")] for prompt in prompts]
    names = [name for name, _, _ in rows[0]] if rows else []
    if any([name for name, sign, _ in row if sign] != names for row in rows):
        return {}
    levels = {
        name: tuple(dict.fromkeys(row[place][2] for row in rows))
        for place, name in enumerate(names)
    }
    crossed = [
        factor_prompt(dict(zip(levels, each, strict=True))) for each in product(*levels.values())
    ]
    several = len(levels) == len(names) and all(len(of) > 1 for of in levels.values())
    return levels if several and sorted(crossed) == sorted(prompts) else {}


def sides(task: str, candidates: int) -> tuple[str, ...]:
    """Return what a probe changes in turn: each candidate, or the one answer."""
    return (_ANSWER,) if task == "pointwise" else candidate_names(candidates)


def probe_layer(probe: str, side: str) -> str:
    """Name the layer of the calls about one changed side: `probe.longer.candidate_1`."""
    return f"{_LAYER}.{probe}.{side}"


def probed_by(layer: str | None) -> tuple[str, str] | None:
    """Return the probe and the side of a layer by its name; None for any other layer."""
    first, _, rest = (layer or "").partition(".")
    probe, _, side = rest.rpartition(".")
    known = side == _ANSWER or candidate_number(side) is not None
    return (probe, side) if first == _LAYER and probe and known else None
