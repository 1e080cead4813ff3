"""Errors of repeated calls: which a second call would repeat, and what a vote of m would do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import comb, nan

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import PAIR, Floats
from judgelaw.labels.proportions import share
from judgelaw.quantities import Estimate, unknown


@dataclass(frozen=True, kw_only=True)
class Errors:
    """How often the judge is wrong, and what of it repeats.

    Attributes:
        rate: wrong calls.
        repeatable: two calls of one cell are both wrong.
        dice: the first is wrong and the second right.
        votes: error of the majority of m calls, by odd m.
        reason: why repeatable and dice are unknown; empty where they are known.
    """

    rate: Estimate
    repeatable: Estimate
    dice: Estimate
    votes: Mapping[int, Estimate] = field(default_factory=dict)
    reason: str = ""


def errors(
    wrong: NDArray[np.int64], calls: NDArray[np.int64], item: NDArray[np.int64], items: int
) -> Errors:
    """Return the errors of cells with `wrong` of `calls` calls wrong.

    By pairs of distinct calls of a cell, repeatable = w (w - 1) / (R (R - 1)) and
    dice = w (R - w) / (R (R - 1)), which sum to w / R; the vote error is the hypergeometric
    chance that a majority of m of the R calls is wrong, unbiased for odd m <= R. Cells are
    averaged within items, items among each other; the rate counts every call of an item alike.

    Args:
        wrong: wrong calls of each cell.
        calls: all calls of each cell.
        item: the item of each cell, from 0.
        items: how many items there are.
    """
    total = int(calls.sum())

    def of(values: Floats) -> Estimate:
        per_item = np.bincount(item, values, items) / np.bincount(item, minlength=items)
        return share(per_item, total)

    least = int(calls.min())
    rate = share(np.bincount(item, wrong, items) / np.bincount(item, calls, items), total)
    every = {m: of(vote_error(wrong, calls, m)) for m in range(3, least + 1, 2)}
    every = {1: rate, **every}
    if least < PAIR:
        reason = "one call in a cell: a second one would tell chance from habit"
        return Errors(
            rate=rate, repeatable=unknown(reason), dice=unknown(reason), votes=every, reason=reason
        )
    pairs = calls * (calls - 1)
    return Errors(
        rate=rate,
        repeatable=of(wrong * (wrong - 1) / pairs),
        dice=of(wrong * (calls - wrong) / pairs),
        votes=every,
    )


def vote_error(wrong: NDArray[np.int64], calls: NDArray[np.int64], m: int) -> Floats:
    """Return the chance that most of m distinct calls are wrong, w of R being wrong."""
    known: dict[tuple[int, int], float] = {}
    found = np.full(len(wrong), nan)
    for i, (w, R) in enumerate(zip(wrong.tolist(), calls.tolist(), strict=True)):
        if (w, R) not in known:
            ways = sum(comb(w, k) * comb(R - w, m - k) for k in range(m // 2 + 1, m + 1))
            known[w, R] = ways / comb(R, m)
        found[i] = known[w, R]
    return found
