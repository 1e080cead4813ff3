"""Advice: the JSON shape, the walk to a target, the prompts to keep, odd input."""

from contextlib import contextmanager
from dataclasses import replace
from math import isnan

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.decide import Protocol, advise, choose_prompts
from judgelaw.decide.prompt_choice import not_shown_worse
from judgelaw.decide.protocols import outcomes_of, reaches
from judgelaw.decide.vote_forecast import mixing_laws
from judgelaw.decide.votes import vote
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from support import judges

KEYS = {"prompts", "orders", "repeats", "calls", "rule", "stability", "accuracy", "cost"}


def drawn(name="heavy tails", *, items=60, prompts=4, orders=2, repeats=4, seed=1):
    laws = judges.pool(name, prompts, orders, seed=seed, size=items).laws
    tensor = judges.tensor(laws, repeats, stream(seed, "advice"))
    return replace(tensor, orders=("AB", "BA")[:orders], judge="j")


@pytest.fixture(scope="module")
def tensor():
    return drawn()


def one(advice):
    return advice.judges["j"]


def test_the_document_has_the_agreed_shape(tensor):
    document = jl.advise(tensor, {"stability": 0.6}).to_json()
    assert document["schema"] == "judgelaw.advice/1"
    judge = document["judges"]["j"]
    assert set(judge) >= {"sentence", "prompts", "protocols", "target"}
    assert set(judge["prompts"][0]) == {
        "prompt",
        "call",
        "invalid",
        "lean",
        "accuracy",
        "distance",
        "keep",
    }
    assert all(set(row) == KEYS for row in judge["protocols"])
    shapes = {tuple(row["stability"]) for row in judge["protocols"]}
    assert shapes == {("estimate", "low", "high"), ("forecast",)}
    fixed = {
        row["prompts"]
        for row in judge["protocols"]
        if row["rule"] == "random" and row["orders"] == "one" and row["repeats"] == 1
    }
    assert {f"fixed:{name}" for name in tensor.prompts} | {"drawn:1", "drawn:3", "all"} == fixed
    assert {row["orders"] for row in judge["protocols"]} == {"one", "both", "consistent"}
    assert judge["prompts"][0]["accuracy"] is None


def test_one_call_of_a_fixed_prompt_is_the_agreement_of_its_calls(tensor):
    rows = {r.protocol: r for r in one(jl.advise(tensor)).protocols}
    for k, name in enumerate(tensor.prompts):
        n = tensor.counts[:, k, 0]
        agreement = (n * (n - 1)).sum(axis=1) / 12
        for repeats in (1, 2):  # a second vote with drawn ties adds nothing
            row = rows[Protocol(prompts=f"fixed:{name}", repeats=repeats)]
            assert row.stability.estimate == pytest.approx(agreement.mean(), abs=1e-12)
            assert row.stability.low < agreement.mean() < row.stability.high
            assert row.calls == repeats


def test_a_drawn_prompt_is_the_total_of_its_order(tensor):
    rows = {r.protocol: r for r in one(jl.advise(tensor)).protocols}
    total = jl.decompose(tensor.select(orders=["AB"])).macro().total
    assert rows[Protocol(prompts="drawn:1")].stability.estimate == pytest.approx(1 - total)


def test_shuffled_calls_agree_with_the_exact_vote_of_two_cells(tensor):
    """All prompts of a judge with two are two cells: the shuffles must come near the exact vote."""
    two = tensor.select(prompts=["p1", "p2"], orders=["AB"])
    (found,) = outcomes_of(two, [Protocol(prompts="all", repeats=2)])
    from judgelaw.decide.votes import pooled_vote

    exact = pooled_vote(two.counts[:, 0, 0], two.counts[:, 1, 0], 2, "random")
    assert found.same.mean() == pytest.approx(exact.same.mean(), abs=0.003)
    assert np.abs(found.law - exact.law).max() < 0.06


def test_shuffles_go_by_the_calls_that_are_there():
    """Unequal repeats: padding is never drawn, and every run of a settled item is the same."""
    counts = np.array([[[[2, 0]], [[0, 5]], [[0, 3]]], [[[2, 0]], [[3, 0]], [[2, 0]]]])
    tensor = VerdictTensor.from_counts(counts)
    (found,) = outcomes_of(tensor, [Protocol(prompts="all")])
    assert found.law.tolist() == [[0.0, 1.0], [1.0, 0.0]]
    assert found.same.tolist() == [1.0, 1.0]


def test_votes_beyond_reach_are_a_forecast_that_holds_the_later_truth():
    deep = drawn("open, effects", items=300, prompts=1, orders=1, repeats=16, seed=3)
    early = deep.prefix(4)
    row = next(r for r in one(jl.advise(early)).protocols if r.protocol.repeats == 3)
    assert row.stability.absent
    truth = vote(deep.counts[:, 0, 0], 3, "random").same.mean()
    assert row.stability.low < truth < row.stability.high
    assert row.stability.high - row.stability.low < 0.2


