"""What the words of verdicts and gold labels mean: an answer by its place, by its name, or none.

Where answers are shown in two orders, `A` may mean the answer shown first. A judge that always
takes the first answer then looks steady, and a steady one does not. The table decides where it
can: by the words of the replies, by a flag that says which verdicts are right, by agreement with
gold in each order. Where it cannot, nobody guesses: `positions` says which words name the first and
the second answer shown (and a tie), and `verdicts` declares them as names of the answers.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from shlex import quote
from typing import Literal

from judgelaw.errors import TableError
from judgelaw.record_files import json_of
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID
from judgelaw.words import bare, listed

FIRST, SECOND, TIE = DEFAULT_VERDICTS[:3]
FLIPPED = {FIRST: SECOND, SECOND: FIRST}
"""The answer that a position names where the second one was shown first."""
_PAIRS = (("a", "b"), ("first", "second"), ("left", "right"))
_BESIDE = frozenset({"tie", "draw", "equal", "both", "neither", "c", "none", "unknown", INVALID})
"""Words beside one letter alone that leave no doubt what the letter is."""
_TIES = frozenset({"tie", "draw", "equal"})
_AB = frozenset({"ab", "original", "forward", "normal", "unswapped", "unflipped", "default"})
_BA = frozenset({"ba", "swapped", "swap", "reversed", "reverse", "flipped", "flip", "backward"})
_NO, _YES = frozenset({"false", "no", "0"}), frozenset({"true", "yes", "1"})
"""A column that says whether the answers were swapped says so where they were."""


_NOUN = re.compile(r"(assistant|answer|response|candidate|option|output)[\s_-]+(?=[ab]$)")
"""Stands before a letter and leaves its meaning as it is: `Assistant A`."""


def _key(word: str) -> str:
    """Return a verdict as pairs of positions are written."""
    return _NOUN.sub("", bare(word))


_COMPARED = re.compile(r"([ab12])\s*(>>?|<<?|=+|~=*|≈|==)\s*([ab12])")
_NAMED = re.compile(r"(model|system|candidate|player|generator)[\s_-]*([ab12])")
_NUMBERED = re.compile(r"(assistant|answer|response|option|output|completion)[\s_-]*([12])")
_NO_WINNER = re.compile(
    r"(tie|draw|equal|tied)\b.*|both|both (good|bad|equal)|same|equivalent|no preference"
)
Kind = Literal["place", "name", "other"]
"""`place` may be a position or the name of an answer, `name` is one, `other` is neither."""


def meaning(word: str) -> tuple[Kind, str] | None:
    """Return what a word says of two answers, as the usual verdict; None where it says nothing.

    >>> meaning("[[B]]"), meaning("A>>B"), meaning("model_1"), meaning("tie (bothbad)")
    (('place', 'candidate_2'), ('place', 'candidate_1'), ('name', 'candidate_1'), ('other', 'tie'))
    """
    key = _key(word)
    if key in (FIRST, SECOND):
        return "name", key
    for pair in _PAIRS:
        if key in pair:
            return "place", (FIRST, SECOND)[pair.index(key)]
    if (found := _COMPARED.fullmatch(key)) is not None:
        return _of_comparison(found[1], found[2], found[3])
    for kind, pattern in (("name", _NAMED), ("place", _NUMBERED)):
        if (found := pattern.fullmatch(key)) is not None:
            side = FIRST if found[2] in "a1" else SECOND
            return ("name" if kind == "name" else "place"), side
    if _NO_WINNER.fullmatch(key) and key not in _NO_VERDICT:
        return "other", TIE
    return ("other", INVALID) if key in _NO_VERDICT or word.strip() in {"⊥", "BOT"} else None


def _of_comparison(left: str, sign: str, right: str) -> tuple[Kind, str] | None:
    if (left in "a1") == (right in "a1"):
        return None
    if sign[0] not in "<>":
        return "other", TIE
    better = left if sign[0] == ">" else right
    return "place", FIRST if better in "a1" else SECOND


def swapped(order: str, *, flag: bool = False) -> bool | None:
    """Whether an order shows the second answer first; None where its word does not tell.

    Args:
        order: the word.
        flag: whether it stands in a column that says whether the answers were swapped.
    """
    word = bare(order)
    if word in _AB or word in _BA:
        return word in _BA
    if word in _YES | _NO and (flag or word in {"true", "false"}):
        return word in _YES
    return None


def are_orders(words: Collection[str]) -> bool:
    """Whether words name both display orders, and nothing else."""
    found = {swapped(word) for word in words if bare(word) not in _YES | _NO}
    return found == {True, False} and len(words) == len(found)


def are_positions(found: Collection[str]) -> bool:
    """Whether verdicts are words that usually name a position."""
    words = {_key(word) for word in found}
    for pair in _PAIRS:
        there = words & set(pair)
        if len(there) == len(pair) or (there and words - there <= _BESIDE):
            return True
    return False


_NO_VERDICT = frozenset(
    {INVALID, "error", "unknown", "none", "null", "na", "n/a", "unparsed", "failed", "bot"}
)


def labels_of(found: Collection[str]) -> dict[str, str]:
    """Return what the words of a log stand for, in its own spelling, as far as words tell.

    >>> labels_of(["error", "second", "first", "tie"])
    {'first': 'candidate_1', 'second': 'candidate_2', 'tie': 'tie', 'error': 'invalid'}
    """
    words = sorted(found)
    named = next((pair for pair in _PAIRS if {_key(word) for word in words} & set(pair)), ())
    meant = dict(zip(named, DEFAULT_VERDICTS, strict=False))
    pairs = {word: meant[_key(word)] for name in named for word in words if _key(word) == name}
    ties = {word: DEFAULT_VERDICTS[2] for word in words if bare(word) in _TIES}
    return pairs | ties | {word: INVALID for word in words if bare(word) in _NO_VERDICT}


def label_options(labels: Mapping[str, str]) -> str:
    """Write labels as options that can be copied, each after a blank.

    A word that stands for itself needs none.
    """
    pairs = (f"{word}={verdict}" for word, verdict in labels.items() if word != verdict)
    return "".join(f" --label {quote(pair)}" for pair in pairs)


def what_else(found: Collection[str]) -> str:
    """Write the options for words of a log whose meaning no word tells."""
    strange = sorted(set(found) - set(labels_of(found)))
    if not strange:
        return ""
    asked = " ".join(f"--label {quote(f'{word}=tie')}" for word in strange)
    return f" {asked} (or =invalid in the place of =tie)"


def refuse_in_log(found: Collection[str], place: str, *, command: str = "") -> TableError:
    """Return the same error for a log that is imported, which takes labels.

    Args:
        found: the verdicts.
        place: where they stand.
        command: what takes the options, where it is not the one that was called.
    """
    labels = labels_of(found)
    pair = [next((w for w, v in labels.items() if v == c), None) for c in DEFAULT_VERDICTS[:2]]
    words = ",".join(word or letter for word, letter in zip(pair, "AB", strict=True))
    others = {word: v for word, v in labels.items() if v not in DEFAULT_VERDICTS[:2]}
    also = f"{label_options(others)}{what_else(found)}"
    return TableError(
        f"{place}: the verdicts are the words {listed(sorted(found))}, and answers were shown in "
        "several orders: nobody can tell whether they name positions or answers. If they are "
        f"positions, turn them into candidates: {command}--positions {quote(words)}{also}; if they "
        f"name the answers, say which:{command}{label_options(labels)}{what_else(found)}"
    )


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What shows whether letters under two orders are positions or answers.

    Attributes:
        restored: whether they name answers.
        why: how that was seen, in words.
        loud: whether a reader has to be told.
    """

    restored: bool
    why: str
    loud: bool = False


