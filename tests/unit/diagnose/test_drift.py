"""Agreement by rank gap and by elapsed time: fires on drift, and not on independent calls."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from judgelaw.diagnose import drift_finding, rank_drift, time_drift, time_span
from judgelaw.diagnose.drift import gap_statistic
from judgelaw.diagnose.family import UNTESTABLE, Test
from judgelaw.diagnose.shuffles import mixed_cells, shuffled_ps
from judgelaw.streams import stream
from judgelaw.uncertainty import Resampling
from judgelaw.worlds import World
from support.streams import drawn, findings, of_codes, unanimous

HOW = Resampling(draws=400, seed=1)


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
    finding = findings(tensor, seconds=seconds)["elapsed_time"]
    assert finding.verdict == "ok"


def test_elapsed_time_of_adjacent_repeats_accuses_nobody():
    """Long answers take longer, so the time between adjacent calls depends on what was said."""
    tensor = drawn(items=40, repeats=4, world=World.from_effects(base=[0.1, 0.1, 0.7, 0.1]))
    durations = np.where(tensor.ranked == 2, 3.0, 1.0)
    seconds = np.cumsum(durations, axis=-1)
    assert findings(tensor, seconds=seconds)["elapsed_time"].verdict == "problem"
    finding = findings(tensor, seconds=seconds, adjacent=True)["elapsed_time"]
    assert finding.verdict == "unknown"
    assert "schedule: random" in finding.advice


def test_copied_repeats_are_found():
    """Repeats that copy the one before them agree less, the further apart they are."""
    tensor = drawn(world=World.from_effects().with_copying(0.5), items=40)
    finding = findings(tensor)["rank_gap"]
    assert finding.verdict == "problem"
    assert finding.figures["slope"] < 0
    assert "not independent" in finding.advice


@pytest.mark.parametrize("seed", range(5))
def test_independent_repeats_are_not_accused(seed):
    tensor = drawn(seed=seed, world=World.from_effects(order=0.01, item_spread=0.3))
    finding = findings(tensor)["rank_gap"]
    assert finding.verdict == "ok"


def test_a_model_that_changes_during_the_run_is_found_by_time():
    """The law flips half-way: calls on one side of the change agree, across it they do not."""
    rng = stream(5, "changed model")
    seconds = rng.random((40, 3, 2, 6)) * 1000
    late = seconds > 500
    codes = np.where(rng.random(seconds.shape) < 0.9, late, ~late).astype(int)
    tensor = of_codes(codes, strata=2)
    finding = findings(tensor, seconds=seconds)["elapsed_time"]
    assert finding.verdict == "problem"
    assert finding.columns[3] == "agreement"


def test_times_that_explain_nothing_are_not_accused():
    tensor = drawn(seed=8)
    seconds = stream(8, "idle").random(tensor.ranked.shape) * 1000
    finding = findings(tensor, seconds=seconds)["elapsed_time"]
    assert finding.verdict == "ok"


def test_two_ranks_or_no_times_are_unknown_not_ok():
    assert rank_drift(drawn(repeats=2), HOW) is None
    finding = drift_finding(None, UNTESTABLE, kind="rank", subject="judge")
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
    assert "adjacent in time" in findings(drawn(), adjacent=True)["rank_gap"].headline


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
    assert findings(tensor, adjacent=True)["rank_gap"].verdict == "ok"


def unequal(seed=0):
    """Cells of two to five calls, at any ranks."""
    codes = drawn(items=5, repeats=5, seed=seed).ranked.copy()
    gone = np.argsort(stream(seed, "gone").random(codes.shape), axis=-1) < 3
    gone &= stream(seed, "which").random(codes.shape) < 0.5
    codes[gone] = -1
    return of_codes(codes)


@pytest.mark.parametrize("table", [drawn(items=5, repeats=5), unequal()], ids=["equal", "unequal"])
def test_statistics_are_the_slopes_times_a_constant(table):
    """Unanimous cells add nothing to xy; ranks and times keep their cells."""
    seconds = stream(5, "clock").random(table.ranked.shape) * 300
    mixed = mixed_cells(table)
    for found, statistic, gap in (
        (rank_drift(table, HOW), gap_statistic(mixed), lambda _, r, s: s - r),
        (
            time_drift(table, seconds, HOW),
            gap_statistic(mixed, seconds),
            lambda cell, r, s: np.log1p(abs(seconds[cell][s] - seconds[cell][r])),
        ),
    ):
        squares = 0.0
        for cell in np.ndindex(table.ranked.shape[:-1]):
            there = np.flatnonzero(table.ranked[cell] >= 0)
            x = [gap(cell, r, s) for r, s in combinations(there, 2)]
            squares += np.var(x) * len(x)
        seen = []
        shuffled_ps(mixed, [lambda z, f=statistic, k=seen: k.append(f(z)) or k[-1]], one_draw(), 1)
        assert seen[0][0] == pytest.approx(abs(found.slope.estimate) * squares)


def one_draw():
    return stream(9, "one draw")


def test_shuffled_calls_stay_in_their_cells_and_keep_their_verdicts():
    """The p value of a constant statistic is 1, and every arrangement has the cell's counts."""
    table = unequal(3)
    mixed = mixed_cells(table)
    own = [np.sort(group.codes, axis=-1) for group in mixed.groups]

    def constant(shuffled):
        for codes, sorted_ in zip(shuffled.groups, own, strict=True):
            assert (np.sort(codes, axis=-1) == sorted_).all()
        return np.zeros(len(shuffled.complete))

    (p,) = shuffled_ps(mixed, [constant], one_draw(), 200)
    assert p == 1


