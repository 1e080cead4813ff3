"""Has the judge changed? One test a date that is exact without a model, and a chart that adds up.

At each look calls are permuted within each cell between this date and all earlier ones. Under no
change the two p values are uniform and independent over looks, so that
W = max(0, W + Phi^-1(1 - p) - .5) is a random walk whose crossings are known: .025 for each of two
charts over the declared number of looks, an alarm if either crosses.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.errors import InputError

Ints = NDArray[np.int64]

THRESHOLDS = {12: 3.92, 26: 4.84, 52: 5.64, 104: 6.41}
"""Where a chart alarms, by the declared number of looks."""

LOOKS = 52
"""A year of weekly looks."""

FALSE_ALARMS = 0.05
"""The stated rate: .025 for each chart."""

PERMUTATIONS = 999
_SLACK = 0.5
_ROUNDING = 1e-9
_AT_ONCE = 2_000_000


def threshold(looks: int) -> float:
    """Return where the chart alarms for a declared number of looks: that of the next larger one."""
    fitting = [n for n in THRESHOLDS if n >= looks]
    if not fitting or looks < 1:
        raise InputError(
            f"looks={looks}: a watch is declared for 1 to {max(THRESHOLDS)} looks; start another "
            "one with a new first date after that"
        )
    return THRESHOLDS[fitting[0]]


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

    Args:
        now: calls of this date, (cells, verdicts).
        before: calls of all earlier dates.
        score: the number of each verdict.
        draws: permutations.
        random: the stream of the draws and of U.
    """
    shared = (now.sum(axis=1) > 0) & (before.sum(axis=1) > 0)
    if not shared.any():
        return None
    total = (now + before)[shared]
    x, R, T = now[shared], now[shared].sum(axis=1), total.sum(axis=1)
    expected = R[:, None] * total / T[:, None]
    seen = _statistics(x[None], expected, score)[:, 0]
    telling = (total > 0).sum(axis=1) > 1
    pool, size, centre = total[telling], R[telling], expected[telling]
    each = max(1, _AT_ONCE // max(pool.size, 1))
    blocks = [min(each, draws - start) for start in range(0, draws, each)]
    drawn = np.concatenate(
        [_statistics(_permuted(pool, size, n, random), centre, score) for n in blocks], axis=1
    )
    p = []
    for value, others in zip(seen, drawn, strict=True):
        close = _ROUNDING * max(1.0, abs(value))
        greater, ties = (others > value + close).sum(), (abs(others - value) <= close).sum()
        p.append(float((greater + random.random() * (1 + ties)) / (draws + 1)))
    return Test(p=(p[0], p[1]), cells=int(shared.sum()))


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
