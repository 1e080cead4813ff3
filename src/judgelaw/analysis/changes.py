"""How often verdicts change between two calls, with intervals for both targets."""

from math import isnan

from judgelaw.analysis.facet_values import pair_of
from judgelaw.analysis.values import ChangeRate
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
) -> dict[str, ChangeRate | None]:
    """Return how often verdicts change, None where the design does not vary what would change.

    Of scores it is how many points two calls differ by, whatever dissimilarity is declared.
    """
    if tensor.scale is not None:
        points = tensor.scale.points(tensor.verdicts)
        known = infer(tensor, design=estimand.design, dissimilarity=points)
    even = known
    if estimand.order_weights is not None and len(tensor.orders) > 1:
        even = infer(tensor, design=estimand.design)
    found: dict[str, ChangeRate | None] = {}
    for change in CHANGES:
        of = even if change in {"swap", "both"} else known
        found[change] = _rate(of, change, level)
    return found


def _rate(known: Inference, change: Change, level: float) -> ChangeRate | None:
    here, new = (
        change_interval(known, change, level=level, scope=scope) for scope in ("fixed", "new")
    )
    if isnan(here.estimate):  # one level only
        return None
    more = more_than_asking_again(known, change, level=level)
    return ChangeRate(
        estimate=here.estimate,
        interval=pair_of(new),
        call_interval=pair_of(here),
        more=None if isnan(more.estimate) else more.estimate,
        more_interval=pair_of(more),
    )
