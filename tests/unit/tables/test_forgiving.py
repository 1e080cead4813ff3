"""What a newcomer's log holds: positions for verdicts, blanks, repeats from 1, names of its own."""

import csv
import os
import random
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

import judgelaw as jl
from judgelaw.cli.program import cli
from judgelaw.errors import InputError, TableError
from judgelaw.tables import read_tensor, read_tensors
from judgelaw.tables.positions import are_positions
from judgelaw.tensor import DEFAULT_VERDICTS
from support.calls import assert_same, columns, slow, table, write_csv

SWAPPED = {"candidate_1": "candidate_2", "candidate_2": "candidate_1"}
LETTERS = {"candidate_1": "A", "candidate_2": "B"}


def as_positions(rows, letters=None):
    """Write candidates as the positions at which each call showed them."""
    letters = {**LETTERS, **(letters or {})}
    said = []
    for row in rows:
        meant = row["verdict"]
        shown = SWAPPED.get(meant, meant) if row["order"] == "BA" else meant
        said.append(row | {"verdict": letters.get(shown, shown)})
    return said


@pytest.fixture(params=["by cells", "one pass"])
def both_ways(request, monkeypatch):
    if request.param == "one pass":
        monkeypatch.setattr("judgelaw.tables.read._BIG", 0)


@pytest.mark.usefixtures("both_ways")
@pytest.mark.parametrize(
    "words",
    [{}, {"candidate_1": "[[A]]", "candidate_2": "[[B]]"}, {"candidate_1": "a", "tie": "Tie"}],
)
def test_positions_become_the_candidates_that_they_show(tmp_path, words):
    rows = table(items=5, repeats=4)
    path = write_csv(tmp_path / "calls.csv", as_positions(rows, words))
    with pytest.raises(TableError, match="several orders"):
        read_tensor(path)
    restored = read_tensor(path, positions=("A", "B"))
    assert_same(restored, slow(rows), but=("judge", "notes"))
    assert "'A' was read as the answer shown first" in restored.notes[-1]


def test_a_third_position_is_a_tie(tmp_path):
    rows = table(items=4, repeats=3)
    path = write_csv(tmp_path / "calls.csv", as_positions(rows, {"tie": "C"}))
    with pytest.raises(TableError, match=r"verdict 'C' stands beside.*positions=\['A', 'B', 'C'\]"):
        read_tensor(path, positions=("A", "B"))
    restored = read_tensor(path, positions=("A", "B", "C"))
    assert_same(restored, slow(rows), but=("judge", "notes"))


def test_orders_under_other_names_are_understood_or_refused(tmp_path):
    rows = table(items=3, repeats=2)
    shown = as_positions(rows)
    names = {"AB": "original", "BA": "swapped"}
    path = write_csv(tmp_path / "calls.csv", [r | {"order": names[r["order"]]} for r in shown])
    found = read_tensor(path, positions=("A", "B"))
    assert np.array_equal(found.counts, slow(rows).counts)
    strange = write_csv(tmp_path / "x.csv", [r | {"order": f"o{r['order']}"} for r in shown])
    with pytest.raises(TableError, match=r"order 'oAB' is neither AB nor BA.*--map-order"):
        read_tensor(strange, positions=("A", "B"))
    bare = [{k: v for k, v in r.items() if k != "order"} for r in shown if r["order"] == "AB"]
    with pytest.raises(TableError, match="no column says in which order"):
        read_tensor(write_csv(tmp_path / "y.csv", bare), positions=("A", "B"))


def test_letters_can_be_declared_as_they_are(tmp_path):
    rows = [r | {"verdict": "AB"[i % 2]} for i, r in enumerate(table(repeats=2))]
    path = write_csv(tmp_path / "calls.csv", rows)
    assert read_tensor(path, verdicts=["A", "B"]).verdicts == ("A", "B")
    with pytest.raises(InputError, match="give one of the two"):
        read_tensor(path, verdicts=["A", "B"], positions=["A", "B"])


def test_letters_with_one_order_have_one_meaning(tmp_path):
    rows = [r | {"verdict": "AB"[i % 2]} for i, r in enumerate(table(repeats=2))]
    one = write_csv(tmp_path / "one.csv", [row for row in rows if row["order"] == "AB"])
    assert read_tensor(one).verdicts == ("A", "B")


@pytest.mark.parametrize(
    ("words", "named"),
    [
        ({"A", "B"}, True),
        ({"a"}, True),
        ({"[[A]]", "tie"}, True),
        ({"B", "invalid"}, True),
        ({"first", "Second"}, True),
        ({"left", "right", "odd"}, True),
        ({"A", "better"}, False),
        ({"yes", "no"}, False),
        ({"1", "2"}, False),
        ({"Assistant A", "Response B"}, True),
        ({"model_a", "model_b"}, False),
        (set(DEFAULT_VERDICTS), False),
    ],
)
def test_which_words_name_positions(words, named):
    assert are_positions(words) is named


