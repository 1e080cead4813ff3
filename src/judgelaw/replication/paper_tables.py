"""Every empirical figure of the paper, in what `analyze` says of these calls.

A published row names what it speaks of; a function here finds the same figures in the analysis.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from judgelaw.analysis import count_outcomes
from judgelaw.diagnose import TAU, Finding as Diagnostic, rank_drift, time_drift, time_span
from judgelaw.replication.arithmetic import PARTS
from judgelaw.replication.corpus import JUDGES, PANEL_REPEATS, QWEN, Corpus
from judgelaw.replication.paper_parts import AnalysedParts, analyse_parts, complete_ranks
from judgelaw.replication.published_numbers import (
    AXES,
    Finding,
    Row,
    Span,
    held,
    published,
    row_name,
    stated,
)
from judgelaw.tensor import INVALID
from judgelaw.uncertainty import Resampling, item_bands

Band = tuple[float, float]
Value = float | str | Band | None
Values = Mapping[str, Value]
"""By column of a published table; a column that is missing cannot be had from these calls."""

DEPTHS = {"control": 8, "evaluation": 8, "reference": 16, "broad": 4}
_VERDICTS = ("candidate_1", "candidate_2", "tie", INVALID)
Recompute = Callable[["Analysed", Row], Values]


@dataclass(frozen=True, kw_only=True, eq=False)
class Analysed(AnalysedParts):
    """The corpus with what `analyze` says of it."""

    corpus: Corpus


def _analysed(corpus: Corpus, how: Resampling) -> Analysed:
    """Analyse the corpus at the depths of the paper, every cell of a stream at the same depth."""
    cut = {part: complete_ranks(t, DEPTHS[part]) for part, t in corpus.layers.items()}
    layers = {part: tensor for part, tensor in cut.items() if tensor is not None}
    if "reference" in layers and layers["reference"].depth[0] < DEPTHS["reference"]:
        del layers["reference"]
    found = analyse_parts(layers, corpus.panel, judge=QWEN, how=how)
    return Analysed(corpus=corpus, **vars(found))


def _layer_outcomes(of: Analysed, row: Row) -> Values:
    tensor = of.corpus.layers.get(row["layer"])
    if tensor is None:
        return {}
    return {"rows": str(int(tensor.counts.sum())), **_outcomes(count_outcomes(tensor))}


def _outcomes(found: Mapping[str, int]) -> dict[str, Value]:
    return {name: str(found.get(name, 0)) for name in _VERDICTS}


def _prompt_estimates(of: Analysed, row: Row) -> Values:
    c = of.component(row["layer"], row["repeats"], "prompt")
    if c is None:
        return {}
    plugin: Values = {"plugin": c.plugin, "plugin_band": c.plugin_band}
    return {**plugin, "debiased": c.estimate, "debiased_band": c.band}


def _layer_components(of: Analysed, row: Row) -> Values:
    c = of.component(row["layer"], row["repeats"], row["component"])
    return {} if c is None else {"estimate": c.estimate, "band": c.band}


@dataclass(frozen=True)
class _From:
    """Figures that stand in a table of the analysis.

    Attributes:
        table: its name.
        key: columns of it that name the row, with the published columns that they equal.
        columns: published columns, with those that they come from; bands follow by themselves.
        layer: the only layer that the published table speaks of, None where it names it itself.
    """

    table: str
    key: Mapping[str, str]
    columns: Mapping[str, str]
    layer: str | None = None

    def __call__(self, of: Analysed, row: Row) -> Values:
        found = next((r for r in of.rows(self.table) if self._names(r, row)), None)
        if found is None:
            return {}
        values: dict[str, Value] = {}
        for column, ours in self.columns.items():
            value = found[ours]
            values[column] = str(value) if isinstance(value, int) else value
            if (low := found.get(f"{ours}_low")) is not None:
                values[f"{column}_band"] = (low, found[f"{ours}_high"])
        if "estimate" in values:
            values["interval"] = values.get("estimate_band")
        return values

    def _names(self, ours: Mapping[str, Any], row: Row) -> bool:
        if self.layer is not None and ours["layer"] != self.layer:
            return False
        return all(str(ours[own]) == row[theirs] for own, theirs in self.key.items())


def _drift(of: Analysed, row: Row) -> Values:
    """Return the slopes over all calls that were made; those on time where times are known."""
    stream = row["stream"]
    tensor = {**of.corpus.panel, **of.corpus.layers}.get(stream)
    if tensor is None:
        return {}
    values: dict[str, Value] = {}
    if (drift := rank_drift(tensor, of.how)) is not None:
        values = {"rank_slope": drift.slope.estimate, "rank_slope_band": drift.slope.band}
    if (seconds := of.corpus.seconds.get(stream)) is not None:
        values["span_s"] = time_span(seconds)
        if (drift := time_drift(tensor, seconds, of.how)) is not None:
            values |= {"time_slope": drift.slope.estimate, "time_slope_band": drift.slope.band}
    return values


def _summary(of: Analysed, row: Row) -> Values:
    values: dict[str, Value] = {}
    for R in (2, PANEL_REPEATS):
        c = of.component(row["judge"], str(R), "prompt")
        if c is not None:
            values |= {f"plugin_{R}": c.plugin, f"corrected_{R}": c.estimate}
            values |= {f"excess_{R}": c.excess, f"scaled_{R}": R * c.excess}
    found = of.panel.get(row["judge"])
    if found is not None and found.lead is not None:
        values["largest"] = found.lead.largest
    return values


def _components(of: Analysed, row: Row) -> Values:
    found = of.panel.get(row["judge"])
    if found is None:
        return {}
    prompt = found.components["prompt"]
    values: dict[str, Value] = {name: c.estimate for name, c in found.components.items()}
    return {**values, "estimate": prompt.estimate, "band": prompt.band}


def _shares(of: Analysed, row: Row) -> Values:
    found = of.panel.get(row["judge"])
    return {} if found is None else {p: 100 * found.components[p].share for p in PARTS}


def _judge_outcomes(of: Analysed, row: Row) -> Values:
    found = of.panel.get(row["judge"])
    return {} if found is None else {**_outcomes(found.outcomes), "gold_match": found.gold_match}


def _invalid_as_tie(of: Analysed, row: Row) -> Values:
    values: dict[str, Value] = {}
    for r in of.rows("invalid_sensitivity"):
        if r["configuration"] == row["judge"] and not r["layer"]:
            values[f"four_category_{r['R']}"] = r["as_outcome"]
            values[f"merged_{r['R']}"] = r.get("invalid_to_tie")
    return values


def _flags(of: Analysed, row: Row) -> Values:
    found = {judge: of.component(judge, row["repeats"], "prompt") for judge in JUDGES}
    if None in found.values():
        return {}
    plugin = [judge for judge, c in found.items() if c is not None and c.plugin > TAU]
    corrected = [judge for judge, c in found.items() if c is not None and c.estimate > TAU]
    return {"plugin": ", ".join(plugin) or "none", "corrected": ", ".join(corrected) or "none"}


def _ordering(of: Analysed, row: Row) -> Values:
    """Return the configurations by prompt component, from the largest down."""
    found = _ranking(of, "ordering")
    if found is None:
        return {}
    at = found.columns.index(row["metric"])
    ranked = sorted(found.rows, key=lambda cells: -float(cells[at] or 0.0))
    return {"order": " > ".join(str(cells[0]) for cells in ranked)}


def _top_changes(of: Analysed, _: Row) -> Values:
    """Return how often plug-in and corrected put different configurations on top."""
    found = _ranking(of, "top_judge")
    return {} if found is None else {"percent_of_draws": 100 * found.figures["top_differs"]}


def _ranking(of: Analysed, name: str) -> Diagnostic | None:
    """Return a finding on the ranking of all four configurations, None without all of them."""
    if set(of.corpus.panel) != set(JUDGES):
        return None
    found = next(f for f in of.analyses[-1].diagnostics if f.name == name)
    return found if found.figures else None


def _order_minus_call(of: Analysed, _: Row) -> Values:
    found = of.panel.get("Claude Haiku 4.5")
    if found is None:
        return {}
    items = found.item_values
    gap = items.of("order") - items.of("call")
    bands = item_bands(gap, strata=items.strata, draws=of.how.draws, seed=of.how.seed)
    return {"band": (float(bands.low[0]), float(bands.high[0]))}


_REFERENCE = _From(
    "matched_reference",
    {"R": "repeats"},
    {"plugin": "plug_in", "debiased": "debiased", "reduction": "reduction"},
)
_HALVES = _From(
    "reference_split_half",
    {"split": "split"},
    {
        "half_a": "half_a",
        "half_b": "half_b",
        "mae": "half_to_half_mae",
        "rmse": "rmse",
        "correlation": "item_correlation",
    },
    layer="reference",
)
_PANELS = _From(
    "panel_sensitivity",
    {"R": "repeats"},
    {
        "plugin": "plug_in_mae",
        "panel": "panel_mae",
        "reduction": "mae_reduction",
        "squared_reduction": "aggregate_squared_reduction",
    },
)
_NULL_PANEL = _From(
    "panel_intervals",
    {"R": "repeats"},
    {"estimate": "estimate", "se": "standard_error"},
    layer="control",
)
_COMPLETE = _From("complete_case", {"layer": "layer", "R": "repeats"}, {"retained": "kept"})

TABLES: tuple[tuple[str, Recompute], ...] = (
    ("tab:s-qwen-layers", _layer_outcomes),
    ("tab:real_prompt_estimates", _prompt_estimates),
    ("tab:decomposition", _layer_components),
    ("tab:supp_broad_decomposition", _layer_components),
    ("tab:matched_reference", _REFERENCE),
    ("text:matched_reference", _REFERENCE),
    ("tab:reference_split_half", _HALVES),
    ("text:reference_split_half", _HALVES),
    ("tab:supp_panel_sensitivity", _PANELS),
    ("text:live_null_panel", _NULL_PANEL),
    ("text:complete_case", _COMPLETE),
    ("tab:s-time-drift", _drift),
    ("tab:cross_model_summary", _summary),
    ("tab:s-cross-prompt", _summary),
    ("tab:cross-model-components", _components),
    ("text:cross_model_bands", _components),
    ("text:cross_model_shares", _shares),
    ("tab:cross-model-outcomes", _judge_outcomes),
    ("tab:s-cross-bot", _invalid_as_tie),
    ("text:cross_model_flags", _flags),
    ("text:cross_model_order", _ordering),
    ("text:top_changes", _top_changes),
    ("text:claude_order_minus_call", _order_minus_call),
)

_BAND_SHARE = 0.055
"""Four errors of the difference of two bands' ends, of 20,000 draws each, over half the width.

