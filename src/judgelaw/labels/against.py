"""A judge held against people on some items: recall of each class, agreement, kappa, errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.labels.opinions import MOST_CLASSES, Opinions
from judgelaw.labels.proportions import (
    TAIL,
    correlation,
    effective_size,
    kappa,
    mean_interval,
    share,
)
from judgelaw.labels.vote_errors import Errors, errors
from judgelaw.quantities import Estimate, unknown
from judgelaw.streams import stream

_TWO = 2
_MANY = 100
"""Items below which a correlation is not corrected for the judge's dice."""


@dataclass(frozen=True, kw_only=True)
class Against:
    """A judge against people on some items.

    Attributes:
        labelled: items with a label.
        recall: by class, how often the judge says it where people do.
        agreement: how often a verdict is what a person said, every vote counted.
        kappa: agreement beyond chance; quadratic for scores.
        errors: wrong calls, and what of them repeats.
        scores: mean absolute error, bias and correlation; empty unless labels are scores.
    """

    labelled: int
    recall: Mapping[str, Estimate]
    agreement: Estimate
    kappa: Estimate
    errors: Errors | None
    scores: Mapping[str, Estimate] = field(default_factory=dict)


def against(found: Opinions, *, seed: int = 0, tail: float = TAIL) -> Against:
    """Return recall, agreement, kappa and errors on the labelled items of `found`."""
    voted = found.only_items(found.voted)
    settled = voted.only_items(voted.label >= 0)
    classified = len(found.classes) <= MOST_CLASSES
    recall = {name: _recall(settled, c, tail) for c, name in enumerate(found.classes)}
    return Against(
        labelled=len(voted.items),
        recall=recall if classified else {},
        agreement=agreement_of(voted, tail),
        kappa=_kappa(settled, seed) if classified else unknown("too many different scores"),
        errors=_errors(settled) if len(settled.items) else None,
        scores=_scores(voted) if found.kind == "scores" else {},
    )


def _recall(settled: Opinions, c: int, tail: float) -> Estimate:
    mine = settled.label == c
    x = settled.shares[mine, c]
    return share(x, int(settled.calls[mine].sum()), tail=tail, what="item of this class")


def agreement_of(voted: Opinions, tail: float) -> Estimate:
    """Return how often a verdict is what one person said; every vote counts alike."""
    votes = voted.votes.sum(axis=1)
    x = (voted.shares[:, : len(voted.classes)] * voted.votes).sum(axis=1) / votes
    return share(x, int(voted.calls.sum()), weights=votes.astype(float), tail=tail)


def _kappa(settled: Opinions, seed: int) -> Estimate:
    there = [c for c in range(len(settled.classes)) if (settled.label == c).any()]
    if len(there) < _TWO:
        return unknown("labels of one class only: there is nothing to tell apart")
    others = [v for v in range(len(settled.verdicts)) if v not in there]
    order = [*there, *others]
    shares, calls = settled.shares[:, order], settled.calls
    mine = [settled.label == c for c in there]
    rows = np.array([shares[one].mean(axis=0) for one in mine])
    sizes = np.array(
        [effective_size(shares[one, j], int(calls[one].sum())) for j, one in enumerate(mine)]
    )
    return kappa(
        rows,
        np.array([one.sum() for one in mine]),
        sizes,
        _distances(settled, there, order),
        stream(seed, "labels", "kappa"),
    )


def _distances(settled: Opinions, labels: Sequence[int], verdicts: Sequence[int]) -> Floats:
    """Return the distance of each label and verdict: 0 or 1, squared difference for scores."""
    if settled.values is None:
        return np.array([[float(a != b) for b in verdicts] for a in labels])
    values = settled.values
    span = (np.nanmax(values) - np.nanmin(values)) ** 2
    square = (values[list(labels)][:, None] - values[list(verdicts)][None, :]) ** 2
    return np.where(np.isnan(square), span, square)  # no score at all is as far as it gets


def _errors(settled: Opinions) -> Errors:
    right = settled.counts[np.arange(len(settled.counts)), settled.label[settled.cell_item]]
    calls = settled.counts.sum(axis=1)
    return errors(calls - right, calls, settled.cell_item, len(settled.items))


def _scores(voted: Opinions) -> dict[str, Estimate]:
    """Return what scores are held to; calls without a score are left out."""
    if voted.values is None or voted.human_scores is None:
        return {}
    numbered = ~np.isnan(voted.values)
    values, calls = voted.values[numbered], voted.calls[:, numbered]
    spoke = calls.sum(axis=1) > 0
    calls, human = calls[spoke], voted.human_scores[spoke]
    n = calls.sum(axis=1)
    mean = (calls * values).sum(axis=1) / n
    apart = (calls * abs(values - human[:, None])).sum(axis=1) / n
    found = {
        "mae": mean_interval(apart),
        "bias": mean_interval(mean - human),
        "correlation": correlation(mean, human),
    }
    if (n > 1).all():
        found["correlation_without_dice"] = _without_dice(
            found["correlation"].estimate, mean, (calls * values**2).sum(axis=1), n
        )
    return found


def _without_dice(r: float, mean: Floats, squares: Floats, n: NDArray[np.int64]) -> Estimate:
    """Divide a correlation by the root of the reliability of item means."""
    if len(mean) < _MANY:
        return unknown(f"{len(mean)} items: below {_MANY} this correction misleads")
    noise = float(((squares - n * mean**2) / (n - 1) / n).mean())
    spread = float(mean.var(ddof=1))
    if isnan(r) or spread <= noise:
        return unknown("item means vary no more than the judge's dice")
    return Estimate(estimate=r / (1 - noise / spread) ** 0.5, low=nan, high=nan)


def by_prompt(found: Opinions, seed: int) -> dict[str, Against]:
    """Return the same for every prompt; nothing where there is one."""
    names = sorted({name for name in found.cell_prompt if name is not None})
    if len(names) < _TWO:
        return {}
    cuts = {name: found.only_prompt(name) for name in names}
    return {name: against(cut, seed=seed) for name, cut in cuts.items() if cut.voted.any()}


def by_stratum(found: Opinions, seed: int) -> dict[str, Against]:
    """Return the same for every stratum; nothing where there is one."""
    names = sorted({name for name in found.strata if name is not None})
    if len(names) < _TWO:
        return {}
    masks = {n: np.array([s == n for s in found.strata]) & found.voted for n in names}
    return {
        name: against(found.only_items(mask), seed=seed)
        for name, mask in masks.items()
        if mask.any()
    }


def confusion(found: Opinions) -> NDArray[np.int64]:
    """Count calls by label of the majority and verdict."""
    table = np.zeros((len(found.classes), len(found.verdicts)), dtype=np.int64)
    settled = found.label >= 0
    np.add.at(table, found.label[settled], found.calls[settled])
    return table
