"""What a change of an answer does to the verdict, apart from the dice.

A judge that rolls dice changes its verdict whether or not an answer was changed, so counting flips
calls every noisy judge biased. Here the calls about a changed answer are held against the calls
about the answer as it was, cell by cell (item x prompt x order):

    shift    score of the changed candidate with the change, minus its score without; by item the
             mean over cells, and over the candidates that were changed in turn
    change   (a_0 + a_1) / 2 - p_0 . p_1 = D_01 - (D_00 + D_11) / 2, distinct calls throughout:
             how much more often two calls differ when one of them saw the change

Both are unbiased: E change = |P_0 - P_1|^2 / 2, zero where the laws are the same. Score: 1 for the
changed candidate, 1/2 for a tie, 0 otherwise; the score itself for a scale.

Two statistics are tested for each probe, |mean shift| and mean change: all of a judge together by
Holm, and several judges or criteria by Bonferroni, so that an audit is one family.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.diagnose.family import family_draws, holm
from judgelaw.diagnose.paired_calls import (
    Counts,
    Pair,
    changes,
    item_p_values,
    mean_scores,
    p_values,
    shifts,
    sides_of_items,
)
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    Interval,
    Scope,
    discoveries,
    no_interval,
    signed_interval,
    smoothed_laws,
    t_interval,
    treated_interval,
)

LEVEL = 0.05
"""Share of audits without any effect in which any probe is called real."""
_POWER = 1.96 + 0.84
"""Times the standard error: a shift of this size is found four times in five."""
_LISTED = 5
_REPEATS = 2

_NO_SIDE = no_interval(
    estimate=nan,
    level=0.95,
    covers="nothing",
    reason="no verdict is known to favour the changed answer, so a shift has no direction",
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Changed:
    """The calls about one changed candidate.

    Attributes:
        side: which verdict is the changed candidate's.
        calls: their counts, on the baseline's items or some of them.
        scores: the score of each verdict, seen from the changed candidate; all zero where no
            verdict is known to favour it, which leaves the change of law.
    """

    side: str
    calls: VerdictTensor
    scores: Floats


@dataclass(frozen=True, kw_only=True)
class Where:
    """A part of the design: the shift in it, and how far its law changed.

    Attributes:
        name: of the prompt, stratum or item.
        shift: toward the changed candidate.
        change: how much more often two calls differ if one saw the change.
        shown: of an item, whether it is shown to move; of the items shown so in a probe with an
            effect, 1 in 20 at most is so by chance. None of prompts and strata.
    """

    name: str
    shift: float
    change: float
    shown: bool | None = None


@dataclass(frozen=True, kw_only=True)
class ProbeEffect:
    """What one probe does.

    Attributes:
        probe: its name.
        items: items that were changed.
        shift: toward the changed candidate, for items like these.
        shift_asked: the same for the items asked, asked again.
        change: of the law, for items like these.
        p: of the test, for all probes of all judges and criteria together.
        real: whether the test shows an effect.
        smallest: the shift that this many items would have shown four times in five.
        moved: at least so many items move, with 95% certainty; 0 where no effect is real.
        by_prompt, by_stratum, by_item: where the law changes, the most first; the items that are
            shown to move stand before the others.
    """

    probe: str
    items: int
    shift: Interval
    shift_asked: Interval
    change: Interval
    p: float
    real: bool
    smallest: float
    moved: int
    by_prompt: tuple[Where, ...]
    by_stratum: tuple[Where, ...]
    by_item: tuple[Where, ...]

    @property
    def at_most(self) -> float:
        """The largest shift of the items asked, in either direction, that the interval allows."""
        return max(abs(self.shift_asked.low), abs(self.shift_asked.high))


def probe_effects(
    baseline: VerdictTensor,
    probes: Mapping[str, Sequence[Changed]],
    *,
    families: int = 1,
    draws: int | None = None,
    seed: int = 0,
) -> tuple[ProbeEffect, ...]:
    """Return the effect of every probe of one judge.

    Args:
        baseline: calls about the answers as they are.
        probes: calls about changed answers by probe, one entry for each changed candidate.
        families: judges and criteria whose probes are tested, this one included.
        draws: shuffles behind each p value; as many as the number of probes needs, unless told.
        seed: of their named streams.

    Raises:
        NotIdentifiedError: a cell holds one call.
        InputError: prompts, orders or verdicts of a probe are not those of the baseline.
    """
    pairs = _pairs(baseline, probes)
    found = []
    for name, p in _together(pairs, families, draws, seed).items():
        effect = _effect(name, pairs[name], baseline, p)
        if effect.real:
            most = _draws(pairs, families, draws)
            ps = item_p_values(pairs[name], most, stream(seed, "probe items", name))
            effect = replace(
                effect,
                moved=_at_least(ps),
                by_item=_items_moved(pairs[name], discoveries(ps, LEVEL)),
            )
        found.append(effect)
    return tuple(found)


def probe_p_values(
    baseline: VerdictTensor,
    probes: Mapping[str, Sequence[Changed]],
    *,
    families: int = 1,
    draws: int | None = None,
    seed: int = 0,
) -> dict[str, float]:
    """Return the p value of every probe, as `probe_effects` tests them all together."""
    return _together(_pairs(baseline, probes), families, draws, seed)


Pairs = Mapping[str, Sequence[Pair]]


def _pairs(baseline: VerdictTensor, probes: Mapping[str, Sequence[Changed]]) -> Pairs:
    return {
        name: tuple(_pair(baseline, changed, name) for changed in sides)
        for name, sides in probes.items()
    }


def _draws(pairs: Pairs, families: int, draws: int | None) -> int:
    return draws or family_draws(2 * len(pairs) * families)


def _together(pairs: Pairs, families: int, draws: int | None, seed: int) -> dict[str, float]:
    """Return the p value of every probe among all: the smaller of its two after Holm."""
    most = _draws(pairs, families, draws)
    tests = [p_values(sides, most, stream(seed, "probe", name)) for name, sides in pairs.items()]
    together = iter(holm([p for ps in tests for p in ps]))
    return {name: min(1.0, families * min(next(together), next(together))) for name in pairs}


def _pair(baseline: VerdictTensor, changed: Changed, probe: str) -> Pair:
    calls = changed.calls
    for axis in ("prompts", "orders", "verdicts"):
        ours, theirs = getattr(baseline, axis), getattr(calls, axis)
        if ours != theirs:
            raise InputError(
                f"probe {probe!r}: {axis} {list(theirs)}, the baseline has {list(ours)}; a probe "
                "changes one answer and nothing else"
            )
    base = baseline.select(items=calls.items)
    N, K, O, C = calls.counts.shape
    for words, counts in (("baseline", base.counts), (f"probe {probe!r}", calls.counts)):
        if counts.sum(axis=-1).min() < _REPEATS:
            raise NotIdentifiedError(
                f"{words}: a cell holds one call, so dice and change cannot be told apart; "
                "acquire two repeats or more"
            )
    return Pair(
        items=calls.items,
        before=base.counts.reshape(N, K * O, C),
        after=calls.counts.reshape(N, K * O, C),
        scores=changed.scores,
        shape=(K, O),
    )


def _effect(probe: str, pairs: Sequence[Pair], baseline: VerdictTensor, p: float) -> ProbeEffect:
    cells = [shifts(pair.before, pair.after, pair.scores) for pair in pairs]
    items = _item_means(pairs, cells)
    shift = np.array(list(items.values()))
    moved = [changes(pair.before, pair.after) for pair in pairs]
    laws = _item_means(pairs, moved)
    change = np.array(list(laws.values()))
    variances = _item_variances(pairs)
    directed = any(pair.scores.any() for pair in pairs)
    found, asked = (
        (treated_interval(shift), _asked(shift, variances)) if directed else (_NO_SIDE, _NO_SIDE)
    )
    return ProbeEffect(
        probe=probe,
        items=len(items),
        shift=found,
        shift_asked=asked,
        change=signed_interval(change),
        p=p,
        real=p <= LEVEL,
        smallest=_POWER * found.se if not isnan(found.se) else nan,
        moved=0,
        by_prompt=_by_prompt(pairs, cells, moved, baseline.prompts),
        by_stratum=_by_stratum(items, laws, baseline),
        by_item=_items_moved(pairs, np.zeros(len(items), dtype=bool)),
    )


def _item_means(pairs: Sequence[Pair], cells: Sequence[Floats]) -> dict[str, float]:
    """Return the mean of every item over its cells and its changed sides."""
    return {
        item: float(np.mean([cells[side][at].mean() for side, at in members]))
        for item, members in sides_of_items(pairs).items()
    }


def _item_variances(pairs: Sequence[Pair]) -> Floats:
    """Return the variance of every item's shift by its calls.

    The calls of the baseline serve all sides of an item, so their scores are added first. Where
    hardly any call differs from the others of its cell, smoothed laws suppose that cells hide as
    much noise as the benchmark shows on average; the larger of both variances counts.
    """
    before = [_laws(pair.before) for pair in pairs]
    after = [_laws(pair.after) for pair in pairs]
    found = []
    for members in sides_of_items(pairs).values():
        share = 1 / len(members)
        side, at = members[0]
        scores = np.sum([pairs[side].scores for side, _ in members], axis=0) * share
        parts = _variances(pairs[side].before[at], before[side][at], scores)
        for side, at in members:
            scores = pairs[side].scores * share
            parts = parts + _variances(pairs[side].after[at], after[side][at], scores)
        found.append(parts)
    plain, smooth = np.array(found).T
    return np.asarray(np.maximum(plain, smooth))


def _laws(n: Counts) -> Floats:
    return np.asarray(smoothed_laws(n))


def _variances(n: Counts, laws: Floats, scores: Floats) -> Floats:
    """Return the variance of an item's mean score, unbiased and at smoothed laws."""
    R = n.sum(axis=-1)
    plain = (n @ scores**2 / R - mean_scores(n, scores) ** 2) / (R - 1)
    smooth = (laws @ scores**2 - (laws @ scores) ** 2) / R
    return np.array([plain.sum(), smooth.sum()]) / len(n) ** 2


