"""Agreement by rank gap and by elapsed time: fires on drift, and not on independent calls."""

from itertools import combinations

import numpy as np
import pytest

from judgelaw.diagnose import How, drift_finding, rank_drift, time_drift, time_span
from judgelaw.streams import stream
from judgelaw.worlds import World
from support.streams import drawn, of_codes

HOW = How(draws=400, seed=1)


def slope_by_pairs(tensor, gap):
    """Regress agreement on the gap over pairs of calls, with an intercept for every cell."""
    xs, ys = [], []
    for cell in np.ndindex(tensor.ranked.shape[:-1]):
        calls = tensor.ranked[cell]
        pairs = list(combinations(range(len(calls)), 2))
        x = np.array([gap(cell, r, s) for r, s in pairs])
        y = np.array([float(calls[r] == calls[s]) for r, s in pairs])
        xs.append(x - x.mean())
        ys.append(y - y.mean())
    x, y = np.concatenate(xs), np.concatenate(ys)
    return (x @ y) / (x @ x)


def test_slope_is_least_squares_over_pairs():
    tensor = drawn(items=6, repeats=5)
    found = rank_drift(tensor, HOW)
    assert found.slope.estimate == pytest.approx(slope_by_pairs(tensor, lambda _, r, s: s - r))
    assert found.reach == 3  # gaps 1 to 4
    assert [pairs for *_, pairs, _ in found.levels] == [4 * 36, 3 * 36, 2 * 36, 36]


def test_time_slope_is_least_squares_on_log_seconds():
    tensor = drawn(items=5, repeats=4)
    seconds = stream(3, "times").random(tensor.ranked.shape) * 500
    found = time_drift(tensor, seconds, HOW)

    def gap(cell, r, s):
        return np.log1p(abs(seconds[cell][s] - seconds[cell][r]))

    assert found.slope.estimate == pytest.approx(slope_by_pairs(tensor, gap))
    assert sum(pairs for *_, pairs, _ in found.levels) == tensor.ranked[..., 0].size * 6


def test_slow_items_that_agree_more_are_no_drift():
    """Cells differ in pace and in agreement; within a cell, calls are independent."""
    laws = np.repeat([[0.97, 0.01, 0.01, 0.01], [0.25, 0.25, 0.25, 0.25]], 10, axis=0)
    world = World.from_laws(np.broadcast_to(laws[:, None, None], (20, 6, 2, 4)))
    tensor = world.tensor(items=20, prompts=6, orders=2, repeats=4, seed=3)
    pace = np.repeat([60.0, 1.0], 10)[:, None, None, None]
    seconds = pace * (np.arange(4) + 0.1 * stream(4, "jitter").random(tensor.ranked.shape))
    finding = drift_finding(time_drift(tensor, seconds, HOW), kind="time", subject="judge")
    assert finding.verdict == "ok"


def test_elapsed_time_of_adjacent_repeats_accuses_nobody():
    """Long answers take longer, so the time between adjacent calls depends on what was said."""
    tensor = drawn(items=40, repeats=4, world=World.from_effects(base=[0.1, 0.1, 0.7, 0.1]))
    durations = np.where(tensor.ranked == 2, 3.0, 1.0)
    seconds = np.cumsum(durations, axis=-1)
    drift = time_drift(tensor, seconds, HOW)
    assert drift_finding(drift, kind="time", subject="j").verdict == "problem"
    finding = drift_finding(drift, kind="time", subject="j", adjacent=True)
    assert finding.verdict == "unknown"
    assert "schedule: random" in finding.advice


def test_copied_repeats_are_found():
    """Repeats that copy the one before them agree less, the further apart they are."""
    tensor = drawn(world=World.from_effects().with_copying(0.5), items=40)
    finding = drift_finding(rank_drift(tensor, HOW), kind="rank", subject="judge")
    assert finding.verdict == "problem"
    assert finding.figures["slope"] < 0
    assert "not independent" in finding.advice


@pytest.mark.parametrize("seed", range(5))
def test_independent_repeats_are_not_accused(seed):
    tensor = drawn(seed=seed, world=World.from_effects(order=0.01, item_spread=0.3))
    finding = drift_finding(rank_drift(tensor, HOW), kind="rank", subject="judge")
    assert finding.verdict == "ok"


def test_a_model_that_changes_during_the_run_is_found_by_time():
    """The law flips half-way: calls on one side of the change agree, across it they do not."""
    rng = stream(5, "changed model")
    seconds = rng.random((40, 3, 2, 6)) * 1000
    late = seconds > 500
    codes = np.where(rng.random(seconds.shape) < 0.9, late, ~late).astype(int)
    tensor = of_codes(codes, strata=2)
    finding = drift_finding(time_drift(tensor, seconds, HOW), kind="time", subject="judge")
    assert finding.verdict == "problem"
    assert finding.columns[3] == "agreement"


def test_times_that_explain_nothing_are_not_accused():
    tensor = drawn(seed=8)
    seconds = stream(8, "idle").random(tensor.ranked.shape) * 1000
    finding = drift_finding(time_drift(tensor, seconds, HOW), kind="time", subject="judge")
    assert finding.verdict == "ok"


def test_two_ranks_or_no_times_are_unknown_not_ok():
    assert rank_drift(drawn(repeats=2), HOW) is None
    finding = drift_finding(None, kind="rank", subject="judge")
    assert finding.verdict == "unknown"
    assert "three repeats" in finding.advice
    nothing = np.full((40, 3, 2, 6), np.nan)
    assert time_drift(drawn(), nothing, HOW) is None
    assert np.isnan(time_span(nothing))


def test_missing_calls_leave_their_pairs_out():
    tensor = drawn(items=4, repeats=4)
    codes = tensor.ranked.copy()
    codes[0, 0, 0, 3] = -1
    part = of_codes(codes, strata=2)
    total = sum(pairs for *_, pairs, _ in rank_drift(part, HOW).levels)
    assert total == 4 * 6 * 6 - 3


def test_adjacent_repeats_are_said_to_hide_drift():
    found = drift_finding(rank_drift(drawn(), HOW), kind="rank", subject="", adjacent=True)
    assert "adjacent in time" in found.headline


def test_blocks_of_items_change_nothing(monkeypatch):
    """Times belong to their items, whichever block these are in."""
    tensor = drawn(items=8, repeats=4)
    seconds = stream(3, "times").random(tensor.ranked.shape) * 500
    whole = rank_drift(tensor, HOW), time_drift(tensor, seconds, HOW)
    monkeypatch.setattr("judgelaw.diagnose.drift._ITEMS_AT_ONCE", 3)
    parts = rank_drift(tensor, HOW), time_drift(tensor, seconds, HOW)
    for one, other in zip(whole, parts, strict=True):
        assert other.slope.estimate == pytest.approx(one.slope.estimate)
        assert other.slope.band == pytest.approx(one.slope.band)
        assert other.reach == one.reach
        assert [level[:3] for level in other.levels] == [level[:3] for level in one.levels]


def test_adjacent_repeats_are_still_tested_by_rank():
    tensor = drawn(items=8, repeats=4)
    finding = drift_finding(rank_drift(tensor, HOW), kind="rank", subject="judge", adjacent=True)
    assert finding.verdict == "ok"


def test_the_band_that_decides_is_wider_than_the_one_shown():
    slope = rank_drift(drawn(items=20, repeats=4), HOW).slope
    assert slope.outer[0] < slope.band[0] < slope.band[1] < slope.outer[1]
