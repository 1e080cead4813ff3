"""Intervals of how often verdicts change: they cover, they refuse, and never claim too much."""

import numpy as np
import pytest

from judgelaw.estimate import Estimand
from judgelaw.uncertainty import CHANGES, change_interval, infer
from support.judges import POOL, flips_by_order, flips_by_prompt, rare_noise, settled

OPEN = np.array([0.5, 0.3, 0.15, 0.05])
N, K, O, R = 30, 4, 2, 4
STUDIES = 300
LEAST = 0.90
"""Nominal .95 less three binomial errors of 300 studies, and the .01 that section 12 allows."""


def truths(laws):
    """Return the chance that two calls disagree, of every item."""
    same = np.einsum("ikoc,ilpc->iklop", laws, laws)
    k, o = ~np.eye(laws.shape[1], dtype=bool), ~np.eye(laws.shape[2], dtype=bool)
    return {
        "ask_again": 1 - np.einsum("ikkoo->i", same) / (K * O),
        "reword": 1 - np.einsum("ikloo,kl->i", same, k) / (k.sum() * O),
        "swap": 1 - np.einsum("ikkop,op->i", same, o) / (K * o.sum()),
        "both": 1 - np.einsum("iklop,kl,op->i", same, k, o) / (k.sum() * o.sum()),
    }


def open_judge(rng, size, K, O):
    """Let every cell waver around one open law."""
    return rng.dirichlet(60 * OPEN, size=(size, K, O))


@pytest.mark.parametrize("world", [open_judge, flips_by_prompt, flips_by_order, rare_noise])
def test_intervals_cover_the_items_asked_and_items_like_them(world):
    rng = np.random.default_rng(11)
    laws = world(rng, POOL, K, O)
    item_truth = truths(laws)
    held = {(change, scope): 0 for change in CHANGES for scope in ("fixed", "new")}
    for study in range(STUDIES):
        chosen = rng.integers(0, POOL, size=N)
        known = infer(rng.multinomial(R, laws[chosen]), draws=2_000, seed=study)
        for change, scope in held:
            found = change_interval(known, change, scope=scope)
            of = item_truth[change]
            target = of[chosen].mean() if scope == "fixed" else of.mean()
            held[change, scope] += found.low - 1e-12 <= target <= found.high + 1e-12
    covered = {key: count / STUDIES for key, count in held.items()}
    assert min(covered.values()) >= LEAST, covered


def test_a_judge_that_never_wavered_is_not_said_to_be_certain():
    laws = settled(np.random.default_rng(1), 12, K, O)
    known = infer((R * laws).astype(int))
    for change in CHANGES:
        for scope in ("fixed", "new"):
            found = change_interval(known, change, scope=scope)
            assert found.estimate == pytest.approx(0, abs=1e-12)
            assert found.high > 0.005, (change, scope)


@pytest.mark.parametrize(
    ("shape", "absent"),
    [((1, 2), ("reword", "both")), ((3, 1), ("swap", "both")), ((1, 1), CHANGES[1:])],
)
def test_what_was_not_varied_is_not_known(shape, absent):
    counts = np.random.default_rng(2).multinomial(4, OPEN, size=(10, *shape))
    known = infer(counts)
    for change in CHANGES:
        found = change_interval(known, change, scope="fixed")
        assert np.isnan(found.estimate) == (change in absent), change
        if change in absent:
            assert "needs two levels" in found.reason


def test_drawn_prompts_widen_what_they_can_change():
    rng = np.random.default_rng(4)
    laws = open_judge(rng, 20, 8, 2)
    counts = rng.multinomial(4, laws)
    for change in ("reword", "both"):
        fixed, drawn = (
            change_interval(infer(counts, Estimand(design=design)), change, scope="fixed")
            for design in ("census", "sampled")
        )
        assert drawn.estimate == pytest.approx(fixed.estimate)
        assert drawn.high > fixed.high
        assert drawn.low <= fixed.low


def test_unequal_orders_need_the_bounds_of_equal_ones():
    counts = np.random.default_rng(5).multinomial(4, OPEN, size=(10, 3, 2))
    known = infer(counts, Estimand(order_weights=(0.2, 0.8)))
    found = change_interval(known, "swap", unequal_orders=True)
    assert np.isnan(found.low)
    assert "orders weigh differently" in found.reason
