"""Contrasts of components on fixed items: the lead, and shares of the total.

A contrast takes the larger of the two variances that `calls` keeps, and the smaller degrees of
freedom. A share rho of the total is allowed where zero lies between the bounds of g - rho T.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import nan, sqrt

import numpy as np

from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS
from judgelaw.uncertainty.call_intervals import CallErrors
from judgelaw.uncertainty.intervals import (
    Interval,
    check_level,
    no_interval,
    shifted_upper,
    t_quantile,
)
from judgelaw.uncertainty.new_items import largest_allowed

_PARTS = COMPONENTS[:-1]
_ROUNDING = 1e-12
_NO_TOTAL = "the total is zero: nothing has a share in it"


@dataclass(frozen=True, kw_only=True)
class Lead:
    """The largest component, the one after it, and how far it is ahead.

    Attributes:
        largest, second: component names.
        by: largest minus second, with its call-sampling interval.
    """

    largest: str
    second: str
    by: Interval


def component_lead(errors: CallErrors, *, level: float = 0.95) -> Lead:
    """Return the largest of call, prompt, order and interaction, and its lead over the next.

    The two are chosen by the data, so the interval is of the contrast that was found: where it
    holds 0 the ranking of the two is open.
    """
    macro = {name: float(errors.values(name).mean()) for name in _PARTS}
    ranked = sorted((n for n in _PARTS if not np.isnan(macro[n])), key=lambda n: -macro[n])
    if len(ranked) < 2:  # noqa: PLR2004 - one component leads nothing
        raise InputError(
            "the design has one prompt and one order, so there is one component and no lead: "
            "vary prompts or orders"
        )
    largest, second = ranked[:2]
    return Lead(
        largest=largest,
        second=second,
        by=errors.interval({largest: 1.0, second: -1.0}, level=level),
    )


def share_upper(errors: CallErrors, component: str, p: float) -> float:
    """Return the largest share of the total that the calls allow at level p, in [0, 1]."""
    return largest_allowed(_upper_allows(errors, component, p))


def share_lower(errors: CallErrors, component: str, p: float) -> float:
    """Return the smallest share of the total that the calls allow at level p, in [0, 1]."""
    upper = _upper_allows(errors, component, p, sign=-1.0)
    return 1 - largest_allowed(lambda rest: upper(1 - rest))


def component_share(
    errors: CallErrors, component: str = "prompt", *, level: float = 0.95
) -> Interval:
    """Return the share of a component in the total, with the shares that the calls allow.

    Dividing the ends of two intervals would ignore that both move together. `se` is that of the
    linearised share.
    """
    check_level(level)
    g, total = (float(errors.values(name).mean()) for name in (component, "total"))
    covers = errors.covers
    reason = errors.refusal(component) or (_NO_TOTAL if abs(total) <= _ROUNDING else None)
    if reason is not None:
        return no_interval(estimate=nan, level=level, covers=covers, reason=reason)
    p = (1 + level) / 2
    low, high = share_lower(errors, component, p), share_upper(errors, component, p)
    if low >= high:
        reason = (
            f"the share came out at {g / total:.4f}, and no share between 0 and 1 fits these calls "
            "at this level: chance, or calls that are not independent"
        )
        return no_interval(estimate=g / total, level=level, covers=covers, reason=reason)
    spread = errors.spread_less_total(component)(g / total)
    return Interval(
        estimate=g / total,
        se=sqrt(spread.variance) / abs(total),
        low=low,
        high=high,
        df=spread.df,
        level=level,
        covers=covers,
        inverted=True,
    )


def _upper_allows(
    errors: CallErrors, component: str, p: float, *, sign: float = 1.0
) -> Callable[[float], bool]:
    """Return whether the upper bound of sign (g - rho T) reaches zero, as a function of rho."""
    g, total = (float(errors.values(name).mean()) for name in (component, "total"))
    spread_at, slack_at = errors.spread_less_total(component), errors.slack_less_total(component)

    def allowed(rho: float) -> bool:
        e, spread = sign * (g - rho * total), spread_at(rho)
        e += max(sign * slack for slack in slack_at(rho))
        if errors.exact:
            return e + t_quantile(p, spread.df) * sqrt(spread.variance) >= -_ROUNDING
        return shifted_upper(e, spread, p) >= -_ROUNDING

    return allowed
