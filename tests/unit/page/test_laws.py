import re
from dataclasses import replace

import numpy as np
import pytest

from judgelaw.page.document import plain
from judgelaw.page.laws import laws
from judgelaw.page.prompts_and_orders import order, prompts as prompts_section
from judgelaw.tensor import VerdictTensor
from judgelaw.words import LETTERS, candidate_names
from support.reports import analysed, judge_part, tensor


def test_the_words_say_of_each_figure_what_a_point_of_it_is():
    calls = tensor(items=6)
    section = laws(judge_part(analysed({(None, "j"): calls})), calls)
    said = plain(section.blocks[0].paragraphs[0])
    every, few = (b for b in section.blocks if b.kind == "figure")
    assert "In the first figure a point is one item" in said
    assert 0 < every.wide.markup.count("near this law") <= len(calls.items)
    assert "in the small ones a point is one cell" in said
    assert plain(few.caption).startswith("Each cell of one item")


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
    judge = judge_part(analysed({(None, "j"): calls}))
    section = laws(judge, calls)
    assert section.title == "Which candidate is chosen"
    every, few = (b for b in section.blocks if b.kind == "figure")
    assert [name for _, name in every.key] == list(candidate_names(candidates))
    assert "barycentre" not in every.wide.markup
    assert all(f'"{item}: candidate_' in every.wide.markup for item in calls.items)
    shown = set(re.findall(r'aria-label="(\S+ [A-L]+): ', few.wide.markup))
    assert len(shown) == rows
    assert ("are grey" in plain(every.caption)) == (candidates > 7)


def test_slots_and_factors_stand_beside_the_orders_and_the_prompts():
    prompts = [f"a={x},b={y}" for x in "pq" for y in "rst"]
    calls = replace(several(3).select(prompts=["p1"]), prompts=("p1",))
    slots = order(judge_part(analysed({(None, "j"): calls})), calls)
    assert slots.title == "Does the position decide?"
    assert [b.name for b in slots.blocks if b.kind == "figure"] == ["slots"]
    crossed = tensor(items=6, prompts=6)
    crossed = replace(crossed, prompts=tuple(prompts))
    section = prompts_section(judge_part(analysed({(None, "j"): crossed})))
    assert [b.name for b in section.blocks if b.kind == "figure"] == ["factors", "prompts"]
    (*_, distances) = [b for b in section.blocks if b.kind == "figure"]
    assert "p, r" in distances.wide.markup
