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

The test shuffles calls within each cell between "as it was" and "changed". If the change does
nothing they are exchangeable, so the test is exact, whatever the dice. Two statistics are tested
for each probe, |mean shift| and mean change, and all of a judge together by Holm.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isnan, nan

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.diagnose.family import holm, permutation_ps
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    Interval,
    Scope,
    no_interval,
    signed_interval,
    smoothed_laws,
    t_interval,
)

LEVEL = 0.05
"""Share of audits without any effect in which any probe is called real."""
DRAWS = 999
_POWER = 1.96 + 0.84
"""Times the standard error: a shift of this size is found four times in five."""
_CHUNK = 1 << 22
"""Calls shuffled at a time: 32 MB."""
_LISTED = 5
_REPEATS = 2

_NO_SIDE = no_interval(
    estimate=nan,
    level=0.95,
    covers="nothing",
    reason="no verdict is known to favour the changed answer, so a shift has no direction",
)

Counts = NDArray[np.int64]


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
    """A part of the design and the shift in it."""

    name: str
    shift: float


@dataclass(frozen=True, kw_only=True)
class ProbeEffect:
    """What one probe does.

    Attributes:
        probe: its name.
        items: items that were changed.
        shift: toward the changed candidate, for items like these.
        shift_asked: the same for the items asked, asked again.
        change: of the law, for items like these.
        p: of the test, for all probes of the judge together.
        real: whether the test shows an effect.
        smallest: the shift that this many items would have shown four times in five.
        moved: items whose own calls show a shift, for all items together.
        by_prompt, by_stratum, by_item: where the shift is, the largest first.
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
    draws: int = DRAWS,
    seed: int = 0,
) -> tuple[ProbeEffect, ...]:
    """Return the effect of every probe of one judge.

    Args:
        baseline: calls about the answers as they are.
        probes: calls about changed answers by probe, one entry for each changed candidate.
        draws: shuffles behind each p value.
        seed: of their named streams.

    Raises:
        NotIdentifiedError: a cell holds one call.
        InputError: prompts, orders or verdicts of a probe are not those of the baseline.
    """
    pairs = {
        name: tuple(_pair(baseline, changed, name) for changed in sides)
        for name, sides in probes.items()
    }
    tests = {
        name: _p_values(sides, draws, stream(seed, "probe", name)) for name, sides in pairs.items()
    }
    together = iter(holm([p for ps in tests.values() for p in ps]))
    return tuple(
        _effect(name, sides, baseline, min(next(together), next(together)))
        for name, sides in pairs.items()
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pair:
    """Counts (items, cells, verdicts) without and with the change; cells are prompts x orders."""

    items: tuple[str, ...]
    before: Counts
    after: Counts
    scores: Floats
    shape: tuple[int, int]


def _pair(baseline: VerdictTensor, changed: Changed, probe: str) -> _Pair:
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
    return _Pair(
        items=calls.items,
        before=base.counts.reshape(N, K * O, C),
        after=calls.counts.reshape(N, K * O, C),
        scores=changed.scores,
        shape=(K, O),
    )


def shifts(before: Counts, after: Counts, scores: Floats) -> Floats:
    """Return the shift of every cell, (..., cells)."""
    return _means(after, scores) - _means(before, scores)


def changes(before: Counts, after: Counts) -> Floats:
    """Return the change of law of every cell, (..., cells): distinct calls only."""
    laws = [n / n.sum(axis=-1, keepdims=True) for n in (before, after)]
    agreements = [_agreement(n) for n in (before, after)]
    return np.asarray(sum(agreements) / 2 - (laws[0] * laws[1]).sum(axis=-1))


def _agreement(n: Counts) -> Floats:
    R = n.sum(axis=-1)
    return np.asarray((n * (n - 1)).sum(axis=-1) / (R * (R - 1)))


def _means(n: Counts, scores: Floats) -> Floats:
    return np.asarray((n @ scores) / n.sum(axis=-1))


def _p_values(pairs: Sequence[_Pair], draws: int, rng: np.random.Generator) -> tuple[float, float]:
    """Return p values of |mean shift| and of mean change.

    Calls are shuffled within cells between the baseline and each changed side; a call of the
    baseline serves every side, so the sides are shuffled together with it.
    """
    groups = _groups(pairs)
    if not groups:  # every cell is unanimous, so no shuffle could tell anything
        return 1.0, 1.0
    observed = _statistics(groups, [group.codes[None] for group in groups])[0]
    at_once = max(1, _CHUNK // max(1, sum(group.codes.size for group in groups)))

    def draw(size: int, wanted: Sequence[int]) -> list[Floats]:
        parts = [
            _statistics(
                groups, [group.shuffled(rng, min(at_once, size - done)) for group in groups]
            )
            for done in range(0, size, at_once)
        ]
        return [np.concatenate([part[:, i] for part in parts]) for i in wanted]

    shift, change = permutation_ps(observed.tolist(), draw, draws)
    return shift, change


@dataclass(frozen=True, kw_only=True, eq=False)
class _Group:
    """Cells with the same numbers of calls: verdict codes (cells, calls), baseline first.

    Attributes:
        codes: of all calls of a cell.
        ends: where the calls of the baseline and of each side end.
        weight: of a cell and side in the mean over items.
        scores: by side, of each verdict.
    """

    codes: NDArray[np.int8]
    ends: tuple[int, ...]
    weight: float
    scores: tuple[Floats, ...]

    def shuffled(self, rng: np.random.Generator, draws: int) -> NDArray[np.int8]:
        """Return codes of independent shuffles within every cell, (draws, cells, calls)."""
        return rng.permuted(np.broadcast_to(self.codes, (draws, *self.codes.shape)), axis=-1)


def _groups(pairs: Sequence[_Pair]) -> list[_Group]:
    """Lay out the cells of all items by the numbers of calls that they hold."""
    items = _sides_of_items(pairs)
    places: dict[tuple[int, ...], list[list[int]]] = {}
    for members in items.values():
        sides = tuple(side for side, _ in members)
        places.setdefault(sides, []).append([at for _, at in members])
    return [
        group
        for sides, rows in places.items()
        for group in _by_depth(pairs, sides, np.array(rows), len(items))
    ]


def _by_depth(
    pairs: Sequence[_Pair], sides: tuple[int, ...], at: NDArray[np.intp], items: int
) -> Iterator[_Group]:
    """Yield the groups of items whose answers were changed on the same sides."""
    counts = [pairs[sides[0]].before[at[:, 0]]]
    counts += [pairs[side].after[at[:, j]] for j, side in enumerate(sides)]
    cells, C = counts[0].shape[1:]
    together = np.stack(counts, axis=2).reshape(-1, len(counts), C)
    depths = together.sum(axis=-1)
    # Where all calls agree, no shuffle changes anything, and shift and change are zero.
    mixed = (together.sum(axis=1) > 0).sum(axis=-1) > 1
    for depth in np.unique(depths[mixed], axis=0):
        chosen = together[mixed & (depths == depth).all(axis=1)]
        verdicts = np.tile(np.arange(C, dtype=np.int8), len(chosen) * len(counts))
        yield _Group(
            codes=np.repeat(verdicts, chosen.ravel()).reshape(len(chosen), -1),
            ends=tuple(np.cumsum(depth).tolist()),
            weight=1 / (items * cells * len(sides)),
            scores=tuple(pairs[side].scores for side in sides),
        )


def _sides_of_items(pairs: Sequence[_Pair]) -> dict[str, list[tuple[int, int]]]:
    """Return, for every item, the sides that were changed and its place in each."""
    found: dict[str, list[tuple[int, int]]] = {}
    for side, pair in enumerate(pairs):
        for at, item in enumerate(pair.items):
            found.setdefault(item, []).append((side, at))
    return found


def _statistics(groups: Sequence[_Group], drawn: Sequence[NDArray[np.int8]]) -> Floats:
    """Return |mean shift| and mean change of every draw, (draws, 2)."""
    shift = change = np.zeros(len(drawn[0]))
    for group, codes in zip(groups, drawn, strict=True):
        C = len(group.scores[0])
        starts = (0, *group.ends[:-1])
        n = [
            np.stack([(codes[..., a:b] == c).sum(axis=-1) for c in range(C)], axis=-1)
            for a, b in zip(starts, group.ends, strict=True)
        ]
        for side, scores in enumerate(group.scores):
            shift = shift + shifts(n[0], n[side + 1], scores).sum(axis=-1) * group.weight
            change = change + changes(n[0], n[side + 1]).sum(axis=-1) * group.weight
    return np.stack([np.abs(shift), change], axis=-1)


def _effect(probe: str, pairs: Sequence[_Pair], baseline: VerdictTensor, p: float) -> ProbeEffect:
    cells = [shifts(pair.before, pair.after, pair.scores) for pair in pairs]
    items = _item_means(pairs, cells)
    shift = np.array(list(items.values()))
    change = np.array(
        list(_item_means(pairs, [changes(pair.before, pair.after) for pair in pairs]).values())
    )
    variances = _item_variances(pairs)
    directed = any(pair.scores.any() for pair in pairs)
    found, asked = (
        (signed_interval(shift), _asked(shift, variances)) if directed else (_NO_SIDE, _NO_SIDE)
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
        moved=_moved(shift, variances) if directed else 0,
        by_prompt=_by_prompt(pairs, cells, baseline.prompts),
        by_stratum=_by_stratum(items, baseline),
        by_item=_largest(items)[:_LISTED],
    )


def _item_means(pairs: Sequence[_Pair], cells: Sequence[Floats]) -> dict[str, float]:
    """Return the mean of every item over its cells and its changed sides."""
    return {
        item: float(np.mean([cells[side][at].mean() for side, at in members]))
        for item, members in _sides_of_items(pairs).items()
    }


def _item_variances(pairs: Sequence[_Pair]) -> Floats:
    """Return the variance of every item's shift by its calls.

    The calls of the baseline serve all sides of an item, so their scores are added first. Where
    hardly any call differs from the others of its cell, smoothed laws suppose that cells hide as
    much noise as the benchmark shows on average; the larger of both variances counts.
    """
    before = [_laws(pair.before) for pair in pairs]
    after = [_laws(pair.after) for pair in pairs]
    found = []
    for members in _sides_of_items(pairs).values():
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
    plain = (n @ scores**2 / R - _means(n, scores) ** 2) / (R - 1)
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
        return signed_interval(shift, level=level)
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


def _moved(shift: Floats, variances: Floats) -> int:
    """Count the items whose own calls show a shift; one in twenty of those counted is chance."""
    from scipy.special import ndtr  # noqa: PLC0415 - scipy loads when it is needed

    p = np.sort(2 * ndtr(-np.abs(shift) / np.sqrt(variances)))
    shown = p <= LEVEL * np.arange(1, len(p) + 1) / len(p)
    return int(np.flatnonzero(shown)[-1]) + 1 if shown.any() else 0


def _by_prompt(
    pairs: Sequence[_Pair], cells: Sequence[Floats], prompts: Sequence[str]
) -> tuple[Where, ...]:
    if len(prompts) == 1:
        return ()
    K, O = pairs[0].shape
    means = {
        prompt: _item_means(pairs, [c.reshape(-1, K, O)[:, k] for c in cells])
        for k, prompt in enumerate(prompts)
    }
    return _largest({prompt: float(np.mean([*of.values()])) for prompt, of in means.items()})


def _by_stratum(items: Mapping[str, float], baseline: VerdictTensor) -> tuple[Where, ...]:
    if baseline.strata is None:
        return ()
    stratum = dict(zip(baseline.items, baseline.strata, strict=True))
    found: dict[str, list[float]] = {}
    for item, shift in items.items():
        found.setdefault(stratum[item], []).append(shift)
    return _largest({name: float(np.mean(values)) for name, values in found.items()})


def _largest(shifts: Mapping[str, float]) -> tuple[Where, ...]:
    ranked = sorted(shifts.items(), key=lambda pair: -abs(pair[1]))
    return tuple(Where(name=name, shift=shift) for name, shift in ranked)
