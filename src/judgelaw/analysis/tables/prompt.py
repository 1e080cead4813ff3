"""Prompt estimates: every stream and depth, and judges side by side."""

from collections.abc import Sequence
from math import isnan

from judgelaw.analysis.components import banded
from judgelaw.analysis.depths import AtDepth
from judgelaw.analysis.identity import identity
from judgelaw.analysis.tables.context import Context, Made, Row, ends, layer_name, with_band
from judgelaw.analysis.values import Table
from judgelaw.diagnose.matching import Matched, match
from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS
from judgelaw.tensor import VerdictTensor

_ONE_PROMPT = "all calls share one prompt"
_PAIR = 2


def real_prompt_estimates(context: Context) -> Made:
    """Return plug-in and corrected prompt means with item bands, by stream and depth."""
    rows = tuple(
        (
            layer_name(layer),
            judge,
            depth,
            c["prompt"].plugin,
            *ends(c["prompt"].plugin_band),
            c["prompt"].estimate,
            *ends(c["prompt"].band),
        )
        for (layer, judge), found in context.found.items()
        for depth, c in found.depths.items()
        if not c["prompt"].absent
    )
    if not rows:
        return _ONE_PROMPT
    return Table(
        name="real_prompt_estimates",
        title="Prompt-instability estimates: item means with stratified whole-item bands",
        columns=("setting", "judge", "R", *with_band("plug_in"), *with_band("debiased")),
        rows=rows,
    )


def matched_judges(context: Context) -> Matched | str:
    """Put the judges of the main layer side by side, or say why that cannot be."""
    judges = context.judges()
    if len(judges) < _PAIR:
        return "the main layer has one judge"
    try:
        return match(judges)
    except InputError as error:
        return str(error)


def cross_model_summary(context: Context) -> Made:
    """Return plug-in and corrected prompt means of matched judges, and the scaled excess."""
    matched = matched_judges(context)
    if isinstance(matched, str):
        return matched
    if len(next(iter(matched.tensors.values())).prompts) == 1:
        return _ONE_PROMPT
    depths = _depths(matched)
    rows = tuple(
        _summary_row(context, judge, tensor, depths) for judge, tensor in matched.tensors.items()
    )
    pairs = [name for d in depths for name in (f"plug_in_R{d}", f"corrected_R{d}")]
    return Table(
        name="cross_model_summary",
        title=f"Prompt-instability estimates of judges matched on {len(matched.items)} items",
        columns=(
            "configuration",
            *pairs,
            *(f"scaled_excess_R{d}" for d in depths),
            f"largest_R{depths[-1]}_component",
        ),
        rows=rows,
    )


def cross_prompt(context: Context) -> Made:
    """Return plug-in, corrected and excess of matched judges at every depth."""
    matched = matched_judges(context)
    if isinstance(matched, str):
        return matched
    if len(next(iter(matched.tensors.values())).prompts) == 1:
        return _ONE_PROMPT
    depths = _depths(matched)
    rows = tuple(_cross_row(context, matched, judge, depths) for judge in matched.tensors)
    columns = ["configuration"]
    for d in depths:
        columns += [f"plug_in_R{d}", *with_band(f"corrected_R{d}"), f"excess_R{d}"]
    return Table(
        name="cross_prompt",
        title=(
            f"Prompt estimates of judges matched on {len(matched.items)} items, by depth, with "
            "item bands"
        ),
        columns=tuple(columns),
        rows=rows,
    )


def _summary_row(context: Context, judge: str, tensor: VerdictTensor, depths: Sequence[int]) -> Row:
    slices = _prefixes(context, tensor, depths)
    estimates = [
        float(values.mean())
        for s in slices
        for values in (s.found.plugin["prompt"], s.found.prompt)
    ]
    scaled = [identity(s, context.declared) for s in slices]
    macro = {c: float(slices[-1].found[c].mean()) for c in COMPONENTS[:-1]}
    largest = max((c for c in macro if not isnan(macro[c])), key=lambda c: macro[c])
    excess = (None if x is None else x.scaled_excess for x in scaled)
    return (judge, *estimates, *excess, largest)


def _cross_row(context: Context, matched: Matched, judge: str, depths: Sequence[int]) -> Row:
    own = context.found[context.main, judge]
    if own.items == len(matched.items) and set(depths) <= set(own.depths):
        found = [own.depths[d]["prompt"] for d in depths]
    else:
        slices = _prefixes(context, matched.tensors[judge], depths)
        found = [c["prompt"] for c in banded(slices, matched.strata, context.how).depths]
    cells = ((c.plugin, c.estimate, *ends(c.band), c.excess) for c in found)
    return (judge, *(cell for four in cells for cell in four))


def _prefixes(context: Context, tensor: VerdictTensor, depths: Sequence[int]) -> list[AtDepth]:
    if tensor.ranked is None:
        return [context.at(tensor)]
    return [context.at(tensor.prefix(d)) for d in depths]


def _depths(matched: Matched) -> list[int]:
    """Return the depths 2, 4, 8, ... up to the common one, which is always there."""
    depths, d = [], _PAIR
    ranked = all(t.ranked is not None for t in matched.tensors.values())
    while ranked and d < matched.depth:
        depths.append(d)
        d *= 2
    return [*depths, matched.depth]
