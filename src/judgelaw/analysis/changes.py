"""How often verdicts change between two calls, with intervals for both targets."""

from judgelaw.quantities import ABSENT, Quantity, estimate_of
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    CHANGES,
    Change,
    Estimand,
    Inference,
    change_interval,
    infer,
    more_than_asking_again,
)


def change_rates(
    tensor: VerdictTensor, known: Inference, estimand: Estimand, level: float
) -> dict[str, Quantity]:
    """Return how often verdicts change, absent where the design does not vary what would change.

    Of scores it is how many points two calls differ by, whatever dissimilarity is declared.
    """
    if tensor.scale is not None:
        points = tensor.scale.points(tensor.verdicts)
        known = infer(tensor, design=estimand.design, dissimilarity=points)
    even = known
    if estimand.order_weights is not None and len(tensor.orders) > 1:
        even = infer(tensor, design=estimand.design)
    return {
        change: _rate(even if change in {"swap", "both"} else known, change, level)
        for change in CHANGES
    }


def _rate(known: Inference, change: Change, level: float) -> Quantity:
    here, new = (
        change_interval(known, change, level=level, scope=scope) for scope in ("fixed", "new")
    )
    rate = estimate_of(here.estimate, new=new, asked=here)
    if rate.absent:  # one level only
        return ABSENT
    more = more_than_asking_again(known, change, level=level)
    return Quantity({"estimate": rate, "more": estimate_of(more.estimate, asked=more)})
