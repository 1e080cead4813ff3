"""Has the judge changed? One test a date that is exact without a model, and a chart that adds up.

At each look calls are permuted within each cell between this date and all earlier ones. Under no
change the two p values are independent over looks, and none is small more often than it says. So
W = max(0, W + Phi^-1(1 - p) - .5) is a random walk whose crossings are known. Each of two charts
has .025 over the declared number L of looks: .02 for its crossings, .005 for a single look that
speaks for itself, p <= .005 / L. An alarm if either of the four happens: small moves add up, a
large one alarms at its first date.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.errors import InputError

Ints = NDArray[np.int64]

THRESHOLDS = {12: 4.07, 26: 5.00, 52: 5.83, 104: 6.59}
"""Where a chart alarms, by the declared number of looks."""

LOOKS = 52
"""A year of weekly looks."""

FALSE_ALARMS = 0.05
"""The stated rate: .025 for each chart and its single looks."""

PERMUTATIONS = 39_999
"""The most that are behind a p value; those that are not small get by with fewer."""
_STAGES = ((199, 0.05), (1_999, 0.005))
"""Permutations of a stage, and the p value from which on it is not looked at more closely."""
_SINGLE = 0.005
_SLACK = 0.5
_ROUNDING = 1e-9
_AT_ONCE = 2_000_000


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What alarms, for a declared number of looks.

    Attributes:
        chart: where a chart alarms.
        single: the p value at which one look alarms by itself.
    """

    chart: float
    single: float

    def alarmed(self, chart: tuple[float, float], p: tuple[float, float] | None) -> bool:
        """Whether a look alarms, by either chart or by itself."""
        return max(chart) >= self.chart or (p is not None and min(p) <= self.single)


def limits(looks: int) -> Limits:
    """Return what alarms for a declared number of looks: limits of the next larger one known."""
    fitting = [n for n in THRESHOLDS if n >= looks]
    if not fitting or looks < 1:
        raise InputError(
            f"looks={looks}: a watch is declared for 1 to {max(THRESHOLDS)} looks; start another "
            "one with a new first date after that"
        )
    return Limits(chart=THRESHOLDS[fitting[0]], single=_SINGLE / fitting[0])


@dataclass(frozen=True, kw_only=True)
class Test:
    """What one look found: p values of any change and of a shift, and the cells that could tell."""

    p: tuple[float, float]
    cells: int


def look(
    now: Ints, before: Ints, score: Floats, *, draws: int, random: np.random.Generator
) -> Test | None:
    """Test one date against all earlier ones; None where they share no cell.

    x are the counts of this date and E = R_t times the pooled share. The statistics are
    sum (x - E)^2 over cells and verdicts, and |sum score (x - E)|. Ties are broken at random:
    p = (#greater + U (1 + #ties)) / (draws + 1) is uniform under no change, however coarse.

    Draws come in stages, fresh ones each time with the same U, and a p value that is not small is
    not looked at again. It is small at every stage or it is not small, so P(p <= x) <= x.

    Args:
        now: calls of this date, (cells, verdicts).
        before: calls of all earlier dates.
        score: the number of each verdict.
        draws: the most permutations behind a p value.
        random: the stream of the draws and of U.
    """
    shared = (now.sum(axis=1) > 0) & (before.sum(axis=1) > 0)
    if not shared.any():
        return None
    total = (now + before)[shared]
    x, R, T = now[shared], now[shared].sum(axis=1), total.sum(axis=1)
    # A cell with one verdict on all dates stays as it is however its calls are permuted.
    telling = (total > 0).sum(axis=1) > 1
    pool, size = total[telling], R[telling]
    expected = size[:, None] * pool / T[telling][:, None]
    seen = _statistics(x[telling][None], expected, score)[:, 0]
    stages = [(n, below) for n, below in _STAGES if n < draws] + [(draws, 0.0)]
    p, U = np.zeros(2), random.random(2)
    open_ = np.ones(2, dtype=bool)
    for n, below in stages:
        greater, ties = _beyond(seen, pool, size, expected, score, draws=n, random=random)
        p[open_] = ((greater + U * (1 + ties)) / (n + 1))[open_]
        open_ &= p <= below
        if not open_.any():
            break
    return Test(p=(float(p[0]), float(p[1])), cells=int(shared.sum()))


def _beyond(
    seen: Floats,
    pool: Ints,
    size: Ints,
    expected: Floats,
    score: Floats,
    *,
    draws: int,
    random: np.random.Generator,
) -> tuple[Ints, Ints]:
    """Count the draws in which each statistic is larger than what was seen, and as large."""
    greater, ties = np.zeros((2, len(seen)), dtype=np.int64)
    close = _ROUNDING * np.maximum(1.0, np.abs(seen))[:, None]
    each = max(1, _AT_ONCE // max(pool.size, 1))
    for start in range(0, draws, each):
        drawn = _permuted(pool, size, min(each, draws - start), random)
        others = _statistics(drawn, expected, score)
        greater += (others > seen[:, None] + close).sum(axis=1)
        ties += (np.abs(others - seen[:, None]) <= close).sum(axis=1)
    return greater, ties


def _statistics(x: NDArray[np.int64], expected: Floats, score: Floats) -> Floats:
    """Return both statistics of draws (draws, cells, verdicts), as (2, draws)."""
    apart = x - expected
    return np.stack([(apart**2).sum(axis=(1, 2)), abs((apart @ score).sum(axis=1))])


def _permuted(total: Ints, size: Ints, draws: int, random: np.random.Generator) -> Ints:
    """Draw which of a cell's pooled calls are of this date: hypergeometric, verdict by verdict."""
    found = np.zeros((draws, *total.shape), dtype=np.int64)
    left = np.broadcast_to(size, (draws, len(size))).copy()
    behind = total.sum(axis=1)
    for v in range(total.shape[1] - 1):
        behind = behind - total[:, v]
        found[..., v] = random.hypergeometric(total[:, v], behind, left)
        left -= found[..., v]
    found[..., -1] = left
    return found


def step(chart: tuple[float, float], p: tuple[float, float]) -> tuple[float, float]:
    """Return both charts after one look."""
    from scipy.special import ndtri  # noqa: PLC0415 - loads when a chart is drawn

    a, b = (max(0.0, w + float(-ndtri(q)) - _SLACK) for w, q in zip(chart, p, strict=True))
    return a, b
