"""The paper's tables, each against a calculation of its own, or left out with a reason."""

from dataclasses import replace

import numpy as np
import pytest

from judgelaw.analysis import TABLES, analyze
from judgelaw.diagnose import Evidence
from judgelaw.estimate import COMPONENTS, decompose, panels
from judgelaw.uncertainty import item_bands, panel_interval
from judgelaw.worlds import World
from support.streams import drawn

WORLD = World.from_effects(prompt=0.004, order=0.01, item_spread=0.2)
PAPER = {
    "real_prompt_estimates",
    "decomposition",
    "broad_decomposition",
    "matched_reference",
    "reference_split_half",
    "panel_sensitivity",
    "cross_model_summary",
    "cross_prompt",
    "components",
    "outcomes",
    "layers",
    "study_design",
    "judge_configurations",
    "invalid_sensitivity",
    "complete_case",
    "time_drift",
    "integrity",
}


def stream(layer, repeats, seed, judge="a", items=20):
    return drawn(
        world=WORLD,
        items=items,
        repeats=repeats,
        seed=seed,
        layer=layer,
        judge=judge,
        gold="candidate_1",
    )


@pytest.fixture(scope="module")
def tensors():
    """The layers of the paper in small: control, evaluation, reference, a broad audit, judges."""
    evaluation = stream("evaluation", 8, 1)
    return {
        ("control", "a"): stream("control", 4, 2),
        ("evaluation", "a"): evaluation,
        ("evaluation", "b"): stream("evaluation", 4, 3, judge="b"),
        ("reference", "a"): stream("reference", 16, 4),
        ("broad-audit", "a"): stream("broad-audit", 4, 5, items=30),
        # A panel that reuses the first four repeats of the evaluation.
        ("panel", "a"): replace(evaluation.prefix(4), layer="panel"),
    }


@pytest.fixture(scope="module")
def analysis(tensors):
    return analyze(
        tensors,
        draws=300,
        permutations=9,
        seed=2,
        roles={"broad-audit": "audit"},
        configurations={"a": {"model": "m", "seed": "sent"}, "b": {"model": "n"}},
        integrity=[("Manifest", "ok")],
        evidence=Evidence(seconds={("evaluation", "a"): np.arange(20.0 * 48).reshape(20, 3, 2, 8)}),
    )


def rows(analysis, name):
    table = analysis.tables[name]
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_every_table_of_the_paper_is_there(analysis):
    assert set(analysis.tables) >= PAPER - {"cross_model_summary", "cross_prompt"}
    assert set(analysis.tables) | set(analysis.left_out) == set(TABLES)
    for table in analysis.tables.values():
        assert table.title
        assert len(set(table.columns)) == len(table.columns)
        assert all(len(row) == len(table.columns) for row in table.rows)
        assert all(
            cell is None or np.isfinite(cell)
            for row in table.rows
            for cell in row
            if not isinstance(cell, str)
        )


def test_what_cannot_be_made_is_left_out_with_a_reason(analysis):
    assert analysis.left_out["cross_prompt"] == "the main layer has one judge"
    alone = analyze({(None, "x"): drawn(prompts=1)}, draws=50, permutations=0)
    assert alone.left_out["real_prompt_estimates"] == "all calls share one prompt"
    assert "reference" in alone.left_out["matched_reference"]
    assert "a run does" in alone.left_out["judge_configurations"]


def test_real_prompt_estimates_list_every_stream_and_depth(analysis):
    found = rows(analysis, "real_prompt_estimates")
    assert [(r["setting"], r["judge"], r["R"]) for r in found[:4]] == [
        ("control", "a", 2),
        ("control", "a", 4),
        ("evaluation", "a", 2),
        ("evaluation", "a", 4),
    ]
    shown = analysis.layers["control"]["a"].depths[2]["prompt"]
    assert found[0]["debiased"] == shown.estimate
    assert (found[0]["plug_in_low"], found[0]["plug_in_high"]) == shown.plugin_band


