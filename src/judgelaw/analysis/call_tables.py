"""Tables of calls and of checks: outcomes, layers, configurations, drift, tests."""

from collections.abc import Iterable

import numpy as np

from judgelaw.analysis.component_tables import (
    Context,
    Row,
    TableOrReason,
    ends,
    known,
    layer_name,
    with_band,
)
from judgelaw.analysis.values import JudgeAnalysis, Key, Table
from judgelaw.diagnose import Drift, cell_differences, complete_items, invalid_sensitivity, overlap
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import depths_of


def outcomes(context: Context) -> TableOrReason:
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


def layers(context: Context) -> TableOrReason:
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


def study_design(context: Context) -> TableOrReason:
    """Return items, prompts, orders, repeats and calls of every stream, each call counted once.

    Calls that a stream shares with an earlier stream of the same judge (the same verdicts rank by
    rank, far beyond chance) are reused, not new.
    """
    keys = sorted(context.found, key=lambda key: key in context.reused)  # what made them first
    reused = {
        key: max((_shared(context, key, other) for other in keys[:at]), default=0)
        for at, key in enumerate(keys)
    }
    calls, again = sum(f.calls for f in context.found.values()), sum(reused.values())
    everything: Row = ("all", "", "", None, None, None, None, calls, again, calls - again)
    rows = [_design_row(context, key, reused[key]) for key in context.found]
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


def judge_configurations(context: Context) -> TableOrReason:
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


def invalid_table(context: Context) -> TableOrReason:
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


def complete_case(context: Context) -> TableOrReason:
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
    found = invalid_sensitivity(calls, context.estimand)
    start = (layer_name(key[0]), key[1], depth)
    if found is None:
        own = float(context.decompose(calls).prompt.mean())
        return (*start, 0.0, own, own, own, len(calls.items))
    valid = None if found.if_valid is None else known(found.if_valid["prompt"])
    as_tie = None if found.as_tie is None else found.as_tie["prompt"]
    three = (found.as_outcome["prompt"], as_tie, valid)
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
    if context.reused.get(key) == other:
        return context.found[key].calls
    return shared_calls(context.tensors[key], context.tensors[other])


def shared_calls(a: VerdictTensor, b: VerdictTensor) -> int:
    """Count the calls that two streams share, rank by rank; 0 unless all common ones agree."""
    found = overlap(a, b)
    return found.calls if found is not None and found.copied else 0


def time_drift(context: Context) -> TableOrReason:
    """Return slopes of same-cell agreement on rank gap and on log(1 + seconds)."""
    rows = [
        (
            layer_name(layer),
            judge,
            *_slope(drift.rank),
            *_slope(drift.time),
            known(context.spans.get((layer, judge), np.nan)),
        )
        for (layer, judge), drift in context.drift.items()
        if drift.rank is not None or drift.time is not None
    ]
    if not rows:
        return "no stream has three ranked repeats, or times of calls"
    return Table(
        name="time_drift",
        title="Dependence diagnostics: slopes of same-cell agreement, with item bands",
        columns=(
            "layer",
            "judge",
            *with_band("rank_gap_slope"),
            *with_band("log_seconds_slope"),
            "time_span_s",
        ),
        rows=tuple(rows),
    )


def integrity(context: Context) -> TableOrReason:
    """Return what was checked on the way to these numbers, and that no network was used."""
    design = study_design(context)
    calls = f"{design.rows[-1][-1]:,}" if isinstance(design, Table) else "unknown"
    rows: list[Row] = [("Unique calls analysed", calls)]
    for (layer, judge), f in context.found.items():
        full = f.calls == f.items * f.prompts * f.orders * max(f.depths)
        what = "complete" if full else "complete cells of unequal depth"
        rows.append((f"{judge} {layer_name(layer)}".strip() + " rows", f"{f.calls:,}, {what}"))
    rows += _design_cells(context)
    gaps = [i.largest_gap for f in context.found.values() for i in f.identity]
    if gaps:
        rows.append(
            ("Largest departure from the sample identity of plug-in excess", f"{max(gaps):.1e}")
        )
    rows += [(check, result) for check, result in context.integrity]
    rows.append(("Model or network activity during the analysis", "none"))
    return Table(
        name="integrity",
        title="Integrity of the analysed calls",
        columns=("check", "result"),
        rows=tuple(rows),
    )


