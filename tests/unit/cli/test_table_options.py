"""One spelling for what a column or a word is, in every command; what is asked, told and kept."""

import csv
import json
import os
import pty
import random
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import judgelaw as jl
from judgelaw.cli import program

COMMANDS = ("analyze", "report", "gate", "advise", "score", "compare", "validate", "watch")
ANSWERED = (0, 1, 7)
"""Exit codes of an answer; a refusal has 2."""


@pytest.fixture
def ask(capsys, tmp_path, monkeypatch):
    """Run a command in this process; return exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)

    def call(*words):
        capsys.readouterr()
        code = program._run([str(word) for word in words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def command_line(command, path, *flags):
    """Return the words of a command about one table."""
    return {
        "report": ("report", path, "-o", "page.html", "--permutations", "0", "--draws", "20"),
        "gate": ("gate", path, "--max", "call=0.9"),
        "compare": ("compare", path, "--draws", "20"),
        "analyze": ("analyze", path, "--permutations", "0", "--draws", "20"),
        "watch": ("watch", path, "--permutations", "99"),
        "import": ("import", path, "-o", "out.csv"),
    }.get(command, (command, path)) + flags


def rows(**more):
    """Calls of two judges on two dates, asked three times, with gold and people's labels."""
    r = random.Random(2)
    found = []
    for item in range(8):
        for judge in ("one", "two"):
            for date in ("2026-05-01", "2026-05-08"):
                for repeat in range(3):
                    verdict = r.choice(("pass", "pass", "fail"))
                    row = {"item": f"q{item}", "judge": judge, "date": date, "repeat": repeat}
                    row |= {"verdict": verdict, "gold": "pass"}
                    row["human"] = "pass" if item % 2 else "fail"
                    found.append(row | {k: make(row) for k, make in more.items()})
    return found


def read(path: Path) -> list[dict]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def written(path: Path, table) -> Path:
    names = list(dict.fromkeys(name for row in table for name in row))
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(table)
    return path


ONE = {"validate": ("--judge", "one"), "watch": ("--judge", "one")}
"""Commands that look at one judge."""


@pytest.mark.parametrize("command", [*COMMANDS, "import"])
def test_a_column_is_ignored_or_its_rows_are_chosen(ask, tmp_path, command):
    """--ignore --where: without them the column is asked about, in every command alike."""
    table = [{**row, "condition": kind} for row in rows() for kind in ("base", "padded")]
    path = written(tmp_path / "t.csv", table)
    line = command_line(command, path, *ONE.get(command, ()))
    code, _, err = ask(*line)
    assert code == 2
    assert "rows of a cell differ in 'condition' (2 values: 'base', 'padded'" in err
    printed = [shlex.split(text) for text in re.findall(r"^ {4}judgelaw (.+)$", err, re.MULTILINE)]
    assert any("--where" in words for words in printed)
    for words in (("--where", "condition=base"), ("--columns", "prompt=condition")):
        code, _, err = ask(*line, *words)
        assert code in ANSWERED, err
        assert any(set(words) <= set(words_there) for words_there in printed)
        (tmp_path / "out.csv").unlink(missing_ok=True)
    assert any("--ignore" in words for words in printed)
    ranked = [row for row in table if row["condition"] == ("base", "padded")[row["repeat"] % 2]]
    code, _, err = ask(*command_line(command, written(path, ranked), *ONE.get(command, ())),
                       "--ignore", "condition")  # fmt: skip
    assert code in ANSWERED, err


@pytest.mark.parametrize("command", [*COMMANDS, "import"])
def test_lists_explode_and_files_join(ask, tmp_path, command):
    """--explode --with --on."""
    nested: dict[tuple, dict] = {}
    for row in rows():
        key = (row["item"], row["judge"], row["date"])
        case = nested.setdefault(
            key, {"item": key[0], "judge": key[1], "date": key[2], "calls": []}
        )
        case["calls"].append({"repeat": row["repeat"], "verdict": row["verdict"]})
    path = tmp_path / "nested.json"
    path.write_text(json.dumps(list(nested.values())))
    labels = {row["item"]: row["human"] for row in rows()}
    other = written(
        tmp_path / "labels.csv",
        [{"case": i, "human": h, "gold": "pass"} for i, h in labels.items()],
    )
    line = command_line(command, path, *ONE.get(command, ()))
    code, _, err = ask(*line)
    assert code == 2
    assert "--explode calls" in err
    code, _, err = ask(*line, "--explode", "calls", "--with", other, "--on", "item=case")
    assert code in ANSWERED, err
    if command == "import":
        table = read(Path("out.csv"))
        assert len(table) == len(rows())
        assert {row["item"]: row["human"] for row in table} == labels


