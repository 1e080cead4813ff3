"""How many more prompts of a generator would decide whether wording matters.

The prompt component of drawn prompts is held against a limit on the items that were asked, by
one-sided bounds that cover the drawing of prompts. Where both leave it open, the bounds are
foreseen at K' prompts: the K that are known stand for K' of them, each for as many, two of one
group as far apart as two prompts are on average. K' decides if the bound that is foreseen keeps
clear of the limit by z_.80 standard errors: four fresh draws in five would decide, if it stays so.
"""

from dataclasses import dataclass, replace
from math import isnan, nan

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Estimand, Inference, infer, t_quantile

WORDING_MATTERS = 0.02
"""The usual limit: below it the prompt component is too small to matter."""
MOST_PROMPTS = 96
"""The most prompts that are looked ahead to."""
_LEVEL = 0.95
_POWER = 0.8416
_DRAWS = 1_000


@dataclass(frozen=True, kw_only=True)
class MorePrompts:
    """Whether wording matters for prompts like these, and what it would take to know.

    Attributes:
        limit: what the prompt component is held against.
        estimate: of the prompt component.
        low, high: one-sided bounds on the items asked, each at level .95; they cover the drawing
            of prompts. nan where there are none.
        found: "below" or "above" the limit, None where that is open.
        prompts: how many there are.
        needed: how many in all would decide, if it stays so; None where it is decided, or where no
            number up to `MOST_PROMPTS` would.
        side: what they would show, "below" or "above".
        reason: why there are no bounds, None where there are.
    """

    limit: float
    estimate: float
    low: float
    high: float
    found: str | None
    prompts: int
    needed: int | None = None
    side: str | None = None
    reason: str | None = None

    @property
    def sentence(self) -> str:
        """Say it in one sentence, or two."""
        at = f"the prompt component is {self.estimate:.4f}"
        if self.reason is not None:
            return f"Prompts like these {self.prompts}: {at}; {self.reason}."
        at += f", {self.low:.4f} to {self.high:.4f} on these items"
        if self.found is not None:
            shown = f"{at}: shown to be {self.found} {self.limit:g}"
            return f"Prompts like these {self.prompts}: {shown}."
        if self.needed is None:
            return (
                f"Prompts like these {self.prompts}: {at}. Whether it is {self.side} "
                f"{self.limit:g} is open, and no number of prompts up to {MOST_PROMPTS} would "
                "tell, if it stays so."
            )
        return (
            f"Prompts like these {self.prompts}: {at}. {self.needed - self.prompts} more "
            f"({self.needed} in all) would show that it is {self.side} {self.limit:g}, if it stays "
            "so."
        )


def more_prompts(
    tensor: VerdictTensor, estimand: Estimand, *, limit: float | None = None, seed: int = 0
) -> MorePrompts | None:
    """Hold the prompt component of drawn prompts against a limit, and look ahead.

    Args:
        tensor: the calls, two or more in each cell.
        estimand: what is estimated.
        limit: of the prompt component; by default `WORDING_MATTERS`.
        seed: of the bounds.

    Returns:
        None where prompts were not drawn, or there is one only.
    """
    if estimand.design != "sampled" or len(tensor.prompts) == 1:
        return None
    inference = infer(tensor, design="sampled", order_weights=estimand.order_weights, seed=seed)
    unit = 1.0 if tensor.scale is None else tensor.scale.unit
    tau = WORDING_MATTERS * unit if limit is None else limit
    low, high = inference.bounds("prompt", _LEVEL, "fixed")
    found = MorePrompts(
        limit=tau,
        estimate=inference.estimate("prompt"),
        low=low,
        high=high,
        found="below" if high < tau else "above" if low > tau else None,
        prompts=len(tensor.prompts),
        reason=inference.refusal("prompt", "fixed"),
    )
    if found.found is not None or found.reason is not None or inference.drawn is None:
        return found
    side = "above" if found.estimate > tau else "below"
    return replace(found, side=side, needed=_needed(inference, tau, side))


def _needed(inference: Inference, tau: float, side: str) -> int | None:
    """Return the smallest number of prompts that is foreseen to decide."""
    assert inference.drawn is not None  # noqa: S101 - the caller looked
    h = inference.drawn.kernel.mean(axis=0)
    K = len(h)

    def decides(prompts: int) -> bool:
        low, high, se = _foreseen(inference, h, prompts)
        return low - _POWER * se > tau if side == "above" else high + _POWER * se < tau

    few, many = K, MOST_PROMPTS
    if many <= few or not decides(many):
        return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if decides(middle) else (middle, many)
    return many


def _foreseen(inference: Inference, h: Floats, prompts: int) -> tuple[float, float, float]:
    """Return the bounds that so many prompts would have, and the standard error in them."""
    assert inference.drawn is not None  # noqa: S101 - the caller looked
    K = len(h)
    average = float(h[~np.eye(K, dtype=bool)].mean())
    group = np.arange(prompts) % K
    wide = h[np.ix_(group, group)]
    wide[group[:, None] == group[None, :]] = average
    drawn = replace(inference.drawn, kernel=wide[None], draws=_DRAWS)
    low, high = drawn.bounds("prompt", _LEVEL, "fixed")
    if isnan(low):
        return nan, nan, nan
    se = (average - low) / t_quantile(_LEVEL, prompts - 1)
    return low, high, se
