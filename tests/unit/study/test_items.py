import json

import duckdb
import pytest
from hypothesis import given, strategies as st

from judgelaw.errors import StudyError
from judgelaw.study import Item
from judgelaw.study.items import from_jsonl, read_items, to_jsonl

GOOD = {"id": "a", "instruction": "do", "candidate_1": "x", "candidate_2": "y"}


def jsonl(tmp_path, *rows):
    path = tmp_path / "items.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def failure(source, path, fields=None, task="pairwise") -> str:
    with pytest.raises(StudyError) as caught:
        read_items(source, path, fields or {}, task)
    return str(caught.value).replace(str(path), "FILE")


def test_jsonl_items_are_read(tmp_path):
    path = jsonl(tmp_path, {**GOOD, "stratum": "s", "gold": 2, "other": [1]}, {**GOOD, "id": 7})
    first, second = read_items("jsonl", path, {}, "pairwise")
    assert (first.id, first.stratum, first.gold) == ("a", "s", "candidate_2")
    assert (second.id, second.stratum, second.gold) == ("7", None, None)


def test_csv_items_keep_line_breaks_and_commas(tmp_path):
    path = tmp_path / "items.csv"
    text = 'id,instruction,candidate_1,candidate_2\na,"two\nlines, ""q""",x\u2028y,z\nb,q,r,s\n'
    path.write_text(text, encoding="utf-8")
    first, second = read_items("csv", path, {}, "pairwise")
    assert first.instruction == 'two\nlines, "q"'
    assert first.candidate_1 == "x\u2028y"
    assert second.id == "b"


def test_parquet_items_are_read(tmp_path):
    path = tmp_path / "items.parquet"
    duckdb.sql(
        "SELECT 'a' AS id, 'q' AS prompt, 'x' AS candidate_1, 'y' AS candidate_2"
    ).write_parquet(str(path))
    (item,) = read_items("parquet", path, {"instruction": "prompt"}, "pairwise")
    assert item.instruction == "q"


def test_llmbar_folders_give_strata_and_stable_ids(tmp_path):
    row = {"input": "q", "output_1": "x", "output_2": "y", "label": 2}
    (tmp_path / "Natural.json").write_text(json.dumps([row, row], indent=1))
    (tmp_path / "Manual.json").write_text(json.dumps([row]))
    items = read_items("llmbar", tmp_path, {}, "pairwise")
    assert [item.id for item in items] == ["Manual-000", "Natural-000", "Natural-001"]
    assert {item.gold for item in items} == {"candidate_2"}
    assert items[2].stratum == "Natural"


def test_llmbar_as_released_has_a_folder_for_each_stratum(tmp_path):
    row = {"input": "q", "output_1": "x", "output_2": "y", "label": 1}
    for stratum in ("Natural", "Adversarial/Manual"):
        (tmp_path / stratum).mkdir(parents=True)
        (tmp_path / stratum / "dataset.json").write_text(json.dumps([row]))
    items = read_items("llmbar", tmp_path, {}, "pairwise")
    assert [item.id for item in items] == ["Manual-000", "Natural-000"]


def test_llmbar_has_ten_strata_by_split_and_subset(tmp_path):
    row = {"input": "q", "output_1": "x", "output_2": "y", "label": 1}
    for split in ("dev", "test"):
        for subset in ("Natural", "Adversarial/Manual"):
            (tmp_path / "folders" / split / subset).mkdir(parents=True)
            file = tmp_path / "folders" / split / subset / "dataset.json"
            file.write_text(json.dumps([row]))
    items = read_items("llmbar", tmp_path / "folders", {}, "pairwise", split=True)
    strata = ["dev-Manual", "dev-Natural", "test-Manual", "test-Natural"]
    assert [item.stratum for item in items] == strata
    assert [item.id for item in items] == [f"{stratum}-000" for stratum in strata]
    by_subset = read_items("llmbar", tmp_path / "folders", {}, "pairwise")
    assert {item.stratum for item in by_subset} == {"Manual", "Natural"}
    (tmp_path / "fields").mkdir()
    rows = [{**row, "split": "dev"}, {**row, "split": "test"}]
    (tmp_path / "fields" / "Natural.json").write_text(json.dumps(rows))
    items = read_items("llmbar", tmp_path / "fields", {}, "pairwise", split=True)
    assert [(i.id, i.stratum) for i in items] == [
        ("Natural-000", "dev-Natural"),
        ("Natural-001", "test-Natural"),
    ]


