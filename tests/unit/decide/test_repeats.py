"""Repeats by item: where the noise is, where it is even, and what is refused."""

from itertools import product

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.decide import choose_repeats
from judgelaw.decide.repeats import _Noise, variance
from judgelaw.estimate import Estimand
from judgelaw.streams import stream
from support import judges


def calls(world, items=40, repeats=4, seed=1):
    pool = judges.pool(world, 4, 2, seed=5)
    rng = stream(seed, "repeats", world)
    return jl.VerdictTensor.from_counts(
        judges.counts(pool.laws[pool.draw(items, rng)], repeats, rng)
    )


def test_noisy_items_are_asked_more_often_for_the_same_number_of_calls():
    earlier = calls("noise in one prompt")
    found = choose_repeats(earlier, least=4, most=16, mean=8)
    assert found.by_item
    assert found.foreseen < 0.9
    assert "concentrated" in found.reason
    given = np.array(list(found.repeats.values()))
    assert given.mean() == 8
    assert (given.min(), given.max()) == (4, 16)
    unanimous = (earlier.counts.max(axis=-1) == 4).all(axis=(1, 2))
    assert given[unanimous].max() <= given[~unanimous].min()


@pytest.mark.parametrize("world", ["rare noise", "open, no effects"])
def test_even_noise_gets_equal_repeats_and_says_so(world):
    found = choose_repeats(calls(world), least=4, most=16, mean=8)
    assert not found.by_item
    assert set(found.repeats.values()) == {8}
    assert "equal repeats are better" in found.reason


def test_the_allocation_is_the_best_of_all():
    parts = np.array([[3.0, 0.1, 1.0], [0.5, 0.2, 4.0], [0.3, 0.0, 1.0]])
    noise = _Noise(component="prompt", estimand=Estimand(), size=(2, 6, 4))
    found = noise.allocate(parts)
    every = [r for r in product(range(2, 7), repeat=3) if sum(r) == 12]
    least = min(variance(parts, np.array(r)).sum() for r in every)
    assert found.sum() == 12
    assert variance(parts, found).sum() == pytest.approx(least)


def test_repeats_are_the_same_every_time():
    earlier = calls("noise in one prompt")
    first, second = (choose_repeats(earlier, least=4, most=16, mean=8) for _ in range(2))
    assert first == second


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"least": 1, "most": 16, "mean": 8}, "two calls"),
        ({"least": 4, "most": 16, "mean": 20}, "lies between"),
        ({"least": 4, "most": 16, "mean": 8, "component": "noise"}, "no component"),
    ],
)
def test_impossible_choices_are_refused(how, words):
    with pytest.raises(jl.InputError, match=words):
        choose_repeats(calls("rare noise"), **how)


def test_a_shallow_earlier_run_is_refused():
    with pytest.raises(jl.InputError, match="from four repeats on"):
        choose_repeats(calls("rare noise", repeats=2), least=4, most=16, mean=8)
