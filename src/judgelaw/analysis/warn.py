"""What to know before quoting the numbers of a judge, in words."""

from collections.abc import Iterator, Sequence

import numpy as np

from judgelaw.analysis.components import Banded
from judgelaw.analysis.depths import AtDepth, Declaration
from judgelaw.analysis.outcomes import unanimous_cells
from judgelaw.estimate import COMPONENTS
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_variance import MIN_REPEATS

_FACETS = (("prompt", "prompt"), ("order", "answer order"))


def warnings(
    tensor: VerdictTensor,
    full: AtDepth,
    prefixes: Sequence[AtDepth],
    overall: Banded,
    declared: Declaration,
) -> tuple[str, ...]:
    """Collect what these calls cannot say, and what was left out on the way."""
    return (
        *tensor.notes,
        *_facets(full),
        *_unanimous(tensor),
        *_repeats(tensor),
        *_calls(full),
        *_bands(overall),
        *_prefixes(full, prefixes),
        *_sampled(full, declared),
    )


def _facets(full: AtDepth) -> Iterator[str]:
    for (facet, words), levels in zip(_FACETS, full.facets, strict=True):
        if levels == 1:
            yield (
                f"the {facet} facet is absent: all calls share one {words}, so its component and "
                "the interaction are not known (they are not 0)"
            )


def _unanimous(tensor: VerdictTensor) -> Iterator[str]:
    if unanimous_cells(tensor) == 1:
        yield (
            "near-deterministic: all calls of every cell agree, so corrected and plug-in coincide "
            "and no interval is given for call noise; that it is zero is not shown by these calls"
        )


def _repeats(tensor: VerdictTensor) -> Iterator[str]:
    low, high = tensor.depth
    if low != high:
        yield (
            f"cells hold {low} to {high} calls: every estimate stays unbiased, but depths are not "
            "comparable cell by cell"
        )
    if tensor.ranked is None:
        yield "repeat ranks are not known: no nested depths, and no diagnostics of repeats"


def _calls(full: AtDepth) -> Iterator[str]:
    low, _ = full.repeats
    if low < MIN_REPEATS:
        yield (
            f"no call interval: a cell holds {low} calls, and call-sampling variance has no "
            f"unbiased estimate below {MIN_REPEATS}; the band contains call noise"
        )
    elif full.errors is not None:
        present = [name for name in COMPONENTS if not np.isnan(full.errors.values(name)).any()]
        reasons = (full.errors.interval(name).reason for name in present)
        yield from (f"no call interval: {r}" for r in dict.fromkeys(reasons) if r is not None)


def _bands(overall: Banded) -> Iterator[str]:
    if overall.reason is not None:
        yield f"no band: {overall.reason}"


def _prefixes(full: AtDepth, prefixes: Sequence[AtDepth]) -> Iterator[str]:
    for s in prefixes:
        lost = len(full.items) - len(s.items)
        if lost:
            yield (
                f"depth {s.depth} rests on {len(s.items)} of {len(full.items)} "
                f"items: {lost} have no two calls in every cell below rank {s.depth}"
            )


def _sampled(full: AtDepth, declared: Declaration) -> Iterator[str]:
    if declared.design == "sampled" and full.errors is not None:
        yield (
            "call intervals hold the drawn prompts fixed; the error from drawing them is in "
            "the prompt interval of the sampled design"
        )
