"""Verdicts that name a position: refused, or turned back into candidates.

Where answers are shown in two orders, `A` may mean the answer shown first. A judge that always
takes the first answer then looks steady, and a steady one does not. Nothing in a table tells which
of the two it is, so nobody guesses: `positions` says which words name the first and the second
answer shown (and a tie), and `verdicts` declares them as names of the answers themselves.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from shlex import quote

import numpy as np

from judgelaw.errors import InputError, TableError
from judgelaw.tables.columns import ONLY
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID, VerdictTensor
from judgelaw.words import bare, listed

_PAIRS = (("a", "b"), ("first", "second"), ("left", "right"))
_BESIDE = frozenset({"tie", "draw", "equal", "both", "neither", "c", "none", "unknown", INVALID})
"""Words beside one letter alone that leave no doubt what the letter is."""
_TIES = frozenset({"tie", "draw", "equal"})
_AB = frozenset({"ab", "original", "forward", "normal", "unswapped", "false"})
_BA = frozenset({"ba", "swapped", "swap", "reversed", "reverse", "flipped", "backward", "true"})
"""A column that says whether the answers were swapped says `true` where they were."""
_FIRST, _SECOND = 0, 1
_FEWEST, _MOST = 2, 3


_NOUN = re.compile(r"(assistant|answer|response|candidate|option|output)[\s_-]+(?=[ab]$)")
"""Stands before a letter and leaves its meaning as it is: `Assistant A`."""


def _key(word: str) -> str:
    """Return a verdict as pairs of positions are written."""
    return _NOUN.sub("", bare(word))


def check_positions(given: Sequence[str] | None) -> tuple[str, ...] | None:
    """Validate the words for the answer shown first, shown second, and perhaps for a tie."""
    if given is None or not given:
        return None
    if isinstance(given, str):
        raise InputError(f"positions = {given!r} is one string: pass two words, ('A', 'B')")
    words = tuple(given)
    folded = [bare(word) for word in words]
    if not _FEWEST <= len(words) <= _MOST or "" in folded or len(set(folded)) < len(words):
        raise InputError(
            f"positions = {list(words)}: name the words for the answer shown first, for the one "
            "shown second, and for a tie if it has a word of its own, all distinct: ('A', 'B')"
        )
    return words


def are_positions(found: Collection[str]) -> bool:
    """Whether verdicts are words that usually name a position."""
    words = {_key(word) for word in found}
    for pair in _PAIRS:
        there = words & set(pair)
        if len(there) == len(pair) or (there and words - there <= _BESIDE):
            return True
    return False


def positional(
    found: Collection[str], gold: Collection[str], positions: Sequence[str], table: str
) -> dict[str, str]:
    """Return the usual verdict of every spelling, as if all answers were shown in the order AB.

    Raises:
        TableError: a verdict is neither a position, nor a tie, nor invalid.
    """
    named = dict(zip(map(bare, positions), DEFAULT_VERDICTS, strict=False))
    known = {**dict.fromkeys(_TIES, DEFAULT_VERDICTS[2]), INVALID: INVALID, "⊥": INVALID}
    known |= {"bot": INVALID, **named}
    strange = sorted(word for word in found if bare(word) not in known)
    if strange:
        raise TableError(
            f"{table}: verdict {strange[0]!r} stands beside the positions {listed(positions)} "
            f"({listed(strange)}): name a word for a tie as the third position, as in "
            f"positions={[*positions[:2], strange[0]]}, or write 'tie' or 'invalid'"
        )
    meant = {word: known[bare(word)] for word in found}
    golden = {**known, **{verdict: verdict for verdict in DEFAULT_VERDICTS}}
    golden |= {"1": DEFAULT_VERDICTS[0], "2": DEFAULT_VERDICTS[1]}
    # A gold label belongs to an item, whatever the order: its letter names a candidate.
    return {word: golden[bare(word)] for word in gold if bare(word) in golden} | meant


def restored(tensor: VerdictTensor, positions: Sequence[str], *, table: str) -> VerdictTensor:
    """Turn positions into candidates: where the answers were swapped, so are the verdicts."""
    swapped = [_is_swapped(order, table) for order in tensor.orders]
    counts = tensor.counts.copy()
    ranked = None if tensor.ranked is None else tensor.ranked.copy()
    soft = None if tensor.soft is None else tensor.soft.copy()
    for place in np.flatnonzero(swapped):
        counts[:, :, place, [_FIRST, _SECOND]] = tensor.counts[:, :, place, [_SECOND, _FIRST]]
        if ranked is not None and tensor.ranked is not None:
            codes = tensor.ranked[:, :, place]
            ranked[:, :, place] = np.where(codes == _FIRST, _SECOND, codes)
            ranked[:, :, place][codes == _SECOND] = _FIRST
        if soft is not None and tensor.soft is not None:
            swap = tensor.soft[:, :, place][..., [_SECOND, _FIRST]]
            soft[:, :, place, :, [_FIRST, _SECOND]] = np.moveaxis(swap, -1, 0)
    first, second = positions[:2]
    note = f"{first!r} was read as the answer shown first, {second!r} as the one shown second"
    notes = (*tensor.notes, note)
    return replace(tensor, counts=counts, ranked=ranked, soft=soft, notes=notes)


def _is_swapped(order: str, table: str) -> bool:
    word = bare(order)
    if word in _AB or word in _BA:
        return word in _BA
    if order == ONLY:
        raise TableError(
            f"{table}: no column says in which order the answers were shown, so a position names "
            "no candidate: add a column order with AB or BA, or leave positions out"
        )
    raise TableError(
        f"{table}: order {order!r} is neither AB nor BA, so nobody knows which answer was shown "
        f"first: write AB and BA, or say it with `judgelaw import --from csv {table} --map-order "
        f"{order}=BA --positions A,B`"
    )


_NO_VERDICT = frozenset(
    {INVALID, "error", "unknown", "none", "null", "neither", "na", "n/a", "unparsed", "failed"}
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


def refuse(found: Collection[str], table: str) -> TableError:
    """Return the error of verdicts that may name positions, under several orders."""
    words = sorted(found)
    # Two words that belong together come first, whatever else the table says.
    pair = next(
        [word for name in pair for word in words if _key(word) == name][:2]
        for pair in _PAIRS
        if {_key(word) for word in words} & set(pair)
    )
    shown = ",".join(pair) if len(pair) > 1 else "A,B"
    python = tuple(shown.split(","))
    return TableError(
        f"{table}: the verdicts are the letters {', '.join(words)}, and answers were shown in "
        f"several orders: if {pair[0]} means the answer shown first, a judge that likes a position "
        "looks steady, and a steady one does not. If they are positions, turn them into "
        f"candidates: --positions {quote(shown)} (positions={python!r} in Python); if they name "
        f"the answers themselves, declare them: --verdicts {quote(','.join(words))} "
        f"(verdicts={words})"
    )
