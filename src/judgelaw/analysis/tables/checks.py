"""Checks and tests: drift, integrity, permutations, splits, other metrics, diagnostics."""

import numpy as np

from judgelaw.analysis.tables.calls import study_design
from judgelaw.analysis.tables.context import Context, Made, Row, ends, known, layer_name, with_band
from judgelaw.analysis.values import Table
from judgelaw.diagnose.drift import Drift
from judgelaw.diagnose.matching import cell_differences


def time_drift(context: Context) -> Made:
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


def integrity(context: Context) -> Made:
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


def permutation_tests(context: Context) -> Made:
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


def uncertainty_split(context: Context) -> Made:
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


def identity_check(context: Context) -> Made:
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


def other_metrics(context: Context) -> Made:
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


def diagnostics(context: Context) -> Made:
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
