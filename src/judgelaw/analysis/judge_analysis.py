"""The complete analysis of one judge in one layer, and the warnings that go with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import nan
from typing import Any

import numpy as np

from judgelaw.analysis.answer import Answer, Rate, decide
from judgelaw.analysis.catalogue import measured
from judgelaw.analysis.changes import change_rates
from judgelaw.analysis.components import ComponentsByDepth, banded, of_factors, of_stratum
from judgelaw.analysis.facet_values import (
    Identity,
    ItemValues,
    PromptDistances,
)
from judgelaw.analysis.measures.agreement import unanimous_cells
from judgelaw.analysis.outcomes import (
    count_outcomes,
    identity,
    order_direction,
    other_metrics,
    prompt_leans,
    slot_choices,
    slot_preferences,
)
from judgelaw.analysis.score_answers import ScoreAnswers, score_answers
from judgelaw.analysis.soft_evidence import (
    SoftEvidence,
    SoftMode,
    as_soft,
    may_estimate,
    soft_evidence,
)
from judgelaw.analysis.values import JudgeAnalysis, Key
from judgelaw.analysis.wrong_verdicts import right_by_prompt, wrong_verdicts
from judgelaw.arrays import PAIR, Floats
from judgelaw.decide import choose_prompts
from judgelaw.estimate import COMPONENTS, prompt_distances, weights_of
from judgelaw.quantities import (
    ABSENT,
    Components,
    Estimate,
    Quantity,
    Row,
    number,
    rows_of,
    rows_of_judge,
)
from judgelaw.steps import Advance, within
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    MIN_PROMPTS,
    MIN_REPEATS,
    DepthEstimates,
    ErrorSplit,
    Estimand,
    Facet,
    Interval,
    MovedItems,
    PermutationTest,
    Resampling,
    at_depth,
    factor_parts,
    moved_items,
    nested,
    permutation_test,
    prompt_projection,
    soft_at_depth,
    soft_nested,
)
from judgelaw.words import is_permutation

_FACETS = (("prompt", "prompt"), ("order", "answer order"))


def warnings(
    tensor: VerdictTensor,
    full: DepthEstimates,
    prefixes: Sequence[DepthEstimates],
    overall: ComponentsByDepth,
    estimand: Estimand,
) -> tuple[str, ...]:
    """Collect what these calls cannot say, and what was left out on the way."""
    return (
        *tensor.notes,
        *_facets(full, single=tensor.single),
        *_slots(tensor),
        *_unanimous(tensor),
        *_repeats(tensor),
        *_calls(full),
        *_bands(overall),
        *_few_items(overall),
        *_prefixes(full, prefixes),
        *_sampled(full, estimand),
    )


def _slots(tensor: VerdictTensor) -> Iterator[str]:
    """Say why no preference for a slot is shown where several candidates are."""
    orders, n = tensor.orders, len(tensor.orders[0])
    several = all(is_permutation(order.upper()) for order in orders) and n > PAIR
    if several and slot_choices(tensor) is None:
        yield (
            f"whether a displayed slot is favoured is not known: these {len(orders)} orders do not "
            f"show all {n} candidates equally often in every slot; write orders: cyclic, or "
            f"{{sample: {n}}}"
        )


def _facets(full: DepthEstimates, *, single: bool) -> Iterator[str]:
    if single:
        if full.facets[0] == 1:
            yield (
                "the prompt facet is absent: all calls share one prompt, so its component is not "
                "known (it is not 0)"
            )
        return
    for (facet, words), levels in zip(_FACETS, full.facets, strict=True):
        if levels == 1:
            yield (
                f"the {facet} facet is absent: all calls share one {words}, so its component and "
                "the interaction are not known (they are not 0)"
            )


def _unanimous(tensor: VerdictTensor) -> Iterator[str]:
    if unanimous_cells(tensor) == 1:
        yield (
            "near-deterministic: all calls of every cell agree, so corrected and plug-in coincide; "
            "that call noise is zero is not shown by these calls, and its interval says how much "
            "there may be"
        )


def _repeats(tensor: VerdictTensor) -> Iterator[str]:
    low, high = tensor.depth
    if low != high:
        yield (
            f"cells hold {low} to {high} calls: every estimate stays unbiased, but depths are not "
            "comparable cell by cell"
        )
    if tensor.ranked is None:
        yield "repeat ranks are not known: no nested depths, and no diagnostics of repeats"


def _calls(full: DepthEstimates) -> Iterator[str]:
    low, _ = full.repeats
    if low < MIN_REPEATS and not full.errors.exact:
        yield (
            f"a cell holds {low} calls: below {MIN_REPEATS} the call variance has no unbiased "
            "estimate, and call intervals at a nominal 95% were measured to hold in 91% of cases "
            "or more"
        )


def _few_items(overall: ComponentsByDepth) -> Iterator[str]:
    if (reason := overall.inference.refusal("total", "new")) is not None:
        yield f"no interval for new items: {reason}"


def _bands(overall: ComponentsByDepth) -> Iterator[str]:
    if overall.reason is not None:
        yield f"no bootstrap band: {overall.reason}"


def _prefixes(full: DepthEstimates, prefixes: Sequence[DepthEstimates]) -> Iterator[str]:
    for s in prefixes:
        lost = len(full.items) - len(s.items)
        if lost:
            yield (
                f"depth {s.depth} rests on {len(s.items)} of {len(full.items)} "
                f"items: {lost} have no two calls in every cell below rank {s.depth}"
            )


def _sampled(full: DepthEstimates, estimand: Estimand) -> Iterator[str]:
    if estimand.design == "sampled" and full.drawn is not None:
        yield (
            "prompts were drawn: intervals cover the drawing of prompts too, bands hold the drawn "
            "prompts fixed"
        )


STEPS = 1000
"""Of the bar of an analysis, for each of its stages and each permutation test."""

_FACET_AXES: tuple[tuple[Facet, int], ...] = (("prompt", 1), ("order", 2))


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked of the analysis, and how many judges share its claims."""

    estimand: Estimand
    how: Resampling
    permutations: int
    judges: int = 1
    at_least: float | None = None
    soft: SoftMode = "auto"
    advance: Advance = lambda _: None


