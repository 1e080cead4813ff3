"""The paper held against itself and against simulations of ours."""

from collections.abc import Iterator
from fractions import Fraction
from math import prod, sqrt

from judgelaw.replication import arithmetic
from judgelaw.replication.arithmetic import QWEN, Check
from judgelaw.replication.panel_study import PanelStudy
from judgelaw.replication.point_study import DecisionStudy, PointStudy, exact_errors
from judgelaw.replication.published_numbers import (
    Finding,
    Span,
    Tables,
    held,
    matched,
    published,
    stated,
)
from judgelaw.worlds import World

_LAYERS, _OUTCOMES = "tab:s-qwen-layers", "tab:cross-model-outcomes"
_POINT, _QUOTED = "tab:point_simulation", "text:point_simulation"
_VERDICTS = ("candidate_1", "candidate_2", "tie", "invalid")
_SIMULATED_ITEMS = 200_000


def calls(t: Tables) -> Iterator[Finding]:
    """Rows are items x prompts x orders x repeats, and layers add up to the totals."""
    design = t["tab:study-design"]
    for row in t[_LAYERS].rows:
        product = prod(int(row[axis]) for axis in ("items", "prompts", "orders", "repeats"))
        yield _whole(_LAYERS, row["layer"], "rows = product of the design", row["rows"], product)
        planned = design.row(layer=row["layer"])["calls"]
        yield _whole(_LAYERS, row["layer"], "rows = calls of the design", planned, int(row["rows"]))
    quoted = {row["what"]: row["calls"] for row in t["text:calls"].rows}
    qwen = sum(int(row["rows"]) for row in t[_LAYERS].rows)
    per_judge = 50 * 6 * 2 * 4
    judges = len(t[_OUTCOMES].rows)
    expected = {
        "qwen": qwen,
        "per_configuration": per_judge,
        "panel": judges * per_judge,
        "panel_reused": per_judge,
        "panel_new": (judges - 1) * per_judge,
        "unique": qwen + (judges - 1) * per_judge,
        "qwen_invalid": sum(int(row["invalid"]) for row in t[_LAYERS].rows),
    }
    for what, number in expected.items():
        yield _whole("text:calls", what, "accounting of calls", quoted[what], number)
    label = "tab:s-integrity"
    integrity = {row["check"]: row["result"] for row in t[label].rows}
    for check, what in (
        ("unique calls", "unique"),
        ("Qwen rows", "qwen"),
        ("matched rows", "panel"),
        ("rows per configuration", "per_configuration"),
    ):
        yield _whole(label, check, "accounting of calls", integrity[check], expected[what])


def outcomes(t: Tables) -> Iterator[Finding]:
    """Outcome counts add up to rows; a gold-match rate is a whole number of calls."""
    for row in t[_LAYERS].rows:
        total = sum(int(row[verdict]) for verdict in _VERDICTS)
        yield _whole(_LAYERS, row["layer"], "outcomes add up to rows", row["rows"], total)
    for row in t[_OUTCOMES].rows:
        total = sum(int(row[verdict]) for verdict in _VERDICTS)
        yield _whole(_OUTCOMES, row["judge"], "outcomes add up to 2400", "2400", total)
        nearest = round(Fraction(row["gold_match"]) * total)
        rule = f"gold-match rate is a whole number of calls ({nearest} of {total})"
        other = Span.exactly(Fraction(nearest, total))
        yield matched(_OUTCOMES, row["judge"], rule, row["gold_match"], other=other)


def figures_printed_twice(t: Tables) -> Iterator[Finding]:
    """A figure that stands in two places is the same, up to the digits printed."""
    for (label, key, column), (other_label, other_key, other_column) in _TWICE:
        one = t[label].row(**key)[column]
        other = Span.printed(t[other_label].row(**other_key)[other_column])
        name, rule = ", ".join([*key.values(), column]), f"same figure as in {other_label}"
        yield matched(label, name, rule, one, other=other)


