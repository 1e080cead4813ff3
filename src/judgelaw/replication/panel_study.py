"""Fixed-item calibration of call-sampling intervals (Table panel_calibration).

`prompt_variance` is the same estimate as `judgelaw.uncertainty.call_variance.call_covariance`
(FORMULAS 4), for balanced designs and many items; a test holds one against the other. The prompt
form has two coefficients only,

    c_uv = [k = l] / (K O^2) - 1 / (K^2 O^2),    c_uu = (K - 1) / (K^2 O^2),

so sums over pairs of cells become squares of sums: an order of magnitude less work than the general
matrix of cells, which makes a calibration of millions of items a matter of seconds. All
intermediate sums are whole numbers, below 2^24 for the designs that packed counting admits, so
single precision holds them exactly.

The published table gives the panel interval's bias and coverage; here the interval of the complete
estimator (FORMULAS 4) stands beside it, on the same calls.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats, check_at_least
from judgelaw.replication.draws import DEPTH_ROWS, PANELS, Design, ItemBlock
from judgelaw.steps import Advance, unheard
from judgelaw.streams import stream
from judgelaw.uncertainty import welch
from judgelaw.worlds import PAPER_BASE, World

Singles = NDArray[np.float32]


def prompt_variance(n: Singles) -> Floats:
    """Variance estimates (items,) from counts (prompts, orders, verdicts, items), R >= 4 each."""
    K, O, _, items = n.shape
    R = float(n[0, 0, :, 0].sum())
    by_prompt = n.sum(axis=1)
    everything = by_prompt.sum(axis=0)
    cells = np.zeros((7, items))
    for k in range(K):
        for o in range(O):
            # K^2 O^2 R times g_u, the form's pull of all other cells.
            g = K * (by_prompt[k] - n[k, o]) - (everything - n[k, o])
            _add_cell(cells, n[k, o], g)
    R2, R3, R4 = R * (R - 1), R * (R - 1) * (R - 2), R * (R - 1) * (R - 2) * (R - 3)
    T1, T3, T4, ngg, ng2, Y, ngT1 = cells
    c_uu, unit = (K - 1) / (K * O) ** 2, 1 / ((K * O) ** 2 * R)
    t1 = (ngg / R - ng2 / R**2) * unit**2 * R / (R - 1)
    t2 = (Y / R2 - (ngT1 - 2 * Y) / R3) * unit
    t3 = T3 / R3 - T4 / R4
    own = T1 / R2 - 2 * T3 / R3 + T4 / R4
    return np.asarray(
        4 / R * (t1 + 2 * c_uu * t2 + c_uu**2 * t3)
        + 2 * c_uu**2 / R2 * own
        - 2 / R**2 * _pairs_of_cells(n, R)
    )


def _add_cell(cells: Floats, n: Singles, g: Singles) -> None:
    """Add a cell's sums: T1 (= T2 for nominal verdicts), T3, T4, and those with g."""
    less = n - 1
    nv = n * less
    T1 = nv.sum(axis=0)
    T3 = (nv * less).sum(axis=0) - T1
    ng = n * g
    pull = ng.sum(axis=0)
    cells[0] += T1
    cells[1] += T3
    cells[2] += T1 * T1 - 4 * T3 - 2 * T1
    cells[3] += (ng * g).sum(axis=0)
    cells[4] += pull * pull
    cells[5] += (ng * less).sum(axis=0)
    cells[6] += pull * T1


def _pairs_of_cells(n: Singles, R: float) -> Floats:
    """Return sum_{u != v} c_uv^2 tr(Sh_u Sh_v), with Sh = R/(R-1) (diag p - p p').

    R^2 (diag p - p p') has the entries n_c (R - n_c) and -n_c n_d, whole numbers; the trace of a
    product of two such matrices is the sum of products of entries, off-diagonal ones twice.
    """
    K, O, C, _ = n.shape
    pairs = list(combinations(range(C), 2))
    own = (n * (R - n)).astype(np.float32)
    cross = np.stack([n[:, :, c] * n[:, :, d] for c, d in pairs], axis=2)
    each = _norm(own, cross).sum(axis=(0, 1))
    own_k, cross_k = own.sum(axis=1), cross.sum(axis=1)
    of_prompts = _norm(own_k, cross_k).sum(axis=0)
    of_all = _norm(own_k.sum(axis=0), cross_k.sum(axis=0))
    across = 1 / (K * O) ** 4
    within = ((K - 1) / (K * O) ** 2) ** 2
    same_prompt, other_prompt = of_prompts - each, of_all - of_prompts
    return np.asarray((within * same_prompt + across * other_prompt) / R**4 * (R / (R - 1)) ** 2)


def _norm(own: Singles, cross: Singles) -> Floats:
    total = (own * own).sum(axis=-2, dtype=np.float64)
    total += 2 * (cross * cross).sum(axis=-2, dtype=np.float64)
    return np.asarray(total)


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
    progress: Advance = unheard,
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
    design: Design, rng: np.random.Generator, experiments: int, items: int, progress: Advance
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
    return PanelRow(
        law=law.name,
        truth=law.truth,
        repeats=depth,
        method=method,
        **calibration(error, half, np.abs(error[exists]) <= half),
        without_interval=float(1 - exists.mean()),
    )


def calibration(error: Floats, half: Floats, covered: NDArray[np.bool_]) -> dict[str, float]:
    """Return bias, coverage and mean width of intervals; half widths of those that exist."""
    coverage = float(covered.mean()) if covered.size else np.nan
    return {
        "bias": float(error.mean()),
        "bias_se": float(error.std(ddof=1) / np.sqrt(len(error))),
        "coverage": coverage,
        "coverage_se": float(np.sqrt(coverage * (1 - coverage) / max(1, covered.size))),
        "width": float(2 * half.mean()) if covered.size else np.nan,
    }