def test_decomposition_sets_the_reference_beside_the_evaluation(analysis):
    found = rows(analysis, "decomposition")
    mine = [r for r in found if r["judge"] == "a"]
    assert [r["component"] for r in mine] == list(COMPONENTS)
    assert {(r["evaluation_R"], r["reference_R"]) for r in mine} == {(8, 16)}
    assert mine[2]["reference"] == analysis.layers["reference"]["a"].components["order"].estimate
    assert all(r["reference"] is None for r in found if r["judge"] == "b")


def test_broad_decomposition_is_by_depth(analysis):
    found = rows(analysis, "broad_decomposition")
    assert {r["layer"] for r in found} == {"broad-audit"}
    assert set(found[0]) >= {"R2", "R2_low", "R4", "R4_high"}


def test_matched_reference_is_itemwise(analysis, tensors):
    found = [r for r in rows(analysis, "matched_reference") if r["judge"] == "a"]
    target = decompose(tensors["reference", "a"]).prompt
    at = decompose(tensors["evaluation", "a"].prefix(2))
    far, near = np.abs(at.plugin["prompt"] - target), np.abs(at.prompt - target)
    first = found[0]
    assert first["R"] == 2
    assert first["plug_in"] == pytest.approx(far.mean())
    assert first["debiased"] == pytest.approx(near.mean())
    bands = item_bands(far - near, strata=tensors["evaluation", "a"].strata, draws=300, seed=2)
    assert first["reduction_low"] == pytest.approx(bands.low[0])
    assert [r["R"] for r in found[:3]] == [2, 4, 8]


def test_split_halves_of_the_reference(analysis, tensors):
    contiguous, interleaved = rows(analysis, "reference_split_half")
    reference = tensors["reference", "a"]
    a, b = (decompose(reference.ranks(part)).prompt for part in (slice(0, 8), slice(8, 16)))
    assert contiguous["half_a"] == pytest.approx(a.mean())
    assert contiguous["half_to_half_mae"] == pytest.approx(np.abs(a - b).mean())
    assert contiguous["rmse"] == pytest.approx(np.sqrt(((a - b) ** 2).mean()))
    assert contiguous["item_correlation"] == pytest.approx(np.corrcoef(a, b)[0, 1])
    even = decompose(reference.ranks(slice(0, 16, 2))).prompt
    assert interleaved["half_a"] == pytest.approx(even.mean())


def test_panel_sensitivity_uses_the_panel_estimate_of_the_reference(analysis, tensors):
    second = next(r for r in rows(analysis, "panel_sensitivity") if r["R"] == 4)
    target = panels(tensors["reference", "a"]).prompt.mean(axis=-1)
    prefix = tensors["evaluation", "a"].prefix(4)
    panel = panels(prefix).prompt.mean(axis=-1)
    plugin = decompose(prefix).plugin["prompt"]
    assert second["panel_mae"] == pytest.approx(np.abs(panel - target).mean())
    assert second["plug_in_mae"] == pytest.approx(np.abs(plugin - target).mean())
    squared = (plugin.mean() - target.mean()) ** 2 - (panel.mean() - target.mean()) ** 2
    assert second["aggregate_squared_reduction"] == pytest.approx(squared)
    low, high = second["mae_reduction_low"], second["mae_reduction_high"]
    assert low < second["mae_reduction"] < high


def test_panel_intervals_are_live(analysis, tensors):
    found = {(r["layer"], r["R"]): r for r in rows(analysis, "panel_intervals")}
    exact = panel_interval(tensors["control", "a"])
    assert found["control", 4]["estimate"] == pytest.approx(exact.estimate)
    assert found["control", 4]["estimate_low"] == pytest.approx(exact.low)
    assert ("reference", 16) in found