def test_a_forecast_within_reach_holds_the_estimate():
    tensor = drawn("heavy tails", items=300, prompts=1, orders=1, repeats=8, seed=5)
    n = tensor.counts[:, 0, 0]
    low, high = mixing_laws(n).stability(3)
    assert low < vote(n, 3, "random").same.mean() < high


def test_a_target_is_met_by_the_cheapest_that_is_shown():
    steady = drawn("rare noise", items=200, prompts=2, orders=1, repeats=8)
    target = one(jl.advise(steady, 0.9)).target
    assert target.row is not None
    assert target.row.calls == 1
    assert target.lower >= 0.9
    none = one(jl.advise(steady, "stability=0.9999"))
    assert none.target.row is None
    assert "No protocol looked at is shown" in none.sentence


def test_ladders_that_are_walked_together_share_the_error():
    tensor = drawn("95% settled", items=200, orders=1)
    few, many = (
        one(jl.advise(tensor, 0.5, protocols=[f"fixed:p{k} one 1 random" for k in range(1, n + 1)]))
        for n in (1, 4)
    )
    assert (few.target.ladders, many.target.ladders) == (1, 4)
    first = many.protocols[0]
    assert first.stability == few.protocols[0].stability
    assert few.target.lower > first.stability.low
    again = one(jl.advise(tensor, 0.5, protocols=["fixed:p1 one 1 random", "all one 1 random"]))
    assert again.target.row.protocol.prompts == "fixed:p1"
    assert few.target.lower > again.target.lower == pytest.approx(first.stability.low)


def test_the_walk_stops_at_the_first_protocol_that_does_not_reach():
    """Three votes do not reach the target, so one vote is not claimed, whatever its bound."""
    tensor = drawn("open, effects", items=100, prompts=1, orders=1, repeats=8)
    walked = [Protocol(prompts="fixed:p1", repeats=m) for m in (1, 3)]
    only = jl.advise(tensor, 0.35, protocols=[walked[0]]).judges["j"].target
    assert only.row is not None
    both = jl.advise(tensor, {"stability": 0.35}, protocols=walked).judges["j"].target
    assert both.row is not None
    assert both.row.protocol == walked[0]
    harder = jl.advise(tensor, 0.6, protocols=walked).judges["j"].target
    assert harder.row is None


def test_gold_gives_accuracy_and_chooses_by_it(tensor):
    right = one(jl.advise(tensor, gold="candidate_1"))
    assert right.choice.merit == "accuracy"
    p = (tensor.counts / tensor.repeats[..., None])[..., 0]
    assert [r.accuracy for r in right.choice.rows] == pytest.approx(p.mean(axis=(0, 2)).tolist())
    row = next(r for r in right.protocols if r.protocol == Protocol(prompts="fixed:p2"))
    assert row.accuracy.estimate == pytest.approx(p[:, 1, 0].mean())
    assert row.accuracy.low < row.accuracy.estimate < row.accuracy.high
    with pytest.raises(InputError, match="no gold"):
        jl.advise(tensor, {"accuracy": 0.9})


def test_a_gold_verdict_that_no_call_gives_is_never_right(tensor):
    some = replace(tensor, gold=("candidate_1", "nothing", None, *["candidate_2"] * 57))
    found = one(jl.advise(some)).choice
    p = (tensor.counts / tensor.repeats[..., None]).mean(axis=2)
    wanted = (p[0, :, 0] + p[3:, :, 1].sum(axis=0)) / 59
    assert [r.accuracy for r in found.rows] == pytest.approx(wanted.tolist())


def test_lean_is_signed_and_in_points_of_100():
    counts = np.zeros((3, 1, 2, 4), dtype=int)
    counts[:, 0, 0, 0] = counts[:, 0, 1, 1] = 4  # always the answer shown first
    tensor = VerdictTensor.from_counts(counts, orders=["AB", "BA"])
    assert choose_prompts(tensor).rows[0].lean == 100.0
    assert choose_prompts(replace(tensor, orders=("BA", "AB"))).rows[0].lean == -100.0
    assert isnan(choose_prompts(replace(tensor, orders=("x", "y"))).rows[0].lean)


def test_a_prompt_that_is_clearly_worse_is_not_kept():
    rng = np.random.default_rng(0)
    t = rng.normal(0, 0.1, size=(200, 3)) + np.array([0.0, 0.0, -0.2])
    keep, critical = not_shown_worse(t)
    assert keep.tolist() == [True, True, False]
    assert (critical > 1.7).all()


