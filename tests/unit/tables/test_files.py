"""Where tables lie: folders, globs, runs, odd names, wrong paths."""

import sys
from pathlib import Path

import pytest

from judgelaw.errors import InputError, MissingExtraError, TableError
from judgelaw.tables import read_tensor, write_calls
from support.calls import assert_same, columns, slow, table, write_csv


def parts(folder: Path, rows: list[dict], n: int = 3) -> None:
    for part in range(n):
        write_calls(folder / f"part-{part}.parquet", columns(rows[part::n]))


def test_a_folder_and_a_glob_of_parquet(tmp_path):
    rows = table(items=6)
    parts(tmp_path / "calls", rows)
    for source in (
        tmp_path / "calls",
        f"{tmp_path}/calls/part-*.parquet",
        f"{tmp_path}/**/*.parquet",
    ):
        assert_same(read_tensor(source), slow(rows), but=("judge",))


def test_a_partitioned_folder(tmp_path):
    for judge in ("7", "08"):
        rows = [{k: v for k, v in row.items() if k != "judge"} for row in table()]
        write_calls(tmp_path / f"judge={judge}" / "part.parquet", columns(rows))
    assert read_tensor(tmp_path, judge="08").judge == "08"
    assert_same(read_tensor(tmp_path, judge="7"), slow(table()), but=("judge",))


@pytest.mark.parametrize("folder", ["judge=other", "prompt=v2", "item=[7]"])
def test_what_one_file_says_itself_counts_more_than_its_folder(tmp_path, folder):
    path = tmp_path / folder / "calls.parquet"
    write_calls(path, columns(table()))
    for source in (path, path.parent):
        assert read_tensor(source).judge == "j"
        assert_same(read_tensor(source), slow(table()), but=("judge",))


def test_one_file_of_a_partitioned_folder(tmp_path):
    path = tmp_path / "judge=08" / "part.parquet"
    write_calls(path, columns([{k: v for k, v in r.items() if k != "judge"} for r in table()]))
    assert read_tensor(path).judge == "08"


def test_a_fault_in_a_folder_names_the_file(tmp_path):
    rows = table()
    rows[4]["verdict"] = None
    parts(tmp_path, rows)
    with pytest.raises(TableError, match=r"part-1.parquet row 2: the verdict is empty"):
        read_tensor(tmp_path)


def test_parts_that_differ_in_columns(tmp_path):
    rows = table()
    write_calls(tmp_path / "a.parquet", columns(rows[:6]))
    write_calls(tmp_path / "b.parquet", columns([row | {"extra": 1} for row in rows[6:]]))
    assert_same(read_tensor(tmp_path), slow(rows), but=("judge",))
    write_calls(tmp_path / "c.parquet", {"judge": ["j"], "item": ["i0"]})
    with pytest.raises(TableError, match=r"c.parquet row 1: the verdict is empty"):
        read_tensor(tmp_path)


def test_a_run_folder(tmp_path):
    write_calls(tmp_path / "calls.parquet", columns(table()))
    write_calls(tmp_path / "manifest.parquet", {"call_id": ["x"]})
    (tmp_path / "study.yaml").write_text("version: 1\n")
    assert_same(read_tensor(tmp_path), slow(table()), but=("judge",))
    (tmp_path / "calls.parquet").unlink()
    with pytest.raises(TableError, match=r"run without a calls table.*judgelaw run"):
        read_tensor(tmp_path)


@pytest.mark.parametrize(
    "name", ["a[1].parquet", "b*?.parquet", "c[1].csv", "d[x].jsonl", "it's.csv"]
)
def test_names_with_wildcards_are_taken_literally(tmp_path, name):
    folder = tmp_path / "run [2]"
    write_calls(folder / name.replace("[1]", "1").replace("*?", "ab"), {"other": ["table"]})
    write_calls(folder / name, columns(table()))
    assert_same(read_tensor(folder / name), slow(table()), but=("judge",))


def test_upper_case_suffixes(tmp_path):
    path = write_csv(tmp_path / "CALLS.CSV", table())
    assert_same(read_tensor(path), slow(table()), but=("judge",))


def test_a_path_from_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    write_csv(tmp_path / "calls.csv", table())
    assert read_tensor("~/calls.csv").judge == "j"


def test_wrong_paths(tmp_path):
    write_csv(tmp_path / "calls.csv", table())
    with pytest.raises(TableError, match=r"no such file or folder .did you mean 'calls.csv'"):
        read_tensor(tmp_path / "call.csv")
    with pytest.raises(TableError, match="no such file or folder: check"):
        read_tensor(tmp_path / "nowhere" / "calls.csv")
    with pytest.raises(TableError, match="no file matches"):
        read_tensor(f"{tmp_path}/*.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match=r"holds neither calls.parquet nor any other file"):
        read_tensor(tmp_path / "empty")
    (tmp_path / "calls.txt").write_text("judge,item\n")
    with pytest.raises(TableError, match=r"ends in .csv, .tsv, .*also .gz"):
        read_tensor(tmp_path / "calls.txt")


def test_other_stores_are_refused():
    with pytest.raises(InputError, match="gs://"):
        read_tensor("gs://bucket/calls.parquet")


def test_a_store_without_its_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'judgelaw\[s3\]'"):
        read_tensor("s3://bucket/calls.parquet")
