"""Which prompts differ, and whether they differ alike on every item."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import PAIR, is_exact
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate.estimand import (
    Array,
    Weights,
    check_depth,
    counts_of,
    dissimilarity_of,
    facets_first,
    of_counts,
    similarity_of,
    weights_of,
)
from judgelaw.tensor import VerdictTensor

_AXES = 3


def prompt_distances(
    counts: VerdictTensor | ArrayLike,
    *,
    order_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
) -> Array:
    """Estimate |P_k - P_l|^2 of order-averaged laws for all prompts: (..., prompts, prompts).

    D_kl = a_k + a_l - 2 b_kl, with distinct calls only: unbiased, zero on the diagonal, and
    prompt = (1/2) sum_kl w_k w_l D_kl in every sample. May be negative where prompts agree. The
    dissimilarity is as for `decompose`: squared lengths are |x|^2 = x'Mx.
    """
    M = _similarity(counts, dissimilarity)
    P, excess, _ = _order_averaged(counts, order_weights, M)
    b = (P if M is None else P @ M) @ np.swapaxes(P, -1, -2)
    diagonal = np.arange(b.shape[-1])
    a = b[..., diagonal, diagonal] - excess
    D = np.asarray(a[..., :, None] + a[..., None, :] - 2 * b)
    D[..., diagonal, diagonal] = 0
    return D


@dataclass(frozen=True, kw_only=True)
class BenchmarkEffect:
    """The prompt component split into what all items share and what is each item's own.

    Attributes:
        shared: |mean over items of the prompt's shift|^2, from distinct items only.
        by_item: the rest of the mean prompt component, item-by-prompt interaction.
        prompt: their sum, the mean prompt component in this coding of verdicts.
        shared_fixed_items: the shared part for exactly these items, (N-1)/N shared + prompt/N.
    """

    shared: float
    by_item: float
    prompt: float
    shared_fixed_items: float


def benchmark_effect(
    counts: VerdictTensor | ArrayLike,
    *,
    order_weights: Weights = None,
    prompt_weights: Weights = None,
) -> BenchmarkEffect:
    """Estimate how much of the prompt component moves all items the same way.

    With D_ik = P_ik - sum_k w_k P_ik, shared = sum_k w_k (|sum_i D_ik|^2 - sum_i |D_ik|^2) / N^(2).
    Meaningful only for verdicts coded alike on all items (right, wrong, tie, invalid; or displayed
    position): recode before calling. Counts are (items, prompts, orders, verdicts), N >= 2.
    """
    P, excess, prompts = _order_averaged(counts, order_weights)
    if P.ndim != _AXES:
        raise InputError(
            f"counts have {P.ndim + 1} axes; what items share needs "
            "(items, prompts, orders, verdicts)"
        )
    N, K = P.shape[:2]
    if N < PAIR:
        raise NotIdentifiedError(f"{N} item: what items share needs two items or more")
    w = weights_of("prompt", prompt_weights, K, prompts, exact=is_exact(P))
    mean = np.tensordot(P, w, axes=(1, 0))
    D = P - mean[:, None]
    together = ((D.sum(axis=0) ** 2).sum(axis=-1) * w).sum()
    alone = ((D**2).sum(axis=(0, 2)) * w).sum()
    shared = (together - alone) / (N * (N - 1))
    U = (w * (P**2).sum(axis=-1)).sum(axis=1) - (mean**2).sum(axis=-1)
    prompt = (U - ((w - w**2) * excess).sum(axis=1)).mean()
    return BenchmarkEffect(
        shared=shared,
        by_item=prompt - shared,
        prompt=prompt,
        shared_fixed_items=((N - 1) * shared + prompt) / N,
    )


def _similarity(
    counts: VerdictTensor | ArrayLike, dissimilarity: ArrayLike | str | None
) -> Array | None:
    n, _ = counts_of(counts)
    return similarity_of(dissimilarity_of(counts, dissimilarity), n.shape[-1])


def _order_averaged(
    counts: VerdictTensor | ArrayLike, order_weights: Weights, M: Array | None = None
) -> tuple[Array, Array, Sequence[str] | None]:
    """Return prompt laws (..., prompts, verdicts), their self-pair excess, and prompts' names."""
    n, names = counts_of(counts)
    if n.ndim < _AXES:
        raise InputError(
            f"counts have shape {n.shape}; they need the axes (..., prompts, orders, verdicts)"
        )
    check_depth(n, n.sum(axis=-1), minimum=PAIR, names=names)
    q = weights_of(
        "order", order_weights, n.shape[-2], names[2] if names else None, exact=is_exact(n)
    )
    cells = of_counts(facets_first(n, 3), 2, M)
    P = np.tensordot(q, cells.p, axes=(0, 1))
    excess = np.tensordot(q**2, cells.d, axes=(0, 1))
    laws = np.moveaxis(P, (0, 1), (-2, -1))
    return laws, np.moveaxis(excess, 0, -1), names[1] if names else None
