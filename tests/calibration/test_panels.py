"""What is said about panels is false in at most 5% of analyses, in worlds whose truth is known."""

import pytest
from scipy.stats import binom

from calibration.panel_rates import rates_of
from support.panel_worlds import WORLDS, truth_of

_SURE = 0.999


def test_the_worlds_are_what_they_are_called():
    """Each edge is on the side where a claim would be false."""
    edge = truth_of("gain at the edge")
    assert max(edge.panels.values()) - edge.one.max() == pytest.approx(0.05, abs=0.006)
    assert truth_of("clones that flip").combine(("j0", "j1", "j2")) is False
    assert truth_of("three alike, independent").combine(("j0", "j1", "j2"))
    assert truth_of("one dominant").keep_one([("j0", "j1", "j2")])
    assert not truth_of("coins").combine(("j0", "j1", "j2"))


@pytest.mark.parametrize("name", ["clones that flip", "one dominant", "coins"])
def test_few_sets_show_no_more_false_claims_than_five_of_a_hundred(name):
    found = rates_of(name, items=40, repeats=3, sets=12)
    assert found.false["any"] <= binom.ppf(_SURE, found.sets, 0.05)


@pytest.mark.slow
@pytest.mark.parametrize("items", [50, 150])
@pytest.mark.parametrize("name", WORLDS)
def test_false_claims_stay_below_five_of_a_hundred(name, items):
    found = rates_of(name, items=items, repeats=3, sets=200)
    assert found.false["any"] <= binom.ppf(_SURE, found.sets, 0.05)
    assert found.misses <= binom.ppf(_SURE, found.intervals, 0.065)


@pytest.mark.slow
def test_a_panel_that_is_worth_it_is_found():
    """Three alike and independent, right on 85 of 100 each."""
    found = rates_of("three alike, independent", items=150, repeats=3, sets=100)
    assert found.said["combine"] >= binom.ppf(1 - _SURE, found.sets, 0.6)
