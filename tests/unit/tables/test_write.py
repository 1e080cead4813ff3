"""The canonical writer: whole or not at all, the same bytes for the same rows."""

import gzip
import json
import signal
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor

import duckdb
import numpy as np
import pytest

from judgelaw.errors import InputError, TableError
from judgelaw.tables import read_tensor, write_calls
from support.calls import columns, table

SUFFIXES = [".parquet", ".csv", ".csv.gz", ".jsonl"]
ROWS = {
    "extra": [1, None, 3],
    "verdict": ["tie", None, 'two\nlines, "quoted"'],
    "repeat": np.arange(3),
    "score": np.array([0.5, 1.5, 2.0]),
    "item": np.array(["é", "b", ""]),
    "flag": [True, None, False],
    "empty": [None, None, None],
}


def stored(path) -> list[tuple]:
    with duckdb.connect() as con:
        return con.execute("SELECT * FROM read_parquet(?)", [str(path)]).fetchall()


def types(path) -> dict[str, str]:
    with duckdb.connect() as con:
        rows = con.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
    return {row[0]: row[1] for row in rows}


def test_parquet_keeps_rows_types_and_missing_values(tmp_path):
    path = tmp_path / "deep" / "calls.parquet"
    assert write_calls(path, ROWS) == 3
    assert types(path) == {
        "item": "VARCHAR",
        "repeat": "BIGINT",
        "verdict": "VARCHAR",
        "extra": "BIGINT",
        "score": "DOUBLE",
        "flag": "BOOLEAN",
        "empty": "VARCHAR",
    }
    assert stored(path) == [
        ("é", 0, "tie", 1, 0.5, True, None),
        ("b", 1, None, None, 1.5, None, None),
        ("", 2, 'two\nlines, "quoted"', 3, 2.0, False, None),
    ]


def test_text_formats(tmp_path):
    for suffix in (".csv", ".csv.gz", ".jsonl"):
        write_calls(tmp_path / f"calls{suffix}", ROWS)
    plain = (tmp_path / "calls.csv").read_bytes()
    assert plain.startswith(
        "item,repeat,verdict,extra,score,flag,empty\né,0,tie,1,0.5,true,\n".encode()
    )
    assert gzip.decompress((tmp_path / "calls.csv.gz").read_bytes()) == plain
    lines = [json.loads(line) for line in (tmp_path / "calls.jsonl").read_text().splitlines()]
    assert lines[1] == {
        "item": "b",
        "repeat": 1,
        "verdict": None,
        "extra": None,
        "score": 1.5,
        "flag": None,
        "empty": None,
    }


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_bytes_depend_on_rows_alone(tmp_path, suffix):
    """Not on how the rows are cut into blocks, nor on lists against arrays."""
    rows = columns(table(items=300, repeats=4))
    one, two = tmp_path / f"one{suffix}", tmp_path / f"two{suffix}"
    write_calls(one, rows)
    size = 700
    blocks = (
        {name: np.array(values[i : i + size]) for name, values in rows.items()}
        for i in range(0, len(rows["item"]), size)
    )
    assert write_calls(two, blocks) == len(rows["item"])
    assert one.read_bytes() == two.read_bytes()


def test_a_type_that_shows_late(tmp_path):
    path = tmp_path / "t.parquet"
    write_calls(path, [{"a": [None], "b": [1]}, {"a": [7], "b": [0.5]}, {"a": [None], "b": [2]}])
    assert types(path) == {"a": "BIGINT", "b": "DOUBLE"}
    assert stored(path) == [(None, 1.0), (7, 0.5), (None, 2.0)]


def test_a_table_without_rows_has_its_columns(tmp_path):
    path = tmp_path / "t.parquet"
    assert write_calls(path, {"item": [], "repeat": np.array([], dtype=int)}) == 0
    assert types(path) == {"item": "VARCHAR", "repeat": "BIGINT"}