def point_table(t: Tables) -> Iterator[Finding]:
    """Simulated biases lie within the quoted distances of exact theory; ranges are the table's."""
    quoted = {row["figure"]: row["value"] for row in t[_QUOTED].rows}
    farthest = Span.printed(quoted["largest_discrepancy_1e-4"]).high / 10_000
    largest_z = float(Span.printed(quoted["largest_z"]).high)
    for row in t[_POINT].rows:
        K, truth, R = int(row["prompts"]), float(row["truth"]), int(row["repeats"])
        laws = World.from_effects(prompt=truth).laws(items=1, prompts=K, orders=2)
        (exact,) = exact_errors(laws, [R])
        name = f"K = {K}, truth {row['truth']}, R = {R}"
        rule = "plug-in bias within the quoted largest discrepancy of exact theory"
        found, printed = exact.plugin_bias, row["plugin_bias"]
        yield held("identity", _POINT, name, rule, printed, found=found, error=float(farthest))
        rule = "debiased bias within the quoted number of standard errors of zero"
        error = largest_z * sqrt(exact.complete_mse / _SIMULATED_ITEMS)
        yield held("identity", _POINT, name, rule, row["debiased_bias"], found=0.0, error=error)
    ratios = sorted(t[_POINT].spans("mse_ratio"), key=lambda span: span.middle)
    for figure, span in (("mse_ratio_low", ratios[0]), ("mse_ratio_high", ratios[-1])):
        yield matched(_QUOTED, figure, "end of the table's range", quoted[figure], other=span)
    for depth in ("2", "4", "8"):
        figure = f"plugin_bias_6_null_{depth}"
        cell = t[_POINT].row(prompts="6", truth="0.00", repeats=depth)["plugin_bias"]
        other = Span.printed(cell)
        yield matched(_QUOTED, figure, "same figure as in the table", quoted[figure], other=other)


def live_null(t: Tables) -> Iterator[Finding]:
    """Intervals are centred at their estimate; hidden labels differ as often as chance has them."""
    label = "text:live_null_panel"
    for row in t[label].rows:
        name, rule = f"R = {row['repeats']}", "interval is centred at the estimate"
        low, high = (Span.printed(end) for end in row["interval"])
        centre, half = (x.times(Fraction(1, 2)) for x in (low + high, high - low))
        yield matched(label, name, rule, row["estimate"], other=centre)
        rule = "half width in standard errors is a t quantile"
        wide = half.over(Span.printed(row["se"])).high >= Fraction(196, 100)
        found = "at least 1.96" if wide else "below 1.96"
        yield stated("identity", label, name, rule, "at least 1.96", found=found)
    label = "text:hidden_labels"
    rule = "hidden labels that differ from their slot, under random assignment"
    (row,) = t[label].rows
    # A random permutation of six has one fixed point on average, with variance one.
    blocks = int(row["rows"]) / 6
    differ, error = int(row["rows"]) - blocks, 4 * sqrt(blocks)
    yield held("identity", label, "control", rule, row["differ"], found=differ, error=error)


def split_halves(t: Tables) -> Iterator[Finding]:
    """A root mean square is no smaller than the mean absolute value of the same differences."""
    label = "text:reference_split_half"
    for row in t[label].rows:
        fits = Span.printed(row["rmse"]).high >= Span.printed(row["mae"]).low
        found = "at least the MAE" if fits else "below the MAE"
        yield stated("identity", label, row["split"], "RMSE", "at least the MAE", found=found)


def _whole(table: str, row: str, rule: str, printed: str, found: int) -> Finding:
    return stated("identity", table, row, rule, printed, found=str(found))


Place = tuple[str, dict[str, str], str]


