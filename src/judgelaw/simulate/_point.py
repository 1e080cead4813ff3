"""The point-estimator simulation of the paper (Table point_simulation, Figure simulation)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judgelaw.simulate._exact import ExactErrors, exact_errors
from judgelaw.simulate._moments import ErrorMoments
from judgelaw.simulate._sums import DEPTH_ROWS, DEPTHS, PANELS, Design, ItemBlock
from judgelaw.streams import stream
from judgelaw.worlds import World
from judgelaw.worlds.checks import check_at_least

Progress = Callable[[int], None]
"""Called with the number of items just simulated."""

PROMPTS = (5, 6)
TRUTHS = (0.0, 0.03)
ITEMS = 200_000

_ROWS = [DEPTH_ROWS[depth] for depth in DEPTHS]


@dataclass(frozen=True, kw_only=True)
class PointRow:
    """One row of the table: K prompts, a truth, R repeats.

    Attributes:
        plugin_bias, plugin_se: mean error of the plug-in, and its Monte Carlo error.
        analytic_bias: exact bias of the plug-in, (K-1)/(2KR) U_call.
        debiased_bias, debiased_se: mean error of the complete all-R estimator.
        mse_ratio, mse_ratio_se: plug-in over complete mean squared error.
        exact_mse_ratio: the same in closed form.
        negative_share: share of items whose complete estimate is below zero.
        panel_bias, panel_se: mean error of the consecutive-two-repeat estimator.
        panel_mse_ratio: its mean squared error over the complete one's.
    """

    prompts: int
    truth: float
    repeats: int
    plugin_bias: float
    plugin_se: float
    analytic_bias: float
    debiased_bias: float
    debiased_se: float
    mse_ratio: float
    mse_ratio_se: float
    exact_mse_ratio: float
    negative_share: float
    panel_bias: float
    panel_se: float
    panel_mse_ratio: float


@dataclass(frozen=True, kw_only=True)
class PointSummary:
    """The figures that the paper quotes from its table.

    Attributes:
        largest_discrepancy: largest |plug-in bias - analytic bias|.
        largest_z: largest |debiased bias| in Monte Carlo standard errors.
        mse_ratio_range: smallest and largest ratio.
        null_negative_range: smallest and largest share of negative estimates at truth zero.
    """

    largest_discrepancy: float
    largest_z: float
    mse_ratio_range: tuple[float, float]
    null_negative_range: tuple[float, float] | None


@dataclass(frozen=True, kw_only=True)
class PointStudy:
    """The whole simulation."""

    items: int
    seed: int
    rows: tuple[PointRow, ...]
    summary: PointSummary


def simulate_point(
    *,
    items: int = ITEMS,
    seed: int = 0,
    prompts: Sequence[int] = PROMPTS,
    truths: Sequence[float] = TRUTHS,
    progress: Progress = lambda _: None,
) -> PointStudy:
    """Simulate items of the base law (.4, .3, .2, .1) moved by the equally spaced prompt score.

    Each setting draws from its own named stream; lower depths are prefixes of the eight repeats.
    """
    check_at_least("items", items, 2, "a Monte Carlo error needs two items")
    rows: list[PointRow] = []
    for K in prompts:
        for truth in truths:
            design = Design.of(World.from_effects(prompt=truth), prompts=K)
            rng = stream(seed, "point", K, f"{truth:g}")
            rows += _setting(design, truth, items, rng, progress)
    return PointStudy(items=items, seed=seed, rows=tuple(rows), summary=summarise(rows))


def summarise(rows: Sequence[PointRow]) -> PointSummary:
    """Compute the quoted figures from the rows."""
    ratios = [row.mse_ratio for row in rows]
    null = [row.negative_share for row in rows if row.truth == 0]
    return PointSummary(
        largest_discrepancy=max(abs(row.plugin_bias - row.analytic_bias) for row in rows),
        largest_z=max(abs(row.debiased_bias) / row.debiased_se for row in rows),
        mse_ratio_range=(min(ratios), max(ratios)),
        null_negative_range=(min(null), max(null)) if null else None,
    )


def _setting(
    design: Design, truth: float, items: int, rng: np.random.Generator, progress: Progress
) -> list[PointRow]:
    complete, panel = ErrorMoments(truth=truth), ErrorMoments(truth=truth)
    for block in design.blocks(rng, items):
        _take_in(design, block, complete, panel)
        progress(block.plugin.shape[1])
    exact = exact_errors(design.laws[None], DEPTHS)
    return [_row(design, (truth, j), exact[j], complete, panel) for j in range(len(DEPTHS))]


def _take_in(design: Design, block: ItemBlock, complete: ErrorMoments, panel: ErrorMoments) -> None:
    of_plugin, of_complete = design.scales
    plugin = block.plugin[_ROWS] / of_plugin[_ROWS, None]
    whole = block.complete[_ROWS]
    complete.add(plugin, whole / of_complete[_ROWS, None], whole < 0)
    # Sums over the first 1, 2 and 4 blocks of two repeats: their mean is the panel estimator.
    sums = block.complete[:PANELS].cumsum(axis=0)[[depth // 2 - 1 for depth in DEPTHS]]
    means = sums / (of_complete[0] * np.array(DEPTHS)[:, None] // 2)
    panel.add(plugin, means, sums < 0)


def _row(
    design: Design,
    at: tuple[float, int],
    exact: ExactErrors,
    complete: ErrorMoments,
    panel: ErrorMoments,
) -> PointRow:
    truth, j = at
    ratio, ratio_se = complete.mse_ratio
    return PointRow(
        prompts=design.prompts,
        truth=truth,
        repeats=DEPTHS[j],
        plugin_bias=float(complete.bias[0][j]),
        plugin_se=float(complete.bias_error[0][j]),
        analytic_bias=exact.plugin_bias,
        debiased_bias=float(complete.bias[1][j]),
        debiased_se=float(complete.bias_error[1][j]),
        mse_ratio=float(ratio[j]),
        mse_ratio_se=float(ratio_se[j]),
        exact_mse_ratio=exact.mse_ratio,
        negative_share=float(np.asarray(complete.negative)[j] / complete.items),
        panel_bias=float(panel.bias[1][j]),
        panel_se=float(panel.bias_error[1][j]),
        panel_mse_ratio=float(ratio[j] / panel.mse_ratio[0][j]),
    )
