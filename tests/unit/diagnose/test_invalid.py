"""Invalid outputs: three treatments beside each other, and a word where they matter."""

import numpy as np
import pytest

from judgelaw.diagnose import complete_items, invalid_finding, invalid_sensitivity
from judgelaw.estimate import conditional_on_valid, decompose
from judgelaw.worlds import World
from support.streams import drawn, of_codes

CLEAN = World.from_effects(base=(0.6, 0.4, 0.0, 0.0))


def test_treatments_are_those_of_the_estimators():
    tensor = drawn(repeats=6, items=12)
    found = invalid_sensitivity(tensor)
    assert found.as_outcome["prompt"] == pytest.approx(float(decompose(tensor).macro().prompt))
    as_tie = decompose(tensor.recode({"invalid": "tie"})).macro()
    assert found.as_tie["total"] == pytest.approx(float(as_tie.total))
    valid = conditional_on_valid(tensor)
    assert found.kept == len(valid.kept) == complete_items(tensor)
    assert found.if_valid["order"] == pytest.approx(float(valid.decomposition.macro().order))


def test_invalid_outputs_that_matter_are_a_problem():
    """Most calls fail under one prompt alone: the prompt component is the failure."""
    tensor = drawn(world=CLEAN.with_invalid([0.6, 0.0, 0.0]), items=30)
    finding = invalid_finding(invalid_sensitivity(tensor), subject="judge")
    assert finding.verdict == "problem"
    assert finding.figures["rate"] == pytest.approx(0.2, abs=0.02)
    assert "repair the prompt or the parser" in finding.advice


def test_rare_invalid_outputs_are_fine():
    tensor = drawn(world=CLEAN.with_invalid(0.004), items=30)
    finding = invalid_finding(invalid_sensitivity(tensor), subject="judge")
    assert finding.verdict == "ok"
    assert finding.rows


def test_no_invalid_output_is_fine_and_said():
    finding = invalid_finding(invalid_sensitivity(drawn(world=CLEAN)), subject="judge")
    assert finding.verdict == "ok"
    assert finding.headline == "No output was invalid."


def test_an_alphabet_without_invalid_has_nothing_to_treat():
    codes = np.zeros((4, 2, 2, 3), dtype=int)
    tensor = of_codes(codes, verdicts=("yes", "no"))
    assert invalid_sensitivity(tensor) is None
    assert complete_items(tensor) == 4


def test_a_benchmark_lost_to_invalid_outputs_is_a_problem():
    tensor = drawn(world=CLEAN.with_invalid(0.7), items=20, repeats=3)
    found = invalid_sensitivity(tensor)
    assert found.kept == 0
    assert found.if_valid is None
    assert invalid_finding(found, subject="judge").verdict == "problem"


def test_changes_are_after_minus_before_on_the_same_items():
    """Items that are lost are in neither side of the change that leaving out makes."""
    world = CLEAN.with_invalid([0.5, 0.0, 0.0])
    tensor = drawn(world=world, items=30, repeats=4)
    found = invalid_sensitivity(tensor)
    valid = conditional_on_valid(tensor)
    kept = decompose(tensor.select(items=valid.kept)).macro()
    assert 0 < found.kept < found.items
    assert found.as_outcome_kept["prompt"] == pytest.approx(float(kept.prompt))
    figures = invalid_finding(found, subject="judge").figures
    as_tie = {c: found.as_tie[c] - found.as_outcome[c] for c in found.as_tie}
    if_valid = {c: found.if_valid[c] - found.as_outcome_kept[c] for c in found.if_valid}
    assert figures["change_as_tie"] == max(as_tie.values(), key=abs)
    assert figures["change_if_valid"] == max(if_valid.values(), key=abs)
    assert figures["change_if_valid"] < 0
