"""The error that looks have left: levels by hand, by simulation, and in every bound."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtri

import judgelaw as jl
from judgelaw.streams import stream
from judgelaw.uncertainty import Limit, check_limits, error_left, infer, levels_left, spent

LOOKS = (0.25, 0.5, 1.0)


def test_levels_of_three_looks_are_those_of_the_literature():
    assert spent(LOOKS, 0.05) == pytest.approx((0.0031, 0.0107, 0.0442), abs=5e-5)
    assert spent((1.0,), 0.05) == pytest.approx((0.05,))
    # The first looks do not know how many will follow.
    assert spent(LOOKS[:2], 0.05) == pytest.approx(spent(LOOKS, 0.05)[:2])


def test_a_random_walk_leaves_its_boundaries_as_often_as_it_may():
    rng = stream(1, "walk")
    steps = rng.standard_normal((400_000, 3)) * np.sqrt(np.diff([0, *LOOKS]))
    z = np.cumsum(steps, axis=1) / np.sqrt(LOOKS)
    beyond = np.cumsum(z > -ndtri(np.array(spent(LOOKS, 0.05))), axis=1) > 0
    assert beyond.mean(axis=0) == pytest.approx([0.05 * t**2 for t in LOOKS], abs=1.5e-3)


def test_without_looks_nothing_is_spent():
    assert error_left((), 0.05) == 0.05
    assert levels_left((), 0.95) == (0.95, 0.95)
    low, high = levels_left(LOOKS[:1], 0.95)
    assert low == pytest.approx(1 - 0.003125)
    assert high == pytest.approx(1 - 0.7 * 0.003125)


@pytest.fixture
def tensor():
    laws = np.tile([0.8, 0.1, 0.1, 0.0], (30, 4, 2, 1))
    return jl.VerdictTensor.from_laws(laws, repeats=8, seed=3)


def test_every_bound_widens_where_calls_were_looked_at(tensor):
    looked = replace(tensor, looks=LOOKS[:2])
    once, again = infer(tensor), infer(looked)
    for scope in ("fixed", "new"):
        low, high = once.bounds("prompt", 0.95, scope)
        wider_low, wider_high = again.bounds("prompt", 0.95, scope)
        assert wider_low < low
        assert wider_high > high
    assert again.bounds("prompt", 0.95, "fixed") == (
        once.bounds("prompt", levels_left(LOOKS[:2], 0.95)[0], "fixed")[0],
        once.bounds("prompt", levels_left(LOOKS[:2], 0.95)[1], "fixed")[1],
    )
    assert again.share("prompt", 0.95, "fixed")[1] > once.share("prompt", 0.95, "fixed")[1]
    # Looks stay with the calls, whatever is chosen of them.
    assert looked.prefix(4).looks == looked.select(prompts=looked.prompts[:2]).looks == LOOKS[:2]


def test_a_gate_decides_at_the_levels_that_are_left(tensor):
    limits = [
        Limit(quantity="prompt", side="max", value=0.5),
        Limit(quantity="invalid", side="max", value=0.1),
    ]
    (one, rate), (left, left_rate) = (
        check_limits({"j": t}, limits).limits for t in (tensor, replace(tensor, looks=LOOKS[:1]))
    )
    assert (one.level, left.level) == (0.95, pytest.approx(1 - 0.7 * 0.003125))
    assert left.fail_level == pytest.approx(1 - error_left(LOOKS[:1], 0.025))
    assert left.upper > one.upper
    assert left_rate.upper > rate.upper
    assert "looked at once" in left.reason
    assert one.reason is None


def test_intervals_of_an_analysis_hold_over_all_looks(tensor):
    once, again = (
        jl.analyze(t, draws=200, permutations=0).judges["judge"].components["prompt"]
        for t in (tensor, replace(tensor, looks=LOOKS[:1]))
    )
    assert again.call_interval[0] < once.call_interval[0]
    assert again.call_interval[1] > once.call_interval[1]
    assert again.call_se == once.call_se
