"""A figure that looks impossible is explained where it stands, and only there."""

from dataclasses import replace

import pytest

from judgelaw.page import Report
from judgelaw.page.sections.item_list import items
from judgelaw.page.sections.parts import components
from support.reports import report, tensor, words


@pytest.mark.parametrize(("reliability", "explained"), [(-1.03, True), (0.2, False)])
def test_a_negative_reliability_is_explained(reliability, explained):
    source = report({(None, "j"): tensor()})
    judge = source.analysis.judges["j"]
    split = {name: replace(found, reliability=0.5) for name, found in judge.split.items()}
    split["total"] = replace(split["total"], reliability=reliability)
    analysis = replace(source.analysis, judges={"j": replace(judge, split=split)})
    (changed,) = Report(analysis=analysis, tensors=source.tensors).judges
    said = " ".join(words(components(changed)))
    assert ("no difference between items was seen" in said) is explained


def test_the_last_line_of_an_item_has_a_legend():
    said = " ".join(words(items(report({(None, "j"): tensor()}))))
    assert "a negative estimate is never clear" in said
    assert "Error not known:" in said


def test_below_four_repeats_no_item_has_an_error_to_explain():
    said = " ".join(words(items(report({(None, "j"): tensor(repeats=3)}))))
    assert "Error not known:" not in said
