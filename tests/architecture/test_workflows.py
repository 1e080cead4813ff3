"""The workflow tries what the project says it runs on, with actions pinned by commit."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def loaded(name):
    return YAML(typ="safe").load((ROOT / ".github" / "workflows" / name).read_text())


def test_it_tries_every_python_that_the_project_names_on_every_system():
    matrix = loaded("tests.yml")["jobs"]["pythons"]["strategy"]["matrix"]
    named = [
        found[1]
        for line in PROJECT["classifiers"]
        if (found := re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line))
    ]
    assert matrix["python"] == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert {system.split("-")[0] for system in matrix["os"]} == {"ubuntu", "macos", "windows"}


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


def test_a_release_is_built_twice_tried_and_uploaded_without_a_password():
    jobs = loaded("release.yml")["jobs"]
    commands = "\n".join(step.get("run", "") for step in jobs["build"]["steps"])
    assert "diff -r dist again" in commands
    assert "empty/bin/judgelaw demo" in commands
    assert jobs["publish"]["permissions"]["id-token"] == "write"
    uses = [step["uses"].split("@")[0] for step in jobs["publish"]["steps"] if "uses" in step]
    assert uses[1:] == ["actions/attest-build-provenance", "pypa/gh-action-pypi-publish"]
    text = (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert "secrets." not in text
    assert "password:" not in text


def test_the_notes_of_a_release_are_its_section_of_the_changelog(tmp_path):
    tree = tmp_path / "tree"
    for name, text in {
        "src/judgelaw/__init__.py": '__version__ = "1.2.3"\n',
        "CITATION.cff": "cff-version: 1.2.0\nversion: 1.2.3\n",
        "CHANGELOG.md": "# Changelog\n\n## 1.2.3 (2026-01-02)\n\n- One.\n\n## 1.2.2\n",
        "tools/release_notes.py": (ROOT / "tools" / "release_notes.py").read_text(),
    }.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)

    def noted(tag):
        command = [sys.executable, tree / "tools/release_notes.py", tag]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    assert noted("v1.2.3").stdout == "- One.\n"
    assert "__version__ is 1.2.3" in noted("v1.2.4").stderr
    (tree / "CHANGELOG.md").write_text("# Changelog\n\n## 1.2.3 (unreleased)\n\n- One.\n")
    assert "no section `## 1.2.3 (YYYY-MM-DD)`" in noted("v1.2.3").stderr


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
