"""Gates: one-sided bounds, for these items or for new ones, and never a pass without evidence."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta, t

from judgelaw.analysis.coverage import coverage
from judgelaw.analysis.depths import Declaration
from judgelaw.analysis.gating import Limit, check_limits, overall
from judgelaw.arrays import count_ranked
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import decompose
from judgelaw.uncertainty import call_interval, item_interval, prompt_projection
from judgelaw.uncertainty.bounds import deviation_bound
from judgelaw.worlds import World
from support.streams import drawn, of_codes, unanimous

WORLD = World.from_effects(prompt=0.02, order=0.005)


def maximum(quantity, value):
    return Limit(quantity=quantity, side="max", value=value)


def decide(tensor, *limits, **options):
    return check_limits({"a": tensor}, limits, **options)


def test_bounds_are_one_sided_t_bounds_of_the_call_error():
    tensor = drawn(world=WORLD)
    (found,) = decide(tensor, maximum("prompt", 0.1)).limits
    error = call_interval(tensor, "prompt")
    half = t.ppf(0.95, error.df) * error.se
    assert (found.lower, found.upper) == pytest.approx(
        (error.estimate - half, error.estimate + half)
    )
    assert found.verdict == "pass"
    assert "items and the prompt census fixed" in found.covers


def test_new_items_use_the_item_error():
    tensor = drawn(world=WORLD)
    (found,) = decide(tensor, maximum("prompt", 0.1), scope="new-items").limits
    error = item_interval(decompose(tensor).prompt, strata=tensor.strata)
    assert found.upper == pytest.approx(error.estimate + t.ppf(0.95, error.df) * error.se)


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


def test_false_passes_stay_below_the_level():
    """At a true component equal to the limit, a gate at .95 passes falsely in 5% at most."""
    passes = [
        decide(drawn(world=WORLD, items=30, repeats=4, seed=s), maximum("prompt", 0.02)).verdict
        for s in range(150)
    ]
    assert passes.count("pass") <= 16  # 99.5% binomial bound of 5% of 150
    assert passes.count("fail") <= 16


def test_several_limits_fail_together_if_one_does():
    assert overall(["pass", "inconclusive", "fail"]) == "fail"
    assert overall(["pass", "inconclusive"]) == "inconclusive"
    assert overall(["pass", "pass"]) == "pass"


def test_below_four_repeats_the_item_error_stands_in_and_says_so():
    (found,) = decide(drawn(repeats=3), maximum("prompt", 0.2)).limits
    assert found.verdict == "pass"
    assert "R = 3" in found.reason


def test_an_absent_facet_is_inconclusive_never_passed():
    (found,) = decide(drawn(prompts=1), maximum("prompt", 0.5)).limits
    assert found.verdict == "inconclusive"
    assert "design has one" in found.reason


def test_a_judge_without_any_variation_is_bounded_distribution_free():
    still = unanimous(items=200, repeats=8, vary_order=False)
    (wide,) = decide(still, maximum("prompt", 0.5)).limits
    assert wide.verdict == "pass"
    assert "distribution-free" in wide.reason
    (narrow,) = decide(unanimous(items=4, vary_order=False), maximum("prompt", 0.02)).limits
    assert narrow.verdict == "inconclusive"


def test_sampled_prompts_are_bounded_by_their_projection():
    tensor = drawn(world=WORLD, prompts=6)
    declared = Declaration(design="sampled")
    (found,) = decide(tensor, maximum("prompt", 0.5), declared=declared).limits
    error = prompt_projection(tensor).interval()
    assert found.upper == pytest.approx(error.estimate + t.ppf(0.95, error.df) * error.se)


def test_invalid_outputs_of_fixed_items_have_exact_binomial_bounds():
    tensor = drawn()
    bad, calls = int(tensor.counts[..., 3].sum()), int(tensor.counts.sum())
    (found,) = decide(tensor, maximum("invalid", 0.2)).limits
    assert found.upper == pytest.approx(beta.ppf(0.95, bad + 1, calls - bad))
    assert found.lower == pytest.approx(beta.ppf(0.05, bad, calls - bad + 1))


def test_no_invalid_output_is_not_a_rate_of_zero():
    still = unanimous(items=20)
    (fixed,) = decide(still, maximum("invalid", 0.01)).limits
    assert fixed.estimate == 0
    assert fixed.upper == pytest.approx(1 - 0.05 ** (1 / still.counts.sum()))
    assert fixed.verdict == "pass"
    (new,) = decide(still, maximum("invalid", 0.01), scope="new-items").limits
    assert new.upper == pytest.approx(1 - 0.05 ** (1 / 20))
    assert new.verdict == "inconclusive"


def test_invalid_rates_for_new_items_vary_with_the_items():
    codes = np.zeros((20, 2, 2, 4), dtype=int)
    codes[:2] = 3  # two items that always fail, eighteen that never do
    (fixed,) = decide(of_codes(codes), maximum("invalid", 0.15)).limits
    (new,) = decide(of_codes(codes), maximum("invalid", 0.15), scope="new-items").limits
    assert fixed.verdict == "pass"
    assert new.verdict == "inconclusive"


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


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ({"quantity": "colour", "side": "max", "value": 0.1}, "it takes call, prompt"),
        ({"quantity": "coverage", "side": "max", "value": 0.1}, "--min coverage"),
        ({"quantity": "prompt", "side": "min", "value": 0.1}, "--max prompt"),
        ({"quantity": "prompt", "side": "max", "value": 1.5}, "between 0 and 1"),
    ],
)
def test_limits_that_make_no_sense_are_refused(limit, words):
    with pytest.raises(InputError, match=words):
        Limit(**limit)


def test_a_gate_without_limits_is_refused():
    with pytest.raises(InputError, match="needs one"):
        decide(drawn())


def test_every_judge_meets_every_limit():
    tensors = {"a": drawn(), "b": replace(drawn(seed=1), judge="b")}
    found = check_limits(tensors, [maximum("call", 0.9), maximum("invalid", 0.5)])
    assert [(d.judge, d.quantity) for d in found.limits] == [
        ("a", "call"),
        ("a", "invalid"),
        ("b", "call"),
        ("b", "invalid"),
    ]


def test_invalid_outputs_of_new_items_have_stratified_one_sided_bounds():
    """Strata differ in their rates: the error is that within them, and 5% lie beyond each bound."""
    rng = np.random.default_rng(4)
    bad = rng.random((30, 2, 2, 4)) < np.where(np.arange(30) % 2, 0.6, 0.05)[:, None, None, None]
    tensor = of_codes(np.where(bad, 3, 0), strata=2)
    (found,) = decide(tensor, maximum("invalid", 0.5), scope="new-items").limits
    rates = bad.mean(axis=(1, 2, 3))
    error = item_interval(rates, strata=tensor.strata)
    assert error.se < 0.7 * item_interval(rates).se
    half = t.ppf(0.95, error.df) * error.se
    assert (found.lower, found.upper) == pytest.approx((rates.mean() - half, rates.mean() + half))


def test_the_bound_without_any_variation_is_one_sided():
    tensor = unanimous()
    (found,) = decide(tensor, maximum("prompt", 0.5)).limits
    bound = deviation_bound(tensor, "prompt", level=0.9)
    assert (found.lower, found.upper) == pytest.approx((bound.low, bound.high))


def test_one_short_cell_is_enough_for_the_item_error():
    tensor = drawn(world=WORLD, repeats=5)
    codes = tensor.ranked.copy()
    codes[0, 0, 0, 3:] = -1
    short = replace(tensor, ranked=codes, counts=count_ranked(codes, len(tensor.verdicts)))
    (found,) = decide(short, maximum("prompt", 0.1)).limits
    assert found.reason.startswith("R = 3: call error needs 4 repeats")


def test_three_drawn_prompts_are_projected_and_two_are_held_fixed():
    sampled = Declaration(design="sampled")
    for prompts, projected in ((2, False), (3, True)):
        tensor = drawn(world=WORLD, prompts=prompts, repeats=4)
        (found,) = decide(tensor, maximum("prompt", 0.1), declared=sampled).limits
        drawn_too = prompt_projection(tensor).interval() if projected else None
        exact = drawn_too or call_interval(tensor, "prompt", design="sampled")
        assert found.upper == pytest.approx(exact.at_level(0.9).high)
        assert exact.reason is None
        assert found.covers == exact.covers


def test_order_weights_reach_the_call_error():
    tensor = drawn(world=WORLD, repeats=4)
    weights = {tensor.orders[0]: 0.9, tensor.orders[1]: 0.1}
    declared = Declaration(order_weights=weights)
    (found,) = decide(tensor, maximum("prompt", 0.1), declared=declared).limits
    exact = call_interval(tensor, "prompt", order_weights=weights).at_level(0.9)
    assert (found.estimate, found.upper) == pytest.approx((exact.estimate, exact.high))
    assert found.upper != pytest.approx(call_interval(tensor, "prompt").at_level(0.9).high)
