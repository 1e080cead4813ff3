"""Frames of every library, eager and lazy: the same tensor, bit for bit, and the same refusals."""

import subprocess
import sys

import duckdb
import narwhals as nw
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from judgelaw.errors import DuplicateCallsError, InputError, MissingExtraError, TableError
from judgelaw.tables import read_tensor, read_tensors
from judgelaw.tables.in_memory import engine_errors
from support.calls import assert_same, columns, slow, table, write_csv


def relation(data: dict) -> duckdb.DuckDBPyRelation:
    con = duckdb.connect()
    return con.from_arrow(pa.table(data))


LIBRARIES = {
    "pandas": pd.DataFrame,
    "pandas objects": lambda data: pd.DataFrame(data, dtype=object),
    "pandas categories": lambda data: pd.DataFrame(data).astype("category"),
    "polars": pl.DataFrame,
    "polars lazy": pl.LazyFrame,
    "polars text": lambda data: pl.DataFrame(data).cast(pl.String),
    "polars lazy text": lambda data: pl.LazyFrame(data).cast(pl.String),
    "pyarrow": pa.table,
    "duckdb": relation,
    "narwhals": lambda data: nw.from_native(pl.DataFrame(data)),
    "narwhals lazy": lambda data: nw.from_native(pl.LazyFrame(data)),
}
LAZY = ("polars lazy", "duckdb")

library = pytest.mark.parametrize("library", LIBRARIES)


def full() -> list[dict]:
    """Two judges in two layers, with strata, gold and an extra column."""
    rows = [
        row | {"layer": layer}
        for layer in ("audit", "control")
        for judge in ("a", "b")
        for row in table(judge=judge, repeats=4)
    ]
    return [
        row | {"stratum": "s" + row["item"], "gold": "tie", "extra": n}
        for n, row in enumerate(rows)
    ]


@library
def test_a_frame_equals_a_file(tmp_path, library):
    path = write_csv(tmp_path / "calls.csv", full())
    frame = LIBRARIES[library](columns(full()))
    from_file, from_frame = read_tensors(path), read_tensors(frame)
    assert list(from_file) == list(from_frame)
    for pair, tensor in from_file.items():
        assert_same(from_frame[pair], tensor)
    layer, judge = ("control", "b")
    one = read_tensor(frame, layer=layer, judge=judge, repeats=3)
    assert_same(one, from_file[layer, judge].prefix(3))


@library
def test_an_empty_stratum_and_a_missing_one_are_the_same(library):
    """Rows of one cell may write it either way, and none of its calls is lost."""
    rows = [row | {"stratum": (None, "")[n % 2]} for n, row in enumerate(table(repeats=4))]
    rows = [row | ({"stratum": "s"} if row["item"] == "i1" else {}) for row in rows]
    tensor = read_tensor(LIBRARIES[library](columns(rows)))
    assert tensor.strata == ("(no stratum)", "s", "(no stratum)")
    assert_same(tensor, slow(rows), but=("judge", "strata"))


@library
def test_ranks_beyond_a_word(library):
    rows = table(items=2, prompts=1, repeats=70)
    tensor = read_tensor(LIBRARIES[library](columns(rows)))
    assert_same(tensor, slow(rows), but=("judge",))


@library
def test_without_order_and_with_another_alphabet(library):
    rows = [
        {k: v for k, v in r.items() if k != "order"} for r in table(orders=("AB",), verdicts="xyz")
    ]
    tensor = read_tensor(LIBRARIES[library](columns(rows)))
    assert_same(tensor, slow(rows, ("x", "y", "z")), but=("judge",))


@library
def test_duplicates_are_named(library):
    rows = table()
    rows += [rows[3], rows[3], rows[9] | {"verdict": "invalid"}]
    with pytest.raises(DuplicateCallsError, match=r"again in 2 cells.*'i0'.*repeat 0 has 3 rows"):
        read_tensor(LIBRARIES[library](columns(rows)))


def test_a_lazy_duplicate_that_carries_into_the_next_rank_is_found():
    """Rank 0 twice adds up to the mark of rank 1, and rank 31 twice to that of the next word."""
    rows = table(items=1, prompts=1, orders=("AB",), repeats=40)
    for twice in (0, 31):
        repeated = [r for r in rows if r["repeat"] != twice + 1] + [rows[twice]]
        with pytest.raises(DuplicateCallsError, match=f"repeat {twice} has 2 rows"):
            read_tensor(pl.LazyFrame(columns(repeated)))