def _between_configurations() -> Iterator[tuple[Place, Place]]:
    summary, prompts = "tab:cross_model_summary", "tab:s-cross-prompt"
    for judge in (QWEN, "GPT-OSS-120B", "Gemma-3-27B-IT", "Claude Haiku 4.5"):
        key = {"judge": judge}
        for R in ("2", "4"):
            for metric in ("plugin", "corrected"):
                column = f"{metric}_{R}"
                yield (summary, key, column), (prompts, key, column)
            merged: Place = ("tab:s-cross-bot", key, f"four_category_{R}")
            yield merged, (summary, key, f"corrected_{R}")
        yield ("tab:cross-model-components", key, "prompt"), (summary, key, "corrected_4")
        yield ("text:cross_model_bands", key, "estimate"), (summary, key, "corrected_4")
        yield ("text:cross_model_excess", key, "excess_4"), (prompts, key, "excess_4")
    for R in ("2", "4"):
        row = {"layer": "evaluation", "repeats": R}
        for metric, other in (("plugin", "plugin"), ("debiased", "corrected")):
            live: Place = ("tab:real_prompt_estimates", row, metric)
            yield live, (summary, {"judge": QWEN}, f"{other}_{R}")


def _between_layers() -> Iterator[tuple[Place, Place]]:
    live = "tab:real_prompt_estimates"
    for layer, R, label in (
        ("evaluation", "8", "tab:decomposition"),
        ("broad", "4", "tab:supp_broad_decomposition"),
    ):
        row = {"layer": layer, "repeats": R}
        yield (live, row, "debiased"), (label, {**row, "component": "prompt"}, "estimate")
    for metric in ("plugin", "debiased"):
        broad = {"layer": "broad", "repeats": "4"}
        yield ("text:broad", {}, metric), (live, broad, metric)
        for R in ("2", "4", "8"):
            null = {"layer": "control", "repeats": R}
            yield ("text:live_null", {"repeats": R}, metric), (live, null, metric)
        for R in ("2", "8"):
            quoted: Place = ("text:matched_reference", {"repeats": R}, metric)
            yield quoted, ("tab:matched_reference", {"repeats": R}, metric)
    for column in ("half_a", "half_b", "mae", "correlation"):
        for split in ("contiguous", "interleaved"):
            half: Place = ("text:reference_split_half", {"split": split}, column)
            yield half, ("tab:reference_split_half", {"split": split}, column)
    for part in ("call", "prompt", "order", "interaction", "total"):
        row = {"layer": "reference", "repeats": "16", "component": part}
        yield ("text:reference_components", {}, part), ("tab:decomposition", row, "estimate")


_TWICE = (*_between_configurations(), *_between_layers())

CHECKS: tuple[Check, ...] = (
    calls,
    outcomes,
    figures_printed_twice,
    point_table,
    live_null,
    split_halves,
)


_ERRORS = 4.0
"""Monte Carlo errors of the difference that count as chance."""

PUBLISHED_ITEMS = 200_000
PUBLISHED_DATASETS = 4_000
PUBLISHED_EXPERIMENTS = 5_000


def check_identities(tables: Tables | None = None) -> tuple[Finding, ...]:
    """Check every published table for the paper's own identities."""
    chosen = tables or published()
    checks = (*arithmetic.CHECKS, *CHECKS)
    return tuple(finding for check in checks for finding in check(chosen))


def compare_point(study: PointStudy) -> tuple[Finding, ...]:
    """Hold the regenerated point table beside the published one."""
    return (*_point_rows(study), *_point_summary(study))


def compare_decision(study: DecisionStudy) -> tuple[Finding, ...]:
    """Hold the regenerated rates beside the published ones."""
    label = "tab:decision_simulation"
    found = []
    for row in study.rows:
        printed = published()[label].row(repeats=str(row.repeats))
        truth = "null" if row.truth == 0 else "detection"
        for metric in ("plugin", "debiased"):
            rate = getattr(row, f"rule_rate_{metric}")
            error = _rate_error(rate, study.datasets, PUBLISHED_DATASETS)
            name, rule = f"R = {row.repeats}, {truth}", f"rate of the {metric} rule"
            cell = printed[f"{truth}_{metric}"]
            found.append(held("regenerated", label, name, rule, cell, found=rate, error=error))
    return tuple(found)


