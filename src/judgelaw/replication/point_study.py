"""The point-estimator simulation of the paper, and its decision rule."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats, check_at_least
from judgelaw.errors import InputError
from judgelaw.replication.draws import DEPTH_ROWS, DEPTHS, PANELS, Design, ItemBlock
from judgelaw.steps import Advance, unheard
from judgelaw.streams import stream
from judgelaw.uncertainty import form_of, true_variance_parts
from judgelaw.worlds import World


@dataclass(frozen=True, kw_only=True)
class ExactErrors:
    """What the plug-in and the complete estimator of an item's component do at depth R.

    Attributes:
        plugin_bias: expectation of the plug-in minus the truth.
        plugin_mse, complete_mse: mean squared errors; the complete one is all variance.
    """

    plugin_bias: float
    plugin_mse: float
    complete_mse: float

    @property
    def mse_ratio(self) -> float:
        """Plug-in mean squared error over the complete one's; nan where that has none."""
        return self.plugin_mse / self.complete_mse if self.complete_mse > 0 else np.nan


def exact_errors(
    laws: NDArray[np.float64], depths: Sequence[int], *, component: str = "prompt"
) -> tuple[ExactErrors, ...]:
    """Errors at each depth for items with laws (items, prompts, orders, verdicts), averaged.

    In every balanced sample plug-in = complete + multiple x call-component estimate, with the
    multiples (K-1), (O-1), (K-1)(O-1), -KO, -1 over KOR (FORMULAS 2). So the plug-in is a contrast
    of complete components too, and both variances are exact (FORMULAS 4).
    """
    N, K, O, C = laws.shape
    w, q = np.full(K, 1 / K), np.full(O, 1 / O)
    forms = np.stack([form_of(name, w, q) for name in (component, "call")])
    parts = true_variance_parts(laws.reshape(N, K * O, C), forms)
    call = 1 - np.mean(np.sum(laws**2, axis=-1), axis=(1, 2))
    excess = {
        "prompt": K - 1,
        "order": O - 1,
        "interaction": (K - 1) * (O - 1),
        "call": -K * O,
        "total": -1,
    }[component]

    def at(depth: int) -> ExactErrors:
        multiple = excess / (K * O * depth)
        contrast = np.array([1.0, multiple])
        covariance = parts.at(depth)
        plugin_variance = covariance @ contrast @ contrast
        return ExactErrors(
            plugin_bias=float(np.mean(multiple * call)),
            plugin_mse=float(np.mean(plugin_variance + (multiple * call) ** 2)),
            complete_mse=float(np.mean(covariance[:, 0, 0])),
        )

    return tuple(at(depth) for depth in depths)


