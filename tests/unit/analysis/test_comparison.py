"""Comparisons: paired differences against the estimators, bands and exact call errors."""

import pytest

from judgelaw.analysis import compare
from judgelaw.estimate import COMPONENTS, decompose
from judgelaw.uncertainty import (
    Estimand,
    infer,
    item_bands,
    item_difference,
    judge_difference,
)
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
    a, b = (infer(t) for t in (short, B))
    exact = judge_difference(a, b, "order")
    assert order.call_interval == pytest.approx((exact.low, exact.high))
    # Five components are looked at together, each on two sides.
    together = item_difference(a.items, b.items, "order", p=1 - 0.025 / 5)
    assert order.simultaneous == pytest.approx((together.low, together.high))
    here = judge_difference(a, b, "order", p=1 - 0.025 / 5)
    assert order.call_simultaneous == pytest.approx((here.low, here.high))
    assert here.low < exact.low


def test_a_large_difference_is_settled():
    worlds = (World.from_effects(order=0.07), World.from_effects())
    judges = {
        name: world.tensor(items=60, prompts=2, orders=2, repeats=4, seed=seed)
        for seed, (name, world) in enumerate(zip("ab", worlds, strict=True))
    }
    assert "order" in {d.component for d in compare(judges, draws=100).differences if d.settled}


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
    assert all(d.band is None for d in found.differences)
    for d in found.differences:
        for low, high in (d.call_interval, d.simultaneous, d.call_simultaneous):
            assert low < 0 < high
        assert not d.settled
        assert not d.settled_here


@pytest.mark.parametrize("items", [12, 60])
def test_judges_of_one_law_are_told_apart_no_more_often_than_promised(items):
    """Seeded: 120 pairs of judges that do not differ; one band or another would in a third."""
    world = World.from_effects(base=[0.5, 0.3, 0.15, 0.05], order=0.02, item_spread=0.2)
    claims = banded = 0
    for seed in range(120):
        x, y = (
            world.tensor(items=items, prompts=3, orders=2, repeats=4, seed=2 * seed + judge)
            for judge in range(2)
        )
        found = compare({"x": x, "y": y}, draws=100).differences
        claims += any(d.settled for d in found)
        banded += any(d.band and not d.band[0] <= 0 <= d.band[1] for d in found)
    # Ten or more of 120 have a chance of 1 in 30 at a true rate of 5%.
    assert claims < 10
    assert banded > 20


def test_plugin_differences_have_the_sign_of_the_corrected_ones():
    found = compare({"a": A, "b": B}, draws=50)
    (order,) = [d for d in found.differences if d.component == "order"]
    plugin = decompose(A.prefix(4)).plugin["order"] - decompose(B).plugin["order"]
    assert order.plugin == pytest.approx(plugin.mean())
    assert order.plugin > 0


def test_rankings_are_weighted_like_the_estimates():
    weights = {A.orders[0]: 0.9, A.orders[1]: 0.1}
    declared = Estimand(order_weights=weights)
    found = compare({"a": A, "b": B}, draws=50, declared=declared)
    for name in COMPONENTS:
        estimates = {judge: found.estimates[judge][name] for judge in "ab"}
        assert found.rankings[name].estimates == pytest.approx(estimates)