def compare_panel(study: PanelStudy) -> tuple[Finding, ...]:
    """Hold the regenerated calibration beside the published one; its laws are our choice."""
    label = "tab:panel_calibration"
    found = []
    for row in study.rows:
        if row.method != "panel":
            continue
        printed = published()[label].row(law=row.law, repeats=str(row.repeats))
        name = f"{row.law}, R = {row.repeats}"
        bias = _two_samples(row.bias_se, study.experiments, PUBLISHED_EXPERIMENTS)
        cover = _rate_error(row.coverage, study.experiments, PUBLISHED_EXPERIMENTS)
        for rule, cell, value, error in (
            ("bias of the panel estimate", printed["bias"], row.bias, bias),
            ("coverage of the panel interval", printed["coverage"], row.coverage, cover),
        ):
            found.append(held("regenerated", label, name, rule, cell, found=value, error=error))
    return tuple(found)


def _point_rows(study: PointStudy) -> Iterator[Finding]:
    label = "tab:point_simulation"
    for row in study.rows:
        printed = published()[label].row(
            prompts=str(row.prompts), truth=f"{row.truth:.2f}", repeats=str(row.repeats)
        )
        name = f"K = {row.prompts}, truth {row.truth:.2f}, R = {row.repeats}"
        for column, se in (
            ("plugin_bias", row.plugin_se),
            ("debiased_bias", row.debiased_se),
            ("mse_ratio", row.mse_ratio_se),
        ):
            error = _two_samples(se, study.items, PUBLISHED_ITEMS)
            value, cell = getattr(row, column), printed[column]
            yield held("regenerated", label, name, column, cell, found=value, error=error)


def _point_summary(study: PointStudy) -> Iterator[Finding]:
    label, summary = "text:point_simulation", study.summary
    quoted = {row["figure"]: row["value"] for row in published()[label].rows}
    plugin_se = max(_two_samples(r.plugin_se, study.items, PUBLISHED_ITEMS) for r in study.rows)
    by_ratio = sorted(study.rows, key=lambda r: r.mse_ratio)
    figures = [
        ("largest_discrepancy_1e-4", summary.largest_discrepancy * 1e4, plugin_se * 1e4),
        ("largest_z", summary.largest_z, _room_below(quoted["largest_z"], _ERRORS)),
    ]
    for end, row in (("low", by_ratio[0]), ("high", by_ratio[-1])):
        error = _two_samples(row.mse_ratio_se, study.items, PUBLISHED_ITEMS)
        figures.append((f"mse_ratio_{end}", row.mse_ratio, error))
    if summary.null_negative_range is not None:
        for end, share in zip(("low", "high"), summary.null_negative_range, strict=True):
            error = 100 * _rate_error(share, study.items, PUBLISHED_ITEMS)
            figures.append((f"null_negative_{end}_percent", 100 * share, error))
    rule = "quoted summary"
    for figure, value, error in figures:
        yield held("regenerated", label, figure, rule, quoted[figure], found=value, error=error)


def _room_below(printed: str, most: float) -> float:
    """Error that lets a figure be at most `most`: a largest z is chance up to four, not around."""
    span = Span.printed(printed)
    return most - span.middle - span.half_width


def _two_samples(se: float, ours: int, theirs: int) -> float:
    """Four errors of the difference: theirs has the spread of ours at their own size."""
    return _ERRORS * se * sqrt(1 + ours / theirs)


def _rate_error(rate: float, ours: int, theirs: int) -> float:
    """Four errors of a difference of rates; a rate of 0 or 1 keeps an error of its own."""
    p = (rate * ours + 2) / (ours + 4)
    return _ERRORS * sqrt(p * (1 - p) * (1 / ours + 1 / theirs))
