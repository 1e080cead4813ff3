"""Repeats by item gain where noise is concentrated, and are left alone where it is even."""

import pytest

from calibration import repeat_rates
from calibration.repeat_rates import CONCENTRATED, EVEN


def test_the_gain_and_the_loss_in_short():
    gain = repeat_rates.worth("noise in one prompt", 4, 3)
    assert gain.chosen < 0.8
    assert gain.by_item == 1
    loss = repeat_rates.worth("rare noise", 4, 3)
    assert loss.always > 1.3, "even noise: taking the earlier dice for noise costs"
    assert (loss.chosen, loss.by_item) == (1, 0)


@pytest.mark.slow
@pytest.mark.parametrize("repeats", repeat_rates.EARLIER)
@pytest.mark.parametrize("world", CONCENTRATED)
def test_concentrated_noise_gains(world, repeats):
    assert repeat_rates.worth(world, repeats, 12).chosen < 0.8


@pytest.mark.slow
@pytest.mark.parametrize("repeats", repeat_rates.EARLIER)
@pytest.mark.parametrize("world", EVEN)
def test_even_noise_is_left_alone(world, repeats):
    found = repeat_rates.worth(world, repeats, 12)
    assert found.by_item <= 0.1
    assert found.chosen < 1.02
