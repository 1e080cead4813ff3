"""What is read first: four numbers, a word with its rules, a short sentence that holds."""

from dataclasses import replace

import numpy as np
import pytest

from judgelaw.analysis import analyze
from judgelaw.analysis.first_screen import MOST_WORDS, with_trust
from judgelaw.analysis.things_to_do import FINE
from judgelaw.decide import advise
from judgelaw.diagnose import Finding
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import check_limits, limits_of
from support import judges
from support.reports import tensor, unanimous

SHAPES = [(6, 3, 2), (24, 4, 2), (24, 4, 1), (24, 1, 2), (12, 1, 1), (60, 4, 2), (1, 3, 2)]
WORLDS = [judges.settled, judges.flips_by_prompt, judges.flips_by_order, judges.rare_noise]
OPEN = (0.5, 0.3, 0.15, 0.05)


def judge_of(calls, **options):
    found = analyze({(None, "j"): calls}, draws=50, permutations=0, **options)
    return found.judges["j"]


def drawn(laws, repeats=4, seed=1):
    counts = np.random.default_rng(seed).multinomial(repeats, laws)
    orders = ("AB", "BA")[: counts.shape[2]]
    return VerdictTensor.from_counts(
        counts, verdicts=("candidate_1", "candidate_2", "tie", "invalid"), orders=orders
    )


def open_laws(items=60, prompts=4, order=0.0, prompt=0.0):
    laws = np.broadcast_to(OPEN, (items, prompts, 2, 4)).copy()
    shift = np.array([order, -order]) + np.linspace(-prompt, prompt, prompts)[:, None]
    laws[..., 0] += shift
    laws[..., 1] -= shift
    return laws


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("world", [*WORLDS, judges.noisy_prompt], ids=lambda w: w.__name__)
def test_a_short_sentence_has_at_most_twenty_words(world, shape):
    rng = np.random.default_rng(sum(shape))
    judge = judge_of(drawn(world(rng, *shape)))
    assert 5 <= len(judge.short.split()) <= MOST_WORDS
    assert judge.short.endswith(".")
    assert len(judge.to_do) <= 3


@pytest.mark.parametrize(
    ("laws", "said"),
    [
        (open_laws(), "Nearly all changes are pure chance on these 60 items: repeat and vote"),
        (
            open_laws(order=0.25),
            "Chance moves the verdicts most on these 60 items: repeat and vote",
        ),
        (
            np.repeat(np.eye(4)[[0, 1, 0, 1]][None, :, None], 60, axis=0).repeat(2, axis=2),
            "The wording of the prompt moves the verdicts most on these 60 items: settle on one",
        ),
        (
            np.repeat(np.eye(4)[[0, 1]][None, None], 60, axis=0).repeat(4, axis=1),
            "The order of the answers moves the verdicts most on these 60 items: ask in both",
        ),
    ],
)
def test_the_sentence_names_what_moves_the_verdicts(laws, said):
    assert judge_of(drawn(laws, repeats=8)).short.startswith(said)


def test_changes_are_those_of_the_laws():
    laws = open_laws(items=400, order=0.1, prompt=0.1)
    judge = judge_of(drawn(laws, repeats=8))
    same = np.einsum("koc,lpc->klop", laws[0], laws[0])
    other = ~np.eye(4, dtype=bool)
    truth = {
        "ask_again": 1 - np.einsum("kkoo->", same) / 8,
        "reword": 1 - np.einsum("kloo,kl->", same, other) / 24,
        "swap": 1 - np.einsum("kkop,op->", same, other[:2, :2]) / 8,
        "both": 1 - np.einsum("klop,kl,op->", same, other, other[:2, :2]) / 24,
    }
    for name, rate in judge.changes.items():
        assert rate.estimate == pytest.approx(truth[name], abs=0.01)
        assert rate.call_interval[0] < truth[name] < rate.call_interval[1]
        assert rate.interval[0] < truth[name] < rate.interval[1]


def test_what_rewording_adds_is_told_apart_from_asking_again():
    """The extra of a swap is shown where orders differ, and that of a rewording is not."""
    judge = judge_of(drawn(open_laws(items=100, order=0.2), repeats=8))
    again = judge.changes["ask_again"]
    assert (again.more, again.more_interval) == (None, None)
    for change in ("reword", "swap", "both"):
        rate = judge.changes[change]
        assert rate.more == pytest.approx(rate.estimate - again.estimate)
        assert rate.more_interval[0] <= rate.more <= rate.more_interval[1]
    assert judge.changes["swap"].more_interval[0] > 0.1
    assert judge.changes["reword"].more_interval[0] < 0.0 < judge.changes["reword"].more_interval[1]


def test_what_was_not_varied_has_no_number_and_is_named():
    steady = drawn(judges.rare_noise(np.random.default_rng(1), 400, 1, 1), repeats=8)
    judge = judge_of(steady)
    assert [name for name, rate in judge.changes.items() if rate is None] == [
        "reword",
        "swap",
        "both",
    ]
    assert judge.trust.word == "fine"
    assert "other prompts and other orders were not tried" in judge.trust.reason


