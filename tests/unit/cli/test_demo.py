"""`judgelaw demo` and `judgelaw audit`: from nothing to a report, and again in no time."""

import json
import shutil

import pytest
from click.testing import CliRunner

from judgelaw.cli.program import cli
from judgelaw.errors import IntegrityError
from judgelaw.estimate import COMPONENTS


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo")
    shown = CliRunner().invoke(cli, ["demo", "--out", str(folder)], catch_exceptions=False)
    assert shown.exit_code == 0, shown.output
    return folder, shown.stdout


def test_the_truth_stands_beside_the_estimate(demo):
    _, shown = demo
    table = shown[shown.index("The truth") :].splitlines()
    rows = {line.split()[0]: line.split() for line in table[2:7]}
    assert list(rows) == list(COMPONENTS)
    assert float(rows["prompt"][1]) == pytest.approx(0.004, abs=1e-9)
    assert float(rows["order"][1]) == pytest.approx(0.03, abs=1e-9)


def test_one_plain_sentence_comes_first(demo):
    first, _, title = demo[1].splitlines()[:3]
    assert first == "known-law on run: 40 items, 6 prompts, 2 orders, 4 times: 1,920 calls"
    assert title.endswith("Do not rely on it")
    assert "Is it right?" in demo[1]


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
    assert set(analysis["layers"]) == {"audit", "control"}


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
