"""A newcomer's six tasks, as the README's table gives them: each command and each line runs."""

import re
import shlex
import shutil

import pytest

import judgelaw as jl
from judgelaw.cli import program
from servers.provider import Provider, say
from support.pages import ROOT

README = (ROOT / "README.md").read_text()
TABLE = README.split("## Six things to do")[1].split("\n## ")[0]
ROWS = re.findall(r"^\| ([a-z].+?) \| (.+) \| (.+) \|$", TABLE, re.MULTILINE)[1:]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder with the tables that the rows name."""
    import pandas as pd

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("webbrowser.open", lambda _: True)
    calls = pd.read_csv(ROOT / "examples" / "calls.csv.gz")
    calls = calls[calls["item"].isin(sorted(calls["item"].unique())[:60])]
    calls.to_csv("calls.csv", index=False)
    for judge in ("monday", "tuesday"):
        calls.assign(judge=judge).to_csv(f"{judge}.csv", index=False)
    return tmp_path


def test_there_are_six_of_at_most_three_steps_each():
    verbs = [row[0].split()[0] for row in ROWS]
    assert verbs == ["analyse", "audit", "gate", "compare", "decide", "write"]
    for _, commands, line in ROWS:
        assert 1 <= len(re.findall("`judgelaw", commands)) <= 3
        assert re.fullmatch(r"`jl\.\w+\(.*\)(\.\w+)?`", line)


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_commands_run(row, folder, capsys):
    with Provider(say("A", model="Qwen/Qwen3-8B")) as provider:
        for command in re.findall(r"`judgelaw (.+?)`", row[1]):
            code = program._run(shlex.split(command))
            said = capsys.readouterr()
            assert code in (0, 7), said.err
            study = folder / "study.yaml"
            if command.startswith("init"):
                text = study.read_text()
                study.write_text(text.replace("http://127.0.0.1:8000/v1", provider.base_url))
    if "report" in row[0]:
        assert (folder / "calls.html").is_file()


@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_the_lines_run(row, folder):
    with Provider(say("A", model="Qwen/Qwen3-8B")) as provider:
        if "audit" in row[0]:
            program._run(["init", "--provider", "vllm"])
            study = folder / "study.yaml"
            text = study.read_text().replace("http://127.0.0.1:8000/v1", provider.base_url)
            study.write_text(text)
        found = eval(row[2].strip("`"), {"jl": jl})  # noqa: S307 - a line of our own README
    assert found is not None


EXPLAINED = {r"census": "A **census** of prompts declares all that matter"}
UNKNOWN = (r"(?<!judge)\blaws?\b", "plug-in", "stratum", "estimand", "dice")


@pytest.mark.parametrize("word", UNKNOWN)
def test_the_readme_does_without_words_that_a_newcomer_does_not_know(word):
    prose = re.sub(r"```.*?```|`[^`]*`|\]\([^)]*\)", "", README, flags=re.DOTALL)
    assert not re.search(word, prose, re.IGNORECASE)


@pytest.mark.parametrize("word", EXPLAINED)
def test_a_word_of_ours_is_explained_in_the_paragraph_where_it_first_occurs(word):
    prose = re.sub(r"```.*?```|`[^`]*`", "", README, flags=re.DOTALL)
    first = next(p for p in prose.split("\n\n") if re.search(word, p, re.IGNORECASE))
    assert EXPLAINED[word] in " ".join(first.split())


def test_the_examples_that_the_readme_names_are_there():
    for name in re.findall(r"\]\((docs/[\w/.-]+|[A-Z]+\.md|benchmarks/[\w.]+)\)", README):
        assert (ROOT / name).exists(), name
    assert shutil.which("make"), "the README's two commands need it"
