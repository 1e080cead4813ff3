"""Tables in the style of public files, each with one trap: read right, or asked about by name."""

import json
import random
from contextlib import suppress

import pytest

import judgelaw as jl
from judgelaw.errors import (
    DuplicateCallsError,
    IncompleteDesignError,
    TableError,
    UnclearTableError,
)
from judgelaw.tables import read_tensor, read_tensors
from judgelaw.tables.read import read_all
from judgelaw.tables.said import wishes


def calls(items=20, repeats=2, **more):
    """Rows of a judge of single answers; `more` adds columns by item and repeat."""
    r = random.Random(4)
    return [
        {"item": f"q{i}", "verdict": r.choice(("pass", "fail"))}
        | {name: make(i, k, r) for name, make in more.items()}
        for i in range(items)
        for k in range(repeats)
    ]


def one_of(*values):
    return lambda _i, k, _r: values[k % len(values)]


TEXT = "and a good many words more, as texts have them"
ASKED = {
    "a condition": {"condition": one_of("base", "padded")},
    "a condition named as a probability": {"p_mode": one_of("base", "padded")},
    "the same in numbers": {"p_mode": one_of(1, 2)},
    "a cap of tokens": {"max_tokens": one_of(256, 512)},
    "a temperature": {"temperature": one_of(0.0, 1.0)},
    "a condition in half of the rows": {"condition": one_of(None, "padded")},
    "a note": {"note": one_of("a", "b")},
    "a group of items that parts them": {"category": one_of("a", "b")},
    "a data set": {"dataset": one_of("a", "b")},
    "criteria called rubric": {"rubric": one_of("tone", "truth")},
    "rounds": {"round": one_of(1, 2)},
    "a count called order": {"order": one_of(0, 1)},
    "an epoch": {"epoch": one_of(1, 2)},
    "seeds that come again": {"seed": one_of(42, 43)},
    "ids that collide": {"question": lambda i, k, _: f"What is {i} plus {k}? {TEXT}"},
    "answers of one item": {"response": lambda i, k, _: f"It is {i * k}, {TEXT}"},
    "prompts rendered for each item": {"prompt": lambda i, k, _: f"Template {k}: {i}? {TEXT}"},
    "labels of people": {"label": lambda _i, _k, r: r.choice(("pass", "fail"))},
    "a condition that decides": {"cue": one_of("say pass", "say fail")},
}


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("numbered", [False, True])
def test_what_tells_the_rows_of_a_cell_apart_is_asked_about(name, numbered):
    more = dict(ASKED[name])
    if numbered:
        more["repeat"] = lambda _i, k, _r: k
    rows = calls(**more)
    if name == "a condition that decides":
        rows = [r | {"verdict": r["cue"].split()[1]} for r in rows]
    (column,) = (c for c in more if c != "repeat")
    with pytest.raises(TableError, match=f"'{column}'") as error:
        read_tensor(rows)
    assert isinstance(error.value, UnclearTableError)
    (problem,) = error.value.problems
    for choice in problem.choices:
        with suppress(IncompleteDesignError):  # items that met the values unequally often
            read_all(rows, choice.wish)


