"""What charts draw is what the analysis says: each value in its own place, with its own sign."""

import math
from dataclasses import replace

import numpy as np
import pytest

from judgelaw.analysis import analyze
from judgelaw.page.sections.layers import discrepancies_of, reference_floor
from judgelaw.page.sections.parts import component_marks, shares, shares_of
from judgelaw.page.sections.position_bias import item_leans
from judgelaw.page.sections.similarity import distances
from judgelaw.page.sections.verdicts import outcome_rows
from judgelaw.quantities import Estimate, Quantities, Quantity, rows_of
from judgelaw.vocabulary import COMPONENTS
from judgelaw.worlds import World
from support.reports import bare, table
from support.streams import drawn, of_codes

TENSOR = drawn(world=World.from_effects(prompt=0.02, order=0.01), repeats=4, items=12)


@pytest.fixture(scope="module")
def judge():
    return analyze({(None, "a"): TENSOR}, draws=50, permutations=0).judges["a"]


def test_marks_hold_corrected_and_plugin_apart(judge):
    marks = component_marks(judge)
    assert [mark.name for mark in marks] == [term.title for term in COMPONENTS.values()]
    for mark, shown in zip(marks, judge.components.values(), strict=True):
        assert (mark.value, mark.ring) == (shown.estimate, shown.plugin)
        assert (mark.band, mark.line) == (shown.interval, shown.call_interval)


def parts(judge, share=(0.0349, 0.9621), **estimates):
    """Return a judge with these estimates alone, and one range for every share."""
    components = {
        name: Quantity(
            {
                "estimate": Estimate(estimate=estimates.get(name, math.nan)),
                "share": Estimate(estimate=math.nan, call_interval=share),
            }
        )
        for name in judge.components
    }
    return replace(judge, quantities=Quantities(tuple(rows_of("depths", components, 4))))


def test_no_share_below_zero_is_drawn_and_the_widths_add_up_to_one(judge):
    judge = parts(judge, call=0.3, prompt=-0.02, order=0.1, interaction=0.0)
    found = {s.component: s for s in shares_of({"j": judge})}
    widths = {name: s.width for name, s in found.items()}
    assert widths == pytest.approx({"call": 0.75, "prompt": 0, "order": 0.25, "interaction": 0})
    bars = shares(list(found.values()), width=680)["layer"][0]["data"]["values"]
    assert [bar["start"] for bar in bars] == pytest.approx([0, 0.75])
    assert [bar["end"] for bar in bars] == pytest.approx([0.75, 1])


def test_a_share_is_written_as_its_range_rounded_outwards(judge):
    (call, _) = shares_of({"": parts(judge, call=0.3, order=0.1)})
    assert call.text == "3–97%"
    assert call.label == "Chance: 3–97% of the disagreement"


def test_a_judge_whose_shares_cannot_be_told_has_no_bar(judge):
    assert shares_of({"j": parts(judge, share=(0.0, 1.0), call=0.3, prompt=0.1)}) == []
    assert shares_of({"j": parts(judge, call=-0.1, prompt=-0.2)}) == []


def test_distances_are_those_of_their_pair(judge):
    found = [d.value for d in distances(judge.prompt_distances)]
    assert found == judge.prompt_distances.squared.ravel().tolist()
    assert len(set(found)) > 3


def test_a_judge_that_takes_what_is_shown_first_leans_to_it():
    codes = np.zeros((5, 2, 2, 3), dtype=int)
    codes[:, :, 1] = 1  # the first shown in order BA is candidate 2
    assert item_leans(of_codes(codes)).tolist() == [1.0] * 5


def test_outcome_shares_add_up_to_one_in_every_row():
    rows = outcome_rows(TENSOR)
    by_row = {row.row: 0.0 for row in rows}
    for row in rows:
        by_row[row.row] += row.share
    assert len(by_row) == 6
    assert list(by_row.values()) == pytest.approx([1.0] * 6)


def test_reference_figures_come_from_their_columns():
    matched = [("b", 2, 0.9, 0.8), ("a", 2, 0.03, 0.01)]
    halves = [("a", "halves", 0.5, 0.4, 0.6), ("a", "interleaved", 0.02, 0.01, 0.03)]
    mae = ("half_to_half_mae", "half_to_half_mae_low", "half_to_half_mae_high")
    tables = (
        table("matched_reference", ("judge", "R", "plug_in", "debiased"), matched),
        table("reference_split_half", ("judge", "split", *mae), halves),
    )
    analysis = bare(tables={found.name: found for found in tables}).analysis
    (found,) = discrepancies_of(analysis, "a")
    assert (found.repeats, found.plugin, found.corrected) == (2, 0.03, 0.01)
    floor = reference_floor(analysis, "a")
    assert (floor.value, floor.low, floor.high) == (0.02, 0.01, 0.03)
