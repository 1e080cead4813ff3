"""Why verdicts are wrong, and how often each prompt is right; facts about the calls at hand.

Each wrong verdict is counted once, under the first reason that explains it:

    chance   the commonest verdict of its cell is right
    order    else the commonest of its prompt, over all orders
    prompt   else the commonest of its item, over all prompts and orders
    judge    else

A verdict that is half right (a tie), or a score that is some points off, counts by as much as that
takes off it. The parts add up to what is wrong, under the weights of the answer.
"""

from math import nan

import numpy as np

from judgelaw.analysis.answer import Merit, merit_of
from judgelaw.arrays import PAIR, Floats
from judgelaw.estimate import Estimand, weights_of
from judgelaw.quantities import ABSENT, Estimate, Quantity, number
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import mean_bounds

_ROUNDING = 1e-9


def wrong_verdicts(tensor: VerdictTensor, estimand: Estimand) -> dict[str, Quantity]:
    """Return the share of verdicts that are wrong, and of each reason; none without gold."""
    merit = merit_of(tensor)
    if merit is None:
        return {}
    w, q = _weights(tensor, estimand)
    loss = 1 - merit.credit
    laws = tensor.counts[merit.counted] / tensor.repeats[merit.counted][..., None]
    of_prompt = np.einsum("o,nkoc->nkc", q, laws)
    of_item = np.einsum("k,nkc->nc", w, of_prompt)
    usual = (
        _usual(laws, loss[:, None, None]),
        _usual(of_prompt, loss[:, None])[:, :, None],
        _usual(of_item, loss)[:, None, None],
    )
    left = np.broadcast_to(loss[:, None, None], laws.shape)
    parts = []
    for least in usual:
        next_left = np.minimum(left, least[..., None])
        parts.append(left - next_left)
        left = next_left
    found = [_mean(laws * part, merit, w, q) for part in (*parts, left)]
    chance, order, prompt, judge = map(number, found)
    one_call, one_order, one_prompt = (
        n == 1 for n in (tensor.depth[1], len(tensor.orders), len(tensor.prompts))
    )
    return {
        "wrong": number(sum(found)),
        "chance": ABSENT if one_call else chance,
        "order": ABSENT if one_order else order,
        "prompt": ABSENT if one_prompt else prompt,
        "judge": judge,
    }


def right_by_prompt(
    tensor: VerdictTensor, estimand: Estimand, level: float, *, seed: int = 0
) -> dict[str, Quantity]:
    """Return how often the judge is right under each prompt, on items like these.

    Each interval is for its own prompt alone. None without gold.
    """
    merit = merit_of(tensor)
    if merit is None:
        return {}
    _, q = _weights(tensor, estimand)
    laws = tensor.counts[merit.counted] / tensor.repeats[merit.counted][..., None]
    right = np.einsum("o,nkoc,nc->kn", q, laws, merit.credit)
    return {
        prompt: Quantity({"estimate": _bounded(x, merit, (1 + level) / 2, seed)})
        for prompt, x in zip(tensor.prompts, right, strict=True)
    }


def _bounded(x: Floats, merit: Merit, p: float, seed: int) -> Estimate:
    several = merit.weights is not None and len(merit.weights) > PAIR
    found = mean_bounds(
        x, p, classes=merit.classes, weights=merit.weights, lone_items=several, seed=seed
    )
    if merit.one_class:
        return Estimate(estimate=found.estimate, reason="all right answers are the same")
    low, high = max(0.0, found.low), min(1.0, found.high)
    known = found.low == found.low
    return Estimate(estimate=found.estimate, low=low if known else nan, high=high if known else nan)


def _weights(tensor: VerdictTensor, estimand: Estimand) -> tuple[Floats, Floats]:
    w = weights_of("prompt", estimand.prompt_weights, len(tensor.prompts), tensor.prompts)
    q = weights_of("order", estimand.order_weights, len(tensor.orders), tensor.orders)
    return np.asarray(w, dtype=float), np.asarray(q, dtype=float)


def _usual(law: Floats, loss: Floats) -> Floats:
    """Return what the commonest verdict loses; the mean of those that are equally common."""
    top = law >= law.max(axis=-1, keepdims=True) - _ROUNDING
    return np.asarray((top * loss).sum(axis=-1) / top.sum(axis=-1))


def _mean(x: Floats, merit: Merit, w: Floats, q: Floats) -> float:
    return float(np.einsum("n,k,o,nkoc->", merit.shares, w, q, x))
