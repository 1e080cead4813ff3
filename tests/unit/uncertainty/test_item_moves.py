"""Items one by one: exact p values, and how often what is called moved is not."""

from itertools import product
from math import comb

import numpy as np
import pytest

from judgelaw.streams import stream
from judgelaw.uncertainty import moved_items
from judgelaw.uncertainty.item_moves import _drawn, _p_values, discoveries

PROMPTS = tuple(f"p{k}" for k in range(6))


def p_by_enumeration(x, sizes):
    """P(S > s) + P(S = s)/2 over all tables of the same total, and its smallest value."""
    tables = [t for t in product(*(range(r + 1) for r in sizes)) if sum(t) == sum(x)]
    ways = [np.prod([comb(r, k) for r, k in zip(sizes, t, strict=True)]) for t in tables]

    def spread(t):
        return sum(k * k + (r - k) * (r - k) for r, k in zip(sizes, t, strict=True))

    values = np.array([spread(t) for t in tables])
    chance = np.array(ways, dtype=float) / sum(ways)
    p = [
        chance[values > s].sum() + chance[values == s].sum() / 2 for s in (spread(x), values.max())
    ]
    return tuple(p)


@pytest.mark.parametrize("sizes", [(4, 4), (3, 4, 2), (2, 2, 2, 2), (5, 1, 3)])
def test_p_values_are_those_of_all_tables(sizes):
    tables = list(product(*(range(r + 1) for r in sizes)))
    p, least = _p_values(np.array(tables), sizes)
    for x, found, smallest in zip(tables, p, least, strict=True):
        assert (found, smallest) == pytest.approx(p_by_enumeration(x, sizes), abs=1e-12)


def test_items_with_very_many_calls_are_drawn():
    sizes = (40, 40, 40)
    rng = np.random.default_rng(2)
    x = rng.binomial(40, 0.7, size=(20, 3))
    exact, _ = _p_values(x, sizes)
    S = (x**2 + (40 - x) ** 2).sum(axis=1)
    drawn, _ = _drawn(S, x.sum(axis=1), sizes)
    # Twenty comparisons, four standard errors of 20,000 draws each.
    assert drawn == pytest.approx(exact, abs=4 * 0.5 / 20_000**0.5)


def test_one_prompt_that_flips_an_item_is_named():
    counts = np.zeros((10, 6, 2), dtype=int)
    counts[:, :, 0] = 8
    counts[3, 4] = (0, 8)
    found = moved_items(counts, PROMPTS)
    assert np.flatnonzero(found.shown).tolist() == [3]
    assert found.most[3] == "p4"
    assert np.isnan(found.p[0]), "an item that never changed cannot decide"


def test_levels_that_differ_as_much_are_not_named():
    counts = np.zeros((4, 6, 2), dtype=int)
    counts[:, :3, 0] = counts[:, 3:, 1] = 8
    found = moved_items(counts, PROMPTS)
    assert found.shown.all()
    assert found.most == (None,) * 4
    two = moved_items(counts[:, [0, 5]], ("a", "b"))
    assert two.shown.all()
    assert two.most == (None,) * 4


def test_an_item_that_cannot_decide_costs_the_others_nothing():
    moved = np.array([[0, 8], [8, 0], [8, 0]])
    one = moved_items(moved[None], PROMPTS[:3])
    settled = np.tile([[8, 0]], (500, 3, 1))
    many = moved_items(np.concatenate([moved[None], settled]), PROMPTS[:3])
    assert one.p[0] == many.p[0]
    assert one.shown[0]
    assert many.shown[0]


def test_discoveries_are_those_of_benjamini_and_hochberg():
    p = np.array([0.01, 0.04, np.nan, 0.03, 0.5])
    assert discoveries(p, 0.05).tolist() == [True, False, False, False, False]
    assert discoveries(np.array([0.01, 0.04, 0.03, 0.05]), 0.05).all()
    assert not discoveries(np.full(3, np.nan), 0.05).any()


def table(rng, items, moved, repeats, orders=2):
    """Items that roll dice, alike under every prompt, and some that a prompt turns round."""
    law = rng.choice([0.5, 0.8, 0.95, 1.0], size=(items, 1)) * np.ones((1, 6))
    law[:moved] = 0.98
    law[np.arange(moved), rng.integers(0, 6, moved)] = 0.05
    n = repeats * orders
    yes = rng.binomial(n, law)
    return np.stack([yes, n - yes], axis=-1)


@pytest.mark.parametrize(("moved", "repeats"), [(0, 4), (5, 4), (5, 8), (20, 4)])
def test_few_of_the_items_named_are_named_by_chance(moved, repeats):
    """Seeded: 300 tables of forty items; the share named falsely, zero where none is named."""
    rng, false, hits = stream(12, "fdr", moved, repeats), [], 0
    for _ in range(300):
        shown = moved_items(table(rng, 40, moved, repeats), PROMPTS).shown
        false.append(shown[moved:].sum() / max(shown.sum(), 1))
        hits += shown[:moved].sum()
    error = np.std(false) / 300**0.5
    assert np.mean(false) <= 0.05 + 2 * error
    assert moved == 0 or hits / (300 * moved) > 0.9


def test_an_order_that_matters_makes_the_test_of_prompts_careful():
    """Each order has a law of its own, prompts have none: pooled calls vary less than dice."""
    rng, false = stream(13, "orders"), 0
    for _ in range(200):
        yes = rng.binomial(4, [[0.9, 0.3]] * 6, size=(30, 6, 2)).sum(axis=-1)
        false += moved_items(np.stack([yes, 8 - yes], axis=-1), PROMPTS).shown.any()
    assert false <= 200 * 0.06
