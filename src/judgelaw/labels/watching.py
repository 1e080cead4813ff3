"""The answer of `watch`: whether a judge moved, since when, how far, and on which items."""

from dataclasses import asdict, dataclass, field
from math import isfinite, isnan
from typing import Any, Literal

import numpy as np

from judgelaw.arrays import PAIR, Floats
from judgelaw.frames import Result
from judgelaw.labels.alarm import FALSE_ALARMS, LOOKS, PERMUTATIONS, limits, look, step
from judgelaw.labels.proportions import TAIL
from judgelaw.labels.system_change import SystemChange, system_change
from judgelaw.labels.waves import Ints, Waves, in_words
from judgelaw.quantities import Estimate, unknown
from judgelaw.streams import stream
from judgelaw.words import counted, listed

SCHEMA = "judgelaw.watch/1"
BASELINE = 5
"""Dates that it takes to see how much dates differ by themselves."""

_NAMED = 5
_STRIKING = 0.001
"""The p value of a look that is no alarm by itself, and that nobody should take for quiet."""

_ENOUGH = 25
"""Degrees of freedom from which the variance of a shift stands on its own."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """One date held against the first one and against all earlier ones.

    Attributes:
        date: which.
        change: how far the law of a verdict moved since the first date: the chance that two
            calls of a cell differ because of the date, averaged over cells.
        shift: how far the score moved.
        p: of any change and of a shift of the score, against all earlier dates; None where the
            date shares no cell with them.
        chart: both charts after this look.
        cells: cells shared with the first date.
    """

    date: str
    change: Estimate
    shift: Estimate
    p: tuple[float, float] | None
    chart: tuple[float, float]
    cells: int


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """How much the first dates differ by themselves.

    Attributes:
        dates: which.
        between: variance of the mean score between dates, beyond the dice; it may be negative.
        dice: variance of the mean score by the dice.
    """

    dates: tuple[str, ...]
    between: float
    dice: float


@dataclass(frozen=True, kw_only=True)
class MovedItem:
    """An item that moved: how far its law changed, and how far its score shifted."""

    item: str
    change: float
    shift: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Watch(Result):
    """A judge over dates.

    Attributes:
        verdict: `alarm`, `quiet`, or `cannot tell`.
        looks: the declared number of looks.
        threshold: where the charts alarm.
        single: the p value at which one look alarms by itself.
        first: the date that everything is held against.
        dates: one look for every later date.
        alarm: the date of the first alarm, None where there is none.
        moved: items that differ most between the dates before an alarm and those since.
        baseline: how much the first dates differ by themselves; None where it cannot be told.
        system: what moved where anchors are labelled, the judge or the system; None elsewhere.
        scored: what the shift is a shift of.
        tested: which null hypothesis was tested, in words.
        notes: what to know.
        sentence: the answer in words.
    """

    verdict: Literal["alarm", "quiet", "cannot tell"]
    looks: int
    threshold: float
    single: float
    first: str
    dates: tuple[Look, ...]
    alarm: str | None
    moved: tuple[MovedItem, ...]
    baseline: Baseline | None
    system: SystemChange | None
    scored: str
    tested: str
    notes: tuple[str, ...] = field(default=())
    sentence: str = ""

    schema = SCHEMA
    passes = "quiet"

    def in_words(self) -> str:
        """Give the answer."""
        return self.sentence

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each look."""
        return [
            {
                "date": one.date,
                "change": one.change.estimate,
                "change_low": one.change.low,
                "change_high": one.change.high,
                "shift": one.shift.estimate,
                "shift_low": one.shift.low,
                "shift_high": one.shift.high,
                "chart": max(one.chart),
            }
            for one in self.dates
        ]

    def to_json(self) -> dict[str, Any]:
        """Return the answer as JSON holds it; what does not exist is null."""
        return {
            "schema": SCHEMA,
            "looks": self.looks,
            "alarm": self.alarm,
            "verdict": self.verdict,
            "threshold": self.threshold,
            "single": self.single,
            "false_alarms": FALSE_ALARMS,
            "first": self.first,
            "dates": [
                {
                    "date": one.date,
                    "change": one.change.to_json(),
                    "shift": one.shift.to_json(),
                    "p": None if one.p is None else list(one.p),
                    "chart": list(one.chart),
                    "cells": one.cells,
                }
                for one in self.dates
            ],
            "moved": [{k: _number(v) for k, v in asdict(one).items()} for one in self.moved],
            "baseline": self.baseline and asdict(self.baseline),
            "system": self.system and self.system.to_json(),
            "scored": self.scored,
            "tested": self.tested,
            "notes": list(self.notes),
            "sentence": self.sentence,
        }


