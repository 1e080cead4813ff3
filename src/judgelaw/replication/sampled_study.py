"""The sampled-prompt theorem at work: coverage of its interval as K grows (Theorem S1).

Prompts are drawn anew in every data set from a generator whose dispersion is known. The paper's
interval is U -/+ 1.96 x 2 sqrt(s1^2 / K); the small-K form of FORMULAS 3 multiplies the error by
(K - 1)/(K - 2) and takes a t quantile of K - 1 degrees.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats, check_at_least, count_ranked
from judgelaw.errors import NotIdentifiedError
from judgelaw.steps import Advance, unheard
from judgelaw.streams import stream
from judgelaw.worlds import PromptGenerator

SAMPLED_PROMPTS = (4, 5, 6, 8, 10, 20, 40)
DATASETS = 4_000
DATASET_ITEMS = 50
METHODS = ("paper", "small-K")

_CALLS_AT_ONCE = 1 << 20


@dataclass(frozen=True, kw_only=True)
class SampledRow:
    """Calibration of one interval at K sampled prompts.

    Attributes:
        plugin_bias, analytic_bias: mean error of the plug-in, and U_within / R (Theorem 1).
        method: "paper" or "small-K".
        bias, bias_se: mean error of the debiased estimate, and its Monte Carlo error.
        coverage, coverage_se: share of intervals that hold the truth.
        width: mean length of the interval.
    """

    prompts: int
    truth: float
    repeats: int
    method: str
    plugin_bias: float
    analytic_bias: float
    bias: float
    bias_se: float
    coverage: float
    coverage_se: float
    width: float


@dataclass(frozen=True, kw_only=True)
class SampledStudy:
    """The whole calibration."""

    datasets: int
    items: int
    family: str
    seed: int
    rows: tuple[SampledRow, ...]


def simulate_sampled(
    *,
    generator: PromptGenerator,
    prompts: Sequence[int] = SAMPLED_PROMPTS,
    repeats: int = 4,
    items: int = DATASET_ITEMS,
    datasets: int = DATASETS,
    seed: int = 0,
    progress: Advance = unheard,
) -> SampledStudy:
    """Draw data sets of K sampled prompts and tally both intervals for the macroaverage."""
    check_at_least("datasets", datasets, 2, "a coverage needs data sets")
    check_at_least("items", items, 1, "a data set needs an item")
    if repeats < 2:  # noqa: PLR2004 - a pair of distinct calls
        raise NotIdentifiedError(
            f"repeats = {repeats}: one call a cell cannot tell its dice from the prompt; "
            "use 2 or more"
        )
    rows: list[SampledRow] = []
    for K in prompts:
        check_at_least("prompts", K, 3, "the projection variance needs three sampled prompts")
        rng = stream(seed, "sampled", generator.family, K)
        batch = max(1, _CALLS_AT_ONCE // (items * K * repeats))
        parts = []
        for start in range(0, datasets, batch):
            size = min(batch, datasets - start)
            codes = generator.draw(rng, datasets=size, items=items, prompts=K, repeats=repeats)
            parts.append(_projections(count_ranked(codes, len(generator.base)), repeats))
            progress(size * items)
        plugin, projections = (np.concatenate(p) for p in zip(*parts, strict=True))
        rows += _rows(generator, (K, repeats), plugin, projections)
    return SampledStudy(
        datasets=datasets, items=items, family=generator.family, seed=seed, rows=tuple(rows)
    )


def _projections(counts: NDArray[np.int64], R: int) -> tuple[Floats, Floats]:
    """Plug-in (datasets,) and projections h_k (datasets, prompts), averaged over items first.

    h_k = mean_{l != k} h(k, l), with h(k, l) = (a_k + a_l) / 2 - p_k . p_l.
    """
    K = counts.shape[-2]
    a = (counts * (counts - 1)).sum(axis=-1) / (R * (R - 1))
    p = counts / R
    pooled = p.sum(axis=-2, keepdims=True)
    others = (a.sum(axis=-1, keepdims=True) - a) / (K - 1)
    across = (p * (pooled - p)).sum(axis=-1) / (K - 1)
    plugin = p.var(axis=-2, ddof=1).sum(axis=-1)
    return plugin.mean(axis=-1), ((a + others) / 2 - across).mean(axis=1)


def _rows(
    generator: PromptGenerator, design: tuple[int, int], plugin: Floats, h: Floats
) -> list[SampledRow]:
    from scipy.special import stdtrit  # noqa: PLC0415 - scipy loads when it is needed

    K, R = design
    estimate = h.mean(axis=-1)
    error = estimate - generator.prompt
    se = 2 * np.sqrt(((h - estimate[:, None]) ** 2).sum(axis=-1) / (K - 1) / K)
    factors = {"paper": 1.96, "small-K": (K - 1) / (K - 2) * float(stdtrit(K - 1, 0.975))}
    rows = []
    for method in METHODS:
        half = factors[method] * se
        coverage = float(np.mean(np.abs(error) <= half))
        rows.append(
            SampledRow(
                prompts=K,
                truth=generator.prompt,
                repeats=R,
                method=method,
                plugin_bias=float(plugin.mean() - generator.prompt),
                analytic_bias=generator.within / R,
                bias=float(error.mean()),
                bias_se=float(error.std(ddof=1) / np.sqrt(len(error))),
                coverage=coverage,
                coverage_se=float(np.sqrt(coverage * (1 - coverage) / len(error))),
                width=float(2 * half.mean()),
            )
        )
    return rows
