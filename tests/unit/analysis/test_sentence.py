"""One plain sentence: the shares of the paper's judges, and what would help each."""

from math import isnan

import pytest

from judgelaw.analysis.sentence import sentence
from judgelaw.analysis.values import Component, LargestComponent

# The published components of the four matched configurations (call, prompt, order, interaction).
QWEN = (0.19111, 0.00521, 0.04694, 0.00719)
GPT_OSS = (0.08028, -0.00123, 0.00935, 0.00228)
GEMMA = (0.01500, 0.01774, 0.11017, 0.01733)


def components(values, told=()):
    """Return components of these values; those that are told from zero have a band above it."""
    nan = float("nan")
    total = sum(v for v in values if not isnan(v))
    names = ("call", "prompt", "order", "interaction", "total")
    return {
        name: Component(
            estimate=v,
            plugin=v,
            band=(v / 2, 2 * v) if name in told else None,
            plugin_band=None,
            call_se=None,
            call_interval=None,
            share=v / total if total else nan,
            share_band=None,
            share_interval=None,
        )
        for name, v in zip(names, (*values, total), strict=True)
    }


def lead(largest, second, band=(0.01, 0.2)):
    return LargestComponent(largest=largest, second=second, by=0.1, band=band, call_interval=None)


def test_a_judge_whose_dice_lead():
    said = sentence(components(QWEN), lead("call", "order"), unanimous=False)
    assert said == (
        "76% of this judge's disagreement is repeat-to-repeat noise, 19% answer order, 3% prompt "
        "and order together, 2% the prompt wrapper: more repeats help, rewording will not."
    )


def test_what_cannot_be_seen_has_no_share_in_the_sentence():
    said = sentence(components(GPT_OSS), lead("call", "order"), unanimous=False)
    assert said.startswith(
        "89% of this judge's disagreement is repeat-to-repeat noise, 10% answer order, 3% prompt "
        "and order together; the prompt wrapper is too small to see: more repeats help"
    )
    alone = sentence(
        components((0.5, -0.002, -0.001, -0.003)), lead("call", "prompt"), unanimous=False
    )
    assert alone == (
        "All of this judge's disagreement is repeat-to-repeat noise; answer order, the prompt "
        "wrapper and prompt and order together are too small to see: more repeats help, rewording "
        "will not."
    )


def test_other_components_that_are_told_from_zero_have_their_advice():
    said = sentence(components(QWEN, told=("order",)), lead("call", "order"), unanimous=False)
    assert said.endswith(
        ": more repeats help, rewording will not; asking in both orders helps too."
    )
    values = (0.5, 0.1, 0.1, 0.001)
    said = sentence(
        components(values, told=("prompt", "order", "interaction")),
        lead("call", "order"),
        unanimous=False,
    )
    assert said.endswith(
        "more repeats help; averaging over prompts and asking in both orders help too."
    )


def test_a_judge_that_gives_no_verdicts_is_repaired_first():
    said = sentence(components(QWEN), lead("call", "order"), unanimous=False, invalid=0.505)
    assert said.startswith(
        "50% of this judge's calls gave no verdict: repair the prompt or the parser first. As it "
        "is, 76% of this judge's disagreement is repeat-to-repeat noise"
    )
    few = sentence(components(QWEN), lead("call", "order"), unanimous=False, invalid=0.09)
    assert "no verdict" not in few


def test_a_judge_whose_order_leads_is_told_to_swap():
    said = sentence(components(GEMMA), lead("order", "prompt"), unanimous=False)
    assert said.startswith("69% of this judge's disagreement is answer order")
    assert "ask in both orders and average" in said


@pytest.mark.parametrize(
    ("largest", "words"), [("prompt", "average over prompts"), ("interaction", "together")]
)
def test_advice_follows_the_leader(largest, words):
    values = [0.01, 0.01, 0.01, 0.01]
    values[("call", "prompt", "order", "interaction").index(largest)] = 0.2
    assert words in sentence(components(values), lead(largest, "call"), unanimous=False)


@pytest.mark.parametrize("band", [(-0.0149, 0.0751), None])
def test_a_lead_that_is_not_settled_is_said_to_be_open(band):
    said = sentence(components(GEMMA), lead("order", "call", band), unanimous=False)
    assert "is larger is open" in said
    assert "repeats" not in said


def test_absent_facets_are_named():
    nan = float("nan")
    said = sentence(components((0.1, nan, 0.05, nan)), lead("call", "order"), unanimous=False)
    assert "the prompt was not varied, so its part is not known" in said
    assert "rewording" not in said
    only = sentence(components((0.25, nan, nan, nan)), None, unanimous=False)
    assert "disagree 25.0% of the time" in only
    assert "the prompt and the answer order were not varied" in only


def test_unanimous_and_invisible_disagreement():
    steady = sentence(components((0.0, 0.01, 0.1, 0.0)), lead("order", "prompt"), unanimous=True)
    assert steady.startswith("This judge repeated itself in every cell, so 91%")
    nothing = sentence(components((0.0, 0.0, 0.0, 0.0)), lead("call", "prompt"), unanimous=True)
    assert "no disagreement to split" in nothing
    tiny = sentence(components((0.001, -0.004, 0.0, 0.0)), lead("call", "order"), unanimous=False)
    assert "too small for these calls to see" in tiny
