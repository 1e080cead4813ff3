import csv
import io
import json
import math

import pytest

from judgelaw.analysis import Table
from judgelaw.errors import InputError
from judgelaw.page import sheet_of, to_csv, to_json_text, to_latex, write_tables
from judgelaw.page.table_forms import column_groups

TABLE = Table(
    name="cross_prompt",
    title="Prompt component of 100% of judges",
    columns=("configuration", "R", "estimate", "estimate_low", "estimate_high", "p"),
    rows=(
        ("qwen_3 & co", 4, -0.001234567890123, -0.0044, 0.002, None),
        ("gemma", 8, 0.1, 0.05, math.nan, 0.5),
    ),
)


def test_csv_holds_every_digit_and_leaves_out_what_is_not_there():
    rows = list(csv.reader(io.StringIO(to_csv(sheet_of(TABLE)))))
    assert rows[0] == list(TABLE.columns)
    assert float(rows[1][2]) == -0.001234567890123
    assert rows[1][5] == ""
    assert rows[2][4] == ""


def test_csv_quotes_text_that_would_break_a_row():
    tricky = Table(name="t", title="t", columns=("a",), rows=(('x,"y"\nz',),))
    assert list(csv.reader(io.StringIO(to_csv(sheet_of(tricky)))))[1] == ['x,"y"\nz']


def test_json_gives_one_object_a_row_with_null_for_what_is_not_there():
    document = json.loads(to_json_text(sheet_of(TABLE)))
    assert document["name"] == "cross_prompt"
    assert document["rows"][0]["estimate"] == -0.001234567890123
    assert document["rows"][1]["estimate_high"] is None


def test_latex_sets_a_band_beside_its_estimate_and_escapes_text():
    text = to_latex(sheet_of(TABLE))
    assert r"qwen\_3 \& co & 4 & $-0.0012$ [$-0.0044$, 0.0020] & -- \\" in text
    assert r"gemma & 8 & 0.1000 & 0.5000 \\" in text
    assert r"100\% of judges" in text
    assert all(rule in text for rule in (r"\toprule", r"\midrule", r"\bottomrule"))
    assert r"\begin{tabular}{lrrr}" in text
    assert r"\label{tab:cross_prompt}" in text


def test_only_complete_bands_are_grouped():
    assert list(column_groups(("a", "a_low", "b", "b_low", "b_high", "low"))) == [
        (0,),
        (2, 3, 4),
        (5,),
    ]


def test_files_are_named_by_table_and_format(tmp_path):
    files = write_tables({"cross_prompt": TABLE}, tmp_path / "new", ("csv", "tex"))
    assert [file.name for file in files] == ["cross_prompt.csv", "cross_prompt.tex"]
    assert files[0].read_text() == to_csv(sheet_of(TABLE))


def test_an_unknown_format_is_refused_by_name(tmp_path):
    with pytest.raises(InputError, match="'xlsx'"):
        write_tables({"t": TABLE}, tmp_path, ("xlsx",))


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_csv_runs_no_formula_of_a_judge_or_an_item(start):
    text = f'{start}cmd|" /C calc"!A0'
    hostile = Table(name="t", title="t", columns=("judge", text), rows=((text, 1),))
    header, row = csv.reader(io.StringIO(to_csv(sheet_of(hostile)), newline=""))
    assert header == ["judge", f"'{text}"]
    assert row == [f"'{text}", "1"]


@pytest.mark.parametrize("text", ["-1", "+2.5", "-1e-05", "a=b", "7", "", "'=1"])
def test_csv_leaves_alone_what_no_spreadsheet_runs(text):
    harmless = Table(name="t", title="t", columns=("a", "b"), rows=((text, -0.5),))
    assert list(csv.reader(io.StringIO(to_csv(sheet_of(harmless)))))[1] == [text, "-0.5"]


def test_other_formats_hold_the_text_as_it_is():
    hostile = Table(name="t", title="t", columns=("a",), rows=(("=1+1",),))
    assert json.loads(to_json_text(sheet_of(hostile)))["rows"] == [{"a": "=1+1"}]
    assert "=1+1" in to_latex(sheet_of(hostile))
