"""The published simulations come out, with the tolerances that were promised."""

import pytest

from judgelaw.replication import (
    compare_decision,
    compare_panel,
    compare_point,
    published,
    simulate_decision,
    simulate_panel,
    simulate_point,
)

EXACT_RATIOS = {
    (5, 0.0): (4.271, 5.354, 5.783),
    (5, 0.03): (3.271, 3.184, 2.561),
    (6, 0.0): (5.125, 6.457, 6.985),
    (6, 0.03): (3.934, 3.825, 3.031),
}


@pytest.fixture(scope="module")
def point():
    return simulate_point(seed=20261115)


@pytest.fixture(scope="module")
def decision():
    return simulate_decision(seed=20261115)


def differing(findings):
    return [finding for finding in findings if finding.verdict != "agrees"]


def test_point_table_has_all_twelve_rows_at_full_size(point):
    assert point.items == 200_000
    assert {(r.prompts, r.truth, r.repeats) for r in point.rows} == {
        (K, truth, R) for K in (5, 6) for truth in (0.0, 0.03) for R in (2, 4, 8)
    }


def test_plugin_bias_is_within_four_errors_of_theory(point):
    for row in point.rows:
        assert abs(row.plugin_bias - row.analytic_bias) <= 4 * row.plugin_se, row


def test_debiased_bias_is_within_four_errors_of_zero(point):
    for row in point.rows:
        assert abs(row.debiased_bias) <= 4 * row.debiased_se, row


def test_two_repeat_estimator_is_unbiased_and_no_better(point):
    for row in point.rows:
        assert abs(row.panel_bias) <= 4 * row.panel_se, row
        assert row.panel_mse_ratio >= 0.99


def test_ratios_of_squared_error_are_the_exact_and_the_published_ones(point):
    table = published()["tab:point_simulation"]
    for row in point.rows:
        exact = EXACT_RATIOS[row.prompts, row.truth][(2, 4, 8).index(row.repeats)]
        printed = table.row(
            prompts=str(row.prompts), truth=f"{row.truth:.2f}", repeats=str(row.repeats)
        )
        assert row.exact_mse_ratio == pytest.approx(exact, abs=0.0005)
        assert row.mse_ratio == pytest.approx(exact, rel=0.012)
        assert row.mse_ratio == pytest.approx(float(printed["mse_ratio"]), rel=0.02)


def test_point_table_agrees_with_the_published_one(point):
    findings = compare_point(point)
    assert len(findings) == 42
    assert differing(findings) == []


def test_decision_rates_are_within_two_points_of_the_published(decision):
    assert decision.datasets == 40_000
    table = published()["tab:decision_simulation"]
    for row in decision.rows:
        printed = table.row(repeats=str(row.repeats))
        truth = "null" if row.truth == 0 else "detection"
        for metric in ("plugin", "debiased"):
            rate = getattr(row, f"rule_rate_{metric}")
            assert rate == pytest.approx(float(printed[f"{truth}_{metric}"]), abs=0.02)
    assert differing(compare_decision(decision)) == []


def check_coverage(study, tolerance):
    table = published()["tab:panel_calibration"]
    panel = [row for row in study.rows if row.method == "panel"]
    assert len(panel) == 8
    for row in panel:
        printed = table.row(law=row.law, repeats=str(row.repeats))
        assert row.coverage == pytest.approx(float(printed["coverage"]), abs=tolerance)
    complete = [row for row in study.rows if row.method == "complete"]
    for ours, theirs in zip(complete, panel, strict=True):
        assert ours.width < 0.75 * theirs.width
    assert differing(compare_panel(study)) == []


def test_panel_coverage_comes_out():
    """A short form: four binomial errors of 2,000 experiments beside 5,000."""
    check_coverage(simulate_panel(experiments=2_000, seed=20261115), 4 * 0.0058)


@pytest.mark.slow
def test_panel_coverage_comes_out_at_full_size():
    study = simulate_panel(seed=20261115)
    assert study.experiments == 20_000
    check_coverage(study, 0.015)
    for row in study.rows:
        assert 0.93 <= row.coverage <= 0.975