@pytest.mark.parametrize("command", [*COMMANDS, "import"])
@pytest.mark.parametrize("kind", ["judges", "criteria"])
def test_columns_of_judges_or_criteria_are_laid_below_one_another(ask, tmp_path, command, kind):
    """--judges --criteria."""
    r = random.Random(5)
    table = [
        {"item": i, "date": f"2026-05-0{1 + d}", "repeat": k, "gold": "yes", "human": "yn"[i % 2]}
        | {"a": r.choice("yn"), "b": r.choice("yn")}
        for i in range(8)
        for d in range(2)
        for k in range(3)
    ]
    table = [{**row, "gold": "y"} for row in table]
    path = written(tmp_path / "wide.csv", table)
    chosen = ("--judge", "a") if kind == "judges" else ("--criterion", "a")
    flags = chosen if command in ONE else ()
    more = ("--by", "prompt") if (command, kind) == ("compare", "criteria") else ()
    if more:
        table = [{**row, "prompt": p} for row in table for p in "pq"]
        flags = ("--criterion", "a")
        written(path, table)
    code, _, err = ask(*command_line(command, path, *flags, *more), f"--{kind}", "a,b")
    assert code in ANSWERED, err
    if command == "analyze":
        words = command_line(command, path, f"--{kind}", "a", f"--{kind}", "b", "--json", "-")
        judges = json.loads(ask(*words)[1])["judges"]
        assert list(judges) == (["a", "b"] if kind == "judges" else ["judge"])
        again = jl.analyze(str(path), **{kind: ["a", "b"]}, permutations=0, draws=20)
        assert again.to_json()["judges"] == judges


def letters(path, words=("A", "B"), orders=("AB", "BA")):
    r = random.Random(6)
    return written(
        path,
        [
            {"item": i, "order": o, "date": f"2026-05-0{d}", "verdict": r.choice(words), "human": w}
            for i in range(8)
            for w in (words[i % 2],)
            for o in orders
            for d in (1, 2)
            for _ in range(2)
        ],
    )


@pytest.mark.parametrize("command", [*COMMANDS, "import"])
def test_words_and_orders_mean_what_is_said(ask, tmp_path, command):
    """--label --map-order --verdicts --positions."""
    path = letters(tmp_path / "t.csv", orders=("one", "two"))
    if command == "compare":
        written(path, [{**row, "judge": judge} for row in read(path) for judge in ("x", "y")])
    worth = ("--value", "A=1", "--value", "B=0") if command == "score" else ()
    line = command_line(command, path)
    code, _, err = ask(*line)
    assert code == 2
    assert "--positions A,B --map-order one=AB --map-order two=BA" in err
    orders = ("--map-order", "one=AB", "--map-order", "two=BA")
    for words in (
        ("--label", "A=candidate_1", "--label", "B=candidate_2"),
        ("--verdicts", "A,B"),
        ("--positions", "A,B", *orders),
    ):
        code, _, err = ask(*line, *words, *(worth if words[0] == "--verdicts" else ()))
        assert code in ANSWERED, err
        (tmp_path / "out.csv").unlink(missing_ok=True)


