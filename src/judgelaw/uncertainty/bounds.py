"""A distribution-free bound on call noise: McDiarmid with the exact constant of every call."""

from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.estimate import COMPONENTS, Design
from judgelaw.estimate.cells import Array
from judgelaw.estimate.weights import Weights
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.declared import Declared, declare
from judgelaw.uncertainty.forms import Contrast, contrast_vector, form_of
from judgelaw.uncertainty.results import check_level


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
    known = declare(
        x,
        design=design,
        order_weights=order_weights,
        prompt_weights=prompt_weights,
        dissimilarity=dissimilarity,
    )
    found = known.decompose().macro()
    constants = call_constants(known, form_of(contrast, known.w, known.q, design))
    squares = float((known.cells.sum(axis=-1) * constants**2).sum())
    used = zip(COMPONENTS, contrast_vector(contrast), strict=True)
    estimate = float(sum(c * found[name] for name, c in used if c))
    half = sqrt(log(2 / (1 - level)) * squares / 2)
    return DeviationBound(
        estimate=estimate, low=estimate - half, high=estimate + half, level=level, squares=squares
    )


def call_constants(known: Declared, c: Array) -> NDArray[np.float64]:
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