def test_llmbar_without_splits_has_no_strata_of_them(tmp_path):
    row = {"input": "q", "output_1": "x", "output_2": "y", "label": 1}
    (tmp_path / "Natural.json").write_text(json.dumps([row]))
    with pytest.raises(StudyError, match=r"split: missing, strata: split needs one; give every"):
        read_items("llmbar", tmp_path, {}, "pairwise", split=True)


def test_llmbar_problems_carry_their_line(tmp_path):
    path = tmp_path / "Natural.json"
    path.write_text('[\n {"input": "q", "output_1": "x",\n  "output_2": "y"},\n {"input": "q"}\n]')
    message = failure("llmbar", path)
    assert "FILE:4: candidate_1: missing" in message
    for broken, words in (
        ("{}", "no JSON array"),
        ("[1]", "no object"),
        ('[{"a": 1}\n', "not closed"),
        ("[\n{]", "FILE:2: no JSON"),
    ):
        path.write_text(broken)
        assert words in failure("llmbar", path)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({**GOOD, "id": " "}, "FILE:2: id: empty"),
        ({**GOOD, "id": ""}, "FILE:2: id: empty"),
        ({**GOOD, "id": None}, "FILE:2: id: missing"),
        ({**GOOD, "id": "first"}, "FILE:2: id: 'first', already used at FILE:1"),
        ({**GOOD, "id": "a\nb"}, "printable"),
        ({**GOOD, "id": "x" * 201}, "printable"),
        ({**GOOD, "id": True}, "FILE:2: id: a bool, must be text"),
        ({"id": "b", "instruction": "q", "candidate_1": "x"}, "FILE:2: candidate_2: missing"),
        ({**GOOD, "gold": "A"}, "FILE:2: gold: 'A', must be candidate_1"),
        ({**GOOD, "candidate_1": ["x"]}, "FILE:2: candidate_1: a list, must be text"),
        ({**GOOD, "candidate_1": "\ud800"}, "half of a surrogate pair"),
    ],
)
def test_a_bad_item_is_named_with_its_line(tmp_path, row, words):
    message = failure("jsonl", jsonl(tmp_path, {**GOOD, "id": "first"}, row))
    assert words in message


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"id": "a"\n', "FILE:1: no JSON"),
        (b"\n[1]\n", "FILE:2: a JSON list"),
        (b"\n\n", "no items"),
        (b'{}\n{"id": "\xff"}', "FILE:2: not UTF-8 (byte 0xff)"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, content, words):
    path = tmp_path / "items.jsonl"
    path.write_bytes(content)
    assert words in failure("jsonl", path)


def test_a_ragged_csv_row_is_named_with_its_first_line(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text('id,instruction\n"a\nb",c\nd\n')
    assert "FILE:4: 1 fields where the header has 2" in failure("csv", path)
    path.write_text('id,instruction\na,"b\n')
    assert "no CSV" in failure("csv", path)


def test_a_missing_file_and_no_parquet_are_told(tmp_path):
    assert "no such file" in failure("jsonl", tmp_path / "none")
    assert "no sound Parquet file" in failure("parquet", jsonl(tmp_path, GOOD))


def test_problems_come_together_and_are_cut_short(tmp_path):
    message = failure("jsonl", jsonl(tmp_path, *[{"id": str(n)} for n in range(50)]))
    assert len(message.splitlines()) == 21
    assert "130 more problems" in message


def test_single_answers_need_one_candidate(tmp_path):
    row = {"id": "a", "instruction": "q", "candidate_1": "x", "gold": 4}
    (item,) = read_items("jsonl", jsonl(tmp_path, row), {}, "pointwise")
    assert (item.candidate_2, item.gold) == (None, "4")


texts = st.text(st.characters(exclude_categories=["Cs"]))


@given(st.lists(st.tuples(texts, texts, texts), max_size=5))
def test_the_frozen_copy_gives_every_text_back(values):
    items = [
        Item(id=f"{n}", stratum=None, instruction=a, candidate_1=b, candidate_2=c, gold=None)
        for n, (a, b, c) in enumerate(values)
    ]
    assert list(from_jsonl(to_jsonl(items))) == items
