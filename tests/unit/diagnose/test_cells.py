"""Dependence between cells: one list of seeds for every cell is found, independence is not."""

from itertools import product

import numpy as np
import pytest

from judgelaw.diagnose import How, cells_finding, same_rank_excess
from judgelaw.worlds import World
from support.streams import drawn, reused_seeds, unanimous

HOW = How(draws=400, seed=1)


def test_excess_is_what_counting_pairs_says():
    tensor = drawn(items=3, prompts=2, repeats=3)
    z = tensor.ranked.reshape(3, 4, 3)
    for i, excess in enumerate(same_rank_excess(tensor)):
        same, different = [], []
        for (u, r), (v, s) in product(np.ndindex(4, 3), repeat=2):
            if u != v:
                (same if r == s else different).append(z[i, u, r] == z[i, v, s])
        assert excess == pytest.approx(np.mean(same) - np.mean(different))


def test_reused_seeds_are_found():
    finding = cells_finding(reused_seeds(strata=2), HOW, subject="judge")
    assert finding.verdict == "problem"
    assert "seed" in finding.advice
    assert finding.figures["excess"] > 0.5


@pytest.mark.parametrize("seed", range(8))
def test_independent_cells_are_not_accused(seed):
    world = World.from_effects(prompt=0.004, order=0.01, item_spread=0.3)
    finding = cells_finding(drawn(world=world, seed=seed), HOW, subject="judge")
    assert finding.verdict == "ok"


def test_one_cell_and_unanimous_cells_are_unknown():
    for untestable in (drawn(prompts=1, orders=1), unanimous()):
        assert cells_finding(untestable, HOW, subject="judge").verdict == "unknown"


@pytest.mark.parametrize(
    ("mean", "spread", "verdict"),
    [(0.02, 0.001, "problem"), (0.004, 0.0001, "ok"), (0.02, 0.04, "ok")],
    ids=["sure and large", "sure and small", "sure at 95% only"],
)
def test_an_excess_must_be_both_sure_and_large(monkeypatch, mean, spread, verdict):
    tensor = drawn(items=30, strata=None)
    wave = np.linspace(-1, 1, 30)
    excess = mean + spread * wave / wave.std()
    monkeypatch.setattr("judgelaw.diagnose.cells.same_rank_excess", lambda _: excess)
    finding = cells_finding(tensor, HOW, subject="judge")
    assert finding.figures["low"] > 0
    assert finding.verdict == verdict
