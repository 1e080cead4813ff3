"""`judgelaw paper`: one page of comparisons, with or without a calls table."""

import json

import numpy as np
import pytest

from judgelaw.cli import main
from judgelaw.streams import stream
from judgelaw.tables import write_calls
from judgelaw.worlds import World

SHORT = ("--items", "2000", "--datasets", "200", "--experiments", "50")


def run(capsys, *argv):
    try:
        main(["paper", *SHORT, *argv])
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_page_says_what_agrees(capsys):
    code, out, _ = run(capsys)
    assert code == 0
    assert "comparisons agree" in out.splitlines()[0]
    assert "tab:decision_simulation" in out


def test_json_carries_every_comparison(capsys):
    code, out, _ = run(capsys, "--json", "-")
    content = json.loads(out)
    assert code == 0
    assert content["schema"] == "judgelaw.paper/1"
    assert sum(content["summary"].values()) == len(content["findings"]) == 363
    assert {"table", "row", "rule", "published", "found", "tolerance", "verdict", "kind"} <= set(
        content["findings"][0]
    )


@pytest.fixture
def calls(tmp_path):
    world = World.from_effects(prompt=0.01, order=0.02)
    blocks = []
    for layer, repeats in (("null-layer", 8), ("evaluation", 8), ("reference", 16)):
        codes = world.draw(stream(1, layer), items=4, prompts=6, orders=2, repeats=repeats)
        where = np.indices(codes.shape).reshape(4, -1)
        blocks.append(
            {
                "judge": ["Qwen3.6-27B"] * codes.size,
                "layer": [layer] * codes.size,
                "item": [f"i{i}" for i in where[0]],
                "stratum": [f"s{i % 2}" for i in where[0]],
                "prompt": [f"p{k}" for k in where[1]],
                "order": [("AB", "BA")[o] for o in where[2]],
                "repeat": where[3].tolist(),
                "verdict": [world.verdicts[c] for c in codes.ravel()],
            }
        )
    path = tmp_path / "calls.parquet"
    write_calls(path, blocks)
    return path


def test_calls_are_recomputed_and_differences_shown(calls, capsys):
    code, out, _ = run(capsys, "--calls", str(calls), "--layer", "control=null-layer")
    assert code == 0
    assert "what differs" in out
    assert "tab:real_prompt_estimates" in out
    assert "cannot be made from what is given" in out


def test_a_wrong_layer_option_is_refused(calls, capsys):
    code, _, err = run(capsys, "--calls", str(calls), "--layer", "nothing")
    assert code == 2
    assert "PART=NAME" in err


def test_every_comparison_stands_on_one_page(capsys, tmp_path):
    target = tmp_path / "paper.html"
    code, out, _ = run(capsys, "--html", str(target))
    assert code == 0
    text = target.read_text()
    assert out.splitlines()[0] in text
    for label in ("tab:point_simulation", "tab:cross_model_summary", "tab:decomposition"):
        assert label in text


def test_tables_and_figures_of_any_calls_go_to_a_folder(calls, capsys, tmp_path):
    code, out, _ = run(capsys, str(calls), "--out", str(tmp_path / "made"))
    assert code == 0
    assert "tables and 7 figures of the paper are in" in out.splitlines()[0].replace("\n", " ")
    assert "left out" in out
    table = (tmp_path / "made/tables/matched_reference.csv").read_text()
    assert table.startswith("R,Plug-in,Debiased,Reduction,Reduction low,Reduction high\n2,0.")
    assert (tmp_path / "made/figures/figure_4.pdf").read_bytes().startswith(b"%PDF")
    code, out, _ = run(capsys, str(calls), "-o", str(tmp_path / "made"), "--json", "-")
    found = json.loads(out)
    assert found["judge"] == "Qwen3.6-27B"
    assert "judge_configurations" in found["left_out"]
    kinds = {finding["kind"] for finding in found["published"]}
    assert kinds == {"identity", "fresh"}
    page = (tmp_path / "made/comparison.html").read_text()
    assert "consequences hold exactly" in page
    assert "Not asked on the paper&#39;s design: GPT-OSS-120B" in page


@pytest.mark.parametrize(
    "words", [("-o", "somewhere"), ("calls.parquet",), ("x", "-o", "y", "--calls", ".")]
)
def test_a_source_and_a_folder_come_together(words, capsys):
    code, _, err = run(capsys, *words)
    assert code == 2
    assert "judgelaw" in err
