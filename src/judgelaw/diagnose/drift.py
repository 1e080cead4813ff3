"""Drift: do calls of one cell agree less, the further apart they were made?

Over all pairs of distinct calls of a cell, x is the gap of their repeat ranks, or log(1 + seconds)
between them, and y whether they agree. The slope is that of least squares within cells,

    sum_cells (sum xy - sum x sum y / n) / sum_cells (sum xx - (sum x)^2 / n)

with the sums resampled by whole items for the band. Cells have a level of their own: where long
prompts take longer and agree more, a slope over all pairs at once would see drift that is none.
Independent calls of a fixed law have slope 0. Repeats that copy the call before them, or a provider
whose model changes, have a negative one. What decides is not the band: the verdicts of every cell
are shuffled over its ranks and times (`shuffles`), which is exact for any number of items.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from math import inf

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT, Floats
from judgelaw.diagnose.family import UNTESTABLE, Test, by_chance, rate, severity
from judgelaw.diagnose.finding import Finding, Severity, resampled, untestable
from judgelaw.diagnose.registry import Diagnostic, ShuffleTest, Stream
from judgelaw.diagnose.shuffles import Group, MixedCells, Shuffled, Statistic
from judgelaw.quantities import Estimate
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Resampling

_MATERIAL, _SHARE = 0.02, 0.1
"""Change of agreement over the range of gaps that would matter to a component: an absolute one, or
a tenth of the disagreement of calls, whichever is smaller."""
_THREE_RANKS = 3
_BINS = 5
_ITEMS_AT_ONCE = 4096
Gap = Callable[[slice, int, int], Floats]
"""From a block of items and two ranks to x of their pair, by (items, prompts, orders)."""


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Agreement of calls of one cell as a function of how far apart they are.

    Attributes:
        slope: of agreement on the gap, with its item bands.
        reach: range of the gap, so that slope x reach is the change over it.
        levels: agreement at each gap, or in each bin of it: (from, to, pairs, agreement).
    """

    slope: Estimate
    reach: float
    levels: tuple[tuple[float, float, int, Estimate], ...]


def rank_drift(tensor: VerdictTensor, how: Resampling) -> Drift | None:
    """Return agreement by rank gap; None without ranks, or with fewer than three."""
    ranked = tensor.ranked
    if ranked is None or ranked.shape[-1] < _THREE_RANKS:
        return None
    edges = np.arange(1, ranked.shape[-1] + 1) - 0.5

    def gap(block: slice, r: int, s: int) -> Floats:
        return np.broadcast_to(float(s - r), ranked[block].shape[:-1])

    return _drift(ranked, gap, edges, tensor, how)


def time_drift(
    tensor: VerdictTensor, seconds: NDArray[np.float64], how: Resampling
) -> Drift | None:
    """Return agreement by log(1 + seconds between calls); None without ranks or times."""
    ranked = tensor.ranked
    if ranked is None or ranked.shape[-1] < 2 or not np.isfinite(seconds).any():  # noqa: PLR2004 - a pair
        return None

    def gap(block: slice, r: int, s: int) -> Floats:
        return np.asarray(np.log1p(np.abs(seconds[block, ..., s] - seconds[block, ..., r])))

    pairs = combinations(range(ranked.shape[-1]), 2)
    x = np.concatenate([gap(slice(None), r, s).ravel() for r, s in pairs])
    x = x[np.isfinite(x)]
    if x.size == 0 or np.ptp(x) == 0:
        return None
    edges = np.unique(np.quantile(x, np.linspace(0, 1, _BINS + 1)))
    edges[-1] = np.nextafter(edges[-1], np.inf)
    return _drift(ranked, gap, edges, tensor, how)


def time_span(seconds: NDArray[np.float64]) -> float:
    """Return the seconds between the first and the last call; nan without times."""
    known = seconds[np.isfinite(seconds)]
    return float(np.ptp(known)) if known.size else float("nan")


def _drift(
    ranked: NDArray[np.int16], gap: Gap, edges: Floats, tensor: VerdictTensor, how: Resampling
) -> Drift | None:
    sums, low, high = _item_sums(ranked, gap, edges)
    totals = sums.sum(axis=0)
    if not totals[1] > 0 or low == high:
        return None
    bins = len(edges) - 1

    def statistic(m: Floats) -> Floats:
        xy, xx = m[..., 0], m[..., 1]
        slope = np.divide(xy, xx, out=np.full_like(xy, np.nan), where=xx > 0)
        pairs, agree = m[..., 2 : 2 + bins], m[..., 2 + bins :]
        level = np.divide(agree, pairs, out=np.full_like(agree, np.nan), where=pairs > 0)
        return np.concatenate([slope[..., None], level], axis=-1)

    slope, *levels = resampled(sums, statistic, tensor.strata, how)
    return Drift(
        slope=slope,
        reach=high - low,
        levels=tuple(
            (float(edges[b]), float(edges[b + 1]), int(totals[2 + b]), level)
            for b, level in enumerate(levels)
        ),
    )


