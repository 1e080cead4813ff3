"""Other designs: uncrossed prompts, groups of prompts, panels, soft and valid verdicts.

The uncrossed design has agreement within and across prompts, in the form of the paper:

A_within = mean_k a_k,     A_across = mean_{k != l} p_k . p_l

sampled: within = 1 - A_within,  prompt = A_within - A_across,            total = 1 - A_across
census:  within = 1 - A_within,  prompt = (K-1)/K (A_within - A_across),
         total = 1 - A_within/K - (K-1)/K A_across

Invalid outputs are outcomes. Dropping them changes the law that is estimated and the items that can
be kept: `conditional_on_valid`, the honest estimator, and `delete_invalid_and_pool`, the popular
one, are sensitivity analyses, and say what they lose.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import ABSENT, PAIR, as_laws, grouped, is_exact
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate.decomposition import (
    COMPONENTS,
    Decomposition,
    as_decomposition,
    crossed_components,
    decompose,
    decomposition,
)
from judgelaw.estimate.estimand import (
    Array,
    Cells,
    Design,
    Weights,
    check_depth,
    check_design,
    counts_of,
    dissimilarity_of,
    facets_first,
    of_counts,
    of_soft,
    similarity_of,
    weights_of,
)
from judgelaw.estimate.facets import concentrations
from judgelaw.tensor import INVALID, VerdictTensor


@dataclass(frozen=True, kw_only=True)
class Uncrossed:
    """Within-prompt, prompt and total disagreement of a design without orders."""

    within: Array
    prompt: Array
    total: Array


def uncrossed(counts: VerdictTensor | ArrayLike, design: Design = "census") -> Uncrossed:
    """Estimate within, prompt and total from counts (..., prompts, verdicts), pair by pair.

    A tensor with one order will do too.

    Unbiased for two repeats or more under every prompt; within + prompt = total in every sample
    (paper, eq. S-census-estimators and the sampled ones before it).
    """
    n, R = _prompt_counts(counts)
    K = n.shape[-2]
    check_design(design, None, K)
    a = (n * (n - 1)).sum(axis=-1) / (R * (R - 1))
    p = n / R[..., None]
    pooled = p.sum(axis=-2)
    A_within = a.mean(axis=-1)
    A_across = ((pooled**2).sum(axis=-1) - (p**2).sum(axis=(-2, -1))) / (K * (K - 1))
    if design == "sampled":
        return Uncrossed(within=1 - A_within, prompt=A_within - A_across, total=1 - A_across)
    return Uncrossed(
        within=1 - A_within,
        prompt=(A_within - A_across) * (K - 1) / K,
        total=1 - (A_within + A_across * (K - 1)) / K,
    )


def variance_correction(counts: ArrayLike) -> Array:
    """Estimate the sampled-prompt component as a corrected variance.

    sum_c [ S_c^2 - (1/K) sum_k p_kc (1 - p_kc) / (R_k - 1) ] equals the pair form in every sample
    (paper, eq. S-variance-correction).
    """
    n, R = _prompt_counts(counts)
    p = n / R[..., None]
    S2 = p.var(axis=-2, ddof=1)
    noise = (p * (1 - p) / (R[..., None] - 1)).mean(axis=-2)
    return np.asarray((S2 - noise).sum(axis=-1))


def sampled_plugin(counts: ArrayLike) -> Array:
    """Return the sampled-prompt plug-in sum_c S_c^2 of Theorem 1; it exists at one repeat too."""
    n, R = _prompt_counts(counts, minimum=1)
    return np.asarray((n / R[..., None]).var(axis=-2, ddof=1).sum(axis=-1))


def _prompt_counts(counts: VerdictTensor | ArrayLike, minimum: int = 2) -> tuple[Array, Array]:
    n, names = counts_of(counts)
    if names is not None:
        n = _of_the_one_order(n)
    if n.ndim < 2 or n.shape[-2] < 2:  # noqa: PLR2004 - two axes, two prompts
        raise InputError(
            f"counts have shape {n.shape}; they need the axes (..., prompts, verdicts) "
            "with two prompts or more"
        )
    # Wide before products are taken: n (n - 1) of narrow integers would wrap around.
    n = n if is_exact(n) else n.astype(np.float64)
    R = n.sum(axis=-1)
    check_depth(n, R, minimum=minimum)
    return n, R


def _of_the_one_order(n: Array) -> Array:
    if n.shape[2] != 1:
        raise InputError(
            f"the tensor has {n.shape[2]} orders, and this design has none: select one "
            "(tensor.select(orders=[...])), or use decompose, which keeps orders apart"
        )
    return n[:, :, 0]


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
    M = similarity_of(dissimilarity_of(x, None), n.shape[-1])
    cells = of_counts(facets_first(n, _AXES), 2, M)
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
    return Cells(p=p, d=d, similarity=cells.similarity), W


def panels(
    tensor: VerdictTensor, *, order_weights: Weights = None, prompt_weights: Weights = None
) -> Decomposition:
    """Decompose each panel of repeat ranks (0, 1), (2, 3), ...: arrays shaped (items, panels).

    Each panel estimates the same components without bias and no call serves in two panels, so the
    spread of an item's panels measures call noise. The mean over panels is the panel estimate; it
    uses fewer pairs than `decompose`. A last odd rank is left out.
    """
    ranked = tensor.ranks(slice(None)).ranked
    if ranked is None or ranked.shape[-1] < PAIR or (ranked == ABSENT).any():
        raise NotIdentifiedError(
            "panels pair repeat ranks 0-1, 2-3, ...: every cell needs the same ranks, two or more; "
            "take the complete prefix first (tensor.prefix(r), or incomplete='drop')"
        )
    parts = [
        decompose(
            tensor.ranks(slice(first, first + PAIR)),
            order_weights=order_weights,
            prompt_weights=prompt_weights,
        )
        for first in range(0, ranked.shape[-1] - 1, PAIR)
    ]
    return decomposition(
        {name: np.stack([part[name] for part in parts], axis=-1) for name in COMPONENTS},
        {name: np.stack([part.plugin[name] for part in parts], axis=-1) for name in COMPONENTS},
    )


_SOFT_AXES = 4


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
    if y.ndim < _SOFT_AXES:
        raise InputError(
            f"soft verdicts have shape {y.shape}; they need the axes "
            "(..., prompts, orders, repeats, verdicts)"
        )
    K, O, R, _ = y.shape[-4:]
    if R < PAIR:
        raise NotIdentifiedError(
            f"R = {R}: a single vector cannot show how vectors move between repeats; acquire two"
        )
    w = weights_of("prompt", prompt_weights, K, exact=is_exact(y))
    q = weights_of("order", order_weights, O, exact=is_exact(y))
    H = concentrations(of_soft(facets_first(y, _SOFT_AXES), 2), (w, q))
    return as_decomposition(crossed_components(H), "census", K, O)


@dataclass(frozen=True, kw_only=True)
class ConditionalOnValid:
    """Components of the laws given a valid output, on the items where they can be had.

    Attributes:
        decomposition: of the kept items.
        kept: labels of the items with two valid calls in every cell.
        lost: labels of the others, selected away by the output process itself.
    """

    decomposition: Decomposition
    kept: tuple[str, ...]
    lost: tuple[str, ...]


def conditional_on_valid(
    tensor: VerdictTensor,
    *,
    invalid: Sequence[str] = (INVALID,),
    order_weights: Weights = None,
    prompt_weights: Weights = None,
) -> ConditionalOnValid:
    """Estimate the components of the laws P(z | prompt, order, valid), each cell at its own weight.

    Needs two valid calls in every cell of an item; unbiased given the numbers of valid calls
    (paper S4.3).
    """
    valid = _without(tensor, invalid)
    enough = np.all(valid.repeats >= PAIR, axis=(1, 2))
    if not enough.any():
        raise NotIdentifiedError(
            f"none of the {len(tensor.items)} items has two valid calls in every cell: "
            "conditioning on valid outputs loses the whole benchmark; keep invalid as an outcome"
        )
    kept = tuple(name for name, ok in zip(tensor.items, enough, strict=True) if ok)
    lost = tuple(name for name, ok in zip(tensor.items, enough, strict=True) if not ok)
    estimate = decompose(
        valid.select(items=kept), order_weights=order_weights, prompt_weights=prompt_weights
    )
    return ConditionalOnValid(decomposition=estimate, kept=kept, lost=lost)


def delete_invalid_and_pool(
    tensor: VerdictTensor, *, invalid: Sequence[str] = (INVALID,)
) -> Decomposition:
    """Delete invalid calls, pool the orders of each prompt, and decompose what is left.

    The comparator that many pipelines use. It targets order mixtures weighted by how often each
    order parses, not the declared ones, and pooling biases the agreement itself
    (`pooled_order_agreement`): shown to be compared with, not to be used.
    """
    valid = _without(tensor, invalid)
    counts, _ = counts_of(valid)
    return decompose(counts.sum(axis=2, keepdims=True))


def _without(tensor: VerdictTensor, invalid: Sequence[str]) -> VerdictTensor:
    if unknown := [name for name in invalid if name not in tensor.verdicts]:
        raise InputError(f"unknown verdict {unknown[0]!r}; the alphabet is {list(tensor.verdicts)}")
    keep = [j for j, name in enumerate(tensor.verdicts) if name not in invalid]
    return replace(
        tensor,
        counts=tensor.counts[..., keep],
        verdicts=tuple(tensor.verdicts[j] for j in keep),
        ranked=None,
    )
