"""Probes: few false calls whatever the dice, and intervals of planted shifts that hold."""

import pytest

from calibration.probe_rates import SHIFTS, WORLDS, coverage, false_calls, reachable


@pytest.mark.parametrize("world", ["open, effects", "rare noise"])
def test_short(world):
    ours, _ = false_calls(world, studies=20, N=20, probes=3)
    asked, new = coverage(world, 0.1, studies=40, N=20)
    assert ours <= 0.2  # P(more than 4 of 20 | .05) = .003
    assert min(asked, new) >= 0.85  # P(fewer than 34 of 40 | .95) = .003


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_false_calls(world):
    ours, _ = false_calls(world, studies=400)
    assert ours <= 0.07  # .05 and two standard errors


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("wanted", SHIFTS)
def test_coverage(world, wanted):
    if not reachable(world, wanted):
        pytest.skip("this world cannot be shifted so far: most answers have nothing to gain")
    asked, new = coverage(world, wanted, studies=400)
    assert min(asked, new) >= 0.93
