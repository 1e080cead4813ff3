"""Bad tables: each gets one of our errors with value, rule, remedy, and the line in a file."""

import gzip
import re

import pytest

from judgelaw.errors import DuplicateCallsError, InputError, TableError
from judgelaw.tables import read_tensor, read_tensors, write_calls
from support.calls import columns, table, write_csv

pytestmark = pytest.mark.usefixtures("both_ways")


def changed(row: int, **values) -> list[dict]:
    """The usual table with one row changed; row 0 stands on line 2 of a file."""
    rows = table()
    rows[row] |= values
    return rows


def refused(path, *words: str, error=TableError, **options) -> str:
    with pytest.raises(error) as caught:
        read_tensor(path, **options)
    message = str(caught.value)
    for word in words:
        assert re.search(word, message), message
    return message


@pytest.mark.parametrize(
    ("row", "words"),
    [
        (changed(4, verdict=""), ["calls.csv:6: the verdict is empty", "1 such row", "'invalid'"]),
        (changed(4, verdict="NaN"), ["calls.csv:6: the verdict 'NaN' is empty"]),
        (changed(4, verdict="candidat_1"), ["calls.csv:6:.*'candidat_1'", "mean 'candidate_1'"]),
        (changed(4, verdict="A"), ["calls.csv:6:.*'A' is not in the usual four", "verdicts="]),
        (changed(4, repeat="one"), ["calls.csv:6: repeat 'one' is no whole number", "0, 1, 2"]),
        (changed(4, repeat="0.5"), ["calls.csv:6: repeat '0.5' is no whole number"]),
        (changed(4, repeat=""), ["calls.csv:6: repeat '' is no whole number"]),
        (changed(4, repeat="inf"), ["calls.csv:6: repeat 'inf' is no whole number"]),
        (changed(4, repeat="nan"), ["calls.csv:6: repeat 'nan' is no whole number"]),
        (changed(4, repeat=-1), ["calls.csv:6: repeat -1 is negative", "renumber"]),
        (changed(4, repeat=1731000000), ["calls.csv:6: repeat 1731000000", "seed or a time"]),
        (changed(4, repeat=2000), ["calls.csv:6: repeat 2000", "more than 3 calls"]),
        (changed(4, item=""), ["calls.csv:6: the item is empty", "fill the column 'item'"]),
        (changed(4, prompt=""), ["calls.csv:6: the prompt is empty"]),
        (changed(4, order=""), ["calls.csv:6: the order is empty"]),
        (changed(4, judge=""), ["calls.csv:6: the judge is empty"]),
    ],
)
def test_one_bad_field_is_named_by_its_line(tmp_path, row, words):
    refused(write_csv(tmp_path / "calls.csv", row), *words)


def test_the_line_is_right_after_quoted_newlines_and_blank_lines(tmp_path):
    rows = changed(4, verdict="")
    rows[1]["item"] = rows[2]["item"] = "first\nsecond\nthird"
    path = write_csv(tmp_path / "calls.csv", rows)
    refused(path, r"calls.csv:10: the verdict is empty")
    path.write_text(path.read_text().replace("\n", "\n\n", 1))
    refused(path, r"calls.csv:11: the verdict is empty")


@pytest.mark.parametrize("suffix", [".csv.gz", ".jsonl", ".parquet"])
def test_other_files_name_the_row_too(tmp_path, suffix):
    path = tmp_path / f"calls{suffix}"
    write_calls(path, columns(changed(4, verdict=None)))
    place = {".csv.gz": "calls.csv.gz:6", ".jsonl": "calls.jsonl:5", ".parquet": "parquet row 5"}
    refused(path, f"{place[suffix]}: the verdict is empty")


def test_ranks_from_two_are_refused_with_the_shift(tmp_path):
    rows = [row | {"repeat": row["repeat"] + 2} for row in table()]
    refused(write_csv(tmp_path / "calls.csv", rows), "calls.csv:2: repeat 2", "subtract 2", "-= 2")


def test_ranks_of_each_judge_and_layer_count_from_zero(tmp_path):
    rows = [row | {"layer": "a"} for row in table()]
    rows += [row | {"layer": "b", "repeat": row["repeat"] + 8} for row in table()]
    refused(write_csv(tmp_path / "calls.csv", rows), f"calls.csv:{len(rows) // 2 + 2}: repeat 8")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".parquet"])
def test_duplicates_are_named_with_their_rows(tmp_path, suffix):
    rows = table()
    rows += [rows[3], rows[3], rows[9] | {"verdict": "invalid"}]
    path = tmp_path / f"calls{suffix}"
    write_calls(path, columns(rows))
    message = refused(path, "there again in 2 cells", error=DuplicateCallsError)
    assert "item 'i0', prompt 'p0', order 'BA', repeat 0 has 3 rows" in message
    first = {".csv": "calls.csv:5", ".jsonl": "calls.jsonl:4", ".parquet": "row 4"}[suffix]
    assert first in message


def test_a_duplicate_across_words_of_the_masks_is_found(tmp_path):
    rows = table(items=1, prompts=1, orders=("AB",), repeats=70)
    rows.append(rows[65])
    refused(write_csv(tmp_path / "c.csv", rows), "repeat 65 has 2 rows", error=DuplicateCallsError)