def test_a_steady_judge_is_fine_and_an_open_one_is_not():
    laws = judges.rare_noise(np.random.default_rng(1), 100, 4, 2)
    fine = judge_of(drawn(laws, repeats=8))
    assert fine.trust.word == "fine"
    assert fine.short.startswith("Hardly any verdict changes on these 100 items: at most ")
    assert fine.to_do == ()
    assert not any(rule.holds for rule in fine.trust.rules)
    worst = max(rate.call_interval[1] for rate in fine.changes.values())
    assert worst <= FINE
    care = judge_of(drawn(open_laws()))
    assert care.trust.word == "with care"
    assert "of 100 verdicts change when you" in care.trust.reason


def test_the_reason_names_the_prompt_or_the_order_only_where_they_add_something():
    """The largest number may be the one of rewording by chance alone."""
    asked, swapped = (
        judge_of(drawn(open_laws(items=100, order=order), repeats=8)) for order in (0.0, 0.25)
    )
    assert asked.trust.reason.endswith(" of 100 verdicts change when you ask again.")
    swap, again = (f"{100 * swapped.changes[name].estimate:.0f}" for name in ("swap", "ask_again"))
    assert swapped.trust.reason == (
        f"{swap} of 100 verdicts change when you swap the answers, {again} when you just ask again."
    )


def test_few_calls_that_all_agree_are_not_called_fine():
    """Six items that never wavered do not show that a judge never wavers."""
    judge = judge_of(unanimous())
    rate = judge.changes["both"]
    assert rate.estimate == pytest.approx(0)
    assert rate.call_interval[1] > 0
    assert (judge.trust.word == "fine") == (rate.call_interval[1] <= FINE)


def test_asking_more_often_is_worth_it_where_the_vote_is_shown_to_be_steadier():
    """Three calls of a judge that leans one way: the number beside it is that of `advise`."""
    laws = np.broadcast_to((0.7, 0.2, 0.1, 0), (100, 2, 2, 4))
    calls = drawn(laws, repeats=6)
    judge = judge_of(calls)
    (line,) = judge.to_do
    assert line.do == "Ask three times in both orders and take the majority"
    votes = [
        row.stability.estimate
        for row in advise({"j": calls}).judges["j"].protocols
        if (row.protocol.orders, row.protocol.repeats) == ("both", 3) and row.protocol.fixed
    ]
    before, after = (100 * x for x in (judge.changes["ask_again"].estimate, 1 - np.mean(votes)))
    assert after < before - 10
    fall = f"changes fall from {before:.0f} to {after:.0f} of 100"
    assert line.because == f"{fall}, with 6 calls an item"


def test_a_vote_that_is_not_shown_to_be_steadier_is_not_promised():
    """With three verdicts alike a vote is as random as a call: that is said, with its number."""
    laws = np.broadcast_to((1 / 3, 1 / 3, 1 / 3, 0), (60, 2, 2, 4))
    judge = judge_of(drawn(laws, repeats=6))
    (line,) = judge.to_do
    assert line.do == "Sharpen the question, or try another judge"
    assert line.because.startswith("a majority of 6 calls changes on 6")
    assert "repeat and vote" not in judge.short
    assert judge.short.endswith("voting is not shown to help.")


def test_a_vote_that_too_few_items_show_asks_for_more_of_them():
    """A fall that these items do not carry is no reason to leave the judge."""
    laws = np.broadcast_to((0.7, 0.3, 0, 0), (4, 2, 2, 4))
    judge = judge_of(drawn(laws, repeats=6, seed=3))
    (line,) = judge.to_do
    assert line.do == "Ask about more items"
    assert line.because.endswith("that is not shown to be less")


@pytest.mark.parametrize(("right", "word"), [(1, "fine"), (0, "with care")])
def test_a_steady_judge_that_is_no_better_than_guessing_is_not_called_fine(right, word):
    """One that always says the same is as steady as can be, right or wrong."""
    laws = np.broadcast_to(np.eye(4)[0], (60, 4, 2, 4))
    calls = replace(drawn(laws), gold=("candidate_1" if right else "candidate_2",) * 60)
    judge = judge_of(calls)
    assert judge.trust.word == word
    if not right:
        said = "0 of 100 calls give the gold verdict, guessing would give 50"
        assert judge.trust.reason == f"{said}."
        assert [(x.do, x.because) for x in judge.to_do] == [("Find out why it is not right", said)]


def test_a_judge_that_follows_the_order_is_asked_in_both_and_rules_ties():
    laws = np.repeat(np.eye(4)[[0, 1]][None, None], 60, axis=0).repeat(4, axis=1)
    (line,) = judge_of(drawn(laws)).to_do
    assert line.do == "Ask in both orders, and rule a tie where they disagree"
    assert line.because == (
        "changes fall from 100 to 0 of 100, with 2 calls an item; 100 of 100 verdicts become ties"
    )


