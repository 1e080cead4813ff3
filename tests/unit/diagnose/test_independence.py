"""Dependence between cells: one list of seeds for every cell is found, independence is not."""

from itertools import product

import numpy as np
import pytest

from judgelaw.diagnose import cells_finding, same_rank_excess
from judgelaw.diagnose.family import Test
from judgelaw.diagnose.independence import cells_least, cells_statistic
from judgelaw.diagnose.shuffles import Shuffled, mixed_cells, shuffled_ps
from judgelaw.streams import stream
from judgelaw.uncertainty import Resampling
from judgelaw.worlds import World
from support.streams import drawn, findings, of_codes, reused_seeds, unanimous


def test_excess_is_what_counting_pairs_says():
    tensor = drawn(items=3, prompts=2, repeats=3)
    z = tensor.ranked.reshape(3, 4, 3)
    for i, excess in enumerate(same_rank_excess(tensor)):
        same, different = [], []
        for (u, r), (v, s) in product(np.ndindex(4, 3), repeat=2):
            if u != v:
                (same if r == s else different).append(z[i, u, r] == z[i, v, s])
        assert excess == pytest.approx(np.mean(same) - np.mean(different))


def settled_with_reused_seeds(items=50, noise=0.02):
    """A judge that deviates in 2 of 100 calls, with one list of seeds for all cells of an item."""
    u = stream(1, "settled").random((items, 1, 1, 4))
    return of_codes(np.broadcast_to(u < noise, (items, 3, 2, 4)).astype(int))


def test_reused_seeds_are_found():
    finding = findings(reused_seeds(strata=2))["cell_dependence"]
    assert finding.verdict == "problem"
    assert "seed" in finding.advice
    assert finding.figures["excess"] > 0.5
    assert "clean audits shows this" in finding.headline


def test_reused_seeds_of_a_settled_judge_are_found():
    """Few calls deviate, so the excess is small; but those that do, do so together."""
    tensor = settled_with_reused_seeds()
    finding = findings(tensor)["cell_dependence"]
    assert finding.figures["excess"] < 0.05
    assert finding.verdict == "problem"


@pytest.mark.parametrize("seed", range(8))
def test_independent_cells_are_not_accused(seed):
    world = World.from_effects(prompt=0.004, order=0.01, item_spread=0.3)
    assert findings(drawn(world=world, seed=seed))["cell_dependence"].verdict == "ok"


def test_one_cell_and_unanimous_cells_are_not_testable():
    for untestable in (drawn(prompts=1, orders=1), unanimous()):
        finding = findings(untestable)["cell_dependence"]
        assert finding.verdict == "unknown"
        assert finding.headline == "Dependence between cells is not testable here."


def test_too_few_calls_that_disagree_are_not_testable_and_the_reason_is_told():
    """Two cells of one item deviate at one rank of four: chance does that in 1 of 4 audits."""
    codes = np.zeros((10, 3, 2, 4), dtype=int)
    codes[0, :2, 0, 1] = 1
    finding = findings(of_codes(codes))["cell_dependence"]
    assert finding.verdict == "unknown"
    assert "by chance in 1 of 4 audits" in finding.advice


def test_statistic_is_the_excess_in_other_units():
    """Both order the arrangements of a table alike, single and unanimous cells included."""
    tensor = drawn(items=6, prompts=2, repeats=3, world=World.from_effects(base=(0.8, 0.2, 0, 0)))
    mixed = mixed_cells(tensor)
    rng = stream(2, "arrangements")
    statistic, excess = [], []
    for _ in range(20):
        codes = rng.permuted(tensor.ranked, axis=-1)
        inside = codes[tuple(mixed.complete.cells.T)][None]
        shuffled = Shuffled(complete=inside, groups=(inside,), verdicts=4)
        statistic.append(float(cells_statistic(mixed)(shuffled)[0]))
        excess.append(same_rank_excess(of_codes(codes)).mean())
    slope, at = np.polyfit(statistic, excess, 1)
    assert slope > 0
    assert np.polyval([slope, at], statistic) == pytest.approx(excess)


def test_least_p_is_reached_by_cells_that_move_together():
    """Three items with two cells of one odd call each: all match in (1/4)^3 of arrangements."""
    codes = np.zeros((3, 2, 1, 4), dtype=int)
    codes[:, :, 0, 1] = 1
    mixed = mixed_cells(of_codes(codes))
    assert cells_least(mixed) == pytest.approx(1 / 64)
    (p,) = shuffled_ps(mixed, [cells_statistic(mixed)], stream(3, "least"), 19_999)
    assert p == pytest.approx(1 / 64, rel=0.9)


@pytest.mark.parametrize(
    ("mean", "p", "verdict"),
    [(0.02, 0.01, "problem"), (0.004, 0.01, "notice"), (0.02, 0.07, "notice"), (0.02, 0.2, "ok")],
    ids=["sure and large", "sure and small", "less sure", "not sure"],
)
def test_a_problem_is_both_sure_and_large(monkeypatch, mean, p, verdict):
    tensor = drawn(items=30, strata=None)
    wave = np.linspace(-0.001, 0.001, 30)
    monkeypatch.setattr("judgelaw.diagnose.independence.same_rank_excess", lambda _: mean + wave)
    test = Test(p=p, least=0.0, together=p)
    assert cells_finding(tensor, test, Resampling(draws=10, seed=1), subject="j").verdict == verdict
