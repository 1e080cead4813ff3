"""Judges compared on matched items: paired differences of every component, and the ranking."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from math import nan
from typing import Any, Final, cast

import numpy as np

from judgelaw.analysis.answer import Answer, Best, Merit, best_of, merit_of
from judgelaw.analysis.answer_words import WHEN, answer_of, share
from judgelaw.analysis.components import inferences
from judgelaw.analysis.facet_values import pair_of
from judgelaw.analysis.screen import Screen, screen_of_several
from judgelaw.arrays import PAIR, Floats
from judgelaw.decide import accuracies, not_shown_worse
from judgelaw.diagnose import Matched, RankStability, match, rank_stability
from judgelaw.estimate import CENSUS, COMPONENTS, weights_of
from judgelaw.frames import Result, plain
from judgelaw.quantities import Pair
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    CHANGES,
    Change,
    Clusters,
    Contrast,
    DepthEstimates,
    Estimand,
    Inference,
    ItemShares,
    Resampling,
    at_depth,
    change_contrast,
    clusters_of,
    item_bands,
    item_difference,
    item_shares,
    judge_difference,
    mean_bounds,
    share_difference,
)
from judgelaw.words import joined, visible

RIGHT: Final = "right"
_NO_PROMPT: Final = ("ask_again", "swap")
_NO_ORDER: Final = ("ask_again", "reword")
"""Changes for which no other prompt, or no other order, is needed."""
_NO_WIDTH = 1e-12
_TIE = 1e-12


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One quantity of judge `a` minus that of judge `b`, on the same items.

    Attributes:
        component: a component; `right`, how often it is right; or how often its verdict changes:
            `ask_again`, `reword`, `swap`, `both`.
        estimate, plugin: corrected and plug-in difference; what is right needs no correction.
        band: item band, paired by item; None where none can be had.
        call_interval: with the items fixed, for this difference alone.
        simultaneous: interval for new items that holds together with those of all other
            differences of the comparison (Bonferroni); None with one item.
        call_simultaneous: the same with the items fixed.
    """

    a: str
    b: str
    component: str
    estimate: float
    plugin: float
    band: Pair | None
    call_interval: Pair | None
    simultaneous: Pair | None
    call_simultaneous: Pair | None

    @property
    def settled(self) -> bool:
        """Whether new items would leave its sign, all differences of the comparison considered.

        Percentile bands decide nothing: of two judges of one law, with five components, one band or
        another leaves out zero in a third of all comparisons.
        """
        return _leaves_out_zero(self.simultaneous)

    @property
    def settled_here(self) -> bool:
        """Whether asking the same items again would leave its sign, all considered."""
        return _leaves_out_zero(self.call_simultaneous)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One judge of a comparison: its answer, and how it was asked."""

    name: str
    answer: Answer
    items: int
    prompts: int
    orders: int
    repeats: int | tuple[int, int]
    calls: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Comparison(Result):
    """Several judges side by side.

    Attributes:
        judges: their names.
        items: number of common items.
        lost: items of each judge that another lacks.
        depth: repeats in every cell.
        estimates, plugins: macroaverages by judge, then component.
        right: how often each pair of judges is right, where both have gold.
        changes: how often their verdicts change, every pair, by what may differ between two calls.
        differences: every pair of judges, every component that the design has.
        rankings: by component.
        keep: judges that are not shown to be worse than another, by accuracy where all have gold,
            else by total disagreement; for new items.
        kept_by: "accuracy" or "total".
        standings: the answer of each judge on the common items, by name.
        best: the judge that is shown to be right more often than every other, if one is.
        noun: what is compared, `judge` or `prompt`.
        criteria: the same for each criterion, where there are several: judges are compared on one
            criterion at a time, and the intervals hold together over all of them.
    """

    judges: tuple[str, ...]
    items: int
    lost: Mapping[str, int]
    depth: int
    estimates: Mapping[str, Mapping[str, float]]
    plugins: Mapping[str, Mapping[str, float]]
    differences: tuple[Difference, ...]
    rankings: Mapping[str, RankStability]
    right: tuple[Difference, ...] = ()
    changes: tuple[Difference, ...] = ()
    keep: tuple[str, ...] = ()
    kept_by: str = "total"
    standings: Mapping[str, "Standing"] = field(default_factory=dict)
    best: Best | None = None
    noun: str = "judge"
    criteria: Mapping[str, "Comparison"] = field(default_factory=dict)

    schema = "judgelaw.comparison/1"
    brief = ("a", "b", "component", "estimate", "low", "high", "call_low", "call_high", "plugin")

    def in_words(self) -> str:
        """Give the answer, then what is told apart; every claim rests on an interval."""
        if self.criteria:
            parts = self.criteria.items()
            return "\n".join(f"{name}: {line}" for name, c in parts for line in _sentences(c))
        return "\n".join(_sentences(self))

    def to_json(self) -> dict[str, Any]:
        """Return the `judgelaw.comparison/1` document, with criteria where there are some."""
        found = super().to_json()
        found["answers"] = {name: plain(s.answer) for name, s in self.standings.items()}
        left_out = {"standings", "noun", *(() if self.criteria else ("criteria",))}
        return {key: value for key, value in found.items() if key not in left_out}

    def screen(self, where: str = "") -> Screen:
        """Return what is read first, where judges are compared on one criterion.

        The items asked come first: there more can be told.
        """
        found = screen_of_several(self.standings, where, best=self.best, noun=self.noun)
        here = told_apart(self)
        return replace(found, says=f"{here} {found.says}".strip(), listed=_rights(self))

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each difference, with the intervals that hold all together."""
        return [_flat(d) for d in self.all_differences]

    @property
    def all_differences(self) -> tuple[Difference, ...]:
        """What is right, what changes, and components."""
        return (*self.right, *self.changes, *self.differences)