def shift_interval(
    baseline: VerdictTensor,
    probe: str,
    sides: Sequence[Changed],
    *,
    scope: Scope,
    level: float,
) -> Interval:
    """Return the shift of one probe, for the items asked or for items like them."""
    pairs = [_pair(baseline, changed, probe) for changed in sides]
    cells = [shifts(pair.before, pair.after, pair.scores) for pair in pairs]
    shift = np.array([*_item_means(pairs, cells).values()])
    if not any(pair.scores.any() for pair in pairs):
        return _NO_SIDE
    if scope == "new":
        return treated_interval(shift, level=level)
    return _asked(shift, _item_variances(pairs), level)


def _asked(shift: Floats, variances: Floats, level: float = 0.95) -> Interval:
    """Return the mean shift with its error where the same items are asked again."""
    total = float(variances.sum())
    return t_interval(
        estimate=float(shift.mean()),
        variance=total / len(shift) ** 2,
        df=max(1.0, 2 * total**2 / float((variances**2).sum())),
        level=level,
        covers="call sampling, with the items fixed",
    )


def _at_least(ps: Floats) -> int:
    """Return how many hypotheses are false at least, with 95% certainty.

    The most that can all be true are those with the largest p values, as long as Simes' test does
    not reject them together; the rest is false (Goeman and Solari, 2011).
    """
    ordered = np.sort(ps)
    for true in range(len(ps), 0, -1):
        if (ordered[-true:] > LEVEL * np.arange(1, true + 1) / true).all():
            return len(ps) - true
    return len(ps)


