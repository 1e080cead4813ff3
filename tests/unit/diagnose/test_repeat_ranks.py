"""Exchangeable repeats: the test has its size, sees an odd rank, and sees a copied one."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from judgelaw.diagnose import rank_test
from judgelaw.diagnose.repeat_ranks import rank_least, rank_statistic
from judgelaw.diagnose.shuffles import Shuffled, mixed_cells
from judgelaw.streams import stream
from judgelaw.worlds import World
from support.streams import drawn, findings, of_codes, unanimous

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
    finding = findings(of_codes(codes))["exchangeable_repeats"]
    assert finding.verdict == "problem"
    assert finding.figures["odd_rank"] == 0
    assert "Repeat 0 differs" in finding.headline
    assert "tie" in finding.headline
    assert len(finding.rows) == 4


def test_a_rank_that_is_replayed_is_named():
    tensor = drawn(world=WORLD, items=20, repeats=5)
    codes = tensor.ranked.copy()
    codes[..., 3] = codes[..., 1]
    finding = findings(of_codes(codes))["exchangeable_repeats"]
    assert finding.verdict == "problem"
    assert "Repeats 1 and 3 agree in 100.0%" in finding.headline


@pytest.mark.parametrize("seed", range(10))
def test_independent_repeats_are_not_accused(seed):
    finding = findings(drawn(world=WORLD, seed=seed, repeats=4))["exchangeable_repeats"]
    assert finding.verdict == "ok"


def test_a_unanimous_judge_and_unknown_ranks_are_unknown():
    for untestable in (unanimous(), replace(drawn(), ranked=None)):
        finding = findings(untestable)["exchangeable_repeats"]
        assert finding.verdict == "unknown"
        assert "not testable here" in finding.headline


def test_agreement_and_copies_are_z_scores_with_bonferroni():
    """Both p values from cells written out one by one."""
    tensor = drawn(world=WORLD, items=12, prompts=2, repeats=3, seed=6)
    found = rank_test(tensor)
    cells = tensor.ranked.reshape(-1, 3)
    agree = np.array([[np.mean(np.delete(z, r) == z[r]) for r in range(3)] for z in cells])
    off = agree - agree.mean(axis=1, keepdims=True)
    scores = off.sum(axis=0) / np.sqrt((off**2).mean(axis=1).sum())
    assert found.p_agreement == pytest.approx(min(1, 2 * 3 * norm.sf(np.abs(scores).max())))
    mixed = cells[[len(set(z)) > 1 for z in cells]]
    pairs = [(0, 1), (0, 2), (1, 2)]
    same = np.array([[z[r] == z[s] for r, s in pairs] for z in mixed])
    chance = same.mean(axis=1)
    surplus = (same.sum(axis=0) - chance.sum()) / np.sqrt((chance * (1 - chance)).sum())
    assert found.p_copy == pytest.approx(min(1, 3 * norm.sf(surplus.max())))
    assert found.copied == pairs[int(surplus.argmax())]


def test_a_copy_alone_is_a_problem():
    """Half of the calls of one repeat are those of another: verdicts by rank do not show it."""
    codes = drawn(world=WORLD, items=40, repeats=5).ranked.copy()
    copied = stream(6, "half").random(codes.shape[:-1]) < 0.5
    codes[..., 3] = np.where(copied, codes[..., 1], codes[..., 3])
    finding = findings(of_codes(codes))["exchangeable_repeats"]
    assert finding.figures["p_verdicts"] > 0.05
    assert finding.verdict == "problem"


def test_the_statistic_that_is_shuffled_is_the_smallest_p_value():
    """Over thirty tables each of the three is the smallest now and then."""
    smallest = set()
    for seed in range(30):
        tensor = drawn(world=WORLD, items=6, repeats=4, seed=seed)
        found, mixed = rank_test(tensor), mixed_cells(tensor)
        three = {
            "verdicts": 2 * found.p_verdicts,
            "agreement": 2 * found.p_agreement,
            "copy": found.p_copy,
        }
        own = mixed.complete.codes[None]
        shuffled = Shuffled(complete=own, groups=(own,), verdicts=mixed.verdicts)
        if min(three.values()) < 1:  # those of `rank_test` are cut at 1
            assert -rank_statistic(mixed)(shuffled)[0] == pytest.approx(min(three.values()))
        smallest.add(min(three, key=three.get))
    assert smallest == {"verdicts", "agreement", "copy"}


def test_two_odd_calls_at_one_rank_are_not_testable():
    """Two cells deviate at the same rank of four: chance does that in 1 of 4 audits."""
    codes = np.zeros((10, 3, 2, 4), dtype=int)
    codes[:2, 0, 0, 2] = 1
    tensor = of_codes(codes)
    assert rank_least(mixed_cells(tensor)) == pytest.approx(1 / 4)
    finding = findings(tensor)["exchangeable_repeats"]
    assert finding.verdict == "unknown"
    assert "2 of 60 cells are not unanimous" in finding.headline


def test_blocks_of_cells_add_up(monkeypatch):
    tensor = drawn(world=WORLD, items=12, repeats=4)
    whole = rank_test(tensor)
    monkeypatch.setattr("judgelaw.diagnose.repeat_ranks._CELLS_AT_ONCE", 7)
    parts = rank_test(tensor)
    for name in ("cells", "statistic", "p_verdicts", "p_agreement", "p_copy", "copied"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name))
