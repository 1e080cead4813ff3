"""Nested prefixes of the repeat ranks: what the study would have said, had it stopped earlier."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from judgelaw.arrays import PAIR
from judgelaw.estimate import Decomposition, Estimand
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_intervals import CallErrors, errors_of
from judgelaw.uncertainty.forms import declare
from judgelaw.uncertainty.inference import drawing
from judgelaw.uncertainty.sampled_prompts import DrawnPrompts


@dataclass(frozen=True, kw_only=True, eq=False)
class DepthEstimates:
    """What the calls of one judge say at one depth; the calls themselves are not kept.

    Attributes:
        depth: the number of ranks kept, the largest number of calls in a cell.
        items: the items that have two calls in every cell.
        strata: their strata, None where items have none.
        facets: the numbers of prompts and orders.
        repeats: the smallest and the largest number of calls in a cell.
        found: estimates of every item.
        verdicts: size of the alphabet.
        errors: errors of the same items asked again.
        drawn: what the drawing of prompts adds, None for a census.
    """

    depth: int
    items: tuple[str, ...]
    strata: tuple[str, ...] | None
    facets: tuple[int, int]
    repeats: tuple[int, int]
    verdicts: int
    found: Decomposition
    errors: CallErrors
    drawn: DrawnPrompts | None

    @property
    def balanced(self) -> bool:
        """Whether every cell holds the same number of calls."""
        low, high = self.repeats
        return low == high


def at_depth(tensor: VerdictTensor, estimand: Estimand) -> DepthEstimates:
    """Estimate all components of every item, with their call errors.

    Raises:
        NotIdentifiedError: a cell holds one call.
    """
    known = declare(tensor, estimand)
    found = known.decompose()
    errors = errors_of(known, found)
    return DepthEstimates(
        depth=tensor.depth[1],
        items=tensor.items,
        strata=tensor.strata,
        facets=(len(tensor.prompts), len(tensor.orders)),
        repeats=tensor.depth,
        verdicts=len(tensor.verdicts),
        found=found,
        errors=errors,
        drawn=drawing(known, errors),
    )


def nested(tensor: VerdictTensor, estimand: Estimand) -> Iterator[DepthEstimates]:
    """Yield the estimates at the prefixes 2, 4, 8, ... below the full depth."""
    for depth, prefix in prefixes(tensor):
        yield replace(at_depth(prefix, estimand), depth=depth)


def prefixes(tensor: VerdictTensor) -> Iterator[tuple[int, VerdictTensor]]:
    """Yield the prefixes 2, 4, 8, ... below the full depth.

    Where ranks are missing, a prefix keeps the items that have two calls in every cell of it, and
    its notes say how many went.
    """
    if tensor.ranked is None:
        return
    depth = PAIR
    while depth < tensor.depth[1]:
        prefix = tensor.prefix(depth)
        if np.all(prefix.repeats >= PAIR, axis=(1, 2)).any():
            yield depth, prefix.complete("drop")
        depth *= 2


def depths_of(tensor: VerdictTensor) -> Iterator[tuple[int, VerdictTensor]]:
    """Yield the nested prefixes, and all calls under the largest number of calls in a cell."""
    yield from prefixes(tensor)
    yield tensor.depth[1], tensor
