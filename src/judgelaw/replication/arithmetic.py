"""The paper's own arithmetic, checked on its printed digits.

Every check forms the range of values that the printed digits allow on both sides of an identity.
The two sides agree if the ranges meet: rounding is given its due, and nothing more.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction

from judgelaw.replication.published_numbers import (
    Finding,
    Row,
    Span,
    Tables,
    matched,
    row_name,
    stated,
)

Check = Callable[[Tables], Iterator[Finding]]

PARTS = ("call", "prompt", "order", "interaction")
QWEN = "Qwen3.6-27B"
TAU = Fraction(2, 100)

_SUMMARY, _PROMPTS = "tab:cross_model_summary", "tab:s-cross-prompt"
_COMPONENTS, _OUTCOMES = "tab:cross-model-components", "tab:cross-model-outcomes"
_LONG = ("tab:decomposition", "tab:supp_broad_decomposition")


def components_add_up(t: Tables) -> Iterator[Finding]:
    """Call + prompt + order + interaction = total."""
    for label, name, row in _decompositions(t):
        parts = [Span.printed(row[part]) for part in PARTS]
        total = sum(parts[1:], parts[0])
        yield matched(label, name, "components add up to the total", row["total"], other=total)


def excess_is_call(t: Tables) -> Iterator[Finding]:
    """R (plug-in - corrected) = 5/12 call, in every realised sample at K = 6 and two orders."""
    rule = "R (plug-in - corrected) = 5/12 call"
    for label, name, row, call in _excesses(t):
        R, printed = int(row["repeats"]), f"{row['plugin']} - {row['corrected']}"
        scaled = (Span.printed(row["plugin"]) - Span.printed(row["corrected"])).times(R)
        other = Span.printed(call).times(Fraction(5, 12))
        yield matched(label, name, rule, printed, span=scaled, other=other)


def scaled_columns(t: Tables) -> Iterator[Finding]:
    """The scaled-excess columns are R (plug-in - corrected), and 5/12 call at R = 4."""
    rule = "scaled column = R (plug-in - corrected)"
    for row in t[_SUMMARY].rows:
        for R in (2, 4):
            name, scaled = f"{row['judge']}, R = {R}", _excess(row, R).times(R)
            yield matched(_SUMMARY, name, rule, row[f"scaled_{R}"], other=scaled)
        call = Span.printed(t[_COMPONENTS].row(judge=row["judge"])["call"])
        other, name = call.times(Fraction(5, 12)), f"{row['judge']}, R = 4"
        yield matched(_SUMMARY, name, "scaled column = 5/12 call", row["scaled_4"], other=other)


def excess_columns(t: Tables) -> Iterator[Finding]:
    """The excess columns are plug-in minus corrected, here and in the text."""
    rule = "excess = plug-in - corrected"
    for row in t[_PROMPTS].rows:
        for R in (2, 4):
            name, other = f"{row['judge']}, R = {R}", _excess(row, R)
            yield matched(_PROMPTS, name, rule, row[f"excess_{R}"], other=other)


def _excess(row: Row, R: int) -> Span:
    return Span.printed(row[f"plugin_{R}"]) - Span.printed(row[f"corrected_{R}"])


def reductions(t: Tables) -> Iterator[Finding]:
    """A reduction is the difference of the two discrepancies beside it."""
    for label, corrected in (
        ("tab:matched_reference", "debiased"),
        ("tab:supp_panel_sensitivity", "panel"),
    ):
        for row in t[label].rows:
            other = Span.printed(row["plugin"]) - Span.printed(row[corrected])
            rule = "reduction = plug-in - corrected discrepancy"
            yield matched(label, f"R = {row['repeats']}", rule, row["reduction"], other=other)


def shares(t: Tables) -> Iterator[Finding]:
    """Shares are components over totals, in percent."""
    label = "text:cross_model_shares"
    for row in t[label].rows:
        components = t[_COMPONENTS].row(judge=row["judge"])
        for part in PARTS:
            share = Span.printed(components[part]).over(Span.printed(components["total"]))
            name, rule = f"{row['judge']}, {part}", "share = component / total, percent"
            yield matched(label, name, rule, row[part], other=share.times(100))


def largest_component(t: Tables) -> Iterator[Finding]:
    """The column of largest components names the largest of each row."""
    for row in t[_SUMMARY].rows:
        components, rule = t[_COMPONENTS].row(judge=row["judge"]), "largest component at R = 4"
        largest = max(PARTS, key=lambda p: Fraction(components[p]))
        yield stated("identity", _SUMMARY, row["judge"], rule, row["largest"], found=largest)


def flags(t: Tables) -> Iterator[Finding]:
    """The configurations said to be above tau are those whose printed value is."""
    label = "text:cross_model_flags"
    for row in t[label].rows:
        for metric in ("plugin", "corrected"):
            above = [
                judge["judge"]
                for judge in t[_SUMMARY].rows
                if Fraction(judge[f"{metric}_{row['repeats']}"]) > TAU
            ]
            name, rule = f"R = {row['repeats']}, {metric}", "configurations above tau = 0.02"
            printed, found = (", ".join(judges) or "none" for judges in (row[metric], above))
            yield stated("identity", label, name, rule, printed, found=found)


def orderings(t: Tables) -> Iterator[Finding]:
    """The quoted orderings are those of the printed values at R = 4."""
    label = "text:cross_model_order"
    for row in t[label].rows:
        column = f"{row['metric']}_4"
        ordered = sorted(t[_SUMMARY].rows, key=lambda r: Fraction(r[column]), reverse=True)
        printed, found = " > ".join(row["order"]), " > ".join(r["judge"] for r in ordered)
        rule = "ordering at R = 4, largest first"
        yield stated("identity", label, row["metric"], rule, printed, found=found)


def bands_hold_their_estimate(t: Tables) -> Iterator[Finding]:
    """A percentile band of a mean holds it, up to the digits printed."""
    for table in t.values():
        for row, column, band in table.bands():
            low, high = (Span.printed(end) for end in row[band])
            inside = Span(low=low.low, high=high.high).meets(Span.printed(row[column]))
            found = "holds" if inside else "does not hold"
            rule = f"{band} holds {column} {row[column]}"
            yield stated("identity", table.label, row_name(row), rule, "holds", found=found)


def drift_bands_hold_zero(t: Tables) -> Iterator[Finding]:
    """Every band of a drift slope includes zero, as the caption says."""
    label = "tab:s-time-drift"
    for row in t[label].rows:
        for band in ("rank_slope_band", "time_slope_band"):
            low, high = (Fraction(end) for end in row[band])
            found = "includes zero" if low <= 0 <= high else "excludes zero"
            yield stated("identity", label, row["stream"], band, "includes zero", found=found)


def merging_changes(t: Tables) -> Iterator[Finding]:
    """Merging invalid into tie moves estimates by at most what the text says."""
    label = "tab:s-cross-bot"
    for quoted in t["text:invalid_merge"].rows:
        R = quoted["repeats"]
        changes = [
            Span.printed(row[f"merged_{R}"]) - Span.printed(row[f"four_category_{R}"])
            for row in t[label].rows
        ]
        largest = max(changes, key=lambda change: abs(change.middle))
        size = largest if largest.middle >= 0 else largest.times(-1)
        rule, printed = "largest change of a corrected mean", quoted["largest_change"]
        yield matched("text:invalid_merge", f"R = {R}", rule, printed, other=size)
    rule = "no invalid output, so merging changes nothing"
    for row in t[label].rows:
        if t[_OUTCOMES].row(judge=row["judge"])["invalid"] == "0":
            for R in (2, 4):
                name, printed = f"{row['judge']}, R = {R}", row[f"merged_{R}"]
                found = row[f"four_category_{R}"]
                yield stated("identity", label, name, rule, printed, found=found)


def _decompositions(t: Tables) -> Iterator[tuple[str, str, Row]]:
    for row in t[_COMPONENTS].rows:
        yield _COMPONENTS, row["judge"], row
    yield "text:reference_components", "reference, R = 16", t["text:reference_components"].rows[0]
    for label in _LONG:
        keys = dict.fromkeys((row["layer"], row["repeats"]) for row in t[label].rows)
        for layer, R in keys:
            chosen = [r for r in t[label].rows if (r["layer"], r["repeats"]) == (layer, R)]
            values = {r["component"]: r["estimate"] for r in chosen}
            yield label, f"{layer}, R = {R}", values


def _excesses(t: Tables) -> Iterator[tuple[str, str, Row, str]]:
    """Yield every plug-in and corrected pair whose call component is printed somewhere."""
    named = (
        (name.split(", R = "), row) for label, name, row in _decompositions(t) if label in _LONG
    )
    calls = {(layer, R): row["call"] for (layer, R), row in named}
    calls["evaluation", "4"] = t[_COMPONENTS].row(judge=QWEN)["call"]
    label = "tab:real_prompt_estimates"
    for row in t[label].rows:
        key = (row["layer"], row["repeats"])
        if key in calls:
            pair = {**row, "corrected": row["debiased"]}
            yield label, f"{key[0]}, R = {key[1]}", pair, calls[key]
    for row in t[_SUMMARY].rows:
        call = t[_COMPONENTS].row(judge=row["judge"])["call"]
        pair = {"repeats": "4", "plugin": row["plugin_4"], "corrected": row["corrected_4"]}
        yield _SUMMARY, f"{row['judge']}, R = 4", pair, call


CHECKS: tuple[Check, ...] = (
    components_add_up,
    excess_is_call,
    scaled_columns,
    excess_columns,
    reductions,
    shares,
    largest_component,
    flags,
    orderings,
    bands_hold_their_estimate,
    drift_bands_hold_zero,
    merging_changes,
)
