"""Shuffles of the repeats of every cell: the null of all tests of independent calls.

Independent calls of one law are exchangeable over the repeat ranks of their cell, and cells do not
know of each other. Given the verdicts of every cell, which rank got which is then a random
permutation, drawn for each cell by itself. Unanimous cells do not move and are left out, so a judge
that is settled on most items costs little.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT, Floats, count_ranked
from judgelaw.diagnose.family import permutation_ps
from judgelaw.tensor import VerdictTensor

Codes = NDArray[np.signedinteger[Any]]

_CALLS_AT_MOST = 1 << 17
"""Of larger streams an even sample of the items is shuffled: that is exact too, and enough."""
_CODES_AT_ONCE = 1 << 22
_ITEMS_AT_ONCE = 4096


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """Cells that are not unanimous and hold the same number of calls.

    Attributes:
        codes: their verdicts, (cells, calls).
        ranks: the repeat rank of each call, (cells, calls).
        cells: (item, prompt, order) of each cell, (cells, 3), by item.
        verdicts: size of the alphabet.
    """

    codes: Codes
    ranks: NDArray[np.intp]
    cells: NDArray[np.intp]

    verdicts: int

    @cached_property
    def arrangements(self) -> Floats:
        """Logarithm of how many arrangements each cell has."""
        return log_arrangements(count_ranked(self.codes, self.verdicts))


@dataclass(frozen=True, kw_only=True, eq=False)
class MixedCells:
    """The cells of a stream that are not unanimous.

    Attributes:
        complete: those with a call at every rank.
        groups: all of them, by the number of their calls; `complete` is the last.
        verdicts: size of the alphabet.
    """

    complete: Group
    groups: tuple[Group, ...]
    verdicts: int


@dataclass(frozen=True, kw_only=True, eq=False)
class Shuffled:
    """Several arrangements of the mixed cells.

    Attributes:
        complete: verdicts of complete cells, (arrangements, cells, ranks).
        groups: verdicts of every group, likewise.
        verdicts: size of the alphabet.
    """

    complete: Codes
    groups: tuple[Codes, ...]
    verdicts: int

    @cached_property
    def same(self) -> Floats:
        """Return in how many complete cells two ranks agree, (arrangements, pairs)."""
        z = _by_rank(self.complete)
        agree = [(z[r] == z[s]).sum(axis=-1) for r, s in combinations(range(len(z)), 2)]
        return np.stack(agree, axis=-1).astype(float)

    @cached_property
    def counts(self) -> Floats:
        """Verdicts of every rank over complete cells, (arrangements, ranks, verdicts)."""
        z = _by_rank(self.complete)
        tally = [(z == c).sum(axis=-1).T for c in range(self.verdicts)]
        return np.stack(tally, axis=-1).astype(float)


Statistic = Callable[[Shuffled], Floats]
"""From arrangements to one number each; large numbers speak against independent calls."""


def log_arrangements(counts: NDArray[np.int64]) -> Floats:
    """Return log of the ways to arrange calls with these counts of verdicts (last axis)."""
    from scipy.special import gammaln  # noqa: PLC0415 - scipy loads when it is needed

    return np.asarray(gammaln(counts.sum(axis=-1) + 1.0) - gammaln(counts + 1.0).sum(axis=-1))


def mixed_cells(tensor: VerdictTensor) -> MixedCells | None:
    """Return the cells that can be shuffled; None without ranks."""
    if tensor.ranked is None:
        return None
    ranked = tensor.ranked
    R = ranked.shape[-1]
    cells = _not_unanimous(ranked)
    cells = cells[_sampled(cells[:, 0], R)]
    codes = ranked[tuple(cells.T)].astype(np.min_scalar_type(-len(tensor.verdicts) - 1))
    present = codes != ABSENT
    calls = present.sum(axis=1)
    groups = [
        _group(codes[calls == r], present[calls == r], cells[calls == r], len(tensor.verdicts))
        for r in sorted({*calls.tolist(), R})
    ]
    return MixedCells(complete=groups[-1], groups=tuple(groups), verdicts=len(tensor.verdicts))


def shuffled_ps(
    mixed: MixedCells, statistics: Sequence[Statistic], rng: np.random.Generator, most: int
) -> list[float]:
    """Return the permutation p value of every statistic, all from the same shuffles."""
    own = _arranged(mixed, [group.codes[None] for group in mixed.groups])
    observed = [float(statistic(own)[0]) for statistic in statistics]

    def draw(size: int, wanted: Sequence[int]) -> list[Floats]:
        found = [
            [statistics[i](shuffled) for i in wanted] for shuffled in _shuffles(mixed, rng, size)
        ]
        return [np.concatenate(parts) for parts in zip(*found, strict=True)]

    return permutation_ps(observed, draw, most)


def _shuffles(mixed: MixedCells, rng: np.random.Generator, size: int) -> Iterator[Shuffled]:
    calls = sum(group.codes.size for group in mixed.groups)
    at_once = max(1, _CODES_AT_ONCE // max(1, calls))
    for start in range(0, size, at_once):
        draws = min(at_once, size - start)
        copies = (np.broadcast_to(g.codes, (draws, *g.codes.shape)) for g in mixed.groups)
        yield _arranged(mixed, [rng.permuted(copy, axis=-1) for copy in copies])


def _arranged(mixed: MixedCells, parts: list[Codes]) -> Shuffled:
    return Shuffled(complete=parts[-1], groups=tuple(parts), verdicts=mixed.verdicts)


def _by_rank(codes: Codes) -> Codes:
    return np.ascontiguousarray(np.moveaxis(codes, -1, 0))


def _not_unanimous(ranked: Codes) -> NDArray[np.intp]:
    """Return (item, prompt, order) of the cells with two verdicts; items go through in blocks."""
    mixed = np.empty(ranked.shape[:-1], dtype=bool)
    for start in range(0, len(ranked), _ITEMS_AT_ONCE):
        block = ranked[start : start + _ITEMS_AT_ONCE]
        high = block.max(axis=-1)
        low = np.where(block == ABSENT, high[..., None], block).min(axis=-1)
        mixed[start : start + _ITEMS_AT_ONCE] = low < high
    return np.argwhere(mixed)


def _sampled(items: NDArray[np.intp], R: int) -> NDArray[np.bool_]:
    """Say which cells to take: all, or those of evenly spaced items."""
    step = -(-items.size * R // _CALLS_AT_MOST)
    if step <= 1:
        return np.ones(items.size, dtype=bool)
    order = np.unique(items, return_inverse=True)[1]
    return np.asarray(order % step == 0)


def _group(
    codes: Codes, present: NDArray[np.bool_], cells: NDArray[np.intp], verdicts: int
) -> Group:
    calls = int(present[0].sum()) if len(present) else present.shape[1]
    first = np.argsort(~present, axis=1, kind="stable")[:, :calls]
    kept = np.take_along_axis(codes, first, axis=1)
    return Group(codes=kept, ranks=first, cells=cells, verdicts=verdicts)
