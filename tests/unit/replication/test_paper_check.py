"""A study that is wrong is said to differ, and only then."""

from dataclasses import replace

import pytest

from judgelaw.replication import (
    DecisionRow,
    DecisionStudy,
    PanelRow,
    PanelStudy,
    compare_decision,
    compare_panel,
    compare_point,
    published,
    simulate_point,
)


@pytest.fixture(scope="module")
def point():
    return simulate_point(items=4000, seed=1)


def with_z(study, z):
    return replace(study, summary=replace(study.summary, largest_z=z))


@pytest.mark.parametrize(
    ("z", "verdict"), [(0.0, "agrees"), (3.99, "agrees"), (4.01, "differs"), (5.4, "differs")]
)
def test_a_largest_z_is_chance_up_to_four(point, z, verdict):
    (found,) = (f for f in compare_point(with_z(point, z)) if f.row == "largest_z")
    assert found.found == pytest.approx(z)
    assert found.verdict == verdict


def test_point_rows_far_from_the_published_ones_differ(point):
    """Four errors of the difference are chance, five are not."""
    printed = published()["tab:point_simulation"].row(prompts="5", truth="0.00", repeats="2")
    columns = {"plugin_bias": 2e-3, "debiased_bias": 3e-3, "mse_ratio": 0.05}
    names = {
        "plugin_bias": "plugin_se",
        "debiased_bias": "debiased_se",
        "mse_ratio": "mse_ratio_se",
    }
    scale = (1 + 4000 / 200_000) ** 0.5
    for distance, verdict in ((3.9, "agrees"), (5.0, "differs")):
        for column, se in columns.items():
            value = float(printed[column]) + distance * se * scale
            row = replace(point.rows[0], **{column: value, names[column]: se})
            changed = replace(point, rows=(row, *point.rows[1:]))
            (found,) = (
                f
                for f in compare_point(changed)
                if (f.row, f.rule) == ("K = 5, truth 0.00, R = 2", column)
            )
            assert found.verdict == verdict


@pytest.mark.parametrize(("distance", "verdict"), [(3.5, "agrees"), (5.5, "differs")])
def test_decision_rates_far_from_the_published_ones_differ(distance, verdict):
    cell = published()["tab:decision_simulation"].row(repeats="2")["detection_debiased"]
    rate = float(cell)
    error = (rate * (1 - rate) * (1 / 40_000 + 1 / 4_000)) ** 0.5
    row = DecisionRow(
        prompts=6,
        truth=0.03,
        repeats=2,
        rule_rate_plugin=1.0,
        rule_rate_plugin_se=0.0,
        rule_rate_debiased=rate - distance * error,
        rule_rate_debiased_se=0.0,
    )
    study = DecisionStudy(datasets=40_000, items=50, tau=0.02, seed=0, rows=(row,))
    assert compare_decision(study)[1].verdict == verdict


@pytest.mark.parametrize(("distance", "verdict"), [(3.5, "agrees"), (5.5, "differs")])
def test_panel_calibrations_far_from_the_published_ones_differ(distance, verdict):
    printed = published()["tab:panel_calibration"].rows[0]
    coverage, bias = float(printed["coverage"]), float(printed["bias"])
    error = (coverage * (1 - coverage) * (2 / 5_000)) ** 0.5
    row = PanelRow(
        law=printed["law"],
        truth=0.0,
        repeats=int(printed["repeats"]),
        method="panel",
        bias=bias + distance * 1e-3 * 2**0.5,
        bias_se=1e-3,
        coverage=coverage - distance * error,
        coverage_se=error,
        width=0.1,
        without_interval=0.0,
    )
    other = replace(row, method="complete", coverage=0.0)
    study = PanelStudy(experiments=5_000, items=50, seed=0, rows=(row, other))
    assert [f.verdict for f in compare_panel(study)] == [verdict, verdict]
