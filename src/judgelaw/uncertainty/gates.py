"""One-sided decisions against a limit: pass, fail, or not enough to tell."""

from dataclasses import dataclass
from math import isnan, nan
from typing import Literal

from judgelaw.errors import InputError
from judgelaw.uncertainty.results import Interval, check_level, t_quantile

Verdict = Literal["pass", "fail", "inconclusive"]


@dataclass(frozen=True, kw_only=True)
class GateDecision:
    """Whether a component stays below its limit.

    Attributes:
        decision: "pass" if the upper bound is below the limit, "fail" if the lower bound is above
            it, else "inconclusive".
        estimate, limit: what was compared.
        lower, upper: one-sided bounds, each at `level`.
        level: confidence of each bound.
        covers: which randomness the bounds cover.
        reason: why the decision is inconclusive, or None.
    """

    decision: Verdict
    estimate: float
    limit: float
    lower: float
    upper: float
    level: float
    covers: str
    reason: str | None = None


def gate(found: Interval, limit: float, *, level: float = 0.95) -> GateDecision:
    """Decide U < limit from an estimate and its standard error.

    pass if U + t se < limit, fail if U - t se > limit, with t the one-sided `level` quantile of
    found.df degrees. Use `call_interval` for a fixed benchmark and `item_interval` for new items;
    percentile bands pass falsely too often (.066 at a nominal .025).
    """
    check_level(level)
    if isnan(limit):
        raise InputError("limit is nan: a gate compares with a number")
    if found.inverted:
        raise InputError(
            "this interval comes from inverting a test, and its one-sided bounds are not "
            "estimate -/+ t se: gate the contrast {component: 1, 'total': -limit} against 0"
        )
    if found.reason is not None:
        return _decided(
            "inconclusive",
            found,
            limit=limit,
            level=level,
            bounds=(nan, nan),
            reason=found.reason,
        )
    half = t_quantile(level, found.df) * found.se
    lower, upper = found.estimate - half, found.estimate + half
    if upper < limit:
        return _decided("pass", found, limit=limit, level=level, bounds=(lower, upper))
    if lower > limit:
        return _decided("fail", found, limit=limit, level=level, bounds=(lower, upper))
    return _decided(
        "inconclusive",
        found,
        limit=limit,
        level=level,
        bounds=(lower, upper),
        reason=f"the limit {limit:g} lies between the bounds {lower:.4g} and {upper:.4g}: "
        "acquire more calls or items, or move the limit",
    )


def _decided(
    decision: Verdict,
    found: Interval,
    *,
    limit: float,
    level: float,
    bounds: tuple[float, float],
    reason: str | None = None,
) -> GateDecision:
    return GateDecision(
        decision=decision,
        estimate=found.estimate,
        limit=limit,
        lower=bounds[0],
        upper=bounds[1],
        level=level,
        covers=found.covers,
        reason=reason,
    )
