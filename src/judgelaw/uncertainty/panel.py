"""Interval of the two-repeat panel estimator (paper, S4.4): simple, wide, and only for itself."""

import numpy as np
from numpy.typing import NDArray

from judgelaw.errors import NotIdentifiedError
from judgelaw.estimate import COMPONENTS, panels
from judgelaw.estimate.weights import Weights
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.forms import Contrast, absent_reason, contrast_vector
from judgelaw.uncertainty.results import Interval, check_level, is_constant, no_interval, t_interval

Floats = NDArray[np.float64]

_COVERS = "call sampling of the panel estimator, with the items and the prompt census fixed"


def panel_interval(
    tensor: VerdictTensor,
    contrast: Contrast = "prompt",
    *,
    level: float = 0.95,
    order_weights: Weights = None,
    prompt_weights: Weights = None,
) -> Interval:
    """Return the panel estimate with its Welch-Satterthwaite interval.

    Repeat ranks (0, 1), (2, 3), ... are J panels, each estimating U_i without bias. With s_i^2 the
    variance of item i over its panels, V = sum_i s_i^2 / (N^2 J) and
    nu = V^2 / sum_i {s_i^2 / (N^2 J)}^2 / (J - 1).

    Needs J >= 2, that is four ranks in every cell. The interval belongs to the panel estimate, not
    to the complete one, whose own (`call_interval`) is about half as wide.
    """
    check_level(level)
    found = panels(tensor, order_weights=order_weights, prompt_weights=prompt_weights)
    ell = contrast_vector(contrast)
    used = [(name, x) for name, x in zip(COMPONENTS, ell, strict=True) if x]
    if absent := [name for name, _ in used if np.isnan(found[name]).any()]:
        reason = absent_reason(absent[0])
        return no_interval(estimate=np.nan, level=level, covers=_COVERS, reason=reason)
    U = np.asarray(sum(x * found[name] for name, x in used))
    J = U.shape[-1]
    if J < 2:  # noqa: PLR2004 - a variance over panels
        raise NotIdentifiedError(
            f"{U.shape[-1]} panel of two repeats: the spread over panels needs two, that is four "
            "repeats in every cell; below that use the item error"
        )
    estimate, V, nu = (float(x) for x in welch(U))
    if not V > 0:
        reason = (
            "all panels of every item agree, so their spread says nothing about call noise: "
            "acquire more repeats, or use the item error"
        )
        return no_interval(estimate=estimate, level=level, covers=_COVERS, reason=reason)
    return t_interval(estimate=estimate, variance=V, df=nu, level=level, covers=_COVERS)


def welch(U: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean, variance and degrees of freedom of panel values (..., items, panels).

    The degrees are nan where no item varies over its panels.
    """
    N, J = U.shape[-2:]
    s2 = np.where(is_constant(U), 0.0, U.var(axis=-1, ddof=1))
    terms = s2 / (N**2 * J)
    V = terms.sum(axis=-1)
    squares = (terms**2).sum(axis=-1) / (J - 1)
    nu = np.divide(V**2, squares, out=np.full_like(V, np.nan), where=squares > 0)
    return U.mean(axis=(-1, -2)), V, nu