def _flat(d: Difference) -> dict[str, Any]:
    low, high = d.simultaneous or (nan, nan)
    call_low, call_high = d.call_simultaneous or (nan, nan)
    return {
        "a": d.a,
        "b": d.b,
        "component": d.component,
        "estimate": d.estimate,
        "plugin": d.plugin,
        "low": low,
        "high": high,
        "call_low": call_low,
        "call_high": call_high,
        "settled": d.settled,
        "settled_here": d.settled_here,
    }


def compare(
    tensors: Mapping[str, VerdictTensor],
    *,
    declared: Estimand = CENSUS,
    draws: int,
    seed: int = 0,
    level: float = 0.95,
    noun: str = "judge",
    at_least: float | None = None,
) -> Comparison:
    """Compare judges on the items that all of them have, at the depth that all of them have.

    Where every prompt is taken as a judge of its own, the `noun` is `prompt`; `at_least` is the
    user's own bar.

    Raises:
        InputError: fewer than two judges, cells that differ, or no common item.
    """
    groups: dict[str | None, dict[str, VerdictTensor]] = {}
    for name, tensor in tensors.items():
        groups.setdefault(tensor.criterion, {})[name] = tensor
    how = Resampling(draws=draws, seed=seed, level=1 - (1 - level) / len(groups))
    found = {
        criterion or "": _compare(each, declared, how, noun=noun, at_least=at_least)
        for criterion, each in groups.items()
    }
    return found.popitem()[1] if len(found) == 1 else _joined(found)


def _joined(criteria: Mapping[str, Comparison]) -> Comparison:
    """Put comparisons on single criteria side by side."""
    parts = list(criteria.values())
    return Comparison(
        judges=tuple(judge for c in parts for judge in c.judges),
        items=min(c.items for c in parts),
        lost={judge: lost for c in parts for judge, lost in c.lost.items()},
        depth=min(c.depth for c in parts),
        estimates={judge: found for c in parts for judge, found in c.estimates.items()},
        plugins={judge: found for c in parts for judge, found in c.plugins.items()},
        differences=tuple(d for c in parts for d in c.differences),
        right=tuple(d for c in parts for d in c.right),
        changes=tuple(d for c in parts for d in c.changes),
        rankings={
            f"{name}.{component}": ranking
            for name, c in criteria.items()
            for component, ranking in c.rankings.items()
        },
        keep=tuple(judge for c in parts for judge in c.keep),
        kept_by=parts[0].kept_by,
        criteria=criteria,
    )


def _compare(
    tensors: Mapping[str, VerdictTensor],
    declared: Estimand,
    how: Resampling,
    *,
    noun: str,
    at_least: float | None,
) -> Comparison:
    """Compare judges on one criterion."""
    seed = how.seed
    matched = match(tensors)
    found = {name: at_depth(t, declared) for name, t in matched.tensors.items()}
    first = next(iter(found.values()))
    present = [name for name in COMPONENTS if not np.isnan(first.found[name]).any()]
    keep, kept_by = _kept(matched, found, seed)
    return Comparison(
        judges=tuple(found),
        items=len(matched.items),
        lost=matched.lost,
        depth=matched.depth,
        estimates={j: {c: float(s.found[c].mean()) for c in present} for j, s in found.items()},
        plugins={
            j: {c: float(s.found.plugin[c].mean()) for c in present} for j, s in found.items()
        },
        differences=tuple(_differences(matched, found, present, how)),
        right=tuple(_right(matched, declared, how)),
        changes=tuple(_changes(matched, found, declared, how)),
        rankings={
            c: rank_stability(matched, c, draws=how.draws, seed=seed, estimand=declared)
            for c in present
        },
        keep=keep,
        kept_by=kept_by,
        standings={
            name: standing_of(
                name,
                t,
                answer_of(t, declared, judges=len(found), seed=seed, at_least=at_least),
            )
            for name, t in matched.tensors.items()
        },
        best=best_of(matched.tensors, declared, seed=seed),
        noun=noun,
    )


