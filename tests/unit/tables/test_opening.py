"""Tables as strangers publish them, opened with every column: files, folders, lists, joins."""

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from judgelaw.duck import private_connection
from judgelaw.errors import InputError, TableError
from judgelaw.tables.opening import OpenTable, open_table
from judgelaw.tables.write import write_calls

# ruff: noqa: S608 - names of our own

ROWS = [{"item": f"i{n}", "score": n % 3, "note": "a,b\n" * (n % 2)} for n in range(6)]
AS_TEXT = [{k: str(v) if v != "" else None for k, v in row.items()} for row in ROWS]


@dataclass(frozen=True)
class Opened:
    columns: tuple[str, ...]
    rows: list[dict]
    said: tuple[str, ...]
    places: list[str]


@pytest.fixture
def look(tmp_path):
    """Open a source and bring home all that it holds."""

    def looked(source, **options) -> Opened:
        folder = tmp_path / f"unpacked-{len(list(tmp_path.iterdir()))}"
        folder.mkdir()
        with private_connection() as con:
            found: OpenTable = open_table(con, source, folder=folder, **options)
            names = ", ".join(f'"{column}"' for column in found.columns)
            rows = con.execute(f"SELECT {names} FROM {found.source}").fetchall()
            at = ", ".join(found.locator.columns)
            places = con.execute(f"SELECT {at or 1} FROM {found.source}").fetchall()
            return Opened(
                found.columns,
                [dict(zip(found.columns, row, strict=True)) for row in rows],
                found.skipped,
                [Path(place).name for place in found.locator.places(places)],
            )

    return looked


def csv_text(rows, separator=",") -> str:
    quoted = [[f'"{v}"' for v in row.values()] for row in rows]
    return "\n".join(separator.join(row) for row in [list(rows[0]), *quoted]) + "\n"


TEXTS = {
    "t.csv": csv_text(ROWS),
    "t.tsv": csv_text(ROWS, "\t"),
    "t.jsonl": "".join(json.dumps(row) + "\n" for row in ROWS),
    "t.json": json.dumps(ROWS, indent=1),
    "lines.json": "".join(json.dumps(row) + "\r\n\n" for row in ROWS),
    "key.json": json.dumps({"results": {"rows": ROWS}}),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", TEXTS)
def test_every_text_is_one_table(tmp_path, look, name, packed):
    path = tmp_path / (name + ".gz" * packed)
    content = TEXTS[name].encode()
    path.write_bytes(gzip.compress(content) if packed else content)
    found = look(path)
    assert found.columns == ("item", "score", "note")
    expected = [{**row, "note": row["note"] or None} for row in AS_TEXT]
    assert [{**row, "note": row["note"] or None} for row in found.rows] == expected


def test_parquet_and_frames_have_the_same_rows(tmp_path, look):
    data = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    write_calls(tmp_path / "t.parquet", data)
    for source in (tmp_path / "t.parquet", pd.DataFrame(data), pl.LazyFrame(data), pa.table(data)):
        found = look(source)
        assert found.columns == ("item", "score", "note")
        assert [str(row["score"]) for row in found.rows] == [str(row["score"]) for row in ROWS]
    assert look(ROWS).columns == ("item", "score", "note")


NESTED = [
    {
        "id": n,
        "judgment": {"winner": "A", "cost": {"usd": 1.0}},
        "a.b": n,
        "runs": [{"v": x, "votes": [x, "y"]} for x in range(n)],
    }
    for n in range(3)
]


@pytest.mark.parametrize("kind", ["jsonl", "json", "list", "polars", "parquet"])
def test_nested_objects_are_columns_with_dotted_names(tmp_path, look, kind):
    found = look(_nested(tmp_path, kind))
    assert set(found.columns) == {"id", "judgment.winner", "judgment.cost.usd", "a.b", "runs"}
    assert found.rows[1]["judgment.winner"] == "A"
    assert found.rows[1]["judgment.cost.usd"] == "1.0"
    assert json.loads(found.rows[1]["runs"])[0]["v"] in (0, "0")


@pytest.mark.parametrize("kind", ["jsonl", "json", "list", "polars", "parquet"])
def test_lists_explode_one_after_the_other(tmp_path, look, kind):
    found = look(_nested(tmp_path, kind), explode=["runs"])
    assert [(str(r["id"]), r["runs@index"], r["runs.v"]) for r in found.rows] == [
        *(("1", "0", "0"), ("2", "0", "0"), ("2", "1", "1"))
    ]
    assert "runs" not in found.columns
    assert any("1 record of" in words and "left out" in words for words in found.said)
    found = look(_nested(tmp_path, kind), explode=["runs", "runs.votes"])
    assert [(r["runs@index"], r["runs.votes@index"], r["runs.votes"]) for r in found.rows] == [
        *(("0", "0", "0"), ("0", "1", "y")) * 2,
        *(("1", "0", "1"), ("1", "1", "y")),
    ]
    if kind == "jsonl":
        assert found.places == ["n.jsonl:2"] * 2 + ["n.jsonl:3"] * 4


def _nested(folder, kind):
    if kind == "list":
        return NESTED
    if kind in ("polars", "parquet"):
        rows = [
            {**r, "runs": [{"v": x["v"], "votes": [str(v) for v in x["votes"]]} for x in r["runs"]]}
            for r in NESTED
        ]
        frame = pl.DataFrame(rows)
        if kind == "polars":
            return frame
        frame.write_parquet(folder / "n.parquet")
        return folder / "n.parquet"
    path = folder / f"n.{kind}"
    lines = "".join(json.dumps(row) + "\n" for row in NESTED)
    path.write_text(lines if kind == "jsonl" else json.dumps(NESTED))
    return path


def test_json_in_a_csv_field_explodes(tmp_path, look):
    path = tmp_path / "t.csv"
    path.write_text('item,votes\ni0,"[1, 2]"\ni1,"[3]"\n')
    found = look(path, explode=["votes"])
    assert [(r["item"], r["votes@index"], r["votes"]) for r in found.rows] == [
        *(("i0", "0", "1"), ("i0", "1", "2"), ("i1", "0", "3"))
    ]
    assert found.places == ["t.csv:2", "t.csv:2", "t.csv:3"]


def test_what_cannot_explode_is_said(tmp_path, look):
    path = _nested(tmp_path, "jsonl")
    with pytest.raises(TableError, match=r"no field 'run' to explode .did you mean 'runs'"):
        look(path, explode=["run"])
    with pytest.raises(TableError, match="'id' is no list in 3 records but a JSON"):
        look(path, explode=["id"])


def test_several_lists_in_a_document_are_asked_about(tmp_path, look):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"tests": ROWS[:2], "results": {"rows": ROWS}, "version": 3}))
    with pytest.raises(TableError, match=r"results.rows \(6\).*--explode results.rows"):
        look(path)
    found = look(path, explode=["results.rows"])
    assert [r["results.rows.item"] for r in found.rows] == [row["item"] for row in ROWS]
    assert {r["version"] for r in found.rows} == {"3"}


