"""The complete analysis of one judge in one layer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from judgelaw.analysis.components import Banded, Resampling, banded, of_stratum
from judgelaw.analysis.depths import AtDepth, Declaration, at_depth, nested
from judgelaw.analysis.identity import identity
from judgelaw.analysis.metrics import other_metrics
from judgelaw.analysis.outcomes import (
    gold_match,
    order_direction,
    outcomes,
    prompt_leans,
    unanimous_cells,
)
from judgelaw.analysis.sentence import sentence
from judgelaw.analysis.values import (
    Components,
    Floats,
    ItemValues,
    JudgeAnalysis,
    PromptDistances,
)
from judgelaw.analysis.warn import warnings
from judgelaw.estimate import COMPONENTS, prompt_distances
from judgelaw.estimate.weights import weights_of
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty.calls import ErrorSplit
from judgelaw.uncertainty.permutation import PermutationTest, permutation_test
from judgelaw.uncertainty.projection import MIN_PROMPTS, prompt_projection
from judgelaw.uncertainty.results import Interval
from judgelaw.uncertainty.shuffle import Facet

Progress = Callable[[str, int, int], None]
"""Called with what is going on, the steps done, and all steps."""

_FACET_AXES: tuple[tuple[Facet, int], ...] = (("prompt", 1), ("order", 2))


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked of the analysis."""

    declared: Declaration
    how: Resampling
    permutations: int
    progress: Progress | None = None


def analyze_judge(name: str, tensor: VerdictTensor, request: Request) -> JudgeAnalysis:
    """Estimate everything that the calls of one judge in one layer say.

    Raises:
        NotIdentifiedError: a cell holds a single call.
    """
    full = at_depth(tensor, request.declared)
    prefixes = tuple(nested(tensor, request.declared))
    overall, depths = _all_depths(full, prefixes, request.how)
    components = depths[full.depth]
    leans = prompt_leans(tensor, request.how.level)
    seen, calls = outcomes(tensor), int(tensor.counts.sum())
    low, high = tensor.depth
    n, k, o, _ = tensor.counts.shape
    return JudgeAnalysis(
        name=name,
        layer=tensor.layer,
        items=n,
        prompts=k,
        orders=o,
        repeats=low if low == high else (low, high),
        calls=calls,
        components=components,
        depths=depths,
        outcomes=seen,
        gold_match=gold_match(tensor),
        permutation=_permutations(name, tensor, request),
        split=_splits(full),
        lead=overall.lead,
        strata=_strata(full, request.how.level),
        item_values=_item_values(full),
        prompt_distances=_distances(tensor, request.declared),
        order_direction=order_direction(tensor, request.how.level),
        prompt_leans=leans,
        projection=_projection(tensor, request),
        other_metrics=other_metrics(tensor, full),
        identity=tuple(
            found for s in (*prefixes, full) if (found := identity(s, request.declared)) is not None
        ),
        unanimous_cells=unanimous_cells(tensor),
        sentence=sentence(
            components,
            overall.inference,
            overall.lead,
            leans=leans,
            invalid=seen.get(INVALID, 0) / calls,
        ),
        warnings=warnings(tensor, full, prefixes, overall, request.declared),
    )


def _all_depths(
    full: AtDepth, prefixes: Sequence[AtDepth], how: Resampling
) -> tuple[Banded, Mapping[int, Components]]:
    """Band the depths that share the items of the full table together, the others alone."""
    together = [s for s in prefixes if s.items == full.items] + [full]
    overall = banded(together, full.strata, how)
    found = {s.depth: c for s, c in zip(together, overall.depths, strict=True)}
    for s in prefixes:
        if s.depth not in found:
            found[s.depth] = banded([s], s.strata, how).depths[0]
    return overall, {depth: found[depth] for depth in sorted(found)}


def _permutations(
    name: str, tensor: VerdictTensor, request: Request
) -> dict[str, PermutationTest | None]:
    found: dict[str, PermutationTest | None] = {}
    for facet, axis in _FACET_AXES:
        found[facet] = None
        if request.permutations and tensor.counts.shape[axis] > 1:
            found[facet] = permutation_test(
                tensor,
                facet,
                draws=request.permutations,
                seed=request.how.seed,
                order_weights=request.declared.order_weights,
                progress=_step(f"{_label(name, tensor)}: permuting {facet}s", request.progress),
            )
    return found


def _step(label: str, progress: Progress | None) -> Callable[[int, int], None] | None:
    return None if progress is None else lambda done, of: progress(label, done, of)


def _label(name: str, tensor: VerdictTensor) -> str:
    return name if tensor.layer is None else f"{name} / {tensor.layer}"


def _splits(full: AtDepth) -> dict[str, ErrorSplit]:
    if not full.errors.exact:
        return {}
    return {name: full.errors.split(name) for name in COMPONENTS}


def _strata(full: AtDepth, level: float) -> dict[str, Components]:
    names = sorted(set(full.strata or ()))
    return {name: of_stratum(full, name, level) for name in names}


def _item_values(full: AtDepth) -> ItemValues:
    variance = None
    if full.errors.exact:
        variance = np.stack([full.errors.variances(name) for name in COMPONENTS], axis=-1)
    return ItemValues(
        items=full.items,
        strata=full.strata,
        estimates=_columns(full.found),
        plugin=_columns(full.found.plugin),
        call_variance=variance,
    )


def _columns(found: Mapping[str, Floats]) -> Floats:
    return np.stack([found[name] for name in COMPONENTS], axis=-1)


def _distances(tensor: VerdictTensor, declared: Declaration) -> PromptDistances | None:
    if len(tensor.prompts) == 1:
        return None
    q = weights_of("order", declared.order_weights, len(tensor.orders), tensor.orders)
    squared = prompt_distances(tensor.counts, order_weights=q).mean(axis=0)
    return PromptDistances(prompts=tensor.prompts, squared=squared)


def _projection(tensor: VerdictTensor, request: Request) -> Interval | None:
    """Return the interval that covers the drawing of prompts, where prompts were drawn."""
    if request.declared.design != "sampled" or len(tensor.prompts) < MIN_PROMPTS:
        return None
    found = prompt_projection(tensor, order_weights=request.declared.order_weights)
    return found.interval(level=request.how.level)
