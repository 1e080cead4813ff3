"""How stable a vote of more calls would be than the calls at hand can show: a range, a forecast.

The stability of a vote of m calls is a polynomial of degree 2 m in a cell's law. With R < 2 m calls
it has no unbiased estimate, and no point is given. What the calls do allow is a range: the laws of
items are a sample of some mixing law over the simplex. Among all mixing laws on a grid whose
log likelihood is within 1.92 of the largest (half of 3.84, the 95% quantile of chi-square with one
degree of freedom), the smallest and the largest stability are returned.

Ties are drawn, so neither stability nor what the calls tell of it depends on the names of verdicts:
counts and grid points are sorted, and the likelihood is summed over the ways to name them.

The set of mixing laws is convex: it is approached from outside by planes that touch it, each end of
the range being a linear programme. So the range is never too narrow.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations
from math import factorial, prod

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.decide.votes import compositions, final_verdict
from judgelaw.estimate import Array

_CUT = 1.92
_ROUNDS = 2_000
_CUTS = 40
_CLOSE = 1e-4
_GRID = {2: 60, 3: 30, 4: 20}
_COARSE = 15
_MOST_PARTS = 6
_TINY = 1e-300
_HALVINGS = 50


@dataclass(frozen=True, kw_only=True, eq=False)
class MixingLaws:
    """Mixing laws on a grid that the calls of a cell allow.

    Attributes:
        points: sorted laws, (points, parts).
        chances: of every distinct sorted count under every law, (rows, points).
        seen: how many items show each.
        likeliest: weights of the points, of the largest likelihood.
    """

    points: Floats
    chances: Floats
    seen: Floats
    likeliest: Floats

    def stability(self, m: int) -> tuple[float, float]:
        """Return the smallest and the largest stability of m votes, ties drawn."""
        value = _stability(self.points, m)
        return self._end(value, -1.0), self._end(value, 1.0)

    def _log_likelihood(self, weights: Floats) -> float:
        return float(self.seen @ np.log(np.maximum(self.chances @ weights, _TINY)))

    def _end(self, value: Floats, sign: float) -> float:
        """Return the largest (sign 1) or smallest mean of `value` within the likelihood cut."""
        from scipy.optimize import linprog  # noqa: PLC0415 - scipy loads when it is needed

        least = self._log_likelihood(self.likeliest) - _CUT
        planes: list[Floats] = []
        offsets: list[float] = []
        ones, bound = np.ones((1, len(value))), float("nan")
        for _ in range(_CUTS):
            found = linprog(
                -sign * value,
                A_ub=np.array(planes) if planes else None,
                b_ub=np.array(offsets) if planes else None,
                A_eq=ones,
                b_eq=[1.0],
            )
            corner = np.asarray(found.x, dtype=float)
            bound = float(value @ corner)
            inside = self._border(corner, least)
            if abs(bound - float(value @ inside)) < _CLOSE:
                break
            slope = self.chances.T @ (self.seen / np.maximum(self.chances @ inside, _TINY))
            scale = float(np.abs(slope).max())
            planes.append(-slope / scale)
            offsets.append(-float(slope @ inside) / scale)
        return bound

    def _border(self, outside: Floats, least: float) -> Floats:
        """Return where the way from the likeliest law to another leaves what is allowed."""
        low, high = 0.0, 1.0
        if self._log_likelihood(outside) >= least:
            return outside
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            there = self.likeliest + middle * (outside - self.likeliest)
            low, high = (middle, high) if self._log_likelihood(there) >= least else (low, middle)
        return self.likeliest + low * (outside - self.likeliest)


def mixing_laws(n: Array) -> MixingLaws | None:
    """Fit mixing laws to the counts of one cell of every item, (items, verdicts).

    None where an item shows more different verdicts than the grid can hold.
    """
    rows, seen = np.unique(-np.sort(-n, axis=1), axis=0, return_counts=True)
    parts = min(max(n.shape[1], 2), _MOST_PARTS)
    if (rows[:, parts:] > 0).any():
        return None
    points = np.array(list(_partitions(_GRID.get(parts, _COARSE), parts)), dtype=float)
    points /= points.sum(axis=1, keepdims=True)
    chances = np.stack([_chance(row[:parts], points) for row in rows])
    weights = np.full(len(points), 1 / len(points))
    times = seen.astype(float)
    for _ in range(_ROUNDS):
        weights = weights * (chances.T @ (times / (chances @ weights))) / times.sum()
    return MixingLaws(points=points, chances=chances, seen=times, likeliest=weights)


def _partitions(total: int, parts: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """Yield the ways to write a number as a falling sum of at most so many parts."""
    top = total if most is None else min(total, most)
    if parts == 1:
        if total <= top:
            yield (total,)
        return
    for first in range(top, -1, -1):
        if first * parts < total:
            return
        for rest in _partitions(total - first, parts - 1, first):
            yield (first, *rest)


def _chance(row: Array, points: Floats) -> Floats:
    """Return the chance of sorted counts under every law, whichever verdicts they fall on."""
    padded = [*row.tolist(), *[0] * (points.shape[1] - len(row))]
    ways = factorial(sum(padded)) / prod(factorial(c) for c in padded)
    named = np.array(list(set(permutations(padded))))
    return np.asarray(ways * (points[:, None] ** named).prod(axis=-1).sum(axis=1))


def _stability(points: Floats, m: int) -> Floats:
    """Return the chance that two votes of m calls are the same, under every law."""
    x = compositions(m, points.shape[1])
    ways = np.array([factorial(m) / prod(factorial(c) for c in row) for row in x.tolist()])
    chances = ways * (points[:, None] ** x).prod(axis=-1)
    pi = chances @ final_verdict(x, "random")
    return np.asarray((pi**2).sum(axis=1))
