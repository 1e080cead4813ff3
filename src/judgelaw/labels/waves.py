"""The same items asked on several dates, laid out cell by cell."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date as calendar_date
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.errors import InputError
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID
from judgelaw.words import counted, did_you_mean, listed

Ints = NDArray[np.int64]
Cell = tuple[str, str | None, str | None]
"""An item, a prompt and an order."""

_TWO = 2


@dataclass(frozen=True, kw_only=True)
class DatedCall:
    """One call of one date: where it stands, what it said, and what is known of its item.

    Attributes:
        date: when it was asked.
        item, prompt, order: its cell.
        verdict: what the judge said.
        repeat: which call of the cell; None where the table does not tell.
        human: what people say of the item, None where nobody did.
        text: what identifies the item's text, None where the table does not tell.
    """

    date: str
    item: str
    verdict: str
    prompt: str | None = None
    order: str | None = None
    repeat: str | None = None
    human: str | None = None
    text: str | None = None


@dataclass(frozen=True, kw_only=True)
class Waves:
    """Calls by date, cell and verdict.

    Attributes:
        dates: the earliest first.
        cells: every cell that was asked on any date.
        verdicts: the alphabet.
        counts: calls, (dates, cells, verdicts); 0 where a cell was not asked.
        score: the number of each verdict.
        scored: what the score is, in words.
        human: label of each item that has one.
        notes: what a reader must know.
    """

    dates: tuple[str, ...]
    cells: tuple[Cell, ...]
    verdicts: tuple[str, ...]
    counts: Ints
    score: Floats
    scored: str
    human: dict[str, str]
    notes: tuple[str, ...] = ()

    def asked(self, when: int) -> NDArray[np.bool_]:
        """Cells that were asked on a date."""
        return np.asarray(self.counts[when].sum(axis=-1) > 0)


def in_words(date: str) -> str:
    """Write a date as people do, 3 May 2026; what is no date stays as it is."""
    try:
        day = calendar_date.fromisoformat(date[:10])
    except ValueError:
        return date
    return f"{day.day} {day:%B %Y}{date[10:]}"


def lay_out_waves(
    calls: Sequence[DatedCall], dates: Sequence[str], *, positive: str | None = None
) -> Waves:
    """Lay out the calls of the dates named.

    Args:
        calls: of all dates.
        dates: in the sequence of time.
        positive: the verdict whose share is the score; by default candidate_1 wins 1 and ties
            1/2, numbers are themselves, and the last of other verdicts counts 1.
    """
    calls, notes = _same_texts(calls)
    verdicts = _alphabet(calls)
    score, scored = _scores(verdicts, positive)
    cells = tuple(
        sorted({(c.item, c.prompt, c.order) for c in calls}, key=lambda c: tuple(map(str, c)))
    )
    when = {date: i for i, date in enumerate(dates)}
    where = {cell: i for i, cell in enumerate(cells)}
    what = {verdict: i for i, verdict in enumerate(verdicts)}
    counts = np.zeros((len(dates), len(cells), len(verdicts)), dtype=np.int64)
    places = [(when[c.date], where[c.item, c.prompt, c.order], what[c.verdict]) for c in calls]
    np.add.at(counts, tuple(np.array(places).T), 1)
    votes: dict[str, Counter[str]] = defaultdict(Counter)
    for c in calls:
        if c.human is not None:
            votes[c.item][c.human] += 1
    return Waves(
        dates=tuple(dates),
        cells=cells,
        verdicts=verdicts,
        counts=counts,
        score=score,
        scored=scored,
        human={item: found.most_common(1)[0][0] for item, found in votes.items()},
        notes=notes,
    )


def check_dates(dates: Sequence[str], *, table: str) -> list[str]:
    """Return dates in the sequence of time.

    Raises:
        InputError: a date is none, so that nobody knows which comes first.
    """
    for date in dates:
        try:
            calendar_date.fromisoformat(date[:10])
        except ValueError:
            raise InputError(
                f"{table}: {date!r} is no date: write it as YYYY-MM-DD, so that the sequence of "
                "dates is known"
            ) from None
    return sorted(dates)


def out_of_order(dates: Sequence[str]) -> str | None:
    """Say that dates were not given in the sequence of time, None where they were."""
    for before, after in pairwise(dates):
        if after < before:
            return f"{after} was given after {before}: dates were put in the sequence of time"
    return None


def _same_texts(calls: Sequence[DatedCall]) -> tuple[list[DatedCall], tuple[str, ...]]:
    """Leave out items whose text differs between dates: they are other items."""
    texts: dict[str, set[str]] = defaultdict(set)
    for call in calls:
        if call.text is not None:
            texts[call.item].add(call.text)
    changed = sorted(item for item, found in texts.items() if len(found) > 1)
    kept = [replace(c, text=None) for c in calls if c.item not in set(changed)]
    if not changed:
        return kept, ()
    words = f"{counted(len(changed), 'item')} changed text between dates, {listed(changed[:3])}"
    if not kept:
        raise InputError(f"{words}: nothing is left to compare; ask the same items again")
    return kept, (f"{words}: left out, since another text is another item",)


def _alphabet(calls: Sequence[DatedCall]) -> tuple[str, ...]:
    said = {call.verdict for call in calls}
    if said <= set(DEFAULT_VERDICTS):
        return DEFAULT_VERDICTS
    if _numbers(said):
        return (*sorted(said - {INVALID}, key=float), *(said & {INVALID}))
    return (*sorted(said - {INVALID}), *(said & {INVALID}))


def _numbers(words: set[str]) -> bool:
    try:
        return all(np.isfinite(float(word)) for word in words - {INVALID})
    except ValueError:
        return False


def _scores(verdicts: tuple[str, ...], positive: str | None) -> tuple[Floats, str]:
    if positive is not None:
        if positive not in verdicts:
            near = did_you_mean(positive, verdicts)
            raise InputError(
                f"positive={positive!r}: the judge never says that{near}; it says "
                f"{listed(verdicts)}: name one of them"
            )
        return np.array([float(v == positive) for v in verdicts]), f"share of {positive!r}"
    if verdicts == DEFAULT_VERDICTS:
        return np.array([1.0, 0.0, 0.5, 0.0]), "score of candidate_1, a tie counting 1/2"
    spoken = [v for v in verdicts if v != INVALID]
    if _numbers(set(spoken)) and len(spoken) > _TWO:
        return np.array([0.0 if v == INVALID else float(v) for v in verdicts]), "mean score"
    return np.array([float(v == spoken[-1]) for v in verdicts]), f"share of {spoken[-1]!r}"
