"""Panels: the rule, what is tried, what may not be said, and the words."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.analysis import decide_panels, panel_of
from judgelaw.analysis.panels import MOST_TRIED, panels_of
from judgelaw.errors import InputError
from judgelaw.estimate import CENSUS

VERDICTS = ("candidate_1", "candidate_2", "tie", "invalid")


def judge(right, *, repeats=3, orders=1, gold=True, seed=0):
    """A judge that is right on each item with the given chance, in every call independently."""
    rng = np.random.default_rng(seed)
    N = len(right)
    laws = np.zeros((N, 1, orders, 4))
    first = np.arange(N) % 2
    laws[np.arange(N), 0, :, first] = np.asarray(right)[:, None]
    laws[np.arange(N), 0, :, 1 - first] = 1 - np.asarray(right)[:, None]
    return jl.VerdictTensor.from_counts(
        rng.multinomial(repeats, laws), gold=[VERDICTS[c] for c in first] if gold else None
    )


def independent(*means, items=200, **given):
    rng = np.random.default_rng(1)
    return {
        name: judge(rng.beta(0.8 * m, 0.8 * (1 - m), items), seed=j, **given)
        for j, (name, m) in enumerate(zip("abcde", means, strict=False))
    }


def settled(*rows, **given):
    """Judges that are right or wrong on an item for good."""
    return {
        name: judge(row, seed=j, **given)
        for j, (name, row) in enumerate(zip("abc", rows, strict=True))
    }


def test_independent_judges_that_are_alike_are_combined():
    found = jl.panel(independent(0.85, 0.85, 0.85, items=400))
    assert found.word == "combine"
    (action,) = found.panel.actions
    assert action.kind == "combine"
    assert set(action.judges) == set("abc")
    assert found.title.startswith("Combine")
    S = found.panel.panel
    assert S.combine
    assert S.right.estimate > found.panel.best.right.estimate + 0.05
    assert 2 < S.calls_in_turn < 3


def test_three_calls_of_one_noisy_judge_under_three_names_are_no_panel():
    """Clones that flip: their majority gains, and so do three calls of one."""
    rng = np.random.default_rng(2)
    p = rng.beta(15, 5, 300)
    clones = {name: judge(p, seed=j, repeats=4) for j, name in enumerate("abc")}
    found = jl.panel(clones)
    S = found.panel.panel
    assert S.gain.estimate > 0.05
    assert not S.combine
    assert found.word != "combine"


def test_a_dominant_judge_is_kept_and_a_jury_that_outvotes_it_is_left():
    found = jl.panel(independent(0.95, 0.6, 0.55, 0.5, 0.5, items=300))
    assert found.word == "alone"
    alone, keep = found.panel.actions
    assert (alone.kind, alone.judges) == ("alone", ("a",))
    assert keep.kind == "keep_one"
    assert keep.loses < 0.05
    assert "Ask a alone" in found.headline


def test_every_claim_that_is_said_is_one_action_and_nothing_is_said_of_few_items():
    found = jl.panel(independent(0.85, 0.85, 0.85, items=12))
    assert found.word == "early"
    assert [a.kind for a in found.panel.actions] == ["more_items"]


def test_without_right_answers_nothing_is_advised():
    found = jl.panel(independent(0.85, 0.85, 0.85, gold=False))
    assert found.word == "unchecked"
    f = found.panel
    assert f.actions == ()
    assert f.best is None
    assert f.together is None
    assert all(S.right is None and S.combine is None for S in f.panels)
    assert f.changes["another_judge"].estimate > 0
    assert 0.5 < f.at_most.high < 1


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_without_right_answers_holds_for_any_gold(seed):
    """(right_j + right_l) / 2 <= 1 - E d / 2, whatever is right: here for items as measured."""
    rng = np.random.default_rng(seed)
    laws = rng.dirichlet([1, 1, 0.3, 0.3], size=(3, 40, 1, 1))
    judges = {f"j{j}": rng.multinomial(6, laws[j]) for j in range(3)}
    bound = decide_panels(
        {name: jl.VerdictTensor.from_counts(n) for name, n in judges.items()}, CENSUS
    ).at_most.estimate
    credit = {"candidate_1": [1, 0, 0.5, 0], "candidate_2": [0, 1, 0.5, 0], "tie": [0.5, 0.5, 1, 0]}
    best = np.mean(
        [
            max(np.mean([n[i, 0, 0] @ c / 6 for n in judges.values()]) for c in credit.values())
            for i in range(40)
        ]
    )
    assert best <= bound + 1e-9


def test_one_call_a_cell_cannot_tell_a_panel_from_as_many_calls():
    found = jl.panel(independent(0.85, 0.85, 0.85, repeats=1))
    f = found.panel
    assert f.reason == "calls"
    assert [S.combine for S in f.panels] == [None]
    assert f.components["judge"] is None
    assert f.changes["ask_again"] is None
    assert f.changes["another_judge"] is not None
    assert f.panels[0].changes is None
    assert found.word in {"early", "alone"}


def test_two_judges_have_no_majority_but_a_person():
    found = jl.panel(independent(0.85, 0.8))
    f = found.panel
    assert f.panels == ()
    assert [way.judges for way in f.people] == [("a", "a"), ("a", "b")]
    assert f.actions[0].kind in {"more_items", "alone"}
    assert 0 < f.people[1].sent.estimate < 0.5
    assert f.people[1].right.estimate > f.best.right.estimate


def test_numbers_of_settled_judges_are_those_counted_by_hand():
    N = 40
    a, b, c = np.ones(N), np.ones(N), np.ones(N)
    a[:8], b[4:12], c[6:14] = 0, 0, 0  # all three wrong on items 6 and 7
    f = jl.panel(settled(a, b, c)).panel
    majority = ((a + b + c) >= 2).mean()
    assert f.panels[0].right.estimate == pytest.approx(majority)
    assert f.together.rate.estimate == pytest.approx(2 / N)
    assert f.together.independent == pytest.approx(0.2**3)
    differ = [(x != y).mean() for x, y in combinations((a, b, c), 2)]
    assert f.changes["another_judge"].estimate == pytest.approx(np.mean(differ))
    assert f.components["total"].estimate == pytest.approx(f.components["judge"].estimate)
    assert f.changes["ask_again"].estimate == 0


def test_another_judge_is_the_total_and_the_judge_component():
    f = jl.panel(independent(0.8, 0.7, 0.9, orders=2)).panel
    own = f.components["total"].estimate - f.components["judge"].estimate
    assert f.changes["another_judge"].estimate == pytest.approx(
        own + f.components["judge"].estimate * 3 / 2
    )


def test_five_judges_try_every_panel_and_many_try_eleven_at_most():
    tried, possible = panels_of(list("abcde"))
    assert len(tried) == possible == 11
    tried, possible = panels_of([f"j{i}" for i in range(8)])
    assert possible == 112
    assert len(tried) == 8 <= MOST_TRIED
    tried, possible = panels_of([f"j{i}" for i in range(8)], of=[("j1", "j3", "j5")])
    assert tried == (("j1", "j3", "j5"),)
    with pytest.raises(InputError, match="at most 11"):
        panels_of([f"j{i}" for i in range(8)], size=[3])
    with pytest.raises(InputError, match="3 judges or 5"):
        panels_of(list("abcde"), size=[4])


def test_half_of_the_error_goes_to_the_panel_of_all():
    f = jl.panel(independent(0.85, 0.85, 0.85, 0.8, 0.8, items=40, repeats=5)).panel
    levels = {S.judges: S.level for S in f.panels}
    assert levels["a", "b", "c", "d", "e"] == pytest.approx(1 - 0.0125)
    assert {round(p, 6) for S, p in levels.items() if len(S) == 3} == {round(1 - 0.00125, 6)}
    assert sum(1 - p for p in levels.values()) == pytest.approx(0.025)
    only = jl.panel(independent(0.85, 0.85, 0.85, items=40)).panel
    assert [S.level for S in only.panels] == [0.975]


@pytest.mark.parametrize("ties", ["random", "tie", "first"])
def test_three_tie_rules(ties):
    """Three judges that all differ: one says each verdict, for good."""
    counts = np.zeros((3, 20, 1, 1, 4), dtype=int)
    for j, verdict in enumerate((0, 1, 2)):
        counts[j, ..., verdict] = 3
    tensors = {
        name: jl.VerdictTensor.from_counts(
            counts[j], gold=["candidate_2"] * 10 + ["candidate_1"] * 10
        )
        for j, name in enumerate("abc")
    }
    right = jl.panel(tensors, ties=ties).panel.panels[0].right.estimate
    assert right == pytest.approx({"random": 0.5, "tie": 0.5, "first": 0.5}[ties])
    changes = jl.panel(tensors, ties=ties).panel.panels[0].changes.estimate
    assert changes == pytest.approx({"random": 2 / 3, "tie": 0, "first": 0}[ties])


def test_judges_are_matched_by_item_and_keep_their_own_cells():
    judges = independent(0.85, 0.8, 0.82, items=60)
    judges["b"] = judges["b"].select(items=judges["b"].items[10:])
    judges["c"] = independent(0.8, 0.8, 0.82, items=60, orders=2)["c"]
    f = jl.panel(judges).panel
    assert f.items == 50
    assert f.lost == {"a": 10, "b": 0, "c": 10}


def test_right_answers_that_contradict_each_other_are_refused():
    judges = independent(0.85, 0.8, items=10)
    judges["b"] = replace(judges["b"], gold=("candidate_2",) * 10)
    with pytest.raises(InputError, match="one right answer"):
        jl.panel(judges)


def test_scores_and_single_judges_are_refused():
    judges = independent(0.85, 0.8, items=10)
    with pytest.raises(InputError, match="two or more"):
        jl.panel({"a": judges["a"]})
    scored = {
        name: jl.VerdictTensor.from_counts(
            np.ones((4, 1, 1, 3), dtype=int), verdicts=["1", "2", "3"]
        ).on_scale([1, 2, 3])
        for name in "ab"
    }
    with pytest.raises(InputError, match="scores"):
        jl.panel(scored)
    with pytest.raises(InputError, match="no judge is called 'x'"):
        jl.panel(judges, of=["a", "x"])


def test_the_document_has_the_panel_beside_the_judges():
    found = jl.panel(independent(0.85, 0.85, 0.85, orders=2, items=60))
    document = found.to_json()
    assert document["schema"] == "judgelaw.panel/1"
    assert set(document["judges"]) == set("abc")
    assert document["judges"]["a"]["answer"]["right"]["estimate"] > 0.5
    part = document["panel"]
    assert {"components", "changes", "panels", "actions"} <= set(part)
    assert list(part["components"]) == ["call", "prompt", "order", "interaction", "judge", "total"]
    assert part["components"]["prompt"] is None
    assert list(part["changes"])[-1] == "another_judge"
    groups = {row.group for row in found.quantities}
    assert groups == {"components", "changes", "panels", "together", "people"}
    assert len(found.to_frame()) == len(found.quantities)


def test_prices_are_of_an_item():
    prices = {"a": 0.001, "b": 0.002, "c": 0.003}
    f = panel_of(independent(0.85, 0.85, 0.85), prices=prices).panel
    assert f.panels[0].price == pytest.approx(0.006)
    assert f.best.price == pytest.approx(prices[f.best.judge])
    many = next(x for x in f.as_many if x.calls == 3)
    assert many.price == pytest.approx(3 * prices[f.best.judge])
