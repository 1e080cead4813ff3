"""Looks: what is decided at each, what is refused, and what is out of reach."""

from dataclasses import replace

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.decide import StopRule, best_case, foresee_stop, look, outlook_from_pilot
from judgelaw.uncertainty import Limit, check_limits
from support import judges

EVEN = jl.VerdictTensor.from_laws(np.full((40, 6, 2, 4), 0.25), repeats=16, seed=1)


def rule(**fields):
    return StopRule(**{"component": "prompt", "looks": (4, 8, 16), **fields})


def test_looks_stop_when_decided():
    found = look(rule(limit=0.3), EVEN, depth=4)
    assert (found.action, found.verdict, found.next_depth) == ("stop", "pass", None)
    assert "prompt is below 0.3" in found.reason
    assert (found.fail_level, found.pass_level) == pytest.approx((0.996875, 0.9978125))


def test_a_look_is_the_gate_of_its_own_prefix_at_the_levels_that_are_left():
    found = look(rule(limit=0.3), EVEN, depth=8)
    limit = [Limit(quantity="prompt", side="max", value=0.3)]
    looked = replace(EVEN.prefix(8), looks=(0.25, 0.5))
    (gate,) = check_limits({"judge": looked}, limit).limits
    assert (found.lower, found.upper) == (gate.lower, gate.upper)
    assert (found.fail_level, found.pass_level) == (gate.fail_level, gate.level)
    (other,) = check_limits({"judge": EVEN.prefix(8)}, limit).limits
    assert other.upper < gate.upper


def test_looks_go_on_while_undecided_and_end_at_the_last():
    near = rule(limit=0.0)
    first = look(near, EVEN, depth=4)
    assert (first.action, first.next_depth) == ("continue", 8)
    assert "goes on to 8 repeats" in first.reason
    last = look(near, EVEN, depth=16)
    assert (last.action, last.next_depth, last.verdict) == ("exhausted", None, "inconclusive")
    assert "no look is left" in last.reason


def test_a_large_component_fails_at_the_first_look():
    laws = np.zeros((20, 4, 2, 4))
    laws[:, :2, :, 0], laws[:, 2:, :, 1] = 1.0, 1.0
    found = look(rule(limit=0.02), jl.VerdictTensor.from_laws(laws, repeats=4, seed=1), depth=4)
    assert (found.action, found.verdict) == ("stop", "fail")
    assert "above 0.02: at least" in found.reason


def test_a_half_width_needs_no_correction():
    narrow = rule(half_width=0.5)
    found = look(narrow, EVEN, depth=4)
    assert (found.action, found.verdict) == ("stop", "reached")
    assert (found.fail_level, found.pass_level) == (0.975, 0.975)
    assert narrow.spends(16) == ()
    assert look(rule(half_width=1e-6), EVEN, depth=4).action == "continue"


def test_a_component_that_is_not_there_goes_on_with_the_reason():
    one = EVEN.select(orders=EVEN.orders[:1])
    found = look(rule(component="order", limit=0.1), one, depth=4)
    assert found.verdict == "inconclusive"
    assert "one level" in found.reason or "order" in found.reason


@pytest.mark.parametrize("looks", [(), (8, 4), (2, 4), (4, 4)])
def test_looks_must_be_declared_in_order_and_deep_enough(looks):
    with pytest.raises(jl.InputError, match="looks are at growing repeats"):
        rule(limit=0.02, looks=looks)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({}, "one of them"),
        ({"limit": 0.02, "half_width": 0.01}, "one of them"),
        ({"limit": 0.02, "component": "dice"}, "no component"),
        ({"limit": 0.02, "alpha": 1.5}, "between 0 and 1"),
        ({"limit": float("nan")}, "limit"),
        ({"limit": 0.02, "looks": (4.5, 8)}, "depth = 4.5"),
    ],
)
def test_impossible_rules_are_refused(fields, words):
    with pytest.raises(jl.InputError, match=words):
        rule(**fields)


def test_undeclared_looks_are_refused():
    with pytest.raises(jl.InputError, match="not declared"):
        look(rule(limit=0.3), EVEN, depth=6)


def test_more_items_bring_smaller_limits_into_reach():
    few, many = (best_case(rule(limit=0.02), EVEN.select(items=EVEN.items[:n]))[1] for n in (4, 40))
    assert 0 < many < few < 0.002


def test_a_forecast_of_looks_knows_a_limit_that_is_too_near():
    pool = judges.pool("open, effects", 4, 2, seed=3)
    laws = pool.laws[:30]
    outlook = outlook_from_pilot(judges.counts(laws, 4, np.random.default_rng(1)), studies=40)
    truth = float(pool.truth[:30, 1].mean())
    far = foresee_stop(outlook, rule(limit=6 * truth, looks=(4, 8)), items=30)
    assert far.passed > 0.9
    assert far.decided[8] >= far.decided[4] > 0.5
    assert 4 <= far.repeats <= 8
    assert not far.hopeless
    hopeless = foresee_stop(outlook, rule(half_width=1e-5, looks=(4, 8)), items=30)
    assert hopeless.hopeless
    assert hopeless.repeats == 8