@pytest.mark.parametrize("wrong", ["AB", ["A"], ["A", "a"], ["A", ""], ["A", "B", "C", "D"]])
def test_positions_are_two_words_or_three(tmp_path, wrong):
    with pytest.raises(InputError, match="positions = "):
        read_tensor(write_csv(tmp_path / "calls.csv", table()), positions=wrong)


def first_taker(tmp_path):
    """Write the table of a judge that takes the first answer in three calls of four."""
    draw = random.Random(3)
    rows = [
        {
            "judge": "j",
            "item": i,
            "prompt": p,
            "order": o,
            "repeat": r,
            "verdict": draw.choice("AAAB"),
        }
        for i in range(12)
        for p in ("p", "q")
        for o in ("AB", "BA")
        for r in range(6)
    ]
    return write_csv(tmp_path / "calls.csv", rows), rows


@pytest.mark.parametrize("command", ["gate", "analyze", "report", "compare"])
def test_every_command_refuses_letters_under_several_orders(tmp_path, command):
    path, _ = first_taker(tmp_path)
    options = {"gate": ["--max", "order=0.05"], "compare": [str(path)]}.get(command, [])
    done = CliRunner().invoke(cli, [command, str(path), *options], catch_exceptions=True)
    said = f"{done.output}{done.exception}"
    assert done.exit_code != 0
    assert "--positions A,B" in said
    assert "--verdicts A,B" in said


def test_a_judge_that_likes_the_first_answer_fails_the_gate_once_positions_are_restored(tmp_path):
    path, rows = first_taker(tmp_path)
    with pytest.raises(TableError, match=r"positions=\('A', 'B'\)"):
        jl.gate(path, {"order": 0.05})
    with pytest.raises(TableError, match=r"positions=\('A', 'B'\)"):
        jl.gate(pd.DataFrame(rows), {"order": 0.05})
    tensor = jl.VerdictTensor.from_table(path, positions=("A", "B"))
    assert jl.gate(tensor, {"order": 0.05}).verdict == "fail"
    asked = ["gate", str(path), "--max", "order=0.05", "--positions", "A,B"]
    assert "Gate failed" in CliRunner().invoke(cli, asked).output


def test_a_pytest_marker_refuses_letters_and_takes_the_option(tmp_path):
    path, _ = first_taker(tmp_path)
    test = tmp_path / "test_gate.py"
    test.write_text(
        f"""
import pytest

@pytest.mark.judgelaw({str(path)!r}, max={{"order": 0.05}})
def test_letters(): ...

@pytest.mark.judgelaw({str(path)!r}, max={{"order": 0.9}}, positions=("A", "B"))
def test_restored(): ...
"""
    )
    asked = [sys.executable, "-m", "pytest", "-q", "-p", "judgelaw.pytest_plugin", str(test)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        asked, capture_output=True, text=True, check=False, env=environment, cwd=tmp_path
    )
    assert "1 failed, 1 passed" in done.stdout, done.stdout
    assert "--positions A,B" in done.stdout


BLANKS = ["", "  ", "nan", "NaN", "<NA>", "null", None]


def with_blanks(rows):
    said = [dict(row) for row in rows]
    for place, blank in enumerate(BLANKS):
        said[place * 5]["verdict"] = blank
    return said


@pytest.mark.parametrize(
    "made",
    [
        pd.DataFrame,
        pl.DataFrame,
        lambda rows: pl.DataFrame(rows).lazy(),
        pa.Table.from_pylist,
        pa.RecordBatch.from_pylist,
        lambda rows: pa.Table.from_pylist(rows).to_batches(),
        lambda rows: pa.Table.from_pylist(rows).to_reader(),
    ],
    ids=["pandas", "polars", "lazy", "arrow", "batch", "batches", "reader"],
)
def test_blanks_are_refused_counted_as_invalid_or_left_out(made):
    rows = table(items=4, repeats=4)
    blank = with_blanks(rows)
    with pytest.raises(TableError, match="--blank invalid or --blank drop"):
        read_tensor(made(blank))
    invalid = [r | {"verdict": "invalid"} if r["verdict"] in BLANKS else r for r in blank]
    found = read_tensor(made(blank), blank="invalid")
    assert_same(found, slow(invalid), but=("judge", "notes"))
    assert found.notes == ("7 rows without a verdict were counted as invalid",)
    left = [r for r in blank if r["verdict"] not in BLANKS]
    assert_same(read_tensor(made(blank), blank="drop"), slow(left), but=("judge", "notes"))


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_blanks_in_files_keep_the_lines_of_other_faults(tmp_path, suffix):
    from judgelaw.tables import write_calls

    rows = with_blanks(table(items=4, repeats=4))
    rows[-1]["verdict"] = "candidate_9"
    path = tmp_path / f"calls{suffix}"
    write_calls(path, columns(rows))
    place = {".csv": f":{len(rows) + 1}: ", ".jsonl": f":{len(rows)}: ", ".parquet": " row "}
    with pytest.raises(TableError, match=f"{place[suffix]}.*'candidate_9'"):
        read_tensor(path, blank="drop")


