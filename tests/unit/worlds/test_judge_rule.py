"""A judge of known faults: its law is what was declared, item by item and on average."""

import numpy as np
import pytest

from judgelaw.errors import InputError
from judgelaw.worlds import World


def test_shares_are_those_declared():
    world = World.from_judge(right=0.9, lean=0.2, prompts={2: 0.3}, seed=3)
    laws = world.laws(items=20_000, prompts=3, orders=2)
    right = laws[..., 0].mean(axis=0)
    settled = 0.8 * 0.9
    assert right[0] == pytest.approx([settled + 0.2, settled], abs=0.01)
    assert right[1] == pytest.approx([0.3, 0.3], abs=0.01), "a prompt of its own does not lean"
    assert {*np.unique(laws)} == {0.0, 1.0}, "without slips every cell is settled"


def test_slips_leave_each_verdict_for_the_other():
    laws = World.from_judge(right=0.5, slip=0.1, seed=1).laws(items=500, prompts=2, orders=1)
    assert set(np.round(np.unique(laws), 12)) == {0.0, 0.1, 0.9}
    assert laws.sum(axis=-1) == pytest.approx(1)


def test_a_spec_declares_it_and_says_what_is_wrong():
    spec = {"judge": {"right": 0.9, "prompts": {1: 0.2}}, "seed": 4}
    laws = World.from_spec(spec).laws(items=3, prompts=2, orders=2)
    assert np.array_equal(laws, World.from_spec(spec).laws(items=3, prompts=2, orders=2))
    with pytest.raises(InputError, match="right = 2"):
        World.from_spec({"judge": {"right": 2}})
    with pytest.raises(InputError, match="mapping of right"):
        World.from_spec({"judge": {"wrong": 0.1}})
    with pytest.raises(InputError, match="prompt 5 has a law of its own"):
        World.from_judge(prompts={5: 0.5}).laws(items=2, prompts=2, orders=1)
