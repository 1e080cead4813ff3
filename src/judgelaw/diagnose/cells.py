"""Dependence between cells: do calls of different cells move together?

Reusing one list of seeds in every cell makes the calls of one rank alike in all cells of an item.
Then different cells agree more often at the same rank than at different ranks. Under independent
calls the two agree equally often, whatever the laws:

    excess_i = mean_{u != v, r} [z_ur = z_vr] - mean_{u != v, r != s} [z_ur = z_vs]
"""

import numpy as np

from judgelaw.arrays import ABSENT
from judgelaw.diagnose.finding import Finding
from judgelaw.diagnose.resampled import ALARM, Floats, How
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.items import item_interval

_MATERIAL = 0.005
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


def cells_finding(tensor: VerdictTensor, how: How, *, subject: str) -> Finding:
    """Say whether calls of different cells of an item move together."""
    excess = same_rank_excess(tensor)
    found = None
    if excess is not None:
        strata = tensor.strata if len(excess) == len(tensor.items) else None
        found = item_interval(excess, strata=strata, level=how.level)
    if found is None or found.reason is not None:
        return Finding(
            name="cell_dependence",
            verdict="unknown",
            headline="Dependence between cells is not testable here.",
            advice="It needs two cells and two ranked repeats of an item, and two items.",
            subject=subject,
        )
    low, high = found.low, found.high
    bad = found.at_level(ALARM).low > 0 and found.estimate >= _MATERIAL
    return Finding(
        name="cell_dependence",
        verdict="problem" if bad else "ok",
        headline=(
            f"Different cells of an item agree {found.estimate:+.4f} more often at the same repeat "
            f"rank than at different ones (band [{low:.4f}, {high:.4f}])."
        ),
        advice=(
            "Calls of different cells move together, as reused seeds make them do: give every "
            "logical call a seed of its own and acquire anew; prompt and order components are "
            "too small now."
            if bad
            else "Nothing to do: cells look independent."
        ),
        subject=subject,
        figures={"excess": found.estimate, "low": low, "high": high},
    )
