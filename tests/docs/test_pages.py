"""Every Python block of the documentation runs, and prints what the page says."""

import doctest
import gzip
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import judgelaw as jl
from support.imports import FIXTURES
from support.pages import PAGES, blocks

ROOT = Path(__file__).parents[2]
PYTHON = {
    name: found
    for name, page in PAGES.items()
    if (found := [block.text for block in blocks(page.read_text()) if block.language == "python"])
}


@pytest.mark.parametrize("name", PYTHON)
def test_python_blocks_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    PREPARE.get(name, _copy_calls)(tmp_path)
    run_examples("\n".join(PYTHON[name]), {}, name)


SHOWN = [name for name in dir(jl) if ">>>" in (getattr(jl, name).__doc__ or "")]


@pytest.mark.parametrize("name", SHOWN)
def test_the_examples_of_a_public_name_run(name):
    """The reference page prints them."""
    there = {public: getattr(jl, public) for public in dir(jl)}
    run_examples(getattr(jl, name).__doc__, there, name)


def run_examples(text: str, there: dict, name: str) -> None:
    test = doctest.DocTestParser().get_doctest(text, there, name, name, 0)
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    report = []
    runner.run(test, out=report.append)
    assert runner.failures == 0, "".join(report)


def _copy_calls(folder: Path) -> None:
    (folder / "examples").mkdir()
    for name in ("calls.csv.gz", "verdicts.csv"):
        shutil.copy(ROOT / "examples" / name, folder / "examples")


def text_of(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


@pytest.mark.parametrize(
    ("script", "name"), [("make_calls.py", "calls.csv.gz"), ("make_verdicts.py", "verdicts.csv")]
)
def test_an_example_table_is_what_its_script_writes(script, name, tmp_path):
    again = tmp_path / name
    subprocess.run([sys.executable, str(ROOT / "examples" / script), str(again)], check=True)
    assert text_of(again) == text_of(ROOT / "examples" / name)


def test_the_screen_of_the_readme_is_what_the_command_prints(tmp_path):
    _copy_calls(tmp_path)
    found = [
        block.text
        for block in blocks(PAGES["README.md"].read_text())
        if block.text.startswith("$ judgelaw")
    ]
    (screen,) = found
    first, said = screen.split("\n", 1)
    command = [sys.executable, "-m", *first.removeprefix("$ ").split()]
    told = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "80"},
    )
    assert told.stdout.rstrip() == said.rstrip()


def _copy_log(folder: Path) -> None:
    (folder / "logs").mkdir()
    shutil.copy(FIXTURES / "inspect-crossed.eval", folder / "logs" / "crossed.eval")


PREPARE = {"docs/howto/ci.md": _copy_log}


@pytest.mark.parametrize("name", PYTHON)
def test_no_python_block_is_left_out(name):
    """A fenced block without a prompt would not run: it must say another language."""
    for block in PYTHON[name]:
        assert block.lstrip().startswith(">>>"), f"{name}: {block[:60]!r}"
