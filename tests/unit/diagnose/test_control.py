"""The control layer: a true null stays silent, labels that matter are found."""

import numpy as np
import pytest

from judgelaw.diagnose import diagnose
from judgelaw.estimate import decompose
from judgelaw.streams import stream
from judgelaw.uncertainty import Resampling, call_interval, item_interval
from judgelaw.worlds import World
from support.streams import drawn, findings, of_codes, unanimous


@pytest.mark.parametrize("repeats", [2, 4, 8])
def test_a_true_null_is_compatible_with_zero(repeats):
    world = World.from_effects(order=0.02, item_spread=0.2)
    finding = findings(drawn(world=world, prompts=6, repeats=repeats), control=True)["control"]
    assert finding.verdict == "ok"
    assert finding.figures["low"] <= 0 <= finding.figures["high"]
    assert finding.figures["plugin"] > finding.figures["estimate"]


def test_a_cache_keyed_by_label_is_found():
    """Each label answers from its own cached reply most of the time."""
    rng = stream(3, "cache")
    cached = rng.integers(0, 2, size=(40, 6, 2, 1))
    fresh = rng.integers(0, 2, size=(40, 6, 2, 4))
    codes = np.where(rng.random(fresh.shape) < 0.4, cached, fresh)
    finding = findings(of_codes(codes, strata=2), control=True)["control"]
    assert finding.verdict == "problem"
    assert "exchangeable across labels" in finding.advice


def test_what_cannot_be_tested_is_unknown():
    for untestable in (drawn(prompts=1), unanimous()):
        finding = findings(untestable, control=True)["control"]
        assert finding.verdict == "unknown"
        assert "not testable here" in finding.headline


def test_only_layers_of_that_role_are_held_against_zero():
    tensors = {(layer, "a"): drawn(layer=layer, seed=i) for i, layer in enumerate("xy")}
    how = Resampling(draws=50, seed=0)
    found = diagnose(tensors, main="x", how=how, roles={"y": "control"}).findings
    assert [f.subject for f in found if f.name == "control"] == ["a / y"]


def test_a_component_below_zero_accuses_the_pipeline_as_well():
    """Labels answered in rotation agree across labels more than within one."""
    codes = (np.arange(2) + np.zeros((20, 4, 2, 1), dtype=int)) % 2
    noise = stream(8, "rotation").random(codes.shape) < 0.05
    finding = findings(of_codes(np.where(noise, 1 - codes, codes)), control=True)["control"]
    assert finding.figures["high"] < 0
    assert finding.verdict == "problem"


@pytest.mark.parametrize("repeats", [2, 4])
def test_the_interval_shown_is_the_one_of_99_percent_within_strata(repeats):
    tensor = drawn(world=World.from_effects(prompt=0.02), repeats=repeats, items=12)
    values = decompose(tensor).prompt
    exact = (
        call_interval(tensor, "prompt", level=0.99)
        if repeats == 4
        else item_interval(values, strata=tensor.strata, level=0.99)
    )
    figures = findings(tensor, control=True)["control"].figures
    assert (figures["low"], figures["high"]) == pytest.approx((exact.low, exact.high))
    if repeats == 2:
        assert exact.low != pytest.approx(item_interval(values, level=0.99).low)
