"""Leave-one-out: the planted prompt, item and stratum are named; without one nothing is."""

import numpy as np
import pytest

from judgelaw.diagnose import drivers, drivers_finding
from judgelaw.estimate import decompose
from judgelaw.streams import stream
from judgelaw.worlds import World
from support.streams import drawn, findings, of_codes


def with_odd_prompt(rows=slice(None)):
    """Prompt p2 answers candidate_2 where the others mostly answer candidate_1."""
    rng = stream(7, "odd prompt")
    codes = (rng.random((40, 4, 2, 6)) < 0.2).astype(int)
    codes[rows, 1] = rng.random((40, 2, 6))[rows] < 0.9
    return of_codes(codes, strata=2)


def test_leaving_out_is_recomputing():
    tensor = drawn(items=10, prompts=4)
    found = drivers(tensor)
    for left in found.prompts:
        rest = [k for k in tensor.prompts if k != left.name]
        assert left.without == pytest.approx(
            float(decompose(tensor.select(prompts=rest)).macro().prompt)
        )
    left = found.items[0]
    rest = [i for i in tensor.items if i != left.name]
    assert left.without == pytest.approx(float(decompose(tensor.select(items=rest)).macro().prompt))
    assert left.change == pytest.approx(found.estimate - left.without)


def test_the_prompt_that_makes_the_component_is_named():
    finding = findings(with_odd_prompt())["drivers"]
    assert finding.verdict == "notice"
    assert "without prompt p2" in finding.headline


def test_the_stratum_that_makes_the_component_is_named():
    finding = findings(with_odd_prompt(rows=slice(0, None, 2)))["drivers"]
    assert "without stratum s0" in finding.headline


def test_prompts_that_differ_alike_are_not_accused():
    world = World.from_effects(prompt=0.02)
    finding = findings(drawn(world=world, prompts=6, repeats=8))["drivers"]
    assert finding.verdict == "ok"
    assert "not seen to hang on one" in finding.headline


@pytest.mark.parametrize("seed", range(6))
def test_noise_drives_nothing(seed):
    finding = findings(drawn(prompts=6, seed=seed))["drivers"]
    assert finding.verdict == "ok"


def test_an_absent_facet_is_unknown():
    assert drivers(drawn(prompts=1)) is None
    assert drivers_finding(None, subject="judge").verdict == "unknown"


def test_items_are_ranked_by_what_they_add():
    changes = [abs(x.change) for x in drivers(with_odd_prompt()).items]
    assert changes == sorted(changes, reverse=True)
    assert np.isfinite(changes).all()


def test_an_item_that_flips_is_listed_and_raises_no_notice():
    """A judge that is settled but for one item owes its component to that item: what else."""
    codes = np.zeros((20, 4, 2, 4), dtype=int)
    codes[7, 2] = 1
    codes[3, 1, 0, 2] = 1
    finding = findings(of_codes(codes))["drivers"]
    assert finding.verdict != "notice"
    assert ("item", "i8") in [row[:2] for row in finding.rows]


def test_prompts_that_are_odd_in_turn_are_not_accused():
    """Every item has an odd prompt, each time another one: no prompt drives the component."""
    codes = np.zeros((40, 4, 2, 4), dtype=int)
    codes[np.arange(40), np.arange(40) % 4] = 1
    finding = findings(of_codes(codes))["drivers"]
    assert finding.figures["estimate"] > 0.1
    assert finding.verdict == "ok"
