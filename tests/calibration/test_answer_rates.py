"""A part of the table of the answer's error rates, in short; `make calibrate` measures all."""

from dataclasses import replace

import numpy as np
import pytest

from calibration import answer_rates
from calibration.answer_rates import LABELS, WORLDS, credit, measure, right_of, truth_of
from judgelaw.analysis import majority_law
from judgelaw.streams import stream

SURE = 1e-4
HARD = [
    # Judges at the edge of a claim, and designs that other rules miss.
    ("settled, just below", 50, 2),
    ("settled, at better", 16, 4),
    ("coin", 8, 4),
    ("one good of six", 16, 2),
    ("few flippers", 16, 4),
    ("clusters, unequal", 50, 2),
    ("clusters of labels", 50, 2),
    ("scores, near the bar", 50, 4),
    ("orders 80 to 20", 50, 4),
    ("unequal repeats", 16, 4),
]


@pytest.mark.parametrize("setting", HARD, ids=str)
def test_what_is_said_holds(setting):
    assert measure(*setting, trials=30, seed=1).misses(SURE) == []


def test_the_table_tells_a_miss():
    """Claims that are false on purpose are named, and intervals that are too narrow."""
    found = measure("coin", 16, 2, trials=20, seed=1)
    wrong = replace(found, false=found.false + type(found.false)({"use below the bar": 12}))
    wrong.covered["right"] -= 12
    text, misses = answer_rates.table([wrong])
    assert any("use below the bar" in miss for miss in misses)
    assert any("right covers" in miss for miss in misses)
    assert "| coin |" in text


def test_helpful_judges_are_improved_and_hopeless_ones_left():
    """Power: what the table of error rates alone would not show."""
    said = measure("two bad of six", 50, 4, trials=20, seed=2).said
    assert said["drop_prompts"] >= 15
    assert measure("stable and wrong", 50, 2, trials=20, seed=2).said["avoid"] >= 15
    assert measure("settled, .90", 200, 2, trials=10, seed=2).said["use"] >= 8


def test_truths_are_those_of_the_declared_shares():
    for world, right in (("settled, .90", 0.9), ("stable and wrong", 0.35), ("coin", 0.5)):
        pool = WORLDS[world](stream(3, world))
        assert truth_of(pool).right == pytest.approx(right, abs=0.03)
    pool = WORLDS["labels, 20% fails"](stream(3, "labels"))
    assert pool.verdicts == LABELS
    assert right_of(pool) == pytest.approx((0.95 + 0.8) / 2, abs=0.03)
    assert credit(pool).max() == 1


def test_the_majority_of_three_is_that_of_the_answer():
    """Two formulas: one from laws, one from counts of many calls."""
    law = stream(4, "law").dirichlet(np.ones(4), size=5)
    counted = majority_law(law * 1e7)
    assert answer_rates._majority(law) == pytest.approx(counted, abs=1e-5)
