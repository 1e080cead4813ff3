"""What a person sees of an item, and which labels may be given."""

import csv
import gzip
import json

import pytest

import judgelaw as jl
from judgelaw.errors import InputError
from judgelaw.live import LabelBook, joined, read_labelling, write_table
from judgelaw.study import freeze, load_study
from servers.several import choosing_study
from servers.study import frozen_study, simulated_judge


def write_rows(path, rows):
    text = "".join(json.dumps(row) + "\n" for row in rows)
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def calls(**columns):
    """Two calls of two items, with a verdict and what the judge said."""
    return [
        {
            "item": f"i{n}",
            "question": f"question {n}",
            "verdict": ("pass", "fail", "invalid")[(n + r) % 3],
            "rationale": "because",
            "reply": f"reply {n} {r}",
            "repeat": r,
            "length": n + r,
            **columns,
        }
        for n in range(2)
        for r in range(2)
    ]


@pytest.mark.parametrize("name", ["calls.jsonl", "calls.jsonl.gz"])
def test_a_calls_table_shows_the_item_and_nothing_that_the_judge_said(tmp_path, name):
    found = read_labelling(write_rows(tmp_path / name, calls()))
    assert list(found.items) == ["i0", "i1"]
    assert found.items["i1"].texts == (("Question", "question 1"),)
    assert found.labels == ("fail", "pass")
    shown = json.dumps(found.shown("i0", "ann"))
    assert "because" not in shown
    assert "reply" not in shown


def test_columns_can_be_named(tmp_path):
    path = write_rows(tmp_path / "calls.jsonl", calls())
    found = read_labelling(path, show=["question", "reply"])
    assert found.items["i1"].texts == (("Question", "question 1"), ("Reply", "reply 1 0"))
    with pytest.raises(InputError, match=r"--show answer: .* has no such column"):
        read_labelling(path, show=["answer"])


def test_pairs_stand_in_a_random_order_that_hides_which_is_which(tmp_path):
    rows = [
        {"id": f"i{n}", "instruction": "q", "candidate_1": "ONE", "candidate_2": "TWO"}
        for n in range(40)
    ]
    found = read_labelling(write_rows(tmp_path / "items.jsonl", rows))
    assert found.labels == ("candidate_1", "candidate_2", "tie")
    turned = 0
    for item in found.items:
        shown = found.shown(item, "ann")
        texts = {"candidate_1": "ONE", "candidate_2": "TWO"}
        for (heading, text), choice in zip(shown["answers"], shown["choices"], strict=False):
            assert texts[choice["label"]] == text
            assert choice["shown"] == heading
        assert shown["choices"][-1] == {"label": "tie", "shown": "Tie"}
        turned += shown["choices"][0]["label"] == "candidate_2"
        assert shown == found.shown(item, "ann")
    assert 8 < turned < 32


def test_items_come_in_a_random_sequence_of_each_person(tmp_path):
    rows = [{"id": f"i{n}", "text": "t"} for n in range(30)]
    path = write_rows(tmp_path / "items.jsonl", rows)
    found = read_labelling(path, labels=["pass", "fail"])
    ann = found.sequence("ann")
    assert sorted(ann) == sorted(found.items)
    assert ann == read_labelling(path, labels=["pass", "fail"]).sequence("ann")
    assert ann != found.sequence("bob")
    assert ann != list(found.items)


def test_several_candidates_are_a_choice_of_one(tmp_path):
    rows = [{"id": "a", "instruction": "q", "candidates": ["x", "y", "z"]}]
    found = read_labelling(write_rows(tmp_path / "items.jsonl", rows))
    assert found.labels == ("candidate_1", "candidate_2", "candidate_3")
    assert len(found.shown("a", "ann")["answers"]) == 3


def test_a_range_is_a_scale_of_scores(tmp_path):
    path = write_rows(tmp_path / "items.jsonl", [{"id": "a", "text": "t"}])
    assert read_labelling(path, labels=["0-3"]).labels == ("0", "1", "2", "3")


def test_a_run_gives_its_frozen_items(tmp_path):
    run = frozen_study(tmp_path, [simulated_judge()]).path
    found = read_labelling(run)
    assert list(found.items) == ["i0", "i1"]
    assert found.items["i0"].texts == (("Instruction", "Question 0"),)
    assert dict(found.items["i0"].candidates) == {"candidate_1": "one", "candidate_2": "two"}