def test_only_cells_with_two_verdicts_are_shuffled():
    """A call that is missing is no second verdict."""
    codes = np.zeros((4, 2, 1, 3), dtype=int)
    codes[0, 0, 0, 2] = -1
    codes[1, 0, 0] = (0, 1, -1)
    codes[2, 1, 0] = (2, 2, 1)
    mixed = mixed_cells(of_codes(codes))
    assert [group.cells.tolist() for group in mixed.groups] == [[[1, 0, 0]], [[2, 1, 0]]]
    assert mixed.complete.codes.tolist() == [[2, 2, 1]]


def test_times_of_adjacent_repeats_do_not_count_among_the_tests():
    tensor = drawn(world=World.from_effects().with_copying(0.5), items=40)
    seconds = np.cumsum(np.ones(tensor.ranked.shape), axis=-1) ** 2
    without, beside = findings(tensor), findings(tensor, seconds=seconds, adjacent=True)
    assert beside["rank_gap"].figures == without["rank_gap"].figures


def test_large_streams_are_shuffled_on_evenly_spaced_items(monkeypatch):
    tensor = drawn(items=40, repeats=4)
    monkeypatch.setattr("judgelaw.diagnose.shuffles._CALLS_AT_MOST", tensor.ranked.size // 4)
    mixed = mixed_cells(tensor)
    assert set(mixed.complete.cells[:, 0]) == set(range(0, 40, 4))
    assert findings(tensor)["rank_gap"].verdict == "ok"


def test_a_settled_judge_that_drifts_is_found():
    """One item in ten is open, and there the second half of the calls answers differently."""
    codes = np.zeros((50, 3, 2, 6), dtype=int)
    codes[::10, ..., 3:] = 1
    finding = findings(of_codes(codes))["rank_gap"]
    assert finding.verdict == "problem"


def test_one_item_is_enough_to_test():
    codes = np.zeros((1, 6, 2, 6), dtype=int)
    codes[..., 3:] = 1
    assert findings(of_codes(codes))["rank_gap"].verdict == "problem"


def test_unanimous_cells_are_not_testable_rather_than_fine():
    finding = findings(unanimous())["rank_gap"]
    assert finding.verdict == "unknown"
    assert finding.advice.startswith("Not testable here")


@pytest.mark.parametrize(
    ("p", "scale", "verdict"),
    [(0.01, 1.0, "problem"), (0.01, 1e-4, "notice"), (0.07, 1.0, "notice"), (0.2, 1.0, "ok")],
)
def test_a_problem_is_both_sure_and_large(p, scale, verdict):
    drift = rank_drift(drawn(world=World.from_effects().with_copying(0.5)), HOW)
    drift = replace(drift, reach=drift.reach * scale)
    test = Test(p=p, least=0.0, together=p)
    assert drift_finding(drift, test, kind="rank", subject="j").verdict == verdict
