"""Soft verdicts: a probability vector for each call, through the same estimators."""

from numpy.typing import ArrayLike

from judgelaw.arrays import as_laws, is_exact
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate.cells import facets_first, of_soft
from judgelaw.estimate.crossed import as_decomposition, crossed_components
from judgelaw.estimate.decomposition import Decomposition
from judgelaw.estimate.facets import concentrations
from judgelaw.estimate.weights import weights_of

_AXES = 4
_PAIR = 2


def decompose_soft(
    probabilities: ArrayLike,
    *,
    order_weights: ArrayLike | None = None,
    prompt_weights: ArrayLike | None = None,
) -> Decomposition:
    """Decompose soft verdicts shaped (..., prompts, orders, repeats, verdicts).

    Each call's vector y_r is a verdict of its own: call disagreement is 1 - E|P_u|^2 of the mean
    vectors, as if each call had drawn from its vector. Needs two repeats: a single call is the law
    only where vectors do not move between repeats, and they do. `plugin` takes the means as laws.
    """
    y = as_laws(probabilities)
    if y.ndim < _AXES:
        raise InputError(
            f"soft verdicts have shape {y.shape}; they need the axes "
            "(..., prompts, orders, repeats, verdicts)"
        )
    K, O, R, _ = y.shape[-4:]
    if R < _PAIR:
        raise NotIdentifiedError(
            f"R = {R}: a single vector cannot show how vectors move between repeats; acquire two"
        )
    w = weights_of("prompt", prompt_weights, K, exact=is_exact(y))
    q = weights_of("order", order_weights, O, exact=is_exact(y))
    H = concentrations(of_soft(facets_first(y, _AXES), 2), (w, q))
    return as_decomposition(crossed_components(H), "census", K, O)