@dataclass(frozen=True, kw_only=True)
class SaidCall:
    """One call as far as it tells whether its letter is a position.

    Attributes:
        swapped: whether the second answer was shown first.
        verdict, gold: the side that the word names, read as the name of an answer.
        right: what the table says about the verdict, None where it says nothing.
        reply: what the judge wrote.
    """

    swapped: bool
    verdict: str
    gold: str | None = None
    right: bool | None = None
    reply: str | None = None


_SURE, _LEAST = 4.0, 10
"""Standard errors from one half, and calls that this needs at least."""
_CLEAR = 0.9
_SEEN = 5


def shown_or_restored(calls: Sequence[SaidCall], reply: str, flag: str) -> Evidence | None:
    """Decide whether letters were turned into answers already; None where nothing tells.

    Args:
        calls: the calls whose verdict is a letter.
        reply: the column of replies.
        flag: the column that says which verdicts are right.
    """
    return _by_reply(calls, reply) or _by_flag(calls, flag) or _by_gold(calls)


def _by_reply(calls: Sequence[SaidCall], column: str) -> Evidence | None:
    """Compare letters with those in the words of the replies."""
    same: dict[bool, Counter[bool]] = {True: Counter(), False: Counter()}
    for call in calls:
        said = letter_in(call.reply) if call.reply else None
        if said in (FIRST, SECOND):
            same[call.swapped][said == call.verdict] += 1
    kept, turned = same[False], same[True]
    if turned.total() < _SEEN or kept[True] < _CLEAR * kept.total():
        return None
    words = f"in {{n}} of {turned.total()} replies shown in the other order {column!r} says"
    if turned[True] >= _CLEAR * turned.total():
        n = turned[True]
        return Evidence(restored=False, why=f"{words.format(n=n)} the same letter")
    if turned[False] >= _CLEAR * turned.total():
        n = turned[False]
        return Evidence(restored=True, why=f"{words.format(n=n)} the other letter")
    return None


