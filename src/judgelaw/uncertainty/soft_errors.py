"""Errors of components from token probabilities, and what missing mass may hide.

Each call r of a cell u has a vector y_r over verdicts; the law of the cell is the mean of its
vectors. Module `soft_variance` has two estimates of the error by calls, from two calls on: a sharp
one, A, and a safe one, B. What items differ by, s^2 / N, is a third, since it holds the noise of
calls and more; it is used for twenty items or more. With nu = 2 (sum V_i)^2 / sum V_i^2 degrees,

    R >= 4    A if it is positive and nu_A >= 12, else max(A, min(B, s^2 / N))
    R = 2, 3  min(A, s^2 / N) if nu_A >= 12, else min(B, s^2 / N)

but for the call component of three calls, which is min(C, s^2 / N). C sums what each cell adds to
it; cells move independently of each other, so that its degrees are counted by cells.

Where s^2 / N is taken the upper end is shifted, with kappa = 7 (module `call_intervals`).

A vector K that lacks the mass m is known up to a part that may be anywhere: the
product of two calls lies in [K_u . K_v, K_u . K_v + m_u + m_v]. Summed by the sign of c these are
bounds of a component; nothing is divided by its sum.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import inf, isnan, nan, sqrt
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT, PAIR, Floats
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import COMPONENTS, Array, Estimand, soft_components
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_bounds import Shown
from judgelaw.uncertainty.call_intervals import FEW_EVENTS, CallErrors
from judgelaw.uncertainty.call_variance import MIN_REPEATS
from judgelaw.uncertainty.forms import (
    Contrast,
    absent_component,
    component_map,
    concentration_forms,
    contrast_row,
    declare,
)
from judgelaw.uncertainty.inference import DepthEstimates, prefixes
from judgelaw.uncertainty.intervals import (
    Interval,
    Spread,
    is_constant,
    shifted_upper,
    spread_of,
    t_quantile,
)
from judgelaw.uncertainty.soft_variance import soft_variance

MOVED: Final = 0.01
"""Distance (half the sum of absolute differences) from which a vector counts as another one."""
_KNOWN_DF: Final = 12.0
_MANY_ITEMS: Final = 20
_SKEWED: Final = 7.0
_COVERS: Final = "token probabilities that move between calls, with the items and prompts fixed"


@dataclass(frozen=True, kw_only=True, eq=False)
class SoftErrors(CallErrors):
    """Item estimates from token probabilities, with the covariance of their error.

    `covariance` is the sharp estimate, `smoothed` the safe one.

    Attributes:
        missing: mean missing mass of the calls of every cell, (items, cells).
        forms: of H_XO, H_X, H_O and H_0, (4, cells, cells).
        by_cell: what every cell adds to the variance of its item's call component, (items, cells),
            where the fewest calls of a cell are three; else None.
    """

    missing: Floats
    forms: Floats
    by_cell: Floats | None

    @property
    def exact(self) -> bool:
        """Whether the variance needs no smoothing: vectors show theirs from two calls on."""
        return True

    @property
    def covers(self) -> str:
        """Which randomness these errors cover, in words."""
        return _COVERS

    def variances(self, contrast: Contrast = "prompt") -> Floats:
        """Return the variance V_i of every item by calls that move."""
        if self.by_cell is not None and contrast == "call":
            return np.asarray(self.by_cell.sum(axis=-1))
        return super().variances(contrast)

    def spread(self, component: str) -> tuple[Spread, float]:
        """Return the variance that bounds of one component use; nothing shifts them."""
        return self.wide_spread(component), inf

    def wide_spread(self, contrast: Contrast) -> Spread:
        """Return the variance that bounds of a component or contrast use."""
        if self.by_cell is not None and contrast == "call":
            C, items = self._spread(self.by_cell), _over_items(self.values(contrast))
            return min(C, items, key=_variance)
        return super().wide_spread(contrast)

    def _chosen(self, values: Floats, sharp: Floats, safe: Floats) -> Spread:
        """Return the variance of a mean of these values, by how much can be known of it."""
        A, B, items = self._spread(sharp), self._spread(safe), _over_items(values)
        unbiased = self.shown.fewest.min() >= MIN_REPEATS
        if A.variance > 0 and A.df >= _KNOWN_DF:
            return A if unbiased else min(A, items, key=_variance)
        least = min(B, items, key=_variance)
        return max(A, least, key=_variance) if unbiased else least

    def slack(self, contrast: Contrast) -> tuple[float, float]:
        """Return how far missing mass may move the macroaverage, down (negative) and up."""
        if absent_component(contrast, self.components) is not None:
            return np.nan, np.nan
        return self._slack(contrast_row(contrast, self.components))

    def slack_less_total(self, component: str) -> Callable[[float], tuple[float, float]]:
        """Return the slack of g - rho T as a function of rho."""
        g, T = (contrast_row(name, self.components) for name in (component, "total"))
        return lambda rho: self._slack(g - rho * T)

    def _slack(self, row: Floats) -> tuple[float, float]:
        c = np.tensordot(row, self.forms, axes=1)
        down, up = (2 * part.sum(axis=1) for part in (np.minimum(c, 0), np.maximum(c, 0)))
        return float((self.missing @ down).mean()), float((self.missing @ up).mean())

    def bounds(self, contrast: Contrast, p: float) -> tuple[float, float]:
        """Return lower and upper bounds, each at level p, wherever the missing mass may be."""
        if self.refusal(contrast) is not None:
            return nan, nan
        values = self.values(contrast)
        e, spread = float(values.mean()), self.wide_spread(contrast)
        half = t_quantile(p, spread.df) * sqrt(spread.variance)
        # Estimates of items that hold noise alone are skewed to the right.
        kappa = _SKEWED if spread == _over_items(values) else inf
        above = shifted_upper(e, spread, p, kappa=kappa) - e
        if not isinstance(contrast, str):
            half = above
        reach = self._rare_events(contrast, e, p) - e if isinstance(contrast, str) else 0.0
        below = reach if contrast in ("call", "total") else 0.0
        down, up = self.slack(contrast)
        return e - max(half, below) + down, e + max(above, reach) + up

    def interval(self, contrast: Contrast = "prompt", *, level: float = 0.95) -> Interval:
        """Return the macroaverage with its interval for the same items asked again.

        Where hardly any vector moves, their variance says next to nothing: the error then is the
        one that fits the interval.
        """
        found = super().interval(contrast, level=level)
        if isnan(found.low) or int(self.shown.off_mode.sum()) > FEW_EVENTS:
            return found
        half = (found.high - found.low) / 2
        return replace(found, se=max(found.se, half / t_quantile((1 + level) / 2, inf)))

    def rare_events(self, e: float, p: float) -> float:
        """Return the least upper end of a chance e where hardly any vector moves; else -inf.

        Of n calls Q were seen to move. At most a share q of calls does, at level p, and two calls
        differ in agreement only if one of them has moved: by 2 q at most.
        """
        Q, calls = int(self.shown.off_mode.sum()), int(self.shown.calls.sum())
        if Q > FEW_EVENTS:
            return -inf
        from scipy.special import betaincinv  # noqa: PLC0415 - scipy loads when it is needed

        return e + min(1.0, 2 * float(betaincinv(Q + 1, max(calls - Q, 1), p)))

    def rows(self, rows: NDArray[np.intp]) -> Self:
        """Keep some items."""
        by_cell = None if self.by_cell is None else self.by_cell[rows]
        return replace(super().rows(rows), missing=self.missing[rows], by_cell=by_cell)


def _variance(spread: Spread) -> float:
    return spread.variance


def _over_items(values: Floats) -> Spread:
    """Return s^2 / N with its degrees of freedom; without bound where items are few."""
    N = len(values)
    if N < _MANY_ITEMS or is_constant(values):
        return Spread(variance=inf, df=1.0)
    found = spread_of((values - values.mean()) ** 2 / (N * (N - 1)))
    return replace(found, df=min(found.df, N - 1.0))


def soft_at_depth(tensor: VerdictTensor, estimand: Estimand) -> DepthEstimates:
    """Estimate all components of every item from token probabilities, with their errors.

    Raises:
        InputError: the tensor has none, or prompts were drawn.
        NotIdentifiedError: a cell holds one call.
    """
    y = _checked(tensor, estimand)
    known = declare(tensor, estimand)
    w, q = known.w, known.q
    found = soft_components(y, w, q)
    c = concentration_forms(w, q)
    cells = _flat(y)
    found_by, shown = soft_variance(cells, c), _shown(cells, w, q)
    agreement = found_by.agreement
    errors = SoftErrors(
        estimates=np.stack([found[name] for name in COMPONENTS], axis=-1),
        covariance=found_by.sharp,
        smoothed=found_by.safe,
        components=component_map(len(w), len(q)),
        shown=shown,
        design="census",
        items=tensor.items,
        missing=missing_mass(cells),
        forms=c,
        by_cell=None if agreement is None else shown.weights**2 * agreement,
    )
    return DepthEstimates(
        depth=tensor.depth[1],
        items=tensor.items,
        strata=tensor.strata,
        clusters=tensor.clusters,
        facets=(len(w), len(q)),
        repeats=tensor.depth,
        top=known.top,
        found=found,
        errors=errors,
        drawn=None,
    )


def soft_nested(tensor: VerdictTensor, estimand: Estimand) -> Iterator[DepthEstimates]:
    """Yield the estimates at the prefixes 2, 4, 8, ... below the full depth."""
    for depth, prefix in prefixes(tensor):
        yield replace(soft_at_depth(prefix, estimand), depth=depth)


def _checked(tensor: VerdictTensor, estimand: Estimand) -> Floats:
    if tensor.soft is None:
        raise InputError(
            "these calls came without token probabilities: ask for them (logprobs: 20 on a judge), "
            "or add columns p_VERDICT to the table"
        )
    if estimand.design == "sampled" or tensor.scale is not None:
        raise InputError(
            "where prompts were drawn from a generator, or verdicts are scores, errors are known "
            "for sampled verdicts only: use those (soft='never', --soft never)"
        )
    if tensor.depth[0] < PAIR:
        raise NotIdentifiedError(
            f"R = {tensor.depth[0]}: a single vector cannot show how vectors move between repeats; "
            "acquire a second repeat of every cell"
        )
    return tensor.soft


def _flat(y: Floats) -> Floats:
    """Return vectors with prompts and orders in one axis: (items, cells, repeats, verdicts)."""
    N, K, O, R, C = y.shape
    return y.reshape(N, K * O, R, C)


def missing_mass(y: Floats) -> Floats:
    """Return the mean mass that the vectors of every cell lack, (items, cells)."""
    return np.asarray(np.nanmean(np.maximum(0, 1 - y.sum(axis=-1)), axis=-1))


def _shown(y: Floats, w: Array, q: Array) -> Shown:
    """Return what vectors show beside their variance; one that moves is a call off its mode."""
    there = ~np.isnan(y[..., 0])
    R = there.sum(axis=-1)
    known = np.where(there[..., None], y, 0)
    p = known.sum(axis=-2) / R[..., None]
    s = (known**2).sum(axis=(-2, -1)) / R
    first = np.take_along_axis(known, there.argmax(axis=-1)[..., None, None], axis=-2)
    moved = there & (np.abs(known - first).sum(axis=-1) / 2 > MOVED)
    return Shown(
        agreement=(R * (p**2).sum(axis=-1) - s) / (R - 1),
        weights=np.outer(w, q).ravel(),
        off_mode=moved.sum(axis=(-2, -1)),
        calls=R.sum(axis=-1),
        fewest=R.min(axis=-1),
        facets=(len(w), len(q)),
    )


def calls_without_vector(tensor: VerdictTensor) -> tuple[int, int]:
    """Count the calls whose vector lacks all its mass, and all calls."""
    assert tensor.soft is not None  # noqa: S101 - asked of soft calls only
    mass = tensor.soft.sum(axis=-1)
    return int((mass < _NOTHING).sum()), int((~np.isnan(mass)).sum())


def moving_cells(tensor: VerdictTensor) -> float:
    """Return the share of cells whose vectors move between repeats."""
    assert tensor.soft is not None  # noqa: S101 - asked of soft calls only
    cells = _flat(tensor.soft)
    high, low = np.nanmax(cells, axis=-2), np.nanmin(cells, axis=-2)
    return float(((high - low).max(axis=-1) > MOVED).mean())


def reconcile(tensor: VerdictTensor, rng: np.random.Generator, draws: int) -> float:
    """Return the p value of "the verdicts were drawn from their vectors", two-sided.

    The statistic is the log likelihood of the sampled verdicts, against verdicts drawn from the
    same vectors. What a vector lacks may be any verdict: a sampled one counts with its own
    probability and the missing mass, one drawn from the missing mass with that alone. Calls
    without a vector say nothing.
    """
    assert tensor.soft is not None  # noqa: S101 - asked of soft calls only
    assert tensor.ranked is not None  # noqa: S101 - vectors stand beside ranked verdicts
    there = tensor.ranked != ABSENT
    y, z = tensor.soft[there], tensor.ranked[there].astype(int)
    m = np.maximum(0, 1 - y.sum(axis=-1, keepdims=True))
    known = m[:, 0] < 1 - _NOTHING
    y, z, m = y[known], z[known], m[known]
    edges = np.cumsum(np.concatenate([y, m], axis=-1), axis=-1)
    edges /= edges[:, -1:]
    logs = np.log(np.maximum(np.concatenate([y + m, m], axis=-1), _NOTHING))
    observed = float(np.take_along_axis(logs, z[:, None], axis=-1).sum())
    drawn = np.empty(draws)
    for d in range(draws):
        code = (rng.random((len(y), 1)) >= edges[:, :-1]).sum(axis=-1, keepdims=True)
        drawn[d] = np.take_along_axis(logs, code, axis=-1).sum()
    sides = (int((drawn <= observed + _TIES).sum()), int((drawn >= observed - _TIES).sum()))
    return min(1.0, 2 * (1 + min(sides)) / (1 + draws))


_NOTHING: Final = 1e-12
_TIES: Final = 1e-9
