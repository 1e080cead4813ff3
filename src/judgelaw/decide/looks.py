"""Stop as soon as it is decided, without looking once too often.

The looks are declared beforehand, at depths 4, 8, 16, say. At each of them a judge may stop:

    limit       the component is shown to be below the limit (pass), or above it (fail). Looks
                spend the error (module `uncertainty.spending`): over all of them, a wrong pass
                and a wrong fail have a chance of alpha each.
    half_width  the 95% interval for the items asked is as narrow as wanted. Its width says next
                to nothing about its place, so it needs no correction: coverage over all stops was
                measured at .945 to .974.

A limit is about the items that were asked: repeats say nothing more about others.
"""

from dataclasses import dataclass, replace
from math import isnan
from typing import Literal

import numpy as np

from judgelaw.arrays import check_at_least, check_number
from judgelaw.errors import InputError
from judgelaw.estimate import CENSUS, COMPONENTS, Estimand
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import MIN_REPEATS, infer, levels_left

_SIDE = 0.975
_ROUNDING = 1e-12

Verdict = Literal["pass", "fail", "reached", "inconclusive"]


@dataclass(frozen=True, kw_only=True)
class StopRule:
    """A declared sequence of looks at one component.

    Attributes:
        component: what is looked at.
        looks: repeats at each look, growing, four or more.
        limit: stop once the component is shown to be below or above it.
        half_width: stop once the interval is as narrow; one of the two is given.
        alpha: chance of a wrong pass, and of a wrong fail, over all looks.
    """

    component: str
    looks: tuple[int, ...]
    limit: float | None = None
    half_width: float | None = None
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if self.component not in COMPONENTS:
            raise InputError(
                f"no component is called {self.component!r}; there are {list(COMPONENTS)}"
            )
        if (self.limit is None) == (self.half_width is None):
            raise InputError("a stop rule names limit or half_width, one of them; choose")
        check_number("limit or half_width", self.limit if self.limit is not None else self.width)
        for depth in self.looks:
            check_at_least("depth", depth, 1, "a look needs calls")
        growing = all(a < b for a, b in zip(self.looks, self.looks[1:], strict=False))
        if not self.looks or not growing or self.looks[0] < MIN_REPEATS:
            raise InputError(
                f"looks {list(self.looks)}: looks are at growing repeats, {MIN_REPEATS} or more, "
                "since call errors cannot be estimated below"
            )
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha = {self.alpha}: an error rate lies between 0 and 1")

    @property
    def width(self) -> float:
        """The wanted half width, nan where a limit is wanted."""
        return float("nan") if self.half_width is None else self.half_width

    def spends(self, depth: int) -> tuple[float, ...]:
        """Return the looks taken up to a depth, as shares of the deepest; none for a half width."""
        if self.limit is None:
            return ()
        return tuple(at / self.looks[-1] for at in self.looks if at <= depth)

    def levels(self, depth: int) -> tuple[float, float]:
        """Return the levels of the lower and of the upper bound at a look."""
        if self.limit is None:
            return _SIDE, _SIDE
        return levels_left(self.spends(depth), 1 - self.alpha)

    def after(self, depth: int) -> int | None:
        """Return the depth of the next look, None after the last."""
        return next((at for at in self.looks if at > depth), None)

    def stopped_by(self, lower: float, upper: float) -> Verdict:
        """Return what bounds decide."""
        if isnan(lower) or isnan(upper):
            return "inconclusive"
        if self.limit is None:
            return "reached" if (upper - lower) / 2 <= self.width + _ROUNDING else "inconclusive"
        if upper < self.limit - _ROUNDING:
            return "pass"
        return "fail" if lower > self.limit + _ROUNDING else "inconclusive"


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a look says: stop with a decision, go on to a depth, or give up undecided.

    Attributes:
        depth: repeats that were looked at.
        action: "stop", "continue", or "exhausted" where no look is left.
        next_depth: where to go on to, or None.
        verdict: "pass" below the limit, "fail" above it, "reached" where the interval is narrow
            enough, "inconclusive" otherwise.
        estimate, lower, upper: of the component, with the bounds that decided.
        fail_level, pass_level: confidence of the lower and of the upper bound.
        reason: why, in a sentence.
    """

    depth: int
    action: Literal["stop", "continue", "exhausted"]
    next_depth: int | None
    verdict: Verdict
    estimate: float
    lower: float
    upper: float
    fail_level: float
    pass_level: float
    reason: str


def look(
    rule: StopRule,
    tensor: VerdictTensor,
    estimand: Estimand = CENSUS,
    *,
    depth: int,
) -> Look:
    """Look at the frozen prefix of one declared depth."""
    if depth not in rule.looks:
        raise InputError(f"depth {depth} was not declared; the looks are at {list(rule.looks)}")
    calls = tensor.prefix(depth) if depth < tensor.depth[1] else tensor
    calls = replace(calls, looks=rule.spends(depth))
    found = infer(calls, estimand)
    p = _SIDE if rule.limit is None else 1 - rule.alpha
    lower, upper = found.bounds(rule.component, p, "fixed")
    verdict, further = rule.stopped_by(lower, upper), rule.after(depth)
    low_level, high_level = rule.levels(depth)
    return Look(
        depth=depth,
        action="stop" if verdict != "inconclusive" else "continue" if further else "exhausted",
        next_depth=further if verdict == "inconclusive" else None,
        verdict=verdict,
        estimate=found.estimate(rule.component),
        lower=lower,
        upper=upper,
        fail_level=low_level,
        pass_level=high_level,
        reason=_reason(rule, verdict, (lower, upper), further)
        or str(found.refusal(rule.component, "fixed")),
    )


def _reason(
    rule: StopRule, verdict: Verdict, bounds: tuple[float, float], further: int | None
) -> str:
    """Say why a judge stops or goes on."""
    name, (lower, upper) = rule.component, bounds
    if isnan(lower) or isnan(upper):
        return ""
    then = f"goes on to {further} repeats" if further else "no look is left, and it stays open"
    half = (upper - lower) / 2
    return {
        "pass": f"{name} is below {rule.limit}: at most {upper:.4f}",
        "fail": f"{name} is above {rule.limit}: at least {lower:.4f}",
        "reached": f"{name} is known to \u00b1{half:.4f}, as narrow as wanted",
        "inconclusive": f"{name} lies between {lower:.4f} and {upper:.4f}; {then}"
        if rule.limit is not None
        else f"{name} is known to \u00b1{half:.4f} only; {then}",
    }[verdict]


def best_case(rule: StopRule, calls: VerdictTensor) -> tuple[float, float]:
    """Return the bounds at the last look if every call of every cell said the same.

    No judge can be shown to be smaller, and nearly no interval can be narrower: a limit below the
    upper bound, or a half width below theirs, is out of reach. `calls` say the design, and how far
    verdicts are apart; what they count does not matter.
    """
    counts = np.zeros(calls.counts.shape, dtype=np.int64)
    counts[..., 0] = rule.looks[-1]
    found = look(rule, replace(calls, counts=counts, ranked=None), depth=rule.looks[-1])
    return found.lower, found.upper
