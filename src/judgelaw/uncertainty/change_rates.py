"""How often a verdict changes between two calls: the four numbers that a newcomer reads first.

Each is the chance that two distinct calls on one item disagree, averaged over items:

    ask again   the same prompt and order:  1 - H_XO
    reword      another prompt:  1 - sum_{k != l} w_k w_l sum_o q_o p_ko.p_lo / (1 - sum w^2)
    swap        another order:   1 - sum_{o != p} q_o q_p sum_k w_k p_ko.p_kp / (1 - sum q^2)
    both        another prompt and another order:  alike, over k != l and o != p

Calls of different cells are distinct, so each is unbiased from two calls in a cell on. Where
prompts and orders weigh the same they are linear in the components, in every sample, with
f = K/(K-1) and g = O/(O-1):

    reword = call + f (prompt + interaction)
    swap   = call + g (order + interaction)
    both   = call + f prompt + g order + (f + g - f g) interaction

and for drawn prompts, whose components already have the factor f, with f = 1 throughout and the
interaction once. So their intervals are those of contrasts. Unequal weights of two orders change
ask again and reword alone: another order is the other one, whatever its weight.
"""

from fractions import Fraction
from math import nan, sqrt
from typing import Final, Literal

import numpy as np

from judgelaw.estimate import COMPONENTS, Design
from judgelaw.uncertainty.forms import Contrast, absent_reason
from judgelaw.uncertainty.inference import Inference
from judgelaw.uncertainty.intervals import Interval, check_level, no_interval, t_quantile
from judgelaw.uncertainty.item_bounds import lower_bound, upper_bound
from judgelaw.uncertainty.sampled_prompts import DrawnPrompts, Scope

Change = Literal["ask_again", "reword", "swap", "both"]
CHANGES: Final[tuple[Change, ...]] = ("ask_again", "reword", "swap", "both")
_NEEDS: Final = {
    "ask_again": (),
    "reword": ("prompt",),
    "swap": ("order",),
    "both": ("prompt", "order"),
}


def change_contrast(
    change: Change, prompts: int, orders: int, design: Design = "census"
) -> dict[str, Fraction]:
    """Return a change as a contrast of components, for equal weights; exact.

    A design with one prompt or one order has no interaction, and none is asked for.
    """
    one = Fraction(1)
    if change == "ask_again":
        return {"call": one}
    f = Fraction(prompts, prompts - 1) if design == "census" and prompts > 1 else one
    g = Fraction(orders, orders - 1) if orders > 1 else one
    crossed = prompts > 1 and orders > 1
    if change == "reword":
        return {"call": one, "prompt": f, **({"interaction": f} if crossed else {})}
    if change == "swap":
        return {"call": one, "order": g, **({"interaction": g} if crossed else {})}
    inner = f + g - f * g if design == "census" else one
    return {"call": one, "prompt": f, "order": g, "interaction": inner}


def change_interval(
    known: Inference,
    change: Change,
    *,
    level: float = 0.95,
    scope: Scope = "new",
    unequal_orders: bool = False,
) -> Interval:
    """Return how often a verdict changes, with its interval.

    Args:
        known: the bounds of one judge; for `swap` and `both` those of equal order weights.
        change: what differs between the two calls.
        level: nominal coverage.
        scope: "fixed" for the items asked, "new" for items like them.
        unequal_orders: whether orders weigh differently in `known`.
    """
    check_level(level)
    K, O = known.calls.shown.facets
    if change == "ask_again":
        return known.interval("call", level=level, scope=scope)
    of = known.items if scope == "new" else known.calls
    covers = of.interval("call", level=level).covers
    reason = _refusal(known, change, scope, unequal_orders=unequal_orders)
    if reason is not None:
        estimate = nan if _absent(change, K, O) else _estimate(known, change)
        return no_interval(estimate=estimate, level=level, covers=covers, reason=reason)
    p = (1 + level) / 2
    contrast = _floats(change, K, O, known.design)
    low, high = _bounds(known, contrast, p, scope)
    e = _estimate(known, change)
    return Interval(
        estimate=e,
        se=_error(known, contrast, scope),
        low=low,
        high=high,
        df=nan,
        level=level,
        covers=covers,
        inverted=True,
    )