def test_single_values_beside_the_list_hold_for_all_records(tmp_path, look):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"model": "m", "score": 9, "rows": ROWS}))
    found = look(path)
    assert {row["model"] for row in found.rows} == {"m"}
    assert [row["score"] for row in found.rows] == [row["score"] for row in AS_TEXT]
    assert "'rows'" in found.said[0]
    assert "'model'" in found.said[0]


def test_several_paths_are_one_table_with_the_file(tmp_path, look):
    (tmp_path / "a.csv").write_text("item,v\ni0,1\n")
    (tmp_path / "b.jsonl").write_text('{"V": 2, "item": "i0", "more": "x"}\n{"item": "i1"}\n')
    found = look([tmp_path / "a.csv", tmp_path / "b.jsonl"])
    assert found.columns == ("item", "v", "more", "@file")
    assert [tuple(r.values()) for r in found.rows] == [
        ("i0", "1", None, "a.csv"),
        ("i0", "2", "x", "b.jsonl"),
        ("i1", None, None, "b.jsonl"),
    ]
    assert found.places == ["a.csv:2", "b.jsonl:1", "b.jsonl:2"]
    with pytest.raises(InputError, match="named twice"):
        look([tmp_path / "a.csv", tmp_path / "a.csv"])


def test_a_folder_of_one_record_a_file(tmp_path, look):
    folder = tmp_path / "calls"
    for name, condition in (("x/1.json", "base"), ("y/1.json", "padded")):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(json.dumps({"item": 1, "condition": condition}, indent=1))
    found = look(folder)
    assert [(r["item"], r["condition"], r["@file"]) for r in found.rows] == [
        *(("1", "base", "x/1.json"), ("1", "padded", "y/1.json"))
    ]


def test_a_first_record_of_metadata_is_left_out_with_a_word(tmp_path, look):
    path = tmp_path / "t.jsonl"
    lines = ['{"_record": "metadata", "model": "m", "n": 3}', *TEXTS["t.jsonl"].splitlines()]
    path.write_text("\n".join(lines))
    found = look(path)
    assert len(found.rows) == len(ROWS)
    assert found.places[0] == "t.jsonl:2"
    assert "'_record', 'model', 'n'" in found.said[0]
    assert "left out" in found.said[0]
    path.write_text("\n".join(['{"item": "i9", "score": 1, "extra": 1}', *lines[1:]]))
    assert len(look(path).rows) == len(ROWS) + 1, "a record that shares fields stays"
    csv = tmp_path / "t.csv"
    csv.write_text("# made on Monday\nitem,v\ni0,1\ni1,2\n")
    found = look(csv)
    assert [r["item"] for r in found.rows] == ["i0", "i1"]
    assert found.places == ["t.csv:3", "t.csv:4"]
    assert "'# made on Monday' stands before the header" in found.said[0]