def analyze_judge(name: str, tensor: VerdictTensor, request: Request) -> JudgeAnalysis:
    """Estimate all that the calls of one judge in one layer say.

    Permutation tests are made apart, by `permutation_tests`.

    Raises:
        NotIdentifiedError: a cell holds a single call.
    """
    estimand, how = request.estimand, request.how
    sampled = _sampled_estimates(tensor, request)
    found, soft = _chosen(tensor, sampled, request)
    known = found.overall.inference
    changes = change_rates(tensor, known, estimand, how, soft=found is not sampled)
    choice = choose_prompts(tensor, order_weights=estimand.order_weights, seed=how.seed)
    parts = factor_parts(tensor, estimand)
    scores = score_answers(tensor, how.level)
    rows = [
        *(row for depth, each in found.depths.items() for row in rows_of("depths", each, depth)),
        *_strata(found.full, how.level),
        *(() if parts is None else rows_of("factors", of_factors(parts, sampled.full, how))),
        *_of_soft(soft),
        *rows_of("changes", changes),
        *_facts(tensor, scores, request),
    ]
    return JudgeAnalysis(
        **_design(tensor),
        quantities=rows_of_judge(name, tensor.layer, rows),
        name=name,
        permutation={},
        split=_splits(found.full),
        lead=found.overall.lead,
        item_values=_item_values(found.full, tensor),
        warnings=(
            *warnings(tensor, found.full, found.prefixes, found.overall, estimand),
            *_not_used(soft),
        ),
        evidence="soft" if soft is not None and soft.used else "sampled",
        soft=soft,
        prompt_distances=_distances(tensor, estimand),
        order_direction=order_direction(tensor, how.level),
        slots=slot_preferences(tensor, how.level),
        factor_levels={} if parts is None else parts.levels,
        projection=_projection(tensor, request),
        other_metrics=other_metrics(tensor, sampled.full),
        scores=scores,
        prompt_leans=prompt_leans(tensor, how.level),
        by_prompt=choice.rows,
        identity=_identities((*sampled.prefixes, sampled.full), estimand),
        answer=_answer(tensor, request),
    )


def _design(tensor: VerdictTensor) -> dict[str, Any]:
    """Return who was asked, how often."""
    (low, high), (items, prompts, orders, _) = tensor.depth, tensor.counts.shape
    return {
        "layer": tensor.layer,
        "items": items,
        "prompts": prompts,
        "orders": orders,
        "repeats": low if low == high else (low, high),
        "calls": int(tensor.counts.sum()),
        "single": tensor.single,
    }