def standing_of(name: str, tensor: VerdictTensor, answer: Answer) -> Standing:
    """Return one of several judges with its answer, and how it was asked."""
    N, K, O, _ = tensor.counts.shape
    low, high = tensor.depth
    return Standing(
        name=name,
        answer=answer,
        items=N,
        prompts=K,
        orders=O,
        repeats=low if low == high else (low, high),
        calls=int(tensor.counts.sum()),
    )


def _kept(
    matched: Matched, found: Mapping[str, DepthEstimates], seed: int
) -> tuple[tuple[str, ...], str]:
    """Return the judges that are not shown to be worse than another, and by what."""
    right = [accuracies(t) for t in matched.tensors.values()]
    whole = [x.mean(axis=1) for x in right if x is not None and len(x) == len(matched.items)]
    by_gold = len(whole) == len(found)
    t = np.stack(whole if by_gold else [-s.found.total for s in found.values()], axis=1)
    scales = [t.scale.unit for t in matched.tensors.values() if t.scale is not None]
    top = 1.0 if by_gold else max(scales, default=1.0)
    clusters = clusters_of(next(iter(matched.tensors.values())).clusters)
    keep, _ = not_shown_worse(np.asarray(t, dtype=float), top=top, seed=seed, clusters=clusters)
    names = tuple(name for name, kept in zip(found, keep, strict=True) if kept)
    return names, "accuracy" if by_gold else "total"


def by_prompt(tensors: Mapping[str, VerdictTensor]) -> dict[str, VerdictTensor]:
    """Return every prompt as a judge of its own, so that prompts are compared as judges are."""
    several = len(tensors) > 1
    return {
        f"{judge}: {prompt}" if several else prompt: replace(
            tensor.select(prompts=[prompt]), prompts=("prompt",)
        )
        for judge, tensor in tensors.items()
        for prompt in tensor.prompts
    }


def _differences(
    matched: Matched, found: Mapping[str, DepthEstimates], present: Sequence[str], how: Resampling
) -> list[Difference]:
    """Band all differences from the same draws, so that items are paired."""
    asked = [(a, b, c) for a, b in combinations(found, 2) for c in present]
    values = np.stack([_paired(found[a], found[b], c) for a, b, c in asked], axis=-1)
    bands = item_bands(
        values, strata=matched.strata, draws=how.draws, seed=how.seed, level=how.level
    )
    # With one prompt and one order the total is the call component: a single question.
    once = len(asked) // 2 if list(present) == ["call", "total"] else len(asked)
    bounds = {name: inferences([s])[0] for name, s in found.items()}
    differences = []
    for at, (a, b, c) in enumerate(asked):
        low, high = float(bands.low[at]), float(bands.high[at])
        differences.append(
            replace(
                _difference((a, b), c, bounds, c, level=how.level, together=once),
                plugin=float(found[a].found.plugin[c].mean() - found[b].found.plugin[c].mean()),
                band=None if np.isnan(low) or high - low <= _NO_WIDTH else (low, high),
            )
        )
    return differences


def _difference(
    pair: tuple[str, str],
    name: str,
    bounds: Mapping[str, Inference],
    contrast: Contrast,
    *,
    level: float,
    together: int,
) -> Difference:
    """Bound a component or contrast of two judges, alone and with all others of its kind."""
    shared = 1 - (1 - level) / 2 / together
    a, b = (bounds[judge] for judge in pair)
    alone, joint = (judge_difference(a, b, contrast, p=p) for p in ((1 + level) / 2, shared))
    new = item_difference(a.items, b.items, contrast, p=shared, unit=a.calls.shown.unit)
    return Difference(
        a=pair[0],
        b=pair[1],
        component=name,
        estimate=alone.estimate,
        plugin=nan,
        band=None,
        call_interval=pair_of(alone),
        simultaneous=pair_of(new),
        call_simultaneous=pair_of(joint),
    )


