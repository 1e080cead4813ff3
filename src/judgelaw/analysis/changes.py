"""How often verdicts change between two calls, with intervals for both targets."""

from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from judgelaw.analysis.answer import Rate, new_item_changes
from judgelaw.quantities import ABSENT, Quantity, estimate_of
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    CHANGES,
    Change,
    Estimand,
    Inference,
    Resampling,
    change_interval,
    infer,
    more_than_asking_again,
)

if TYPE_CHECKING:
    from collections.abc import Mapping


def change_rates(
    tensor: VerdictTensor,
    known: Inference,
    estimand: Estimand,
    how: Resampling,
    *,
    soft: bool = False,
) -> dict[str, Quantity]:
    """Return how often verdicts change, absent where the design does not vary what would change.

    Of scores it is how many points two calls differ by, whatever dissimilarity is declared. For
    items like these the bounds are the answer's, but where they cover more (drawn prompts, several
    looks) or rest on token probabilities (`soft`).
    """
    bounded: Mapping[str, Rate | None] = {}
    if not (soft or known.looks or estimand.design == "sampled"):
        bounded = new_item_changes(tensor, estimand, level=how.level, seed=how.seed)
    if tensor.scale is not None:
        points = tensor.scale.points(tensor.verdicts)
        known = infer(tensor, Estimand(design=estimand.design, dissimilarity=points))
    even = known
    if estimand.order_weights is not None and len(tensor.orders) > 1:
        even = infer(tensor, Estimand(design=estimand.design))
    return {
        change: _rate(
            even if change in {"swap", "both"} else known, change, how.level, bounded.get(change)
        )
        for change in CHANGES
    }


def _rate(known: Inference, change: Change, level: float, bounded: Rate | None) -> Quantity:
    here = change_interval(known, change, level=level, scope="fixed")
    if isnan(here.estimate):  # one level only
        return ABSENT
    if bounded is None or bounded.low is None or bounded.high is None:
        new = change_interval(known, change, level=level, scope="new")
        rate = estimate_of(here.estimate, new=new, asked=here)
    else:
        rate = replace(estimate_of(here.estimate, asked=here), low=bounded.low, high=bounded.high)
    more = more_than_asking_again(known, change, level=level)
    return Quantity({"estimate": rate, "more": estimate_of(more.estimate, asked=more)})