def test_judges_side_by_side():
    pair = {(None, "a"): stream(None, 8, 1), (None, "b"): stream(None, 4, 3, judge="b")}
    analysis = analyze(pair, draws=200, permutations=0)
    summary = rows(analysis, "cross_model_summary")
    assert [r["configuration"] for r in summary] == ["a", "b"]
    at = decompose(pair[None, "a"].prefix(4)).macro()
    assert summary[0]["corrected_R4"] == pytest.approx(float(at.prompt))
    assert summary[0]["scaled_excess_R4"] == pytest.approx(float(2 / 6 * at.call))
    assert summary[0]["largest_R4_component"] == "call"
    cross = rows(analysis, "cross_prompt")
    assert cross[1]["excess_R2"] == pytest.approx(cross[1]["plug_in_R2"] - cross[1]["corrected_R2"])
    assert cross[0]["corrected_R4_low"] < cross[0]["corrected_R4"] < cross[0]["corrected_R4_high"]


def test_components_name_the_largest_and_its_lead(analysis):
    (found,) = rows(analysis, "components")
    lead = analysis.judges["a"].lead
    assert (found["largest"], found["lead"]) == (lead.largest, lead.by)
    assert sum(found[f"{c}_share"] for c in COMPONENTS[:-1]) == pytest.approx(1)


def test_unique_calls_are_counted_once(analysis):
    found = {r["layer"]: r for r in rows(analysis, "study_design")}
    assert found["panel"]["calls"] == found["panel"]["reused_calls"] == 20 * 3 * 2 * 4
    assert found["panel"]["unique_calls"] == 0
    assert found["reference"]["reused_calls"] == 0
    total = found["all"]
    assert total["unique_calls"] == total["calls"] - 480
    integrity = {r["check"]: r["result"] for r in rows(analysis, "integrity")}
    assert integrity["Unique calls analysed"] == f"{total['unique_calls']:,}"
    assert integrity["Manifest"] == "ok"
    assert integrity["Model or network activity during the analysis"] == "none"


def test_outcomes_layers_and_configurations(analysis, tensors):
    (found,) = rows(analysis, "outcomes")
    counts = tensors["broad-audit", "a"].counts.sum(axis=(0, 1, 2))
    assert [found[v] for v in ("candidate_1", "candidate_2", "tie", "invalid")] == list(counts)
    assert found["gold_match_rate"] == pytest.approx(counts[0] / counts.sum())
    layers = {(r["layer"], r["judge"]): r for r in rows(analysis, "layers")}
    assert layers["reference", "a"]["design"] == "20 x 3 x 2 x 16"
    assert layers["reference", "a"]["role"] == "reference"
    assert rows(analysis, "judge_configurations")[1] == {
        "configuration": "b",
        "model": "n",
        "seed": None,
    }


def test_invalid_tables(analysis, tensors):
    control = tensors["control", "a"]
    found = [r for r in rows(analysis, "invalid_sensitivity") if r["layer"] == "control"]
    tie = decompose(control.recode({"invalid": "tie"})).macro()
    assert found[-1]["invalid_to_tie"] == pytest.approx(float(tie.prompt))
    case = [r for r in rows(analysis, "complete_case") if r["layer"] == "control" and r["R"] == 2]
    valid = (control.prefix(2).counts[..., :3].sum(axis=-1) == 2).all(axis=(1, 2)).sum()
    assert case[0]["kept"] == valid
    assert case[0]["kept"] + case[0]["lost"] == 20


def test_time_drift_has_slopes_and_the_span(analysis):
    found = {(r["layer"], r["judge"]): r for r in rows(analysis, "time_drift")}
    timed = found["evaluation", "a"]
    assert timed["time_span_s"] == 20 * 48 - 1
    assert timed["rank_gap_slope_low"] < timed["rank_gap_slope"] < timed["rank_gap_slope_high"]
    assert timed["log_seconds_slope"] is not None
    assert found["control", "a"]["log_seconds_slope"] is None


def test_every_finding_and_metric_is_in_a_table(analysis):
    assert len(analysis.tables["diagnostics"].rows) == len(analysis.diagnostics)
    metrics = {r["metric"] for r in rows(analysis, "other_metrics")}
    assert "Fleiss' kappa" in metrics
    assert len(analysis.tables["permutation_tests"].rows) == 2 * 6
