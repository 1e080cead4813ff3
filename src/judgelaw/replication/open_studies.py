"""Studies beyond the paper's tables: worlds of one's own, and prompts drawn from a generator.

`simulate_custom` gives the columns of the point simulation for any world and design.

`simulate_sampled` shows the sampled-prompt theorem at work: coverage of its interval as K grows
(Theorem S1). Prompts are drawn anew in every data set from a generator whose dispersion is known.
The paper's interval is U -/+ 1.96 x 2 sqrt(s1^2 / K); the small-K form of FORMULAS 3 multiplies the
error by (K - 1)/(K - 2) and takes a t quantile of K - 1 degrees.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import PAIR, Floats, check_at_least, count_ranked
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import COMPONENTS, decompose, population
from judgelaw.replication.panel_study import calibration
from judgelaw.replication.point_study import ErrorMoments, ErrorRow, exact_errors
from judgelaw.steps import Advance, unheard
from judgelaw.streams import stream
from judgelaw.worlds import PromptGenerator, World, draw_ranked

ITEMS = 20_000
_CALLS_AT_ONCE = 1 << 20
_NEGATIVE = 1e-12
"""Estimates are ratios of whole numbers far coarser than this: below it, they are zero."""


@dataclass(frozen=True, kw_only=True)
class CustomRow(ErrorRow):
    """The columns of the point simulation, for one component of one world.

    `truth` and the analytic columns are means over the items of the world, once each; errors are
    those of each drawn item against its own truth. The analytic columns hold for independent
    repeats; with copying the difference is the finding.
    """

    component: str
    orders: int


@dataclass(frozen=True, kw_only=True)
class CustomStudy:
    """The whole simulation."""

    items: int
    seed: int
    rows: tuple[CustomRow, ...]


def simulate_custom(
    world: World,
    *,
    prompts: int,
    orders: int = 2,
    repeats: Sequence[int] = (2, 4, 8),
    items: int = ITEMS,
    component: str = "prompt",
    seed: int = 0,
    progress: Advance = unheard,
) -> CustomStudy:
    """Simulate items of any world at the given depths, all prefixes of the deepest."""
    depths = _check(prompts, orders, repeats, items, component)
    # A world of written items has no others: its draws go round them, each equally often up to one.
    own = (world.written_items or tuple(f"i{i + 1}" for i in range(items)))[:items]
    names = [own[i % len(own)] for i in range(items)]
    rng = stream(seed, "custom")
    batch = max(1, _CALLS_AT_ONCE // (prompts * orders * depths[-1]))
    moments = ErrorMoments(truth=0.0)
    for start in range(0, items, batch):
        laws = world.laws(items=names[start : start + batch], prompts=prompts, orders=orders)
        ranked = draw_ranked(laws, depths[-1], rng, copying=world.copying)
        truth = np.asarray(population(laws)[component])
        plugin, complete = _estimates(ranked, depths, component, laws.shape[-1])
        moments.add(plugin - truth, complete - truth, complete < -_NEGATIVE)
        progress(len(laws))
    sample = world.laws(
        items=own[:1] if world.identical_items else own, prompts=prompts, orders=orders
    )
    truth = np.asarray(population(sample)[component])
    exact = exact_errors(sample, depths, component=component)
    rows = tuple(
        CustomRow(
            component=component,
            prompts=prompts,
            orders=orders,
            truth=float(truth.mean()),
            repeats=depth,
            **moments.columns(j, exact[j]),
        )
        for j, depth in enumerate(depths)
    )
    return CustomStudy(items=items, seed=seed, rows=rows)


def _check(
    prompts: int, orders: int, repeats: Sequence[int], items: int, component: str
) -> list[int]:
    if component not in COMPONENTS:
        raise InputError(f"component {component!r}: it is one of {', '.join(COMPONENTS)}")
    check_at_least("items", items, 2, "a Monte Carlo error needs two items")
    needs = {"prompt": (2, 1), "order": (1, 2), "interaction": (2, 2)}.get(component, (1, 1))
    why = f"the {component} component needs two levels of its facet"
    check_at_least("prompts", prompts, needs[0], why)
    check_at_least("orders", orders, needs[1], why)
    depths = sorted(set(repeats))
    _check_repeats(list(repeats), min(depths, default=0))
    return depths


def _check_repeats(given: int | list[int], fewest: int) -> None:
    if fewest < PAIR:
        why = "one call a cell cannot tell its dice from the prompt; use 2 or more"
        raise NotIdentifiedError(f"repeats = {given}: {why}")


def _estimates(
    ranked: NDArray[np.int16], depths: list[int], component: str, verdicts: int
) -> tuple[Floats, Floats]:
    found = [decompose(count_ranked(ranked[..., :depth], verdicts)) for depth in depths]
    plugin = np.stack([d.plugin[component] for d in found])
    return plugin, np.stack([d[component] for d in found])


SAMPLED_PROMPTS = (4, 5, 6, 8, 10, 20, 40)
DATASETS = 4_000
DATASET_ITEMS = 50
METHODS = ("paper", "small-K")


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
    _check_repeats(repeats, repeats)
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
        rows.append(
            SampledRow(
                prompts=K,
                truth=generator.prompt,
                repeats=R,
                method=method,
                plugin_bias=float(plugin.mean() - generator.prompt),
                analytic_bias=generator.within / R,
                **calibration(error, half, np.abs(error) <= half),
            )
        )
    return rows