def test_prompts_that_are_right_less_often_are_named_once_items_are_enough():
    laws = open_laws(items=120, prompt=0.25)
    for items, named in ((120, True), (50, True), (49, False)):
        calls = replace(drawn(laws[:items], repeats=8), gold=("candidate_1",) * items)
        said = [x.do for x in judge_of(calls).to_do]
        assert ("Keep prompt p4" in said) == named
        assert not named or said[0] == "Keep prompt p4"


def test_what_moves_verdicts_most_is_seen_to_first():
    """Rewording moves a third of the verdicts and a vote would help too, a little."""
    laws = np.tile([0.97, 0.03, 0, 0], (60, 5, 2, 1))
    laws[:20, 3:] = (0.03, 0.97, 0, 0)
    judge = judge_of(drawn(laws))
    assert judge.short.startswith("The wording of the prompt moves the verdicts most")
    assert [x.do for x in judge.to_do] == [
        "Settle on one prompt, or average over several",
        "Ask twice in both orders and take the majority",
    ]


def test_other_layers_are_not_advised_on():
    """Votes are worked out for the layer that is read first, where they cost time but once."""
    calls = drawn(np.broadcast_to((0.7, 0.2, 0.1, 0), (100, 2, 2, 4)), repeats=6)
    layers = analyze(
        {("audit", "j"): calls, ("control", "j"): calls}, draws=50, permutations=0
    ).layers
    said = {name: [x.do for x in found["j"].to_do] for name, found in layers.items()}
    assert said["audit"] == ["Ask three times in both orders and take the majority"]
    assert said["control"] == ["Ask each item several times and take the majority"]


def test_replies_that_cannot_be_read_come_first():
    laws = open_laws() * 0.8
    laws[..., 3] += 0.2
    judge = judge_of(drawn(laws))
    assert judge.trust.word == "not yet"
    assert judge.trust.reason.endswith(" of 100 replies gave no verdict.")
    assert judge.to_do[0].do == "Repair the prompt, or how replies are read"


def test_a_problem_found_by_a_check_comes_before_everything():
    judge = judge_of(tensor())
    finding = Finding(name="replay", verdict="problem", headline="Replies repeat.", advice="Look.")
    found = with_trust(judge, [finding], None).trust
    assert (found.word, found.reason) == ("not yet", "Replies repeat.")
    other = replace(finding, subject="another judge")
    assert with_trust(judge, [other], None).trust.word == "with care"
    notice = replace(finding, verdict="notice")
    assert with_trust(judge, [notice], None).trust.word == "with care"


def test_a_problem_is_told_in_plain_words_on_the_first_screen():
    said = "Agreement of calls of one cell changes by -0.0331 per step of repeat rank."
    finding = Finding(name="rank_gap", verdict="problem", headline=said, advice="Look.")
    reason = with_trust(judge_of(tensor()), [finding], None).trust.reason
    assert reason.startswith("Repeats are not alike")


def test_a_problem_is_the_first_thing_to_look_into():
    finding = Finding(name="replay", verdict="problem", headline="Replies repeat.", advice="Look.")
    judge = judge_of(tensor())
    found = with_trust(judge, [finding], None).to_do
    assert found[0].do == "Find out what is behind the problem below"
    assert found[1:] == judge.to_do[:2]


@pytest.mark.parametrize(
    ("limits", "word", "reason"),
    [
        ({"total": 0.99}, "fine", "Every limit of the study's gate is kept."),
        ({"total": 0.1}, "not yet", "and is not below the limit 0.1."),
        ({"prompt": 0.001}, "with care", "and is not shown to be below the limit 0.001."),
    ],
)
def test_a_gate_of_the_study_decides_in_place_of_our_limits(limits, word, reason):
    calls = drawn(open_laws())
    gate = check_limits({"j": calls}, limits_of(limits), scope="fixed", level=0.95)
    found = judge_of(calls, gate=gate).trust
    assert found.word == word
    assert found.reason.endswith(reason)


def test_json_has_all_of_it():
    found = analyze({(None, "j"): tensor()}, draws=50, permutations=0)
    judge = found.to_json()["judges"]["j"]
    assert set(judge["changes"]) == {"ask_again", "reword", "swap", "both"}
    assert set(judge["changes"]["swap"]) == {
        *("estimate", "interval", "call_interval"),
        *("more", "more_interval"),
    }
    assert judge["trust"]["word"] in {"not yet", "with care", "fine"}
    assert {"word", "when", "holds", "reason"} == set(judge["trust"]["rules"][0])
    assert judge["short"] == found.judges["j"].short
    assert all(set(x) == {"do", "because"} for x in judge["to_do"])


def test_unequal_orders_leave_the_swap_as_it_is():
    calls = drawn(open_laws(order=0.2))
    even, uneven = (
        judge_of(calls, order_weights=weights) for weights in (None, {"AB": 0.8, "BA": 0.2})
    )
    for change in ("swap", "both"):
        assert uneven.changes[change].estimate == pytest.approx(even.changes[change].estimate)
    assert uneven.changes["reword"].estimate != pytest.approx(even.changes["reword"].estimate)