def test_prompts_that_never_differ_are_all_kept():
    keep, critical = not_shown_worse(np.ones((50, 3)))
    assert keep.all()
    assert np.isnan(critical).all()
    assert not_shown_worse(np.ones((1, 2)))[0].all()


def test_a_prompt_that_errs_a_little_is_kept_until_rare_failures_of_another_would_have_shown():
    """A t test drops it at 50 items, where one prompt in 27 may fail wholly and none was seen."""
    few, many = np.ones((50, 2)), np.ones((500, 2))
    few[:10, 0] = many[:100, 0] = 0.75
    assert not_shown_worse(few)[0].tolist() == [True, True]
    assert not_shown_worse(many)[0].tolist() == [False, True]


@pytest.mark.parametrize("gold", [None, ["candidate_1"] * 5])
def test_five_settled_items_promise_nothing(gold):
    counts = np.tile([4, 0, 0, 0], (5, 3, 1, 1))
    found = jl.advise(VerdictTensor.from_counts(counts, gold=gold)).judges["judge"]
    assert "most likely" not in found.sentence
    assert found.choice.more_items > 200
    assert found.choice.high - found.choice.low > 0.3
    if gold:
        assert found.wrong.in_words() == "0 of 100 calls are wrong (0 to 53)."


def test_a_vote_that_adds_nothing_by_arithmetic_is_not_named():
    rng = np.random.default_rng(5)
    coin = VerdictTensor.from_counts(rng.multinomial(4, [0.5, 0.5, 0, 0], size=(100, 1, 1)))
    assert "vote of 2 calls" not in jl.advise(coin).in_words()


def test_orders_used_at_unequal_rates_weigh_in_everything_said_of_a_prompt(tensor):
    gold = replace(tensor, gold=("candidate_1",) * 60)
    found = one(jl.advise(gold, order_weights={"AB": 0.8, "BA": 0.2}))
    p = np.tensordot(tensor.counts / 4, [0.8, 0.2], axes=(2, 0)).mean(axis=0)
    assert [r.accuracy for r in found.choice.rows] == pytest.approx(p[:, 0].tolist())
    assert [r.invalid for r in found.choice.rows] == pytest.approx(p[:, 3].tolist())
    assert found.wrong.share.estimate == pytest.approx(1 - p[:, 0].mean())
    parts = sum(x.estimate for x in found.wrong.parts.values())
    assert parts == pytest.approx(found.wrong.share.estimate)


def test_sampled_prompts_have_estimates_and_no_interval_for_what_is_drawn(tensor):
    found = one(jl.advise(tensor, 0.2, design="sampled"))
    rows = {r.protocol: r for r in found.protocols}
    drawn_one = rows[Protocol(prompts="drawn:1")].stability
    total = jl.decompose(tensor.select(orders=["AB"]), design="sampled").macro().total
    assert drawn_one.estimate == pytest.approx(1 - total)
    assert isnan(drawn_one.low)
    assert "drawn:3" not in {r.protocol.prompts for r in found.protocols}
    assert found.target.row.protocol.drawn is None


def test_odd_designs_get_a_clear_answer(tensor):
    single = one(jl.advise(tensor.select(items=["i1"])))
    assert isnan(single.protocols[0].stability.low)
    assert single.protocols[0].to_json()["stability"]["low"] is None
    assert "One item" in single.notes[0]
    assert one(jl.advise(tensor.select(items=["i1", "i2"]))).protocols[0].stability.low < 1
    alone = one(jl.advise(tensor.select(prompts=["p1"], orders=["AB"])))
    assert alone.sentence.startswith("Not checked against right answers yet")
    assert {r.protocol.prompts for r in alone.protocols} == {"fixed:p1"}
    with pytest.raises(NotIdentifiedError, match="acquire a second repeat"):
        jl.advise(tensor.prefix(1))


@pytest.mark.parametrize(
    ("protocol", "words"),
    [
        ("fixed:p9 one 1 random", "no prompt is called 'p9'"),
        ("drawn:9 one 1 random", "of 4 prompts 4 can be drawn"),
        ("some one 1 random", "fixed:NAME, drawn:NUMBER or all"),
        ("all one", "write PROMPTS ORDERS REPEATS RULE"),
        ("all most 1 random", "orders = 'most'"),
        ("all one 0 random", "at least once"),
    ],
)
def test_protocols_that_cannot_be_are_refused(tensor, protocol, words):
    with pytest.raises(InputError, match=words):
        jl.advise(tensor, protocols=[protocol])


def test_targets_that_mean_nothing_are_refused(tensor):
    for target, words in [({"speed": 1}, "name one of"), (1.5, "between 0 and 1"), ("x=y", "NAME")]:
        with pytest.raises(InputError, match=words):
            jl.advise(tensor, target)


