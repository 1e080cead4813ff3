"""Fresh calls beside the published ones: each difference with an interval of its own.

Two sets of calls never print the same digits. A published figure x of N items and a fresh one y
of n differ by d = y - x with a standard error of s sqrt(1/n + 1/N), where s is how far one item
is from another, its calls included: if nothing has changed, it is the same on both sides, and is
pooled, s^2 = ((n - 1) s_y^2 + w s_x^2) / (n - 1 + w). s_y is the delete-one-item jackknife of the
fresh figure. s_x comes from the printed band (its width over 2 x 1.96) or standard error, with
w = N - 1. Where neither is printed, s_x^2 is the largest variance that values between 0 and M can
have about the published mean, x (M - x), and counts as w = 5 items: with many fresh items it says
little, with few it keeps those that happen to be settled from passing for all.

The interval of d holds zero in 95 % of replications for all figures of a table together: its
quantile is that of Student's t at 1 - .05 / (2 m) with n - 1 + w degrees of freedom, m the
comparisons of the table.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from math import isfinite, nan, sqrt
from typing import Any

import numpy as np

from judgelaw.arrays import PAIR, Floats
from judgelaw.diagnose import Drift, rank_drift, time_drift
from judgelaw.estimate import COMPONENTS, Decomposition, decompose, panels
from judgelaw.replication.arithmetic import PARTS
from judgelaw.replication.corpus import JUDGES, PANEL_REPEATS, Corpus
from judgelaw.replication.paper_parts import complete_ranks
from judgelaw.replication.paper_tables import DEPTHS, TABLES
from judgelaw.replication.published_numbers import (
    AXES,
    Finding,
    Row,
    Span,
    Verdict,
    published,
    row_name,
    stated,
)
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import Resampling

LEVEL, POWER = 0.95, 0.8
MOVE = 0.10
"""A comparison is worth a word if it could have seen a figure move by this much, or vanish."""
_NORMAL = 1.959963984540054
_PERCENT = 100.0
_VERDICTS = ("candidate_1", "candidate_2", "tie", INVALID)
_FEWEST = 3
"""Items that a jackknife needs."""
_UNPRINTED = 5
"""Items that the largest possible variance counts for, where none is printed."""
_LARGEST = {"share": 1.0, "component": 0.5}
"""M above: components of two verdicts are at most one half."""

Of = Callable[[Floats], float]


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A figure of fresh calls.

    Attributes:
        value: the figure.
        se: its standard error, over items and calls; nan where these items show none.
        items: how many it comes from.
        unit: what one is on its scale: 100 for percent, the number of calls for a count.
        share: whether it is a share of calls (in that unit).
    """

    value: float
    se: float
    items: int
    unit: float = 1.0
    share: bool = False


def _first(rows: Floats) -> float:
    return float(rows[:, 0].mean())


def measured(rows: Floats, of: Of = _first, *, unit: float = 1.0, share: bool = False) -> Measured:
    """Return a figure of item rows (items, values) with its jackknife error."""
    rows = rows[:, None] if rows.ndim == 1 else rows
    n = len(rows)
    se = nan
    if n >= _FEWEST:
        if of is _first:
            se = float(rows[:, 0].std(ddof=1) / sqrt(n))
        else:
            left = np.array([of(np.delete(rows, i, axis=0)) for i in range(n)])
            se = float(sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum()))
    return Measured(value=unit * of(rows), se=unit * se, items=n, unit=unit, share=share)


