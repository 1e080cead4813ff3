"""The paper held against itself and against simulations of ours."""

from collections.abc import Iterator
from math import sqrt

from judgelaw.simulate import _accounting, _identities
from judgelaw.simulate._decision import DecisionStudy
from judgelaw.simulate._findings import Finding, held
from judgelaw.simulate._panel import PanelStudy
from judgelaw.simulate._point import PointRow, PointStudy
from judgelaw.simulate._printed import Span, Tables, published

_ERRORS = 4.0
"""Monte Carlo errors of the difference that count as chance."""

PUBLISHED_ITEMS = 200_000
PUBLISHED_DATASETS = 4_000
PUBLISHED_EXPERIMENTS = 5_000


def check_identities(tables: Tables | None = None) -> tuple[Finding, ...]:
    """Check every published table for the paper's own identities."""
    chosen = tables or published()
    checks = (*_identities.CHECKS, *_accounting.CHECKS)
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
            value = getattr(row, column)
            cell = printed[column]
            yield held("regenerated", label, name, column, cell, found=value, error=error)


def _point_summary(study: PointStudy) -> Iterator[Finding]:
    label, summary = "text:point_simulation", study.summary
    quoted = {row["figure"]: row["value"] for row in published()[label].rows}
    plugin_se = max(_two_samples(r.plugin_se, study.items, PUBLISHED_ITEMS) for r in study.rows)
    low, high = (
        min(study.rows, key=lambda r: r.mse_ratio),
        max(study.rows, key=lambda r: r.mse_ratio),
    )
    figures = [
        ("largest_discrepancy_1e-4", summary.largest_discrepancy * 1e4, plugin_se * 1e4),
        ("largest_z", summary.largest_z, _room_below(quoted["largest_z"], _ERRORS)),
        ("mse_ratio_low", low.mse_ratio, _ratio_error(low, study.items)),
        ("mse_ratio_high", high.mse_ratio, _ratio_error(high, study.items)),
    ]
    if summary.null_negative_range is not None:
        for end, share in zip(("low", "high"), summary.null_negative_range, strict=True):
            error = 100 * _rate_error(share, study.items, PUBLISHED_ITEMS)
            figures.append((f"null_negative_{end}_percent", 100 * share, error))
    for figure, value, error in figures:
        yield held(
            "regenerated", label, figure, "quoted summary", quoted[figure], found=value, error=error
        )


def _room_below(printed: str, most: float) -> float:
    """Error that lets a figure be at most `most`: a largest z is chance up to four, not around."""
    span = Span.printed(printed)
    return most - span.middle - span.half_width


def _ratio_error(row: PointRow, items: int) -> float:
    return _two_samples(row.mse_ratio_se, items, PUBLISHED_ITEMS)


def _two_samples(se: float, ours: int, theirs: int) -> float:
    """Four errors of the difference: theirs has the spread of ours at their own size."""
    return _ERRORS * se * sqrt(1 + ours / theirs)


def _rate_error(rate: float, ours: int, theirs: int) -> float:
    """Four errors of a difference of rates; a rate of 0 or 1 keeps an error of its own."""
    p = (rate * ours + 2) / (ours + 4)
    return _ERRORS * sqrt(p * (1 - p) * (1 / ours + 1 / theirs))