def test_a_repeat_column_does_not_settle_it():
    """Ranks 0, 1 under one condition and 2, 3 under another are no four repeats."""
    rows = calls(repeats=4, repeat=lambda _i, k, _: k, condition=lambda _i, k, _: "ab"[k // 2])
    with pytest.raises(TableError, match=r"differ in 'condition' .2 values: 'a', 'b'"):
        read_tensor(rows)
    assert read_tensor(rows, columns={"prompt": "condition"}).depth == (2, 2)


ASIDE = {
    "seconds that happen to be few": {"latency_s": lambda _i, _k, r: r.choice((1, 2, 3))},
    "seeds": {"seed": lambda _i, _k, r: r.randrange(10**9)},
    "times": {"timestamp": lambda i, k, _: f"2026-05-01T10:{i:02d}:{k:02d}Z"},
    "dates that are times": {"date": lambda i, k, _: f"2026-05-{1 + (2 * i + k) % 28:02d}"},
    "an index of pandas": {"Unnamed: 0": lambda i, k, _: 2 * i + k},
    "ids of replies": {"response_id": lambda i, k, _: f"resp_{i}_{k}"},
    "how sure it was": {"confidence": lambda _i, _k, r: r.choice(("high", "low"))},
    "reasons": {"reason": lambda i, k, r: f"Since {i} {k} {r.random()}, {TEXT}"},
    "tokens": {"usage.completion_tokens": lambda _i, _k, r: r.randrange(20, 200)},
    "the task": {"prompt": lambda i, _k, _r: f"Do task {i}: {TEXT}"},
    "what is the same in a cell": {"difficulty": lambda i, _k, _r: "ab"[i % 2]},
    "gold in words": {"ground_truth": lambda i, _k, _r: f"Paris {i}"},
    "an index of the case": {"order": lambda i, _k, _r: i},
}


@pytest.mark.parametrize("name", ASIDE)
def test_what_differs_between_repeats_is_left_aside(name):
    tensor = read_tensor(calls(**ASIDE[name]))
    assert (tensor.counts.shape[:3], tensor.depth) == ((20, 1, 1), (2, 2))
    assert tensor.gold is None


def test_reasons_and_replies_are_no_conditions():
    rows = calls(repeats=3)
    rows = [r | {"raw": f"FINAL VERDICT: {r['verdict']}", "parsed": r["verdict"]} for r in rows]
    assert read_tensor(rows).depth == (3, 3)


def test_turns_are_items():
    assert read_tensor(calls(turn=one_of(1, 2))).items[:2] == ("q0/1", "q0/2")


def test_copies_of_one_reply_are_no_repeats():
    rows = calls(response_id=lambda i, k, _: f"resp_{i}_{k}")
    with pytest.raises(DuplicateCallsError, match="40 replies stand there again"):
        read_tensor([*rows, *rows])


def test_a_model_is_the_judge_or_was_judged():
    rows = [{"question_id": i, "model": m, "score": 1 + i % 3} for i in range(9) for m in "ab"]
    with pytest.raises(TableError, match="whether they judged or were judged"):
        read_tensors(rows)
    judged = read_tensors(rows, columns={"judge": None, "item": ["question_id", "model"]})
    assert [t.items[0] for t in judged.values()] == ["0/a"]
    assert [name for _, name in read_tensors(rows, columns={"judge": "model"})] == ["a", "b"]
    repeated = [row | {"repeat": k} for row in rows for k in (0, 1)]
    assert len(read_tensors(repeated)) == 2, "who is asked again is the judge"


def letters(clue=None, *, shown: bool, items=40, with_gold=True):
    """Two orders with letters: positions, or answers already."""
    r = random.Random(8)
    rows = []
    for i in range(items):
        gold = "AB"[i % 2]
        for order in ("original", "reversed"):
            meant = gold if r.random() < 0.9 else "BA"["AB".index(gold)]
            displayed = meant if order == "original" else "BA"["AB".index(meant)]
            row = {"item": i, "order": order, "winner": displayed if shown else meant}
            row |= {"gold": f"{gold}>{'BA'['AB'.index(gold)]}"} if with_gold else {}
            row |= {"raw_response": f"I think so. [[{displayed}]]"} if clue == "reply" else {}
            row |= {"correct": meant == gold} if clue == "flag" else {}
            rows.append(row)
    return rows


@pytest.mark.parametrize("shown", [False, True])
@pytest.mark.parametrize("clue", ["reply", "flag", "gold"])
def test_letters_are_shown_or_restored_as_the_table_shows(shown, clue):
    rows = letters(clue, shown=shown, with_gold=clue != "reply")
    tensor = read_tensor(rows)
    truth = read_tensor(letters(shown=False), columns={"gold": None, "order": "order"},
                        verdicts=("A", "B"))  # fmt: skip
    assert tensor.verdicts[:2] == ("candidate_1", "candidate_2")
    assert (tensor.counts[..., :2] == truth.counts).all()
    reading = read_all(rows, wishes())[1]
    assert ("positions" if shown else "restored already") in reading.line()
    again = read_all(rows, reading.explicit())[0]
    assert (next(iter(again.values())).counts == tensor.counts).all(), "said in full, the same"


def test_letters_that_nothing_tells_are_asked_about():
    with pytest.raises(TableError, match=r"--positions A,B.*--label A=candidate_1"):
        read_tensor(letters(shown=True, with_gold=False))


def test_agreement_far_below_chance_in_one_order_is_told_loudly():
    tensor = read_tensor(letters(shown=True), verdicts=("A", "B"))
    assert any("far below chance" in note for note in tensor.notes)
    assert not any("chance" in note for note in read_tensor(letters(shown=False)).notes)


def test_numbers_under_two_orders_may_be_positions():
    rows = [
        {"item": i, "order": o, "verdict": 1 + (i % 3 > 0)} for i in range(9) for o in ("AB", "BA")
    ]
    with pytest.raises(TableError, match="--positions 1,2"):
        read_tensor(rows)


@pytest.mark.parametrize("label", ["x", f"{TEXT} {TEXT} "])
def test_answers_that_change_places_are_the_order(label):
    rows = [
        {"id": i, "answer_a": f"{label}{one}{i}", "answer_b": f"{label}{two}{i}", "winner": "A"}
        for i in range(12)
        for one, two in (("p", "q"), ("q", "p"))
    ]
    tensor = read_tensor(rows)
    assert tensor.counts.shape[:3] == (12, 1, 2)
    assert tensor.counts[:, 0, :, :2].sum(axis=0).tolist() == [[12, 0], [0, 12]], "A is a place"


def test_an_order_drawn_for_each_item_is_no_facet():
    r = random.Random(1)
    rows = [
        {"item": i, "order": r.choice(("AB", "BA")), "verdict": "candidate_1"} for i in range(9)
    ]
    tensor = read_tensor(rows)
    assert tensor.orders == ("only",)
    assert "what a swap changes cannot be told" in tensor.notes[0]


NUMBERS = {"1 and 1.0": ["1", "1.0", "2"], "floats": [1.0, 2.0, 1.0], "text": ["1", "2", "1"]}


@pytest.mark.parametrize("values", NUMBERS.values(), ids=NUMBERS)
def test_numbers_are_numbers(values):
    rows = [{"item": i, "score": value} for i, value in enumerate(values)]
    assert read_tensor(rows).verdicts == ("1", "2")
    found = jl.analyze(rows, scale=[1, 2], permutations=0, draws=20)
    assert list(found.to_json()["judges"]) == ["judge"]


def test_scores_between_two_ends():
    rows = [{"item": i, "score": s} for i in range(12) for s in (i / 12, (i + 1) / 12)]
    found = jl.analyze(rows, scale={"from": 0, "to": 1}, permutations=0, draws=20)
    apart = found.to_json()["judges"]["judge"]["components"]["call"]["estimate"]
    assert apart == pytest.approx((1 / 12) ** 2 / 2), "half the squared difference"
    with pytest.raises(jl.errors.InputError, match=r"is no score between 0 and 0\.5"):
        jl.analyze(rows, scale={"from": 0, "to": 0.5}, permutations=0, draws=20)


def test_only_item_and_verdict_are_needed():
    rows = [{"item": i, "verdict": v} for i in "ab" for v in ("yes", "no")]
    tensor = read_tensor(rows)
    assert (tensor.judge, tensor.prompts, tensor.depth) == ("judge", ("as given",), (2, 2))


def test_semicolons_and_decimal_commas_of_a_spreadsheet(tmp_path):
    path = tmp_path / "Export.csv"
    lines = ["item;verdict;kosten", *(f"q{i};{'ja' if i % 3 else 'nein'};0,{i}" for i in range(9))]
    path.write_text("\n".join(lines), encoding="utf-8-sig")
    assert read_tensor(path).verdicts == ("ja", "nein")


def test_files_of_one_record_whose_names_tell_a_condition(tmp_path):
    for kind in ("base", "padded"):
        for i in range(6):
            record = {"item": f"q{i}", "verdict": "yes" if i % 2 else "no"}
            (tmp_path / f"{kind}_q{i}.json").write_text(json.dumps(record))
    with pytest.raises(TableError, match="'@file'"):
        read_tensor(tmp_path)
    for i in range(6):
        (tmp_path / f"padded_q{i}.json").rename(tmp_path / f"q{i}_1.json")
        (tmp_path / f"base_q{i}.json").rename(tmp_path / f"q{i}_0.json")
    assert read_tensor(tmp_path).depth == (2, 2), "numbers in names count calls"


def test_calls_in_numbered_columns_are_repeats():
    rows = [
        {"item": i, "verdict_1": "a", "verdict_2": "ab"[i % 2], "verdict_3": "b"} for i in range(8)
    ]
    with pytest.raises(UnclearTableError, match="one of several calls") as error:
        read_tensor(rows)
    found, _ = read_all(rows, error.value.problems[0].choices[0].wish)
    assert [t.depth for t in found.values()] == [(3, 3)]


def test_two_people_of_one_call_are_no_repeats():
    rows = [
        {"item": i, "verdict": "ab"[i % 2], "human": h, "rater": f"r{k}"}
        for i in range(9)
        for k, h in enumerate("ab")
    ]
    assert read_tensor(rows).depth == (1, 1)
    assert jl.validate(rows).labelled == 9


def test_long_texts_are_not_printed_as_names_of_cells():
    rows = [{"question": f"{i} {TEXT * 4}", "verdict": "ab"[i % 2]} for i in range(9)]
    assert all(len(item) == 13 and item.startswith("#") for item in read_tensor(rows).items)