def test_the_same_call_in_two_layers_is_no_duplicate(tmp_path):
    rows = [row | {"layer": layer} for layer in ("a", "b") for row in table()]
    assert len(read_tensors(write_csv(tmp_path / "calls.csv", rows))) == 2


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("j,i0,p0,AB,9", "5 fields where the header has 6"),
        ("j,i0,p0,AB,9,tie,extra", "7 fields where the header has 6"),
        ('j,"i0,p0,AB,9,tie', "close the quotes"),
        ('j,"i0"x,p0,AB,9,tie', "close the quotes"),
        ("j,i\udcff0,p0,AB,9,tie", "not UTF-8"),
    ],
)
def test_a_broken_line_is_named(tmp_path, line, words):
    path = write_csv(tmp_path / "calls.csv", table())
    lines = path.read_text().splitlines()
    lines.insert(5, line)
    path.write_bytes("\n".join(lines).encode(errors="surrogateescape"))
    refused(path, f"calls.csv:6: .*{words}")


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"judge": "j",', "no JSON"),
        ("[1, 2]", "is no object"),
        ('{"judge": "\udcff"}', "not UTF-8"),
    ],
)
def test_a_broken_json_line_is_named(tmp_path, line, words):
    path = tmp_path / "calls.jsonl"
    write_calls(path, columns(table()))
    lines = path.read_text().splitlines()
    lines.insert(5, line)
    path.write_bytes("\n".join(lines).encode(errors="surrogateescape"))
    refused(path, f"calls.jsonl:6: .*{words}")


def test_one_bad_line_in_a_million(tmp_path):
    lines = [f"j,i{i},p,{r},tie" for i in range(250_000) for r in range(4)]
    path = tmp_path / "calls.csv"
    for bad, words in (("j,i1,p,1", "4 fields"), ("j,i1,p,x,tie", "repeat 'x' is no whole")):
        lines[777_777] = bad
        path.write_text("judge,item,prompt,repeat,verdict\n" + "\n".join(lines))
        refused(path, f"calls.csv:777779: {words}")


def test_truncated_and_damaged_gzip(tmp_path):
    path = tmp_path / "calls.csv.gz"
    write_calls(path, columns(table(items=50)))
    whole = path.read_bytes()
    path.write_bytes(whole[:-40])
    refused(path, "the gzip stream ends in the middle", "again")
    path.write_bytes(whole[:-8] + bytes(8))
    refused(path, "no sound gzip file")
    path.write_bytes(b"judge,item\n")
    refused(path, "no sound gzip file")


def test_other_encodings_are_refused_in_words(tmp_path):
    path = write_csv(tmp_path / "calls.csv", table(), encoding="utf-16")
    refused(path, "is UTF-16", "UTF-8")
    path.write_bytes(b"PK\x03\x04rest")
    refused(path, "Excel")


def test_empty_tables(tmp_path):
    path = write_csv(tmp_path / "calls.csv", [])
    refused(path, "holds no call")
    path.write_text("")
    refused(path, "calls.csv:1: no header")
    path.write_text("\njudge,item,prompt,repeat,verdict\n")
    refused(path, "holds no call")
    lines = tmp_path / "calls.jsonl"
    lines.write_text("\n")
    refused(lines, "holds no call")
    parquet = tmp_path / "calls.parquet"
    write_calls(parquet, {name: [] for name in table()[0]})
    refused(parquet, "holds no call")


def test_missing_columns_are_listed_with_the_nearest_name(tmp_path):
    rows = [row | {"verdcit": row.pop("verdict")} for row in table()]
    path = write_csv(tmp_path / "calls.csv", rows)
    refused(path, "no column 'verdict' .did you mean 'verdcit'", "it has 'judge', 'item'")
    refused(path, re.escape("columns={'verdict': 'verdcit'}"))


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_other_separators_are_read_and_faults_named_by_line(tmp_path, separator):
    path = write_csv(tmp_path / "calls.csv", table())
    path.write_text(path.read_text().replace(",", separator))
    assert read_tensor(path).judge == "j"
    write_csv(path, changed(4, verdict=""))
    path.write_text(path.read_text().replace(",", separator))
    refused(path, "calls.csv:6: the verdict is empty")


def test_columns_that_collide(tmp_path):
    path = write_csv(tmp_path / "calls.csv", table())
    path.write_text(path.read_text().replace("order", "item", 1))
    refused(path, "calls.csv:1: two columns are called 'item'")
    path = write_csv(tmp_path / "c.csv", [{**r, "model": "m", "judge_id": "n"} for r in table()])
    assert read_tensor(path).judge == "j"
    rows = [
        {k: v for k, v in r.items() if k != "judge"} | {"model": 1, "Judge_ID": 2} for r in table()
    ]
    refused(write_csv(path, rows), "'model' and 'Judge_ID' could each be the judge")


