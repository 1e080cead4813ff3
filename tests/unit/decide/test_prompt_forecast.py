"""How many more prompts would decide: bounds, what is foreseen, and what is not claimed."""

import json
from math import isnan

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.decide import more_prompts
from judgelaw.decide.prompt_forecast import MOST_PROMPTS
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import Estimand, infer
from support.judges import counts, generated

SAMPLED = Estimand(design="sampled")


def drawn(name, prompts, *, items=16, repeats=4, seed=1):
    rng = np.random.default_rng(seed)
    laws = generated(name, items=items, prompts=400, seed=5)
    chosen = laws[:, rng.choice(400, prompts, replace=False)]
    return VerdictTensor.from_counts(counts(chosen, repeats, rng))


def test_bounds_are_those_of_a_gate():
    tensor = drawn("shared", 12)
    found = more_prompts(tensor, SAMPLED, limit=0.02)
    low, high = infer(tensor, design="sampled").bounds("prompt", 0.95, "fixed")
    assert (found.low, found.high) == (low, high)
    gate = jl.gate(tensor, {"prompt": 0.02}, design="sampled")
    assert (gate.verdict == "inconclusive") == (found.found is None)


def test_a_large_effect_is_shown_and_needs_nothing_more():
    found = more_prompts(drawn("shared", 24), SAMPLED, limit=0.005)
    assert (found.found, found.needed, found.side) == ("above", None, None)
    assert found.sentence.endswith("shown to be above 0.005.")


def test_more_prompts_are_named_on_the_side_of_the_estimate():
    found = more_prompts(drawn("shared", 12), SAMPLED, limit=0.025)
    assert found.found is None
    assert found.side == "above"
    assert 12 < found.needed <= MOST_PROMPTS
    assert f"{found.needed - 12} more ({found.needed} in all) would show" in found.sentence


def test_the_farther_the_limit_the_fewer_prompts():
    tensor = drawn("shared", 12)
    e, low = more_prompts(tensor, SAMPLED).estimate, more_prompts(tensor, SAMPLED).low
    limits = [low + (e - low) * share for share in (0.05, 0.2, 0.4)]
    needed = [more_prompts(tensor, SAMPLED, limit=limit).needed for limit in limits]
    assert needed[0] < needed[1] < needed[2]
    assert more_prompts(tensor, SAMPLED, limit=0.999 * e).needed is None
    said = more_prompts(tensor, SAMPLED, limit=0.999 * e).sentence
    assert f"no number of prompts up to {MOST_PROMPTS} would tell" in said


def test_what_is_foreseen_at_the_present_number_is_what_there_is():
    """The bounds foreseen for K prompts are the bounds of K prompts, but for fewer draws."""
    from judgelaw.decide.prompt_forecast import _foreseen

    inference = infer(drawn("shared", 20), design="sampled")
    h = inference.drawn.kernel.mean(axis=0)
    low, high, se = _foreseen(inference, h, 20)
    seen = inference.drawn.bounds("prompt", 0.95, "fixed")
    assert low == pytest.approx(seen[0])
    assert high == pytest.approx(seen[1], rel=0.05)
    assert _foreseen(inference, h, 80)[2] == pytest.approx(se / 2, rel=0.1)


def test_two_prompts_have_no_bounds_and_one_has_nothing():
    found = more_prompts(drawn("shared", 2), SAMPLED)
    assert isnan(found.low)
    assert "fewer than 3 prompts were drawn" in found.sentence
    assert found.needed is None
    assert more_prompts(drawn("shared", 4), Estimand()) is None


def test_the_analysis_says_so_where_prompts_were_drawn():
    tensor = drawn("shared", 12)
    found = jl.analyze(tensor, design="sampled", draws=100, permutations=0)
    judge = found.judges["judge"] if "judge" in found.judges else next(iter(found.judges.values()))
    assert judge.more_prompts == more_prompts(tensor, SAMPLED)
    (document,) = json.loads(json.dumps(found.to_json()))["judges"].values()
    assert document["more_prompts"]["sentence"] == judge.more_prompts.sentence
    census = jl.analyze(tensor, draws=100, permutations=0)
    assert next(iter(census.judges.values())).more_prompts is None
    assert "more_prompts" not in next(iter(census.to_json()["judges"].values()))