@dataclass(kw_only=True, eq=False)
class ErrorMoments:
    """Sums over items of errors of the plug-in and the complete estimator, by depth.

    The only mutable value of the simulation: it lives inside one loop and leaves as numbers.
    """

    truth: float
    items: int = 0
    negative: Floats | int = 0
    _plugin: Floats | int = 0
    _complete: Floats | int = 0
    _squares: Floats | int = 0
    _fourth: Floats | int = 0

    def add(self, plugin: Floats, complete: Floats, negative: NDArray[np.bool_]) -> None:
        """Take in estimates shaped (depths, items); `negative` is decided on whole numbers."""
        a, b = plugin - self.truth, complete - self.truth
        self.items += plugin.shape[1]
        self.negative = self.negative + negative.sum(axis=1)
        self._plugin = self._plugin + a.sum(axis=1)
        self._complete = self._complete + b.sum(axis=1)
        a2, b2 = a * a, b * b
        self._squares = self._squares + np.stack([a2.sum(axis=1), b2.sum(axis=1)])
        self._fourth = self._fourth + np.stack(
            [np.einsum("ri,ri->r", x, y) for x, y in ((a2, a2), (a2, b2), (b2, b2))]
        )

    @property
    def bias(self) -> tuple[Floats, Floats]:
        """Mean errors of the plug-in and of the complete estimator."""
        return np.asarray(self._plugin / self.items), np.asarray(self._complete / self.items)

    @property
    def bias_error(self) -> tuple[Floats, Floats]:
        """Monte Carlo standard errors of the mean errors."""
        n = self.items
        mean_squares = np.asarray(self._squares) / n
        variances = (mean_squares - np.stack(self.bias) ** 2) * n / (n - 1)
        errors = np.sqrt(np.maximum(variances, 0) / n)  # rounding, where no estimate ever varies
        return errors[0], errors[1]

    @property
    def mse_ratio(self) -> tuple[Floats, Floats]:
        """Plug-in over complete mean squared error, with its Monte Carlo error (delta method)."""
        n = self.items
        mean = np.asarray(self._squares) / n
        aa, ab, bb = np.asarray(self._fourth) / n
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(mean[1] > 0, mean[0] / mean[1], np.nan)
            spread = aa - 2 * ratio * ab + ratio**2 * bb
            return ratio, np.sqrt(np.maximum(spread, 0) / n) / mean[1]

    def columns(self, j: int, exact: ExactErrors) -> dict[str, float]:
        """Return what a table says of the j-th depth, beside the closed forms."""
        ratio, ratio_se = self.mse_ratio
        return {
            "plugin_bias": float(self.bias[0][j]),
            "plugin_se": float(self.bias_error[0][j]),
            "analytic_bias": exact.plugin_bias,
            "debiased_bias": float(self.bias[1][j]),
            "debiased_se": float(self.bias_error[1][j]),
            "mse_ratio": float(ratio[j]),
            "mse_ratio_se": float(ratio_se[j]),
            "exact_mse_ratio": exact.mse_ratio,
            "negative_share": float(np.asarray(self.negative)[j] / self.items),
        }


PROMPTS = (5, 6)
TRUTHS = (0.0, 0.03)
ITEMS = 200_000

_ROWS = [DEPTH_ROWS[depth] for depth in DEPTHS]