def _changes(
    matched: Matched, found: Mapping[str, DepthEstimates], declared: Estimand, how: Resampling
) -> Iterator[Difference]:
    """Bound how much more often the verdicts of one judge change than those of another."""
    first = next(iter(matched.tensors.values()))
    if first.scale is not None or declared.prompt_weights is not None:
        return
    K, O = len(first.prompts), len(first.orders)
    there = [c for c in CHANGES if (K > 1 or c in _NO_PROMPT) and (O > 1 or c in _NO_ORDER)]
    asked = {name: inferences([s])[0] for name, s in found.items()}
    even = asked
    if declared.order_weights is not None and O > 1:
        alike = replace(declared, order_weights=None)
        even = {n: inferences([at_depth(t, alike)])[0] for n, t in matched.tensors.items()}
    pairs = list(combinations(found, 2))
    together = len(pairs) * len(there)
    for pair in pairs:
        for change in there:
            bounds = asked if change in _NO_ORDER else even
            exact = change_contrast(change, K, O, declared.design)
            contrast = {name: float(c) for name, c in exact.items()}
            yield _difference(pair, change, bounds, contrast, level=how.level, together=together)


def _right(matched: Matched, declared: Estimand, how: Resampling) -> Iterator[Difference]:
    """Bound how much more often one judge is right than another, pair by pair."""
    merits = {name: merit_of(t) for name, t in matched.tensors.items()}
    pairs = list(combinations(matched.tensors, 2))
    shares = {
        name: _shares(matched.tensors[name], m, declared)
        for name, m in merits.items()
        if m is not None
    }
    for a, b in pairs:
        one, other = merits[a], merits[b]
        if one is None or other is None or (one.counted, one.names) != (other.counted, other.names):
            continue
        y = shares[a].means - shares[b].means
        clusters = clusters_of(matched.tensors[a].clusters)
        levels = ((1 + how.level) / 2, 1 - (1 - how.level) / 2 / len(pairs))
        new = [_new_right(y, one, clusters, p, how.seed) for p in levels]
        alone, joint = (
            share_difference(shares[a], shares[b], p=p, new=ends, weights=one.shares)
            for p, ends in zip(levels, new, strict=True)
        )
        yield Difference(
            a=a,
            b=b,
            component=RIGHT,
            estimate=alone.estimate,
            plugin=alone.estimate,
            band=None,
            call_interval=pair_of(alone),
            simultaneous=new[-1],
            call_simultaneous=pair_of(joint),
        )


def _new_right(
    y: Floats, merit: Merit, clusters: Clusters | None, p: float, seed: int
) -> Pair | None:
    """Return the ends for items like these, as the answer has them; None where it has none."""
    counted = None if clusters is None else clusters.of[merit.counted]
    if counted is not None and merit.classes is not None:
        return None
    found = mean_bounds(
        y,
        p,
        ends=(-1.0, 1.0),
        classes=merit.classes,
        weights=merit.weights,
        lone_items=len(merit.weights or ()) > PAIR,
        clusters=None if counted is None else clusters_of([str(c) for c in counted]),
        seed=seed,
    )
    return None if np.isnan(found.low) else (found.low, found.high)


def _shares(tensor: VerdictTensor, merit: Merit, declared: Estimand) -> ItemShares:
    """Return how often a judge is right on each item that counts."""
    w = weights_of("prompt", declared.prompt_weights, len(tensor.prompts), tensor.prompts)
    q = weights_of("order", declared.order_weights, len(tensor.orders), tensor.orders)
    cells = np.outer(np.asarray(w, dtype=float), np.asarray(q, dtype=float))
    return item_shares(tensor.counts[merit.counted], merit.credit, cells)


def _paired(a: DepthEstimates, b: DepthEstimates, component: str) -> Floats:
    return np.asarray(a.found[component] - b.found[component])


def _leaves_out_zero(pair: Pair | None) -> bool:
    return pair is not None and not pair[0] <= 0 <= pair[1]


def _sentences(c: Comparison) -> Iterator[str]:
    """Say what is told apart; every claim rests on the intervals that are printed."""
    screen = c.screen()
    yield f"{screen.title}: {screen.says[:1].lower()}{screen.says[1:]}"
    settled = [d for d in c.differences if d.settled]
    here = [d for d in c.differences if d.settled_here and not d.settled]
    if here:
        yield f"Differences on these items, which other items may undo: {_named_pairs(here)}."
    if settled:
        yield f"Differences that other items like these would not undo: {_named_pairs(settled)}."
    if not settled and not here:
        yield "No difference of components is settled: taken together, all intervals hold 0."
    for name, ranking in c.rankings.items():
        turned = [d for d in c.differences if d.component == name and _turned(d)]
        if turned:
            told = any(d.settled_here or d.settled for d in turned)
            yield (
                f"By {name} the plug-in ranks {ranking.plugin_in_words}, the corrected estimate "
                f"{ranking.in_words}"
                + ("." if told else "; these calls do not tell which is right.")
            )


