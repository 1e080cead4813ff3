"""Gates: one-sided bounds, for these items or for new ones, and never a pass without evidence."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

import judgelaw as jl
from judgelaw.analysis import coverage
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import COMPONENTS, Estimand, decompose
from judgelaw.uncertainty import Limit, check_limits, infer, limits_of
from judgelaw.uncertainty.gating import overall
from judgelaw.worlds import World
from support import judges
from support.streams import drawn, of_codes, unanimous

WORLD = World.from_effects(prompt=0.02, order=0.005)


def maximum(quantity, value):
    return Limit(quantity=quantity, side="max", value=value)


def decide(tensor, *limits, **options):
    return check_limits({"a": tensor}, limits, **options)


def settled(items=50, prompts=6, orders=2, repeats=4):
    """A judge that says one thing: 2,400 calls, all alike."""
    return np.zeros((items, prompts, orders, repeats), dtype=int)


@pytest.mark.parametrize("scope", ["fixed", "new"])
def test_bounds_are_those_of_the_one_inference(scope):
    tensor = drawn(world=WORLD)
    (found,) = decide(tensor, maximum("prompt", 0.2), scope=scope).limits
    low, high = infer(tensor).bounds("prompt", 0.95, scope)
    assert (found.lower, found.upper) == (low, high)
    assert found.verdict == "pass"


def test_pass_fail_and_inconclusive():
    tensor = drawn(world=WORLD)
    estimate = float(decompose(tensor).prompt.mean())
    (middle,) = decide(tensor, maximum("prompt", estimate)).limits
    assert middle.lower < estimate < middle.upper
    assert middle.verdict == "inconclusive"
    assert "lies between the bounds" in middle.reason
    (above,) = decide(tensor, maximum("prompt", middle.lower - 1e-9)).limits
    (below,) = decide(tensor, maximum("prompt", middle.upper + 1e-9)).limits
    assert (above.verdict, below.verdict) == ("fail", "pass")


def test_several_limits_fail_together_if_one_does():
    assert overall(["pass", "inconclusive", "fail"]) == "fail"
    assert overall(["pass", "inconclusive"]) == "inconclusive"
    assert overall(["pass", "pass"]) == "pass"


def test_a_failure_is_adjusted_for_all_limits_and_judges_and_a_pass_is_not():
    tensors = {"a": drawn(world=WORLD), "b": drawn(world=WORLD, seed=1)}
    limits = [maximum("prompt", 0.2), maximum("call", 0.9), maximum("invalid", 0.5)]
    found = check_limits(tensors, limits, level=0.9)
    assert found.fail_level == pytest.approx(1 - 0.1 / 6)
    first = found.limits[0]
    inference = infer(tensors["a"])
    assert first.upper == inference.bounds("prompt", 0.9, "fixed")[1]
    assert first.lower == inference.bounds("prompt", found.fail_level, "fixed")[0]


def test_three_judges_at_five_true_limits_fail_no_more_often_than_stated():
    """Each limit is exactly the truth, so a failure is false: 5 in 100 may, 42 did."""
    pool = judges.pool("open, effects", 4, 2, seed=11)
    laws = pool.laws[:30]
    limits = limits_of(dict(zip(COMPONENTS, pool.truth[:30].mean(axis=0), strict=True)))
    rng = np.random.default_rng(12)
    fails = 0
    for _ in range(60):
        tensors = {name: judges.tensor(laws, 4, rng) for name in "abc"}
        fails += check_limits(tensors, limits).verdict == "fail"
    assert fails <= 9  # 99.9% binomial bound of 5% of 60


@pytest.mark.parametrize("repeats", [2, 3])
def test_below_four_repeats_the_gate_says_how_far_to_trust_it(repeats):
    (found,) = decide(drawn(repeats=repeats), maximum("prompt", 0.5)).limits
    assert found.verdict == "pass"
    assert f"R = {repeats}" in found.reason
    assert "conservative" not in found.reason


def test_an_absent_facet_is_inconclusive_never_passed():
    (found,) = decide(drawn(prompts=1), maximum("prompt", 0.5)).limits
    assert found.verdict == "inconclusive"
    assert "design has one" in found.reason


def test_calls_that_are_all_alike_pass_a_limit_that_they_can_show():
    (found,) = decide(of_codes(settled()), maximum("prompt", 0.02)).limits
    assert found.verdict == "pass"
    assert 0 < found.upper < 0.02


def test_one_call_in_2400_passes_no_limit_of_a_millionth():
    """Rounding gave an error of 5e-11, and a pass."""
    codes = settled()
    codes[0, 0, 0, 0] = 1
    (found,) = decide(of_codes(codes), maximum("prompt", 1e-6)).limits
    assert found.verdict == "inconclusive"
    assert found.upper > 1e-5


def test_a_deviating_call_never_helps():
    """The upper bound of every component grows with the first calls that differ."""
    codes = settled()
    bounds = []
    for deviating in range(4):
        codes[deviating, 0, 0, 0] = 1 if deviating else 0
        inference = infer(of_codes(codes))
        bounds.append([inference.bounds(c, 0.95, "fixed")[1] for c in ("call", "total")])
    assert (np.diff(bounds, axis=0) > 0).all()


def test_invalid_outputs_of_fixed_items_have_exact_binomial_bounds():
    tensor = drawn()
    bad, calls = int(tensor.counts[..., 3].sum()), int(tensor.counts.sum())
    (found,) = decide(tensor, maximum("invalid", 0.2)).limits
    assert found.upper == pytest.approx(beta.ppf(0.95, bad + 1, calls - bad))
    assert found.lower == pytest.approx(beta.ppf(0.05, bad, calls - bad + 1))


@pytest.mark.parametrize("scope", ["fixed", "new"])
def test_one_more_invalid_output_never_makes_a_gate_pass(scope):
    """0 of 2,400 was inconclusive and 1 of 2,400 passed."""
    uppers, codes = [], settled()
    for bad in range(6):
        if bad:
            codes[bad - 1, 0, 0, 0] = 3
        (found,) = decide(of_codes(codes), maximum("invalid", 0.02), scope=scope).limits
        uppers.append(found.upper)
    assert (np.diff(uppers) > 0).all()


def test_no_invalid_output_is_not_a_rate_of_zero():
    still = unanimous(items=20)
    (fixed,) = decide(still, maximum("invalid", 0.01)).limits
    assert fixed.estimate == 0
    assert fixed.upper == pytest.approx(1 - 0.05 ** (1 / still.counts.sum()))
    assert fixed.verdict == "pass"
    (new,) = decide(still, maximum("invalid", 0.01), scope="new").limits
    assert new.upper == pytest.approx(1 - 0.05 ** (1 / 20), rel=0.03)  # by draws
    assert new.verdict == "inconclusive"


def test_invalid_rates_for_new_items_vary_with_the_items():
    codes = np.zeros((20, 2, 2, 4), dtype=int)
    codes[:2] = 3  # two items that always fail, eighteen that never do
    (fixed,) = decide(of_codes(codes), maximum("invalid", 0.15)).limits
    (new,) = decide(of_codes(codes), maximum("invalid", 0.15), scope="new").limits
    assert fixed.verdict == "pass"
    assert new.verdict == "inconclusive"


def test_gold_is_a_least_share_of_right_verdicts():
    tensor = replace(of_codes(settled(items=30)), gold=("candidate_1",) * 27 + ("candidate_2",) * 3)
    right = Limit(quantity="gold", side="min", value=0.85)
    (fixed,) = decide(tensor, right).limits
    assert (fixed.estimate, fixed.verdict) == (pytest.approx(0.9), "pass")
    assert fixed.lower == pytest.approx(beta.ppf(0.05, 1296, 145))
    (new,) = decide(tensor, right, scope="new").limits
    assert new.verdict == "inconclusive"
    assert decide(tensor, replace(right, value=0.95)).verdict == "fail"
    with pytest.raises(NotIdentifiedError, match="no gold"):
        decide(replace(tensor, gold=None), right)


def test_coverage_is_a_fact():
    limit = Limit(quantity="coverage", side="min", value=0.9)
    assert decide(drawn(), limit, coverage={"a": 0.95}).verdict == "pass"
    assert decide(drawn(), limit, coverage={"a": 0.9}).verdict == "pass"
    assert decide(drawn(), limit, coverage={"a": 0.85}).verdict == "fail"
    with pytest.raises(NotIdentifiedError, match="coverage"):
        decide(drawn(), limit)


def test_coverage_counts_dropped_items_and_missing_calls():
    tensor = drawn(items=10, repeats=4)
    assert coverage(tensor) == 1
    codes = tensor.ranked.copy()
    codes[0, 0, 0] = -1  # an empty cell: the item is dropped
    codes[1, 0, 0, 3] = -1  # a missing call
    kept = of_codes(codes).complete("drop")
    assert len(kept.items) == 9
    assert coverage(kept) == pytest.approx((9 * 24 - 1) / (10 * 24))


def test_coverage_reads_a_field_and_no_sentence():
    tensor = drawn(items=10, repeats=4)
    assert coverage(replace(tensor, notes=("dropped 5 of 15 items",))) == 1
    assert coverage(replace(tensor, dropped=5)) == pytest.approx(10 / 15)


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"quantity": "colour", "side": "max", "value": 0.1}, "it takes call, prompt"),
        ({"quantity": "coverage", "side": "max", "value": 0.1}, "--min coverage"),
        ({"quantity": "prompt", "side": "min", "value": 0.1}, "--max prompt"),
        ({"quantity": "prompt", "side": "max", "value": 1.5}, "between 0 and 1"),
        ({"quantity": "prompt", "side": "max", "value": float("nan")}, "between 0 and 1"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limit, words):
    with pytest.raises(InputError, match=words):
        Limit(**limit)


@pytest.mark.parametrize(("value", "verdict"), [(0.0, "inconclusive"), (1.0, "pass")])
def test_limits_of_nothing_and_of_everything_have_an_answer(value, verdict):
    assert decide(of_codes(settled(items=5)), maximum("prompt", value)).verdict == verdict


def test_a_gate_without_limits_or_judges_is_refused():
    with pytest.raises(InputError, match="needs one"):
        decide(drawn())
    with pytest.raises(InputError, match="no judge"):
        check_limits({}, [maximum("prompt", 0.1)])


def test_every_judge_meets_every_limit():
    tensors = {"a": drawn(), "b": replace(drawn(seed=1), judge="b")}
    found = check_limits(tensors, [maximum("call", 0.9), maximum("invalid", 0.5)])
    assert [(d.judge, d.quantity) for d in found.limits] == [
        ("a", "call"),
        ("a", "invalid"),
        ("b", "call"),
        ("b", "invalid"),
    ]


def test_sampled_prompts_need_three_and_cover_their_drawing():
    two = drawn(world=WORLD, prompts=2)
    (refused,) = decide(two, maximum("prompt", 0.9), estimand=Estimand(design="sampled")).limits
    assert refused.verdict == "inconclusive"
    assert "fewer than 3 prompts" in refused.reason
    six = drawn(world=WORLD, prompts=6)
    (census,) = decide(six, maximum("prompt", 0.9)).limits
    (sampled,) = decide(six, maximum("prompt", 0.9), estimand=Estimand(design="sampled")).limits
    assert sampled.upper > 2 * census.upper
    assert "drawing of prompts" in sampled.covers


def test_order_weights_reach_the_bounds():
    tensor = drawn(world=WORLD, repeats=4)
    weights = {tensor.orders[0]: 0.9, tensor.orders[1]: 0.1}
    (found,) = decide(
        tensor, maximum("prompt", 0.1), estimand=Estimand(order_weights=weights)
    ).limits
    exact = infer(tensor, Estimand(order_weights=weights))
    assert found.estimate == pytest.approx(exact.estimate("prompt"))
    assert found.upper == exact.bounds("prompt", 0.95, "fixed")[1]
    assert found.upper != infer(tensor).bounds("prompt", 0.95, "fixed")[1]


def test_one_item_decides_for_itself_and_for_no_other():
    tensor = drawn(world=WORLD, items=1)
    assert decide(tensor, maximum("prompt", 0.9)).verdict == "pass"
    (new,) = decide(tensor, maximum("prompt", 0.9), scope="new").limits
    assert new.verdict == "inconclusive"
    assert "one item says nothing about other items" in new.reason


def test_strict_supposes_an_unseen_item_whatever_was_seen():
    tensor = drawn(world=WORLD, items=40)
    usual, strict = (
        decide(tensor, maximum("prompt", 0.9), scope="new", strict=s).limits[0].upper
        for s in (False, True)
    )
    assert strict > usual


def test_letters_under_several_orders_are_refused_until_they_are_declared(tmp_path):
    """A judge that takes the answer shown first in 75% of calls looked steady."""
    rng = np.random.default_rng(3)
    rows = ["judge,item,prompt,order,repeat,verdict"] + [
        f"j,i{i},p,{order},{r},{'A' if rng.random() < 0.75 else 'B'}"
        for i in range(20)
        for order in ("AB", "BA")
        for r in range(4)
    ]
    table = tmp_path / "calls.csv"
    table.write_text("\n".join(rows))
    with pytest.raises(InputError, match="letters A, B"):
        jl.gate(table, {"order": 0.05})
    declared = jl.VerdictTensor.from_table(table, verdicts=["A", "B"])
    assert jl.gate(declared, {"order": 0.5}).verdict == "pass"


def test_the_front_door_takes_what_holds_calls():
    tensor = replace(drawn(world=WORLD), judge="one")
    by_tensor = jl.gate(tensor, {"prompt": 0.2, "invalid": 0.5})
    assert [d.judge for d in by_tensor.limits] == ["one", "one"]
    by_name = jl.gate({"x": tensor, "y": tensor}, {"prompt": 0.2}, judge="y")
    assert [d.judge for d in by_name.limits] == ["y"]
    with pytest.raises(InputError, match="no judge is called 'z'"):
        jl.gate({"x": tensor}, {"prompt": 0.2}, judge="z")
    with pytest.raises(InputError, match="no calls"):
        jl.gate({}, {"prompt": 0.2})
    assert len(repr(by_tensor)) < 3000
    assert by_tensor.to_json()["limits"][0]["verdict"] == "pass"
    assert list(by_tensor.to_frame()["quantity"]) == ["prompt", "invalid"]
    assert "<table" in by_tensor._repr_html_()
