"""The calls themselves: outcomes, layers, unique calls, configurations, invalid outputs."""

from collections.abc import Iterable

from judgelaw.analysis.depths import depths_of
from judgelaw.analysis.tables.context import Context, Made, Row, known, layer_name
from judgelaw.analysis.values import JudgeAnalysis, Key, Table
from judgelaw.diagnose.invalid import complete_items, invalid_sensitivity
from judgelaw.diagnose.replay import overlap
from judgelaw.tensor import INVALID, VerdictTensor


def outcomes(context: Context) -> Made:
    """Return the verdicts of the main layer's judges, and how often they match gold."""
    main = {key: f for key, f in context.found.items() if key[0] == context.main}
    verdicts = _verdicts(main.values())
    return Table(
        name="outcomes",
        title="Outcomes; tie and invalid do not match a gold candidate",
        columns=("configuration", *verdicts, "gold_match_rate"),
        rows=tuple(
            (judge, *(f.outcomes.get(v, 0) for v in verdicts), f.gold_match)
            for (_, judge), f in main.items()
        ),
    )


def layers(context: Context) -> Made:
    """Return every stream with its design and outcomes."""
    verdicts = _verdicts(context.found.values())
    return Table(
        name="layers",
        title="Streams of calls and their terminal outcomes",
        columns=("layer", "role", "judge", "design", "rows", *verdicts),
        rows=tuple(
            (
                layer_name(layer),
                _role(context, layer),
                judge,
                _design(f),
                f.calls,
                *(f.outcomes.get(v, 0) for v in verdicts),
            )
            for (layer, judge), f in context.found.items()
        ),
    )


def study_design(context: Context) -> Made:
    """Return items, prompts, orders, repeats and calls of every stream, each call counted once.

    Calls that a stream shares with an earlier stream of the same judge (the same verdicts rank by
    rank, far beyond chance) are reused, not new.
    """
    keys = list(context.found)
    reused = {
        key: max((_shared(context, key, other) for other in keys[:at]), default=0)
        for at, key in enumerate(keys)
    }
    calls, again = sum(f.calls for f in context.found.values()), sum(reused.values())
    everything: Row = ("all", "", "", None, None, None, None, calls, again, calls - again)
    rows = [_design_row(context, key, reused[key]) for key in keys]
    return Table(
        name="study_design",
        title="Evidence by stream, with unique calls",
        columns=(
            "layer",
            "role",
            "judge",
            "items",
            "prompts",
            "orders",
            "max_R",
            "calls",
            "reused_calls",
            "unique_calls",
        ),
        rows=(*rows, everything),
    )


def judge_configurations(context: Context) -> Made:
    """Return the frozen configuration of every judge."""
    if not context.configurations:
        return "a calls table does not hold the configuration of its judges; a run does"
    fields = list(dict.fromkeys(f for c in context.configurations.values() for f in c))
    return Table(
        name="judge_configurations",
        title="Frozen judge configurations",
        columns=("configuration", *fields),
        rows=tuple(
            (judge, *(c.get(f) for f in fields)) for judge, c in context.configurations.items()
        ),
    )


def invalid_table(context: Context) -> Made:
    """Return the prompt component with invalid as an outcome, as a tie, and left out."""
    rows = tuple(
        _invalid_row(context, key, depth, calls)
        for key, tensor in context.tensors.items()
        if len(tensor.prompts) > 1
        for depth, calls in depths_of(tensor)
    )
    if not rows:
        return "all calls share one prompt"
    return Table(
        name="invalid_sensitivity",
        title="Prompt component under three treatments of invalid outputs",
        columns=(
            "layer",
            "configuration",
            "R",
            "invalid_rate",
            "as_outcome",
            "invalid_to_tie",
            "given_valid",
            "given_valid_items",
        ),
        rows=rows,
    )


def complete_case(context: Context) -> Made:
    """Return the items that survive requiring two valid calls in every cell, by depth."""
    rows = []
    for (layer, judge), tensor in context.tensors.items():
        for depth, calls in depths_of(tensor):
            kept, items = complete_items(calls), len(calls.items)
            rows.append((layer_name(layer), judge, depth, items, kept, items - kept))
    return Table(
        name="complete_case",
        title="Items with two valid calls in every cell",
        columns=("layer", "judge", "R", "items", "kept", "lost"),
        rows=tuple(rows),
    )


def _design_row(context: Context, key: Key, reused: int) -> Row:
    f, (layer, judge) = context.found[key], key
    axes = (f.items, f.prompts, f.orders, max(f.depths))
    counts = (f.calls, reused, f.calls - reused)
    return (layer_name(layer), _role(context, layer), judge, *axes, *counts)


def _invalid_row(context: Context, key: Key, depth: int, calls: VerdictTensor) -> Row:
    declared = context.declared
    found = invalid_sensitivity(calls, design=declared.design, order_weights=declared.order_weights)
    start = (layer_name(key[0]), key[1], depth)
    if found is None:
        own = float(context.decompose(calls).prompt.mean())
        return (*start, 0.0, own, own, own, len(calls.items))
    valid = None if found.if_valid is None else known(found.if_valid["prompt"])
    three = (found.as_outcome["prompt"], found.as_tie["prompt"], valid)
    return (*start, found.rate, *three, found.kept)


def _verdicts(found: Iterable[JudgeAnalysis]) -> list[str]:
    names = dict.fromkeys(v for f in found for v in f.outcomes)
    return [v for v in names if v != INVALID] + [v for v in names if v == INVALID]


def _role(context: Context, layer: str | None) -> str:
    return "" if layer is None else context.roles.get(layer, "")


def _design(f: JudgeAnalysis) -> str:
    R = f.repeats
    depth = f"{R[0]}-{R[1]}" if isinstance(R, tuple) else str(R)
    return f"{f.items} x {f.prompts} x {f.orders} x {depth}"


def _shared(context: Context, key: Key, other: Key) -> int:
    """Return the calls of a stream that are those of another stream of the same judge."""
    if key[1] != other[1]:
        return 0
    return shared_calls(context.tensors[key], context.tensors[other])


def shared_calls(a: VerdictTensor, b: VerdictTensor) -> int:
    """Count the calls that two streams share, rank by rank; 0 unless all common ones agree."""
    found = overlap(a, b)
    return found.calls if found is not None and found.copied else 0
