"""Two judges, or one at two dates, on the same items: what differs, and how far it is known.

The items asked. With R >= 4, a component or contrast e = A - B, and for each judge j the unbiased
variances V_i and their second-order parts V2_i,

    T_j  = [max(0, sum (V_i - V2_i)) + max(0, sum V2_i)] / N^2
    V_j  = T_j; where few calls leave the mode of their cell, max(T_j, V_S,j); for facets at least
           V_M,j, what slips in unanimous cells would do
    nu   = max(8, 2 (T_A + T_B)^2 N^4 / sum of V_i^2 over the items of both)
    d    = (1 + 2 z^2)/6 (V_A a_A - V_B a_B)/V,  a_j = V_j/max(|e_j|, 5 sqrt V_j);  0 where few
    ends   e + d -/+ t_nu sqrt V,  V = V_A + V_B

each cut at the end for items like these, which holds for the items asked as well: both ends hold e,
so the cut is never empty, and the items asked are never less well known than others. Few are five
calls or fewer of one judge, or no variance. With two or three calls there is no unbiased variance:
facets join the intervals of both judges, all else takes the interval for items like these.

Shares of calls (right verdicts, invalid ones) have an unbiased variance from two calls on; one
imagined call of each judge is added, since rare verdicts may show none.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, inf, isnan, sqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import PAIR, Floats
from judgelaw.errors import InputError
from judgelaw.uncertainty.call_intervals import FEW_EVENTS, CallErrors
from judgelaw.uncertainty.call_variance import MIN_REPEATS
from judgelaw.uncertainty.forms import Contrast
from judgelaw.uncertainty.inference import Inference
from judgelaw.uncertainty.intervals import Interval, check_level, no_interval, t_quantile
from judgelaw.uncertainty.new_items import item_difference

_LEAST_DF: Final = 8.0
_KAPPA: Final = 5.0
_ROUNDING: Final = 1e-24
"""Of a variance: calls of few items give 1e-8 or more."""
_NO_SLIPS: Final = frozenset({"call", "total"})
_ONE_CALL: Final = "a cell with one call shows no variance: acquire a second repeat"
_SHALLOW: Final = (
    "with fewer than four calls in a cell this difference is bounded for items like these alone, "
    "and these give no bound"
)


def judge_difference(
    a: Inference,
    b: Inference,
    contrast: Contrast = "prompt",
    *,
    level: float = 0.95,
    p: float | None = None,
) -> Interval:
    """Return A minus B of two judges on the items that were asked.

    Calls of different judges are independent, so variances add; `item_difference` speaks of items
    like these. For several intervals together, `p` is the level of each end, in place of
    (1 + level) / 2.
    """
    check_level(level)
    _check_alike(a.calls, b.calls)
    side = (1 + level) / 2 if p is None else p
    e = float(a.calls.values(contrast).mean() - b.calls.values(contrast).mean())
    covers = a.calls.covers
    reason = a.calls.refusal(contrast) or b.calls.refusal(contrast)
    if reason is not None:
        return no_interval(estimate=e, level=level, covers=covers, reason=reason)
    new = item_difference(a.items, b.items, contrast, p=side, unit=a.calls.shown.unit)
    deep = min(int(x.calls.shown.fewest.min()) for x in (a, b)) >= MIN_REPEATS
    if deep:
        low, high, se, df = _deep(a.calls, b.calls, contrast, side, e)
    elif isinstance(contrast, str) and contrast not in _NO_SLIPS:
        low, high, se, df = _joined(a.calls, b.calls, contrast, side, e)
    elif isnan(new.low):
        return no_interval(estimate=e, level=level, covers=covers, reason=_SHALLOW)
    else:
        low, high, se, df = -inf, inf, new.se, new.df
    return Interval(
        estimate=e,
        se=se,
        low=float(np.fmax(low, new.low)),
        high=float(np.fmin(high, new.high)),
        df=df,
        level=level,
        covers=covers,
        inverted=True,
    )


Ends = tuple[float, float, float, float]
"""Both ends, the standard error, and its degrees of freedom."""


def _deep(a: CallErrors, b: CallErrors, contrast: Contrast, p: float, e: float) -> Ends:
    """Return the ends from four calls in every cell on."""
    both, N = (a, b), len(a.estimates)
    whole = [x.variances(contrast) for x in both]
    second = [x.second_order(contrast) for x in both]
    T = [
        (max(0.0, float((V - V2).sum())) + max(0.0, float(V2.sum()))) / N**2
        for V, V2 in zip(whole, second, strict=True)
    ]
    few = min(T) <= _ROUNDING or any(int(x.shown.off_mode.sum()) <= FEW_EVENTS for x in both)
    slips = contrast not in _NO_SLIPS if isinstance(contrast, str) else True
    V = [
        max(
            t,
            x.supposed(contrast) if few else 0.0,
            x.unseen_slips(contrast) if slips else 0.0,
        )
        for t, x in zip(T, both, strict=True)
    ]
    squares = float(sum((v**2).sum() for v in whole))
    df = 2 * sum(T) ** 2 * N**4 / squares if squares > _ROUNDING**2 else 0.0
    df = max(_LEAST_DF, df)
    shift = 0.0 if few else _shift(both, contrast, V, p)
    half = t_quantile(p, df) * sqrt(sum(V))
    return e + shift - half, e + shift + half, sqrt(sum(V)), df


def _shift(
    both: tuple[CallErrors, CallErrors], contrast: Contrast, V: list[float], p: float
) -> float:
    """Return d: variances that grow with the estimates move the interval outwards."""
    moved = [
        v * v / max(abs(float(x.values(contrast).mean())), _KAPPA * sqrt(v))
        for v, x in zip(V, both, strict=True)
    ]
    z = t_quantile(p, inf)
    return (1 + 2 * z**2) / 6 * (moved[0] - moved[1]) / sum(V)


def _joined(a: CallErrors, b: CallErrors, component: str, p: float, e: float) -> Ends:
    """Join the intervals of both judges, which two or three calls in a cell give."""
    ends = []
    for x in (a, b):
        low, high = x.bounds(component, p)
        at = float(x.values(component).mean())
        ends.append((at - low, high - at))
    (below_a, above_a), (below_b, above_b) = ends
    spreads = [x.wide_spread(component) for x in (a, b)]
    return (
        e - hypot(below_a, above_b),
        e + hypot(above_a, below_b),
        sqrt(sum(s.variance for s in spreads)),
        min(s.df for s in spreads),
    )


def _check_alike(a: CallErrors, b: CallErrors) -> None:
    if a.items is not None and b.items is not None and a.items != b.items:
        raise InputError(
            "the judges were not asked about the same items in the same order: select the common "
            "items in both with VerdictTensor.select(items=...)"
        )
    if len(a.estimates) != len(b.estimates):
        raise InputError(
            f"the judges were asked about {len(a.estimates)} and {len(b.estimates)} items: a "
            "difference is of the same items; select the common ones in both"
        )
    if a.design != b.design:
        raise InputError(
            f"the judges' designs are {a.design!r} and {b.design!r}, which estimate different "
            "quantities: declare the prompts alike in both"
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemShares:
    """The mean credit of the calls of every item, as a judge gave it.

    Attributes:
        means: weighted over cells, (items,).
        variances: V_i of these means by calls, unbiased; nan where a cell holds one call.
        one_call: the most that one call of an item moves its mean.
    """

    means: Floats
    variances: Floats
    one_call: Floats

    def rows(self, rows: Sequence[int]) -> "ItemShares":
        """Keep some items."""
        at = np.asarray(rows, dtype=np.intp)
        return ItemShares(
            means=self.means[at], variances=self.variances[at], one_call=self.one_call[at]
        )


def item_shares(counts: NDArray[np.int64] | Floats, credit: Floats, cells: Floats) -> ItemShares:
    """Return the mean credit of every item, with its variance by calls.

    Args:
        counts: (items, prompts, orders, verdicts).
        credit: what each verdict is worth for each item, (items, verdicts), in [0, 1].
        cells: weights of cells, (prompts, orders), summing to one.
    """
    n = np.asarray(counts, dtype=np.float64)
    R = n.sum(axis=-1)
    mean = np.einsum("nkoc,nc->nko", n, credit) / R
    square = np.einsum("nkoc,nc->nko", n, credit**2) / R
    with np.errstate(divide="ignore", invalid="ignore"):
        variance = np.where(R < PAIR, np.nan, (square - mean**2) / (R - 1))
    return ItemShares(
        means=np.asarray((mean * cells).sum(axis=(1, 2))),
        variances=np.asarray((np.maximum(variance, 0.0) * cells**2).sum(axis=(1, 2))),
        one_call=np.asarray((cells / R).max(axis=(1, 2))),
    )


def share_difference(
    a: ItemShares,
    b: ItemShares,
    *,
    p: float,
    new: tuple[float, float] | None = None,
    weights: Floats | None = None,
    level: float = 0.95,
) -> Interval:
    """Return A minus B of the mean credit on the items asked, each end at level p.

    V = sum over judges and items of their variances, and the square of one call of each judge;
    e -/+ t_nu sqrt V with nu = max(8, 2 (sum V_i)^2 / sum V_i^2), cut at the ends `new` for items
    like these. `weights` of items sum to one; by default all weigh the same.
    """
    N = len(a.means)
    s = np.full(N, 1 / N) if weights is None else weights
    e = float(s @ (a.means - b.means))
    covers = "call sampling, with the items fixed"
    V_i = np.concatenate([s**2 * x.variances for x in (a, b)])
    if np.isnan(V_i).any():
        return no_interval(estimate=e, level=level, covers=covers, reason=_ONE_CALL)
    seen, squares = float(V_i.sum()), float((V_i**2).sum())
    df = max(_LEAST_DF, 2 * seen**2 / squares if squares > _ROUNDING**2 else 0.0)
    V = seen + sum(float((s * x.one_call).max()) ** 2 for x in (a, b))
    half = t_quantile(p, df) * sqrt(V)
    low, high = (-inf, inf) if new is None else new
    return Interval(
        estimate=e,
        se=sqrt(V),
        low=float(max(low, e - half, -1.0)),
        high=float(min(high, e + half, 1.0)),
        df=df,
        level=level,
        covers=covers,
        inverted=True,
    )
