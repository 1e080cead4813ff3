"""Bounds on call noise: from smoothed laws, from calls that agree, and from no law at all."""

from dataclasses import dataclass, replace
from math import exp, log, sqrt
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import Floats
from judgelaw.estimate import COMPONENTS, Array, Design, Estimand, Weights
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.forms import (
    Contrast,
    KnownCounts,
    contrast_vector,
    declare,
    form_of,
)
from judgelaw.uncertainty.intervals import check_level


@dataclass(frozen=True, kw_only=True)
class DeviationBound:
    """What the macroaverage can deviate by, whatever the laws.

    Attributes:
        estimate: the macroaverage.
        low, high: estimate -/+ the deviation that is exceeded with probability 1 - level at most.
        level: guaranteed coverage, not a nominal one.
        squares: sum over calls of the squared largest change by one call, sum_j c_j^2.
    """

    estimate: float
    low: float
    high: float
    level: float
    squares: float

    def probability(self, deviation: float) -> float:
        """Return the bound on P(|estimate - truth| >= deviation), 2 exp(-2 t^2 / sum c_j^2)."""
        return min(1.0, 2 * exp(-2 * deviation**2 / self.squares))


def deviation_bound(
    x: VerdictTensor | ArrayLike,
    contrast: Contrast = "prompt",
    *,
    level: float = 0.95,
    design: Design = "census",
    order_weights: Weights = None,
    prompt_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
) -> DeviationBound:
    """Return McDiarmid's bound for the complete estimator on fixed items and prompts (S4.5).

    One call of cell u changes the estimate by (2 / R_u) sum_v |c_uv| / N at most, and that change
    is reached by some table of verdicts: the constant is exact. Conservative by an order of
    magnitude against `call_interval`, and valid from two repeats on.

    Raises:
        NotIdentifiedError: the contrast uses a component whose facet has one level.
    """
    check_level(level)
    estimand = Estimand(
        design=design,
        order_weights=order_weights,
        prompt_weights=prompt_weights,
        dissimilarity=dissimilarity,
    )
    known = declare(x, estimand)
    found = known.decompose().macro()
    constants = call_constants(known, form_of(contrast, known.w, known.q, design))
    squares = float((known.cells.sum(axis=-1) * constants**2).sum())
    used = zip(COMPONENTS, contrast_vector(contrast), strict=True)
    estimate = float(sum(c * found[name] for name, c in used if c))
    half = sqrt(log(2 / (1 - level)) * squares / 2)
    return DeviationBound(
        estimate=estimate, low=estimate - half, high=estimate + half, level=level, squares=squares
    )


def call_constants(known: KnownCounts, c: Array) -> NDArray[np.float64]:
    """Return the largest change of the macroaverage by one call of each cell, (items, cells).

    Changing a call from y to z moves the form by (2 / R_u) sum_v c_uv m_v, where m_v is a mean of
    M(z, w) - M(y, w) over the verdicts w of other calls, which may be anything.
    """
    C = known.n.shape[-1]
    M = np.eye(C) if known.M is None else known.M
    moves = M[:, None, :] - M[None, :, :]
    up, down = moves.max(axis=-1), -moves.min(axis=-1)
    positive = np.where(c > 0, c, 0.0).sum(axis=1)[:, None, None]
    negative = np.where(c < 0, -c, 0.0).sum(axis=1)[:, None, None]
    largest = (positive * up + negative * down).max(axis=(1, 2))
    R = known.cells.sum(axis=-1)
    return np.asarray(2 / R * largest / len(known.n))


@dataclass(frozen=True, kw_only=True, eq=False)
class Shown:
    """What the calls show besides their variance, for judges that are settled nearly everywhere.

    Attributes:
        agreement: agreement of distinct calls in every cell, (items, cells).
        weights: weight of every cell, (cells,).
        off_mode: calls of every item that differ from the most frequent verdict of their cell.
        calls: calls of every item.
        fewest: smallest number of calls in a cell of every item.
        facets: numbers of prompts and orders.
        unit: dissimilarity of the two verdicts that are farthest apart; 1 where they are equal or
            not.
    """

    agreement: Floats
    weights: Floats
    off_mode: NDArray[np.int64]
    calls: NDArray[np.int64]
    fewest: NDArray[np.int64]
    facets: tuple[int, int]
    unit: float = 1.0

    @property
    def unanimous(self) -> bool:
        """Whether all calls of every cell agree."""
        return not self.off_mode.any()

    def rows(self, rows: NDArray[np.intp]) -> Self:
        """Keep some items."""
        return replace(
            self,
            agreement=self.agreement[rows],
            off_mode=self.off_mode[rows],
            calls=self.calls[rows],
            fewest=self.fewest[rows],
        )


def hidden_in_one_item(component: str, shown: Shown, p: float) -> float:
    """Return what one item may hide where every cell is unanimous: 2 eps^2 f, in the unit."""
    K, O = shown.facets
    R = int(shown.fewest.min())
    f, calls = {
        "prompt": ((K - 1) / K**2, R * O),
        "order": ((O - 1) / O**2, R * K),
        "interaction": ((K - 1) * (O - 1) / (K * O) ** 2, R),
    }[component]
    return hidden(f, calls, p) * shown.unit


def hidden(f: float, calls: int, p: float) -> float:
    """Return 2 eps^2 f, with eps the largest share of calls that so many agreeing calls allow."""
    return 2 * float(1 - (1 - p) ** (1 / calls)) ** 2 * f


def shown_by(known: KnownCounts) -> Shown:
    """Return what the calls show besides their variance."""
    n = known.cells
    R = n.sum(axis=-1)
    p = n / R[..., None]
    together = (p * p).sum(axis=-1) if known.M is None else ((p @ known.M) * p).sum(axis=-1)
    return Shown(
        agreement=(R * together - 1) / (R - 1),
        weights=np.outer(known.w, known.q).ravel(),
        off_mode=(R - n.max(axis=-1)).sum(axis=-1),
        calls=R.sum(axis=-1),
        fewest=R.min(axis=-1),
        facets=(known.n.shape[1], known.n.shape[2]),
        unit=1.0 if known.M is None else float((1 - known.M).max()),
    )