@pytest.mark.parametrize(
    ("blocks", "words"),
    [
        ([], "no column to write"),
        ([{}], "no column to write"),
        ([{"a": [1], "b": [1, 2]}], "differ in length"),
        ([{"a": [1]}, {"b": [1]}], "block 1 has columns"),
        ([{"a": [1, "x"]}], "column 'a' holds int, str"),
        ([{"a": [1]}, {"a": ["x"]}], "int in one block and str in another"),
        ([{"a": [{"x": 1}]}], "column 'a' holds dict"),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, blocks, words):
    path = tmp_path / "t.parquet"
    with pytest.raises(InputError, match=words):
        write_calls(path, blocks)
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"'t.xlsx' names no format"):
        write_calls(tmp_path / "t.xlsx", ROWS)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_failure_leaves_the_old_file_alone(tmp_path, suffix):
    path = tmp_path / f"t{suffix}"
    write_calls(path, {"a": [1]})
    before = path.read_bytes()

    def blocks():
        yield {"a": [2]}
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        write_calls(path, blocks())
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_a_folder_in_the_way(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(TableError, match="check the path"):
        write_calls(tmp_path / "file" / "t.parquet", ROWS)
    (tmp_path / "t.parquet").mkdir()
    with pytest.raises(TableError, match="check the path"):
        write_calls(tmp_path / "t.parquet", ROWS)


def test_numbers_too_large_stop_at_the_edge(tmp_path):
    with pytest.raises(TableError, match=r"t.parquet"):
        write_calls(tmp_path / "t.parquet", {"a": [1, 2**70]})


def test_blocks_are_not_held_in_python(tmp_path):
    """Twenty blocks need no more Python memory than a few, even with a column of nothing."""

    def blocks(n):
        for block in range(n):
            yield {"item": [f"{block}-{i}" for i in range(5000)], "gold": [None] * 5000}

    def peak(n):
        tracemalloc.start()
        write_calls(tmp_path / "t.parquet", blocks(n))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    assert peak(20) < 1.5 * peak(4)


@pytest.mark.parametrize("name", ["calls.csv", "calls.csv.gz", "calls.jsonl", "calls.parquet"])
def test_a_calls_table_holds_every_text_as_it_is(tmp_path, name):
    """It is data that is read back: an apostrophe before a formula would be another item."""
    items = ["=1+1", "+x", "-y", "@z", "\tt", "'q"]
    count = len(items)
    columns = {"judge": ["=j"] * count, "item": items, "prompt": ["p"] * count}
    write_calls(tmp_path / name, {**columns, "repeat": [0] * count, "verdict": ["tie"] * count})
    tensor = read_tensor(tmp_path / name)
    assert sorted(tensor.items) == sorted(items)


KILLED = """
import os, signal, sys
from judgelaw.tables import write
write._sync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
write.write_calls(sys.argv[1], {"verdict": ["tie"]})
"""


def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path):
    path = tmp_path / "calls.parquet"
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert [found.name for found in tmp_path.rglob("draft.*")] == ["draft.parquet"]
    write_calls(path, ROWS)
    assert [found.name for found in tmp_path.iterdir()] == ["calls.parquet"]


def test_writers_of_one_table_wait_for_each_other(tmp_path):
    path = tmp_path / "calls.parquet"
    numbers = range(24)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda n: write_calls(path, {"repeat": np.full(50, n)}), numbers))
    (found,) = {row[0] for row in stored(path)}
    assert found in numbers
    assert [found.name for found in tmp_path.iterdir()] == ["calls.parquet"]


def test_a_large_whole_number_among_small_ones_is_written(tmp_path):
    """As a provider may count tokens; the first ones do not say how large the others are."""
    counts = [*[3] * 5_000, None, 2**31, 2**53 - 1, -(2**40)]
    path = tmp_path / "calls.parquet"
    write_calls(path, {"item": ["i"] * len(counts), "tokens": counts})
    with duckdb.connect() as con:
        found = con.sql(f"SELECT tokens FROM '{path}'").fetchall()  # noqa: S608 - a path of ours
    assert [row[0] for row in found] == counts