def permutation_tests(context: Context) -> TableOrReason:
    """Return the permutation tests of one law across prompts and across orders."""
    rows = tuple(
        (
            layer_name(layer),
            judge,
            facet,
            test.statistic,
            known(test.p),
            test.draws,
            test.hypothesis,
        )
        for (layer, judge), f in context.found.items()
        for facet, test in f.permutation.items()
        if test is not None
    )
    if not rows:
        return "no permutations were asked for, or no facet varies"
    return Table(
        name="permutation_tests",
        title="Permutation tests of one law",
        columns=("layer", "judge", "facet", "statistic", "p", "draws", "hypothesis"),
        rows=rows,
    )


def uncertainty_split(context: Context) -> TableOrReason:
    """Return where the error of every macroaverage comes from, and how reliable items are."""
    rows = tuple(
        (
            layer_name(layer),
            judge,
            name,
            known(s.call),
            known(s.item),
            known(s.total),
            known(s.reliability),
        )
        for (layer, judge), f in context.found.items()
        for name, s in f.split.items()
    )
    if not rows:
        return "no stream has four repeats in every cell"
    return Table(
        name="uncertainty_split",
        title="Variance of macroaverages by source, and reliability of single items",
        columns=(
            "layer",
            "judge",
            "component",
            "call_variance",
            "item_variance",
            "total_variance",
            "item_reliability",
        ),
        rows=rows,
    )


def identity_check(context: Context) -> TableOrReason:
    """Return R (plug-in - corrected) beside the rescaled call component."""
    rows = tuple(
        (
            layer_name(layer),
            judge,
            i.depth,
            i.scaled_excess,
            i.factor,
            i.rescaled_call,
            i.largest_gap,
        )
        for (layer, judge), f in context.found.items()
        for i in f.identity
    )
    if not rows:
        return "the identity needs two prompts, equal repeats and equal weights"
    return Table(
        name="identity_check",
        title="Plug-in excess times R is rescaled call disagreement, in every sample",
        columns=("layer", "judge", "R", "scaled_excess", "factor", "rescaled_call", "largest_gap"),
        rows=rows,
    )


def other_metrics(context: Context) -> TableOrReason:
    """Return what other metrics say of the same calls, and their share of call noise."""
    rows = tuple(
        (layer_name(layer), judge, m.label, m.value, known(m.call_noise), m.note)
        for (layer, judge), f in context.found.items()
        for m in f.other_metrics
        if known(m.value) is not None
    )
    return Table(
        name="other_metrics",
        title="Other metrics on the same calls",
        columns=("layer", "judge", "metric", "value", "call_noise_share", "what_it_compares"),
        rows=rows,
    )


def diagnostics(context: Context) -> TableOrReason:
    """Return every finding in words."""
    return Table(
        name="diagnostics",
        title="Diagnostics",
        columns=("diagnostic", "about", "verdict", "found", "advice"),
        rows=tuple((f.name, f.subject, f.verdict, f.headline, f.advice) for f in context.findings),
    )


def _slope(drift: Drift | None) -> Row:
    if drift is None:
        return (None,) * 3
    return (known(drift.slope.estimate), *ends(drift.slope.band))


def _design_cells(context: Context) -> list[Row]:
    judges = list(context.judges().items())
    if len(judges) < 2:  # noqa: PLR2004 - nothing to compare
        return []
    first_name, first = judges[0]
    return [
        (
            f"Design cells of {name} that differ from those of {first_name}",
            str(cell_differences(first, t)),
        )
        for name, t in judges[1:]
    ]