def more_than_asking_again(
    known: Inference, change: Change, *, level: float = 0.95, unequal_orders: bool = False
) -> Interval:
    """Return how much more often a verdict changes than when just asked again, on these items.

    What prompt, order and their interaction add: the contrast of a change without the call part.
    Where prompts were drawn, their drawing is covered.
    """
    check_level(level)
    covers = known.calls.covers
    reason = _refusal(known, change, "fixed", unequal_orders=unequal_orders)
    if reason is not None or change == "ask_again":
        reason = reason or "asking again is what it is compared with"
        return no_interval(estimate=nan, level=level, covers=covers, reason=reason)
    K, O = known.calls.shown.facets
    contrast = {c: x for c, x in _floats(change, K, O, known.design).items() if c != "call"}
    p = (1 + level) / 2
    low, high = known.calls.bounds(contrast, p)
    if known.drawn is not None:
        least, most = _of_drawing(known.drawn, contrast, p, "fixed", 0.0)
        low, high = float(np.fmin(low, least)), float(np.fmax(high, most))
    return Interval(
        estimate=float(known.calls.values(contrast).mean()),
        se=_error(known, contrast, "fixed"),
        low=low,
        high=high,
        df=nan,
        level=level,
        covers=covers,
        inverted=True,
    )


def _refusal(known: Inference, change: Change, scope: Scope, *, unequal_orders: bool) -> str | None:
    if (absent := _absent(change, *known.calls.shown.facets)) is not None:
        return absent_reason(absent)
    if unequal_orders and change in {"swap", "both"}:
        return "orders weigh differently: ask with the bounds of equal weights"
    return known.refusal("call", scope)


def _absent(change: Change, prompts: int, orders: int) -> str | None:
    levels = {"prompt": prompts, "order": orders}
    return next((facet for facet in _NEEDS[change] if levels[facet] == 1), None)


def _floats(change: Change, K: int, O: int, design: Design) -> dict[str, float]:
    return {name: float(c) for name, c in change_contrast(change, K, O, design).items()}


def _estimate(known: Inference, change: Change) -> float:
    contrast = _floats(change, *known.calls.shown.facets, known.design)
    return float(known.calls.values(contrast).mean())


def _error(known: Inference, contrast: Contrast, scope: Scope) -> float:
    if scope == "fixed":
        return sqrt(known.calls.wide_spread(contrast).variance)
    y = known.items.of(contrast)
    return float(y.std(ddof=1)) / sqrt(len(y))


def _bounds(
    known: Inference, contrast: dict[str, float], p: float, scope: Scope
) -> tuple[float, float]:
    """Return the bounds of a change, each at level p.

    An item that nobody saw may change always, and as far as verdicts go. Where hardly any call
    differs from the others of its cell, two calls differ at most twice as often as one may leave
    its mode.
    """
    e = float(known.calls.values(contrast).mean())
    if scope == "new":
        y, drawn = known.items.of(contrast), known.items.drawn_of(contrast)
        low = lower_bound(y, drawn, p)
        high = upper_bound(y, drawn, p, top=known.calls.shown.unit, careful=True)
    else:
        low, high = known.calls.bounds(contrast, p)
        high = max(high, known.calls.rare_events(e, p))
    if known.drawn is not None:
        least, most = _of_drawing(known.drawn, contrast, p, scope, _item_variance(known, contrast))
        low, high = float(np.fmin(low, least)), float(np.fmax(high, most))
    return low, high


def _item_variance(known: Inference, contrast: Contrast) -> float:
    y = known.items.of(contrast)
    return float(y.var(ddof=1)) / len(y) if len(y) > 1 else 0.0


def _of_drawing(
    drawn: DrawnPrompts, contrast: dict[str, float], p: float, scope: Scope, V_items: float
) -> tuple[float, float]:
    """Return bounds that cover the drawing of prompts: one prompt left out at a time.

    A wording that was not drawn moves a change as far as it moves the prompt component.
    """
    ell = np.array([contrast.get(name, 0.0) for name in COMPONENTS])
    used = ell != 0
    e, left = float(drawn.estimates[used] @ ell[used]), drawn.without[:, used] @ ell[used]
    K, N = len(left), len(drawn.kernel)
    V_P = (K - 1) / K * float(((left - left.mean()) ** 2).sum())
    V_I = V_items if scope == "new" else 0.0
    V = V_P + V_I
    if V <= 0:
        return nan, nan
    items = V_I**2 / (N - 1) if V_I else 0.0
    half = t_quantile(p, V**2 / (V_P**2 / (K - 1) + items)) * sqrt(V)
    high = e + half
    if "prompt" in contrast:
        prompt = float(drawn.estimates[COMPONENTS.index("prompt")])
        high = max(high, e + drawn.bounds("prompt", p, scope)[1] - prompt)
    return e - half, high
