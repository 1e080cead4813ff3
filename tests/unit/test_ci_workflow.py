"""The example workflow is YAML, and every command in it exists with the options that it uses."""

import shlex
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from judgelaw.cli.program import COMMANDS, cli

WORKFLOW = Path(__file__).parents[2] / "examples" / "ci" / "judgelaw.yml"


@pytest.fixture(scope="module")
def workflow():
    return YAML(typ="safe").load(WORKFLOW.read_text(encoding="utf-8"))


def commands(workflow):
    steps = workflow["jobs"]["audit"]["steps"]
    lines = (shlex.split(step["run"]) for step in steps if "run" in step)
    return [line for line in lines if line[0] == "judgelaw"]


def test_it_runs_gates_and_keeps_what_it_found(workflow):
    assert set(workflow["on"]) == {"pull_request", "schedule"}
    assert [line[1] for line in commands(workflow)] == ["check", "run", "gate", "report"]
    kept = workflow["jobs"]["audit"]["steps"][-1]["with"]["path"].split()
    assert {"report.html", "gate.xml"} <= set(kept)


def test_every_command_and_option_exists(workflow):
    for _, name, *arguments in commands(workflow):
        assert name in COMMANDS
        command = cli.get_command(None, name)
        context = command.make_context(name, list(arguments), resilient_parsing=False)
        assert context.params


def test_the_watch_appends_a_wave_and_alarms():
    text = WORKFLOW.with_name("watch.yml").read_text(encoding="utf-8")
    watching = YAML(typ="safe").load(text)
    assert set(watching["on"]) == {"schedule"}
    steps = watching["jobs"]["watch"]["steps"]
    lines = [shlex.split(step["run"]) for step in steps if "run" in step]
    ours = [line for line in lines if line[0] == "judgelaw"]
    assert [line[1] for line in ours] == ["run", "watch"]
    for _, name, *arguments in ours:
        assert cli.get_command(None, name).make_context(name, list(arguments)).params
    assert "${{ secrets.JUDGE_API_KEY }}" in text


def test_no_secret_is_written_down(workflow):
    step = next(s for s in workflow["jobs"]["audit"]["steps"] if "env" in s)
    assert all(value.startswith("${{ secrets.") for value in step["env"].values())
