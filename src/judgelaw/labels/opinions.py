"""What a judge said and what people said of the same items, in one alphabet."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.errors import DuplicateCallsError, InputError
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID
from judgelaw.words import counted, did_you_mean, listed

Ints = NDArray[np.int64]
Kind = Literal["two classes", "several classes", "scores"]

_BY_NUMBER = {"1": DEFAULT_VERDICTS[0], "2": DEFAULT_VERDICTS[1]}
"""Labels that name a candidate by its number."""

_TWO = 2
MOST_CLASSES = 20
"""Scores with more values than this are measured, not classified."""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of a table: a call, with what one person said of its item.

    Attributes:
        item: what was judged.
        verdict: what the judge said, None where it was not asked.
        human: what a person said, None where nobody was asked.
        rater: who; None where the table does not tell.
        repeat: which call of the cell; None where the table does not tell.
        stratum, prompt, order: where the table has them.
    """

    item: str
    verdict: str | None
    human: str | None = None
    rater: str | None = None
    repeat: str | None = None
    stratum: str | None = None
    prompt: str | None = None
    order: str | None = None


@dataclass(frozen=True, kw_only=True)
class Opinions:
    """A judge and people on the same items.

    Attributes:
        kind: two classes, several, or scores.
        classes: labels, in order; empty for scores of many values.
        verdicts: the classes, then what the judge says and no person does.
        items, strata: of every item that was judged.
        votes: people's votes by item and class.
        label: class of the majority of each item; -1 where nobody voted or the vote is tied.
        cell_item, cell_prompt: item and prompt of each cell (item x prompt x order).
        counts: calls by cell and verdict.
        values: number of each verdict, nan for `invalid`; None unless these are scores.
        human_scores: mean of the people's scores by item; None unless these are scores.
        notes: what a reader must know of how the table was read.
    """

    kind: Kind
    classes: tuple[str, ...]
    verdicts: tuple[str, ...]
    items: tuple[str, ...]
    strata: tuple[str | None, ...]
    votes: Ints
    label: Ints
    cell_item: Ints
    cell_prompt: tuple[str | None, ...]
    counts: Ints
    values: Floats | None = None
    human_scores: Floats | None = None
    notes: tuple[str, ...] = ()

    @property
    def voted(self) -> NDArray[np.bool_]:
        """Items with a vote."""
        return np.asarray(self.votes.sum(axis=1) > 0)

    @property
    def calls(self) -> Ints:
        """Calls by item and verdict."""
        total = np.zeros((len(self.items), len(self.verdicts)), dtype=np.int64)
        np.add.at(total, self.cell_item, self.counts)
        return total

    @property
    def shares(self) -> Floats:
        """The judge's share of each verdict, item by item."""
        calls = self.calls
        return np.asarray(calls / calls.sum(axis=1, keepdims=True))

    def only_items(self, keep: NDArray[np.bool_]) -> "Opinions":
        """Keep some items."""
        here = keep[self.cell_item]
        place = np.cumsum(keep) - 1
        return replace(
            self,
            items=tuple(np.array(self.items, dtype=object)[keep]),
            strata=tuple(np.array(self.strata, dtype=object)[keep]),
            votes=self.votes[keep],
            label=self.label[keep],
            cell_item=place[self.cell_item[here]],
            cell_prompt=tuple(np.array(self.cell_prompt, dtype=object)[here]),
            counts=self.counts[here],
            human_scores=None if self.human_scores is None else self.human_scores[keep],
        )

    def only_prompt(self, prompt: str) -> "Opinions":
        """Keep the calls of one prompt, and the items that it was asked about."""
        here = np.array([name == prompt for name in self.cell_prompt])
        cut = replace(
            self,
            cell_item=self.cell_item[here],
            cell_prompt=tuple(np.array(self.cell_prompt, dtype=object)[here]),
            counts=self.counts[here],
        )
        asked = np.zeros(len(self.items), dtype=bool)
        asked[cut.cell_item] = True
        return cut.only_items(asked)


@dataclass
class _Found:
    """What the rows of one item say, while they are gathered."""

    stratum: str | None = None
    calls: dict[tuple[str | None, str | None], list[str]] = field(default_factory=dict)
    votes: Counter[str] = field(default_factory=Counter)


def gather_opinions(rows: Sequence[Row], *, table: str = "the table") -> Opinions:
    """Gather the rows of one judge into opinions.

    Raises:
        InputError: no item has both a verdict and a label, or no label is a verdict.
        DuplicateCallsError: one call has two verdicts.
    """
    _check_overlap(rows, table)
    rows, notes = _one_alphabet(rows, table)
    by_item: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        by_item[row.item].append(row)
    reading = _how_rows_read(by_item)
    found = {item: _gather(item, mine, reading, table) for item, mine in by_item.items()}
    judged = {item: one for item, one in found.items() if one.calls}
    unasked = sum(1 for one in found.values() if one.votes and not one.calls)
    if unasked:
        notes.append(f"{counted(unasked, 'labelled item')} without a verdict: left out")
    if reading.note:
        notes.append(reading.note)
    return _assembled(judged, notes)


