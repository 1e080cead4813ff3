"""`judgelaw demo` and `judgelaw audit`: from nothing to a report, and again in no time."""

import json
import shutil

import pytest
from click.testing import CliRunner

from judgelaw.cli.program import cli
from judgelaw.errors import IntegrityError


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    shown = CliRunner().invoke(cli, ["demo", "--out", str(folder)], catch_exceptions=False)
    assert shown.exit_code == 0, shown.output
    return folder, shown.stdout


def test_what_is_wrong_with_the_judge_is_found(demo):
    """One bad prompt and an order effect: both are named, first what makes it right more often."""
    lines = demo[1].splitlines()
    assert lines[0] == "known-law on run: 100 items, 4 prompts, 2 orders, 4 times: 3,200 calls"
    assert lines[2].endswith("Change it first")
    done = [line for line in lines if line.startswith("→")]
    assert "“strict”" in done[0]
    assert "both orders" in done[1]


def test_the_truth_stands_beside_the_answer(demo):
    """Doing what it says makes the judge better, and every interval holds its truth."""
    table = demo[1][demo[1].index("The truth") :].splitlines()[2:6]
    rows = {" ".join(line.split()[:-5]): line.split()[-5:] for line in table}
    truth = {name: float(row[0]) for name, row in rows.items()}
    assert truth["right, as advised"] > truth["right"] + 10
    assert truth["change, as advised"] < truth["change with another prompt"] / 5
    for name, (exact, _, low, _, high) in rows.items():
        assert float(low) <= float(exact) <= float(high), name
    answer = json.loads((demo[0] / "run/results/analysis.json").read_text())["judges"]["known-law"]
    assert float(rows["right"][1]) == round(100 * answer["answer"]["right"]["estimate"], 1)


def test_the_run_folder_holds_what_the_contract_names(demo):
    run = demo[0] / "run"
    for name in (
        "study.yaml",
        "manifest.parquet",
        "manifest.json",
        "ledger.sqlite",
        "calls.parquet",
        "timing.parquet",
        "results/analysis.json",
        "report.html",
        "SHA256SUMS",
    ):
        assert (run / name).is_file(), name
    analysis = json.loads((run / "results/analysis.json").read_text())
    assert analysis["schema"] == "judgelaw.analysis/1"
    assert analysis["judges"]["known-law"]["repeats"] == 4
    assert analysis["judges"]["known-law"]["answer"]["word"] == "change"


def test_the_same_command_resumes_and_asks_nothing_again(demo):
    folder, first = demo
    again = CliRunner().invoke(
        cli, ["audit", str(folder / "study.yaml"), "--out", str(folder / "run")]
    )
    assert again.exit_code == 0
    assert again.stdout.splitlines()[0] == first.splitlines()[0]
    status = CliRunner().invoke(cli, ["status", str(folder / "run"), "--json", "-"])
    counted = json.loads(status.stdout)
    assert counted["attempts"] == counted["completed"] == counted["planned"]


def test_everything_in_the_run_verifies(demo):
    shown = CliRunner().invoke(cli, ["verify", str(demo[0] / "run"), "--json", "-"])
    assert shown.exit_code == 0, shown.output
    assert json.loads(shown.stdout)["ok"] is True


def test_every_reported_estimate_is_counted_again_pair_by_pair(demo):
    run = demo[0] / "run"
    shown = CliRunner().invoke(cli, ["verify", str(run), "--recompute", "--json", "-"])
    (check,) = [c for c in json.loads(shown.stdout)["checks"] if c["name"] == "recount"]
    assert check["ok"]
    assert int(check["detail"].split()[0]) > 1000


def test_a_changed_estimate_is_found_by_the_recount(demo, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(demo[0] / "run", run)
    path = run / "results/analysis.json"
    document = json.loads(path.read_text())
    document["judges"]["known-law"]["components"]["prompt"]["estimate"] += 1e-6
    path.write_text(json.dumps(document))
    shown = CliRunner().invoke(cli, ["verify", str(run), "--recompute", "--json", "-"])
    checks = {c["name"]: c["ok"] for c in json.loads(shown.stdout)["checks"]}
    assert checks["recount"] is False
    assert isinstance(shown.exception, IntegrityError)
