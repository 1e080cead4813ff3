"""A figure that looks impossible is explained where it stands, and only there."""

from dataclasses import replace
from unittest.mock import patch

import pytest

from judgelaw.page import compose
from judgelaw.page.disagreement import About, answer
from judgelaw.page.document import Folded, Part, Prose, plain
from support.reports import analysed, tensor

EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


@pytest.fixture(autouse=True)
def undrawn():
    with patch("vl_convert.vegalite_to_svg", return_value=EMPTY):
        yield


def words(section) -> str:
    blocks = [
        inner
        for block in section.blocks
        for inner in (block.blocks if isinstance(block, Folded) else [block])
    ]
    return " ".join(plain(p) for b in blocks if isinstance(b, Prose) for p in b.paragraphs)


def items_section(calls):
    document = compose(analysed({(None, "j"): calls}), title="t", tensors={(None, "j"): calls})
    return next(section for section in document.sections if section.id == "items")


@pytest.mark.parametrize(("reliability", "explained"), [(-1.03, True), (0.2, False)])
def test_a_negative_reliability_is_explained(reliability, explained):
    analysis = analysed({(None, "j"): tensor()})
    judge = analysis.judges["j"]
    split = {name: replace(found, reliability=0.5) for name, found in judge.split.items()}
    split["total"] = replace(split["total"], reliability=reliability)
    settings = Part(analysis).at(lambda a: a.settings)
    about = About(settings=settings, frozen=False, explain_negative=False)
    said = words(answer(Part(replace(judge, split=split)), about))
    assert ("no difference between items was seen" in said) is explained


def test_the_last_column_of_the_item_list_has_a_legend():
    said = words(items_section(tensor()))
    assert "a negative estimate is never clear" in said
    assert "Error not known:" in said


def test_below_four_repeats_no_item_has_an_error_to_explain():
    assert "Error not known:" not in words(items_section(tensor(repeats=3)))
