"""How many labels it takes to show that a judge reaches a target."""

from dataclasses import dataclass
from math import ceil, log

from judgelaw.errors import InputError

LEVEL = 0.05
POWER = 0.8
_MOST = 20_000
_TRUTHS = (0.9, 0.95, 0.98, 0.99)


@dataclass(frozen=True, kw_only=True)
class LabelBudget:
    """Labels needed to certify a target.

    Attributes:
        quantity: what is to be certified, `recall`, `tpr`, `tnr` or `agreement`.
        target: the value that it must exceed.
        now: the estimate of today.
        of: the labels that count: items of a class, or all items.
        labels: labels that count, for 80% power if the truth is `now`; None where it is not above
            the target, or so little above it that no reasonable number does.
        items: items to label in all, since only some are of that class.
        if_true: the same for other truths.
        without_error: labels that count if not one error is found.
    """

    quantity: str
    target: float
    now: float
    of: str
    labels: int | None
    items: int | None
    if_true: dict[str, int]
    without_error: int


def label_budget(
    quantity: str, target: float, now: float, *, of: str = "items", share: float = 1.0
) -> LabelBudget:
    """Return the budget for one target; `share` of all items are of the class that counts."""
    if not 0 < target < 1:
        raise InputError(f"certify {quantity}={target:g}: a target lies between 0 and 1")
    labels = labels_needed(target, now) if now > target else None
    found = ((s, labels_needed(target, s)) for s in _TRUTHS if s > target)
    return LabelBudget(
        quantity=quantity,
        target=target,
        now=now,
        of=of,
        labels=labels,
        items=None if labels is None or share <= 0 else ceil(labels / share),
        if_true={f"{s:g}": n for s, n in found if n is not None},
        without_error=ceil(log(LEVEL) / log(target)),
    )


def labels_needed(target: float, truth: float) -> int | None:
    """Return the smallest n from which every larger n has 80% power, by the exact binomial.

    n labels certify the target if the hits reach k, the smallest number with
    P(X >= k | target) <= .05; the power is P(X >= k | truth). Power saws up and down in n.
    None where no n up to 20,000 is enough.

    >>> labels_needed(0.8, 0.9), labels_needed(0.9, 0.98)
    (94, 61)
    """
    import numpy as np  # noqa: PLC0415 - loads when a budget is asked for
    from scipy.stats import binom  # noqa: PLC0415 - same

    if truth >= 1:
        return ceil(log(LEVEL) / log(target))
    most = 500
    while most <= _MOST:
        n = np.arange(1, most + 1)
        needed = binom.isf(LEVEL, n, target) + 1
        weak = np.flatnonzero(binom.sf(needed - 1, n, truth) < POWER)
        # Beyond a long run of strong sizes power stays: its saw teeth shrink like 1 / sqrt n.
        if len(weak) < most and weak[-1] + 1 < most / 2:
            return int(weak[-1]) + 2
        most *= 2
    return None