def test_where_keeps_the_rows_with_a_value(look):
    assert len(look(ROWS, where={"score": "1.0"}).rows) == 2
    with pytest.raises(TableError, match=r"no column 'scor' for where .did you mean 'score'"):
        look(ROWS, where={"scor": "1"})
    with pytest.raises(TableError, match=r"no row has score=9.*'0', '1', '2'"):
        look(ROWS, where={"score": "9"})


def test_another_file_is_joined_by_its_keys(tmp_path, look):
    (tmp_path / "h.csv").write_text("key,style,human\n0.0,x,good\n1,x,bad\n7,x,good\n")
    rows = [{"q": n, "style": "x", "v": n} for n in (1, 0, 2, 1)]
    found = look(rows, with_file=tmp_path / "h.csv", on=["q=key", "style"])
    assert sorted((r["v"], r["human"]) for r in found.rows if r["human"]) == [
        *((0, "good"), (1, "bad"), (1, "bad"))
    ]
    assert "3 of 4 rows have a partner there; 1 of its 3 rows have none here" in found.said[0]
    with pytest.raises(TableError, match=r"style = x stands there 3 times"):
        look(rows, with_file=tmp_path / "h.csv", on=["style"])
    rows = [row | {"v": 50} for row in rows]
    with pytest.raises(TableError, match=r"none of its 3 rows has the key"):
        look(rows, with_file=tmp_path / "h.csv", on=["v=key"])
    with pytest.raises(InputError, match=r"say which columns join it.*'style'"):
        look(rows, with_file=tmp_path / "h.csv")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "the file is empty"),
        (b" \n", "the file is empty"),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:1\n",
            "Git LFS pointer.*lfs pull",
        ),
        (b"<!DOCTYPE html><html>404</html>", "web page .HTML.*download the raw file"),
        (b"PK\x03\x04", "zip or Excel"),
        (b"SQLite format 3\x00", "an SQLite database"),
        (b"\x28\xb5\x2f\xfdxx", "packed by zstd"),
        (b"a,b\n1,\x00\n", "t.csv:2: a NUL byte"),
        (b"a,b,a\n1,2,3\n", "t.csv:1: two columns are called 'a'"),
        (b"a,b\n\xff,2\n", "t.csv:2: not UTF-8"),
    ],
)
def test_a_file_that_is_no_table_is_told_for_what_it_is(tmp_path, look, content, words):
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    with pytest.raises(TableError, match=words):
        look(path)


@pytest.mark.parametrize("wrong", ["t.csv", "t.jsonl", "t.txt", "t"])
def test_a_wrong_ending_is_seen_through(tmp_path, look, wrong):
    (tmp_path / wrong).write_text(TEXTS["t.json"])
    found = look(tmp_path / wrong)
    assert len(found.rows) == len(ROWS)
    assert bool(found.said) == (wrong in ("t.csv", "t.jsonl"))
    frame = pl.DataFrame(ROWS)
    frame.write_parquet(tmp_path / wrong)
    assert len(look(tmp_path / wrong).rows) == len(ROWS)


def test_two_fields_of_one_name_are_refused_with_their_line(tmp_path, look):
    path = tmp_path / "t.jsonl"
    path.write_text('{"item": 1}\n{"item": 1, "item": 2}\n')
    with pytest.raises(TableError, match=r"t.jsonl:2: .*two fields are called 'item'"):
        look(path)


def test_names_that_differ_by_case_are_told_apart(tmp_path, look):
    path = tmp_path / "t.csv"
    path.write_text(",A,a\n0,1,2\n")
    found = look(path)
    assert found.columns == ("column_1", "A", "a_2")
    assert found.rows == [{"column_1": "0", "A": "1", "a_2": "2"}]


@pytest.mark.parametrize("value", ["NaN", '"\\ud800"', f'"{"x" * 20_000_000}"'])
def test_json_that_duckdb_alone_does_not_take(tmp_path, look, value):
    path = tmp_path / "t.jsonl"
    path.write_text(f'{{"item": "i0", "v": {value}}}\n')
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    found = look(path)
    assert found.rows[0]["item"] == "i0"
    assert found.rows[0]["v"]