@pytest.mark.parametrize(
    ("mapping", "error", "words"),
    [
        ({"verdic": "verdict"}, InputError, "did you mean 'verdict'"),
        ({"verdict": "verdicts"}, TableError, "which the table does not have.*mean 'verdict'"),
        ({"verdict": None}, InputError, "leaves out 'verdict'"),
    ],
)
def test_bad_mappings(tmp_path, mapping, error, words):
    path = write_csv(tmp_path / "calls.csv", table())
    refused(path, words, error=error, columns=mapping)


def test_judges_and_layers_are_listed(tmp_path):
    rows = [row | {"layer": a} for a in ("x", "y") for j in "ab" for row in table(judge=j)]
    path = write_csv(tmp_path / "calls.csv", rows)
    refused(path, "2 judges, 'a', 'b', and none is named", "judge='a'")
    refused(path, "2 layers, 'x', 'y', and none is named", "layer='x'", judge="a")
    refused(path, "no judge is called 'c'.*it has 'a', 'b'", judge="c")
    refused(path, "no layer is called 'z'.*it has 'x', 'y'", judge="a", layer="z")
    with pytest.raises(TableError, match="no judge is called 'c'"):
        read_tensors(path, judges=["a", "c"])
    with pytest.raises(InputError, match="pass a list"):
        read_tensors(path, judges="a")
    path = write_csv(tmp_path / "calls.csv", table())
    refused(path, "no layer is called 'z': it has no column 'layer'", layer="z")


def test_a_layer_in_some_rows_only(tmp_path):
    rows = [row | {"layer": "audit" if row["item"] == "i0" else None} for row in table()]
    refused(write_csv(tmp_path / "calls.csv", rows), "the layer is empty", "columns=.'layer': None")


@pytest.mark.parametrize("part", ["stratum", "gold"])
def test_conflicting_values_of_an_item(tmp_path, part):
    rows = [row | {part: "tie"} for row in table()]
    rows[5][part] = "invalid"
    path = write_csv(tmp_path / "calls.csv", rows)
    refused(path, "item 'i0' has " + part, "calls.csv:7", "'invalid'", "'tie'")
    rows[5][part] = ""
    refused(write_csv(path, rows), "None", "'tie'")
    assert read_tensor(path, columns={part: None}).strata is None


def test_an_empty_text_in_parquet_is_a_missing_value(tmp_path):
    rows = [row | {"stratum": "s" if n else ""} for n, row in enumerate(table())]
    path = tmp_path / "calls.parquet"
    write_calls(path, columns(rows))
    refused(path, "item 'i0' has stratum None in one row and 's' in another")
    write_calls(path, columns([row | {"item": ""} for row in table()]))
    refused(path, "parquet row 1: the item is empty")


def test_gold_outside_the_alphabet(tmp_path):
    rows = [row | {"gold": "model_a"} for row in table()]
    refused(write_csv(tmp_path / "calls.csv", rows), "calls.csv:2: gold 'model_a'", "item 'i0'")


def test_verdicts_that_differ_by_case_only(tmp_path):
    path = write_csv(tmp_path / "calls.csv", table(verdicts=("Yes", "yes", "no")))
    refused(path, "'Yes' and 'yes' differ only by case")
    assert read_tensor(path, verdicts=("Yes", "yes", "no")).verdicts == ("Yes", "yes", "no")


def test_verdicts_outside_the_alphabet_given(tmp_path):
    path = write_csv(tmp_path / "calls.csv", table(verdicts=("yes", "no", "maybe")))
    refused(path, "verdict 'maybe' is not in the alphabet given", verdicts=("yes", "no"))
    refused(path, "calls.csv:8: verdict 'maybe'", verdicts=("yes", "no", "Maybe"))


def test_completions_in_the_place_of_verdicts(tmp_path):
    rows = [row | {"verdict": f"I think {n}"} for n, row in enumerate(table(items=100))]
    refused(write_csv(tmp_path / "calls.csv", rows), "1200 different values", "a verdict is one of")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"repeats": 0}, "repeats = 0"),
        ({"incomplete": "ignore"}, "say 'error' or 'drop'"),
        ({"verdicts": "tie"}, "pass a list"),
        ({"verdicts": []}, "non-empty"),
        ({"verdicts": ["a", ""]}, "non-empty"),
        ({"verdicts": ["a", "a"]}, "more than once"),
    ],
)
def test_bad_arguments(tmp_path, options, words):
    path = write_csv(tmp_path / "calls.csv", table())
    refused(path, words, error=InputError, **options)


def test_a_parquet_file_that_is_none(tmp_path):
    path = tmp_path / "calls.parquet"
    path.write_bytes(b"PAR1 and then nothing of the sort PAR1")
    refused(path, "calls.parquet cannot be read")
    whole = tmp_path / "whole.parquet"
    write_calls(whole, columns(table(items=200)))
    path.write_bytes(whole.read_bytes()[:-300])
    refused(path, "calls.parquet cannot be read")
    path.write_bytes(b"")
    refused(path, "calls.parquet:1: no header: the file is empty")


def test_compressed_text_is_not_mistaken_for_plain(tmp_path):
    path = tmp_path / "calls.csv"
    path.write_bytes(gzip.compress(b"judge,item,prompt,repeat,verdict\n"))
    refused(path, "calls.csv holds no call")
