"""How often the point rule "mean prompt component above tau" fires (Table decision_simulation)."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from judgelaw.errors import InputError
from judgelaw.simulate._point import Progress
from judgelaw.simulate._sums import DEPTH_ROWS, DEPTHS, Design
from judgelaw.streams import stream
from judgelaw.worlds import World
from judgelaw.worlds.checks import check_at_least

DATASETS = 40_000
DATASET_ITEMS = 50
TAU = 0.02
TRUTHS = (0.0, 0.03)

_ROWS = [DEPTH_ROWS[depth] for depth in DEPTHS]
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
    progress: Progress = lambda _: None,
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
        rows += [_row(prompts, truth, j, fired[:, j] / datasets, datasets) for j in range(3)]
    return DecisionStudy(datasets=datasets, items=items, tau=tau, seed=seed, rows=tuple(rows))


def _fired(
    design: Design,
    rng: np.random.Generator,
    size: tuple[int, int],
    tau: float,
    progress: Progress,
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


def _row(
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