@library
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"verdict": None}, "the verdict is empty"),
        ({"verdict": "candidat_1"}, "did you mean 'candidate_1'"),
        ({"item": None}, "the item is empty"),
        ({"repeat": -1}, "repeat -1 is negative"),
        ({"repeat": 99_999_999}, "seed or a time"),
    ],
)
def test_bad_fields_are_refused(library, change, words):
    rows = table()
    rows[4] |= change
    with pytest.raises(TableError, match=words):
        read_tensor(LIBRARIES[library](columns(rows)))


@library
def test_missing_columns_are_refused(library):
    data = columns(table())
    data["verdcit"] = data.pop("verdict")
    with pytest.raises(TableError, match=r"the frame: no column 'verdict'.*'verdcit'"):
        read_tensor(LIBRARIES[library](data))


@library
def test_empty_frames_are_refused(library):
    data = {name: [] for name in columns(table())}
    with pytest.raises(TableError, match="holds no call"):
        read_tensor(LIBRARIES[library](data))


@pytest.mark.parametrize("library", ["pandas", "polars", "polars lazy", "duckdb"])
def test_fractional_ranks_are_refused(library):
    data = columns(table())
    data["repeat"] = [r + 0.5 * (n == 4) for n, r in enumerate(data["repeat"])]
    with pytest.raises(TableError, match=r"repeat '0.5|repeat '1.5"):
        read_tensor(LIBRARIES[library](data))


@pytest.mark.parametrize("library", LAZY)
def test_ranks_that_are_words_stop_at_the_edge(library):
    data = columns(table())
    data["repeat"] = ["one"] * len(data["repeat"])
    with pytest.raises(TableError, match="check that repeat holds whole numbers"):
        read_tensor(LIBRARIES[library](data))


def test_whole_floats_are_ranks():
    data = columns(table())
    data["repeat"] = [float(r) for r in data["repeat"]]
    for make in (pd.DataFrame, pl.DataFrame, pl.LazyFrame):
        assert_same(read_tensor(make(data)), slow(table()), but=("judge",))


@pytest.mark.parametrize("source", [None, 3, {"judge": ["j"]}, [("j", "i")], b"calls.csv"])
def test_what_is_no_table_is_refused(source):
    with pytest.raises(InputError, match="is no calls table"):
        read_tensor(source)


def test_a_lazy_scan_of_nothing_stops_at_the_edge(tmp_path):
    with pytest.raises(TableError, match="the frame: its engine answered"):
        read_tensor(pl.scan_csv(tmp_path / "none.csv"))


def test_pandas_columns_of_any_name():
    frame = pd.DataFrame(columns(table()))
    frame[7] = 1
    assert_same(read_tensor(frame), slow(table()), but=("judge",))
    frame.columns = ["judge", "judge", *frame.columns[2:]]
    with pytest.raises(TableError, match="the frame"):
        read_tensor(frame)


def test_a_series_is_no_table():
    with pytest.raises(InputError, match="is no calls table"):
        read_tensor(pl.Series([1]))


def test_errors_of_an_engine_become_ours():
    with pytest.raises(TableError, match="answered LookupError: what"), engine_errors("the frame"):
        raise LookupError("what\nand more")
    with pytest.raises(MissingExtraError, match="install pyarrow"), engine_errors("the frame"):
        raise ModuleNotFoundError("no", name="pyarrow")
    with pytest.raises(InputError, match="ours"), engine_errors("the frame"):
        raise InputError("ours")


def test_polars_needs_no_pyarrow():
    """Neither does anything else in the package: pyarrow is not among its dependencies."""
    code = """
import sys
sys.modules["pyarrow"] = None
sys.modules["pandas"] = None
import polars as pl
from judgelaw.tables import read_tensor
data = {"judge": "j", "item": ["a", "b"] * 2, "prompt": "p", "repeat": [0, 0, 1, 1]}
data["verdict"] = "tie"
for frame in (pl.DataFrame(data), pl.LazyFrame(data)):
    assert read_tensor(frame).depth == (2, 2)
"""
    subprocess.run([sys.executable, "-c", code], check=True)
