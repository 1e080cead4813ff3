"""Coverage of intervals of scores, in short and in full."""

import pytest

from calibration.score_rates import LEAST, SEED, TRIALS, WORLDS, Setting, measure, settings
from support.coverage import plausible


@pytest.mark.parametrize("kind", ["ordinal", "numeric"])
@pytest.mark.parametrize("world", WORLDS)
def test_intervals_hold_in_short(world, kind):
    found = measure(Setting(world=world, dissimilarity=kind, items=20), trials=40, seed=5)
    low = {key: n for key, n in found.counts.items() if not plausible(n, 40, 0.93, 1.0)}
    assert low == {}


@pytest.mark.slow
@pytest.mark.parametrize("setting", settings(), ids=str)
def test_intervals_hold(setting):
    assert measure(setting, trials=TRIALS, seed=SEED).worst() >= LEAST
