"""One error rate for a list of tests: exact p values, Holm, and tests that could not speak."""

from itertools import pairwise
from math import inf, isnan, nan

import numpy as np
import pytest

from judgelaw.diagnose import NOTICE, PROBLEM
from judgelaw.diagnose.family import (
    ENOUGH,
    Bundle,
    Test,
    by_chance,
    family_draws,
    holm,
    permutation_p,
    permutation_ps,
    rate,
    settle,
    severity,
    testable as can_be_tested,
)
from judgelaw.streams import stream
from support.coverage import plausible


def test_holm_is_the_step_down_of_bonferroni():
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.5, 0.9]) == [1.0, 1.0]
    assert holm([]) == []


def test_tests_that_could_not_speak_do_not_make_others_pay():
    """Two tests reach .001; eight could not get below .2: the two share the level alone."""
    least = [0.001, *[0.2] * 8, 0.001]
    assert can_be_tested(least) == [0, 9]
    assert can_be_tested([0.2, inf]) == []


def test_a_test_is_left_out_only_where_it_cannot_reach_the_shared_level():
    """Five tests that reach .019 share .10 / 5 = .02; five that reach .021 are one too many."""
    assert len(can_be_tested([0.019] * 5)) == 5
    assert len(can_be_tested([0.021] * 5)) == 0
    assert len(can_be_tested([0.024] * 4)) == 4


def test_only_testable_tests_are_run_and_all_are_judged_together():
    asked = []

    def run(wanted, most):
        asked.append((list(wanted), most))
        return [0.004] * len(wanted)

    one = Bundle(least={"a": 0.0, "b": inf}, run=run)
    two = Bundle(least={"c": 0.0}, run=run)
    never = Bundle(least={"d": 1.0}, run=run)
    tests = settle({"one": one, "two": two, "never": never})
    first, second, third = tests["one"], tests["two"], tests["never"]
    assert asked == [(["a"], family_draws(2)), (["c"], family_draws(2))]
    assert first["a"] == Test(p=0.004, least=0.0, together=pytest.approx(0.008))
    assert second["c"].together == pytest.approx(0.008)
    assert isnan(first["b"].together)
    assert isnan(third["d"].p)
    assert third["d"].least == 1


@pytest.mark.parametrize(
    ("together", "material", "verdict"),
    [
        (PROBLEM, True, "problem"),
        (PROBLEM, False, "notice"),
        (NOTICE, True, "notice"),
        (NOTICE + 1e-9, True, "ok"),
        (nan, True, "unknown"),
    ],
)
def test_severity(together, material, verdict):
    assert severity(Test(p=0.0, least=0.0, together=together), material=material) == verdict


def test_words_give_the_rate():
    assert rate(Test(together=0.05)) == " At most 1 in 20 clean audits shows this."
    assert rate(Test(together=0.00049)) == " At most 1 in 2,040 clean audits shows this."
    assert rate(Test(together=0.2)) == rate(Test()) == ""
    assert by_chance(Test(least=1 / 16)).endswith("by chance in 1 of 16 audits")
    assert by_chance(Test(least=1.0)).endswith("by chance in every audit")


def uniform_ps(most, tables, seed):
    """P values of statistics that have the same law as their draws."""
    rng = stream(seed, "uniform")
    return np.array([permutation_p(rng.random(), rng.random, most) for _ in range(tables)])


@pytest.mark.parametrize("level", [0.005, 0.02, 0.1, 0.3])
def test_p_values_that_stop_early_are_exact(level):
    """Stopping does not make small p values more frequent than they may be."""
    ps = uniform_ps(most=999, tables=4_000, seed=1)
    assert plausible(int((ps <= level).sum()), len(ps), 0.8 * level, level)


def test_stopping_counts_the_draws_that_it_took():
    """Every second draw reaches the statistic: the fifth does at the tenth draw."""
    values = iter(np.tile([0.0, 1.0], 1_000))

    def draw(size):
        return np.array([next(values) for _ in range(size)])

    assert permutation_p(1.0, draw, 999) == ENOUGH / (2 * ENOUGH)


def test_a_statistic_that_no_draw_reaches_has_the_least_p_value():
    calls = []

    def draw(size, wanted):
        calls.append((size, list(wanted)))
        return [np.zeros(size) for _ in wanted]

    assert permutation_ps([1.0, 0.0], draw, 99) == [1 / 100, 1.0]
    assert sum(size for size, _ in calls) == 99
    assert calls[0][1] == [0, 1]
    assert all(wanted == [0] for _, wanted in calls[1:]), "what is decided is drawn no more"
    assert all(a <= b for (a, _), (b, _) in pairwise(calls[:-1])), "chunks grow"


def test_rounding_does_not_break_ties():
    assert permutation_p(0.1 + 0.2, lambda size: np.full(size, 0.3), 99) == 1
