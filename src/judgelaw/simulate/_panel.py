"""Fixed-item calibration of call-sampling intervals (Table panel_calibration).

The published table gives the panel interval's bias and coverage; here the interval of the complete
estimator (FORMULAS 4) stands beside it, on the same calls.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.simulate._balanced_variance import prompt_variance
from judgelaw.simulate._point import Progress
from judgelaw.simulate._sums import DEPTH_ROWS, PANELS, Design, ItemBlock
from judgelaw.streams import stream
from judgelaw.uncertainty.panel import welch
from judgelaw.worlds import PAPER_BASE, World
from judgelaw.worlds.checks import check_at_least

Floats = NDArray[np.float64]

EXPERIMENTS = 20_000
DATASET_ITEMS = 50
REPEATS = (4, 8)
METHODS = ("panel", "complete")
CONCENTRATED = (0.9, 0.05, 0.03, 0.02)
"""The paper does not give the laws of its panel table; these are stated in their place."""

_POOL = 2000  # items simulated at a time, cut to whole experiments


@dataclass(frozen=True, kw_only=True)
class PanelLaw:
    """One block of rows of the published table."""

    name: str
    base: tuple[float, ...]
    truth: float


LAWS = (
    PanelLaw(name="null, concentrated", base=CONCENTRATED, truth=0.0),
    PanelLaw(name="null, diffuse", base=PAPER_BASE, truth=0.0),
    PanelLaw(name="0.01", base=PAPER_BASE, truth=0.01),
    PanelLaw(name="0.03", base=PAPER_BASE, truth=0.03),
)


@dataclass(frozen=True, kw_only=True)
class PanelRow:
    """Calibration of one interval under one law at one depth.

    Attributes:
        method: "panel" (two-repeat panels, Welch-Satterthwaite) or "complete" (all pairs of calls,
            exact unbiased variance).
        bias, bias_se: mean error of the estimate over experiments, and its Monte Carlo error.
        coverage, coverage_se: share of intervals that hold the truth, among those that exist.
        width: mean length of those intervals.
        without_interval: share of experiments with no positive variance estimate.
    """

    law: str
    truth: float
    repeats: int
    method: str
    bias: float
    bias_se: float
    coverage: float
    coverage_se: float
    width: float
    without_interval: float


@dataclass(frozen=True, kw_only=True)
class PanelStudy:
    """The whole calibration."""

    experiments: int
    items: int
    seed: int
    rows: tuple[PanelRow, ...]


@dataclass(frozen=True, kw_only=True, eq=False)
class _Estimates:
    """Estimates, variances and degrees of freedom of a batch of experiments."""

    mean: Floats
    variance: Floats
    df: Floats


def simulate_panel(
    *,
    experiments: int = EXPERIMENTS,
    items: int = DATASET_ITEMS,
    prompts: int = 6,
    laws: Sequence[PanelLaw] = LAWS,
    seed: int = 0,
    progress: Progress = lambda _: None,
) -> PanelStudy:
    """Simulate experiments of `items` fixed items each, and tally both intervals."""
    check_at_least("experiments", experiments, 2, "a coverage needs experiments")
    check_at_least("items", items, 1, "an experiment needs an item")
    rows: list[PanelRow] = []
    for law in laws:
        design = Design.of(World.from_effects(base=law.base, prompt=law.truth), prompts=prompts)
        rng = stream(seed, "panel", law.name)
        batches: dict[tuple[int, str], list[_Estimates]] = {}
        for block in _blocks(design, rng, experiments, items, progress):
            for depth in REPEATS:
                for method in METHODS:
                    found = _ESTIMATORS[method](design, block, depth, items)
                    batches.setdefault((depth, method), []).append(found)
        rows += [_row(law, depth, method, parts) for (depth, method), parts in batches.items()]
    return PanelStudy(experiments=experiments, items=items, seed=seed, rows=tuple(rows))


def _blocks(
    design: Design, rng: np.random.Generator, experiments: int, items: int, progress: Progress
) -> Iterator[ItemBlock]:
    pool = items * max(1, _POOL // items)
    for block in design.blocks(rng, experiments * items, keep_cells=True, block=pool):
        yield block
        progress(block.plugin.shape[1])


def _panel(design: Design, block: ItemBlock, depth: int, items: int) -> _Estimates:
    """Mean over items and panels, with the item-clustered variance of S4.4."""
    J = depth // 2
    U = block.complete[:PANELS][:J].reshape(J, -1, items) / design.scales[1][0]
    mean, V, df = welch(np.moveaxis(U, 0, -1))
    return _Estimates(mean=mean, variance=V, df=df)


def _complete(design: Design, block: ItemBlock, depth: int, items: int) -> _Estimates:
    """Mean over items of the complete estimator, with the exact unbiased variance (FORMULAS 4)."""
    row = DEPTH_ROWS[depth]
    estimates = block.complete[row] / design.scales[1][row]
    V = prompt_variance(block.counts(row)).reshape(-1, items)
    total = V.sum(axis=-1)
    with np.errstate(invalid="ignore"):  # all cells unanimous: no interval
        df = 2 * total**2 / (V**2).sum(axis=-1)
    mean = estimates.reshape(-1, items).mean(axis=-1)
    return _Estimates(mean=mean, variance=total / items**2, df=df)


_ESTIMATORS = {"panel": _panel, "complete": _complete}


def _row(law: PanelLaw, depth: int, method: str, parts: list[_Estimates]) -> PanelRow:
    from scipy.special import stdtrit  # noqa: PLC0415 - scipy loads when it is needed

    mean, variance, df = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("mean", "variance", "df")
    )
    exists = variance > 0
    error = mean - law.truth
    half = stdtrit(df[exists], 0.975) * np.sqrt(variance[exists])
    covered = np.abs(error[exists]) <= half
    coverage = float(covered.mean()) if exists.any() else np.nan
    return PanelRow(
        law=law.name,
        truth=law.truth,
        repeats=depth,
        method=method,
        bias=float(error.mean()),
        bias_se=float(error.std(ddof=1) / np.sqrt(len(error))),
        coverage=coverage,
        coverage_se=float(np.sqrt(coverage * (1 - coverage) / max(1, exists.sum()))),
        width=float(2 * half.mean()) if exists.any() else np.nan,
        without_interval=float(1 - exists.mean()),
    )
