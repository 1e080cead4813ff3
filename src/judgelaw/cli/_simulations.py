"""How simulation studies read on a terminal: one plain sentence and a table each."""

from collections.abc import Callable
from typing import Any

from judgelaw.simulate import CustomStudy, DecisionStudy, PanelStudy, PointStudy, SampledStudy

Columns = dict[str, Callable[[Any], str]]

POINT: Columns = {
    "K": lambda r: str(r.prompts),
    "truth": lambda r: f"{r.truth:.2f}",
    "R": lambda r: str(r.repeats),
    "plug-in bias": lambda r: f"{r.plugin_bias:+.5f}",
    "exact bias": lambda r: f"{r.analytic_bias:+.5f}",
    "debiased bias": lambda r: f"{r.debiased_bias:+.5f}",
    "MC error": lambda r: f"{r.debiased_se:.5f}",
    "MSE ratio": lambda r: f"{r.mse_ratio:.3f}",
    "exact ratio": lambda r: f"{r.exact_mse_ratio:.3f}",
    "negative": lambda r: f"{r.negative_share:.3f}",
    "two-repeat bias": lambda r: f"{r.panel_bias:+.5f}",
}

DECISION: Columns = {
    "truth": lambda r: f"{r.truth:.2f}",
    "R": lambda r: str(r.repeats),
    "plug-in fires": lambda r: f"{r.rule_rate_plugin:.4f}",
    "debiased fires": lambda r: f"{r.rule_rate_debiased:.4f}",
    "MC error": lambda r: f"{r.rule_rate_debiased_se:.4f}",
}

PANEL: Columns = {
    "law": lambda r: r.law,
    "R": lambda r: str(r.repeats),
    "method": lambda r: r.method,
    "bias": lambda r: f"{r.bias:+.5f}",
    "MC error": lambda r: f"{r.bias_se:.5f}",
    "coverage": lambda r: f"{r.coverage:.4f}",
    "width": lambda r: f"{r.width:.5f}",
    "no interval": lambda r: f"{r.without_interval:.4f}",
}

SAMPLED: Columns = {
    "K": lambda r: str(r.prompts),
    "R": lambda r: str(r.repeats),
    "method": lambda r: r.method,
    "plug-in bias": lambda r: f"{r.plugin_bias:+.4f}",
    "exact bias": lambda r: f"{r.analytic_bias:+.4f}",
    "bias": lambda r: f"{r.bias:+.5f}",
    "MC error": lambda r: f"{r.bias_se:.5f}",
    "coverage": lambda r: f"{r.coverage:.4f}",
    "width": lambda r: f"{r.width:.4f}",
}

CUSTOM: Columns = {
    "component": lambda r: r.component,
    "K": lambda r: str(r.prompts),
    "O": lambda r: str(r.orders),
    "truth": lambda r: f"{r.truth:.5f}",
    "R": lambda r: str(r.repeats),
    "plug-in bias": lambda r: f"{r.plugin_bias:+.5f}",
    "exact bias": lambda r: f"{r.analytic_bias:+.5f}",
    "debiased bias": lambda r: f"{r.debiased_bias:+.5f}",
    "MC error": lambda r: f"{r.debiased_se:.5f}",
    "MSE ratio": lambda r: f"{r.mse_ratio:.3f}",
    "exact ratio": lambda r: f"{r.exact_mse_ratio:.3f}",
    "negative": lambda r: f"{r.negative_share:.3f}",
}


def point_sentence(study: PointStudy) -> str:
    """Say what the table of biases shows."""
    summary = study.summary
    low, high = summary.mse_ratio_range
    return (
        f"The plug-in is off by what theory says (largest discrepancy "
        f"{summary.largest_discrepancy:.1e}); the debiased estimate is within "
        f"{summary.largest_z:.1f} Monte Carlo errors of the truth, with a mean squared error "
        f"{low:.1f} to {high:.1f} times smaller."
    )


def decision_sentence(study: DecisionStudy) -> str:
    """Say how often the rule fires where nothing is to be found."""
    first = study.rows[0]
    return (
        f"With no prompt effect and R = {first.repeats}, the rule above {study.tau:g} fires in "
        f"{first.rule_rate_plugin:.1%} of data sets for the plug-in and in "
        f"{first.rule_rate_debiased:.1%} for the debiased estimate."
    )


def panel_sentence(study: PanelStudy) -> str:
    """Say how the two intervals cover and how wide they are."""
    panel, complete = ([r for r in study.rows if r.method == m] for m in ("panel", "complete"))
    shorter = [c.width / p.width for p, c in zip(panel, complete, strict=True)]
    coverage = [row.coverage for row in study.rows]
    return (
        f"Intervals of nominal 95 % hold the truth in {min(coverage):.1%} to {max(coverage):.1%} "
        f"of experiments; those of the complete estimator are {min(shorter):.2f} to "
        f"{max(shorter):.2f} times as wide as the panel's."
    )


def sampled_sentence(study: SampledStudy) -> str:
    """Say what small numbers of prompts do to the interval."""
    paper, small = study.rows[:2]
    return (
        f"At K = {paper.prompts} the normal interval holds the truth in {paper.coverage:.1%} of "
        f"data sets and the small-K form in {small.coverage:.1%}."
    )


def custom_sentence(study: CustomStudy) -> str:
    """Say how far off the two estimates are at the smallest depth."""
    first = study.rows[0]
    return (
        f"Truth {first.truth:.5f} ({first.component}); at R = {first.repeats} the plug-in is off "
        f"by {first.plugin_bias:+.5f}, the debiased estimate by {first.debiased_bias:+.5f} with a "
        f"Monte Carlo error of {first.debiased_se:.5f}."
    )
