"""The one place where a claim gets its bounds: for the items asked, and for items like them.

Two targets, never mixed. "fixed" is the items that were asked, asked again: only the dice are
random. "new" is other items like them. Where prompts were drawn from a generator, both also cover
the drawing of prompts.

What holds for items like these holds for the items asked too, since E[s^2 / N] >= V_call. So the
ends of the two targets are made coherent (`coherent`), and the items asked are never less well
known than others:

    R >= 4      lower end of the items asked  the larger of both lower ends
                upper end of the items asked  the smaller of both upper ends
    R = 2, 3    the lower ends alike;  upper end of new items  the larger of both upper ends

Below four calls the upper end for new items misses too often to be taken for the items asked.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isnan, nan

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import PAIR
from judgelaw.estimate import CENSUS, COMPONENTS, Decomposition, Design, Estimand
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_intervals import CallErrors, errors_of
from judgelaw.uncertainty.call_variance import MIN_REPEATS
from judgelaw.uncertainty.contrasts import share_lower, share_upper
from judgelaw.uncertainty.forms import KnownCounts, declare
from judgelaw.uncertainty.intervals import Interval, check_level, remembered
from judgelaw.uncertainty.item_bounds import DRAWS, clusters_of
from judgelaw.uncertainty.new_items import NewItems, new_item_bounds
from judgelaw.uncertainty.sampled_prompts import MIN_PROMPTS, DrawnPrompts, Scope, drawn_prompts
from judgelaw.uncertainty.spending import levels_left

_TOO_FEW_DRAWN = (
    f"fewer than {MIN_PROMPTS} prompts were drawn, so the error of drawing them cannot be had: "
    "draw more prompts, or declare them a census"
)
_DRAWING = "; the drawing of prompts is covered too"

Ends = tuple[float, float]


@dataclass(frozen=True, kw_only=True, eq=False)
class Inference:
    """Bounds, intervals, shares and leads of the components of one judge.

    Attributes:
        calls: errors of the same items asked again.
        items: bounds for items like these.
        drawn: what the drawing of prompts adds; None for a census, or where too few were drawn.
        looks: where the calls were looked at before, and now; every bound spends less error then.
    """

    calls: CallErrors
    items: NewItems
    drawn: DrawnPrompts | None = None
    looks: tuple[float, ...] = ()

    @property
    def design(self) -> Design:
        """Whether the prompts are all that matter, or were drawn."""
        return self.calls.design

    def refusal(self, component: str, scope: Scope) -> str | None:
        """Say why there are no bounds, or None."""
        if (reason := self.calls.refusal(component)) is not None:
            return reason
        if scope == "new" and (reason := self.items.refusal(component)) is not None:
            return reason
        if self.design == "sampled" and self.drawn is None:
            return _TOO_FEW_DRAWN
        return None

    def estimate(self, component: str) -> float:
        """Return the mean over items."""
        return float(self.calls.values(component).mean())

    def bounds(self, component: str, p: float, scope: Scope) -> tuple[float, float]:
        """Return lower and upper bounds, each at level p; nan where `refusal` says why.

        Where the calls were looked at before, each bound holds at level p over all looks.
        """
        if self.refusal(component, scope) is not None:
            return nan, nan
        (low, _), (_, high) = (
            self._one_look(component, q, scope) for q in levels_left(self.looks, p)
        )
        return low, high

    def _one_look(self, component: str, p: float, scope: Scope) -> tuple[float, float]:
        """Return bounds that hold at level p for whoever looks once, coherent over both targets.

        How often two calls differ lies between 0 and the unit, and so do its bounds.
        """
        low, high = self.coherent(lambda each: self._own(component, p, each), scope)
        if component not in {"call", "total"}:
            return low, high
        unit = self.calls.shown.unit
        return float(np.clip(low, 0.0, unit)), float(np.clip(high, 0.0, unit))

    def coherent(self, own: Callable[[Scope], tuple[float, float]], scope: Scope) -> Ends:
        """Return the ends of one target, given those that each target has of its own."""
        low, high = own(scope)
        if self.refusal("call", "new") is not None:
            return low, high
        other = own("fixed" if scope == "new" else "new")
        deep = int(self.calls.shown.fewest.min()) >= MIN_REPEATS
        if scope == "fixed":
            return float(np.fmax(low, other[0])), float(np.fmin(high, other[1]) if deep else high)
        return low, high if deep or isnan(high) else float(np.fmax(high, other[1]))

    def _own(self, component: str, p: float, scope: Scope) -> tuple[float, float]:
        """Return the bounds that a target has of its own."""
        of = self.items if scope == "new" else self.calls
        low, high = of.bounds(component, p)
        if scope == "new":
            down, up = self.calls.slack(component)
            low, high = low + down, high + up
        if self.drawn is None:
            return low, high
        drawn_low, drawn_high = self.drawn.bounds(component, p, scope)
        return float(np.fmin(low, drawn_low)), float(np.fmax(high, drawn_high))

    def interval(self, component: str, *, level: float = 0.95, scope: Scope = "new") -> Interval:
        """Return a component with its two-sided interval."""
        check_level(level)
        of = self.items if scope == "new" else self.calls
        plain = of.interval(component, level=level)
        reason = self.refusal(component, scope)
        if reason is not None:
            return replace(plain, se=nan, low=nan, high=nan, df=nan, reason=reason)
        low, high = self.bounds(component, (1 + level) / 2, scope)
        covers = plain.covers if self.drawn is None else plain.covers + _DRAWING
        return replace(plain, low=low, high=high, covers=covers)

    def share(self, component: str, p: float, scope: Scope) -> tuple[float, float]:
        """Return the smallest and the largest share of the total, each at level p, in [0, 1].

        nan where there are no bounds. Where prompts were drawn, the bounds of all parts are
        combined, each at an equal part of the error.
        """
        if self.refusal(component, scope) is not None or self.refusal("total", scope) is not None:
            return nan, nan
        if self.drawn is not None:
            return self._share_of_bounds(component, p, scope)
        return self.coherent(lambda target: self._own_share(component, p, target), scope)

    @remembered
    def _own_share(self, component: str, p: float, scope: Scope) -> Ends:
        """Return the ends of a share that a target has of its own."""
        low_p, high_p = levels_left(self.looks, p)
        if scope == "new":
            of = self.items
            return of.share_lower(component, low_p), of.share_upper(component, high_p)
        calls = self.calls
        return share_lower(calls, component, low_p), share_upper(calls, component, high_p)

    def leads(self, first: str, second: str, p: float, scope: Scope) -> bool:
        """Whether the first component is shown to be larger than the second, at level p."""
        if any(self.refusal(c, scope) is not None for c in (first, second)):
            return False
        if self.drawn is not None:
            half = (1 + p) / 2
            low, _ = self.bounds(first, half, scope)
            _, high = self.bounds(second, half, scope)
            return low > high
        p, _ = levels_left(self.looks, p)
        if scope == "new":
            return self.items.lead(first, second, level=2 * p - 1).low > 0
        return self.calls.bounds({first: 1.0, second: -1.0}, p)[0] > 0

    def _share_of_bounds(self, component: str, p: float, scope: Scope) -> tuple[float, float]:
        parts = [c for c in COMPONENTS[:-1] if self.calls.refusal(c) is None]
        each = 1 - (1 - p) / len(parts)
        bounds = {c: self.bounds(c, each, scope) for c in parts}
        low, high = (max(0.0, x) for x in bounds.pop(component))
        least, most = (sum(max(0.0, b[end]) for b in bounds.values()) for end in (0, 1))
        return (
            low / (low + most) if low + most > 0 else 0.0,
            high / (high + least) if high + least > 0 else 1.0,
        )


def infer(
    x: VerdictTensor | ArrayLike,
    estimand: Estimand = CENSUS,
    *,
    draws: int = DRAWS,
    seed: int = 0,
    strict: bool = False,
) -> Inference:
    """Prepare every bound of one judge.

    `draws` random weightings are behind the bounds for new items, and `strict` supposes an unseen
    item at the end of its range throughout.

    Raises:
        NotIdentifiedError: a cell holds one call.
    """
    known = declare(x, estimand)
    calls = errors_of(known, known.decompose())
    items = new_item_bounds(
        [calls.estimates],
        top=known.top,
        draws=draws,
        seed=seed,
        strict=strict,
        clusters=clusters_of(x.clusters) if isinstance(x, VerdictTensor) else None,
    )[0]
    return Inference(
        calls=calls,
        items=items,
        drawn=drawing(known, calls, draws=draws, seed=seed),
        looks=x.looks if isinstance(x, VerdictTensor) else (),
    )


def drawing(
    known: KnownCounts, calls: CallErrors, *, draws: int = DRAWS, seed: int = 0
) -> DrawnPrompts | None:
    """Return what the drawing of prompts adds, None for a census or too few prompts."""
    K, _ = calls.shown.facets
    if calls.design != "sampled" or K < MIN_PROMPTS:
        return None
    return drawn_prompts(known, draws=draws, seed=seed)


@dataclass(frozen=True, kw_only=True, eq=False)
class DepthEstimates:
    """What the calls of one judge say at one depth; the calls themselves are not kept.

    Attributes:
        depth: the number of ranks kept, the largest number of calls in a cell.
        items: the items that have two calls in every cell.
        strata, clusters: of the items, None where they have none.
        facets: the numbers of prompts and orders.
        repeats: the smallest and the largest number of calls in a cell.
        found: estimates of every item.
        top: the largest value that each component of an item can have.
        errors: errors of the same items asked again.
        drawn: what the drawing of prompts adds, None for a census.
        looks: where the calls were looked at before, and now.
    """

    depth: int
    items: tuple[str, ...]
    strata: tuple[str, ...] | None
    clusters: tuple[str, ...] | None
    facets: tuple[int, int]
    repeats: tuple[int, int]
    top: Mapping[str, float]
    found: Decomposition
    errors: CallErrors
    drawn: DrawnPrompts | None
    looks: tuple[float, ...] = ()

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
        clusters=tensor.clusters,
        facets=(len(tensor.prompts), len(tensor.orders)),
        repeats=tensor.depth,
        top=known.top,
        found=found,
        errors=errors,
        drawn=drawing(known, errors),
        looks=tensor.looks,
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