def _item_sums(ranked: NDArray[np.int16], gap: Gap, edges: Floats) -> tuple[Floats, float, float]:
    """Return (xy, xx within cells, pairs and agreements per bin...) per item, and x's range.

    Items go through in blocks: pairs of repeats are many, and what is held for one is an array of
    all cells.
    """
    blocks = [slice(at, at + _ITEMS_AT_ONCE) for at in range(0, len(ranked), _ITEMS_AT_ONCE)]
    found = [_block_sums(ranked[block], partial(gap, block), edges) for block in blocks]
    sums, lows, highs = zip(*found, strict=True)
    return np.concatenate(sums), min(lows), max(highs)


def _block_sums(
    ranked: NDArray[np.int16], gap: Callable[[int, int], Floats], edges: Floats
) -> tuple[Floats, float, float]:
    bins, axes = len(edges) - 1, (1, 2)
    levels = np.zeros((len(ranked), 2 * bins))
    sums = np.zeros((5, *ranked.shape[:-1]))
    low, high = np.inf, -np.inf
    for r, s in combinations(range(ranked.shape[-1]), 2):
        a, b, x = ranked[..., r], ranked[..., s], gap(r, s)
        there = (a != ABSENT) & (b != ABSENT) & np.isfinite(x)
        if not there.any():
            continue
        least, most = x[there].min(), x[there].max()
        low, high = min(low, least), max(high, most)
        x0, y0 = np.where(there, x, 0.0), there & (a == b)
        for i, part in enumerate((there, x0, y0, x0 * y0, x0 * x0)):
            sums[i] += part
        first, last = np.searchsorted(edges, (least, most), side="right") - 1
        at = np.searchsorted(edges, x0, side="right") - 1 if first < last else first
        for bin_ in range(first, last + 1):
            inside = there & (at == bin_)
            levels[:, bin_] += inside.sum(axis=axes)
            levels[:, bins + bin_] += (inside & y0).sum(axis=axes)
    n, x1, y1, xy, xx = sums
    pairs = np.maximum(n, 1)
    within = np.stack(
        [(xy - x1 * y1 / pairs).sum(axis=axes), (xx - x1 * x1 / pairs).sum(axis=axes)], axis=1
    )
    return np.concatenate([within, levels], axis=1), float(low), float(high)


def gap_statistic(mixed: MixedCells, seconds: NDArray[np.float64] | None = None) -> Statistic:
    """Return |sum xy| within cells of shuffled calls, x by rank, or by time where that is given.

    The sum of squares of x stays as it is under shuffling, so this orders tables as the slope does.
    """
    weights = [_weights(group, seconds) for group in mixed.groups]

    def statistic(shuffled: Shuffled) -> Floats:
        if seconds is None and len(weights) == 1:  # every cell has the same gaps
            return np.abs(shuffled.same @ weights[0][0]) if len(weights[0]) else _nothing(shuffled)
        total = _nothing(shuffled)
        for codes, w in zip(shuffled.groups, weights, strict=True):
            for at, (r, s) in enumerate(combinations(range(codes.shape[-1]), 2)):
                total = total + (codes[..., r] == codes[..., s]) @ w[:, at]
        return np.abs(total)

    return statistic


def gap_least(mixed: MixedCells) -> float:
    """Return the chance of the steepest slope, at the least: one arrangement, or its mirror."""
    return float(np.exp(-sum(group.arrangements.sum() for group in mixed.groups)))


def _nothing(shuffled: Shuffled) -> Floats:
    return np.zeros(len(shuffled.complete))


def _weights(group: Group, seconds: NDArray[np.float64] | None) -> Floats:
    """Return x less its mean over the cell for every pair of calls, 0 where x is unknown."""
    r, s = np.triu_indices(group.ranks.shape[1], k=1)
    at = group.ranks.astype(float)
    if seconds is not None:
        at = np.take_along_axis(seconds[tuple(group.cells.T)], group.ranks, axis=1)
    x = np.abs(at[:, s] - at[:, r])
    x = x if seconds is None else np.log1p(x)
    there = np.isfinite(x)
    x = np.where(there, x, 0.0)
    mean = x.sum(axis=1, keepdims=True) / np.maximum(there.sum(axis=1, keepdims=True), 1)
    return np.where(there, x - mean, 0.0)


