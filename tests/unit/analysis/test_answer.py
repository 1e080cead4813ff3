"""The answer: words at known tables, actions that are named, and what is not said."""

from dataclasses import replace

import numpy as np
import pytest

from judgelaw.analysis import decide, outlook, spoken
from judgelaw.analysis.answer import best_of
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


def test_prompts_that_are_all_to_be_repaired_are_neither_left_out_nor_kept_alone():
    """No prompt is named where all leave replies unread; the worst one stays all the same."""
    tensor = one_bad_prompt(N=120, bad=0.2)
    ranked = np.concatenate([np.full((*tensor.ranked.shape[:-1], 2), 3), tensor.ranked], axis=-1)
    found = answer(
        replace(VerdictTensor.from_ranked(ranked, orders=tensor.orders), gold=tensor.gold)
    )
    assert found.actions[0].kind == "repair"
    assert found.actions[0].prompts == ()
    assert not {"drop_prompts", "keep_prompt"} & {a.kind for a in found.actions}


def test_both_orders_are_advised_where_no_tie_was_ever_seen():
    N, first = 90, np.arange(90) < 30
    gold = np.arange(N) % 2
    ranked = np.where(first[:, None], np.array([0, 1]), gold[:, None])[:, None, :, None]
    tensor = VerdictTensor.from_ranked(ranked.repeat(2, axis=3), orders=("AB", "BA"))
    named = replace(tensor, gold=tuple(PAIRS[g] for g in gold))
    kept = [v for v in tensor.verdicts if v != "tie"]
    seen = [tensor.verdicts.index(v) for v in kept]
    without = replace(named, counts=named.counts[..., seen], verdicts=tuple(kept), ranked=None)
    actions = {}
    for name, each in (("with", named), ("without", without)):
        (actions[name],) = [a for a in answer(each).actions if a.kind == "both_orders"]
    assert actions["with"].right == pytest.approx(actions["without"].right)
    assert actions["with"].ties == pytest.approx(1 / 3)


def test_a_vote_does_not_make_verdicts_steady_that_change_with_the_prompt():
    rng = np.random.default_rng(3)
    N, R = 200, 8
    gold = np.arange(N) % 2
    turned = rng.random((N, 3)) < np.array([0.0, 0.25, 0.25])
    hit = (rng.random((N, 3, 1, R)) < 0.9) ^ turned[:, :, None, None]
    ranked = np.where(hit, gold[:, None, None, None], 1 - gold[:, None, None, None])
    found = answer(
        replace(
            VerdictTensor.from_ranked(ranked, orders=("AB",)), gold=tuple(PAIRS[g] for g in gold)
        ),
        at_least=0.6,
    )
    (vote,) = [a for a in found.actions if a.kind == "vote"]
    assert vote.after.changes["ask_again"].high < 0.1 or vote.after.steady is False
    assert vote.after.steady is not True
    assert "for averages" in outlook(vote, found)


def test_an_unchecked_judge_that_is_early_is_told_both_labels_and_items():
    rng = np.random.default_rng(8)
    N = 24
    ranked = rng.random((N, 1, 2, 4)) < np.where(np.arange(N) < 5, 0.2, 0.0)[:, None, None, None]
    found = answer(VerdictTensor.from_ranked(ranked.astype(int), orders=("AB", "BA")))
    assert found.word == "early"
    assert [a.kind for a in found.actions] == ["label", "more_items"]
    label, more = found.actions
    assert label.text == "Give the right answer for all 24 items."
    assert "These are 24: add some." in label.why
    assert more.text.startswith("Audit")
    assert more.more is None or more.more > N


def test_labels_are_counted_for_the_most_accurate_judge_that_is_possible():
    steady = answer(replace(pairs(np.ones(80), K=3), gold=None)).actions[-1]
    assert "60 are enough if it is right on 90 of 100, 33 if on 95." in steady.why
    coin = noisy(0.5, R=4)
    unsteady = answer(replace(coin, gold=None)).actions[-1]
    assert "600 are enough if it is right on 80 of 100." in unsteady.why


def test_the_best_judge_has_to_lead_by_clusters_where_items_hang_together():
    N = 60
    good, poor = np.arange(N) % 6 != 0, np.arange(N) % 6 > 1
    poor[:12] = True
    good[:12] = True
    tensors = {"a": pairs(good), "b": pairs(poor)}
    assert best_of(tensors, Estimand()).name == "a"
    clusters = tuple(f"c{i % 6}" for i in range(N))
    together = {name: replace(t, clusters=clusters) for name, t in tensors.items()}
    assert best_of(together, Estimand()) is None


def test_a_price_counts_clusters_where_items_hang_together():
    alone = pairs(np.arange(100) < 66)
    together = replace(alone, clusters=tuple(f"c{i // 3}" for i in range(100)))
    for tensor in (alone, together):
        assert answer(tensor).word == "early"
    prices = [answer(tensor).actions[-1] for tensor in (alone, together)]
    assert prices[0].quality is None
    assert prices[0].more > 100
    assert prices[1].quality is not None


def test_the_headline_of_a_change_says_what_to_change_and_right_before_and_after():
    found = answer(one_bad_prompt(N=80, bad=0.05))
    assert found.word == "change"
    (drop,) = [a for a in found.actions if a.kind == "drop_prompts"]
    before, after = (share(x) for x in drop.right)
    assert found.headline == (
        f"Change it first: leave out prompt “p6”; right on {before} of 100 items like these, "
        f"then {after}."
    )
