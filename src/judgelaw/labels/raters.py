"""How far people agree with each other, and the items to look at first."""

from dataclasses import dataclass

import numpy as np

from judgelaw.labels.against import agreement_of
from judgelaw.labels.opinions import Opinions
from judgelaw.labels.proportions import TAIL, share
from judgelaw.quantities import Estimate, unknown

_TWO = 2
_LOOKED_AT = 6


@dataclass(frozen=True, kw_only=True)
class Suspect:
    """An item to look at first.

    Attributes:
        item: which.
        label, share_of_votes, votes: what people said, and how many of them.
        verdict, share_of_calls, calls: what the judge said instead, and how often.
        why: `confident and wrong`, `label noise` (people are split) or `wrong once` (one call
            against one person).
    """

    item: str
    label: str
    votes: int
    share_of_votes: float
    verdict: str
    calls: int
    share_of_calls: float
    why: str


@dataclass(frozen=True, kw_only=True)
class People:
    """How far people agree with each other, which bounds what any judge can reach.

    Attributes:
        votes: all votes.
        several: items with two votes or more.
        tied: items without a majority.
        agreement: two votes on one item are the same.
        ceiling: the most that any judge could agree with one more vote, on those items.
        judge: how often the judge agrees with a vote on those items.
    """

    votes: int
    several: int
    tied: int
    agreement: Estimate
    ceiling: Estimate
    judge: Estimate


def people(found: Opinions) -> People:
    """Return how far people agree, from pairs of votes on one item.

    A judge that always said what most people would say of an item would agree with a vote in
    mean max_c P(c); with H the agreement of two votes that is at most
    (1 + sqrt((C - 1) (C H - 1))) / C. It speaks of another vote, not of these: what most of a few
    people said agrees with themselves more often.
    """
    votes = found.votes[found.voted]
    n = votes.sum(axis=1)
    several = n > 1
    tied = int((found.label[found.voted] < 0).sum())
    if not several.any():
        nothing = unknown("no item has two votes")
        return People(
            votes=int(n.sum()),
            several=0,
            tied=tied,
            agreement=nothing,
            ceiling=nothing,
            judge=nothing,
        )
    v, m = votes[several], n[several]
    pairs = (v * (v - 1)).sum(axis=1) / (m * (m - 1))
    agreement = share(pairs, int(several.sum()))
    H = np.array([agreement.estimate, agreement.low, agreement.high])
    C = max(len(found.classes), _TWO)
    most, least, highest = (1 + np.sqrt(np.maximum(0.0, (C - 1) * (C * H - 1)))) / C
    here = found.only_items(found.voted)
    return People(
        votes=int(n.sum()),
        several=int(several.sum()),
        tied=tied,
        agreement=agreement,
        ceiling=Estimate(estimate=float(most), low=float(least), high=float(highest)),
        judge=agreement_of(here.only_items(several), TAIL),
    )


def suspects(found: Opinions) -> tuple[Suspect, ...]:
    """List items on which the judge is surest and people say otherwise, some of each kind."""
    settled = found.only_items(found.label >= 0)
    if not settled.items:
        return ()
    calls, votes = settled.calls, settled.votes
    said, n, m = calls.argmax(axis=1), calls.sum(axis=1), votes.sum(axis=1)
    sure, backed = calls.max(axis=1) / n, votes.max(axis=1) / m
    wrong = np.flatnonzero((said != settled.label) & (sure > 0.5))  # noqa: PLR2004 - a majority
    ranked = sorted(wrong, key=lambda i: (-sure[i], -n[i], -m[i], settled.items[i]))
    every = [
        Suspect(
            item=settled.items[i],
            label=settled.classes[settled.label[i]],
            votes=int(m[i]),
            share_of_votes=float(backed[i]),
            verdict=settled.verdicts[said[i]],
            calls=int(n[i]),
            share_of_calls=float(sure[i]),
            why=_why(calls=int(n[i]), votes=int(m[i]), backed=float(backed[i])),
        )
        for i in ranked
    ]
    kinds = [[one for one in every if one.why == why][:_LOOKED_AT] for why in _WHY]
    return tuple(one for kind in kinds for one in kind)[: 2 * _LOOKED_AT]


_WHY = ("confident and wrong", "label noise", "wrong once")


def _why(*, calls: int, votes: int, backed: float) -> str:
    """Say what is odd: people split over it, or the judge sure and people too, or one call."""
    if backed < 1:
        return _WHY[1]
    return _WHY[0] if calls > 1 or votes > 1 else _WHY[2]
