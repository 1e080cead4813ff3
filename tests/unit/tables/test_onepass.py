"""One pass over a big table: the tensors of the group-by, and no answer where it cannot tell."""

import duckdb
import numpy as np
import pytest

from judgelaw.duck import batches
from judgelaw.errors import TableError
from judgelaw.tables import onepass, read, read_tensor, read_tensors, write_calls
from judgelaw.tables.onepass import EMPTY, Grid, TooSparseError
from support.calls import assert_same, columns, table


@pytest.fixture
def passes(monkeypatch):
    """Record what the one pass answered, None where it left the table to the group-by."""
    answers = []
    plain = onepass.read_in_one_pass

    def recorded(*arguments):
        answers.append(plain(*arguments))
        return answers[-1]

    monkeypatch.setattr(read, "_BIG", 1)
    monkeypatch.setattr(read, "read_in_one_pass", recorded)
    return answers


def both(path, monkeypatch, **options):
    one = read_tensors(path, **options)
    monkeypatch.setattr(read, "_BIG", float("inf"))
    return one, read_tensors(path, **options)


def test_judges_of_different_designs_are_told_apart(tmp_path, monkeypatch, passes):
    rows = [row | {"judge": "wide"} for row in table(items=40, prompts=3, repeats=5)]
    rows += [
        row | {"judge": "narrow", "prompt": f"n{row['prompt']}"}
        for row in table(items=7, prompts=1, orders=("AB",), repeats=2)
    ]
    path = tmp_path / "calls.parquet"
    write_calls(path, columns(rows))
    one, other = both(path, monkeypatch)
    assert passes[0] is not None
    assert list(one) == list(other) == [(None, "narrow"), (None, "wide")]
    for pair, tensor in one.items():
        assert_same(tensor, other[pair])


def test_one_judge_of_several(tmp_path, monkeypatch, passes):
    rows = [row | {"judge": judge} for judge in "ab" for row in table(items=9)]
    path = tmp_path / "calls.csv"
    write_calls(path, columns(rows))
    one, other = both(path, monkeypatch, judges=["b"])
    assert passes[0] is not None
    assert_same(one[None, "b"], other[None, "b"])


def test_labels_beyond_the_first_rows_are_found(tmp_path, passes):
    """Items that stand last are in no sample of the first rows."""
    rows = sorted(table(items=60), key=lambda row: row["item"])
    path = tmp_path / "calls.csv"
    write_calls(path, columns(rows))
    tensor = read_tensor(path)
    assert passes[0] is not None
    assert tensor.items == tuple(sorted({row["item"] for row in rows}))


@pytest.mark.parametrize(
    "change",
    [{"repeat": 0}, {"item": ""}, {"stratum": "another"}, {"repeat": 60_000}],
    ids=["a call twice", "an empty item", "two strata", "sparse ranks"],
)
def test_what_is_out_of_order_is_left_to_the_group_by(tmp_path, passes, change):
    rows = [row | {"stratum": "s"} for row in table(items=3)]
    rows[-1] |= change
    path = tmp_path / "calls.csv"
    write_calls(path, columns(rows))
    with pytest.raises(Exception, match=r"calls\.csv"):
        read_tensor(path)
    assert passes == [None]


def test_more_places_than_32_bits_count_are_left_to_the_group_by(tmp_path, passes):
    """Ranks that are times, and many prompts: the message is about ranks, not about overflow."""
    rows = table(items=1, prompts=20_000, orders=("AB", "BA"), repeats=1)
    rows[-1] |= {"repeat": 60_000}
    path = tmp_path / "calls.parquet"
    write_calls(path, columns(rows))
    with pytest.raises(TableError, match="no cell holds more than 1 calls"):
        read_tensor(path)
    assert passes == [None]


def test_a_grid_holds_whatever_order_calls_come_in(monkeypatch):
    monkeypatch.setattr(onepass, "_CHUNK", 64)
    monkeypatch.setattr(onepass, "_INDEX", np.uint64(63))
    rng = np.random.default_rng(5)
    # Few distinct high bits: items whose hashes differ only where positions are written.
    items = rng.integers(0, 200, 3_000).astype(np.uint64)
    places = rng.integers(0, 12, 3_000).astype(np.uint32)
    codes = (items * 7 + places).astype(np.uint8) % 5
    grid = Grid(width=12, calls=3_000)
    for start in range(0, 3_000, 700):
        part = slice(start, start + 700)
        grid.add(items[part], places[part], codes[part])
    grid.flush()
    expected = {(i, p): c for i, p, c in zip(items.tolist(), places.tolist(), codes, strict=True)}
    assert grid.items.tolist() == sorted({i for i, _ in expected})
    assert grid.filled() == len(expected)
    rows = grid.rows(grid.items)
    for item, row in zip(grid.items.tolist(), rows.tolist(), strict=True):
        for place in range(12):
            assert grid.codes[row, place] == expected.get((item, place), EMPTY)
    assert grid.rows(np.array([10**9], dtype=np.uint64)).tolist() == [-1]


def test_a_grid_refuses_to_be_mostly_empty():
    grid = Grid(width=1 << 20, calls=10)
    grid.add(np.arange(100, dtype=np.uint64), np.zeros(100, np.uint32), np.zeros(100, np.uint8))
    with pytest.raises(TooSparseError):
        grid.flush()


def test_numbers_come_out_of_an_arrow_stream():
    with duckdb.connect() as con:
        relation = con.sql(
            "SELECT i::UBIGINT, (i % 7)::UTINYINT FROM range(500000) t(i) WHERE i >= 3"
        )
        pieces = [(a.copy(), b.copy()) for a, b in batches(relation, ("u8", "u1"))]
    numbers = np.concatenate([a for a, _ in pieces])
    assert len(pieces) > 1
    assert np.array_equal(np.sort(numbers), np.arange(3, 500_000, dtype=np.uint64))
    assert np.array_equal(np.concatenate([b for _, b in pieces]), numbers % 7)


def test_an_error_in_the_stream_is_an_error():
    with duckdb.connect() as con, pytest.raises(duckdb.Error, match="no such luck"):
        list(batches(con.sql("SELECT error('no such luck')::UINTEGER FROM range(3)"), ("u4",)))


def test_nulls_are_no_numbers():
    with duckdb.connect() as con, pytest.raises(duckdb.Error, match="nulls"):
        list(batches(con.sql("SELECT NULL::UINTEGER FROM range(3)"), ("u4",)))
