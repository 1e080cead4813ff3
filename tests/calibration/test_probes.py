"""Probes: few false calls whatever the dice, and intervals of planted shifts that hold."""

import pytest

from calibration.probe_rates import SHIFTS, STUDIES, WORLDS, coverage, false_calls, reachable
from support.coverage import plausible

ONE_IN_A_HUNDRED = 0.01
"""With 2,000 audits a true rate of .05 shows as .061 or less in all but one run of a hundred."""


@pytest.mark.parametrize("world", ["open, effects", "rare noise"])
def test_short(world):
    ours, _ = false_calls(world, studies=60, probes=3)
    assert plausible(ours, 60, 0, 0.05, ONE_IN_A_HUNDRED)
    for count in coverage(world, 0.1, studies=60):
        assert plausible(count, 60, 0.93, 0.98, ONE_IN_A_HUNDRED)


@pytest.mark.slow
@pytest.mark.timeout(1_800)  # two minutes of processor time in the open world
@pytest.mark.parametrize("world", WORLDS)
def test_false_calls(world):
    ours, _ = false_calls(world, studies=STUDIES)
    print(f"{world}: {ours / STUDIES:.4f}")
    assert plausible(ours, STUDIES, 0, 0.05, ONE_IN_A_HUNDRED)


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("wanted", SHIFTS)
def test_coverage(world, wanted):
    """.93 to .98 without any allowance: 2,000 audits leave a standard error of .005."""
    if not reachable(world, wanted):
        pytest.skip("this world cannot be shifted so far: most answers have nothing to gain")
    for count in coverage(world, wanted, studies=STUDIES):
        print(f"{world}, {wanted}: {count / STUDIES:.4f}")
        assert 0.93 <= count / STUDIES <= 0.98
