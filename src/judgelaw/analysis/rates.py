"""What one judge's calls say of how often it is right and how often its verdict changes.

One call in each cell is enough for right, swap and reword, the last two with chance in them.
"""

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import isnan
from typing import Final

import numpy as np

from judgelaw.arrays import PAIR, Floats
from judgelaw.estimate import Estimand, item_rates, weights_of
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID, VerdictTensor
from judgelaw.uncertainty import MeanBounds, mean_bounds
from judgelaw.words import candidate_names

LEVEL: Final = 0.975
"""Of each bound; several judges of one table share the error of `1 - SHARED`."""
SHARED: Final = 0.95
_BETTER: Final = 0.10
_RELY: Final = 0.75
_TIE: Final = DEFAULT_VERDICTS[PAIR]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A share with its interval for items like these; ends are None where none can be had."""

    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class Right(Rate):
    """How often the judge is right, with what it is measured by.

    Attributes:
        baseline: what the best fixed reply gets.
        better: the bar of being better than that.
        rely: the bar to rely on.
        asked: the user's own bar, None where none is set.
        level: of each end.
    """

    baseline: float
    better: float
    rely: float
    asked: float | None
    level: float


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What can be told of one judge.

    Attributes:
        right: None where no item has a right verdict.
        answered_right: the same among replies that gave a verdict; None where there is none.
        invalid: share of replies that gave no verdict.
        changes: by `ask_again`, `reword`, `swap`, `both`; None where these calls cannot tell. Of
            scores, by how many points two calls differ.
    """

    right: Right | None
    answered_right: float | None
    invalid: float
    changes: Mapping[str, Rate | None]


def answer_of(
    tensor: VerdictTensor, estimand: Estimand, *, judges: int = 1, seed: int = 0
) -> Answer:
    """Return what these calls tell, from one call in each cell on.

    Args:
        tensor: calls in every cell.
        estimand: the weights of prompts and orders.
        judges: how many judges of one table are looked at together.
        seed: of the random weights of items.
    """
    level = max(LEVEL, 1 - (1 - SHARED) / judges)
    known = _credits(tensor)
    scale = tensor.scale
    rates = item_rates(
        tensor.counts,
        prompt_weights=weights_of(
            "prompt", estimand.prompt_weights, len(tensor.prompts), tensor.prompts
        ),
        order_weights=weights_of(
            "order", estimand.order_weights, len(tensor.orders), tensor.orders
        ),
        unread=np.array([verdict == INVALID for verdict in tensor.verdicts], dtype=float),
        credit=None if known is None else known.credit,
        distances=None if scale is None else scale.points(tensor.verdicts),
    )
    ends = (0.0, 1.0 if scale is None else scale.span)
    changes = {
        name: None if x is None else _rate(mean_bounds(x, level, ends=ends, seed=seed), ends)
        for name, x in rates.changes.items()
    }
    right = answered = None
    if known is not None and rates.right is not None:
        x = rates.right[known.counted]
        right = _right(known, x, level, seed)
        answered = _answered(known, x, 1 - rates.invalid[known.counted])
    return Answer(
        right=right,
        answered_right=answered,
        invalid=float(rates.invalid.mean()),
        changes=changes,
    )


def _rate(found: MeanBounds, ends: tuple[float, float]) -> Rate:
    """Return a rate whose printed ends lie within the range; an estimate is never cut."""
    if isnan(found.low):
        return Rate(estimate=found.estimate, low=None, high=None)
    low, high = ends
    return Rate(estimate=found.estimate, low=max(low, found.low), high=min(high, found.high))


@dataclass(frozen=True, kw_only=True, eq=False)
class _Credits:
    """What each verdict is worth, item by item, and how items weigh.

    Attributes:
        credit: (items, verdicts); rows of items that do not count are 0.
        counted: which items have a right verdict that counts.
        classes: of the counted items, None where all items weigh the same.
        weights: of the classes.
        baseline: what the best fixed reply gets.
        one_class: whether all right verdicts are the same, so that a fixed reply gets all.
    """

    credit: Floats
    counted: Sequence[int]
    classes: tuple[str, ...] | None
    weights: Mapping[Hashable, float] | None
    baseline: float
    one_class: bool


def _credits(tensor: VerdictTensor) -> _Credits | None:
    """Return the credit of verdicts; None where no item has a right verdict."""
    gold = tensor.gold or ()
    pairs = tensor.scale is None and {*DEFAULT_VERDICTS[:PAIR]} <= {*tensor.verdicts}
    pairs = pairs and candidate_names(PAIR + 1)[-1] not in tensor.verdicts
    worth = {*DEFAULT_VERDICTS[:PAIR]} if pairs else {*tensor.verdicts} - {INVALID}
    counted = [i for i, right in enumerate(gold) if right in worth]
    if not counted:
        return None
    names = tuple(str(gold[i]) for i in counted)
    credit = np.zeros(tensor.counts.shape[::3])
    credit[counted] = _credit_of(tensor, names, pairs=pairs)
    seen = Counter(names)
    if tensor.scale is not None:
        best = float(credit[counted].mean(axis=0).max())
        return _Credits(
            credit=credit,
            counted=counted,
            classes=None,
            weights=None,
            baseline=best,
            one_class=len(seen) == 1,
        )
    both_orders = pairs and len(tensor.orders) > 1
    even: dict[Hashable, float] = dict.fromkeys(seen, 1 / len(seen))
    return _Credits(
        credit=credit,
        counted=counted,
        classes=None if both_orders else names,
        weights=None if both_orders else even,
        baseline=1 / PAIR if pairs else 1 / len(seen),
        one_class=len(seen) == 1 and not both_orders,
    )


def _credit_of(tensor: VerdictTensor, right: Sequence[str], *, pairs: bool) -> Floats:
    """Return what every verdict is worth where each of these is right."""
    if tensor.scale is not None:
        credit = 1 - tensor.scale.points(tensor.verdicts) / tensor.scale.span
        found = np.array([credit[tensor.verdicts.index(name)] for name in right])
    else:
        found = np.array([[float(v == name) for v in tensor.verdicts] for name in right])
    if pairs and _TIE in tensor.verdicts:
        found[:, tensor.verdicts.index(_TIE)] = 1 / PAIR
    if INVALID in tensor.verdicts:
        found[:, tensor.verdicts.index(INVALID)] = 0
    return np.asarray(found)


def _right(known: _Credits, x: Floats, level: float, seed: int) -> Right:
    """Return how often the judge is right, under the weights of its right verdicts."""
    b = known.baseline
    found = mean_bounds(
        x,
        level,
        classes=known.classes,
        weights=known.weights,
        lone_items=known.weights is not None and len(known.weights) > PAIR,
        seed=seed,
    )
    rate = _rate(found, (0.0, 1.0))
    bare = known.one_class
    return Right(
        estimate=rate.estimate,
        low=None if bare else rate.low,
        high=None if bare else rate.high,
        baseline=b,
        better=b + min(_BETTER, (1 - b) / 5),
        rely=max(_RELY, (1 + b) / 2),
        asked=None,
        level=level,
    )


def _answered(known: _Credits, right: Floats, valid: Floats) -> float | None:
    """Return how often replies that gave a verdict are right."""
    v = np.full(len(right), 1 / len(right))
    if known.classes is not None and known.weights is not None:
        seen = Counter(known.classes)
        v = np.array([known.weights[name] / seen[name] for name in known.classes])
    return float(v @ right / (v @ valid)) if (v @ valid) > 0 else None