@pytest.mark.parametrize(
    ("rows", "labels", "said"),
    [
        ([{"id": "a", "text": "t"}], [], "nothing says which labels may be given"),
        ([{"id": "a", "text": "t"}], ["pass"], "one label is no choice"),
        ([{"id": "a", "text": "t"}], ["a", "b", "a"], "a label stands there twice"),
        ([{"id": "a", "text": "t"}], ["1-500"], "500 labels, a page has keys for 21"),
        ([{"name": "a", "text": "t"}], ["a", "b"], "no column `item` or `id`"),
        ([{"item": "a", "verdict": "pass"}], ["a", "b"], "no column says what an item is"),
        ([], ["a", "b"], "there is nothing to label"),
    ],
)
def test_bad_input_is_named_with_what_to_do(tmp_path, rows, labels, said):
    with pytest.raises(InputError, match=said):
        read_labelling(write_rows(tmp_path / "items.jsonl", rows), labels=labels)


def test_what_is_neither_run_nor_table_is_refused(tmp_path):
    with pytest.raises(InputError, match="no run was frozen here"):
        read_labelling(tmp_path)
    with pytest.raises(InputError, match="check the path"):
        read_labelling(tmp_path / "none.csv")
    (tmp_path / "cut.csv.gz").write_bytes(b"\x1f\x8b no")
    with pytest.raises(InputError, match="damaged or cut"):
        read_labelling(tmp_path / "cut.csv.gz")
    (tmp_path / "plain.csv.gz").write_bytes(b"item,verdict\ni0,pass\n")
    with pytest.raises(InputError, match="no sound gzip file"):
        read_labelling(tmp_path / "plain.csv.gz")


def test_labels_stand_beside_the_calls_on_their_items(tmp_path):
    found = read_labelling(write_rows(tmp_path / "calls.jsonl", calls()))
    with LabelBook(tmp_path / "labels.csv") as book:
        book.add(item="i0", label="pass", labeller="ann")
        book.add(item="i0", label="fail", labeller="bob")
        book.add(item="i1", label="", labeller="ann")
        rows = joined(found, book.labels)
    told = [(r["item"], r["repeat"], r["label"], r["labeller"]) for r in rows]
    assert told == [
        ("i0", "0", "pass", "ann"),
        ("i0", "0", "fail", "bob"),
        ("i0", "1", "pass", "ann"),
        ("i0", "1", "fail", "bob"),
        ("i1", "0", "", ""),
        ("i1", "1", "", ""),
    ]
    assert [r["verdict"] for r in rows] == ["pass", "pass", "fail", "fail", "fail", "invalid"]
    write_table(tmp_path / "both.csv", rows)
    with (tmp_path / "both.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == rows


def test_validate_reads_what_labelling_leaves_behind(tmp_path):
    """Two people on thirty items that were asked twice: their labels are votes, not calls."""
    rows = [
        {"item": f"i{n}", "question": "q", "verdict": "pass" if n % 3 else "fail", "repeat": r}
        for n in range(30)
        for r in range(2)
    ]
    found = read_labelling(write_rows(tmp_path / "calls.jsonl", rows))
    with LabelBook(tmp_path / "labels.csv") as book:
        for n in range(20):
            for who in ("ann", "bob"):
                label = "" if n == 19 else "pass" if n % 2 else "fail"
                book.add(item=f"i{n}", label=label, labeller=who)
        write_table(tmp_path / "both.csv", joined(found, book.labels))
    answer = jl.validate(tmp_path / "both.csv", human="label").to_json()
    assert answer["labelled"] == 19
    agree = sum((n % 3 > 0) == (n % 2 > 0) for n in range(19)) / 19
    assert answer["agreement"]["estimate"] == pytest.approx(agree)


def test_a_run_of_several_candidates_is_a_choice_of_one(tmp_path):
    run = freeze(load_study(choosing_study(tmp_path, candidates=3)), tmp_path / "run").path
    found = read_labelling(run)
    assert found.labels == ("candidate_1", "candidate_2", "candidate_3")
    shown = {f"candidate_{n}": f"text {n} of 0" for n in (1, 2, 3)}
    assert dict(found.items["i0"].candidates) == shown
