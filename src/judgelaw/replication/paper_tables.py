"""Every empirical table recomputed from a calls table, beside what was published."""

from collections.abc import Iterator

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.estimate import COMPONENTS, Decomposition, decompose
from judgelaw.replication import layer_tables as of_layers
from judgelaw.replication.corpus import (
    JUDGES,
    PANEL_REPEATS,
    Corpus,
    Recompute,
    Value,
    Values,
    band_of,
    outcomes,
)
from judgelaw.replication.published_numbers import Finding, Row, Span, held, published, stated
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import Resampling, item_bands, resampled_means

TAU = 0.02
_DEPTHS = (2, PANEL_REPEATS)
_PARTS = COMPONENTS[:-1]


def summary(corpus: Corpus, _: Resampling) -> Values:
    """Plug-in, corrected and scaled excess at both depths, and the largest component."""
    for judge in JUDGES:
        found = _macros(corpus.panel.get(judge))
        values: dict[str, Value] = {}
        for R in _DEPTHS:
            d = found.get(R)
            plugin = None if d is None else float(d.plugin["prompt"])
            corrected = None if d is None else float(d.prompt)
            excess = None if plugin is None or corrected is None else plugin - corrected
            values |= {f"plugin_{R}": plugin, f"corrected_{R}": corrected, f"excess_{R}": excess}
            values[f"scaled_{R}"] = None if excess is None else R * excess
        deepest = found.get(PANEL_REPEATS)
        largest = None if deepest is None else max(_PARTS, key=lambda part: float(deepest[part]))
        yield {"judge": judge}, {**values, "largest": largest}


def components(corpus: Corpus, by: Resampling) -> Values:
    """Complete decomposition at R = 4, with the band of the prompt component."""
    for judge in JUDGES:
        tensor = corpus.panel.get(judge)
        if tensor is None:
            yield {"judge": judge}, dict.fromkeys((*COMPONENTS, "estimate", "band"))
            continue
        d = decompose(tensor)
        values: dict[str, Value] = {name: float(d[name].mean()) for name in COMPONENTS}
        band = band_of(by, d.prompt, tensor)
        yield {"judge": judge}, {**values, "estimate": values["prompt"], "band": band}


def component_shares(corpus: Corpus, _: Resampling) -> Values:
    """Components over the total, in percent."""
    for judge in JUDGES:
        d = _macros(corpus.panel.get(judge)).get(PANEL_REPEATS)
        yield (
            {"judge": judge},
            {part: None if d is None else 100 * float(d[part] / d.total) for part in _PARTS},
        )


def judge_outcomes(corpus: Corpus, _: Resampling) -> Values:
    """Outcome counts, and the share of calls that name the gold candidate."""
    for judge in JUDGES:
        tensor = corpus.panel.get(judge)
        if tensor is None:
            missing = ("candidate_1", "candidate_2", "tie", INVALID, "gold_match")
            yield {"judge": judge}, dict.fromkeys(missing)
        else:
            yield {"judge": judge}, {**outcomes(tensor), "gold_match": _gold_match(tensor)}


def invalid_as_tie(corpus: Corpus, _: Resampling) -> Values:
    """Corrected prompt means before and after merging invalid into tie."""
    for judge in JUDGES:
        tensor = corpus.panel.get(judge)
        values: dict[str, Value] = {}
        for R in _DEPTHS:
            before, after = f"four_category_{R}", f"merged_{R}"
            if tensor is None:
                values |= {before: None, after: None}
                continue
            at = tensor.prefix(R)
            merged = at.recode({INVALID: "tie"}) if INVALID in at.verdicts else at
            values[before] = float(decompose(at).prompt.mean())
            values[after] = float(decompose(merged).prompt.mean())
        yield {"judge": judge}, values


