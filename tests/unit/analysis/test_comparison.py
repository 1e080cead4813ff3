"""Comparisons: paired differences against the estimators, bands and exact call errors."""

import pytest

from judgelaw.analysis.comparison import compare
from judgelaw.estimate import COMPONENTS, decompose
from judgelaw.uncertainty import call_errors, item_bands, judge_difference
from judgelaw.worlds import World
from support.streams import drawn, unanimous

A = drawn(world=World.from_effects(order=0.02, item_spread=0.2), repeats=8)
B = drawn(world=World.from_effects(item_spread=0.2), repeats=4, seed=9)


def test_differences_are_paired_and_at_the_common_depth():
    found = compare({"a": A, "b": B}, draws=300, seed=2)
    assert found.depth == 4
    short = A.prefix(4)
    gap = decompose(short).order - decompose(B).order
    bands = item_bands(gap, strata=A.strata, draws=300, seed=2)
    (order,) = [d for d in found.differences if d.component == "order"]
    assert order.estimate == pytest.approx(gap.mean())
    assert order.band == pytest.approx((bands.low[0], bands.high[0]))
    exact = judge_difference(call_errors(short), call_errors(B), "order")
    assert order.call_interval == pytest.approx((exact.low, exact.high))
    assert order.settled


def test_every_pair_and_component_is_there():
    c = drawn(seed=3, repeats=4)
    found = compare({"a": A, "b": B, "c": c}, draws=100)
    assert {(d.a, d.b) for d in found.differences} == {("a", "b"), ("a", "c"), ("b", "c")}
    assert len(found.differences) == 3 * len(COMPONENTS)
    assert set(found.rankings) == set(COMPONENTS)


def test_two_runs_of_one_judge_do_not_differ():
    world = World.from_effects(order=0.02, item_spread=0.2)
    again = compare({"x": drawn(world=world, seed=1), "y": drawn(world=world, seed=2)}, draws=300)
    assert not any(d.settled for d in again.differences)


def test_absent_facets_are_left_out():
    found = compare({"a": drawn(prompts=1), "b": drawn(prompts=1, seed=1)}, draws=100)
    assert {d.component for d in found.differences} == {"call", "order", "total"}


def test_identical_judges_get_no_band_of_width_zero():
    found = compare({"a": unanimous(), "b": unanimous()}, draws=100)
    assert all(d.band is None and d.call_interval is None for d in found.differences)
