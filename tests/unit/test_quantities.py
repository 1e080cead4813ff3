"""The long table: every estimate with its keys, and the views that are selections of it."""

import json
from math import nan

import pytest

from judgelaw.analysis import analyze
from judgelaw.quantities import Estimate, Quantities, Quantity, rows_of, rows_of_judge
from support.small_worlds import worlds


@pytest.fixture(scope="module")
def analysis():
    return analyze(**worlds()["pairs"], draws=50, permutations=0)


def test_every_number_of_a_component_in_the_json_is_an_estimate_of_a_row(analysis):
    document = analysis.to_json()["judges"]["j"]
    rows = {(r.group, r.at, r.quantity, r.statistic): r.estimate for r in analysis.quantities.rows}
    for depth, components in document["depths"].items():
        for name, found in components.items():
            corrected = rows["depths", int(depth), name, "estimate"]
            assert found["estimate"] == corrected.estimate
            assert found["interval"] == list(corrected.interval)
            assert found["call_interval"] == list(corrected.call_interval)
            assert found["plugin"] == rows["depths", int(depth), name, "plugin"].estimate
            assert found["share"] == rows["depths", int(depth), name, "share"].estimate
    assert document["components"] == document["depths"]["4"]
    for name, rate in document["changes"].items():
        assert rate["estimate"] == rows["changes", None, name, "estimate"].estimate
    for name in ("gold_match", "unanimous_cells"):
        assert document[name] == rows["figures", None, name, "estimate"].estimate


def test_rows_are_selected_by_their_keys_and_go_into_a_frame(analysis):
    found = analysis.quantities.select(group="strata", quantity="prompt", statistic="estimate")
    assert [row.at for row in found] == ["a", "b"]
    frame = found.to_frame()
    assert frame["estimate"].tolist() == [row.estimate.estimate for row in found]
    assert {"judge", "layer", "group", "at", "quantity", "statistic"} <= set(frame.columns)
    assert json.dumps(found.to_json())
    assert "2 estimates" in repr(found)


def test_a_view_finds_its_statistics():
    by = {
        "estimate": Estimate(estimate=0.2, low=0.1, high=0.3, call_se=0.01),
        "more": Estimate(estimate=0.05, call_interval=(0.0, 0.1)),
    }
    rows = rows_of_judge("j", "audit", rows_of("changes", {"swap": Quantity(by)}))
    rate = rows.of("changes")["swap"]
    assert (rate.estimate, rate.interval, rate.call_se) == (0.2, (0.1, 0.3), 0.01)
    assert (rate.more, rate.more_interval) == (0.05, (0.0, 0.1))
    assert (rate.plugin != rate.plugin, rate.share_interval) == (True, None)
    assert [(r.judge, r.layer) for r in rows] == [("j", "audit")] * 2
    assert Quantities().of("changes") == {}


def test_what_cannot_be_had_is_null_with_its_reason():
    gone = Estimate(estimate=nan, reason="one order")
    assert gone.to_json() == {"estimate": None, "low": None, "high": None, "reason": "one order"}
    assert Quantity({"estimate": gone}).to_json(("estimate",)) is None