@pytest.mark.parametrize("command", [*COMMANDS, "import"])
def test_a_verdict_stands_in_a_text(ask, tmp_path, command):
    """--parser --blank --columns."""
    r = random.Random(6)
    table = [
        {"item": i, "date": f"2026-05-0{d}", "gold": "pass", "human": ("pass", "fail")[i % 2]}
        | {
            "judge": judge,
            "said": f"I looked at it {r.random()}. Verdict: {r.choice(['pass', 'fail'])}",
        }
        for i in range(8)
        for d in (1, 2)
        for judge in ("one", "two")
        for _ in range(2)
    ]
    path = written(tmp_path / "t.csv", table)
    line = command_line(command, path, *ONE.get(command, ()))
    code, _, err = ask(*line)
    assert code == 2
    assert r"--parser 'regex:Verdict\W*(fail|pass)'" in err
    words = ("--columns", "verdict=said", "--parser", r"regex:Verdict\W*(fail|pass)")
    code, _, err = ask(*line, *words, "--blank", "invalid")
    assert code in ANSWERED, err


@pytest.mark.parametrize("command", [*COMMANDS, "import"])
def test_a_reading_is_kept_and_taken_up_again(ask, tmp_path, command):
    """--save-reading --reading."""
    table = [{**row, "condition": kind} for row in rows() for kind in ("base", "padded")]
    path = written(tmp_path / "t.csv", table)
    line = command_line(command, path, *ONE.get(command, ()))
    words = ("--columns", "prompt=condition", "--save-reading", "reading.yaml")
    code, out, err = ask(*line, *words)
    assert code in ANSWERED, err
    assert "how the table was read is kept in reading.yaml" in err
    assert "prompt: condition" in Path("reading.yaml").read_text()
    (tmp_path / "out.csv").unlink(missing_ok=True)
    again = ask(*line, "--reading", "reading.yaml")
    assert again[:2] == (code, out)
    (tmp_path / "out.csv").unlink(missing_ok=True)
    assert ask(*line, "--reading", "nowhere.yaml")[0] == 2
    Path("reading.yaml").write_text("colums: {}\n")
    assert "did you mean 'columns'" in ask(*line, "--reading", "reading.yaml")[2]


def test_several_people_are_raters_or_one_for_each_criterion(ask, tmp_path):
    """--human --criteria: none of several columns is forgotten."""
    table = [
        {"item": i, "verdict": "yn"[i % 3 == 0], "ann": "y", "ben": "yn"[i % 2], "verdict_b": "y"}
        for i in range(20)
    ]
    path = written(tmp_path / "t.csv", table)
    words = ("validate", path, "--human", "ann", "--human", "ben", "--ignore", "verdict_b")
    code, out, err = ask(*words, "--json", "-")
    assert code == 0, err
    assert json.loads(out)["labelled"] == 20
    found = jl.validate(str(path), human=["ann", "ben"], ignore="verdict_b")
    assert found.confusion.sum() == 10, "where two people disagree nobody wins"
    words = (
        "validate",
        path,
        "--criteria",
        "verdict,verdict_b",
        "--human",
        "ben",
        "--human",
        "ann",
    )
    code, out, err = ask(*words, "--criterion", "verdict_b", "--json", "-")
    assert (code, json.loads(out)["agreement"]["estimate"]) == (0, 1.0), err


def test_an_import_says_how_it_reads_and_writes_nothing(ask, tmp_path):
    """--dry-run --human: roles with their reasons, what is left, the design."""
    path = written(
        tmp_path / "t.csv", [{**row, "latency_ms": i * 7.5} for i, row in enumerate(rows())]
    )
    code, out, err = ask("import", path, "--dry-run", "--human", "human")
    assert code == 0, err
    assert "item: item (by name)" in out
    assert "not used: latency_ms (a time or cost)" in out
    assert "one: 8 items x 1 prompt x 1 order, 3 repeats in each cell, 48 calls." in out
    assert list(tmp_path.iterdir()) == [path]


