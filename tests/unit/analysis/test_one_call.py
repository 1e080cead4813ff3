"""One call in each cell is a design too: right, reword and swap are answered, the rest is not."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

import judgelaw as jl
from judgelaw.analysis import analyze
from judgelaw.cli import main
from judgelaw.errors import NotIdentifiedError
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import mean_bounds

PAIRS = ("candidate_1", "candidate_2", "tie", INVALID)


def drawn(R=1, *, N=40, K=2, O=2, seed=3, verdicts=PAIRS, gold=("candidate_1", "candidate_2")):
    rng = np.random.default_rng(seed)
    law = np.full(len(verdicts), 0.2 / (len(verdicts) - 1))
    law[0] = 0.8
    ranked = rng.choice(len(verdicts), p=law, size=(N, K, O, R))
    found = VerdictTensor.from_ranked(ranked, verdicts=verdicts, orders=("AB", "BA")[:O])
    return replace(found, gold=tuple(gold[i % len(gold)] for i in range(N)))


def answered(tensor, **options):
    return analyze({(None, "j"): tensor}, permutations=0, draws=50, **options).judges["j"]


def test_what_is_identified_is_answered_and_the_rest_is_null():
    tensor = drawn()
    judge = answered(tensor)
    document = json.loads(json.dumps(judge.to_json()))
    assert set(document["components"].values()) == {None}
    assert document["depths"]["1"] == document["components"]
    assert document["repeats"] == 1
    changes = document["answer"]["changes"]
    assert changes["ask_again"] is None
    p = tensor.counts
    assert changes["swap"]["estimate"] == pytest.approx(
        1 - (p[:, :, 0] * p[:, :, 1]).sum(-1).mean()
    )
    assert changes["reword"]["estimate"] == pytest.approx(1 - (p[:, 0] * p[:, 1]).sum(-1).mean())
    low, high = changes["swap"]["low"], changes["swap"]["high"]
    assert 0 <= low < changes["swap"]["estimate"] < high <= 1
    assert any("one call in each cell" in text for text in document["warnings"])
    assert document["answer"]["one_call"]
    assert {x["kind"] for x in document["answer"]["actions"]} <= {
        "more_items",
        "people",
        "repair",
        "other_judge",
    }


def test_one_prompt_and_one_order_leave_only_right():
    judge = answered(drawn(K=1, O=1))
    assert set(judge.answer.changes.values()) == {None}
    assert judge.answer.right.low < judge.answer.right.estimate < judge.answer.right.high


def test_two_calls_a_cell_give_the_same_rates_as_the_components():
    judge = answered(drawn(R=2))
    for change, rate in judge.changes.items():
        assert judge.answer.changes[change].estimate == pytest.approx(rate.estimate), change


def test_credit_of_pairs_counts_a_tie_half_and_an_invalid_reply_nothing():
    ranked = np.array([0, 2, 3, 1]).reshape(4, 1, 1, 1).repeat(2, axis=2)
    tensor = replace(
        VerdictTensor.from_ranked(ranked, orders=("AB", "BA")), gold=("candidate_1",) * 4
    )
    answer = answered(tensor).answer
    assert answer.right.estimate == pytest.approx((1 + 0.5 + 0 + 0) / 4)
    assert answer.answered_right == pytest.approx(1.5 / 3)
    assert answer.invalid == pytest.approx(0.25)


def test_labels_weigh_each_right_verdict_alike():
    """A judge that always says pass is right on half, however rare fails are."""
    ranked = np.zeros((20, 1, 1, 1), dtype=int)
    tensor = VerdictTensor.from_ranked(ranked, verdicts=("pass", "fail"), orders=("single",))
    right = answered(replace(tensor, gold=("fail",) * 2 + ("pass",) * 18)).answer.right
    assert right.estimate == pytest.approx(0.5)
    assert (right.baseline, right.better, right.rely) == pytest.approx((0.5, 0.6, 0.75))


def test_one_right_verdict_alone_has_no_interval():
    right = answered(drawn(O=1, gold=("candidate_1",))).answer.right
    assert right.estimate > 0.6
    assert (right.low, right.high) == (None, None)


def test_scores_are_answered_in_points_and_right_as_a_share_of_the_scale():
    ranked = np.array([[[[0]]], [[[2]]], [[[1]]]]).repeat(2, axis=1)
    tensor = VerdictTensor.from_ranked(ranked, verdicts=("1", "2", "3"), orders=("single",))
    tensor = replace(tensor, gold=("1", "1", "3")).on_scale([1, 2, 3])
    answer = answered(tensor).answer
    assert answer.changes["reword"].estimate == 0
    assert answer.right.estimate == pytest.approx((1 + 0 + 0.5) / 3)


def test_the_error_of_several_judges_is_shared():
    one, four = drawn(), {(None, name): drawn() for name in "abcd"}
    shared = analyze(four, permutations=0, draws=50).judges["a"].answer.right
    alone = answered(one).answer.right
    assert shared.level == pytest.approx(1 - 0.05 / 4)
    assert shared.low < alone.low


def test_a_judge_with_one_call_stands_beside_one_with_several():
    tensors = {(None, "one"): drawn(), (None, "four"): drawn(R=4)}
    found = analyze(tensors, permutations=0, draws=50)
    assert list(found.judges) == ["one", "four"]
    assert found.judges["one"].one_call
    assert found.judges["four"].components["call"].estimate > 0
    assert {finding.subject for finding in found.diagnostics} <= {"", "four", "one"}
    json.dumps(found.to_json())


def test_a_short_cell_names_how_to_drop_its_item():
    tensor = drawn(R=2)
    ranked = tensor.ranked.copy()
    ranked[0, 0, 0, 1] = -1
    short = VerdictTensor.from_ranked(ranked, orders=("AB", "BA"))
    with pytest.raises(NotIdentifiedError, match=r"39 of 40 items .* --incomplete drop"):
        answered(short)
    assert answered(short.complete("drop")).items == 39
    with pytest.raises(NotIdentifiedError, match="cells hold fewer than 2"):
        jl.decompose(drawn())


def test_dropping_keeps_items_with_one_call_where_no_cell_holds_two():
    ranked = drawn().ranked.copy()
    ranked[0, 0, 0] = -1
    kept = VerdictTensor.from_ranked(ranked, orders=("AB", "BA")).complete("drop")
    assert len(kept.items) == 39


def run(capsys, *argv):
    with pytest.raises(SystemExit) as stop:
        main([str(a) for a in argv])
    captured = capsys.readouterr()
    return stop.value.code or 0, captured.out, captured.err


def test_the_command_prints_what_is_known(tmp_path, capsys):
    rows = ["judge,prompt,repeat,item,order,verdict,gold"]
    for i in range(20):
        gold = ("candidate_1", "candidate_2")[i % 2]
        rows += [f"j,p,0,i{i},AB,{gold},{gold}", f"j,p,0,i{i},BA,candidate_1,{gold}"]
    table = tmp_path / "calls.csv"
    table.write_text("\n".join(rows))
    code, said, _ = run(capsys, "analyze", table)
    assert code == 0
    assert "Is it right? 75 of 100" in said
    assert re.search(r"answers swapped +50 ", said)
    assert re.search(r"just asked again +\? not known: one call each", said)
    code, _, _ = run(capsys, "report", table, "-o", tmp_path / "page.html")
    assert code == 0
    page = (tmp_path / "page.html").read_text()
    assert "chance cannot be told from the other reasons" in page
    assert 'data-path="judges.j.errors.order"' in page
    assert "judges.j.errors.chance" not in page


@pytest.mark.parametrize(("n", "k"), [(16, 10), (60, 41), (200, 136)])
def test_bounds_of_zeros_and_ones_are_those_of_clopper_and_pearson(n, k):
    x = np.r_[np.ones(k), np.zeros(n - k)]
    found = mean_bounds(x, 0.975)
    low, high = beta.ppf(0.025, k, n - k + 1), beta.ppf(0.975, k + 1, n - k)
    t = mean_bounds(x, 0.975, ends=(k / n, k / n))
    assert found.low <= low + 0.004
    assert found.high >= high - 0.004
    assert found.low >= min(t.low, low) - 0.004
    assert found.high <= max(t.high, high) + 0.004


def test_classes_of_one_size_have_weights_of_their_own():
    x = np.r_[np.ones(8), np.zeros(2), np.ones(8), np.zeros(2)]
    classes = ["a"] * 10 + ["b"] * 10
    apart = mean_bounds(x, 0.975, classes=classes, weights={"a": 0.5, "b": 0.5})
    alone = mean_bounds(x[:10], 0.975)
    assert apart.estimate == pytest.approx(alone.estimate)
    assert alone.low < apart.low
    assert apart.high < alone.high or apart.high == pytest.approx(1)


@pytest.mark.parametrize("lone", [False, True])
def test_a_class_of_one_item_has_bounds_only_where_asked(lone):
    x = np.array([1.0, 0.0, 1.0])
    found = mean_bounds(
        x, 0.975, classes=list("aab"), weights={"a": 0.5, "b": 0.5}, lone_items=lone
    )
    assert np.isnan(found.low) != lone


@pytest.mark.parametrize("N", [16, 50])
def test_right_and_swap_hold_the_truth_as_often_as_they_say(N):
    """Coverage over 300 seeded tables, most items settled and some open."""
    held, M = {"right": 0, "swap": 0}, 300
    for seed in range(M):
        rng = np.random.default_rng(seed)
        p = np.where(rng.random(N) < 0.7, 0.97, 0.5)
        ranked = (rng.random((N, 1, 2, 1)) > p[:, None, None, None]).astype(int)
        tensor = VerdictTensor.from_ranked(
            ranked, verdicts=("candidate_1", "candidate_2"), orders=("AB", "BA")
        )
        answer = answered(replace(tensor, gold=("candidate_1",) * N)).answer
        true = {"right": 0.7 * 0.97 + 0.3 * 0.5, "swap": 0.7 * 2 * 0.97 * 0.03 + 0.3 * 0.5}
        for name, rate in (("right", answer.right), ("swap", answer.changes["swap"])):
            held[name] += rate.low <= true[name] <= rate.high
    assert all(n / M >= 0.93 for n in held.values()), held
