"""The GitHub action: its script on a planted regression and on none, its hook, its file."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from ruamel.yaml import YAML

from judgelaw.cli.program import cli
from judgelaw.tables import write_calls
from judgelaw.worlds import World

ROOT = Path(__file__).parents[2]
PINNED = r"^[\w./-]+@[0-9a-f]{40}$"


def table(path, right, seed=1, judge="judge"):
    """Write the calls of a judge that is right on a share of the items."""
    world = World.from_judge(right=right, slip=0.02, seed=seed)
    t = world.tensor(items=60, prompts=2, orders=2, repeats=4, seed=seed)
    rows = {name: [] for name in ("judge", "item", "prompt", "order", "repeat", "verdict", "gold")}
    for i, item in enumerate(t.items):
        for k, prompt in enumerate(t.prompts):
            for o, order in enumerate(("AB", "BA")):
                for r, code in enumerate(t.ranked[i, k, o]):
                    values = (judge, item, prompt, order, r, t.verdicts[code], "candidate_1")
                    for name, value in zip(rows, values, strict=True):
                        rows[name].append(value)
    write_calls(path, [rows])
    return path


def act(tmp_path, calls, **inputs):
    """Run the script as the action does; return its exit code, the comment and the outputs."""
    summary, output = tmp_path / "summary.md", tmp_path / "output"
    environment = {
        **os.environ,
        "CALLS": str(calls),
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_OUTPUT": str(output),
        "RUNNER_TEMP": str(tmp_path),
        **{name.upper(): value for name, value in inputs.items()},
    }
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "action_gate.py"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    lines = output.read_text().splitlines() if output.exists() else []
    outputs = dict(line.split("=", 1) for line in lines)
    return done, summary.read_text() if summary.exists() else "", outputs


def test_a_judge_that_keeps_its_limits_passes_and_says_so(tmp_path):
    calls = table(tmp_path / "calls.parquet", 0.97)
    limits = "--max prompt=0.05\n--min right=0.75  # half way"
    done, summary, outputs = act(tmp_path, calls, limits=limits)
    assert done.returncode == 0, done.stderr
    assert outputs["verdict"] == "pass"
    assert outputs["answer"].startswith("judge: Use it")
    assert "judgelaw: gate passed" in summary
    assert "✔ Use it" in summary
    folder = Path(outputs["folder"])
    assert (folder / "comment.md").read_text() in summary
    assert (folder / "gate.xml").read_text().startswith("<?xml")
    assert json.loads((folder / "gate.json").read_text())["verdict"] == "pass"


def test_a_planted_regression_fails(tmp_path):
    before = table(tmp_path / "before.parquet", 0.97)
    now = table(tmp_path / "now.parquet", 0.55)
    done, summary, outputs = act(tmp_path, now, baseline=str(before))
    assert done.returncode == 1, done.stdout + done.stderr
    assert outputs["verdict"] == "fail"
    assert "judgelaw: gate failed" in summary


@pytest.mark.parametrize(("way", "code"), [("", 0), ("warn", 0), ("fail", 1), ("pass", 0)])
def test_what_cannot_be_decided_counts_as_asked(tmp_path, way, code):
    calls = table(tmp_path / "calls.parquet", 0.97)
    done, _, outputs = act(tmp_path, calls, limits="--max prompt=0.0001", inconclusive=way)
    assert (done.returncode, outputs["verdict"]) == (code, "inconclusive")


def test_what_cannot_be_read_ends_the_job_with_the_reason(tmp_path):
    done, summary, outputs = act(tmp_path, tmp_path / "none.csv")
    assert done.returncode == 2
    assert "none.csv" in done.stderr
    assert "judgelaw could not answer" in summary
    assert outputs == {}
    done, *_ = act(tmp_path, tmp_path / "none.csv", inconclusive="maybe")
    assert done.returncode == 2


def test_names_of_strangers_stay_inside_their_fence(tmp_path):
    calls = table(tmp_path / "calls.parquet", 0.97, judge="j````\n# big")
    _, summary, outputs = act(tmp_path, calls, limits="--max prompt=0.05")
    assert "`````text" in summary
    assert "\n" not in outputs["answer"]


def test_the_file_hands_inputs_over_by_the_environment_and_pins_what_it_uses():
    action = YAML(typ="safe").load((ROOT / "action.yml").read_text())
    steps = action["runs"]["steps"]
    assert not [s for s in steps if "${{" in s.get("run", "")], "an input in a script is run"
    assert all(re.match(PINNED, s["uses"]) for s in steps if "uses" in s)
    (gate,) = [s for s in steps if s.get("id") == "gate"]
    assert {"CALLS", "LIMITS", "BASELINE", "OPTIONS", "INCONCLUSIVE"} == {*gate["env"]}


def test_the_hook_checks_every_study_that_it_is_given(tmp_path):
    (hook,) = YAML(typ="safe").load((ROOT / ".pre-commit-hooks.yaml").read_text())
    assert hook["entry"].split()[-2:] == ["judgelaw", "check"]
    studies = [str(ROOT / f"examples/{name}/study.yaml") for name in ("quickstart", "pairs")]
    shown = CliRunner().invoke(cli, ["check", *studies])
    assert shown.exit_code == 0, shown.output
    assert shown.output.count("no problem found") == 2
    wrong = tmp_path / "study.yaml"
    wrong.write_text("version: 1\nsead: 3\n")
    assert CliRunner().invoke(cli, ["check", studies[0], str(wrong)]).exception is not None
