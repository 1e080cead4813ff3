"""`judgelaw simulate`: JSON of the contract, one sentence and a table, exit codes."""

import json

import pytest

from judgelaw.cli import main

CONTRACT = {
    "prompts",
    "truth",
    "repeats",
    "plugin_bias",
    "analytic_bias",
    "debiased_bias",
    "debiased_se",
    "mse_ratio",
    "negative_share",
}


def run(capsys, *argv):
    try:
        main(list(argv))
        code = 0
    except SystemExit as stop:
        code = stop.code or 0
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_point_json_has_the_columns_of_the_contract(capsys):
    code, out, _ = run(capsys, "simulate", "point", "--items", "500", "--json", "-")
    content = json.loads(out)
    assert code == 0
    assert content["schema"] == "judgelaw.simulation/1"
    assert len(content["rows"]) == 12
    assert all(set(row) >= CONTRACT for row in content["rows"])
    assert set(content["summary"]) >= {"largest_discrepancy", "largest_z", "mse_ratio_range"}


def test_point_prints_a_sentence_before_the_table(capsys, tmp_path):
    target = tmp_path / "point.json"
    code, out, _ = run(capsys, "simulate", "point", "--items", "500", "--json", str(target))
    assert code == 0
    assert out.startswith("The plug-in is off by what theory says")
    assert "MSE ratio" in out
    assert json.loads(target.read_text())["items"] == 500


def test_point_writes_its_figure(capsys, tmp_path):
    target = tmp_path / "f.svg"
    code, _, _ = run(capsys, "simulate", "point", "--items", "200", "--figure", str(target))
    assert code == 0
    assert target.read_text().startswith("<svg")


def test_a_figure_of_unknown_format_is_refused_before_the_work(capsys):
    code, out, err = run(capsys, "simulate", "point", "--figure", "f.jpg")
    assert (code, out) == (2, "")
    assert ".svg" in err


@pytest.mark.parametrize(
    ("argv", "columns"),
    [
        (["decision", "--datasets", "20"], {"rule_rate_plugin", "rule_rate_debiased"}),
        (["panel", "--experiments", "5"], {"bias", "coverage", "width", "method"}),
        (
            ["sampled", "--datasets", "5", "--prompts", "4", "--items", "2"],
            {"bias", "coverage", "width", "method", "prompts"},
        ),
    ],
)
def test_other_studies_have_their_columns(argv, columns, capsys):
    code, out, _ = run(capsys, "simulate", *argv, "--json", "-")
    assert code == 0
    assert all(set(row) >= columns for row in json.loads(out)["rows"])
    code, out, _ = run(capsys, "simulate", *argv)
    assert code == 0
    assert len(out.splitlines()) > 4


def test_same_seed_same_bytes(capsys):
    argv = ("simulate", "decision", "--datasets", "30", "--json", "-", "--seed", "9")
    assert run(capsys, *argv)[1] == run(capsys, *argv)[1]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["point", "--items", "1"], "items = 1"),
        (["decision", "--prompts", "1"], "prompts = 1"),
        (["decision", "--tau", "2"], "tau = 2.0"),
        (["sampled", "--truth", "0.5"], "0 < prompt <= 0.06 works"),
        (["sampled", "--repeats", "1"], "use 2 or more"),
        (["panel", "--experiments", "0"], "experiments = 0"),
        (["point", "--json", "/nowhere/x.json", "--items", "10"], "cannot write /nowhere/x.json"),
    ],
)
def test_mistakes_end_with_two_and_a_remedy(argv, message, capsys):
    code, _, err = run(capsys, "simulate", *argv)
    assert code == 2
    assert message in err


WORLD = """\
base: [0.5, 0.3, 0.2]
prompt: 0.01
order: 0.02
item_spread: 0.1
prompts: 4
orders: 2
repeats: [2, 4]
items: 300
"""


def test_custom_world_file(capsys, tmp_path):
    path = tmp_path / "world.yaml"
    path.write_text(WORLD)
    code, out, _ = run(capsys, "simulate", "custom", str(path), "--json", "-")
    rows = json.loads(out)["rows"]
    assert code == 0
    assert [row["repeats"] for row in rows] == [2, 4]
    assert all(set(row) >= CONTRACT for row in rows)
    assert rows[0]["truth"] == pytest.approx(0.01)


def test_custom_laws_written_out_give_their_own_design(capsys, tmp_path):
    path = tmp_path / "world.yaml"
    path.write_text("laws: [[[0.9, 0.1]], [[0.1, 0.9]], [[0.5, 0.5]]]\nitems: 100\norders: 1\n")
    code, out, _ = run(capsys, "simulate", "custom", str(path), "--json", "-", "--seed", "3")
    row = json.loads(out)["rows"][0]
    assert code == 0
    assert (row["prompts"], row["orders"]) == (3, 1)
    assert row["truth"] == pytest.approx(2 * (0.16 + 0.16) / 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompts: 4\nbase: [0.5, 0.6]\n", "world.yaml:2: base = [0.5, 0.6] sums to 1.1"),
        ("prompts: 4\nbases: [0.5, 0.5]\n", "world.yaml:2: unknown key 'bases'"),
        ("base: [0.5, 0.5]\n", "how many prompts?"),
        ("prompts: many\n", "prompts = 'many'"),
        ("prompts: 1\n", "prompts = 1"),
        ("prompts: 4\nrepeats: 1\n", "use 2 or more"),
        ("prompts: 4\nprompt: 0.3\n", "leaves the simplex"),
        ("prompts: [4\n", "no valid YAML"),
        ("- 1\n", "maps keys to values"),
        ("prompts: 3\nlaws: [[[0.9, 0.2]]]\n", "world.yaml:2: law[0, 0] = [0.9, 0.2]"),
    ],
)
def test_mistakes_in_a_world_file_name_the_line(text, message, capsys, tmp_path):
    path = tmp_path / "world.yaml"
    path.write_text(text)
    code, _, err = run(capsys, "simulate", "custom", str(path))
    assert code == 2
    assert message in err


def test_a_table_of_the_paper_goes_to_a_folder_in_every_format(capsys, tmp_path):
    run(capsys, "simulate", "decision", "--datasets", "40", "-o", str(tmp_path))
    assert {path.suffix for path in tmp_path.glob("decision_simulation.*")} == {
        *(".csv", ".tex", ".json")
    }
    lines = (tmp_path / "decision_simulation.csv").read_text().splitlines()
    assert lines[0] == "Truth,R,Plug-in fires,Debiased fires,MC error"
    assert len(lines) == 7
