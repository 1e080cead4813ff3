"""What to know before quoting the numbers of a judge, in words."""

from collections.abc import Iterator, Sequence

from judgelaw.analysis.components import Banded
from judgelaw.analysis.depths import AtDepth, Declaration
from judgelaw.analysis.outcomes import unanimous_cells
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
        *_few_items(overall),
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
            "near-deterministic: all calls of every cell agree, so corrected and plug-in coincide; "
            "that call noise is zero is not shown by these calls, and its interval says how much "
            "there may be"
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
            f"a cell holds {low} calls: below {MIN_REPEATS} the call variance has no unbiased "
            "estimate, and call intervals at a nominal 95% were measured to hold in 91% of cases "
            "or more"
        )


def _few_items(overall: Banded) -> Iterator[str]:
    if (reason := overall.inference.refusal("total", "new")) is not None:
        yield f"no interval for new items: {reason}"


def _bands(overall: Banded) -> Iterator[str]:
    if overall.reason is not None:
        yield f"no bootstrap band: {overall.reason}"


def _prefixes(full: AtDepth, prefixes: Sequence[AtDepth]) -> Iterator[str]:
    for s in prefixes:
        lost = len(full.items) - len(s.items)
        if lost:
            yield (
                f"depth {s.depth} rests on {len(s.items)} of {len(full.items)} "
                f"items: {lost} have no two calls in every cell below rank {s.depth}"
            )


def _sampled(full: AtDepth, declared: Declaration) -> Iterator[str]:
    if declared.design == "sampled" and full.drawn is not None:
        yield (
            "prompts were drawn: intervals cover the drawing of prompts too, bands hold the drawn "
            "prompts fixed"
        )
