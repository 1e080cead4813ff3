"""What single calls of an item tell: how often it is right, unread, and how often it changes.

With p_ko the mean verdict vector of a cell, weights w of prompts and q of orders, and D the
distances between verdicts (0 where they are the same, else 1, or those given):

    right      sum_ko w_k q_o p_ko . credit
    reword     sum_{k != l} w_k w_l sum_o q_o p_ko' D p_lo / (1 - sum w^2)
    swap       sum_{o != p} q_o q_p sum_k w_k p_ko' D p_kp / (1 - sum q^2)
    both       sum_{k != l, o != p} w_k w_l q_o q_p p_ko' D p_lp / ((1 - sum w^2) (1 - sum q^2))
    ask again  sum_ko w_k q_o (R^2 p_ko' D p_ko) / (R (R - 1))

Calls of different cells are distinct, so all but the last are unbiased from one call a cell on.
Each of them then holds chance and its own facet together: only asking again tells them apart.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from judgelaw.estimate.estimand import Array


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemRates:
    """Rates of every item, None where these calls do not hold what is asked.

    Attributes:
        right: mean credit of its calls, None where no verdict has credit.
        invalid: share of its calls that gave no verdict.
        changes: by `ask_again`, `reword`, `swap`, `both`.
    """

    right: Array | None
    invalid: Array
    changes: Mapping[str, Array | None]


def item_rates(
    n: Array,
    *,
    prompt_weights: Array,
    order_weights: Array,
    unread: Array,
    credit: Array | None = None,
    distances: Array | None = None,
) -> ItemRates:
    """Return the rates of every item from counts (items, prompts, orders, verdicts).

    Args:
        n: one call or more in every cell; Fractions give exact rates.
        prompt_weights: of the prompts, summing to one.
        order_weights: of the orders, summing to one.
        unread: which verdicts are none, (verdicts,) of 0 and 1.
        credit: of each verdict for each item, (items, verdicts).
        distances: between verdicts, (verdicts, verdicts); equality by default.
    """
    R = n.sum(axis=-1)
    p = n / R[..., None]
    w, q = prompt_weights[:, None], order_weights
    cells = w * q
    mean = (cells[..., None] * p).sum(axis=(1, 2))
    by_order = (w[..., None] * p).sum(axis=1)
    by_prompt = (q[:, None] * p).sum(axis=2)
    within = _apart(p, distances)
    # Squares of weighted sums hold every pair; pairs within one level are taken away again.
    same_prompt = (w[:, 0] ** 2 * _apart(by_prompt, distances)).sum(axis=1)
    same_order = (q**2 * _apart(by_order, distances)).sum(axis=1)
    same_both = (w**2 * q**2 * within).sum(axis=(1, 2))
    other_prompt, other_order = 1 - (w**2).sum(), 1 - (q**2).sum()
    reword = (q * _apart(by_order, distances)).sum(axis=1) - (w**2 * q * within).sum(axis=(1, 2))
    swap = (w[:, 0] * _apart(by_prompt, distances)).sum(axis=1)
    swap = swap - (w * q**2 * within).sum(axis=(1, 2))
    both = _apart(mean, distances) - same_prompt - same_order + same_both
    again = (cells * within * R / (R - 1)).sum(axis=(1, 2)) if R.min() > 1 else None
    several_prompts, several_orders = len(prompt_weights) > 1, len(order_weights) > 1
    return ItemRates(
        right=None if credit is None else (mean * credit).sum(axis=-1),
        invalid=(mean * unread).sum(axis=-1),
        changes={
            "ask_again": again,
            "reword": reword / other_prompt if several_prompts else None,
            "swap": swap / other_order if several_orders else None,
            "both": both / (other_prompt * other_order)
            if several_prompts and several_orders
            else None,
        },
    )


def _apart(p: Array, distances: Array | None) -> Array:
    """Return p'Dp along the last axis: the mean distance of two draws of p."""
    if distances is None:
        total: Array = p.sum(axis=-1) ** 2 - (p * p).sum(axis=-1)
        return total
    apart: Array = (p * (p @ distances)).sum(axis=-1)
    return apart