def test_the_labels_page_reads_a_table_alike(ask, tmp_path, monkeypatch):
    """label: every word that says what a column is."""
    shown = []

    class Server:
        address = type("Address", (), {"url": "nowhere"})

        def __init__(self, labelling, *_, **__):
            shown.append(labelling)

        def run(self, opened):
            opened()

    monkeypatch.setattr("judgelaw.live.label_server", Server)
    nested = [
        {"case": i, "turn": t, "kind": k, "text": f"Text {i} {t}", "says": [{"v": "pass"}]}
        for i in range(3)
        for t in (1, 2)
        for k in ("x", "y")
    ]
    path, other = tmp_path / "t.json", tmp_path / "more.csv"
    path.write_text(json.dumps(nested))
    written(other, [{"case": i, "more": f"More {i}"} for i in range(3)])
    flags = [
        *("--columns", "item=case,turn", "--columns", "verdict=says.v", "--explode", "says"),
        *("--where", "kind=x", "--with", str(other), "--on", "case", "--ignore", "says@index"),
        *("--label", "pass=pass", "--verdicts", "pass,fail", "--blank", "drop"),
        *("--save-reading", "reading.yaml"),
    ]
    line = ("label", path, "--labels", "good,bad", "--no-open", "--as", "ann")
    code, _, err = ask(*line, *flags)
    assert code == 0, err
    (labelling,) = shown
    assert list(labelling.items) == [f"{i}/{t}" for i in range(3) for t in (1, 2)]
    assert ("More", "More 0") in labelling.items["0/1"].texts
    assert ask(*line, "--reading", "reading.yaml")[0] == 0
    assert list(shown[1].items) == list(labelling.items)
    wide = written(
        tmp_path / "wide.csv", [{"item": i, "text": "t", "a": "x", "b": "y"} for i in "pq"]
    )
    for words in (("--judges", "a,b"), ("--criteria", "a,b")):
        assert ask("label", wide, "--labels", "x,y", "--no-open", *words)[0] == 0
    paired = letters(tmp_path / "letters.csv", orders=("one", "two"))
    said = ("--map-order", "one=AB", "--positions", "A,B", "--labels", "x,y", "--show", "human")
    assert ask("label", paired, *said, "--no-open")[0] == 0
    assert ask("label", paired, "--parser", "first-line", "--labels", "x,y", "--show", "human",
               "--no-open")[0] == 0  # fmt: skip


def test_an_answer_says_how_the_table_was_read(ask, tmp_path):
    """In one line, with the command that says so explicitly and gives the same answer."""
    path = written(
        tmp_path / "t.csv",
        [
            {"question_id": i, "winner": "ab"[(i + k) % 2], "latency_ms": 7.5 * i + k}
            for i in range(9)
            for k in range(2)
        ],
    )
    line = command_line("analyze", path)
    code, out, err = ask(*line)
    assert code == 0
    told, full = err.splitlines()
    assert told.startswith(f"read {path}: judge: judge (not in the table); item: question_id (by")
    assert "repeat: by row; not used: latency_ms" in told
    words = shlex.split(full.removeprefix("in full: judgelaw "))
    assert words[-4:-2] == ["--columns", "item=question_id"]
    again, same, _ = ask(*words)
    assert (again, same) == (code, out)
    document = json.loads(ask(*line, "--json", "-")[1])
    assert document["reading"]["columns"]["item"] == {"columns": ["question_id"], "why": "by name"}
    assert document["reading"]["unused"] == {"latency_ms": "a time or cost"}


def test_a_calls_table_is_read_without_a_word(ask, tmp_path):
    path = written(tmp_path / "t.csv", rows())
    assert ask(*command_line("analyze", path))[2] == ""


def test_a_terminal_is_asked(tmp_path):
    """Each question with its numbers; what was answered is read, and can be kept."""
    table = [{**row, "condition": kind} for row in rows() for kind in ("base", "padded")]
    path = written(tmp_path / "t.csv", table)
    outer, inner = pty.openpty()
    words = command_line("analyze", path, "--save-reading", tmp_path / "kept.yaml")
    process = subprocess.Popen(
        [sys.executable, "-m", "judgelaw", *map(str, words)],
        stdin=inner,
        stdout=inner,
        stderr=inner,
        cwd=tmp_path,
    )
    os.close(inner)
    os.write(outer, b"1\n")
    said = b""
    while process.poll() is None or said[-1:] != b"\n":
        try:
            said += os.read(outer, 4096)
        except OSError:
            break
    assert process.wait(timeout=60) == 0, said.decode()
    assert b"which" in said
    assert "prompt: condition" in (tmp_path / "kept.yaml").read_text()