def _items_moved(pairs: Sequence[Pair], shown: NDArray[np.bool_]) -> tuple[Where, ...]:
    """Return the items whose law changed most, those that are shown to move first."""
    shift = _item_means(pairs, [shifts(p.before, p.after, p.scores) for p in pairs])
    change = _item_means(pairs, [changes(p.before, p.after) for p in pairs])
    found = [
        Where(name=name, shift=shift[name], change=change[name], shown=bool(told))
        for name, told in zip(change, shown, strict=True)
    ]
    found.sort(key=lambda where: (not where.shown, -where.change))
    return tuple(found[:_LISTED])


def _by_prompt(
    pairs: Sequence[Pair], cells: Sequence[Floats], moved: Sequence[Floats], prompts: Sequence[str]
) -> tuple[Where, ...]:
    if len(prompts) == 1:
        return ()
    K, O = pairs[0].shape

    def means(values: Sequence[Floats], k: int) -> float:
        of = _item_means(pairs, [c.reshape(-1, K, O)[:, k] for c in values])
        return float(np.mean([*of.values()]))

    return _largest({p: (means(cells, k), means(moved, k)) for k, p in enumerate(prompts)})


def _by_stratum(
    items: Mapping[str, float], laws: Mapping[str, float], baseline: VerdictTensor
) -> tuple[Where, ...]:
    if baseline.strata is None:
        return ()
    stratum = dict(zip(baseline.items, baseline.strata, strict=True))
    found: dict[str, list[tuple[float, float]]] = {}
    for item, shift in items.items():
        found.setdefault(stratum[item], []).append((shift, laws[item]))
    means = {name: np.mean(values, axis=0) for name, values in found.items()}
    return _largest({name: (float(m[0]), float(m[1])) for name, m in means.items()})


def _largest(found: Mapping[str, tuple[float, float]]) -> tuple[Where, ...]:
    """Return parts by how far their law changed: shifts of both signs cancel, laws do not."""
    ranked = sorted(found.items(), key=lambda pair: -pair[1][1])
    return tuple(Where(name=name, shift=shift, change=change) for name, (shift, change) in ranked)
