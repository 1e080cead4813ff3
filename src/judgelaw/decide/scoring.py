"""The benchmark score of a judge's verdicts, what moves it, and which systems it tells apart."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, nan
from typing import Any

import numpy as np

from judgelaw.arrays import PAIR, Floats
from judgelaw.decide.prompt_choice import WORTH, gold_codes
from judgelaw.decide.score_parts import (
    POWER,
    CellScores,
    ScoreParts,
    ScoreProtocol,
    cell_scores,
    drawn_bounds,
    score_parts,
)
from judgelaw.decide.scores import (
    JudgeScore,
    Purchase,
    Scale,
    ScoreDifference,
    ranking_sentence,
    score_notes,
    score_sentences,
)
from judgelaw.errors import InputError
from judgelaw.estimate import Design, check_depth, counts_of
from judgelaw.quantities import Estimate
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import (
    MIN_PROMPTS,
    Draws,
    signed_interval,
    t_quantile,
    upper_bound,
    weigh,
    weightings_for,
)
from judgelaw.words import listed, of_orders

_LEVEL = 0.95
_PAIRWISE = {"candidate_1": 1.0, "candidate_2": 0.0, "tie": 0.5, INVALID: 0.0}
_PASSES = ("pass", "passed", "yes", "true", "correct", "good", "safe", "win")


def scale_of(tensor: VerdictTensor, values: Mapping[str, float] | None = None) -> Scale:
    """Return what verdicts are worth: as given, else by gold, candidates, numbers, or pass.

    Raises:
        InputError: verdicts that have no value of their own.
    """
    if values is not None:
        if missing := [v for v in tensor.verdicts if v not in values]:
            raise InputError(f"no value for verdict {missing[0]!r}: give one for each")
        return _scale("mean score", [float(values[v]) for v in tensor.verdicts])
    if tensor.scale is not None:
        return _scale("mean score", _numbers(tensor.verdicts) or [])
    gold = gold_codes(tensor)
    if gold is not None and len(gold[0]) == len(tensor.items):
        right = gold[1][:, None] == np.arange(len(tensor.verdicts))
        return Scale(metric="accuracy", values=right.astype(float), low=0.0, high=1.0)
    if set(tensor.verdicts) <= set(_PAIRWISE):
        return _scale("win rate", [_PAIRWISE[v] for v in tensor.verdicts])
    if (numbers := _numbers(tensor.verdicts)) is not None:
        return _scale("mean score", numbers)
    passing = [v.lower() in _PASSES for v in tensor.verdicts]
    if sum(passing) == 1:
        return _scale("pass rate", [float(x) for x in passing])
    raise InputError(
        f"the verdicts {listed(tensor.verdicts)} have no value of their own: give one for each, as "
        "in --value pass=1 --value fail=0"
    )


def _scale(metric: str, values: Sequence[float]) -> Scale:
    return Scale(metric=metric, values=np.array(values), low=min(values), high=max(values))


def _numbers(verdicts: Sequence[str]) -> list[float] | None:
    """Return verdicts as numbers, an invalid one as the least of them; None if they are none."""
    try:
        found = {v: float(v) for v in verdicts if v != INVALID}
    except ValueError:
        return None
    return [found.get(v, min(found.values())) for v in verdicts] if found else None


def score_judge(
    tensor: VerdictTensor,
    *,
    protocol: Mapping[str, Any] | None = None,
    values: Mapping[str, float] | None = None,
    design: Design = "census",
    worth: float = WORTH,
) -> JudgeScore:
    """Score one judge's verdicts; a pairwise judge's candidates are compared as well."""
    scale = scale_of(tensor, values)
    cells = _scored(tensor, scale)
    differences: tuple[ScoreDifference, ...] = ()
    if scale.metric == "win rate":
        asked = asked_protocol(tensor, protocol)
        apart = Apart(design=design, worth=worth, protocol=asked, level=_LEVEL, reach=1.0)
        differences = (apart.of("candidate_1", "candidate_2", signed_scores(tensor)),)
    return _judged(tensor, scale, cells, protocol=protocol, design=design, differences=differences)


def signed_scores(tensor: VerdictTensor) -> CellScores:
    """Score a win of candidate 1 as +1 and a loss as -1; ties and invalid outputs as 0."""
    sign = {"candidate_1": 1.0, "candidate_2": -1.0}
    return _scored(tensor, _scale("", [sign.get(v, 0.0) for v in tensor.verdicts]))


def score_systems(
    tensors: Mapping[str, VerdictTensor],
    *,
    protocol: Mapping[str, Any] | None = None,
    values: Mapping[str, float] | None = None,
    design: Design = "census",
    worth: float = WORTH,
) -> JudgeScore:
    """Score several systems on the items that all of them have, and say which are told apart."""
    matched, lost = _matched(tensors)
    first = next(iter(matched.values()))
    scales = {name: scale_of(t, values) for name, t in matched.items()}
    scale = next(iter(scales.values()))
    cells = {name: _scored(t, scales[name]) for name, t in matched.items()}
    systems = {name: _interval(c, scale, design) for name, c in cells.items()}
    order = sorted(systems, key=lambda name: -systems[name].estimate)
    pairs = list(combinations(order, 2))
    apart = Apart(
        design=design,
        worth=worth,
        protocol=asked_protocol(first, protocol),
        level=1 - (1 - _LEVEL) / max(len(pairs), 1),
        reach=scale.high - scale.low,
    )
    differences = tuple(apart.of(a, b, cells[a].minus(cells[b])) for a, b in pairs)
    mean = _mean(list(cells.values()))
    found = _judged(first, scale, mean, protocol=protocol, design=design, differences=differences)
    notes = found.notes
    if lost:
        notes = (*notes, f"{lost} items that another system lacks were left out")
    groups = groups_of(order, differences)
    return replace(
        found,
        sentence=f"{found.sentence} {ranking_sentence(groups)}",
        systems={name: systems[name] for name in order},
        groups=groups,
        notes=notes,
    )


def _mean(cells: Sequence[CellScores]) -> CellScores:
    """Return the mean of several systems, judged on separate calls."""
    S = len(cells)
    return CellScores(
        y=np.mean([c.y for c in cells], axis=0),
        s2=np.sum([c.s2 for c in cells], axis=0) / S**2,
        v=np.sum([c.v for c in cells], axis=0) / S**2,
    )


def _scored(tensor: VerdictTensor, scale: Scale) -> CellScores:
    n, names = counts_of(tensor)
    check_depth(n, n.sum(axis=-1), minimum=PAIR, names=names)
    return cell_scores(n, scale.values)


def asked_protocol(tensor: VerdictTensor, given: Mapping[str, Any] | None) -> ScoreProtocol:
    """Return the protocol of these calls, changed as asked."""
    N, K, O, _ = tensor.counts.shape
    protocol = ScoreProtocol(prompts=K, orders=O, repeats=tensor.depth[0], items=N)
    return replace(protocol, **{k: v for k, v in (given or {}).items() if v is not None})


def _judged(
    tensor: VerdictTensor,
    scale: Scale,
    cells: CellScores,
    *,
    protocol: Mapping[str, Any] | None,
    design: Design,
    differences: tuple[ScoreDifference, ...],
) -> JudgeScore:
    parts = score_parts(cells, generator=design == "sampled" and len(tensor.prompts) > 1)
    asked, looked_at = asked_protocol(tensor, None), asked_protocol(tensor, protocol)
    score = _interval(cells, scale, design)
    se = parts.se(looked_at)
    return JudgeScore(
        sentence=of_orders(
            " ".join(score_sentences(scale, score, parts, looked_at, differences)),
            len(tensor.orders),
        ),
        metric=scale.metric,
        score=score,
        parts=parts,
        asked=asked,
        protocol=looked_at,
        se=se,
        purchases=tuple(_purchases(parts, looked_at)),
        differences=differences,
        systems={},
        notes=tuple(score_notes(tensor, design)),
    )


def _interval(cells: CellScores, scale: Scale, design: Design) -> Estimate:
    """Return the mean score with its interval for items like these, prompts drawn too if sampled.

    Census: the larger of the t bound and Gaffke's, with an unseen item at the end of the scale.
    """
    N, K, _ = cells.y.shape
    x = np.asarray(cells.y.mean(axis=(1, 2)), dtype=float)
    estimate = float(x.mean())
    if N < PAIR or (design == "sampled" and K < MIN_PROMPTS):
        return Estimate(estimate=estimate, low=nan, high=nan)
    p, top = (1 + _LEVEL) / 2, scale.high - scale.low
    if design == "sampled":
        by_prompt = np.asarray(cells.y.mean(axis=2), dtype=float)
        low, high = drawn_bounds(by_prompt, p, above=x - scale.low, below=scale.high - x, top=top)
        return Estimate(estimate=estimate, low=low, high=high)
    drawn = weigh(x[:, None], draws=weightings_for(N))
    up = Draws(sums=drawn.sums[0] - scale.low * (1 - drawn.last), last=drawn.last)
    down = Draws(sums=scale.high * (1 - drawn.last) - drawn.sums[0], last=drawn.last)
    return Estimate(
        estimate=estimate,
        low=scale.high - upper_bound(scale.high - x, down, p, top=top, careful=True),
        high=scale.low + upper_bound(x - scale.low, up, p, top=top, careful=True),
    )


@dataclass(frozen=True, kw_only=True)
class Apart:
    """How differences of systems are judged.

    Attributes:
        design: "sampled" where prompts were drawn.
        worth: the difference that is worth finding.
        protocol: the way to score that is looked at.
        level: of each interval.
        reach: the largest difference that an item can have.
    """

    design: Design
    worth: float
    protocol: ScoreProtocol
    level: float
    reach: float

    def of(self, a: str, b: str, cells: CellScores) -> ScoreDifference:
        """Return one difference, its interval, and what so many items can decide."""
        y = np.asarray(cells.y.mean(axis=(1, 2)), dtype=float)
        parts = score_parts(cells, generator=self.design == "sampled" and cells.y.shape[1] > 1)
        low, high = self._bounds(cells, y)
        se = parts.se(self.protocol)
        # Where several differences are looked at together, each has to be larger to be found.
        power = POWER + t_quantile((1 + self.level) / 2, inf) - t_quantile(0.975, inf)
        return ScoreDifference(
            a=a,
            b=b,
            estimate=float(y.mean()),
            low=low,
            high=high,
            smallest=power * se,
            items_needed=parts.items_for(self.worth, self.protocol, power) if len(y) > 1 else None,
            worth=self.worth,
        )

    def _bounds(self, cells: CellScores, y: Floats) -> tuple[float, float]:
        if self.design != "sampled":
            found = signed_interval(y, top=self.reach, level=self.level)
            return found.low, found.high
        if len(y) < PAIR or cells.y.shape[1] < MIN_PROMPTS:
            return nan, nan
        by_prompt = np.asarray(cells.y.mean(axis=2), dtype=float)
        return drawn_bounds(by_prompt, (1 + self.level) / 2, above=y, below=-y, top=self.reach)


def _matched(
    tensors: Mapping[str, VerdictTensor],
) -> tuple[dict[str, VerdictTensor], int]:
    """Keep the items that all systems have, and say how many were lost."""
    if len(tensors) < PAIR:
        raise InputError(f"{len(tensors)} system: a comparison needs two or more")
    first_name, first = next(iter(tensors.items()))
    for name, other in tensors.items():
        if set(other.prompts) != set(first.prompts) or set(other.orders) != set(first.orders):
            raise InputError(
                f"{name!r} was judged under other prompts or orders than {first_name!r}: systems "
                "are compared where they were judged alike; select the prompts that all have"
            )
    common = set.intersection(*(set(t.items) for t in tensors.values()))
    if not common:
        raise InputError("the systems have no item in common: match them by item id")
    items = [item for item in first.items if item in common]
    chosen = {
        name: t.select(items=items, prompts=first.prompts, orders=first.orders)
        for name, t in tensors.items()
    }
    return chosen, sum(len(t.items) - len(items) for t in tensors.values())


def groups_of(
    order: Sequence[str], differences: Sequence[ScoreDifference]
) -> tuple[tuple[str, ...], ...]:
    """Return runs of neighbours in the ranking that are not separated, none within another."""
    told = {frozenset((d.a, d.b)): d.separated for d in differences}
    groups: list[tuple[str, ...]] = []
    for first in range(len(order)):
        last = first
        while last + 1 < len(order) and not any(
            told[frozenset((order[i], order[last + 1]))] for i in range(first, last + 1)
        ):
            last += 1
        if not groups or order[last] != groups[-1][-1]:
            groups.append(tuple(order[first : last + 1]))
    return tuple(groups)


def _purchases(parts: ScoreParts, p: ScoreProtocol) -> Iterator[Purchase]:
    """Yield what more calls would do to the variance, the most per call first."""
    _, K, O = parts.shape
    asked = {"twice as many items": replace(p, items=2 * p.items)}
    asked["twice as many repeats"] = replace(p, repeats=2 * p.repeats)
    if p.prompts < K or parts.generator:
        asked["one more prompt"] = replace(p, prompts=p.prompts + 1)
    if p.orders < O:
        asked["one more order"] = replace(p, orders=p.orders + 1)
    before = parts.variance(p)
    found = []
    for buy, then in asked.items():
        after, calls = parts.variance(then), then.calls - p.calls
        found.append(
            Purchase(buy=buy, calls=calls, se=parts.se(then), per_call=(before - after) / calls)
        )
    yield from sorted(found, key=lambda x: -x.per_call)
