import re
from dataclasses import replace

import numpy as np
import pytest

from judgelaw.blocks import Figure, text_of
from judgelaw.page import drawing
from judgelaw.page.sections.laws import laws, laws_title
from judgelaw.page.sections.position_bias import position
from judgelaw.page.sections.similarity import similarity
from judgelaw.tensor import VerdictTensor
from judgelaw.words import LETTERS, candidate_names
from support.reports import judge_of, named, tensor, words


def markup(figure, width=drawing.WIDE):
    return drawing.draw(figure.chart(width), label=figure.label).markup


def test_the_words_say_of_each_figure_what_a_point_of_it_is():
    calls = tensor(items=6)
    blocks = laws(judge_of(calls))
    said = words(blocks)[0]
    every, few = named(blocks, Figure).values()
    assert "In the first figure a point is one item" in said
    assert 0 < markup(every).count("near this law") <= len(calls.items)
    assert "in the small ones a point is one cell" in said
    assert text_of(few.caption).startswith("Each cell of one item")


def several(candidates):
    """Calls on six items with so many candidates, in cyclic orders."""
    letters = LETTERS[:candidates]
    orders = [letters[k:] + letters[:k] for k in range(candidates)]
    verdicts = (*candidate_names(candidates), "tie", "invalid")
    law = [1 / candidates] * candidates + [0, 0]
    counts = np.random.default_rng(1).multinomial(2, law, size=(6, 2, candidates))
    return VerdictTensor.from_counts(counts, orders=orders, verdicts=verdicts)


@pytest.mark.parametrize(("candidates", "rows"), [(4, 12), (12, 24)])
def test_several_candidates_are_drawn_as_bars(candidates, rows):
    calls = several(candidates)
    judge = judge_of(calls)
    assert laws_title(judge) == "Which candidate is chosen"
    every, few = named(laws(judge), Figure).values()
    drawn = markup(every)
    assert [name for _, name in every.key] == list(candidate_names(candidates))
    assert "barycentre" not in drawn
    assert all(f'"{item}: candidate_' in drawn for item in calls.items)
    shown = set(re.findall(r'aria-label="(\S+ [A-L]+): ', markup(few)))
    assert len(shown) == rows
    assert ("are grey" in text_of(every.caption)) == (candidates > 7)


def test_slots_and_factors_stand_beside_the_orders_and_the_prompts():
    prompts = [f"a={x},b={y}" for x in "pq" for y in "rst"]
    calls = replace(several(3).select(prompts=["p1"]), prompts=("p1",))
    assert [*named(position(judge_of(calls)), Figure)] == ["slots"]
    crossed = tensor(items=6, prompts=6)
    crossed = replace(crossed, prompts=tuple(prompts))
    found = named(similarity(judge_of(crossed)), Figure)
    assert [*found] == ["factors", "prompts"]
    assert "p, r" in markup(found["prompts"])
