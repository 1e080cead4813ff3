"""Dependence between cells: do calls of different cells move together?

Reusing one list of seeds in every cell makes the calls of one rank alike in all cells of an item.
Then different cells agree more often at the same rank than at different ranks. Under independent
calls the two agree equally often, whatever the laws:

    excess_i = mean_{u != v, r} [z_ur = z_vr] - mean_{u != v, r != s} [z_ur = z_vs]

Shuffling the ranks of every cell by itself (`shuffles`) gives its exact null distribution. It tells
only where two cells of an item hold calls that disagree: where they do not, nothing is claimed.
"""

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT
from judgelaw.diagnose.family import Test, by_chance, rate, severity
from judgelaw.diagnose.finding import Finding, Severity
from judgelaw.diagnose.resampled import Floats, How
from judgelaw.diagnose.shuffles import MixedCells, Shuffled, Statistic
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.items import item_interval

_MATERIAL, _SHARE = 0.005, 0.1
_PAIR = 2


def same_rank_excess(tensor: VerdictTensor) -> Floats | None:
    """Return the excess of every complete item; None with one cell, one rank or no ranks."""
    if tensor.ranked is None:
        return None
    N, K, O, R = tensor.ranked.shape
    U = K * O
    if U < _PAIR or R < _PAIR:
        return None
    z = tensor.ranked.reshape(N, U, R)
    z = z[(z != ABSENT).all(axis=(1, 2))]
    if len(z) == 0:
        return None
    same = np.zeros(len(z))
    everything = np.zeros(len(z))
    for c in range(len(tensor.verdicts)):
        hit = z == c
        at_rank, of_cell = hit.sum(axis=1), hit.sum(axis=2)
        # Ordered pairs of different cells: all pairs minus those of a cell with itself.
        same += (at_rank.astype(float) ** 2).sum(axis=1) - hit.sum(axis=(1, 2))
        everything += at_rank.sum(axis=1).astype(float) ** 2 - (of_cell.astype(float) ** 2).sum(
            axis=1
        )
    pairs = U * (U - 1) * R
    return np.asarray(same / pairs - (everything - same) / (pairs * (R - 1)))


def cells_statistic(mixed: MixedCells) -> Statistic:
    """Return how often different cells of an item agree at one rank, of shuffled calls.

    Over verdicts, ranks and items it is the sum of squared numbers of cells: pairs of a cell with
    itself, and pairs with a unanimous cell, add the same whatever the arrangement.
    """
    at, there = _cells_by_item(mixed.complete.cells[:, 0])

    def statistic(shuffled: Shuffled) -> Floats:
        z = shuffled.complete[:, at]
        total = np.zeros(len(z))
        for c in range(shuffled.verdicts):
            cells = ((z == c) & there[..., None]).sum(axis=1, dtype=np.int32)
            total += (cells * cells).sum(axis=(1, 2))
        return total

    return statistic


def _cells_by_item(items: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Lay the cells of every item below each other: where each stands, and whether it is one.

    Items come sorted; one with a single cell says nothing and is left out.
    """
    first, size = np.unique(items, return_index=True, return_counts=True)[1:]
    first, size = first[size >= _PAIR], size[size >= _PAIR]
    row = np.arange(size.max(initial=0))[:, None]
    there = row < size
    return np.where(there, first + row, 0), there


def cells_least(mixed: MixedCells) -> float:
    """Return the chance that all cells of every item move together, at the least.

    One cell of an item may stand as it stands: the others have to follow it.
    """
    cells = mixed.complete
    if len(cells.codes) == 0:
        return 1.0
    first = np.unique(cells.cells[:, 0], return_index=True)[1]
    ways = np.add.reduceat(cells.arrangements, first)
    return float(np.exp(-(ways - np.maximum.reduceat(cells.arrangements, first)).sum()))


def cells_finding(tensor: VerdictTensor, test: Test, how: How, *, subject: str) -> Finding:
    """Say whether calls of different cells of an item move together."""
    excess = same_rank_excess(tensor)
    if excess is None:
        return _unknown("It needs two cells and two ranked repeats of an item.", subject)
    if np.isnan(test.together):
        return _unknown(
            f"Few items have two cells that hold calls which disagree: {by_chance(test)}.", subject
        )
    strata = tensor.strata if len(excess) == len(tensor.items) else None
    band = item_interval(excess, strata=strata, level=how.level)
    shown = "" if band.reason is not None else f" (band [{band.low:.4f}, {band.high:.4f}])"
    found = severity(test, material=_material(tensor, band.estimate))
    return Finding(
        name="cell_dependence",
        verdict=found,
        headline=(
            f"Different cells of an item agree {band.estimate:+.4f} more often at the same repeat "
            f"rank than at different ones{shown}.{rate(test)}"
        ),
        advice=_ADVICE[found],
        subject=subject,
        figures={
            "excess": band.estimate,
            "low": band.low,
            "high": band.high,
            "p": test.p,
            "p_adjusted": test.together,
        },
    )


_ADVICE: dict[Severity, str] = {
    "ok": "Nothing to do: no dependence between cells was found.",
    "notice": "The excess is small, or not quite sure: check that every call had a seed of its own "
    "(or none).",
    "problem": "Calls of different cells move together, as reused seeds make them do: give every "
    "logical call a seed of its own and acquire anew; prompt and order components are "
    "too small now.",
}


def _unknown(reason: str, subject: str) -> Finding:
    return Finding(
        name="cell_dependence",
        verdict="unknown",
        headline="Dependence between cells is not testable here.",
        advice=reason,
        subject=subject,
    )


def _material(tensor: VerdictTensor, excess: float) -> bool:
    """Say whether an excess matters to a component, or is much of the disagreement of calls."""
    n, R = tensor.counts, tensor.repeats
    agree = (n * (n - 1)).sum(axis=-1) / np.maximum(R * (R - 1), 1)
    return excess >= min(_MATERIAL, _SHARE * float(1 - agree.mean()))
