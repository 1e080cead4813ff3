"""Known laws: population components, and exactly how much finite repeats inflate the plug-in."""

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import as_counts, as_laws, as_whole, is_exact
from judgelaw.errors import InputError
from judgelaw.estimate.cells import Array, Cells, facets_first, of_laws, quadratic
from judgelaw.estimate.crossed import as_decomposition, check_design, crossed_components
from judgelaw.estimate.decomposition import Decomposition, Design
from judgelaw.estimate.dissimilarity import similarity_of
from judgelaw.estimate.facets import Concentrations, concentrations
from judgelaw.estimate.weights import weights_of

_FACETS = 2
_AXES = 3


def population(
    laws: ArrayLike,
    *,
    design: Design = "census",
    order_weights: ArrayLike | None = None,
    prompt_weights: ArrayLike | None = None,
    dissimilarity: ArrayLike | str | None = None,
) -> Decomposition:
    """Return the true components of cell laws (..., prompts, orders, verdicts).

    They are what `decompose` estimates (Propositions 1 and 3); `plugin` holds the same values,
    since laws that are known need no correction. With `design="sampled"` the laws are those of
    the drawn prompts, and the values estimate the generator's without call noise.
    """
    P, weights = _laws_of(laws, design, prompt_weights, order_weights)
    law = of_laws(facets_first(P, _AXES), _FACETS, similarity_of(dissimilarity, P.shape[-1]))
    H = concentrations(law, weights)
    return as_decomposition(crossed_components(H), design, *P.shape[-3:-1])


def expected_plugin(
    laws: ArrayLike,
    repeats: ArrayLike,
    *,
    design: Design = "census",
    order_weights: ArrayLike | None = None,
    prompt_weights: ArrayLike | None = None,
    dissimilarity: ArrayLike | str | None = None,
) -> Decomposition:
    """Return the true components, with the expectation of the plug-in at these repeats beside them.

    E|p_u|^2 = |P_u|^2 + (1 - |P_u|^2) / R_u while products of distinct cells are unbiased, so the
    plug-in expects the truth plus the self-pairs of cells with excess d_u = (1 - |P_u|^2) / R_u.
    Every published inflation is a case of it, each at R = 1 too: Theorem 1 (sampled prompts),
    Proposition 2 (a census), the balanced crossed excess, and its general form.

    Args:
        laws: (..., prompts, orders, verdicts).
        repeats: calls of each cell, a number or an array like (..., prompts, orders).
        design: as for `decompose`.
        order_weights: as for `decompose`.
        prompt_weights: as for `decompose`.
        dissimilarity: as for `decompose`.
    """
    P, weights = _laws_of(laws, design, prompt_weights, order_weights)
    R = np.broadcast_to(as_counts(repeats), P.shape[:-1])
    if not (R >= 1).all():
        raise InputError(f"repeats = {R.min()}: the plug-in needs one call or more in every cell")
    M = similarity_of(dissimilarity, P.shape[-1])
    p = facets_first(P, _AXES)
    d = (1 - quadratic(p, _FACETS, M)) / facets_first(R, _FACETS)
    H = concentrations(Cells(p=p, d=d, similarity=M), weights)
    inflated = tuple(x + s for x, s in zip(H.inclusive, H.self_pairs, strict=True))
    expected = Concentrations(inclusive=inflated, self_pairs=H.self_pairs)
    return as_decomposition(crossed_components(expected), design, *P.shape[-3:-1])


def pooled_order_agreement(a: ArrayLike, b: ArrayLike, calls: int) -> Array:
    """Return the expected agreement of `calls` calls of each of two orders, pooled unordered.

    |(a + b)/2|^2 - |a - b|^2 / (4 (2n - 1)): pooling undershoots the declared mixture of the two
    orders (paper, eq. S-pooled-order-bias), which is why orders stay apart here.
    """
    if as_whole(calls, "calls") < 1:
        raise InputError(f"calls = {calls}: pooling two orders needs one call or more of each")
    first, second = as_laws(a), as_laws(b)
    mixture = ((first + second) ** 2).sum(axis=-1) / 4
    return np.asarray(mixture - ((first - second) ** 2).sum(axis=-1) / (4 * (2 * calls - 1)))


def _laws_of(
    laws: ArrayLike,
    design: Design,
    prompt_weights: ArrayLike | None,
    order_weights: ArrayLike | None,
) -> tuple[Array, tuple[Array, Array]]:
    P = as_laws(laws)
    if P.ndim < _AXES:
        raise InputError(
            f"laws have shape {P.shape}; they need the axes (..., prompts, orders, verdicts)"
        )
    K, O = P.shape[-3:-1]
    check_design(design, prompt_weights, K)
    w = weights_of("prompt", prompt_weights, K, exact=is_exact(P))
    q = weights_of("order", order_weights, O, exact=is_exact(P))
    return P, (w, q)