def _one_alphabet(rows: Sequence[Row], table: str) -> tuple[list[Row], list[str]]:
    """Write labels and verdicts alike, whatever their case; numbers by their value."""
    said = Counter(row.verdict.strip() for row in rows if row.verdict is not None)
    voted = Counter(row.human.strip() for row in rows if row.human is not None)
    spelling: dict[str, str] = {}
    for word, _ in [*said.most_common(), *voted.most_common()]:
        spelling.setdefault(_key(word), word)
    usual = {_key(word) for word in said} <= set(DEFAULT_VERDICTS)
    if usual:
        spelling = {key: key for key in spelling} | _BY_NUMBER
    labels = {spelling[_key(word)] for word in voted}
    verdicts = {spelling[_key(word)] for word in said}
    if not labels & verdicts and not all(map(_is_number, labels | verdicts - {INVALID})):
        raise InputError(
            f"{table}: no label is a verdict: people say {listed(sorted(labels))}, the judge "
            f"{listed(sorted(verdicts))}: write them alike"
        )
    notes = []
    respelled = sorted(word for word in voted if spelling[_key(word)] != word and word not in said)
    if respelled:
        pairs = ", ".join(f"{word!r} as {spelling[_key(word)]!r}" for word in respelled[:3])
        notes.append(f"labels were read without regard to case and form: {pairs}")

    words = {row.verdict for row in rows} | {row.human for row in rows}
    written = {word: None if word is None else spelling[_key(word)] for word in words}
    return [_respelled(row, written) for row in rows], notes


def _respelled(row: Row, written: Mapping[str | None, str | None]) -> Row:
    verdict, human = written[row.verdict], written[row.human]
    if verdict == row.verdict and human == row.human:
        return row
    return replace(row, verdict=verdict, human=human)


def _key(word: str) -> str:
    word = word.strip().casefold()
    return f"{float(word):g}" if _is_number(word) else word


def _is_number(word: str) -> bool:
    try:
        return bool(np.isfinite(float(word)))
    except ValueError:
        return False


@dataclass(frozen=True, kw_only=True)
class _Reading:
    """How rows of one item are told apart: calls by their repeat, or people by their row."""

    ranked: bool
    rated: bool
    rows_are_people: bool
    note: str = ""


def _how_rows_read(by_item: Mapping[str, Sequence[Row]]) -> _Reading:
    """Say whether several rows of an item are several calls or several people."""
    every = [row for rows in by_item.values() for row in rows]
    ranked = any(row.repeat is not None for row in every)
    rated = any(row.rater is not None for row in every)
    if ranked:
        return _Reading(ranked=True, rated=rated, rows_are_people=False)
    one_verdict = all(
        len({row.verdict for row in cell}) == 1
        for rows in by_item.values()
        for cell in _cells(rows)
    )
    split = any(len({row.human for row in rows} - {None}) > 1 for rows in by_item.values())
    people = one_verdict and (rated or split)
    if people:
        return _Reading(ranked=False, rated=rated, rows_are_people=True)
    several = any(len(cell) > 1 for rows in by_item.values() for cell in _cells(rows))
    note = (
        "the table has no column that counts repeats: several rows of an item were read as "
        "several calls"
    )
    return _Reading(ranked=False, rated=rated, rows_are_people=False, note=note if several else "")


def _cells(rows: Sequence[Row]) -> list[list[Row]]:
    cells: dict[tuple[str | None, str | None], list[Row]] = defaultdict(list)
    for row in rows:
        cells[row.prompt, row.order].append(row)
    return list(cells.values())


def _gather(item: str, rows: Sequence[Row], reading: _Reading, table: str) -> _Found:
    found = _Found(stratum=next((row.stratum for row in rows if row.stratum), None))
    for cell in _cells(rows):
        asked = [row for row in cell if row.verdict is not None]
        if not asked:
            continue
        place = (asked[0].prompt, asked[0].order)
        if reading.rows_are_people:
            found.calls[place] = [str(asked[0].verdict)]
        elif not reading.ranked:
            found.calls[place] = [str(row.verdict) for row in asked]
        else:
            found.calls[place] = _by_rank(item, asked, table)
    calls = sum(len(cell) for cell in found.calls.values())
    found.votes = _votes(rows, reading, calls)
    return found


def _by_rank(item: str, rows: Sequence[Row], table: str) -> list[str]:
    """Return one verdict for each repeat; several people may have looked at the same call."""
    ranks: dict[str | None, str] = {}
    for row in rows:
        verdict = ranks.setdefault(row.repeat, str(row.verdict))
        if verdict != row.verdict:
            raise DuplicateCallsError(
                f"{table}: item {item!r}, repeat {row.repeat} has the verdicts {verdict!r} and "
                f"{row.verdict!r}: a call has one verdict: give separate calls a repeat of their "
                "own"
            )
    return list(ranks.values())


