"""Every empirical table recomputed from a calls table, beside what was published."""

from collections.abc import Iterator

from judgelaw.simulate import _layer_tables as of_layers
from judgelaw.simulate import _panel_tables as of_panel
from judgelaw.simulate._corpus import Corpus
from judgelaw.simulate._findings import Finding, held, stated
from judgelaw.simulate._printed import Row, Span, published
from judgelaw.simulate._recomputing import Recompute, Resampling, Value

TABLES: tuple[tuple[str, Recompute], ...] = (
    ("tab:s-qwen-layers", of_layers.layer_outcomes),
    ("tab:real_prompt_estimates", of_layers.prompt_estimates),
    ("tab:decomposition", of_layers.matched_components),
    ("tab:supp_broad_decomposition", of_layers.broad_components),
    ("tab:matched_reference", of_layers.matched_reference),
    ("text:matched_reference", of_layers.matched_reference),
    ("tab:reference_split_half", of_layers.split_halves),
    ("text:reference_split_half", of_layers.split_halves),
    ("tab:supp_panel_sensitivity", of_layers.panel_sensitivity),
    ("text:live_null_panel", of_layers.null_panel),
    ("text:complete_case", of_layers.complete_cases),
    ("tab:s-time-drift", of_layers.rank_gaps),
    ("tab:cross_model_summary", of_panel.summary),
    ("tab:s-cross-prompt", of_panel.summary),
    ("tab:cross-model-components", of_panel.components),
    ("text:cross_model_bands", of_panel.components),
    ("text:cross_model_shares", of_panel.component_shares),
    ("tab:cross-model-outcomes", of_panel.judge_outcomes),
    ("tab:s-cross-bot", of_panel.invalid_as_tie),
    ("text:cross_model_flags", of_panel.flags),
    ("text:cross_model_order", of_panel.orderings),
    ("text:top_changes", of_panel.top_changes),
    ("text:claude_order_minus_call", of_panel.order_minus_call),
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
    chosen = resampling or Resampling()
    return tuple(
        finding for label, function in TABLES for finding in _table(label, function, corpus, chosen)
    )


def _table(
    label: str, function: Recompute, corpus: Corpus, resampling: Resampling
) -> Iterator[Finding]:
    found = list(function(corpus, resampling))
    for row in published()[label].rows:
        values = next((v for key, v in found if all(row.get(k) == x for k, x in key.items())), None)
        keys = next((set(key) for key, _ in found), set())
        for column, printed in row.items():
            if column in keys or column in _AXES:
                continue
            value = None if values is None else values.get(column)
            yield _compare(label, _name(row), column, printed, value)


_AXES = (
    "layer",
    "judge",
    "split",
    "stream",
    "metric",
    "component",
    "repeats",
    "items",
    "prompts",
    "orders",
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


def _name(row: Row) -> str:
    shown = ("layer", "judge", "stream", "split", "metric", "component", "repeats")
    return ", ".join(f"R = {row[k]}" if k == "repeats" else row[k] for k in shown if k in row)
