"""The answer: words at known tables, actions that are named, and what is not said."""

from dataclasses import replace

import numpy as np
import pytest

from judgelaw.analysis import decide, spoken
from judgelaw.analysis.answer_words import Design, share
from judgelaw.diagnose import Finding
from judgelaw.estimate import Estimand
from judgelaw.tensor import VerdictTensor

PAIRS = ("candidate_1", "candidate_2", "tie", "invalid")


def pairs(right, *, K=1, O=2, R=2):
    """Settled pairs, (items,) or (items, prompts) of right or wrong."""
    right = np.asarray(right, dtype=bool)
    right = right[:, None].repeat(K, axis=1) if right.ndim == 1 else right
    gold = np.arange(len(right)) % 2
    ranked = np.where(right, gold[:, None], 1 - gold[:, None])[:, :, None, None]
    ranked = ranked.repeat(O, axis=2).repeat(R, axis=3)
    tensor = VerdictTensor.from_ranked(ranked, verdicts=PAIRS, orders=("AB", "BA")[:O])
    return replace(tensor, gold=tuple(PAIRS[g] for g in gold))


def answer(tensor, **options):
    found = decide(tensor, Estimand(), **options)
    n, k, o, _ = tensor.counts.shape
    return spoken(found, Design(items=n, prompts=k, orders=o, repeats=tensor.depth[0]))


@pytest.mark.parametrize(
    ("right", "of", "word"),
    [
        (46, 50, "use"),
        (16, 16, "use"),
        (180, 200, "use"),
        (136, 200, "weak"),
        (325, 500, "weak"),
        (70, 100, "early"),
        (41, 50, "early"),
        (22, 60, "avoid"),
    ],
)
def test_words_of_settled_pairs_are_those_of_the_rule(right, of, word):
    assert answer(pairs(np.arange(of) < right)).word == word


def test_a_judge_that_always_says_pass_is_not_to_be_used_however_rare_fails_are():
    tensor = VerdictTensor.from_ranked(
        np.zeros((200, 2, 1, 3), dtype=int), verdicts=("pass", "fail"), orders=("single",)
    )
    found = answer(replace(tensor, gold=("pass",) * 150 + ("fail",) * 50))
    assert found.word == "avoid"
    assert found.right.estimate == 0.5
    assert "never right where the right answer is “fail” (50 items)" in found.actions[0].why
    assert found.right.calls_right == 0.75


def one_bad_prompt(seed=1, N=80, bad=0.35):
    rng = np.random.default_rng(seed)
    good = rng.random(N) < 0.92
    right = np.stack([good] * 5 + [rng.random(N) < bad], axis=1)
    return pairs(right, R=4)


def test_the_bad_prompt_is_named_and_what_leaving_it_out_does():
    found = answer(one_bad_prompt())
    assert found.word in {"change", "use"}
    (drop,) = [a for a in found.actions if a.kind == "drop_prompts"]
    assert drop.prompts == ("p6",)
    assert drop.text == "Leave out prompt “p6”."
    assert drop.right[1] > drop.right[0] + 0.05
    assert drop.changes[1] < drop.changes[0]
    assert drop.prompt_right[0] < 0.5 < drop.prompt_right[1]


def test_one_good_prompt_is_kept():
    rng = np.random.default_rng(2)
    N = 100
    right = np.stack([rng.random(N) < 0.6 for _ in range(5)] + [rng.random(N) < 0.97], axis=1)
    found = answer(pairs(right, R=4))
    (keep,) = [a for a in found.actions if a.kind == "keep_prompt"]
    assert keep.prompts == ("p6",)
    assert found.word == "change"
    assert "one prompt alone" not in found.says


def test_without_right_answers_it_says_so_first_and_asks_for_labels():
    found = answer(replace(one_bad_prompt(), gold=None))
    assert found.word == "unsteady"
    assert found.title == "Not checked against right answers yet"
    assert found.right is None
    assert [a.kind for a in found.actions] == ["drop_prompts", "label"]
    assert found.actions[0].right is None


def noisy(share_right, N=150, R=8, seed=5):
    """One cell an item; each call is right with this probability."""
    rng = np.random.default_rng(seed)
    gold = np.arange(N) % 2
    hit = rng.random((N, R)) < share_right
    ranked = np.where(hit, gold[:, None], 1 - gold[:, None])[:, None, None]
    tensor = VerdictTensor.from_ranked(ranked, verdicts=PAIRS, orders=("AB",))
    return replace(tensor, gold=tuple(PAIRS[g] for g in gold))


def test_votes_are_advised_where_they_help_and_never_where_they_make_it_worse():
    helped = answer(noisy(0.85))
    assert "vote" in {a.kind for a in helped.actions}
    worse = answer(noisy(0.37))
    assert worse.word == "avoid"
    assert {a.kind for a in worse.actions} == {"other_judge"}


def test_replies_without_a_verdict_are_repaired_before_anything_else():
    tensor = one_bad_prompt(bad=0.92)
    ranked = tensor.ranked.copy()
    ranked[:, 2] = 3
    broken = replace(VerdictTensor.from_ranked(ranked, orders=tensor.orders), gold=tensor.gold)
    found = answer(broken)
    assert found.actions[0].kind == "repair"
    assert found.actions[0].prompts == ("p3",)
    assert {a.kind for a in found.actions} & {"both_orders", "vote", "people"} == set()


def test_the_users_own_bar_replaces_both():
    strict = answer(pairs(np.arange(200) < 164), at_least=0.9)
    assert strict.word == "avoid"
    assert "you ask for 90" in strict.says
    assert strict.right.asked == 0.9
    assert answer(pairs(np.arange(200) < 164), at_least=0.7).word == "use"


def test_a_finding_that_makes_it_worthless_takes_the_first_place():
    found = Finding(
        name="replay", verdict="problem", headline="40 of 100.", advice="Switch it off."
    )
    said = spoken(
        decide(pairs(np.ones(50)), Estimand()),
        Design(items=50, prompts=1, orders=2, repeats=2),
        [found],
    )
    assert (said.word, said.title) == ("early", "Not known")
    assert said.actions == ()
    assert said.remedy == "Switch it off."


def test_bounds_are_shared_by_several_judges():
    tensor = pairs(np.arange(50) < 44)
    alone, shared = decide(tensor, Estimand()), decide(tensor, Estimand(), judges=8)
    assert shared.right.low < alone.right.low
    assert shared.right.level == pytest.approx(1 - 0.05 / 8)


def test_contested_items_are_few_and_changed_ones_a_fact():
    tensor = noisy(0.99, N=60, R=24)
    ranked = tensor.ranked.copy()
    ranked[:3, 0, 0, ::2] = 1 - ranked[:3, 0, 0, ::2]
    found = decide(replace(VerdictTensor.from_ranked(ranked, orders=("AB",))), Estimand())
    assert set(found.contested.ids) == {"i1", "i2", "i3"} or found.contested.items == 3
    assert found.contested.changed > 3


def test_no_whole_number_stands_on_the_wrong_side_of_a_bar():
    assert share(0.7484, up=True, bars=(0.75,)) == "74.9"
    assert share(0.7516, up=False, bars=(0.75,)) == "75"
    assert share(0.101, up=False, bars=(0.10,)) == "10"
    assert share(0.0996, bars=(0.10,)) == "9.96"


def test_sentences_have_at_most_22_words():
    for tensor in (pairs(np.arange(50) < 46), one_bad_prompt(), noisy(0.85), noisy(0.37)):
        for gold in (tensor.gold, None):
            found = answer(replace(tensor, gold=gold))
            assert len(found.says.split()) <= 22, found.says