def watch_waves(
    waves: Waves,
    *,
    looks: int = LOOKS,
    positive: str | None = None,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> Watch:
    """Watch a judge over dates.

    Args:
        waves: its calls by date and cell.
        looks: the declared number of looks, 104 at most.
        positive: the class whose rate tells judge from system, where anchors are labelled.
        permutations: the most behind a p value; what is not small gets by with fewer.
        seed: of the permutations, by date: a later date never changes an earlier p value.
    """
    alarms = limits(looks)
    seen: list[Look] = []
    chart = (0.0, 0.0)
    alarm: str | None = None
    for t in range(1, len(waves.dates)):
        random = stream(seed, "watch", waves.dates[t])
        before = waves.counts[:t].sum(axis=0)
        test = look(waves.counts[t], before, waves.score, draws=permutations, random=random)
        if test is not None:
            chart = step(chart, test.p)
        if alarm is None and alarms.alarmed(chart, None if test is None else test.p):
            alarm = waves.dates[t]
        seen.append(_look(waves, t, None if test is None else test.p, chart))
    verdict = _verdict(alarm, seen, looks)
    moved = () if alarm is None else _moved(waves, alarm)
    baseline = _baseline(waves, alarm)
    system = system_change(waves, positive=positive, seed=seed)
    return Watch(
        verdict=verdict,
        looks=looks,
        threshold=alarms.chart,
        single=alarms.single,
        first=waves.dates[0],
        dates=tuple(seen),
        alarm=alarm,
        moved=moved,
        baseline=baseline,
        system=system,
        scored=waves.scored,
        tested=_tested(baseline),
        notes=(*waves.notes, *_notes(waves, seen, looks)),
        sentence=_sentence(waves, seen, alarm=alarm, verdict=verdict, moved=moved, looks=looks),
    )


def _look(waves: Waves, t: int, p: tuple[float, float] | None, chart: tuple[float, float]) -> Look:
    both = waves.asked(0) & waves.asked(t)
    first, now = waves.counts[0][both], waves.counts[t][both]
    return Look(
        date=waves.dates[t],
        change=_change(first, now),
        shift=_shift(first, now, waves.score),
        p=p,
        chart=chart,
        cells=int(both.sum()),
    )


def _too_few(first: Ints, now: Ints) -> str:
    if not len(first):
        return "no cell was asked on both dates"
    if min(first.sum(axis=1).min(), now.sum(axis=1).min()) < PAIR:
        return "one call in a cell on one of the dates: ask each cell twice to see how far it moved"
    return ""


def _change(first: Ints, now: Ints) -> Estimate:
    """Return twice the prompt component with the two dates as prompts, cells as items.

    Delta = (a_0 + a_t) / 2 - p_0 . p_t; the interval is that of the same cells asked again.
    """
    from judgelaw.uncertainty import call_errors  # noqa: PLC0415 - loads when it is asked for

    if reason := _too_few(first, now):
        return unknown(reason)
    counts = np.stack([first, now], axis=1)[:, :, None, :]
    found = call_errors(counts).interval("prompt")
    return Estimate(
        estimate=2 * found.estimate,
        low=2 * found.low,
        high=2 * found.high,
        reason=found.reason or "",
    )


def _shift(first: Ints, now: Ints, score: Floats) -> Estimate:
    """Return the mean shift of the score; its variance V sums s^2 / R over cells and both dates.

    Where few cells vary, nu = 2 (sum V)^2 / sum V^2 < 25, cells that were unanimous by chance hide
    what they can still do: V is then the larger of this sum and the same at smoothed laws, with a
    t quantile of the smaller nu.
    """
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415 - loads when an interval is asked for

    from judgelaw.uncertainty import smoothed_laws  # noqa: PLC0415 - same

    if reason := _too_few(first, now):
        return unknown(reason)
    (mean0, noise0), (mean1, noise1) = _moments(first, score), _moments(now, score)
    value = float((mean1 - mean0).mean())
    V, nu = _freedom(np.concatenate([noise0, noise1]))
    quantile = float(ndtri(1 - TAIL))
    if nu < _ENOUGH:
        both = np.stack([first, now], axis=1)
        laws = smoothed_laws(both)
        smooth = (laws @ score**2 - (laws @ score) ** 2) / both.sum(axis=-1)
        guarded, freedom = _freedom(smooth.ravel())
        quantile = float(stdtrit(max(1.0, min(nu, freedom) if V > 0 else freedom), 1 - TAIL))
        V = max(V, guarded)
    half = quantile * V**0.5 / len(first)
    return Estimate(estimate=value, low=value - half, high=value + half)


def _freedom(noise: Floats) -> tuple[float, float]:
    """Return the sum of variances, and the degrees of freedom that it is worth."""
    V = float(noise.sum())
    return V, 2 * V**2 / float((noise**2).sum()) if V > 0 else 0.0


def _moments(counts: Ints, score: Floats) -> tuple[Floats, Floats]:
    """Return the mean score of each cell, and the variance of that mean by the dice."""
    R = counts.sum(axis=1)
    mean = counts @ score / R
    squares = counts @ score**2 / R - mean**2
    return mean, squares / (R - 1)


def _moved(waves: Waves, alarm: str) -> tuple[MovedItem, ...]:
    """Return the items whose law differs most between the dates before an alarm and since."""
    since = waves.dates.index(alarm)
    pools = waves.counts[:since].sum(axis=0), waves.counts[since:].sum(axis=0)
    both = np.flatnonzero((pools[0].sum(axis=1) > 0) & (pools[1].sum(axis=1) > 0))
    first, now = pools[0][both], pools[1][both]
    R0, R1 = first.sum(axis=1), now.sum(axis=1)
    p0, p1 = first / R0[:, None], now / R1[:, None]
    cross = (p0 * p1).sum(axis=1)
    paired = (R0 > 1) & (R1 > 1)
    a0 = _agreement(first, R0)
    a1 = _agreement(now, R1)
    # Without a second call the distance of shares is all there is: it ranks, and claims nothing.
    change = np.where(paired, (a0 + a1) / 2 - cross, ((p0 - p1) ** 2).sum(axis=1) / 2)
    shift = (p1 - p0) @ waves.score
    items: dict[str, list[int]] = {}
    for place, cell in enumerate(both):
        items.setdefault(waves.cells[cell][0], []).append(place)
    found = [
        MovedItem(item=item, change=float(change[at].mean()), shift=float(shift[at].mean()))
        for item, at in items.items()
    ]
    found.sort(key=lambda one: (-one.change, one.item))
    return tuple(one for one in found[:_NAMED] if one.change > 0)


def _agreement(counts: Ints, R: Ints) -> Floats:
    return np.asarray((counts * (counts - 1)).sum(axis=1) / np.maximum(R * (R - 1), 1))


def _baseline(waves: Waves, alarm: str | None) -> Baseline | None:
    """Return how much the dates before an alarm differ, five of them at most."""
    last = len(waves.dates) if alarm is None else waves.dates.index(alarm)
    n = min(BASELINE, last)
    here = np.logical_and.reduce([waves.asked(t) for t in range(n)])
    if n < PAIR or not here.any():
        return None
    counts = waves.counts[:n][:, here]
    if counts.sum(axis=2).min() < PAIR:
        return None
    moments = [_moments(one, waves.score) for one in counts]
    means = np.array([mean.mean() for mean, _ in moments])
    dice = float(np.mean([noise.sum() for _, noise in moments]) / here.sum() ** 2)
    return Baseline(dates=waves.dates[:n], between=float(means.var(ddof=1)) - dice, dice=dice)


def _verdict(
    alarm: str | None, seen: list[Look], looks: int
) -> Literal["alarm", "quiet", "cannot tell"]:
    if alarm is not None:
        return "alarm"
    if not seen or seen[-1].p is None or len(seen) > looks or _strikes(seen[-1]):
        return "cannot tell"
    return "quiet"


def _strikes(last: Look) -> bool:
    """Say whether a look alone speaks so loudly that only the next one can tell."""
    return last.p is not None and min(last.p) <= _STRIKING


def _tested(baseline: Baseline | None) -> str:
    words = (
        "no cell changed its law since the first date; a shock that all calls of a date share "
        "breaks this too, harmless or not"
    )
    if baseline is None or len(baseline.dates) < BASELINE:
        return f"{words}: {BASELINE} dates before a change would show how large such shocks are"
    return (
        f"{words}: between the first {len(baseline.dates)} dates the mean score has a variance of "
        f"{baseline.between:.2g} beyond the dice, which alone give {baseline.dice:.2g}"
    )


def _notes(waves: Waves, seen: list[Look], looks: int) -> list[str]:
    notes = []
    if len(seen) > looks:
        notes.append(
            f"{len(seen)} looks were made and {looks} declared: beyond them false alarms are not "
            "bounded; declare more, or start a new watch"
        )
    if lost := [one.date for one in seen if one.p is None]:
        notes.append(f"{listed(lost)}: no cell was asked before, so nothing was tested")
    anchors, every = int(waves.asked(0).sum()), len(waves.cells)
    if anchors < every:
        notes.append(
            f"{counted(every - anchors, 'cell')} of later dates not asked on the first one: change "
            "and shift leave them out"
        )
    return notes


def _sentence(
    waves: Waves,
    seen: list[Look],
    *,
    alarm: str | None,
    verdict: str,
    moved: tuple[MovedItem, ...],
    looks: int,
) -> str:
    first = in_words(waves.dates[0])
    if not seen:
        return (
            f"There is one date only, {first}: nothing to compare; ask the same items again on a "
            "later date."
        )
    last = seen[-1]
    shifted = _shifted(waves.scored, last.shift)
    alone = (
        ", which one date alone may show by chance: the next looks tell"
        if last.shift.low > 0 or last.shift.high < 0 or last.change.low > 0
        else ""
    )
    far = "" if isnan(last.change.estimate) else f" {_range(last.change)}"
    if alarm is not None:
        where = f", mostly on {listed([one.item for one in moved])}" if moved else ""
        return f"The judge moved{far} since {first}, first seen {in_words(alarm)}{where}{shifted}."
    if _strikes(last) and len(seen) <= looks:
        return (
            f"The judge may have moved{far} since {first}, seen on {in_words(last.date)} alone, "
            f"look {len(seen)} of {looks}{shifted}: no alarm yet; ask again, and the next look "
            "tells."
        )
    if verdict == "cannot tell":
        return f"Whether the judge moved since {first} cannot be told from these calls."
    most = (
        ""
        if isnan(last.change.high)
        else f"; at most {max(last.change.high, 0):.3f} on these items"
    )
    return (
        f"No move of the judge is shown since {first}, in look {len(seen)} of {looks}{most}"
        f"{shifted}{alone}."
    )


def _shifted(scored: str, shift: Estimate) -> str:
    if isnan(shift.estimate):
        return ""
    return f", its {scored}{',' if ',' in scored else ''} by {_signed(shift)}"


def _range(e: Estimate) -> str:
    return f"{e.estimate:.3f} ({e.low:.3f} to {e.high:.3f})"


def _signed(e: Estimate) -> str:
    return f"{e.estimate:+.3f} ({e.low:+.3f} to {e.high:+.3f})"


def _number(x: Any) -> Any:
    return None if isinstance(x, float) and not isfinite(x) else x