@dataclass(frozen=True, kw_only=True)
class ErrorRow:
    """How far both estimators are off: K prompts, a truth, R repeats.

    Attributes:
        plugin_bias, plugin_se: mean error of the plug-in, and its Monte Carlo error.
        analytic_bias: exact bias of the plug-in, (K-1)/(2KR) U_call.
        debiased_bias, debiased_se: mean error of the complete all-R estimator.
        mse_ratio, mse_ratio_se: plug-in over complete mean squared error.
        exact_mse_ratio: the same in closed form.
        negative_share: share of items whose complete estimate is below zero.
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


@dataclass(frozen=True, kw_only=True)
class PointRow(ErrorRow):
    """One row of the table.

    Attributes:
        panel_bias, panel_se: mean error of the consecutive-two-repeat estimator.
        panel_mse_ratio: its mean squared error over the complete one's.
    """

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
    progress: Advance = unheard,
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
    design: Design, truth: float, items: int, rng: np.random.Generator, progress: Advance
) -> list[PointRow]:
    complete, panel = ErrorMoments(truth=truth), ErrorMoments(truth=truth)
    for block in design.blocks(rng, items):
        _take_in(design, block, complete, panel)
        progress(block.plugin.shape[1])
    exact = exact_errors(design.laws[None], DEPTHS)
    return [
        PointRow(
            prompts=design.prompts,
            truth=truth,
            repeats=depth,
            **complete.columns(j, exact[j]),
            panel_bias=float(panel.bias[1][j]),
            panel_se=float(panel.bias_error[1][j]),
            panel_mse_ratio=float(complete.mse_ratio[0][j] / panel.mse_ratio[0][j]),
        )
        for j, depth in enumerate(DEPTHS)
    ]


def _take_in(design: Design, block: ItemBlock, complete: ErrorMoments, panel: ErrorMoments) -> None:
    of_plugin, of_complete = design.scales
    plugin = block.plugin[_ROWS] / of_plugin[_ROWS, None]
    whole = block.complete[_ROWS]
    complete.add(plugin, whole / of_complete[_ROWS, None], whole < 0)
    # Sums over the first 1, 2 and 4 blocks of two repeats: their mean is the panel estimator.
    sums = block.complete[:PANELS].cumsum(axis=0)[[depth // 2 - 1 for depth in DEPTHS]]
    means = sums / (of_complete[0] * np.array(DEPTHS)[:, None] // 2)
    panel.add(plugin, means, sums < 0)


DATASETS = 40_000
DATASET_ITEMS = 50
TAU = 0.02

_POOL = 4096  # items simulated at a time, cut to whole data sets


@dataclass(frozen=True, kw_only=True)
class DecisionRow:
    """Point-rule frequencies at one truth and depth, with their Monte Carlo errors.

    At truth zero a rate is the rate of false flags; at a truth above tau, of detection.
    """

    prompts: int
    truth: float
    repeats: int
    rule_rate_plugin: float
    rule_rate_plugin_se: float
    rule_rate_debiased: float
    rule_rate_debiased_se: float


@dataclass(frozen=True, kw_only=True)
class DecisionStudy:
    """The whole simulation."""

    datasets: int
    items: int
    tau: float
    seed: int
    rows: tuple[DecisionRow, ...]


def simulate_decision(
    *,
    datasets: int = DATASETS,
    items: int = DATASET_ITEMS,
    tau: float = TAU,
    prompts: int = 6,
    truths: Sequence[float] = TRUTHS,
    seed: int = 0,
    progress: Advance = unheard,
) -> DecisionStudy:
    """Apply the rule to data sets of `items` items each.

    Sums of estimates are whole numbers, so a mean that equals tau does not fire the rule.
    """
    check_at_least("datasets", datasets, 1, "a rate needs a data set")
    check_at_least("items", items, 1, "a data set needs an item")
    if not 0 < tau < 1:
        raise InputError(f"tau = {tau}: a threshold lies between 0 and 1")
    rows: list[DecisionRow] = []
    for truth in truths:
        design = Design.of(World.from_effects(prompt=truth), prompts=prompts)
        rng = stream(seed, "decision", prompts, f"{truth:g}")
        fired = _fired(design, rng, (datasets, items), tau, progress)
        rows += [
            _decision_row(prompts, truth, j, fired[:, j] / datasets, datasets) for j in range(3)
        ]
    return DecisionStudy(datasets=datasets, items=items, tau=tau, seed=seed, rows=tuple(rows))


def _fired(
    design: Design, rng: np.random.Generator, size: tuple[int, int], tau: float, progress: Advance
) -> NDArray[np.int64]:
    """Count data sets above tau, (estimator, depth)."""
    datasets, items = size
    limits = [
        [Fraction(str(tau)) * items * int(scale) for scale in scales[_ROWS]]
        for scales in design.scales
    ]
    # A whole number exceeds a limit exactly if it exceeds the limit rounded down.
    above = np.array([[int(limit // 1) for limit in row] for row in limits])
    fired = np.zeros((2, len(DEPTHS)), dtype=np.int64)
    pool = items * max(1, _POOL // items)
    for block in design.blocks(rng, datasets * items, block=pool):
        numerators = np.stack([block.plugin[_ROWS], block.complete[_ROWS]])
        sums = numerators.reshape(2, len(DEPTHS), -1, items).sum(axis=-1)
        fired += (sums > above[..., None]).sum(axis=-1)
        progress(numerators.shape[-1])
    return fired


def _decision_row(
    prompts: int, truth: float, j: int, rates: NDArray[np.float64], datasets: int
) -> DecisionRow:
    errors = np.sqrt(rates * (1 - rates) / datasets)
    return DecisionRow(
        prompts=prompts,
        truth=truth,
        repeats=DEPTHS[j],
        rule_rate_plugin=float(rates[0]),
        rule_rate_plugin_se=float(errors[0]),
        rule_rate_debiased=float(rates[1]),
        rule_rate_debiased_se=float(errors[1]),
    )
