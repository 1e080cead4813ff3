"""Bounds of a mean over items, where a few items carry the sum: t, Hall and Gaffke.

Items may lie in clusters (documents, questions): what is drawn anew then are clusters. With n_c
items and the mean x_c in cluster c, m = sum n_c x_c / sum n_c and nbar the mean of n_c,

    t        of the values u_c = m + n_c/nbar (x_c - m)
    Gaffke   quantile of [sum W_c n_c x_c + W_+ n_max b] / [sum W_c n_c + W_+ n_max]

with an unseen cluster of the largest size at the end of the range. Sharper bounds miss clusters
that are rare and differ.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import PAIR, Floats
from judgelaw.streams import stream
from judgelaw.uncertainty.intervals import t_quantile

DRAWS = 20_000
_DRAWS_OF_FEW, _FEW_ITEMS = 200_000, 20
"""Means of few items have long tails: below so many items ten times the draws."""

_BLOCK = 1 << 21
"""Random numbers in a block of draws: 16 MB."""
_KEPT = 1 << 24
"""Draws up to this many numbers are kept for the next judge with as many items: 128 MB."""
_MOST_KEPT = 2 * _KEPT
"""What is kept in all: layers and their strata take turns."""
MOST_NUMBERS, LEAST_DRAWS = 100_000_000, 1_000
"""Very many items get fewer draws, so that these are all the numbers drawn; never fewer than so."""
FEW = 8.0
_UNSEEN_OF_FEW, _UNSEEN, _LIKE_THE_LEAST = 0.8, 0.5, 0.25
"""How much of an item weighs in the bounds of a score with drawn prompts, beside those seen."""
_MANY_ITEMS = 50
_TAIL, _EVERY, _AT_LEAST = 4, 16, 8
"""A tail is less than a fourth of the values; every 16th is looked at to find where it begins."""
_SMALL = 1e-6
_ROUNDING = 1e-12


@dataclass(frozen=True, kw_only=True, eq=False)
class Clusters:
    """Which items belong together.

    Attributes:
        of: the number of each item's cluster, from 0.
        sizes: items of each cluster.
    """

    of: NDArray[np.intp]
    sizes: Floats

    def __len__(self) -> int:
        """Return how many clusters there are."""
        return len(self.sizes)

    def sums(self, values: Floats) -> Floats:
        """Return the sums of values (items, ...) over each cluster."""
        found = np.zeros((len(self), *values.shape[1:]))
        np.add.at(found, self.of, values)
        return found

    def within(self, rows: NDArray[np.bool_]) -> "Clusters":
        """Return the same clusters with these items alone; some may hold none of them."""
        of = self.of[rows]
        return Clusters(of=of, sizes=np.bincount(of, minlength=len(self)).astype(np.float64))

    def units(self, x: Floats) -> Floats:
        """Return a value for each cluster, whose mean is that of the items."""
        m = float(x.mean())
        return np.asarray(m + (self.sums(x) - self.sizes * m) / self.sizes.mean())


def clusters_of(labels: Sequence[str] | None) -> Clusters | None:
    """Return the clusters of items by their labels; None where each item has its own."""
    if labels is None:
        return None
    number = {name: at for at, name in enumerate(dict.fromkeys(labels))}
    if len(number) == len(labels):
        return None
    of = np.array([number[name] for name in labels], dtype=np.intp)
    return Clusters(of=of, sizes=np.bincount(of).astype(np.float64))


@dataclass(frozen=True, kw_only=True, eq=False)
class Draws:
    """Values of items in random weights: sum_i W_i x_i of every draw, and the weight left over.

    Attributes:
        sums: (draws,) for one quantity, (quantities, draws) for several.
        last: W_{N+1} of every draw.
        clusters: of the items, where several belong together.
    """

    sums: Floats
    last: Floats
    clusters: Clusters | None = None

    def __neg__(self) -> "Draws":
        """Return the weightings of the values with their signs turned round."""
        return replace(self, sums=-self.sums)

    def quantile(self, p: float, unseen: float) -> float:
        """Return G(unseen): the p-quantile with an unseen item of this value."""
        return _order_statistic(self.sums + self.last * unseen, p)


def _order_statistic(values: Floats, p: float) -> float:
    """Return the order statistic above p: np.quantile takes three times as long to go between.

    Bounds are asked for in the tail. A sample of the values says about where it begins, so that
    only the tail is put in order; should the sample mislead, all values are.
    """
    at = ceil(p * (len(values) - 1))
    above = len(values) - at
    if above * _TAIL < len(values):
        sample = values[::_EVERY]
        begins = len(sample) - min(len(sample), 2 * above // _EVERY + _AT_LEAST)
        tail = values[values >= np.partition(sample, begins)[begins]]
        if len(tail) >= above:
            values, at = tail, len(tail) - above
    return float(np.partition(values, at)[at])


def weigh(
    values: Floats,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    of: int = 0,
    clusters: Clusters | None = None,
) -> Draws:
    """Return the random weightings of quantities (items, quantities), all from the same weights.

    Weights of another `of` are independent of these. What is left over is shared: read it only.
    """
    if clusters is not None:
        sizes = clusters.sizes[:, None]
        drawn = weigh(np.hstack([clusters.sums(values), sizes]), draws=draws, seed=seed, of=of)
        unseen = drawn.last * clusters.sizes.max()
        items = drawn.sums[-1] + unseen
        return Draws(sums=drawn.sums[:-1] / items, last=unseen / items, clusters=clusters)
    N = len(values)
    if draws * (N + 1) <= _KEPT:
        W = _weights(seed, draws, N, of)
        return Draws(sums=values.T @ W[:N], last=W[N])
    rng = _stream_of(seed, N, of)
    sums, last = np.empty((values.shape[1], draws)), np.empty(draws)
    size = max(1, _BLOCK // (N + 1))
    for first in range(0, draws, size):
        part = slice(first, min(first + size, draws))
        W = _simplex(rng, part.stop - first, N)
        sums[:, part], last[part] = (W[:, :N] @ values).T, W[:, N]
    return Draws(sums=sums, last=last)


def weigh_one(
    x: Floats,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    of: int = 0,
    clusters: Clusters | None = None,
) -> Draws:
    """Return the random weightings of one quantity, (items,)."""
    drawn = weigh(x[:, None], draws=draws, seed=seed, of=of, clusters=clusters)
    return replace(drawn, sums=drawn.sums[0])


_kept: dict[tuple[int, int, int, int], Floats] = {}
"""Draws of weights, those that were used last at the end."""


def _stream_of(seed: int, N: int, of: int) -> np.random.Generator:
    return stream(seed, "new items", N, *([of] if of else []))


def _weights(seed: int, draws: int, N: int, of: int) -> Floats:
    key = (seed, draws, N, of)
    W = _kept.pop(key, None)
    if W is None:
        # Draws lie side by side, so that sums over items read memory in its order.
        W = np.ascontiguousarray(_simplex(_stream_of(seed, N, of), draws, N).T)
        W.flags.writeable = False
        while _kept and sum(kept.size for kept in _kept.values()) + W.size > _MOST_KEPT:
            del _kept[next(iter(_kept))]
    _kept[key] = W
    return W


def _simplex(rng: np.random.Generator, draws: int, N: int) -> Floats:
    W = rng.standard_exponential((draws, N + 1))
    W /= W.sum(axis=1, keepdims=True)
    return W


def effective_items(x: Floats) -> float:
    """Return how many items carry the sum of squares, (sum x^2)^2 / sum x^4; 0 if all are zero."""
    fourth = float((x**4).sum())
    return float((x**2).sum()) ** 2 / fourth if fourth > 0 else 0.0


def upper_bound(x: Floats, drawn: Draws, p: float, *, top: float, careful: bool) -> float:
    """Return the upper bound of a mean of two items or more, at level p.

    `top`, the largest value that an item can have, is never taken below the largest one seen;
    `careful` supposes an unseen item there, whatever was seen, and so do clusters.
    """
    careful = careful or drawn.clusters is not None
    gaffke = drawn.quantile(p, unseen_value(x, top, careful=careful))
    x = _units(x, drawn)
    m, se = float(x.mean()), standard_error(x)
    t = m + t_quantile(p, len(x) - 1) * se
    return max(t, gaffke) if careful else max(t, gaffke, _hall(x, m, se, p))


def _units(x: Floats, drawn: Draws) -> Floats:
    """Return the values of what is drawn anew: items, or their clusters."""
    return x if drawn.clusters is None else drawn.clusters.units(x)


def carried_bound(x: Floats, p: float, *, top: float, few: float) -> float:
    """Return the upper bound of a mean at level p, by how many items carry it.

    max(t, Hall) where `few` items or more do; else max(t, Gaffke), with an unseen item at `top`.
    """
    m, se = float(x.mean()), standard_error(x)
    t = m + t_quantile(p, len(x) - 1) * se
    if effective_items(x) >= few:
        return max(t, _hall(x, m, se, p))
    drawn = weigh_one(x, draws=min(DRAWS, max(LEAST_DRAWS, MOST_NUMBERS // len(x))))
    return max(t, drawn.quantile(p, unseen_value(x, top, careful=True)))


def carried_distances(above: Floats, below: Floats, p: float, *, top: float) -> tuple[float, float]:
    """Return how far a mean may lie below and above what was seen, each at level p.

    Gaffke's weights with less of an unseen item: the items weigh Gamma(N) together, the unseen one
    at the far end Gamma(a), and one like the least of them Gamma(1/4). Where fewer than eight items
    carry the sum, a = 4/5 and the unseen item lies at `top`; else a = 1/2 and it lies one step
    beyond the largest. For x of N values of one, the rest zero, the upper bound is the quantile of
    Beta(x + a, N - x + 1/4): between Jeffreys' (1/2 and 1/2) and Clopper and Pearson's (1 and 0).

    Args:
        above: how far each item is above the least it can be.
        below: how far each is below the most it can be; above + below is the same for all items.
        p: level of each bound.
        top: the most that these can be.
    """
    draws = min(DRAWS, max(LEAST_DRAWS, MOST_NUMBERS // len(above)))
    drawn = weigh_one(above - above.mean(), draws=draws)
    seen = drawn.sums / (1 - drawn.last)
    return _carried_distance(below, -seen, p, top), _carried_distance(above, seen, p, top)


def _carried_distance(x: Floats, seen: Floats, p: float, top: float) -> float:
    """Return the p-quantile of a randomly weighted mean less the mean, given draws of the items."""
    m, few = float(x.mean()), effective_items(x) < FEW
    items, far, near = _shares(len(x), _UNSEEN_OF_FEW if few else _UNSEEN, len(seen))
    values = items * seen + far * (unseen_value(x, top, careful=few) - m) + near * (x.min() - m)
    return max(0.0, _order_statistic(values, p))


@lru_cache(maxsize=4)
def _shares(N: int, unseen: float, draws: int) -> tuple[Floats, Floats, Floats]:
    """Return random shares of N items together, of an unseen one, and of one like the least."""
    rng = stream(0, "unseen share", N, str(unseen))
    G = rng.standard_gamma(np.array([[N], [unseen], [_LIKE_THE_LEAST]]), size=(3, draws))
    items, far, near = G / G.sum(axis=0)
    return items, far, near


def may_be_positive(x: Floats, drawn: Draws, p: float, *, top: float, careful: bool) -> bool:
    """Whether the upper bound of a mean reaches zero: many times faster than the bound itself."""
    careful = careful or drawn.clusters is not None
    values = drawn.sums + drawn.last * unseen_value(x, top, careful=careful)
    x = _units(x, drawn)
    m, se = float(x.mean()), standard_error(x)
    if m + t_quantile(p, len(x) - 1) * se >= -_ROUNDING:
        return True
    if not careful and _hall(x, m, se, p) >= -_ROUNDING:
        return True
    return bool(np.count_nonzero(values >= -_ROUNDING) > (1 - p) * len(values))


def unseen_value(x: Floats, top: float, *, careful: bool) -> float:
    """Return the value of the item that nobody saw."""
    ceiling = max(top, float(x.max()))
    if careful:
        return ceiling
    second, first = np.partition(x, -2)[-2:]
    return min(ceiling, float(2 * first - second))


def lower_bound(x: Floats, drawn: Draws, p: float) -> float:
    """Return the lower bound of the mean of a component at level p."""
    least = -float(x.min())
    x = _units(x, drawn)
    m, se = float(x.mean()), standard_error(x)
    t = m - t_quantile(p, len(x) - 1) * se
    if len(x) < _MANY_ITEMS or drawn.clusters is not None:
        return min(t, -(-drawn).quantile(p, max(0.0, least)))
    return min(t, -_hall(-x, -m, se, p), -(-drawn).quantile(p, least))


def rate_bounds(
    x: Floats,
    p: float,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> tuple[float, float]:
    """Return lower and upper bounds of a mean of shares in [0, 1], each at level p.

    Gaffke's bounds alone, with an unseen item at 1 above and at 0 below: they grow with every
    value, so that one more invalid output never makes a gate pass.
    """
    one = weigh_one(x, draws=draws, seed=seed, clusters=clusters)
    low = 0.0 if not x.any() else -(-one).quantile(p, 0.0)
    high = 1.0 if (x == 1).all() else one.quantile(p, 1.0)
    return low, high


@dataclass(frozen=True, kw_only=True)
class MeanBounds:
    """A mean over items with both bounds for items like them, nan where none can be had.

    Attributes:
        estimate: the weighted mean.
        low, high: each at the level asked, not cut at the ends of the range.
    """

    estimate: float
    low: float
    high: float


def mean_bounds(
    x: Floats,
    p: float,
    *,
    ends: tuple[float, float] = (0.0, 1.0),
    classes: Sequence[Hashable] | None = None,
    weights: Mapping[Hashable, float] | None = None,
    lone_items: bool = False,
    clusters: Clusters | None = None,
    seed: int = 0,
    drawn: Draws | None = None,
) -> MeanBounds:
    """Return the mean of item values between `ends`, with each bound at level p for new items.

    The larger of t and Gaffke's bound, whose unseen item lies at the end of the range; of 0 and 1
    that is Clopper and Pearson's. Where items lie in classes of fixed weight, each class has an
    unseen item of its own and t is Welch's. Where items lie in clusters, these are the units.

    Args:
        x: values of items.
        p: level of each bound.
        ends: what an item can be, at least and at most.
        classes: the class of each item, with `weights`.
        weights: of the classes, summing to one.
        lone_items: take 1/4 for the variance of a class with one item, instead of no bounds.
        clusters: of the items, where several belong together.
        seed: of the random weights.
        drawn: from `weigh_means` with the same seed; only where there are no classes and clusters.
    """
    kept = {None: 1.0} if classes is None or weights is None else weights
    labels = np.array([None] * len(x) if classes is None or weights is None else classes)
    parts = [(v, x[labels == g]) for g, v in kept.items()]
    m = sum(v * float(part.mean()) for v, part in parts)
    least = 1 if lone_items else PAIR
    if len(x) < PAIR or any(len(part) < least for _, part in parts):
        return MeanBounds(estimate=m, low=nan, high=nan)
    if clusters is not None:
        together = [(v, x[labels == g], clusters.within(labels == g)) for g, v in kept.items()]
        low, high = _of_clusters(together, p, ends, seed)
        return MeanBounds(estimate=m, low=low, high=high)
    spreads = [
        (v**2 * (standard_error(part) ** 2 if len(part) > 1 else _LONE), max(1, len(part) - 1))
        for v, part in parts
    ]
    V, squares = sum(V_g for V_g, _ in spreads), sum(V_g**2 / nu for V_g, nu in spreads)
    t = t_quantile(p, V**2 / squares) * sqrt(V) if squares > 0 else 0.0
    low, high = _gaffke(parts, p, ends, seed, drawn)
    return MeanBounds(estimate=m, low=min(m - t, low), high=max(m + t, high))


def _of_clusters(
    parts: Sequence[tuple[float, Floats, Clusters]],
    p: float,
    ends: tuple[float, float],
    seed: int,
) -> tuple[float, float]:
    """Return bounds of a weighted mean of class means, with clusters as units.

    The classes share the random weights of the clusters that their items lie in, and the unseen
    cluster, which holds as many items of each class as the largest one.
    """
    C = len(parts[0][2])
    if C < PAIR:
        return nan, nan
    draws = _draws_for(C)
    units, sums, last, m = np.zeros(C), np.zeros(draws), np.zeros(draws), 0.0
    for v, x, clusters in parts:
        drawn = weigh_one(x, draws=draws, seed=seed, clusters=clusters)
        units += v * clusters.units(x)
        sums, last, m = sums + v * drawn.sums, last + v * drawn.last, m + v * float(x.mean())
    t = t_quantile(p, C - 1) * standard_error(units)
    low, high = ends
    return (
        min(m - t, -_order_statistic(-sums - last * low, p)),
        max(m + t, _order_statistic(sums + last * high, p)),
    )


def _draws_for(units: int) -> int:
    """Return how many random weightings a mean of so many items or clusters gets."""
    most = DRAWS if units >= _FEW_ITEMS else _DRAWS_OF_FEW
    return min(most, max(LEAST_DRAWS, MOST_NUMBERS // units))


def weigh_means(values: Floats, *, seed: int = 0) -> list[Draws]:
    """Return the random weightings of several values of items, (items, values), drawn once.

    Each is what `mean_bounds` would draw for that value alone.
    """
    found = weigh(values, draws=_draws_for(len(values)), seed=seed)
    return [replace(found, sums=sums) for sums in found.sums]


_LONE = 0.25
"""The largest variance of a value between 0 and 1."""


def _gaffke(
    parts: Sequence[tuple[float, Floats]],
    p: float,
    ends: tuple[float, float],
    seed: int,
    drawn: Draws | None = None,
) -> tuple[float, float]:
    """Return Gaffke's bounds of a weighted mean of class means, an unseen item in each class."""
    draws = _draws_for(sum(len(part) for _, part in parts))
    sums, last = np.zeros(draws), np.zeros(draws)
    for number, (v, part) in enumerate(parts):
        # Classes of one size must not share their weights: every class has a stream of its own.
        own = drawn or weigh_one(part, draws=draws, seed=seed, of=number)
        sums += v * own.sums
        last += v * own.last
    low, high = ends
    return (
        -_order_statistic(-sums if low == 0 else -sums - last * low, p),
        _order_statistic(sums + last if high == 1 else sums + last * high, p),
    )


def standard_error(x: Floats) -> float:
    """Return s / sqrt N; values that differ by rounding alone do not vary."""
    if np.ptp(x) <= _ROUNDING * max(1.0, float(np.abs(x).max())):
        return 0.0
    return float(x.std(ddof=1)) / sqrt(len(x))


def _hall(x: Floats, m: float, se: float, p: float) -> float:
    """Return Hall's bound: the t bound corrected for the skewness that the sample shows."""
    if se == 0:
        return m
    N = len(x)
    skewness = float(((x - m) ** 3).mean()) / (se * sqrt(N)) ** 3
    A = skewness / sqrt(N)
    if abs(A) < _SMALL:
        A = _SMALL
    y = t_quantile(1 - p, N - 1)
    return m - se * 3 * (float(np.cbrt(1 + A * (y - A / 6))) - 1) / A