The end of a normal 95 % band has a Monte Carlo error of sqrt(.025 x .975 / 20000) / .0584 standard
deviations, .0096 of the half width; two of them, times four, make .055.
"""
_PERCENT_POINTS = 1.7
"""Four errors of the difference of two shares of 20,000 draws, near 79 percent."""


def recompute(corpus: Corpus, *, resampling: Resampling | None = None) -> tuple[Finding, ...]:
    """Recompute every empirical table; columns that a calls table cannot give are not available."""
    of = _analysed(corpus, resampling or Resampling())
    return tuple(
        _compare(label, row_name(row), column, printed, values.get(column))
        for label, function in TABLES
        for row in published()[label].rows
        for values in (function(of, row),)
        for column, printed in row.items()
        if column not in AXES
    )


def _compare(label: str, name: str, column: str, printed: str | list[str], value: Value) -> Finding:
    if isinstance(printed, list) and (value is None or isinstance(value, str)):
        joined = (" > " if column == "order" else ", ").join(printed) or "none"
        return stated("recomputed", label, name, column, joined, found=value)
    if isinstance(printed, list) and isinstance(value, tuple):
        return _compare_band(label, name, column, printed, value)
    if isinstance(printed, list) or isinstance(value, tuple):
        return stated("recomputed", label, name, column, str(printed), found=str(value))
    if value is None or isinstance(value, str):
        return stated("recomputed", label, name, column, printed, found=value)
    error = _PERCENT_POINTS if column == "percent_of_draws" else 0.0
    return held("recomputed", label, name, column, printed, found=value, error=error)


def _compare_band(
    label: str, name: str, column: str, printed: list[str], value: tuple[float, float]
) -> Finding:
    """Hold both ends of a band; a finding has one number, so it is that of the end further off."""
    chance = 0.0 if column == "interval" else _BAND_SHARE * (value[1] - value[0]) / 2
    ends = [
        held("recomputed", label, name, f"{column}, {side} end", text, found=x, error=chance)
        for side, text, x in zip(("low", "high"), printed, value, strict=True)
    ]
    return max(ends, key=_excess)


def _excess(finding: Finding) -> float:
    found = finding.found if isinstance(finding.found, float) else 0.0
    return abs(found - Span.printed(finding.published).middle) / max(finding.tolerance, 1e-300)
