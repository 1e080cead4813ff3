"""How many more prompts of a generator would decide whether wording matters.

The prompt component of drawn prompts is held against a limit on the items that were asked, by
one-sided bounds that cover the drawing of prompts. Where both leave it open, studies of K' prompts
are imagined: the K that are there, and K' - K more of the same kinds,

    n = 1 + Multinomial(K' - K, W),     W ~ Dirichlet(1, ..., 1) over the K prompts,

two of one kind as far apart as two prompts are on average. K' would decide if the bounds of four
imagined studies in five keep clear of the limit, on whichever side.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Estimand, Inference, infer, t_quantile, unseen_prompt

WORDING_MATTERS = 0.02
"""The usual limit: below it the prompt component is too small to matter."""
MOST_PROMPTS = 96
"""The most prompts that are looked ahead to."""
_LEVEL = 0.95
_OFTEN = 0.8
_STUDIES, _WEIGHTS = 400, 200
"""Studies that are imagined of each size, and random weightings behind each of their bounds."""


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
        needed: how many in all would decide; None where it is decided, or where no number up to
            `MOST_PROMPTS` would.
        reason: why there are no bounds, None where there are.
    """

    limit: float
    estimate: float
    low: float
    high: float
    found: str | None
    prompts: int
    needed: int | None = None
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
        at = f"Prompts like these {self.prompts}: {at}. Whether it is above {self.limit:g} is open"
        if self.needed is None:
            return f"{at}, and no number of prompts up to {MOST_PROMPTS} is likely to tell."
        return (
            f"{at}; {self.needed - self.prompts} more prompts, {self.needed} in all, would tell in "
            "four cases of five."
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
    inference = infer(tensor, estimand, seed=seed)
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
    return replace(found, needed=_needed(inference, tau, seed))


def _needed(inference: Inference, tau: float, seed: int) -> int | None:
    """Return the smallest number of prompts that is likely to decide."""
    assert inference.drawn is not None  # noqa: S101 - the caller looked
    h, cap = inference.drawn.kernel.mean(axis=0), inference.drawn.cap
    few, many = len(h), MOST_PROMPTS

    def decides(prompts: int) -> bool:
        low, high = imagined(h, prompts, cap=cap, rng=stream(seed, "more prompts", prompts))
        return float(((low > tau) | (high < tau)).mean()) >= _OFTEN

    if many <= few or not decides(many):
        return None
    while many - few > 1:
        middle = (few + many) // 2
        few, many = (few, middle) if decides(middle) else (middle, many)
    return many


def imagined(
    h: Floats, prompts: int, *, cap: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Return the bounds of imagined studies of so many prompts, one entry a study.

    As in section 12d, with kinds in the place of prompts: n_k prompts of kind k weigh A_k together,
    and the squares of their weights sum to about A_k^2 2/(n_k + 1).
    """
    K, own = len(h), ~np.eye(len(h), dtype=bool)
    average = float(h[own].mean())
    H = np.where(own, h, average)
    W = rng.dirichlet(np.ones(K), size=_STUDIES)
    n = 1 + rng.multinomial(prompts - K, W)
    hbar = (n @ H - average) / (prompts - 1)
    e = (n * hbar).sum(axis=1) / prompts
    s1 = (n * (hbar - e[:, None]) ** 2).sum(axis=1) / (prompts - 1)
    se = 2 * np.sqrt(s1 / prompts) * (prompts - 1) / (prompts - 2)
    half = t_quantile(_LEVEL, prompts - 1) * se
    worst = unseen_prompt(h[own], prompts, cap)
    unseen = _with_unseen(H, n, worst, rng)
    return e - half, np.maximum(e + half, np.quantile(unseen, _LEVEL, axis=1))


def _with_unseen(H: Floats, n: NDArray[np.int64], worst: float, rng: np.random.Generator) -> Floats:
    """Return theta* under random weightings, (studies, weightings)."""
    A = rng.standard_gamma(np.broadcast_to(n[:, None], (len(n), _WEIGHTS, len(H))))
    last = rng.standard_gamma(1.0, size=A.shape[:2])
    whole = A.sum(axis=-1) + last
    A, last = A / whole[..., None], last / whole
    squares = (A**2 * 2 / (n[:, None] + 1)).sum(axis=-1)
    seen = ((A @ H) * A).sum(axis=-1) - squares * H[0, 0]
    D, v = (1 - last) ** 2 - squares, 2 * last * (1 - last)
    return np.asarray((seen + v * worst) / (D + v))