def _votes(rows: Sequence[Row], reading: _Reading, calls: int) -> Counter[str]:
    """Count people: by name, by row, or once where every call carries the same label."""
    if reading.rated:
        return Counter(label for _, label in {(r.rater, r.human) for r in rows} if label)
    votes = Counter(row.human for row in rows if row.human is not None)
    if reading.rows_are_people or not votes:
        return votes
    if len(votes) == 1:
        return Counter(dict.fromkeys(votes, max(1, votes.total() // max(calls, 1))))
    if calls and all(n % calls == 0 for n in votes.values()):
        return Counter({label: n // calls for label, n in votes.items()})
    return votes


def _check_overlap(rows: Sequence[Row], table: str) -> None:
    judged = {row.item for row in rows if row.verdict is not None}
    labelled = {row.item for row in rows if row.human is not None}
    if not labelled:
        raise InputError(
            f"{table}: nobody labelled anything: fill the column of people's labels, or name "
            "another one with human= (--human on the command line)"
        )
    if not judged & labelled:
        raise InputError(
            f"{table}: no item has both a verdict and a label: {counted(len(judged), 'item')} "
            f"judged, {len(labelled)} others labelled: check that both use the same item ids"
        )


def _assembled(judged: Mapping[str, _Found], notes: list[str]) -> Opinions:
    items = tuple(sorted(judged))
    labels = {label for one in judged.values() for label in one.votes}
    said = {verdict for one in judged.values() for cell in one.calls.values() for verdict in cell}
    numbers = all(map(_is_number, labels | said - {INVALID}))
    scores = numbers and len(labels | said - {INVALID}) > _TWO
    classes = labels if len(labels) >= _TWO else labels | said - {INVALID}
    if scores:
        classes = labels | said - {INVALID}
    ordered = tuple(sorted(classes, key=lambda w: (float(w), w) if numbers else (0.0, w)))
    verdicts = (*ordered, *sorted(said - classes))
    counts, cell_item, cell_prompt = _cell_counts(judged, items, verdicts)
    votes = np.array(
        [[judged[item].votes.get(c, 0) for c in ordered] for item in items], dtype=np.int64
    ).reshape(len(items), len(ordered))
    kind: Kind = (
        "scores" if scores else "two classes" if len(ordered) <= _TWO else "several classes"
    )
    return Opinions(
        kind=kind,
        classes=ordered,
        verdicts=verdicts,
        items=items,
        strata=tuple(judged[item].stratum for item in items),
        votes=votes,
        label=_majority(votes),
        cell_item=cell_item,
        cell_prompt=cell_prompt,
        counts=counts,
        values=_values(verdicts) if scores else None,
        human_scores=_mean_scores(votes, _values(ordered)) if scores else None,
        notes=(*notes, *_never_said(ordered, labels, said), *_unscored(labels, said)),
    )


def _cell_counts(
    judged: Mapping[str, _Found], items: Sequence[str], verdicts: Sequence[str]
) -> tuple[Ints, Ints, tuple[str | None, ...]]:
    place = {verdict: i for i, verdict in enumerate(verdicts)}
    counts, cell_item, prompts = [], [], []
    for i, item in enumerate(items):
        for (prompt, _), cell in judged[item].calls.items():
            counts.append(np.bincount([place[v] for v in cell], minlength=len(verdicts)))
            cell_item.append(i)
            prompts.append(prompt)
    return np.array(counts, dtype=np.int64), np.array(cell_item, dtype=np.int64), tuple(prompts)


def _majority(votes: Ints) -> Ints:
    """Return the class with most votes, -1 where there is none or several have as many."""
    most = votes.max(axis=1, initial=0)
    leading = (votes == most[:, None]).sum(axis=1)
    return np.where((most > 0) & (leading == 1), votes.argmax(axis=1), -1)


def _values(words: Sequence[str]) -> Floats:
    return np.array([float(w) if _is_number(w) else np.nan for w in words])


def _mean_scores(votes: Ints, values: Floats) -> Floats:
    with np.errstate(invalid="ignore"):
        return np.asarray((votes * values).sum(axis=1) / votes.sum(axis=1))


def _unscored(labels: set[str], said: set[str]) -> list[str]:
    """Say why numbers were read as classes: some verdicts are no numbers."""
    odd = sorted(word for word in said - {INVALID} if not _is_number(word))
    if len(labels) <= _TWO or not odd or not all(map(_is_number, labels)):
        return []
    note = f"{listed(odd)}: no number, so all were read as classes, not as scores"
    return [f"{note}: write {INVALID!r} where the judge gave no score"]


def _never_said(classes: Sequence[str], labels: set[str], said: set[str]) -> list[str]:
    notes = []
    if silent := [c for c in classes if c in labels and c not in said]:
        near = "" if _is_number(silent[0]) else did_you_mean(silent[0], said)
        notes.append(f"the judge never says {listed(silent)}{near}, which people do")
    if len(labels) == 1:
        only = next(iter(labels))
        notes.append(
            f"people gave one label only, {only!r}: how well the judge tells it from others is "
            "not known"
        )
    if outside := sorted(said - set(classes) - {INVALID}):
        notes.append(f"no person says {listed(outside)}: such verdicts count as wrong")
    return notes
