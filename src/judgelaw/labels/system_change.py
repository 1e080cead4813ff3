"""Did the judge move, or the system that it judges? Told apart where anchors carry labels."""

from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.labels.proportions import DRAWS, TAIL
from judgelaw.labels.waves import Waves
from judgelaw.quantities import Estimate
from judgelaw.streams import stream

_FEWEST = 2
_AT_ONCE = 1_000


@dataclass(frozen=True, kw_only=True)
class SystemChange:
    """The system between the first and the last date, corrected for what the judge did.

    Attributes:
        of: the class whose rate is spoken of.
        observed: how far the judge's rate on the system's own items moved.
        corrected: how far the true rate moved.
        anchors: labelled items asked on both dates.
        items: the system's own items of the two dates.
    """

    of: str
    observed: float
    corrected: Estimate
    anchors: int
    items: tuple[int, int]

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON holds it."""
        return {
            "of": self.of,
            "observed": self.observed,
            "corrected": self.corrected.to_json(),
            "anchors": self.anchors,
            "items": list(self.items),
        }


def system_change(waves: Waves, *, positive: str | None, seed: int) -> SystemChange | None:
    """Return what the system did between the first and the last date.

    theta_t = (Q_t - FPR_t) / (TPR_t - FPR_t), Q_t the judge's rate on the items that only date t
    has. Anchors are labelled items asked on both dates; their Bayesian bootstrap weights are
    shared by both, since they are the same items. None where there are no such items.
    """
    items = sorted({cell[0] for cell in waves.cells})
    of = _class(waves, positive)
    if of is None or len(waves.dates) < _FEWEST:
        return None
    shares = [_item_shares(waves, t, items, waves.verdicts.index(of)) for t in (0, -1)]
    asked = [~np.isnan(x) for x in shares]
    labelled = np.array([item in waves.human for item in items])
    anchors = labelled & asked[0] & asked[1]
    own = [~labelled & asked[0] & ~asked[1], ~labelled & asked[1] & ~asked[0]]
    yes = np.array([waves.human.get(item) == of for item in items])[anchors]
    if min(yes.sum(), (~yes).sum(), own[0].sum(), own[1].sum()) < _FEWEST:
        return None
    random = stream(seed, "watch", "system")
    judged = [x[anchors] for x in shares]
    on_own = [x[mine] for x, mine in zip(shares, own, strict=True)]
    weights = random.exponential(size=(DRAWS, int(anchors.sum())))
    drawn = [
        _theta(_resampled(q, random), *_rates(x, yes, weights))
        for x, q in zip(judged, on_own, strict=True)
    ]
    even = np.ones((1, len(yes)))
    point = [
        _theta(np.array([q.mean()]), *_rates(x, yes, even))[0]
        for x, q in zip(judged, on_own, strict=True)
    ]
    moved = drawn[1] - drawn[0]
    blind = np.isnan(moved)  # a judge that tells nothing leaves every move possible
    low = np.quantile(np.where(blind, -1.0, moved), TAIL)
    high = np.quantile(np.where(blind, 1.0, moved), 1 - TAIL)
    useless = bool(blind.mean() > TAIL)
    return SystemChange(
        of=of,
        observed=float(on_own[1].mean() - on_own[0].mean()),
        corrected=Estimate(
            estimate=nan if useless else float(point[1] - point[0]),
            low=float(low),
            high=float(high),
            reason="on one of the dates the judge may say as much as a coin" if useless else "",
        ),
        anchors=int(anchors.sum()),
        items=(int(own[0].sum()), int(own[1].sum())),
    )


def _class(waves: Waves, positive: str | None) -> str | None:
    """Return the class asked for, else the last of two that people use."""
    known = sorted(set(waves.human.values()) & set(waves.verdicts))
    if positive is not None:
        return positive if positive in known else None
    return known[-1] if len(known) == _FEWEST else None


def _item_shares(waves: Waves, t: int, items: list[str], verdict: int) -> Floats:
    """Return the judge's share of a verdict by item on a date, nan where it was not asked."""
    place = {item: i for i, item in enumerate(items)}
    where = np.array([place[cell[0]] for cell in waves.cells])
    said = np.bincount(where, waves.counts[t][:, verdict], len(items))
    calls = np.bincount(where, waves.counts[t].sum(axis=1), len(items))
    return np.where(calls > 0, said / np.maximum(calls, 1), np.nan)


def _rates(x: Floats, yes: NDArray[np.bool_], weights: Floats) -> tuple[Floats, Floats]:
    """Return TPR and FPR under each weighting of the anchors."""
    right, wrong = weights[:, yes], weights[:, ~yes]
    return right @ x[yes] / right.sum(axis=1), wrong @ x[~yes] / wrong.sum(axis=1)


def _resampled(q: Floats, random: np.random.Generator) -> Floats:
    """Draw the mean of items by the Bayesian bootstrap, a block of draws at a time."""
    means = []
    for _ in range(0, DRAWS, _AT_ONCE):
        w = random.exponential(size=(_AT_ONCE, len(q)))
        means.append(w @ q / w.sum(axis=1))
    return np.concatenate(means)


def _theta(q: Floats, tpr: Floats, fpr: Floats) -> Floats:
    """Return the true rate, nan where the judge tells nothing (TPR <= FPR)."""
    gap = tpr - fpr
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.clip(np.where(gap > 0, (q - fpr) / gap, nan), 0, 1))