def flags(corpus: Corpus, _: Resampling) -> Values:
    """Configurations above tau, by depth and metric."""
    for R in _DEPTHS:
        found = {judge: _macros(corpus.panel.get(judge)).get(R) for judge in JUDGES}
        if any(d is None for d in found.values()):
            yield {"repeats": str(R)}, {"plugin": None, "corrected": None}
            continue
        plugin = [j for j, d in found.items() if d is not None and d.plugin["prompt"] > TAU]
        corrected = [j for j, d in found.items() if d is not None and d.prompt > TAU]
        yield (
            {"repeats": str(R)},
            {
                "plugin": ", ".join(plugin) or "none",
                "corrected": ", ".join(corrected) or "none",
            },
        )


def orderings(corpus: Corpus, _: Resampling) -> Values:
    """Configurations by prompt mean at R = 4, largest first."""
    values = _prompt_values(corpus)
    for index, metric in enumerate(("plugin", "corrected")):
        if values is None:
            yield {"metric": metric}, {"order": None}
            continue
        means = values[index].mean(axis=0)
        names = [list(JUDGES)[j] for j in np.argsort(-means)]
        yield {"metric": metric}, {"order": " > ".join(names)}


def top_changes(corpus: Corpus, by: Resampling) -> Values:
    """Share of item draws in which plug-in and corrected put different configurations on top."""
    values = _prompt_values(corpus)
    if values is None:
        yield {}, {"percent_of_draws": None}
        return
    strata = next(iter(corpus.panel.values())).strata
    both = np.concatenate([values[0], values[1]], axis=1)
    means = resampled_means(both, strata=strata, draws=by.draws, seed=by.seed)
    n = len(JUDGES)
    differ = means[:, :n].argmax(axis=1) != means[:, n:].argmax(axis=1)
    yield {}, {"percent_of_draws": 100 * float(differ.mean())}


def order_minus_call(corpus: Corpus, by: Resampling) -> Values:
    """Band of the order-minus-call difference of Claude."""
    tensor = corpus.panel.get("Claude Haiku 4.5")
    if tensor is None:
        yield {}, {"band": None}
        return
    d = decompose(tensor)
    bands = item_bands(d.order - d.call, strata=tensor.strata, draws=by.draws, seed=by.seed)
    yield {}, {"band": (float(bands.low[0]), float(bands.high[0]))}


def _macros(tensor: VerdictTensor | None) -> dict[int, Decomposition[float]]:
    if tensor is None:
        return {}
    return {R: decompose(tensor.prefix(R)).macro() for R in _DEPTHS}


def _prompt_values(corpus: Corpus) -> tuple[Floats, Floats] | None:
    """Plug-in and corrected item values (items, configurations) on the same items at R = 4."""
    if set(corpus.panel) != set(JUDGES):
        return None
    items = corpus.panel[next(iter(JUDGES))].items
    found = [decompose(corpus.panel[judge].select(items=items)) for judge in JUDGES]
    return (
        np.stack([d.plugin["prompt"] for d in found], axis=1),
        np.stack([d.prompt for d in found], axis=1),
    )


def _gold_match(tensor: VerdictTensor) -> float | None:
    if tensor.gold is None or any(gold not in tensor.verdicts for gold in tensor.gold):
        return None
    codes = [tensor.verdicts.index(str(gold)) for gold in tensor.gold]
    right = tensor.counts[np.arange(len(codes)), :, :, codes].sum()
    return float(right / tensor.counts.sum())


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
    ("tab:cross_model_summary", summary),
    ("tab:s-cross-prompt", summary),
    ("tab:cross-model-components", components),
    ("text:cross_model_bands", components),
    ("text:cross_model_shares", component_shares),
    ("tab:cross-model-outcomes", judge_outcomes),
    ("tab:s-cross-bot", invalid_as_tie),
    ("text:cross_model_flags", flags),
    ("text:cross_model_order", orderings),
    ("text:top_changes", top_changes),
    ("text:claude_order_minus_call", order_minus_call),
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
