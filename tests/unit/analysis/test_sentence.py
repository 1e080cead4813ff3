"""The sentence: only what the bounds carry, for the items asked and for others."""

from dataclasses import replace

import numpy as np
import pytest

from judgelaw.analysis import PromptLean, analyze
from judgelaw.analysis.sentence import claims_of, sentence
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import infer
from support import judges


def said(counts, **options):
    tensor = VerdictTensor.from_counts(counts)
    tensor = replace(tensor, **options)
    return analyze({(None, "a"): tensor}, draws=200, permutations=0).judges["a"].sentence


def calls(world, *, items=60, prompts=4, orders=2, repeats=8, seed=1):
    pool = judges.pool(world, prompts, orders, seed=seed)
    return judges.counts(pool.laws[:items], repeats, np.random.default_rng(seed))


def test_dice_alone_are_said_to_be_dice():
    text = said(calls("open, no effects"))
    assert text.startswith(
        "On these 60 items, nearly all of this judge's disagreement is repeat-to-repeat noise "
        "(at least 9"
    )
    assert "averaging over repeats helps, rewording will not" in text
    assert "the same holds for other items like these" in text


def test_a_judge_that_follows_the_order_is_told_to_swap():
    laws = judges.settled(np.random.default_rng(2), 60, 4, 2)
    laws[:30, :, 1] = laws[:30, :, 1][..., [1, 0, 2, 3]]
    counts = judges.counts(laws, 4, np.random.default_rng(3))
    text = said(counts)
    assert "answer order is the largest part of this judge's disagreement" in text
    assert "ask in both orders and average" in text
    assert "rewording" not in text


def test_a_facet_that_is_shown_to_matter_has_its_advice():
    rng = np.random.default_rng(4)
    laws = judges.open_alike(rng, 60, 4, 2)
    laws[:, 2:] = laws[:, 2:][..., [1, 0, 2, 3]]
    text = said(judges.counts(laws, 8, rng))
    assert "averaging over prompts helps too" in text
    assert "rewording will not" not in text


def test_few_items_say_what_they_cannot_tell():
    text = said(calls("flips by order", items=6, repeats=4, seed=5))
    assert "cannot be told" in text or "cannot tell" in text or "at most" in text


def test_what_holds_here_need_not_hold_elsewhere():
    """One item of forty flips by prompt, in thousands of calls: shown here, open elsewhere."""
    laws = judges.settled(np.random.default_rng(6), 40, 4, 2)
    laws[0, :2] = laws[0, :2][..., [1, 0, 2, 3]]
    text = said((16 * laws).astype(int))
    assert "On these 40 items, the prompt is the largest part" in text
    assert text.endswith("whether this holds for other items like these cannot be told.")


def test_no_disagreement_is_bounded_and_not_zero():
    counts = np.zeros((20, 3, 2, 4), dtype=int)
    counts[..., 0] = 4
    text = said(counts)
    assert text.startswith("This judge gave one verdict to each item in every call on these 20")
    assert "at most" in text


def test_disagreement_that_may_be_nothing_is_not_split():
    counts = np.zeros((20, 3, 2, 4), dtype=int)
    counts[..., 0] = 4
    counts[0, 0, 0] = 3, 1, 0, 0
    assert "Too little disagreement to split on these 20 items: at most" in said(counts)


def test_absent_facets_are_named():
    one_prompt = said(calls("open, no effects", prompts=1))
    assert "the prompt was not varied, so its part is not known" in one_prompt
    assert "rewording" not in one_prompt
    alone = said(calls("open, no effects", prompts=1, orders=1))
    assert "repeat-to-repeat noise is all that was measured" in alone
    assert "the prompt and the answer order were not varied" in alone


def test_a_judge_that_gives_no_verdicts_is_repaired_first():
    counts = np.random.default_rng(7).multinomial(8, [0.3, 0.2, 0, 0.5], size=(30, 3, 2))
    text = said(counts)
    assert "of this judge's calls gave no verdict: repair the prompt or the parser first" in text
    assert "As it is, on these 30 items" in text


def test_percentages_have_bounds_and_no_share_leaves_the_whole():
    for world in judges.WORLDS:
        found = infer(calls(world, items=16, repeats=4, seed=8))
        for scope in ("fixed", "new"):
            if found.bounds("total", 0.95, scope)[0] <= 0:
                continue
            for low, high in claims_of(found, scope).shares.values():
                assert 0 <= low <= high <= 1


@pytest.mark.parametrize(
    ("leans", "words"),
    [
        ([], ""),
        ([("p", 0.1, (-0.1, 0.3))], ""),
        ([("p", 0.27, (0.2, 0.34))], "leans to the answer shown first by 27 points of 100 (20 to"),
        ([("p", -0.2, (-0.3, -0.1))], "shown second by 20 points of 100 (10 to 30)"),
        ([("p", 0.2, (0.1, 0.3)), ("q", 0.3, (0.2, 0.4))], "'q' leans to the answer shown first"),
    ],
)
def test_prompts_that_lean_are_part_of_the_sentence(leans, words):
    found = infer(calls("open, effects"))
    judge = analyze(
        {(None, "a"): VerdictTensor.from_counts(calls("open, effects"))}, draws=100, permutations=0
    ).judges["a"]
    listed = [PromptLean(prompt=p, lean=x, interval=i) for p, x, i in leans]
    text = sentence(judge.components, found, judge.lead, leans=listed)
    assert words in text
    assert ("leans" in text) == bool(words)
