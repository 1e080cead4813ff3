"""One of several candidates: items, orders as permutations, what a call shows, what is refused."""

from collections import Counter
from itertools import permutations

import pytest

from judgelaw.acquire.verify import verify
from judgelaw.errors import StudyError
from judgelaw.study import freeze, load_study, open_run, payload_for, survey
from servers.several import choosing_study, several_items
from servers.study import simulated_judge


def orders_of(folder, **fields):
    return survey(load_study(choosing_study(folder, **fields))).study.order_labels


def refusal(folder, **fields):
    with pytest.raises(StudyError) as error:
        survey(load_study(choosing_study(folder, **fields)))
    return str(error.value).replace(f"{folder}/", "")


def balanced(orders):
    """How often each candidate stands in each slot."""
    return Counter((slot, letter) for order in orders for slot, letter in enumerate(order))


def test_cyclic_orders_show_each_candidate_once_in_every_slot(tmp_path):
    assert orders_of(tmp_path) == ("ABCD", "BCDA", "CDAB", "DABC")
    assert orders_of(tmp_path, candidates=26)[1] == "BCDEFGHIJKLMNOPQRSTUVWXYZA"
    assert set(balanced(orders_of(tmp_path, candidates=26)).values()) == {1}


def test_all_orders_of_a_few_candidates(tmp_path):
    found = orders_of(tmp_path, orders="all", candidates=3)
    assert found == tuple(map("".join, permutations("ABC")))


@pytest.mark.parametrize("candidates", [4, 8, 16])
def test_sampled_orders_are_balanced_over_positions(tmp_path, candidates):
    size = 2 * candidates
    found = orders_of(tmp_path, orders={"sample": size}, candidates=candidates)
    assert len(set(found)) == size
    assert set(balanced(found).values()) == {2}
    other = orders_of(tmp_path, orders={"sample": size}, candidates=candidates, seed=12)
    assert set(other) != set(found)


def test_a_sample_that_is_no_multiple_is_balanced_within_one(tmp_path):
    counts = balanced(orders_of(tmp_path, orders={"sample": 8}, candidates=5))
    assert {counts[slot, letter] for slot in range(5) for letter in "ABCDE"} == {1, 2}


def test_own_orders_keep_their_weights(tmp_path):
    own = {"ABC": 0.5, "CBA": 0.5}
    found = survey(load_study(choosing_study(tmp_path, orders=own, candidates=3))).study
    assert found.order_weights == own


def test_a_call_shows_candidates_by_its_order(tmp_path):
    frozen = freeze(load_study(choosing_study(tmp_path, candidates=3)), tmp_path / "run")
    shown = {c.order: payload_for(frozen, c) for c in frozen.iter_calls() if c.item == "i1"}
    a, b, c = (shown["CAB"].index(f"CANDIDATE {letter}:") for letter in "ABC")
    texts = [shown["CAB"].index(f"text {n} of 1") for n in (3, 1, 2)]
    assert a < texts[0] < b < texts[1] < c < texts[2]


def test_a_frozen_run_reads_back_and_verifies(tmp_path):
    frozen = freeze(load_study(choosing_study(tmp_path, probes=["longer"])), tmp_path / "run")
    again = open_run(tmp_path / "run")
    assert again.items == frozen.items
    assert again.changed == frozen.changed
    assert again.study.order_labels == frozen.study.order_labels
    checks = {check.name: check.ok for check in verify(tmp_path / "run").checks}
    assert checks["identity"]
    assert checks["payloads"]
    # The same study again finds its own past.
    assert freeze(load_study(tmp_path / "study.yaml"), tmp_path / "run").count == frozen.count


def test_each_candidate_is_probed_in_turn(tmp_path):
    frozen = freeze(
        load_study(choosing_study(tmp_path, probes=[{"name": "shout", "append": "!"}])),
        tmp_path / "run",
    )
    for number in (1, 2, 3, 4):
        layer = f"probe.shout.candidate_{number}"
        item = frozen.changed[layer, "i0"]
        expected = [f"text {n} of 0{'!' if n == number else ''}" for n in (1, 2, 3, 4)]
        assert list(item.candidates) == expected
        assert item.gold is None