def _by_flag(calls: Sequence[SaidCall], column: str) -> Evidence | None:
    """Hold a flag of right verdicts against gold, in the order that was swapped."""
    told = [c for c in calls if c.swapped and c.right is not None and c.gold in (FIRST, SECOND)]
    as_name = sum((c.verdict == c.gold) == c.right for c in told)
    if len(told) < _SEEN:
        return None
    if as_name >= _CLEAR * len(told):
        why = f"{column!r} takes the letters for answers in {as_name} of {len(told)} calls"
        return Evidence(restored=True, why=f"{why} shown in the other order")
    if len(told) - as_name >= _CLEAR * len(told):
        n = len(told) - as_name
        why = f"{column!r} takes the letters for positions in {n} of {len(told)} calls"
        return Evidence(restored=False, why=f"{why} shown in the other order")
    return None


def _by_gold(calls: Sequence[SaidCall]) -> Evidence | None:
    """Compare agreement with gold in both orders."""
    right: dict[bool, list[bool]] = {True: [], False: []}
    for call in calls:
        if call.gold in (FIRST, SECOND):
            right[call.swapped].append(call.verdict == call.gold)
    kept, turned = right[False], right[True]
    if not far(kept, above=True):
        return None
    said = (
        f"they agree with gold in {sum(kept)} of {len(kept)} calls in one order and in "
        f"{sum(turned)} of {len(turned)} in the other"
    )
    if far(turned, above=True):
        return Evidence(restored=True, why=said)
    if far(turned, above=False):
        return Evidence(restored=False, why=said, loud=True)
    return None


def far(right: Sequence[bool], *, above: bool) -> bool:
    """Whether agreement is further from one half than chance makes it."""
    away = sum(right) - len(right) / 2
    return (away if above else -away) > _SURE * sqrt(max(len(right), _LEAST)) / 2


_SIDE = (
    r"(?:(?:assistant|response|answer|option|model|output|candidate)\W{0,3})?"
    r"([ab12]|first|second|tie|c)\b"
)
_MARKED = re.compile(r"\[\[\s*([^\[\]]{1,12}?)\s*\]\]")
_SAID = re.compile(
    r"\b(?:verdict|choice|winner|decision|judge?ment|preference|preferred|better|best|answer|"
    rf"choose|select|pick)\b\W{{0,6}}(?:is\b\W{{0,4}})?{_SIDE}",
    re.IGNORECASE,
)
_SCANNED = 20_000


def letter_in(reply: str) -> str | None:
    r"""Return the side that the words of a reply name, None where they name none.

    >>> letter_in("Both are fine. Final verdict: [[B]]"), letter_in("Choice: A\nReason: ...")
    ('candidate_2', 'candidate_1')
    """
    text = reply.strip()
    for found in (text, text.partition("\n")[0], text.rpartition("\n")[2]):
        if (side := _side(found)) is not None:
            return side
    if text.startswith("{"):
        try:
            values = json_of(text)
        except ValueError:
            values = None
        for value in values.values() if isinstance(values, Mapping) else ():
            if isinstance(value, str) and (side := _side(value)) is not None:
                return side
    text = text[-_SCANNED:]
    marked = _MARKED.findall(text)
    for word in reversed(marked):
        if (side := _side(word)) is not None:
            return side
    said = _SAID.findall(text)
    return _side(said[-1]) if said else None


def _side(word: str) -> str | None:
    if len(word) > _LONGEST:
        return None
    key = bare(word)
    if key in {"1", "2"}:
        return FIRST if key == "1" else SECOND
    if key == "c":
        return TIE
    found = meaning(word)
    return None if found is None else found[1]


_LONGEST = 24
