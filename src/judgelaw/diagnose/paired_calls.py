"""Calls without and with a change of the answer, cell by cell: shift, change of law, their test.

The test shuffles calls within each cell between "as it was" and "changed". If the change does
nothing they are exchangeable, so the test is exact, whatever the dice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.diagnose.family import in_blocks, permutation_ps

_CHUNK = 1 << 22
"""Calls shuffled at a time: 32 MB."""
_TIE = 1e-9

Counts = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Pair:
    """Counts (items, cells, verdicts) without and with the change; cells are prompts x orders."""

    items: tuple[str, ...]
    before: Counts
    after: Counts
    scores: Floats
    shape: tuple[int, int]


def shifts(before: Counts, after: Counts, scores: Floats) -> Floats:
    """Return the shift of every cell, (..., cells)."""
    return mean_scores(after, scores) - mean_scores(before, scores)


def changes(before: Counts, after: Counts) -> Floats:
    """Return the change of law of every cell, (..., cells): distinct calls only."""
    laws = [n / n.sum(axis=-1, keepdims=True) for n in (before, after)]
    agreements = [_agreement(n) for n in (before, after)]
    return np.asarray(sum(agreements) / 2 - (laws[0] * laws[1]).sum(axis=-1))


def _agreement(n: Counts) -> Floats:
    R = n.sum(axis=-1)
    return np.asarray((n * (n - 1)).sum(axis=-1) / (R * (R - 1)))


def mean_scores(n: Counts, scores: Floats) -> Floats:
    """Return the mean score of every cell."""
    return np.asarray((n @ scores) / n.sum(axis=-1))


def p_values(pairs: Sequence[Pair], draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return p values of |mean shift| and of mean change.

    Calls are shuffled within cells between the baseline and each changed side; a call of the
    baseline serves every side, so the sides are shuffled together with it.
    """
    groups = _groups(pairs)
    if not groups:  # every cell is unanimous, so no shuffle could tell anything
        return 1.0, 1.0
    observed = _statistics(groups, [group.codes[None] for group in groups])[0]
    at_once = max(1, _CHUNK // max(1, sum(group.codes.size for group in groups)))

    def draw(size: int, wanted: Sequence[int]) -> list[Floats]:
        parts = [
            _statistics(
                groups, [group.shuffled(rng, min(at_once, size - done)) for group in groups]
            )
            for done in range(0, size, at_once)
        ]
        return [np.concatenate([part[:, i] for part in parts]) for i in wanted]

    shift, change = permutation_ps(observed.tolist(), draw, draws)
    return shift, change


@dataclass(frozen=True, kw_only=True, eq=False)
class _Group:
    """Cells with the same numbers of calls: verdict codes (cells, calls), baseline first.

    Attributes:
        codes: of all calls of a cell.
        items: the number of each cell's item.
        ends: where the calls of the baseline and of each side end.
        weight: of a cell and side in the mean over items.
        scores: by side, of each verdict.
    """

    codes: NDArray[np.int8]
    items: NDArray[np.intp]
    ends: tuple[int, ...]
    weight: float
    scores: tuple[Floats, ...]

    def shuffled(self, rng: np.random.Generator, draws: int) -> NDArray[np.int8]:
        """Return codes of independent shuffles within every cell, (draws, cells, calls)."""
        return rng.permuted(np.broadcast_to(self.codes, (draws, *self.codes.shape)), axis=-1)

    def counts(self, codes: NDArray[np.int8]) -> list[Counts]:
        """Count the verdicts of the baseline and of each side, (draws, cells, verdicts)."""
        C = len(self.scores[0])
        starts = (0, *self.ends[:-1])
        return [
            np.stack([(codes[..., a:b] == c).sum(axis=-1) for c in range(C)], axis=-1)
            for a, b in zip(starts, self.ends, strict=True)
        ]


def _groups(pairs: Sequence[Pair]) -> list[_Group]:
    """Lay out the cells of all items by the numbers of calls that they hold."""
    items = sides_of_items(pairs)
    places: dict[tuple[int, ...], list[list[int]]] = {}
    for number, members in enumerate(items.values()):
        sides = tuple(side for side, _ in members)
        places.setdefault(sides, []).append([number, *(at for _, at in members)])
    return [
        group
        for sides, rows in places.items()
        for group in _by_depth(pairs, sides, np.array(rows), len(items))
    ]


def _by_depth(
    pairs: Sequence[Pair], sides: tuple[int, ...], rows: NDArray[np.intp], items: int
) -> Iterator[_Group]:
    """Yield the groups of items whose answers were changed on the same sides.

    A row is the number of an item, and its place in each side.
    """
    numbers, at = rows[:, 0], rows[:, 1:]
    counts = [pairs[sides[0]].before[at[:, 0]]]
    counts += [pairs[side].after[at[:, j]] for j, side in enumerate(sides)]
    cells, C = counts[0].shape[1:]
    together = np.stack(counts, axis=2).reshape(-1, len(counts), C)
    depths = together.sum(axis=-1)
    # Where all calls agree, no shuffle changes anything, and shift and change are zero.
    mixed = (together.sum(axis=1) > 0).sum(axis=-1) > 1
    for depth in np.unique(depths[mixed], axis=0):
        here = mixed & (depths == depth).all(axis=1)
        chosen = together[here]
        verdicts = np.tile(np.arange(C, dtype=np.int8), len(chosen) * len(counts))
        yield _Group(
            codes=np.repeat(verdicts, chosen.ravel()).reshape(len(chosen), -1),
            items=np.repeat(numbers, cells)[here],
            ends=tuple(np.cumsum(depth).tolist()),
            weight=1 / (items * cells * len(sides)),
            scores=tuple(pairs[side].scores for side in sides),
        )


def sides_of_items(pairs: Sequence[Pair]) -> dict[str, list[tuple[int, int]]]:
    """Return, for every item, the sides that were changed and its place in each."""
    found: dict[str, list[tuple[int, int]]] = {}
    for side, pair in enumerate(pairs):
        for at, item in enumerate(pair.items):
            found.setdefault(item, []).append((side, at))
    return found


def item_p_values(pairs: Sequence[Pair], draws: int, rng: np.random.Generator) -> Floats:
    """Return the p value of every item's |shift|, by shuffles within its own cells."""
    groups, items = _groups(pairs), len(sides_of_items(pairs))
    observed = _item_shifts(groups, [group.codes[None] for group in groups], items)[0]
    reached = np.ones(items)
    for size in in_blocks(draws, max(1, sum(group.codes.size for group in groups)), _CHUNK):
        drawn = _item_shifts(groups, [group.shuffled(rng, size) for group in groups], items)
        reached += (drawn >= observed - _TIE).sum(axis=0)
    return reached / (draws + 1)


def _item_shifts(groups: Sequence[_Group], drawn: Sequence[NDArray[np.int8]], items: int) -> Floats:
    """Return |shift| of every draw and item, up to a factor, (draws, items)."""
    shift = np.zeros((len(drawn[0]) if drawn else 1, items))
    for group, codes in zip(groups, drawn, strict=True):
        n = group.counts(codes)
        cells = sum(shifts(n[0], n[i + 1], scores) for i, scores in enumerate(group.scores))
        shift += cells @ (group.items[:, None] == np.arange(items)) * group.weight * items
    return np.abs(shift)


def _statistics(groups: Sequence[_Group], drawn: Sequence[NDArray[np.int8]]) -> Floats:
    """Return |mean shift| and mean change of every draw, (draws, 2)."""
    shift = change = np.zeros(len(drawn[0]))
    for group, codes in zip(groups, drawn, strict=True):
        n = group.counts(codes)
        for side, scores in enumerate(group.scores):
            shift = shift + shifts(n[0], n[side + 1], scores).sum(axis=-1) * group.weight
            change = change + changes(n[0], n[side + 1]).sum(axis=-1) * group.weight
    return np.stack([np.abs(shift), change], axis=-1)