class _Streams:
    """Components by item of every stream of the paper, at every depth."""

    def __init__(self, corpus: Corpus, how: Resampling) -> None:
        self.corpus, self.how = corpus, how
        cut = {part: complete_ranks(t, DEPTHS[part]) for part, t in corpus.layers.items()}
        self.calls: dict[str, VerdictTensor] = {k: t for k, t in cut.items() if t is not None}
        self.calls |= corpus.panel
        self.at = cache(self._at)
        self.drift = cache(self._drift)

    def prefix(self, stream: str, repeats: int) -> VerdictTensor | None:
        calls = self.calls.get(stream)
        if calls is None or calls.depth[0] < repeats:
            return None
        return calls if calls.depth[0] == repeats else calls.prefix(repeats)

    def _at(self, stream: str, repeats: int) -> Decomposition | None:
        calls = self.prefix(stream, repeats)
        return None if calls is None else decompose(calls)

    def _drift(self, stream: str) -> tuple[Drift | None, Drift | None]:
        calls = {**self.corpus.panel, **self.corpus.layers}.get(stream)
        if calls is None:
            return None, None
        seconds = self.corpus.seconds.get(stream)
        timed = None if seconds is None else time_drift(calls, seconds, self.how)
        return rank_drift(calls, self.how), timed

    def against(self, repeats: int) -> tuple[VerdictTensor, VerdictTensor] | None:
        """Return the evaluation at a depth and the reference, on the items of both."""
        low, deep = self.prefix("evaluation", repeats), self.calls.get("reference")
        if low is None or deep is None or deep.depth[0] < DEPTHS["reference"]:
            return None
        items = [item for item in low.items if item in set(deep.items)]
        same = deep.select(items=items, prompts=low.prompts, orders=low.orders)
        return (low.select(items=items), same) if items else None


Figures = Mapping[str, Measured]


def _component(of: _Streams, stream: str, repeats: int, name: str) -> dict[str, Measured]:
    d = of.at(stream, repeats)
    if d is None:
        return {}
    corrected, plugin = np.asarray(d[name]), np.asarray(d.plugin[name])
    return {
        "estimate": measured(corrected),
        "plugin": measured(plugin),
        "excess": measured(plugin - corrected),
        "scaled": measured(repeats * (plugin - corrected)),
    }


def _prompt_estimates(of: _Streams, row: Row) -> Figures:
    found = _component(of, row["layer"], int(row["repeats"]), "prompt")
    return {**found, "debiased": found["estimate"]} if found else {}


def _layer_components(of: _Streams, row: Row) -> Figures:
    return _component(of, row["layer"], int(row["repeats"]), row["component"])


def _summary(of: _Streams, row: Row) -> Figures:
    values: dict[str, Measured] = {}
    for R in (2, PANEL_REPEATS):
        for name, figure in _component(of, row["judge"], R, "prompt").items():
            values[f"{'corrected' if name == 'estimate' else name}_{R}"] = figure
    return values


def _components(of: _Streams, row: Row) -> Figures:
    d = of.at(row["judge"], PANEL_REPEATS)
    values = {} if d is None else {name: measured(np.asarray(d[name])) for name in COMPONENTS}
    return {**values, "estimate": values["prompt"]} if values else {}


def _ratio(rows: Floats) -> float:
    total = rows[:, 1].mean()
    return float(rows[:, 0].mean() / total) if total else nan


def _shares(of: _Streams, row: Row) -> Figures:
    d = of.at(row["judge"], PANEL_REPEATS)
    if d is None:
        return {}
    pairs = {part: np.stack([d[part], d.total], axis=-1) for part in PARTS}
    return {part: measured(rows, _ratio, unit=_PERCENT) for part, rows in pairs.items()}


def _outcomes(calls: VerdictTensor, printed: float) -> dict[str, Measured]:
    """Return shares of calls in the number of calls that the paper counts in."""
    counts = calls.counts.sum(axis=(1, 2))
    share = counts / counts.sum(axis=1, keepdims=True)
    found = {name: share[:, c] for c, name in enumerate(calls.verdicts)}
    none = np.zeros(len(share))
    return {v: measured(found.get(v, none), unit=printed, share=True) for v in _VERDICTS}


def _layer_outcomes(of: _Streams, row: Row) -> Figures:
    calls = of.calls.get(row["layer"])
    return {} if calls is None else _outcomes(calls, float(row["rows"]))