def test_what_a_blank_becomes_is_one_of_three(tmp_path):
    with pytest.raises(InputError, match="blank = 'tie'"):
        read_tensor(write_csv(tmp_path / "calls.csv", table()), blank="tie")


@pytest.mark.usefixtures("both_ways")
def test_repeats_may_count_from_one(tmp_path):
    rows = table(items=4, repeats=4)
    path = write_csv(tmp_path / "calls.csv", [r | {"repeat": r["repeat"] + 1} for r in rows])
    found = read_tensor(path)
    assert_same(found, slow(rows), but=("judge", "notes"))
    assert found.notes == ("repeats count from 1 in this table; they were read as counting from 0",)
    assert_same(
        read_tensor(path, repeats=2),
        slow([r for r in rows if r["repeat"] < 2]),
        but=("judge", "notes"),
    )


def newcomers_log(path):
    """Write what somebody has at hand: own names, repeats from 1, blanks, NaN, letters, gaps."""
    draw = random.Random(5)
    rows = []
    for question in range(8):
        for variant in ("short", "long"):
            for order in ("AB", "BA"):
                for trial in range(1, 3 + draw.randrange(3)):
                    said = draw.choice(["A", "A", "B", "Tie", "", "NaN"])
                    rows.append([question, "gpt-x", variant, order, trial, said, "why"])
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        head = ["Question ID", "Model", "Variant", "Order", "Trial", "Winner", "Reason"]
        writer.writerows([head, *rows])
    return path


def test_the_newcomers_log_is_answered_by_the_second_command(tmp_path):
    path = newcomers_log(tmp_path / "log.csv")
    first = CliRunner().invoke(cli, ["analyze", str(path)])
    said = f"{first.output}{first.exception}"
    assert first.exit_code != 0
    options = ["--blank", "invalid", "--positions", "A,B"]
    assert " ".join(options[:2]) in said
    assert " ".join(options[2:]) in said
    second = CliRunner().invoke(cli, ["analyze", str(path), *options])
    assert second.exit_code == 0, second.output
    assert "gpt-x on log.csv: 8 items, 2 prompts, 2 orders, 2 to 4 times" in second.output


@pytest.mark.parametrize("made", ["csv", "jsonl", "parquet", "list", "polars", "lazy"])
def test_an_order_is_known_by_what_it_says_whatever_its_column_is_called(tmp_path, made):
    """Else two orders would be taken for one, and the letters of positions for names."""
    rows = table(items=3, repeats=2)
    ranked = [r | {"repeat": 2 * r["repeat"] + (r["order"] == "BA")} for r in as_positions(rows)]
    shown = [{"shown_as" if k == "order" else k: v for k, v in r.items()} for r in ranked]
    frame, path = pl.DataFrame(shown), tmp_path / f"calls.{made}"
    makers = {
        "csv": lambda: frame.write_csv(path),
        "jsonl": lambda: frame.write_ndjson(path),
        "parquet": lambda: frame.write_parquet(path),
    }
    if made in makers:
        makers[made]()
    source = {"list": shown, "polars": frame, "lazy": frame.lazy()}.get(made, path)
    with pytest.raises(TableError, match="several orders"):
        read_tensor(source)
    restored = read_tensor(source, positions=("A", "B"))
    assert restored.orders == ("AB", "BA")
    assert np.array_equal(restored.counts, slow(rows).counts)
    assert read_tensor(source, columns={"order": None}).orders == ("only",), "unless it is left out"


def test_two_columns_that_could_be_the_order_are_asked_about(tmp_path):
    rows = [r | {"shown": r["order"], "way": r["order"]} for r in table(items=2, repeats=2)]
    path = write_csv(tmp_path / "calls.csv", [{k: r[k] for k in r if k != "order"} for r in rows])
    with pytest.raises(TableError, match="'shown' and 'way' could each be the order"):
        read_tensor(path)


@pytest.mark.parametrize("door", [lambda x: jl.watch([x]), lambda x: jl.validate(x, human="gold")])
def test_readers_of_labels_and_dates_refuse_letters_too(door):
    rows = [r | {"gold": "candidate_1", "date": "2026-05-01"} for r in table(items=3, repeats=2)]
    with pytest.raises(TableError, match="candidates: --positions A,B;"):
        door(as_positions(rows))


def test_names_that_could_each_be_the_part_are_never_guessed(tmp_path):
    rows = [{"trial": r["repeat"], "run": 7, **r} for r in table()]
    rows = [{k: v for k, v in r.items() if k != "repeat"} for r in rows]
    path = write_csv(tmp_path / "calls.csv", rows)
    with pytest.raises(TableError, match="'trial' and 'run' could each be the repeat"):
        read_tensor(path)
    assert read_tensors(path, columns={"repeat": "trial"})