def test_gold_by_number_and_candidates_as_text_of_a_csv_file(tmp_path):
    choosing_study(tmp_path)
    rows = 'id,instruction,candidates,gold\nx,Which?,"[""a"", ""b"", ""c""]",3\n'
    (tmp_path / "items.csv").write_text(rows)
    path = tmp_path / "study.yaml"
    path.write_text(path.read_text().replace("items.jsonl", "items.csv").replace("jsonl", "csv"))
    (item,) = survey(load_study(path)).items
    assert item.candidates == ("a", "b", "c")
    assert item.gold == "candidate_3"


def test_unequal_numbers_of_candidates_are_named_with_their_line(tmp_path):
    rows = several_items(4, 4)
    rows[1]["candidates"].pop()
    rows[3]["candidates"].append("one too many")
    said = refusal(tmp_path, rows=rows)
    rule = "give every item the same number"
    assert f"items.jsonl:2: candidates: 3, fewer than the 4 of 2 other items; {rule}" in said
    assert f"items.jsonl:4: candidates: 5, more than the 4 of 2 other items; {rule}" in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"candidates": ["one"]}, "items.jsonl:2: candidates: 1, must be 2 to 26"),
        ({"candidates": ["x"] * 27}, "items.jsonl:2: candidates: 27, must be 2 to 26"),
        ({"candidates": "a, b"}, "items.jsonl:2: candidates: no list of texts"),
        ({"candidates": ["a", None, "c", "d"]}, "items.jsonl:2: candidates[1]: missing"),
        ({"candidates": None}, "items.jsonl:2: candidates: missing, every item needs it"),
        (
            {"gold": "candidate_5"},
            "items.jsonl:2: gold: 'candidate_5', must be candidate_1 to candidate_4 (or 1 to 4)",
        ),
    ],
)
def test_bad_items_are_named(tmp_path, change, words):
    rows = several_items(3, 4)
    rows[1].update(change)
    assert words in refusal(tmp_path, rows=rows)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"orders": "all", "candidates": 5}, "orders: 'all', 5 candidates have 120 orders"),
        ({"orders": {"sample": 7}, "candidates": 3}, "orders: 7 orders, 3 candidates have 6"),
        ({"orders": {"ABC": 1.0}}, "orders: 'ABC', the items have 4 candidates"),
        ({"orders": {"ABBA": 1.0}}, "orders.ABBA: 'ABBA', must name every candidate once"),
        ({"orders": {"ABCD": 0.4}}, "orders: weights sum to 0.4, must sum to 1"),
        ({"orders": "random"}, "orders: 'random', must be 'cyclic' or 'all'; choose one"),
        ({"prompts": "paper-six"}, "prompts: 'paper-six', compares pairs"),
        ({"task": "pairwise", "orders": "cyclic"}, "orders: a rule for task: choose"),
    ],
)
def test_bad_orders_and_prompts_are_refused(tmp_path, fields, words):
    assert words in refusal(tmp_path, **fields)


def test_a_judge_that_names_a_candidate_nobody_has_is_refused(tmp_path):
    law = {"verdicts": {"candidate_7": 1.0}}
    said = refusal(tmp_path, judges=[simulated_judge(law=law)])
    assert "judges[0].law: 'candidate_7', the items have 4 candidates" in said
    parser = {"regex": ".", "labels": {"fifth": "E"}}
    said = refusal(tmp_path, judges=[simulated_judge(parser=parser)])
    assert "'E', the 4 candidates are shown as A, B, C, D" in said


def test_a_template_must_show_every_candidate(tmp_path):
    text = "{instruction} {candidate_a} {candidate_b} {candidate_c}"
    prompts = {"policy": "census", "templates": [{"id": "p", "text": text}]}
    assert "'p' does not name {candidate_d}" in refusal(tmp_path, prompts=prompts)
