"""A panel that reuses calls is analysed whole, and nobody takes its calls for new ones."""

import numpy as np
import pytest

from judgelaw.runs import Reading, RunFolder, audit_study, read_source
from support.studies import write_items

STUDY = """\
version: 1
name: panel
seed: 5
items: {source: jsonl, path: items.jsonl, selections: {few: {per_stratum: 4}}}
prompts: paper-six
judges:
  - {name: one, provider: simulated, model: m, law: {world: {base: [0.6, 0.3, 0.05, 0.05]}}}
  - {name: two, provider: simulated, model: m, law: {world: {base: [0.5, 0.4, 0.05, 0.05]}}}
layers:
  - {name: evaluation, role: evaluation, judges: [one], items: few, repeats: 6}
  - {name: panel, role: audit, reuse: {layer: evaluation, judge: one, repeats: 4}}
"""


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reuse")
    write_items(folder, 10)
    (folder / "study.yaml").write_text(STUDY)
    return audit_study(folder / "study.yaml", folder / "run")


@pytest.fixture(scope="module")
def run(audited):
    return audited.run


def test_the_panel_holds_the_first_calls_of_the_layer_that_made_them(run):
    tensors = read_source(str(run)).tensors
    assert list(tensors) == [("evaluation", "one"), ("panel", "one"), ("panel", "two")]
    made, panel = tensors["evaluation", "one"], tensors["panel", "one"]
    np.testing.assert_array_equal(panel.ranked, made.ranked[..., :4])
    assert (panel.layer, panel.items) == ("panel", tensors["panel", "two"].items)
    alone = read_source(str(run), Reading(layer="panel")).tensors
    assert list(alone) == [("panel", "one"), ("panel", "two")]


def test_tables_join_the_judges_and_count_calls_once(audited):
    analysis = audited.analysis
    assert analysis.main_layer == "panel"
    assert [row[0] for row in analysis.tables["cross_model_summary"].rows] == ["one", "two"]
    *_, calls, reused, unique = analysis.tables["study_design"].rows[-1]
    assert (calls, reused, unique) == (8 * 12 * 14, 8 * 12 * 4, 8 * 12 * 10)
    assert analysis.tables["layers"].rows[1][:3] == ("panel", "audit", "one")


def test_reused_calls_are_neither_copies_nor_tested_twice(audited):
    analysis = audited.analysis
    copies = next(f for f in analysis.diagnostics if f.name == "copied_streams")
    assert copies.verdict == "ok"
    drift = analysis.tables["time_drift"]
    assert [row[:2] for row in drift.rows] == [("evaluation", "one"), ("panel", "two")]


def test_the_page_shows_the_replies_of_reused_calls(run):
    completions = RunFolder(run).completions("panel")
    assert {judge: len(texts) for judge, texts in completions.items()} == {"one": 384, "two": 384}
