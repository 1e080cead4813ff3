"""The published tables satisfy the paper's own identities, and a wrong digit would be seen."""

import json
from importlib import resources

import pytest

from judgelaw.replication import PublishedTable, Span, check_identities, published


def test_every_identity_holds_on_the_printed_digits():
    findings = check_identities()
    assert len(findings) == 287
    assert [finding for finding in findings if finding.verdict != "agrees"] == []


def test_every_table_of_the_paper_is_there():
    labels = {label for label in published() if label.startswith("tab:")}
    assert labels == {
        "tab:study-design",
        "tab:point_simulation",
        "tab:matched_reference",
        "tab:reference_split_half",
        "tab:cross_model_summary",
        "tab:cross-model-components",
        "tab:panel_calibration",
        "tab:s-prompt-hashes",
        "tab:s-qwen-layers",
        "tab:judge-configurations",
        "tab:decision_simulation",
        "tab:real_prompt_estimates",
        "tab:decomposition",
        "tab:supp_broad_decomposition",
        "tab:supp_panel_sensitivity",
        "tab:s-cross-prompt",
        "tab:cross-model-outcomes",
        "tab:s-cross-bot",
        "tab:s-time-drift",
        "tab:s-integrity",
    }


def altered(label, key, column, value):
    tables = dict(published())
    rows = tuple(
        {**row, column: value} if all(row[k] == v for k, v in key.items()) else row
        for row in tables[label].rows
    )
    assert rows != tables[label].rows
    tables[label] = PublishedTable(label=label, rows=rows)
    return tables


QWEN = {"judge": "Qwen3.6-27B"}
EVALUATION_CALL = {"layer": "evaluation", "component": "call"}


@pytest.mark.parametrize(
    ("label", "key", "column", "value", "rule"),
    [
        ("tab:cross-model-components", QWEN, "order", ".04704", "add up"),
        (
            "tab:decomposition",
            {"layer": "evaluation", "component": "call"},
            "estimate",
            "0.1994",
            "add up",
        ),
        ("tab:cross-model-components", QWEN, "call", ".19151", "5/12 call"),
        ("tab:cross_model_summary", QWEN, "scaled_2", ".07718", "scaled column = R"),
        ("tab:s-cross-prompt", QWEN, "excess_4", ".01995", "excess = plug-in"),
        ("tab:matched_reference", {"repeats": "2"}, "reduction", "0.0208", "reduction ="),
        ("text:cross_model_shares", QWEN, "order", "18.9", "share ="),
        ("tab:cross_model_summary", QWEN, "largest", "order", "largest component"),
        ("text:cross_model_flags", {"repeats": "4"}, "plugin", [], "above tau"),
        ("text:cross_model_order", {"metric": "plugin"}, "order", ["Qwen3.6-27B"], "ordering"),
        ("tab:real_prompt_estimates", {"repeats": "2"}, "debiased_band", ["0.1", "0.2"], "holds"),
        (
            "tab:s-time-drift",
            {"stream": "broad"},
            "rank_slope_band",
            [".00001", ".1"],
            "rank_slope_band",
        ),
        ("text:invalid_merge", {"repeats": "2"}, "largest_change", ".00059", "largest change"),
        ("tab:s-qwen-layers", {"layer": "broad"}, "tie", "358", "outcomes add up"),
        ("tab:cross-model-outcomes", QWEN, "gold_match", ".7769", "whole number of calls"),
        ("text:calls", {"what": "unique"}, "calls", "44113", "accounting"),
        ("text:live_null", {"repeats": "2"}, "plugin", ".0408", "same figure"),
        (
            "tab:point_simulation",
            {"prompts": "5", "repeats": "2"},
            "plugin_bias",
            "+0.1345",
            "discrepancy",
        ),
        ("text:point_simulation", {"figure": "mse_ratio_low"}, "value", "2.47", "end of the table"),
        ("text:live_null_panel", {"repeats": "4"}, "estimate", "-.00110", "centred"),
        ("text:hidden_labels", {}, "differ", "3800", "random assignment"),
        ("text:reference_split_half", {"split": "contiguous"}, "rmse", ".00700", "RMSE"),
    ],
)
def test_a_wrong_digit_is_reported(label, key, column, value, rule):
    findings = check_identities(altered(label, key, column, value))
    wrong = [finding for finding in findings if finding.verdict == "differs"]
    assert any(rule in finding.rule for finding in wrong), wrong


@pytest.mark.parametrize(
    ("text", "low", "high"), [("0.0365", 0.03645, 0.03655), ("-.0053", -0.00535, -0.00525)]
)
def test_printed_numbers_stand_for_what_rounds_to_them(text, low, high):
    span = Span.printed(text)
    assert (float(span.low), float(span.high)) == (low, high)


def test_whole_numbers_are_exact():
    assert Span.printed("44112").half_width == 0


def test_data_file_keeps_digits_as_printed():
    text = resources.files("judgelaw.replication").joinpath("published.json").read_text("utf-8")
    for table in json.loads(text)["tables"].values():
        for row in table["rows"]:
            assert all(isinstance(cell, (str, list)) for cell in row)
