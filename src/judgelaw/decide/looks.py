"""Stop as soon as a limit is decided, without looking once too often.

A study that is extended until a gate decides would decide too often by chance. With the looks
declared beforehand (depths 4, 8, 16, say), each look spends an equal part of the error: one-sided
bounds at level 1 - alpha / looks. By the union bound the chance of any wrong decision is at most
alpha, whatever the dependence between looks.
"""

from dataclasses import dataclass
from typing import Literal

from judgelaw.arrays import check_at_least, check_number
from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS, Design, Weights
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import MIN_REPEATS, Limit, LimitDecision, check_limits


@dataclass(frozen=True, kw_only=True)
class SequentialPlan:
    """A declared sequence of looks at one component against one limit.

    Attributes:
        component, limit: what is decided.
        depths: repeats at each look, growing, four or more.
        alpha: chance of a wrong pass or of a wrong fail over all looks, each.
    """

    component: str
    limit: float
    depths: tuple[int, ...]
    alpha: float = 0.05

    def __post_init__(self) -> None:
        if self.component not in COMPONENTS:
            raise InputError(
                f"no component is called {self.component!r}; there are {list(COMPONENTS)}"
            )
        check_number("limit", self.limit)
        for depth in self.depths:
            check_at_least("depth", depth, 1, "a look needs calls")
        growing = all(a < b for a, b in zip(self.depths, self.depths[1:], strict=False))
        if not self.depths or not growing or self.depths[0] < MIN_REPEATS:
            raise InputError(
                f"depths {self.depths}: looks are at growing repeats, {MIN_REPEATS} or more, "
                "since call errors cannot be estimated below"
            )
        if not 0 < self.alpha < 1:
            raise InputError(f"alpha = {self.alpha}: an error rate lies between 0 and 1")

    @property
    def level(self) -> float:
        """Confidence of each one-sided bound at each look."""
        return 1 - self.alpha / len(self.depths)


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a look says: stop with a decision, go on to a depth, or give up undecided."""

    action: Literal["stop", "continue", "exhausted"]
    depth: int
    next_depth: int | None
    decision: LimitDecision


def look(
    plan: SequentialPlan,
    tensor: VerdictTensor,
    *,
    depth: int,
    design: Design = "census",
    order_weights: Weights = None,
) -> Look:
    """Look at the frozen prefix of one declared depth."""
    if depth not in plan.depths:
        raise InputError(f"depth {depth} was not declared; the looks are at {list(plan.depths)}")
    (decision,) = check_limits(
        {tensor.judge or "judge": tensor.prefix(depth)},
        [Limit(quantity=plan.component, side="max", value=plan.limit)],
        level=plan.level,
        design=design,
        order_weights=order_weights,
    ).limits
    later = [d for d in plan.depths if d > depth]
    if decision.verdict != "inconclusive":
        return Look(action="stop", depth=depth, next_depth=None, decision=decision)
    if not later:
        return Look(action="exhausted", depth=depth, next_depth=None, decision=decision)
    return Look(action="continue", depth=depth, next_depth=later[0], decision=decision)
