"""Intervals cover where one of four is chosen, and where prompts cross two factors."""

import pytest

from calibration.several_rates import CHOOSING, CROSSING, choosing, crossing

LEAST = 0.92
MEASURES = [(choosing, world) for world in CHOOSING] + [(crossing, world) for world in CROSSING]


@pytest.mark.parametrize(("measure", "world"), MEASURES)
def test_short(measure, world):
    found = measure(world, studies=40, seed=1)
    assert min(found.values()) >= 0.8, found  # P(fewer than 32 of 40 | .93) = .001


@pytest.mark.slow
@pytest.mark.parametrize(("measure", "world"), MEASURES)
@pytest.mark.parametrize("items", [20, 50])
def test_coverage(measure, world, items):
    found = measure(world, studies=500, items=items)
    assert min(found.values()) >= LEAST, found