def _judge_outcomes(of: _Streams, row: Row) -> Figures:
    calls = of.calls.get(row["judge"])
    if calls is None:
        return {}
    printed = float(sum(int(row[v]) for v in _VERDICTS))
    values = _outcomes(calls, printed)
    counts = calls.counts.sum(axis=(1, 2))
    codes = {name: c for c, name in enumerate(calls.verdicts) if name != INVALID}
    hits = [
        counts[i, codes[gold]] / counts[i].sum() if gold in codes else 0.0
        for i, gold in enumerate(calls.gold or ())
        if gold is not None
    ]
    return values | ({"gold_match": measured(np.array(hits), share=True)} if hits else {})


def _invalid_as_tie(of: _Streams, row: Row) -> Figures:
    values: dict[str, Measured] = {}
    for R in (2, PANEL_REPEATS):
        calls, d = of.prefix(row["judge"], R), of.at(row["judge"], R)
        if calls is None or d is None:
            continue
        values[f"four_category_{R}"] = measured(np.asarray(d.prompt))
        if INVALID in calls.verdicts and "tie" in calls.verdicts:
            counts, at = calls.counts.copy(), calls.verdicts.index(INVALID)
            counts[..., calls.verdicts.index("tie")] += counts[..., at]
            counts[..., at] = 0
            d = decompose(counts)
        values[f"merged_{R}"] = measured(np.asarray(d.prompt))
    return values


def _matched_reference(of: _Streams, row: Row) -> Figures:
    pair = of.against(int(row["repeats"]))
    if pair is None:
        return {}
    low, target = decompose(pair[0]), np.asarray(decompose(pair[1]).prompt)
    far, near = np.abs(low.plugin["prompt"] - target), np.abs(low.prompt - target)
    values = {"plugin": far, "debiased": near, "reduction": far - near}
    return {name: measured(gap) for name, gap in values.items()}


def _root_mean_square(rows: Floats) -> float:
    return float(np.sqrt((rows[:, 0] ** 2).mean()))


def _correlation(rows: Floats) -> float:
    a, b = (rows - rows.mean(axis=0)).T
    spread = sqrt(float((a**2).sum() * (b**2).sum()))
    return float((a * b).sum()) / spread if spread else nan