def drift_finding(
    drift: Drift | None, test: Test, *, kind: str, subject: str, adjacent: bool = False
) -> Finding:
    """Say whether agreement depends on the gap of repeat ranks ("rank") or of time ("time").

    `adjacent` says that repeats of a cell were made one after the other. Slow drift does not show
    then, and the time between calls is mostly the length of the answers between them, so that
    elapsed time is no test at all.
    """
    name = "rank_gap" if kind == "rank" else "elapsed_time"
    unit = "step of repeat rank" if kind == "rank" else "unit of log(1 + seconds)"
    if drift is None:
        need = "three repeats with known ranks" if kind == "rank" else "the times of calls (a run)"
        by = "repeat rank" if kind == "rank" else "elapsed time"
        said = f"Drift by {by} is not testable here."
        return untestable(name, said, f"It needs {need}.", subject)
    slope = drift.slope
    change = slope.estimate * drift.reach
    no_test = adjacent and kind == "time"
    held = UNTESTABLE if no_test else test
    found = severity(held, material=_material(drift, change))
    weak = " Repeats were adjacent in time, so slow drift would not show." if adjacent else ""
    return Finding(
        name=name,
        verdict=found,
        headline=(
            f"Agreement of calls of one cell changes by {slope.estimate:+.4f} per {unit}"
            f"{_band(slope)}, {change:+.3f} over the whole range.{weak}{rate(held)}"
        ),
        advice=_ADJACENT if no_test else _advice(found, test),
        subject=subject,
        figures={
            "slope": slope.estimate,
            "change": change,
            "reach": drift.reach,
            "p": held.p,
            "p_adjusted": held.together,
        },
        columns=("gap_from", "gap_to", "pairs", "agreement", "agreement_low", "agreement_high"),
        rows=tuple(
            (low, high, pairs, level.estimate, *(level.band or (None, None)))
            for low, high, pairs, level in drift.levels
        ),
    )


_ADJACENT = (
    "The time between adjacent repeats depends on how long the answers are: `schedule: random` "
    "spreads repeats out, and tests for drift."
)
_ADVICE: dict[Severity, str] = {
    "ok": "Nothing to do: no drift was found over the range.",
    "notice": "The change is small, or not quite sure: mention it.",
    "problem": "Calls are not independent draws of one law: look for caching, batching or a "
    "changed model, and acquire anew with repeats spread over time.",
}


def _advice(found: Severity, test: Test) -> str:
    if found != "unknown":
        return _ADVICE[found]
    return f"Not testable here, since few cells hold calls that disagree: {by_chance(test)}."


def _material(drift: Drift, change: float) -> bool:
    pairs = sum(level[2] for level in drift.levels)
    agreed = sum(n * level.estimate for *_, n, level in drift.levels if n)
    return abs(change) >= min(_MATERIAL, _SHARE * (1 - agreed / max(pairs, 1)))


def _band(found: Estimate) -> str:
    return "" if found.band is None else f" (band [{found.band[0]:.4f}, {found.band[1]:.4f}])"


def _by_rank(of: Stream) -> Drift | None:
    return rank_drift(of.tensor, of.how)


def _by_time(of: Stream) -> Drift | None:
    return None if of.seconds is None else time_drift(of.tensor, of.seconds, of.how)


@dataclass(frozen=True, kw_only=True)
class StreamDrift:
    """Drift of one stream by rank and by time; None where it is not testable."""

    rank: Drift | None
    time: Drift | None


def stream_drift(of: Stream) -> StreamDrift:
    """Return the drift of a stream."""
    return StreamDrift(rank=of.once(_by_rank), time=of.once(_by_time))


def _least_by_time(of: Stream, mixed: MixedCells) -> float:
    if of.adjacent or of.once(_by_time) is None:
        return inf
    return gap_least(mixed)


DIAGNOSTICS = (
    Diagnostic(
        name="rank_gap",
        place=10,
        shuffle=ShuffleTest(
            least=lambda of, mixed: inf if of.once(_by_rank) is None else gap_least(mixed),
            statistic=lambda _, mixed: gap_statistic(mixed),
        ),
        find=lambda of, tests: [
            drift_finding(
                of.once(_by_rank),
                tests["rank_gap"],
                kind="rank",
                subject=of.name,
                adjacent=of.adjacent,
            )
        ],
        worthless="Repeats are not alike: how often two agree depends on how far apart they come",
    ),
    Diagnostic(
        name="elapsed_time",
        place=20,
        shuffle=ShuffleTest(
            least=_least_by_time,
            statistic=lambda of, mixed: gap_statistic(mixed, of.seconds),
        ),
        find=lambda of, tests: [
            drift_finding(
                of.once(_by_time),
                tests["elapsed_time"],
                kind="time",
                subject=of.name,
                adjacent=of.adjacent,
            )
        ],
        worthless="The judge changed while it was asked",
    ),
)