def _facts(tensor: VerdictTensor, scores: ScoreAnswers | None, request: Request) -> Iterator[Row]:
    """Yield what holds for any number of calls in a cell."""
    outcomes = {verdict: number(n) for verdict, n in count_outcomes(tensor).items()}
    yield from rows_of("outcomes", outcomes)
    yield from rows_of("figures", measured(tensor))
    yield from rows_of("errors", wrong_verdicts(tensor, request.estimand))
    right = right_by_prompt(tensor, request.estimand, request.how.level, seed=request.how.seed)
    yield from rows_of("right_by_prompt", right)
    for name, prompt, found in scores.quantities() if scores is not None else ():
        yield from rows_of("scores", {name: found}, prompt)


def _of_soft(soft: SoftEvidence | None) -> Iterator[Row]:
    """Yield what stands beside the evidence that answers."""
    if soft is not None:
        yield from rows_of("sampled", soft.sampled)
        for depth, found in soft.depths.items():
            yield from rows_of("soft", found, depth)


def _answer(tensor: VerdictTensor, request: Request) -> Answer:
    return decide(
        tensor,
        request.estimand,
        judges=request.judges,
        seed=request.how.seed,
        at_least=request.at_least,
    )


ONE_CALL = (
    "one call in each cell: chance cannot be told from prompt and order, so how often a verdict "
    "changes when just asked again, and the components, are not known (they are not 0)"
)


def one_call_judge(name: str, tensor: VerdictTensor, request: Request) -> JudgeAnalysis:
    """Return what one call in each cell tells: right, swap and reword, with chance in them."""
    level = request.how.level
    answer, scores = _answer(tensor, request), score_answers(tensor, level)
    changes = {
        change: ABSENT if rate is None else Quantity({"estimate": _as_estimate(rate)})
        for change, rate in answer.changes.items()
    }
    rows = [
        *rows_of("depths", dict.fromkeys(COMPONENTS, ABSENT), 1),
        *rows_of("changes", changes),
        *_facts(tensor, scores, request),
    ]
    nowhere = np.full((len(tensor.items), len(COMPONENTS)), np.nan)
    return JudgeAnalysis(
        **_design(tensor),
        quantities=rows_of_judge(name, tensor.layer, rows),
        name=name,
        permutation={facet: None for facet, _ in _FACET_AXES},
        split={},
        lead=None,
        item_values=ItemValues(
            items=tensor.items,
            strata=tensor.strata,
            estimates=nowhere,
            plugin=nowhere,
            call_variance=None,
            moved=_moved(tensor),
        ),
        prompt_distances=None,
        order_direction=order_direction(tensor, level),
        prompt_leans=(),
        slots=(),
        factor_levels={},
        by_prompt=(),
        projection=None,
        other_metrics=(),
        identity=(),
        warnings=(*tensor.notes, ONE_CALL),
        scores=scores,
        answer=answer,
    )


def _as_estimate(rate: Rate) -> Estimate:
    low, high = (nan if end is None else end for end in (rate.low, rate.high))
    return Estimate(estimate=rate.estimate, low=low, high=high)


@dataclass(frozen=True, kw_only=True)
class _Estimates:
    """The components of one kind of evidence at every depth."""

    full: DepthEstimates
    prefixes: tuple[DepthEstimates, ...]
    overall: ComponentsByDepth
    depths: Mapping[int, Components]

    @property
    def components(self) -> Components:
        """At the full depth."""
        return self.depths[self.full.depth]


def _sampled_estimates(tensor: VerdictTensor, request: Request) -> _Estimates:
    full = at_depth(tensor, request.estimand)
    prefixes = tuple(nested(tensor, request.estimand))
    overall, depths = _all_depths(full, prefixes, request.how)
    return _Estimates(full=full, prefixes=prefixes, overall=overall, depths=depths)


def _chosen(
    tensor: VerdictTensor, sampled: _Estimates, request: Request
) -> tuple[_Estimates, SoftEvidence | None]:
    """Return the estimates to answer with, and what token probabilities say, where there are."""
    if not may_estimate(tensor, request.estimand, request.soft):
        return sampled, None
    full = soft_at_depth(tensor, request.estimand)
    prefixes = tuple(soft_nested(tensor, request.estimand))
    overall, known = _all_depths(full, prefixes, request.how)
    depths = {at.depth: as_soft(known[at.depth], at) for at in (*prefixes, full)}
    soft = _Estimates(full=full, prefixes=prefixes, overall=overall, depths=depths)
    found = soft_evidence(
        tensor,
        full,
        depths,
        sampled.components,
        seed=request.how.seed,
        soft=request.soft,
    )
    return (soft if found.used else sampled), found


