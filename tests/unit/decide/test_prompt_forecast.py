"""How many more prompts would decide: bounds, what is foreseen, and what is not claimed."""

import json
from math import isnan

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.decide import more_prompts
from judgelaw.decide.prompt_forecast import MOST_PROMPTS, imagined
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
    low, high = infer(tensor, Estimand(design="sampled")).bounds("prompt", 0.95, "fixed")
    assert (found.low, found.high) == (low, high)
    gate = jl.gate(tensor, {"prompt": 0.02}, design="sampled")
    assert (gate.verdict == "inconclusive") == (found.found is None)


def test_a_large_effect_is_shown_and_needs_nothing_more():
    found = more_prompts(drawn("shared", 24), SAMPLED, limit=0.005)
    assert (found.found, found.needed) == ("above", None)
    assert found.sentence.endswith("shown to be above 0.005.")


def test_the_number_that_is_named_is_said():
    found = more_prompts(drawn("shared", 12), SAMPLED, limit=0.025)
    assert found.found is None
    assert 12 < found.needed <= MOST_PROMPTS
    told = f"{found.needed - 12} more prompts, {found.needed} in all, would tell"
    assert told in found.sentence


def test_the_nearer_the_limit_the_more_prompts():
    tensor = drawn("shared", 12)
    e, low = more_prompts(tensor, SAMPLED).estimate, more_prompts(tensor, SAMPLED).low
    limits = [low + (e - low) * share for share in (0.05, 0.2, 0.35)]
    needed = [more_prompts(tensor, SAMPLED, limit=limit).needed for limit in limits]
    assert needed[0] < needed[1] < needed[2]
    assert more_prompts(tensor, SAMPLED, limit=e).needed is None
    said = more_prompts(tensor, SAMPLED, limit=e).sentence
    assert f"no number of prompts up to {MOST_PROMPTS} is likely to tell" in said


def test_bounds_that_are_imagined_for_no_more_prompts_are_those_there_are():
    """With K' = K each kind is there once: the study is the one that was made."""
    drawn_ = infer(drawn("shared", 24), Estimand(design="sampled")).drawn
    rng = np.random.default_rng(3)
    low, high = imagined(drawn_.kernel.mean(axis=0), 24, cap=drawn_.cap, rng=rng)
    seen = drawn_.bounds("prompt", 0.95, "fixed")
    assert low == pytest.approx(np.full(len(low), seen[0]))
    assert high.mean() == pytest.approx(seen[1], rel=0.03)


def test_more_prompts_make_imagined_bounds_narrower():
    drawn_ = infer(drawn("shared", 12), Estimand(design="sampled")).drawn
    h, widths = drawn_.kernel.mean(axis=0), []
    for prompts in (24, 48, 96):
        low, high = imagined(h, prompts, cap=drawn_.cap, rng=np.random.default_rng(3))
        widths.append((high - low).mean())
    assert widths[0] > 1.3 * widths[1] > 1.3**2 * widths[2]


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
