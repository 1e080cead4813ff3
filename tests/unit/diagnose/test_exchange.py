"""Exchangeable repeats: the test has its size, sees an odd rank, and sees a copied one."""

import numpy as np
import pytest

from judgelaw.diagnose import exchange_finding, rank_test
from judgelaw.streams import stream
from judgelaw.worlds import World
from support.streams import drawn, of_codes, unanimous

WORLD = World.from_effects(prompt=0.004, order=0.01, item_spread=0.3)


def test_verdict_statistic_is_uniform_under_independent_calls():
    """Its p value is right in the middle and in the tail: 400 data sets, binomial bounds."""
    ps = []
    for seed in range(400):
        codes = WORLD.draw(stream(seed, "size"), items=10, prompts=3, orders=2, repeats=4)
        ps.append(rank_test(of_codes(codes)).p_verdicts)
    small = np.mean(np.array(ps) < 0.1)
    assert 0.06 < small < 0.145  # 99.9% binomial bounds around .1
    assert 0.42 < np.mean(np.array(ps) < 0.5) < 0.58


def test_statistic_equals_mantel_haenszel_for_two_ranks_and_two_verdicts():
    """With two ranks and two verdicts it is McNemar's: (b - c)^2 / (b + c)."""
    codes = stream(2, "mcnemar").integers(0, 2, size=(30, 1, 1, 2))
    found = rank_test(of_codes(codes, verdicts=("yes", "no")))
    first, second = codes[..., 0], codes[..., 1]
    b, c = ((first < second).sum(), (first > second).sum())
    assert found.df == 1
    assert found.statistic == pytest.approx((b - c) ** 2 / (b + c))


def test_one_different_rank_is_named():
    tensor = drawn(world=WORLD, items=40, repeats=4)
    codes = tensor.ranked.copy()
    warm = stream(4, "warm").random(codes.shape[:-1]) < 0.3
    codes[..., 0] = np.where(warm, 2, codes[..., 0])
    finding = exchange_finding(rank_test(of_codes(codes)), tensor.verdicts, subject="judge")
    assert finding.verdict == "problem"
    assert finding.figures["odd_rank"] == 0
    assert "Repeat 0 differs" in finding.headline
    assert "tie" in finding.headline
    assert len(finding.rows) == 4


def test_a_rank_that_is_replayed_is_named():
    tensor = drawn(world=WORLD, items=20, repeats=5)
    codes = tensor.ranked.copy()
    codes[..., 3] = codes[..., 1]
    finding = exchange_finding(rank_test(of_codes(codes)), tensor.verdicts, subject="judge")
    assert finding.verdict == "problem"
    assert "Repeats 1 and 3 agree in 100.0%" in finding.headline


@pytest.mark.parametrize("seed", range(10))
def test_independent_repeats_are_not_accused(seed):
    tensor = drawn(world=WORLD, seed=seed, repeats=4)
    finding = exchange_finding(rank_test(tensor), tensor.verdicts, subject="judge")
    assert finding.verdict == "ok"


def test_a_unanimous_judge_and_unknown_ranks_are_unknown():
    from dataclasses import replace

    tensor = drawn()
    for untestable in (unanimous(), replace(tensor, ranked=None)):
        finding = exchange_finding(rank_test(untestable), tensor.verdicts, subject="judge")
        assert finding.verdict == "unknown"