def test_a_pooled_protocol_that_no_calls_reach_is_anything(tensor):
    far = Protocol(prompts="all", repeats=3)
    assert not reaches(far, tensor)
    row = one(jl.advise(tensor, protocols=[far])).protocols[0]
    assert row.to_json()["stability"] == {"forecast": [0.0, 1.0]}


def test_every_figure_in_the_sentence_is_one_of_the_intervals(tensor):
    found = one(jl.advise(tensor))
    first = next(r for r in found.protocols if r.protocol == Protocol(prompts="drawn:1")).stability
    assert not first.absent
    shown = f"{100 * first.estimate:.0f} of 100 items ({100 * first.low:.0f} to "
    assert shown in found.sentence


def test_a_target_that_ties_reach_says_so_and_how_often_it_is_right(tensor):
    """Ruling ties is steady: stability alone would recommend a judge that decides nothing."""
    both = ["fixed:p1 consistent 1 tie"]
    found = one(jl.advise(tensor, 0.1, protocols=both, gold="candidate_1"))
    assert "rules a tie wherever the orders disagree; its verdict is right on" in found.sentence
    assert "right on" not in one(jl.advise(tensor, 0.1, protocols=both)).sentence


def test_frames_and_notebooks_get_every_protocol(tensor):
    advice = jl.advise(tensor)
    frame = advice.to_frame("polars")
    assert len(frame) == len(one(advice).protocols)
    assert "j" in advice._repr_html_()


def test_a_large_table_is_advised_on_in_seconds():
    """1,750 items, 7 prompts, 8 repeats: three seconds of processor time at most, in one thread."""
    from time import process_time

    large = drawn(items=1_750, prompts=7, orders=1, repeats=8)
    start = process_time()
    jl.advise(large, 0.9)
    assert process_time() - start < 3


@pytest.mark.parametrize("protocols", [None, [Protocol(prompts="drawn:1")]])
def test_a_bar_hears_of_all_the_work(protocols):
    """Long tables take seconds: what is announced is done in the end, in many small steps."""
    told = []

    @contextmanager
    def progress(what, total):
        told.append((what, total))
        yield told.append

    advise({"j": drawn(items=40), "k": drawn(items=40)}, protocols=protocols, progress=progress)
    (what, total), *steps = told
    assert what == "advising"
    assert sum(steps) == total
    assert protocols is not None or max(steps) < total / 10


def test_what_makes_verdicts_wrong_adds_up_and_has_intervals():
    judge = advise({"j": replace(drawn(items=40), gold=("candidate_1",) * 40)}).judges["j"]
    wrong = judge.to_json()["wrong"]
    parts = wrong["parts"]
    assert list(parts) == ["call", "prompt", "order", "interaction", "systematic"]
    assert sum(x["estimate"] for x in parts.values() if x) == pytest.approx(wrong["estimate"])
    assert wrong["estimate"] == pytest.approx(1 - np.mean([r.accuracy for r in judge.choice.rows]))
    for x in (wrong, *filter(None, parts.values())):
        assert x["low"] < x["estimate"] < x["high"]
    assert judge.wrong.in_words().startswith(
        f"{100 * wrong['estimate']:.0f} of 100 calls are wrong"
    )
    assert advise({"j": replace(drawn(items=40), gold=None)}).judges["j"].to_json()["wrong"] is None


def test_a_part_that_is_not_shown_is_not_named():
    """A judge whose verdict never moves is wrong by itself, and by nothing else."""
    sure = VerdictTensor.from_counts(np.tile([0, 4, 0, 0], (20, 2, 2, 1)), orders=("AB", "BA"))
    sure = replace(sure, gold=("candidate_1",) * 20)
    said = advise({"j": sure}).judges["j"].wrong.in_words()
    assert "chance" not in said
    assert "order" not in said


def test_a_fixed_prompt_in_several_orders_votes_with_its_own_calls_alone():
    """Votes of three orders are drawn by shuffling, and once held the calls of every prompt."""
    laws = judges.pool("open, effects", 3, 3, seed=5, size=40).laws
    tensor = judges.tensor(laws, 4, stream(6, "several orders"))
    asked = Protocol(prompts="fixed:p2", orders="both")
    (ours,) = outcomes_of(tensor, [asked])
    (alone,) = outcomes_of(tensor.select(prompts=["p2"]), [asked])
    (other,) = outcomes_of(tensor, [replace(asked, prompts="all")])
    assert ours.same.mean() == pytest.approx(alone.same.mean(), abs=0.01)
    assert abs(other.same.mean() - alone.same.mean()) > 0.05
    assert "both orders" not in one(jl.advise({"j": tensor})).sentence
