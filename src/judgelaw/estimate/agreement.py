"""The uncrossed design in the form of the paper: agreement within and across prompts.

A_within = mean_k a_k,     A_across = mean_{k != l} p_k . p_l

sampled: within = 1 - A_within,  prompt = A_within - A_across,            total = 1 - A_across
census:  within = 1 - A_within,  prompt = (K-1)/K (A_within - A_across),
         total = 1 - A_within/K - (K-1)/K A_across
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import is_exact
from judgelaw.errors import InputError
from judgelaw.estimate.cells import Array
from judgelaw.estimate.checks import check_depth, counts_of
from judgelaw.estimate.crossed import check_design
from judgelaw.estimate.decomposition import Design
from judgelaw.tensor import VerdictTensor


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
