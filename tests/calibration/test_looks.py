"""Studies that stop by looks decide wrongly as seldom as they say, with fewer calls.

Wrong passes and wrong fails are counted where the limit is the truth itself, which no rule can
tell from either side: anywhere else they are rarer.
"""

import pytest

from calibration import look_rates
from calibration.look_rates import ITEMS, SETTLED, WORLDS
from support.coverage import plausible

WRONG = 0.06
HELD = 0.93
SAVED = 0.25


@pytest.fixture(scope="module")
def campaigns():
    """Two hundred studies in each of eight worlds, of two sizes."""
    return {
        (items, world): look_rates.campaign(world, items, 200)
        for items in ITEMS
        for world in WORLDS
    }


def check(trials):
    n = len(trials.truth)
    for share in look_rates.wrong(trials):
        assert plausible(round(share * n), n, 0.0, WRONG), share


def test_looks_in_short():
    """Three worlds, few studies: gross errors of the rule show here."""
    found = [look_rates.campaign(world, 16, 25) for world in SETTLED[2:]]
    for trials in found:
        check(trials)
    saving = look_rates.saving(found)
    assert saving.depth < 0.75 * look_rates.LOOKS[-1]
    assert saving.right > saving.fixed[16] - 0.06


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("items", ITEMS)
def test_wrong_decisions_are_rare(campaigns, items, world):
    check(campaigns[items, world])


@pytest.mark.slow
def test_a_quarter_of_the_calls_is_saved_at_the_same_share_of_right_decisions(campaigns):
    settled = look_rates.saving([campaigns[n, world] for n in ITEMS for world in SETTLED])
    every = look_rates.saving(list(campaigns.values()))
    for saving in (settled, every):
        assert saving.saved >= SAVED
        assert saving.right > saving.fixed[16] - 0.02


@pytest.mark.slow
@pytest.mark.parametrize("half_width", [0.005, 0.01, 0.02])
def test_stopping_at_a_half_width_keeps_the_coverage(campaigns, half_width):
    for trials in campaigns.values():
        n = len(trials.truth)
        held = look_rates.covered(trials, half_width)
        assert plausible(round(held * n), n, HELD, 1.0), held
