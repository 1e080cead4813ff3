"""The page of single answers: figures that fit scores and labels, and no order anywhere."""

import re

import numpy as np
import pytest

from judgelaw.analysis import analyze
from judgelaw.blocks import Details, Figure, Table
from judgelaw.page import Report, drawing
from judgelaw.page.sections.item_list import _corners
from judgelaw.page.sections.laws import laws
from judgelaw.page.sections.score_list import scores
from judgelaw.page.whole_page import build, compose
from judgelaw.tensor import VerdictTensor
from support.reports import named, words

SCORES = ("1", "2", "3", "4", "5", "invalid")


def scored(kind="ordinal", *, items=15, gold=True):
    p = np.random.default_rng(2).dirichlet([1, 1, 2, 3, 1, 0.2], size=(items, 3, 1))
    labels = {"gold": ["4"] * items} if gold else {}
    calls = VerdictTensor.from_laws(
        p, repeats=4, seed=1, verdicts=SCORES, orders=["single"], prompts=["a", "b", "c"], **labels
    )
    return calls.on_scale([1, 2, 3, 4, 5], kind)


def labelled(names, *, given=None):
    law = np.zeros(len(names) + 1)
    law[: given or len(names)] = 1 / (given or len(names))
    p = np.broadcast_to(law, (8, 2, 1, len(law)))
    return VerdictTensor.from_laws(
        p, repeats=4, seed=1, verdicts=[*names, "invalid"], orders=["single"]
    )


def source(calls):
    tensors = {(None, "j"): calls}
    return Report(analysis=analyze(tensors, permutations=99, draws=200), tensors=tensors)


def judge(calls):
    return source(calls).judges[0]


@pytest.mark.parametrize("kind", ["ordinal", "numeric", "nominal"])
def test_scores_have_their_own_section_and_no_triangle(kind):
    found = compose(source(scored(kind)), title="page")
    ids = [section.id for section in found.sections]
    assert "scores" in ids
    assert "laws" not in ids
    assert "order" not in ids
    changes = {panel.name: panel for panel in found.first.panels}["changes"]
    assert "points" in changes.counted
    assert " order" not in found.first.asked


@pytest.mark.parametrize("calls", [scored(), labelled(["pass", "fail"])], ids=["scores", "labels"])
def test_no_word_of_the_page_is_about_an_order(calls):
    page = build(source(calls), title="page")
    text = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    words = re.sub(r"<[^>]+>", " ", text)
    found = re.findall(
        r"[^.]{0,60}\b(?:[Oo]rders?|[Ii]nteraction|[Ss]wap|ties?)\b[^.]{0,40}", words
    )
    assert found == []


def test_the_section_says_mean_prompts_and_gold():
    calls = scored()
    blocks = scores(judge(calls))
    assert [*named(blocks, Figure)] == ["score-shares", "score-means", "score-items"]
    assert [*named(blocks, Table)] == ["scores_by_prompt", "scores_against_gold"]
    (folded,) = [b for b in blocks if isinstance(b, Details)]
    assert [b.name for b in folded.blocks] == ["score-items"]
    assert words(blocks)[1].startswith("The mean score is ")
    assert "scores_against_gold" not in named(scores(judge(scored(gold=False))), Table)
    assert scores(judge(labelled(["pass", "fail"]))) is None


def test_labels_lie_on_a_line_or_in_a_triangle_or_nowhere():
    two = labelled(["pass", "fail"])
    assert laws(judge(two)) is not None
    assert _corners(two) == {"left": 0, "right": 1, "top": []}
    three = labelled(["good", "fair", "bad"])
    assert _corners(three) == {"left": 0, "right": 1, "top": [2]}
    four = labelled(["a", "b", "c", "d"])
    assert _corners(four) is None
    assert laws(judge(four)) is None
    ends = _corners(scored())
    assert ends == {"left": 0, "right": 4, "top": [], "at": [0.0, 0.25, 0.5, 0.75, 1.0, None]}


def test_scores_are_coloured_from_low_to_high():
    roles = drawing.verdict_roles(("1", "10", "2", "invalid"))
    assert roles == ["score-1", "score-7", "score-4", "invalid"]
    assert drawing.verdict_roles(("pass", "fail")) == ["first", "second"]


def test_several_judges_and_layers_of_single_answers_have_no_order_either():
    one, two = scored(), scored(items=15)
    tensors = {("audit", "j"): one, ("audit", "k"): two, ("control", "j"): one}
    roles = {"audit": "audit", "control": "control"}
    analysis = analyze(tensors, permutations=0, draws=200, roles=roles)
    found = compose(Report(analysis=analysis, tensors=tensors), title="page")
    for name in ("judges", "layers"):
        (table,) = (
            block
            for section in found.sections
            for block in section.blocks
            if getattr(block, "name", None) == name and hasattr(block, "columns")
        )
        assert [c for c in table.columns if "order" in c.lower()] == []
        assert {len(row) for row in table.rows} == {len(table.columns)}
