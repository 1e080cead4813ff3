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
from math import isnan, nan, sqrt
from typing import Final, Literal

import numpy as np

from judgelaw.estimate import COMPONENTS, Design
from judgelaw.uncertainty.forms import Contrast, absent_reason
from judgelaw.uncertainty.inference import Inference
from judgelaw.uncertainty.intervals import Interval, check_level, no_interval
from judgelaw.uncertainty.item_bounds import lower_bound, upper_bound
from judgelaw.uncertainty.sampled_prompts import Scope

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

    For `swap` and `both` the bounds have to be those of equal order weights: `unequal_orders` says
    whether orders weigh differently in `known`.
    """
    check_level(level)
    if change == "ask_again":
        return known.interval("call", level=level, scope=scope)
    of = known.items if scope == "new" else known.calls
    covers = of.interval("call", level=level).covers
    reason = _refusal(known, change, scope, unequal_orders=unequal_orders)
    contrast = _contrast(known, change)
    if reason is not None:
        estimate = float(known.calls.values(contrast).mean())
        return no_interval(estimate=estimate, level=level, covers=covers, reason=reason)
    p = (1 + level) / 2
    low, high = known.coherent(lambda target: _bounds(known, contrast, p, target), scope)
    unit = known.calls.shown.unit
    ends = (float(np.clip(low, 0.0, unit)), float(np.clip(high, 0.0, unit)))
    return _interval(known, contrast, scope, ends, level=level, covers=covers)


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
    contrast = {c: x for c, x in _contrast(known, change).items() if c != "call"}
    p = (1 + level) / 2
    ends = _with_drawing(known, contrast, known.calls.bounds(contrast, p), p, "fixed")
    return _interval(known, contrast, "fixed", ends, level=level, covers=covers)


def _interval(
    known: Inference,
    contrast: Contrast,
    scope: Scope,
    ends: tuple[float, float],
    *,
    level: float,
    covers: str,
) -> Interval:
    low, high = ends
    return Interval(
        estimate=float(known.calls.values(contrast).mean()),
        se=_error(known, contrast, scope),
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


def _contrast(known: Inference, change: Change) -> dict[str, float]:
    exact = change_contrast(change, *known.calls.shown.facets, known.design)
    return {name: float(c) for name, c in exact.items()}


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
    return _with_drawing(known, contrast, (low, high), p, scope)


def _with_drawing(
    known: Inference,
    contrast: dict[str, float],
    ends: tuple[float, float],
    p: float,
    scope: Scope,
) -> tuple[float, float]:
    """Widen bounds to cover the drawing of prompts, if any: one prompt left out at a time.

    A wording that was not drawn moves a change as far as it moves the prompt component.
    """
    if (drawn := known.drawn) is None:
        return ends
    y = known.items.of(contrast)
    V_I = float(y.var(ddof=1)) / len(y) if scope == "new" and len(y) > 1 else 0.0
    e, V_P = drawn.jackknife(contrast)
    half = drawn.half_width(V_P, V_I, p)
    high = e + half
    if "prompt" in contrast and not isnan(half):
        prompt = float(drawn.estimates[COMPONENTS.index("prompt")])
        high = max(high, e + drawn.bounds("prompt", p, scope)[1] - prompt)
    return float(np.fmin(ends[0], e - half)), float(np.fmax(ends[1], high))
