"""Which single items a prompt or an order moves, with a false discovery rate.

An item with R_k calls under level k of a facet, x_k of them on its commonest verdict: calls are
pooled over the other facet. Where no level matters, the x_k given their total follow the
multivariate hypergeometric law, whatever the judge's law is, and

    S = sum_k x_k^2 + (R_k - x_k)^2,      p = P(S > s) + P(S = s) / 2

is worked out exactly. Where the other facet matters the x_k vary less, so p is too large. An item
whose smallest possible p, given its total, is above .05 cannot decide and is left out; that hangs
on the total alone. Of the others those are shown that Benjamini and Hochberg's rule finds at .05.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import PAIR, Floats
from judgelaw.streams import stream

FALSE_DISCOVERIES: Final = 0.05
_MOST_NUMBERS: Final = 2_000_000
"""Of the law of total and S together; items with more calls are drawn."""
_DRAWS: Final = 20_000
_NAMED_FROM: Final = 3
_TIE: Final = 1e-12

Ints = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, eq=False)
class MovedItems:
    """What one facet does to single items.

    Attributes:
        p: of "no level moves the item", nan where its calls cannot decide.
        shown: whether the facet moves the item, at a false discovery rate of .05.
        most: the level that differs most from the others, of items that are shown; None where two
            differ as much, or the facet has two levels.
    """

    p: Floats
    shown: NDArray[np.bool_]
    most: tuple[str | None, ...]


def moved_items(counts: Ints, levels: Sequence[str]) -> MovedItems:
    """Test every item for the levels of a facet.

    Args:
        counts: calls (items, levels, verdicts), pooled over all other facets.
        levels: names of the levels, two or more.
    """
    calls = counts.sum(axis=-1)
    mode = counts.sum(axis=1).argmax(axis=-1)
    x = np.take_along_axis(counts, mode[:, None, None], axis=-1)[..., 0]
    p, least = np.empty((2, len(x)))
    designs, which = np.unique(calls, axis=0, return_inverse=True)
    for at, sizes in enumerate(designs):
        rows = np.flatnonzero(which.reshape(-1) == at)
        p[rows], least[rows] = _p_values(x[rows], tuple(int(r) for r in sizes))
    p = np.where(least <= FALSE_DISCOVERIES, p, np.nan)
    shown = discoveries(p, FALSE_DISCOVERIES)
    return MovedItems(p=p, shown=shown, most=_most(x, calls, shown, levels))


def discoveries(p: Floats, rate: float) -> NDArray[np.bool_]:
    """Return which hypotheses Benjamini and Hochberg reject; those without a p value are none."""
    found = np.zeros(len(p), dtype=bool)
    there = np.flatnonzero(~np.isnan(p))
    order = there[np.argsort(p[there], kind="stable")]
    passed = np.flatnonzero(p[order] <= rate * np.arange(1, len(order) + 1) / max(len(order), 1))
    if len(passed):
        found[order[: passed[-1] + 1]] = True
    return found


def _p_values(x: Ints, sizes: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return the p value of every item, and the smallest that its total allows."""
    R = np.array(sizes)
    S = (x**2 + (R - x) ** 2).sum(axis=1)
    total = x.sum(axis=1)
    if (R.sum() + 1) * ((R**2).sum() + 1) > _MOST_NUMBERS:
        return _drawn(S, total, sizes)
    above, least = _tail(sizes)
    return above[total, S], least[total]


@lru_cache(maxsize=16)
def _tail(sizes: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return P(S > s) + P(S = s)/2 by total and s, and the least of it by total."""
    joint = _joint(sizes)
    law = joint / joint.sum(axis=1, keepdims=True)
    beyond = law[:, ::-1].cumsum(axis=1)[:, ::-1] - law
    above = np.maximum(beyond, 0) + law / 2
    last = law.shape[1] - 1 - (law[:, ::-1] > 0).argmax(axis=1)
    return above, above[np.arange(len(law)), last]


def _joint(sizes: tuple[int, ...]) -> Floats:
    """Return the joint law of the total and S for fair coins, (totals, values of S).

    Given the total it is that of any coin.
    """
    calls, squares = sum(sizes), sum(r * r for r in sizes)
    found = np.zeros((calls + 1, squares + 1))
    found[0, 0] = 1
    for r in sizes:
        chance = np.array([1.0])
        for _ in range(r):
            chance = np.convolve(chance, [0.5, 0.5])
        further = np.zeros_like(found)
        for k, weight in enumerate(chance):
            s = k * k + (r - k) * (r - k)
            further[k:, s:] += weight * found[: calls + 1 - k, : squares + 1 - s]
        found = further
    return found


def _drawn(S: Ints, total: Ints, sizes: tuple[int, ...]) -> tuple[Floats, Floats]:
    """Return both from draws, where the law is too large to be worked out."""
    R = np.array(sizes)
    p, least = np.empty((2, len(S)))
    for t in np.unique(total):
        rng = stream(0, "moved items", str(sizes), int(t))
        x = rng.multivariate_hypergeometric(R, int(t), size=_DRAWS, method="marginals")
        drawn = np.sort((x**2 + (R - x) ** 2).sum(axis=1))
        at = np.flatnonzero(total == t)
        left, right = (np.searchsorted(drawn, S[at], side=side) for side in ("left", "right"))
        p[at] = (_DRAWS - right + (right - left) / 2 + 1) / (_DRAWS + 1)
        least[at] = 0.0 if 0 < t < R.sum() else 0.5
    return p, least


def _most(
    x: Ints, calls: Ints, shown: NDArray[np.bool_], levels: Sequence[str]
) -> tuple[str | None, ...]:
    """Return the level whose share is farthest from the mean of all, of items that are shown."""
    if len(levels) < _NAMED_FROM:
        return (None,) * len(x)
    share = x / calls
    apart = np.abs(share - share.mean(axis=1, keepdims=True))
    ranked = np.sort(apart, axis=1)
    alone = ranked[:, -1] - ranked[:, -PAIR] > _TIE
    farthest = apart.argmax(axis=1)
    return tuple(
        levels[int(k)] if told and one else None
        for k, told, one in zip(farthest, shown, alone, strict=True)
    )
