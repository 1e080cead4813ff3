"""Rankings of judges: flags, order changes and the top place under item resampling."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from judgelaw.diagnose import (
    diagnose,
    match,
    ordering_finding as ordering_among,
    rank_stability,
    top_judge_finding,
)
from judgelaw.diagnose.family import settle
from judgelaw.diagnose.ranking import ordering_test, sign_flip_ps
from judgelaw.errors import InputError
from judgelaw.estimate import decompose
from judgelaw.streams import stream
from judgelaw.uncertainty import Resampling
from judgelaw.worlds import World
from support.streams import drawn, of_codes

NOISY = World.from_effects(base=(0.4, 0.3, 0.2, 0.1))
SHIFTED = World.from_effects(base=(0.8, 0.2, 0.0, 0.0), prompt=0.015)


def ordering_finding(found):
    """Judge the ordering by itself."""
    tests = settle({"ordering": ordering_test(found)})["ordering"]
    return ordering_among(found, tests["ordering"])


def judges(repeats=2, seed=0):
    """A noisy judge without prompt effect, and a quiet one with an effect."""
    return {
        "noisy": drawn(world=NOISY, items=60, prompts=6, repeats=repeats, seed=seed),
        "shifted": drawn(world=SHIFTED, items=60, prompts=6, repeats=repeats, seed=seed + 1),
    }


def test_correction_that_reverses_a_ranking_is_found():
    """At R = 2 the plug-in ranks the noisy judge first: that is call noise."""
    found = rank_stability(match(judges()), draws=400, seed=1)
    assert found.plugin == ("noisy", "shifted")
    assert found.corrected == ("shifted", "noisy")
    finding = ordering_finding(found)
    assert finding.verdict == "notice"
    assert "noisy > shifted" in finding.headline
    assert found.top_differs > 0.5
    estimates = decompose(judges()["noisy"]).macro()
    assert found.plugins["noisy"] == pytest.approx(float(estimates.plugin["prompt"]))


def test_rankings_that_agree_are_fine():
    quiet = {
        name: drawn(world=World.from_effects(base=(0.8, 0.1, 0.1, 0), order=x), seed=i)
        for i, (name, x) in enumerate({"small": 0.0, "large": 0.009}.items())
    }
    found = rank_stability(match(quiet), "order", draws=400, seed=1, threshold=0.5)
    assert found.corrected == found.plugin == ("large", "small")
    assert ordering_finding(found).verdict == "ok"
    assert top_judge_finding(found).verdict == "ok"


def test_judges_that_do_not_differ_are_not_separated():
    alike = {name: drawn(world=SHIFTED, prompts=6, seed=i) for i, name in enumerate("ab")}
    found = rank_stability(match(alike), draws=400, seed=1)
    finding = top_judge_finding(found)
    assert finding.verdict == "unknown"
    assert "not separated" in finding.headline
    assert "Do not name a worst judge" in finding.advice
    assert found.top_changes > 0.05


def test_judges_with_the_same_verdicts_are_tied():
    """Nobody leads, however the items are drawn again."""
    one = drawn(world=SHIFTED, prompts=6)
    found = rank_stability(match({"a": one, "b": replace(one, judge="b")}), draws=400, seed=1)
    assert found.top_changes == 1
    assert found.same_order == 0
    assert found.top_differs == 0
    assert found.in_words == "a = b"
    assert found.separated == ()
    assert "not separated" in top_judge_finding(found).headline
    assert ordering_finding(found).verdict == "ok"


def test_settled_judges_that_differ_on_one_item_are_not_separated():
    """Drawing the items again keeps or loses the item: that is no evidence of a difference."""
    codes = np.zeros((20, 3, 2, 4), dtype=int)
    flips = codes.copy()
    flips[0, 0] = 1
    found = rank_stability(match({"a": of_codes(flips), "b": of_codes(codes)}), draws=400, seed=1)
    assert found.estimates["a"] > found.estimates["b"]
    assert "not separated" in top_judge_finding(found).headline


def test_a_judge_that_leads_the_others_is_named_and_the_others_are_tied():
    base = (0.8, 0.2, 0.0, 0.0)
    trio = {
        name: drawn(world=World.from_effects(base=base, prompt=x), prompts=6, seed=i)
        for i, (name, x) in enumerate({"a": 0.002, "worst": 0.03, "b": 0.002}.items())
    }
    found = rank_stability(match(trio), draws=400, seed=1)
    assert {larger for larger, _ in found.separated} == {"worst"}
    finding = top_judge_finding(found)
    assert finding.verdict == "ok"
    assert finding.headline.startswith("worst has the largest prompt component")
    assert "1 of 20 audits" in finding.headline


def test_a_stratum_of_one_item_does_not_hinder():
    lone = {k: replace(t, strata=("lone", *t.strata[1:])) for k, t in judges(repeats=8).items()}
    found = rank_stability(match(lone), draws=400, seed=1)
    assert np.isnan(found.top_changes)
    assert found.separated == (("shifted", "noisy"),)


@pytest.mark.parametrize(("items", "told"), [(12, False), (200, True)])
def test_an_item_that_nobody_saw_speaks_against_a_difference(items, told):
    """One judge is mild on every item, the other never flips, or has not been seen to.

    Twelve differences of one sign are no accident of judges alike; but an item in twelve on which
    the other flips would turn the means around, and twelve items do not exclude it.
    """
    never = np.zeros((items, 3, 2, 4), dtype=int)
    mild = never.copy()
    mild[:, 0, :, :2] = 1
    found = rank_stability(
        match({"never": of_codes(never), "mild": of_codes(mild)}), draws=50, seed=1
    )
    assert found.estimates["mild"] > found.estimates["never"] == 0
    assert (found.separated == (("mild", "never"),)) == told


def test_sign_flips_have_the_p_value_of_all_of_them():
    """Ten differences have 1,024 sign patterns: count those that reach the sum."""
    d = stream(4, "differences").normal(0.5, 1, size=(10, 1))
    signs = np.array(list(product((-1, 1), repeat=10)))
    exact = (np.abs(signs @ d) >= abs(d.sum()) - 1e-12).mean()
    ps = [sign_flip_ps(d, stream(seed, "flips"), 9_999)[0] for seed in range(60)]
    assert 1 / np.mean(1 / np.array(ps)) == pytest.approx(exact, rel=0.15)


def test_an_absent_component_cannot_be_ranked():
    pair = {k: drawn(prompts=1, seed=i) for i, k in enumerate("ab")}
    found = rank_stability(match(pair), "prompt", draws=50, seed=1)
    assert top_judge_finding(found).verdict == "unknown"


def test_matching_keeps_common_items_and_the_common_depth():
    a, b = drawn(items=10, repeats=8), drawn(items=12, repeats=4, seed=2)
    found = match({"a": a, "b": b})
    assert found.items == a.items
    assert found.lost == {"a": 0, "b": 2}
    assert found.depth == 4
    assert {t.depth for t in found.tensors.values()} == {(4, 4)}
    assert found.differences["b"] == 2 * 3 * 2


def test_different_cells_and_no_common_items_are_refused():
    a = drawn()
    with pytest.raises(InputError, match="the same cells"):
        match({"a": a, "b": drawn(prompts=4)})
    with pytest.raises(InputError, match="no item in common"):
        match({"a": a, "b": replace(a, items=tuple(f"x{i}" for i in range(40)))})
    with pytest.raises(InputError, match="two or more"):
        match({"a": a})


def test_flags_and_changes_of_the_top_are_told_by_estimator():
    """The plug-in flags the noisy judge; the corrected top is held against itself."""
    found = rank_stability(match(judges()), draws=400, seed=1, threshold=0.02)
    above = {name for name, value in found.plugins.items() if value > 0.02}
    assert set(found.plugin_flagged) == above
    assert "noisy" in above
    assert "noisy" not in found.flagged
    assert found.top_changes < 0.05


def test_judges_are_matched_cell_by_cell_whatever_the_order_of_labels():
    one, two = judges().values()
    turned = two.select(prompts=two.prompts[::-1], orders=two.orders[::-1])
    matched = match({"a": one, "b": turned})
    assert matched.tensors["b"].prompts == one.prompts
    assert (matched.tensors["b"].counts == two.counts).all()


def test_only_judges_of_the_main_layer_are_ranked():
    tensors = {(layer, name): t for layer, (name, t) in zip("xy", judges().items(), strict=True)}
    found = diagnose(tensors, main="x", how=Resampling(draws=50, seed=0)).findings
    assert not [f for f in found if f.name in ("ordering", "top_judge")]
