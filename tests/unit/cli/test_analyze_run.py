"""`judgelaw analyze` and `gate` on a run folder: what the run knows reaches the answer."""

import json

import polars as pl
import pytest

from judgelaw.cli import main

STUDY = """
version: 1
name: small
seed: 7
items: {source: jsonl, path: items.jsonl}
prompts: {policy: census, templates: [
  {id: p1, text: "One {instruction} {candidate_a} {candidate_b}"},
  {id: p2, text: "Two {instruction} {candidate_a} {candidate_b}"}]}
orders: {AB: 0.75, BA: 0.25}
repeats: 4
judges:
  - name: known
    provider: simulated
    model: none
    law: {verdicts: {candidate_1: 0.6, candidate_2: 0.3, tie: 0.05, invalid: 0.05}}
layers:
  - {name: reference, role: reference, repeats: 4}
  - {name: main, role: evaluation, repeats: 4}
  - {name: control, role: control, repeats: 4, labels: 3}
gate: {prompt: 0.5, invalid: 0.5}
analysis: {draws: 321, permutations: 9, seeds: {analysis: 5}, thresholds: {prompt: 0.9}}
"""


def run(capsys, *argv):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in argv])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


def made(root, study):
    """Freeze and run a study of eight items in a folder."""
    items = [
        {
            "id": f"i{i}",
            "stratum": f"s{i % 2}",
            "instruction": "say",
            "candidate_1": f"a{i}",
            "candidate_2": f"b{i}",
            "gold": "candidate_1",
        }
        for i in range(8)
    ]
    (root / "items.jsonl").write_text("\n".join(map(json.dumps, items)) + "\n", encoding="utf-8")
    (root / "study.yaml").write_text(study, encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        main(["run", str(root / "study.yaml"), "--out", str(root / "run")])
    assert not stop.value.code
    return root / "run"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return made(tmp_path_factory.mktemp("run"), STUDY)


def test_items_are_complete_at_the_declared_depth_or_dropped(tmp_path, capsys):
    """Calls beyond the depth do not make up for those that are missing within it."""
    folder = made(tmp_path, STUDY.replace("analysis: {", "analysis: {depth: 2, "))
    calls = folder / "calls.parquet"
    here = (pl.col("layer") == "main") & (pl.col("item") == "i3") & (pl.col("repeat") < 2)
    cell = (pl.col("prompt") == "p1") & (pl.col("order") == "AB")
    pl.read_parquet(calls).filter(~(here & cell)).write_parquet(calls)
    capsys.readouterr()
    code, _, err = run(capsys, "analyze", folder, "--json", "-")
    assert code
    assert "(here: --incomplete drop)" in err
    code, out, _ = run(capsys, "analyze", folder, "--incomplete", "drop", "--json", "-")
    assert code == 0
    assert json.loads(out)["judges"]["known"]["items"] == 7


def test_the_declared_depth_is_analysed_unless_another_is_asked_for(tmp_path, capsys):
    folder = made(tmp_path, STUDY.replace("analysis: {", "analysis: {depth: 3, "))
    capsys.readouterr()
    for options, depth in (((), 3), (("--repeats", "4"), 4)):
        _, out, _ = run(capsys, "analyze", folder, *options, "--json", "-")
        assert json.loads(out)["judges"]["known"]["repeats"] == depth


def test_what_was_declared_beforehand_is_used(folder, capsys):
    code, out, _ = run(capsys, "analyze", folder, "--json", "-")
    document = json.loads(out)
    assert code == 0
    assert document["main_layer"] == "main"
    assert document["roles"] == {
        "control": "control",
        "main": "evaluation",
        "reference": "reference",
    }
    settings = document["settings"]
    assert (settings["draws"], settings["permutations"], settings["seed"]) == (321, 9, 5)
    assert settings["order_weights"] == {"AB": 0.75, "BA": 0.25}
    _, out, _ = run(capsys, "analyze", folder, "--draws", 50, "--permutations", 0, "--json", "-")
    assert json.loads(out)["settings"]["draws"] == 50


def test_the_control_layer_is_analysed_by_its_hidden_labels(folder, capsys):
    _, out, _ = run(capsys, "analyze", folder, "--layer", "control", "--json", "-")
    assert json.loads(out)["judges"]["known"]["prompts"] == 3


def test_times_replies_and_configuration_reach_the_tables(folder, capsys):
    _, out, _ = run(capsys, "analyze", folder, "--json", "-")
    document = json.loads(out)
    found = {(f["name"], f["subject"]): f["verdict"] for f in document["diagnostics"]}
    for layer in ("main", "reference", "control"):
        assert found["replay", f"known / {layer}"] == "ok"
        assert found["elapsed_time", f"known / {layer}"] != "unknown"
    tables = document["tables"]
    drift = tables["time_drift"]
    spans = [row[drift["columns"].index("time_span_s")] for row in drift["rows"]]
    assert all(span > 0 for span in spans)
    (configuration,) = tables["judge_configurations"]["rows"]
    assert configuration[:2] == ["known", "simulated"]
    integrity = dict(tables["integrity"]["rows"])
    assert integrity["Completed calls"] == f"{8 * 2 * (4 * 2 * 2 + 4 * 3):,}"


def test_the_gate_of_the_study_is_used(folder, capsys):
    code, out, _ = run(capsys, "gate", folder, "--json", "-")
    document = json.loads(out)
    assert code == 0
    assert {d["quantity"] for d in document["limits"]} == {"prompt", "invalid"}
    code, out, _ = run(capsys, "gate", folder, "--min", "coverage=1", "--json", "-")
    assert code == 0
    assert json.loads(out)["limits"][0]["estimate"] == 1


def test_a_run_is_not_compared_with_itself(folder, capsys):
    code, _, err = run(capsys, "compare", folder, folder)
    assert code == 2
    assert "nothing differs from itself" in err