def told_apart(c: Comparison) -> str:
    """Say which judges differ on the items asked, and whether other items may undo that.

    By what is right, where that is known, else by how often verdicts change. The intervals of all
    pairs hold together.
    """
    found = c.right or c.changes
    if len(c.judges) == PAIR:
        shown = next((d for d in found if d.settled_here), None)
        first = shown or next((d for d in found if d.call_simultaneous is not None), None)
        return "" if first is None else _of_two(first, c)
    better: dict[str, dict[str, bool]] = {}
    for d in found:
        if not d.settled_here:
            continue
        more, less = (d.a, d.b) if d.estimate > 0 else (d.b, d.a)
        known = better.setdefault(more, {})
        known[less] = known.get(less, False) or d.settled
    here = f"On these {c.items:,} items"
    if not better:
        any_known = any(d.call_simultaneous is not None for d in found)
        what = "right" if c.right else "steady"
        return f"{here} none is shown to be more {what} than another." if any_known else ""
    verb = "is right" if c.right else "changes its verdict"
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, worse in better.items():
        groups.setdefault(tuple(worse), []).append(name)
    ranked = sorted(groups.items(), key=lambda group: -len(group[0]))
    parts = [
        f"{_some(who)} {verb if len(who) == 1 else _PLURAL[verb]} more often than {_some(whom)}"
        for whom, who in ranked[:PAIR]
    ]
    rest = "" if len(ranked) <= PAIR else ", and more: --details"
    settled = [each for known in better.values() for each in known.values()]
    undo = "" if all(settled) else "; other items may undo "
    undo += "" if all(settled) else ("some of that" if any(settled) else "that")
    return f"{here} {joined(parts)}{rest}{undo}."


_PLURAL = {"is right": "are right", "changes its verdict": "change their verdicts"}
_MOST_NAMED = 3


def _some(names: Sequence[str]) -> str:
    named = [visible(name) for name in names[:_MOST_NAMED]]
    more = len(names) - len(named)
    return joined([*named, *([f"{more} more"] if more else [])])


def _of_two(d: Difference, c: Comparison) -> str:
    """Say how two judges differ on the items asked."""
    assert d.call_simultaneous is not None  # noqa: S101 - callers look first
    a, b, (low, high) = d.a, d.b, d.call_simultaneous
    if d.estimate < 0:
        a, b, low, high = b, a, -high, -low
    when = "" if d.component == RIGHT else f" {WHEN[cast('Change', d.component)]}"
    one, two = visible(a), visible(b)
    counted = "right on" if d.component == RIGHT else "changes its verdict on"
    start = f"On these {c.items:,} items {one}"
    if not d.settled_here:
        ends = f"{points_of(-low)} fewer to {points_of(high)} more of 100"
        verb = "right on" if d.component == RIGHT else "its verdict changes on"
        return f"{start} and {two} are not told apart: {one} is {verb} {ends}{when}."
    ends = f"{share(max(low, 0.0), up=False)} to {share(high, up=True)} more of 100"
    verb = "is right on" if d.component == RIGHT else counted
    undo = "" if d.settled else "; other items may undo that"
    return f"{start} {verb} {ends} than {two}{when}{undo}."


def points_of(x: float) -> str:
    """Return a share as points of 100, rounded up, never below zero."""
    return share(max(x, 0.0), up=True)


def _rights(c: Comparison) -> str:
    """Say how often each was right on the items asked, best first."""
    known = {
        name: s.answer.right.estimate
        for name, s in c.standings.items()
        if s.answer.right is not None and s.answer.span is None
    }
    if not c.right or len(known) < len(c.judges) or len(known) > _MOST_LISTED:
        return ""
    ranked = sorted(known.items(), key=lambda pair: -pair[1])
    return "Right of 100 on these items: " + ", ".join(
        f"{visible(n)} {share(x)}" for n, x in ranked
    )


_MOST_LISTED = 12


def _named_pairs(found: Sequence[Difference]) -> str:
    return "; ".join(f"{d.component} of {d.a} and {d.b}" for d in found)


def _turned(d: Difference) -> bool:
    """Whether the plug-in ranks two judges the other way round; ties are no ranking."""
    return d.estimate * d.plugin < 0 and min(abs(d.estimate), abs(d.plugin)) > _TIE
