"""The workflow tries what the project says it runs on, with actions pinned by commit."""

import re
import subprocess
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def loaded(name):
    return YAML(typ="safe").load((ROOT / ".github" / "workflows" / name).read_text())


def test_it_tries_every_python_that_the_project_names_on_both_systems():
    matrix = loaded("tests.yml")["jobs"]["pythons"]["strategy"]["matrix"]
    named = [
        found[1]
        for line in PROJECT["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
    ]
    assert matrix["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert {system.split("-")[0] for system in matrix["os"]} == {"ubuntu", "macos"}


def test_it_runs_the_suite_and_the_lowest_versions():
    jobs = loaded("tests.yml")["jobs"]
    commands = {name: [s["run"] for s in job["steps"] if "run" in s] for name, job in jobs.items()}
    assert commands["suite"] == ["make test"]
    # A word of the file's own name would choose every test in it, and other Pythons are not there.
    assert commands["lowest"][-1].endswith("test_lowest.py -m slow -k the_lowest_versions")
    assert "judgelaw demo --out demo" in commands["pythons"]


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_and_rights_are_few(path):
    workflow = YAML(typ="safe").load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        assert job["timeout-minutes"] <= 45
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", step["uses"]), "pin by commit"


def test_it_asks_actionlint_about_itself():
    """It is a program of its own, not a package: the workflow installs it by version."""
    commands = [step.get("run", "") for step in loaded("tests.yml")["jobs"]["workflows"]["steps"]]
    assert any(re.search(r"actionlint@v\d+\.\d+\.\d+$", command) for command in commands)
    assert commands[-1].endswith("bin/actionlint")


def test_the_set_up_says_which_python_it_needs(tmp_path):
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo "Python 3.9.2"\n')
    old.chmod(0o755)
    command = ["/bin/sh", "tools/setup.sh", str(tmp_path / "venv"), "run"]
    done = subprocess.run(
        command, cwd=ROOT, env={"PYTHON": str(old)}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert f"{old} is Python 3.9.2; Python 3.11 or later is needed" in done.stderr


def test_hooks_and_templates_name_tools_and_files_that_are_there():
    hooks = YAML(typ="safe").load((ROOT / ".pre-commit-config.yaml").read_text())
    makefile = (ROOT / "Makefile").read_text()
    for hook in hooks["repos"][0]["hooks"]:
        tool = hook["entry"].split()[0].rsplit("/", 1)[-1]
        assert f"$(BIN)/{tool}" in makefile
    for form in (ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"):
        assert YAML(typ="safe").load(form.read_text())
    assert "make test" in (ROOT / ".github" / "pull_request_template.md").read_text()