def _split_halves(of: _Streams, row: Row) -> Figures:
    calls = of.calls.get("reference")
    if calls is None or calls.depth[0] < DEPTHS["reference"]:
        return {}
    depth = DEPTHS["reference"]
    contiguous = slice(0, depth // 2), slice(depth // 2, depth)
    interleaved = slice(0, depth, 2), slice(1, depth, 2)
    ranks = contiguous if row["split"] == "contiguous" else interleaved
    a, b = (np.asarray(decompose(calls.ranks(half)).prompt) for half in ranks)
    return {
        "half_a": measured(a),
        "half_b": measured(b),
        "mae": measured(np.abs(a - b)),
        "rmse": measured(a - b, _root_mean_square),
        "correlation": measured(np.stack([a, b], axis=-1), _correlation),
    }


def _squared(rows: Floats) -> float:
    plugin, panel, target = rows.mean(axis=0)
    return float((plugin - target) ** 2 - (panel - target) ** 2)


def _panel_sensitivity(of: _Streams, row: Row) -> Figures:
    pair = of.against(int(row["repeats"]))
    if pair is None:
        return {}
    plugin = np.asarray(decompose(pair[0]).plugin["prompt"])
    panel, target = (np.asarray(panels(calls).prompt.mean(axis=-1)) for calls in pair)
    far, near = np.abs(plugin - target), np.abs(panel - target)
    return {
        "plugin": measured(far),
        "panel": measured(near),
        "reduction": measured(far - near),
        "squared_reduction": measured(np.stack([plugin, panel, target], axis=-1), _squared),
    }


def _null_panel(of: _Streams, row: Row) -> Figures:
    calls = of.prefix("control", int(row["repeats"]))
    if calls is None:
        return {}
    return {"estimate": measured(np.asarray(panels(calls).prompt.mean(axis=-1)))}


def _complete_items(of: _Streams, row: Row) -> Figures:
    calls = of.prefix(row["layer"], int(row["repeats"]))
    if calls is None:
        return {}
    valid = [c for c, name in enumerate(calls.verdicts) if name != INVALID]
    kept = (calls.counts[..., valid].sum(axis=-1) >= PAIR).all(axis=(1, 2))
    return {"retained": measured(kept.astype(float), unit=float(row["items"]), share=True)}


def _drift(of: _Streams, row: Row) -> Figures:
    """Return the slopes; their error is that of their item bands."""
    values = {}
    calls = {**of.corpus.panel, **of.corpus.layers}.get(row["stream"])
    for name, found in zip(("rank_slope", "time_slope"), of.drift(row["stream"]), strict=True):
        if found is not None and calls is not None:
            low, high = found.slope.band or (nan, nan)
            se = (high - low) / (2 * _NORMAL)
            values[name] = Measured(value=found.slope.estimate, se=se, items=len(calls.items))
    return values


_FIGURES: Mapping[str, Callable[[_Streams, Row], Figures]] = {
    "tab:s-qwen-layers": _layer_outcomes,
    "tab:real_prompt_estimates": _prompt_estimates,
    "tab:decomposition": _layer_components,
    "tab:supp_broad_decomposition": _layer_components,
    "tab:matched_reference": _matched_reference,
    "tab:reference_split_half": _split_halves,
    "text:reference_split_half": _split_halves,
    "tab:supp_panel_sensitivity": _panel_sensitivity,
    "text:live_null_panel": _null_panel,
    "text:complete_case": _complete_items,
    "tab:s-time-drift": _drift,
    "tab:cross_model_summary": _summary,
    "tab:s-cross-prompt": _summary,
    "tab:cross-model-components": _components,
    "text:cross_model_bands": _components,
    "text:cross_model_shares": _shares,
    "tab:cross-model-outcomes": _judge_outcomes,
    "tab:s-cross-bot": _invalid_as_tie,
}
"""Tables whose figures have an error; `text:matched_reference` repeats its table's figures."""


def compare_fresh(corpus: Corpus, *, resampling: Resampling | None = None) -> tuple[Finding, ...]:
    """Hold fresh calls against the published ones, after what must hold of any calls exactly.

    Words: "differs" where the simultaneous interval leaves zero out by more than print rounding;
    "compatible" where it does not and the comparison had the power to see the figure vanish or
    move by .10; "cannot tell" where it had not. Bands are the error of the figure beside them,
    and rankings follow from figures that are compared: neither is compared once more.
    """
    of = _Streams(corpus, resampling or Resampling())
    found = list(_consequences(of))
    for label in (label for label, _ in TABLES if label in _FIGURES):
        found += _table(label, of)
    return tuple(found)


def _table(label: str, of: _Streams) -> Iterator[Finding]:
    compared: list[tuple[Row, str, Measured]] = []
    for row in published()[label].rows:
        values = _FIGURES[label](of, row)
        printed = (column for column in row if column not in AXES and _is_number(row[column]))
        for column in printed:
            if column in values:
                compared.append((row, column, values[column]))
            elif column not in ("rows", "se", "span_s"):
                yield stated("fresh", label, row_name(row), column, row[column], found=None)
    for row, column, figure in compared:
        yield _compare(label, row, column, figure, len(compared))


def _is_number(cell: Any) -> bool:
    if not isinstance(cell, str):
        return False
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _compare(label: str, row: Row, column: str, fresh: Measured, comparisons: int) -> Finding:
    """Hold one figure against the published one, at the level of all comparisons of its table."""
    from scipy.special import stdtrit  # noqa: PLC0415 - scipy loads when it is needed

    span = Span.printed(row[column])
    error, df = _error(row, column, fresh)
    difference = fresh.value - span.middle
    verdict: Verdict = "cannot tell"
    half = seen = nan
    if isfinite(error) and isfinite(difference) and error > 0:
        half = float(stdtrit(df, 1 - (1 - LEVEL) / (2 * comparisons))) * error + span.half_width
        seen = half + float(stdtrit(df, POWER)) * error
        if abs(difference) > half:
            verdict = "differs"
        elif seen <= max(abs(span.middle), MOVE * fresh.unit):
            verdict = "compatible"
    known = isfinite(half)
    return Finding(
        kind="fresh",
        table=label,
        row=row_name(row),
        rule=column,
        published=row[column],
        found=fresh.value if isfinite(fresh.value) else None,
        tolerance=half if known else 0.0,
        verdict=verdict,
        interval=(difference - half, difference + half) if known else None,
        seen=seen if known else None,
    )


def _published_items(row: Row) -> int:
    layer = row.get("layer", row.get("stream", ""))
    return 369 if layer == "broad" else 50


def _error(row: Row, column: str, fresh: Measured) -> tuple[float, float]:
    """Return the standard error of the difference, and its degrees of freedom."""
    items = _published_items(row)
    printed, weight = _printed_error(row, column), float(items - 1)
    if printed is not None:
        theirs = printed * sqrt(items)
    else:
        x, most = abs(float(row[column])) / fresh.unit, _LARGEST["component"]
        if fresh.share or fresh.unit == _PERCENT:
            most = _LARGEST["share"]
            x = (x * items + 0.5) / (items + 1)  # a share of 0 or 1 has a spread too
        theirs, weight = fresh.unit * sqrt(max(x * (most - x), 0.0)), _UNPRINTED
    own = fresh.items - 1 if isfinite(fresh.se) else 0
    ours = fresh.se * sqrt(fresh.items) if own else 0.0
    spread = sqrt((own * ours**2 + weight * theirs**2) / (own + weight))
    return spread * sqrt(1 / fresh.items + 1 / items), own + weight


def _printed_error(row: Row, column: str) -> float | None:
    band = row.get(f"{column}_band") or (row.get("band") if column == "estimate" else None)
    if band is not None:
        return (float(band[1]) - float(band[0])) / (2 * _NORMAL)
    return float(row["se"]) if column == "estimate" and "se" in row else None


_EXACT = 1e-12


def _consequences(of: _Streams) -> Iterator[Finding]:
    """Yield what holds of any calls: sums, counts, and what the correction takes away."""
    for stream, calls in of.calls.items():
        label = "tab:cross-model-components" if stream in JUDGES else "tab:decomposition"
        items, K, O = calls.counts.shape[:3]
        expected, made = items * K * O * calls.depth[0], int(calls.counts.sum())
        rule = "calls = items x prompts x orders x repeats"
        yield stated("identity", label, stream, rule, str(expected), found=str(made))
        for R in (R for R in (2, 4, 8, 16) if calls.depth[0] >= R):
            d = of.at(stream, R)
            if d is None:
                continue
            mean = {name: float(np.mean(d[name])) for name in COMPONENTS}
            excess = R * (float(np.mean(d.plugin["prompt"])) - mean["prompt"])
            law = (K - 1) / (K * O) * mean["call"]
            rule = f"R (plug-in - corrected) = {K - 1}/{K * O} call"
            yield _exact(label, f"{stream}, R = {R}", rule, law, excess)
            total, rule = sum(mean[part] for part in PARTS), "components add up to the total"
            yield _exact(label, f"{stream}, R = {R}", rule, mean["total"], total)


def _exact(table: str, row: str, rule: str, expected: float, found: float) -> Finding:
    verdict: Verdict = "agrees" if abs(found - expected) <= _EXACT else "differs"
    return Finding("identity", table, row, rule, f"{expected:.12g}", found, _EXACT, verdict)