def _not_used(soft: SoftEvidence | None) -> Iterator[str]:
    if soft is not None and soft.reason is not None:
        yield f"token probabilities are there and were not used: {soft.reason}"


def _identities(slices: Sequence[DepthEstimates], estimand: Estimand) -> tuple[Identity, ...]:
    return tuple(found for s in slices if (found := identity(s, estimand)) is not None)


def _all_depths(
    full: DepthEstimates, prefixes: Sequence[DepthEstimates], how: Resampling
) -> tuple[ComponentsByDepth, Mapping[int, Components]]:
    """Band the depths that share the items of the full table together, the others alone."""
    together = [s for s in prefixes if s.items == full.items] + [full]
    overall = banded(together, full.strata, how)
    found = {s.depth: c for s, c in zip(together, overall.depths, strict=True)}
    for s in prefixes:
        if s.depth not in found:
            found[s.depth] = banded([s], s.strata, how).depths[0]
    return overall, {depth: found[depth] for depth in sorted(found)}


def tests_of(tensor: VerdictTensor, permutations: int) -> list[Facet]:
    """Return the facets whose levels are shuffled: those that have several."""
    varied = [facet for facet, axis in _FACET_AXES if tensor.counts.shape[axis] > 1]
    return varied if permutations else []


def permutation_tests(
    tensors: Mapping[Key, VerdictTensor], request: Request
) -> dict[Key, dict[str, PermutationTest | None]]:
    """Test every facet of every stream; None where a facet is absent or no shuffle was asked."""
    return {key: _permutations(tensor, request) for key, tensor in tensors.items()}


def _permutations(tensor: VerdictTensor, request: Request) -> dict[str, PermutationTest | None]:
    found: dict[str, PermutationTest | None] = {facet: None for facet, _ in _FACET_AXES}
    for facet in tests_of(tensor, request.permutations):
        found[facet] = permutation_test(
            tensor,
            facet,
            draws=request.permutations,
            seed=request.how.seed,
            order_weights=request.estimand.order_weights,
            progress=within(request.advance, share=STEPS, of=request.permutations),
        )
    return found


def _splits(full: DepthEstimates) -> dict[str, ErrorSplit]:
    if not full.errors.exact:
        return {}
    return {name: full.errors.split(name) for name in COMPONENTS}


def _strata(full: DepthEstimates, level: float) -> Iterator[Row]:
    for name in sorted(set(full.strata or ())):
        yield from rows_of("strata", of_stratum(full, name, level), name)


def _item_values(full: DepthEstimates, tensor: VerdictTensor) -> ItemValues:
    variance = None
    if full.errors.exact:
        variance = np.stack([full.errors.variances(name) for name in COMPONENTS], axis=-1)
    return ItemValues(
        items=full.items,
        strata=full.strata,
        estimates=_columns(full.found),
        plugin=_columns(full.found.plugin),
        call_variance=variance,
        moved=_moved(tensor),
    )


def _moved(tensor: VerdictTensor) -> dict[str, MovedItems]:
    """Return which items each facet moves; a facet pooled over all others."""
    facets = {"prompt": (2, tensor.prompts), "order": (1, tensor.orders)}
    return {
        name: moved_items(tensor.counts.sum(axis=other), levels)
        for name, (other, levels) in facets.items()
        if len(levels) > 1
    }


def _columns(found: Mapping[str, Floats]) -> Floats:
    return np.stack([found[name] for name in COMPONENTS], axis=-1)


def _distances(tensor: VerdictTensor, estimand: Estimand) -> PromptDistances | None:
    if len(tensor.prompts) == 1:
        return None
    q = weights_of("order", estimand.order_weights, len(tensor.orders), tensor.orders)
    squared = prompt_distances(tensor, order_weights=q).mean(axis=0)
    return PromptDistances(prompts=tensor.prompts, squared=squared)


def _projection(tensor: VerdictTensor, request: Request) -> Interval | None:
    """Return the interval that covers the drawing of prompts, where prompts were drawn."""
    if request.estimand.design != "sampled" or len(tensor.prompts) < MIN_PROMPTS:
        return None
    found = prompt_projection(tensor, order_weights=request.estimand.order_weights)
    return found.interval(level=request.how.level)
