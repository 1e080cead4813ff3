"""The simulated tables of the paper, in its layout, from the studies that `simulate` runs."""

from judgelaw.replication.layouts import Entry, Figure, Layout
from judgelaw.replication.panel_study import PanelStudy
from judgelaw.replication.point_study import (
    DecisionStudy,
    PointStudy,
)


def point_layout(study: PointStudy) -> Layout:
    """Return bias and mean squared error by prompts, truth and depth."""
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            r.prompts,
            Figure(value=r.truth, digits=2),
            r.repeats,
            Figure(value=r.plugin_bias, digits=4),
            Figure(value=r.analytic_bias, digits=4),
            Figure(value=r.debiased_bias, digits=4),
            Figure(value=r.debiased_se, digits=5),
            Figure(value=r.mse_ratio, digits=2),
            Figure(value=r.exact_mse_ratio, digits=2),
        )
        for r in study.rows
    )
    return Layout(
        label="tab:point_simulation",
        caption=f"Known-law simulation, {study.items:,} items in each setting: bias of plug-in and "
        "debiased estimates, and the ratio of their mean squared errors.",
        columns=(
            *("K", "Truth", "R", "Plug-in bias", "Exact bias", "Debiased bias", "MC error"),
            *("MSE ratio", "Exact ratio"),
        ),
        rows=rows,
    )


def decision_layout(study: DecisionStudy) -> Layout:
    """Return how often a rule above the threshold fires, with and without a prompt effect."""
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            Figure(value=r.truth, digits=2),
            r.repeats,
            Figure(value=r.rule_rate_plugin, digits=3),
            Figure(value=r.rule_rate_debiased, digits=3),
            Figure(value=r.rule_rate_debiased_se, digits=4),
        )
        for r in study.rows
    )
    return Layout(
        label="tab:decision_simulation",
        caption=f"How often the rule above {study.tau:g} fires, of {study.datasets:,} data sets.",
        columns=("Truth", "R", "Plug-in fires", "Debiased fires", "MC error"),
        rows=rows,
    )


def panel_layout(study: PanelStudy) -> Layout:
    """Return bias and coverage of the panel interval and of the exact call interval."""
    rows: tuple[tuple[Entry, ...], ...] = tuple(
        (
            r.law,
            r.repeats,
            r.method,
            Figure(value=r.bias, digits=5),
            Figure(value=r.bias_se, digits=5),
            Figure(value=r.coverage, digits=3),
            Figure(value=r.width, digits=4),
        )
        for r in study.rows
    )
    return Layout(
        label="tab:panel_calibration",
        caption=f"Calibration of intervals of nominal 95%, {study.experiments:,} experiments a "
        "law; the laws are a choice of this package.",
        columns=("Law", "R", "Method", "Bias", "MC error", "Coverage", "Width"),
        rows=rows,
    )
