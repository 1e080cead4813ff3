"""Contrasts of components: the lead of the largest, shares of the total, differences of judges."""

from dataclasses import dataclass
from math import nan, sqrt

import numpy as np

from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS
from judgelaw.uncertainty.calls import CallErrors, interval_of_sums
from judgelaw.uncertainty.forms import Contrast, absent_component, contrast_name, contrast_row
from judgelaw.uncertainty.results import (
    Interval,
    check_level,
    no_interval,
    t_quantile,
)

_PARTS = COMPONENTS[:-1]
_ONE_SILENT = (
    "every cell of one judge is unanimous: its call noise is taken as estimated, that is zero, so "
    "the interval may be too narrow"
)


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


def component_share(
    errors: CallErrors, component: Contrast = "prompt", *, level: float = 0.95
) -> Interval:
    """Return the share of a component in the total, with the interval by inversion.

    All shares rho with |g - rho total| <= t se(c_g - rho c_total) are in the interval (Fieller); t
    has the degrees of freedom of the contrast at the estimated share. Dividing the ends of two
    bands would ignore that both move together. `se` is that of the linearised share.
    """
    check_level(level)
    g, total = (float(errors.values(name).mean()) for name in (component, "total"))
    if total == 0:
        reason = "the total is zero: nothing has a share in it"
        return no_interval(estimate=nan, level=level, covers=errors.covers, reason=reason)
    rho = g / total
    if np.isnan(rho):
        reason = errors.refusal(component) or "the component is nan"
        return no_interval(estimate=nan, level=level, covers=errors.covers, reason=reason)
    at_rho = errors.interval(_less(component, rho), level=level)
    if at_rho.reason is not None:
        return no_interval(estimate=rho, level=level, covers=errors.covers, reason=at_rho.reason)
    t = t_quantile((1 + level) / 2, at_rho.df)
    ends = _inverted(g, total, t, _second_moments(errors, component))
    if ends is None:
        reason = (
            "the total is not distinguishable from zero at this level, so any share of it is "
            "possible: acquire more calls"
        )
        return no_interval(estimate=rho, level=level, covers=errors.covers, reason=reason)
    return Interval(
        estimate=rho,
        se=at_rho.se / abs(total),
        low=ends[0],
        high=ends[1],
        df=at_rho.df,
        level=level,
        covers=errors.covers,
        inverted=True,
    )


def judge_difference(
    a: CallErrors, b: CallErrors, contrast: Contrast = "prompt", *, level: float = 0.95
) -> Interval:
    """Return A minus B of two judges on the same fixed items: variance V_A + V_B.

    Calls of different judges are independent, so variances add; items are fixed, so no pairing
    gain is involved (`item_bands` pairs items instead).
    """
    check_level(level)
    if a.items is not None and b.items is not None and a.items != b.items:
        raise InputError(
            "the judges were not asked about the same items in the same order: select the common "
            "items in both with VerdictTensor.select(items=...)"
        )
    if len(a.estimates) != len(b.estimates):
        raise InputError(
            f"the judges were asked about {len(a.estimates)} and {len(b.estimates)} items: a "
            "difference is of the same items; select the common ones in both"
        )
    if a.design != b.design:
        raise InputError(
            f"the judges' designs are {a.design!r} and {b.design!r}, which estimate different "
            "quantities: declare the prompts alike in both"
        )
    silent = [e.refusal(contrast) for e in (a, b)]
    reason = silent[0] if None not in silent or _absent(a, contrast) else None
    if _absent(b, contrast):
        reason = silent[1]
    terms = [e.variances(contrast) / len(e.estimates) ** 2 for e in (a, b)]
    return interval_of_sums(
        estimate=float(a.values(contrast).mean() - b.values(contrast).mean()),
        variances=np.concatenate(terms),
        level=level,
        covers=a.covers,
        name=f"the difference of judges in {contrast_name(contrast)}",
        reason=reason,
        warning=None if silent == [None, None] else _ONE_SILENT,
    )


def _absent(errors: CallErrors, contrast: Contrast) -> bool:
    return absent_component(contrast, errors.components) is not None


def _less(component: Contrast, rho: float) -> dict[str, float]:
    """Return the contrast component - rho total."""
    found = {component: 1.0} if isinstance(component, str) else dict(component)
    found["total"] = found.get("total", 0.0) - rho
    return found


def _second_moments(errors: CallErrors, component: Contrast) -> tuple[float, float, float]:
    """Return V of the component, its covariance with the total, and V of the total (macro)."""
    covariance = errors.covariance.sum(axis=0) / len(errors.estimates) ** 2
    row, all_of_it = (contrast_row(name, errors.components) for name in (component, "total"))
    return (
        float(row @ covariance @ row),
        float(row @ covariance @ all_of_it),
        float(all_of_it @ covariance @ all_of_it),
    )


def _inverted(
    g: float, total: float, t: float, moments: tuple[float, float, float]
) -> tuple[float, float] | None:
    """Solve (g - rho T)^2 = t^2 (V_gg - 2 rho V_gT + rho^2 V_TT) for rho; None if unbounded."""
    Vgg, Vgt, Vtt = moments
    a, b, c = total**2 - t**2 * Vtt, g * total - t**2 * Vgt, g**2 - t**2 * Vgg
    if a <= 0:
        return None
    # At the estimate the left side is 0 and the right side positive, so both roots are real.
    root = sqrt(b * b - a * c)
    return (b - root) / a, (b + root) / a
