"""Independent calls: do cells move together, do hidden labels matter?

Reusing one list of seeds in every cell makes the calls of one rank alike in all cells of an item.
Then different cells agree more often at the same rank than at different ranks. Under independent
calls the two agree equally often, whatever the laws:

    excess_i = mean_{u != v, r} [z_ur = z_vr] - mean_{u != v, r != s} [z_ur = z_vs]

Shuffling the ranks of every cell by itself (`shuffles`) gives its exact null distribution. It tells
only where two cells of an item hold calls that disagree: where they do not, nothing is claimed.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import inf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT, PAIR, Floats
from judgelaw.diagnose.family import Bundle, Test, by_chance, permutation_p, rate, severity
from judgelaw.diagnose.finding import Finding, Severity, untestable
from judgelaw.diagnose.registry import Diagnostic, ShuffleTest, Stream
from judgelaw.diagnose.shuffles import MixedCells, Shuffled, Statistic, log_arrangements
from judgelaw.estimate import (
    CENSUS,
    Decomposition,
    Estimand,
    decompose_as,
    dissimilarity_of,
    weights_of,
)
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    MIN_REPEATS,
    Interval,
    KnownCounts,
    Resampling,
    Shuffler,
    declare,
    errors_of,
    item_interval,
)

_MATERIAL, _SHARE = 0.005, 0.1


def same_rank_excess(tensor: VerdictTensor) -> Floats | None:
    """Return the excess of every complete item; None with one cell, one rank or no ranks."""
    if tensor.ranked is None:
        return None
    N, K, O, R = tensor.ranked.shape
    U = K * O
    if U < PAIR or R < PAIR:
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
        everything += at_rank.sum(axis=1).astype(float) ** 2
        everything -= (of_cell.astype(float) ** 2).sum(axis=1)
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
    """Arrange the cells of every item in rows: the place of each, and whether the place is filled.

    Items come sorted; one with a single cell says nothing and is left out.
    """
    first, size = np.unique(items, return_index=True, return_counts=True)[1:]
    first, size = first[size >= PAIR], size[size >= PAIR]
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


def cells_finding(tensor: VerdictTensor, test: Test, how: Resampling, *, subject: str) -> Finding:
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
        advice=_CELLS_ADVICE[found],
        subject=subject,
        figures={
            "excess": band.estimate,
            "low": band.low,
            "high": band.high,
            "p": test.p,
            "p_adjusted": test.together,
        },
    )


_CELLS_ADVICE: dict[Severity, str] = {
    "ok": "Nothing to do: no dependence between cells was found.",
    "notice": "The excess is small, or not quite sure: check that every call had a seed of its own "
    "(or none).",
    "problem": "Calls of different cells move together, as reused seeds make them do: give every "
    "logical call a seed of its own and acquire anew; prompt and order components are "
    "too small now.",
}


def _unknown(reason: str, subject: str) -> Finding:
    said = "Dependence between cells is not testable here."
    return untestable("cell_dependence", said, reason, subject)


def _material(tensor: VerdictTensor, excess: float) -> bool:
    """Say whether an excess matters to a component, or is much of the disagreement of calls."""
    n, R = tensor.counts, tensor.repeats
    agree = (n * (n - 1)).sum(axis=-1) / np.maximum(R * (R - 1), 1)
    return excess >= min(_MATERIAL, _SHARE * float(1 - agree.mean()))


_LEVEL = 0.99
_CALLS_AT_ONCE = 1 << 18


def control_test(
    tensor: VerdictTensor, rng: np.random.Generator, estimand: Estimand = CENSUS
) -> Bundle:
    """Return the exact two-sided test of "labels change nothing".

    All calls of an item and order were made with one payload, so they are exchangeable over labels
    and ranks. The corrected prompt component has mean 0 over their shuffles.
    """
    if len(tensor.prompts) == 1:
        return Bundle(least={"control": inf}, run=lambda *_: ())
    blocks = tensor.counts.sum(axis=1)
    n = tensor.counts[((blocks > 0).sum(axis=-1) > 1).any(axis=-1)]
    q = weights_of("order", estimand.order_weights, len(tensor.orders), tensor.orders)
    r = dissimilarity_of(tensor, estimand.dissimilarity)
    asked = replace(estimand, order_weights=q, dissimilarity=r)
    shuffler = Shuffler.of(n, None, "prompt") if len(n) else None

    def off(counts: NDArray[Any]) -> Floats:
        found = decompose_as(counts, asked).prompt
        return np.asarray(np.abs(found.sum(axis=-1)))

    def run(_: Sequence[str], most: int) -> list[float]:
        if shuffler is None:
            return [1.0]

        def draw(size: int) -> Floats:
            return off(shuffler.draw(rng, size))

        observed, calls = float(off(n[None])[0]), shuffler.calls
        return [permutation_p(observed, draw, most, numbers=calls, at_once=_CALLS_AT_ONCE)]

    return Bundle(least={"control": float(np.exp(-log_arrangements(blocks).sum()))}, run=run)


def control_finding(
    tensor: VerdictTensor, test: Test, estimand: Estimand = CENSUS, *, subject: str
) -> Finding:
    """Say whether labels that change nothing seem to matter.

    The corrected prompt component of a control layer estimates 0 under independent, exchangeable
    calls, while the plug-in stays above it by call noise alone. A corrected value that shuffles of
    the labels do not reach accuses the pipeline, not the prompts.
    """
    if isnan(test.together):
        return _untestable_control(test, subject)
    known = declare(tensor, estimand)
    found = known.decompose()
    error, plugin = _error(tensor, known, found), found.plugin["prompt"]
    judged = severity(test)
    shown = "" if error.reason else f" (99% interval [{error.low:.4f}, {error.high:.4f}])"
    return Finding(
        name="control",
        verdict=judged,
        headline=(
            f"Labels that change nothing have a prompt component of {error.estimate:.4f}{shown}, "
            f"where 0 is the truth; the plug-in says {plugin.mean():.4f}.{rate(test)}"
        ),
        advice=_CONTROL_ADVICE[judged],
        subject=subject,
        figures={
            "estimate": error.estimate,
            "plugin": float(plugin.mean()),
            "low": error.low,
            "high": error.high,
            "p": test.p,
            "p_adjusted": test.together,
        },
    )


def _untestable_control(test: Test, subject: str) -> Finding:
    why = f": {by_chance(test)}." if test.least <= 1 else "."
    said = "Whether labels change anything is not testable here."
    needs = f"It needs two labels, and calls of one payload that disagree{why}"
    return untestable("control", said, needs, subject)


_ACCUSED = (
    "Calls of one payload are not exchangeable across labels: look for caching, batching or "
    "scheduling by label before believing any prompt component of this run."
)
_CONTROL_ADVICE: dict[Severity, str] = {
    "ok": "Nothing to do: the correction removes what the plug-in adds.",
    "notice": _ACCUSED,
    "problem": _ACCUSED,
}


def _error(tensor: VerdictTensor, known: KnownCounts, found: Decomposition) -> Interval:
    if tensor.depth[0] >= MIN_REPEATS:
        return errors_of(known, found).interval("prompt", level=_LEVEL)
    return item_interval(found.prompt, strata=tensor.strata, level=_LEVEL)


def _control(of: Stream) -> Bundle | None:
    if not of.control:
        return None
    return control_test(of.tensor, stream(of.how.seed, "labels", of.name), of.estimand)


DIAGNOSTICS = (
    Diagnostic(
        name="cell_dependence",
        place=40,
        shuffle=ShuffleTest(
            least=lambda _, mixed: cells_least(mixed),
            statistic=lambda _, mixed: cells_statistic(mixed),
        ),
        find=lambda of, tests: [
            cells_finding(of.tensor, tests["cell_dependence"], of.how, subject=of.name)
        ],
        worthless="Calls that should know nothing of each other agree more than by chance",
    ),
    Diagnostic(
        name="control",
        place=110,
        test=_control,
        find=lambda of, tests: [
            control_finding(of.tensor, test, of.estimand, subject=of.name)
            for test in tests.values()
        ],
        worthless="Labels that change nothing seem to matter: something beside the prompt differs",
    ),
)
