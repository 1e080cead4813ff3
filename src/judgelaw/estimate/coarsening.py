"""Prompts in declared groups: the components of a coarser prompt facet, without bias."""

from collections.abc import Hashable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import grouped, is_exact
from judgelaw.errors import InputError
from judgelaw.estimate.cells import Array, Cells, facets_first, of_counts
from judgelaw.estimate.checks import check_depth, counts_of
from judgelaw.estimate.crossed import as_decomposition, crossed_components
from judgelaw.estimate.decomposition import Decomposition
from judgelaw.estimate.facets import concentrations
from judgelaw.estimate.weights import Weights, weights_of
from judgelaw.tensor import VerdictTensor

_AXES = 3


def decompose_coarsened(
    x: VerdictTensor | ArrayLike,
    groups: Mapping[str, Iterable[Hashable]],
    *,
    order_weights: Weights = None,
    prompt_weights: Weights = None,
) -> Decomposition:
    """Decompose with groups of prompts in place of prompts, `{"plain": ["p1", "p2"], ...}`.

    Estimand: the census components of the group laws P_g = sum_{k in g} (w_k / W_g) P_k under the
    group weights W_g = sum_{k in g} w_k; what differs inside a group is call disagreement here.
    Estimates use p_g = sum (w_k / W_g) p_k with self-pair excess d_g = sum (w_k / W_g)^2 d_k, so
    only distinct calls of the same prompt pair up as repeats: unbiased for two calls or more in
    every cell, while pooled calls of different prompts taken as repeats are not.

    Args:
        x: a VerdictTensor, or counts (..., prompts, orders, verdicts).
        groups: the prompts of each group, by name for a tensor, by position for an array.
        order_weights: as for `decompose`.
        prompt_weights: of the prompts themselves, as for `decompose`; equal by default.
    """
    n, names = counts_of(x)
    if n.ndim < _AXES:
        raise InputError(
            f"counts have shape {n.shape}; they need the axes (..., prompts, orders, verdicts)"
        )
    check_depth(n, n.sum(axis=-1), minimum=2, names=names)
    K, O = n.shape[-3:-1]
    members = grouped(range(K) if names is None else names[1], groups)
    exact = is_exact(n)
    w = weights_of("prompt", prompt_weights, K, names[1] if names else None, exact=exact)
    q = weights_of("order", order_weights, O, names[2] if names else None, exact=exact)
    cells = of_counts(facets_first(n, _AXES), 2)
    coarse, W = _coarse(cells, w, members)
    values = crossed_components(concentrations(coarse, (W, q)))
    return as_decomposition(values, "census", len(members), O)


def _coarse(cells: Cells, w: Array, members: Sequence[Sequence[int]]) -> tuple[Cells, Array]:
    """Return the cells of the groups, and the groups' weights."""
    W = np.array([w[list(group)].sum() for group in members])
    shares = [w[list(group)] / total for group, total in zip(members, W, strict=True)]
    parts = [(list(group), share) for group, share in zip(members, shares, strict=True)]
    p = np.stack([np.tensordot(share, cells.p[group], axes=1) for group, share in parts])
    d = np.stack([np.tensordot(share**2, cells.d[group], axes=1) for group, share in parts])
    return Cells(p=p, d=d), W
