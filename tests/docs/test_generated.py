"""Pages that are read off the program say something about everything that they list."""

import importlib.util
import json
import re

import pytest

from judgelaw.cli import program
from judgelaw.cli.program import COMMANDS
from support.pages import GENERATED, ROOT


@pytest.fixture(scope="module")
def generated():
    spec = importlib.util.spec_from_file_location("generated", ROOT / "docs" / "generated.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages(generated):
    return generated.pages()


def test_the_pages_that_other_tests_leave_out_are_the_generated_ones(pages):
    assert set(pages) == GENERATED
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {f"docs/reference/{name}" for name in pages} <= set(ignored)


def test_every_command_is_on_its_page(pages):
    for name in COMMANDS:
        assert f"\n## judgelaw {name}\n" in pages["cli.md"]


def test_every_key_of_the_analysis_is_explained(generated, pages):
    sections = pages["analysis.md"].split("\n## ")[1:]
    expected = generated.sections(generated.example())
    assert len(sections) == len(expected)
    for section, (title, value, _) in zip(sections, expected, strict=True):
        rows = re.findall(r"^\| `(\w+)` \| ([^|]+) \| (.*) \|$", section, re.MULTILINE)
        assert section.startswith(f"{title}\n")
        assert [key for key, _, _ in rows] == list(value)
        assert all(kind.strip() and told.strip() for _, kind, told in rows), title


def test_a_real_analysis_has_the_keys_of_the_page(generated, tmp_path, capsys, monkeypatch):
    """A census of prompts has the same keys as the example, some of them null."""
    from servers.study import simulated_judge, write_study

    monkeypatch.chdir(tmp_path)
    write_study(tmp_path, [simulated_judge(name="a")], repeats=4)
    assert program._run(["run", "study.yaml", "--out", "run"]) == 0
    capsys.readouterr()
    assert (
        program._run(["analyze", "run", "--draws", "50", "--permutations", "9", "--json", "-"]) == 0
    )
    found = json.loads(capsys.readouterr().out)
    example = generated.example()
    assert set(found) == set(example)
    assert set(found["judges"]["a"]) == set(example["judges"]["a"])
    for component in found["judges"]["a"]["components"].values():
        assert set(component) == set(example["judges"]["a"]["components"]["call"])


def test_every_column_of_a_calls_table_is_explained(generated, pages):
    for name in generated.CONTRACT:
        assert f"| `{name}` |" in pages["tables.md"]
        assert generated.MEANING[name]
