"""Differences of two judges: the variances behind them, and both targets held together."""

from math import inf, sqrt

import numpy as np
import pytest

from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS, Estimand
from judgelaw.streams import stream
from judgelaw.uncertainty import (
    change_contrast,
    infer,
    item_difference,
    item_shares,
    judge_difference,
    share_difference,
    t_quantile,
)
from judgelaw.worlds import World
from support import judges

WORLD = World.from_effects(order=0.02, item_spread=0.2)


@pytest.fixture(scope="module")
def tensors():
    return [WORLD.tensor(items=40, prompts=6, orders=2, repeats=4, seed=s) for s in (8, 9)]


@pytest.fixture(scope="module")
def both(tensors):
    return [infer(t) for t in tensors]


def test_judges_differ_with_the_sum_of_variances(both):
    """Every term of the formula, written out."""
    found = judge_difference(*both, "prompt")
    N, T, squares = 40, [], 0.0
    for known in both:
        V, V2 = known.calls.variances("prompt"), known.calls.second_order("prompt")
        T.append((max(0, (V - V2).sum()) + max(0, V2.sum())) / N**2)
        squares += (V**2).sum()
    assert found.se**2 == pytest.approx(sum(T))
    assert found.df == pytest.approx(2 * sum(T) ** 2 * N**4 / squares)
    e = [known.calls.values("prompt").mean() for known in both]
    a = [t / max(abs(x), 5 * sqrt(t)) for t, x in zip(T, e, strict=True)]
    z = t_quantile(0.975, inf)
    shift = (1 + 2 * z**2) / 6 * (T[0] * a[0] - T[1] * a[1]) / sum(T)
    half = t_quantile(0.975, found.df) * sqrt(sum(T))
    new = item_difference(both[0].items, both[1].items, "prompt")
    assert found.low == pytest.approx(max(e[0] - e[1] + shift - half, new.low))
    assert found.high == pytest.approx(min(e[0] - e[1] + shift + half, new.high))
    mirrored = judge_difference(*reversed(both), "prompt")
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low))


def test_judges_of_other_items_or_designs_do_not_differ(tensors, both):
    tensor = tensors[0]
    elsewhere = infer(tensor.select(items=list(reversed(tensor.items))))
    with pytest.raises(InputError, match="same items"):
        judge_difference(both[0], elsewhere)
    with pytest.raises(InputError, match="40 and 39 items"):
        judge_difference(both[0], infer(tensor.counts[:39]))
    with pytest.raises(InputError, match="'census' and 'sampled'"):
        judge_difference(both[0], infer(tensor, Estimand(design="sampled")))


def test_difference_to_a_silent_judge_supposes_some_noise(both):
    counts = np.zeros((40, 6, 2, 4), dtype=int)
    counts[..., 0] = 4
    silent = infer(counts)
    own = both[0].calls.variances("prompt").sum() / 40**2
    assert judge_difference(both[0], silent).se > sqrt(own)
    nothing = judge_difference(silent, silent)
    assert nothing.low < 0 < nothing.high


def test_slips_count_where_a_prompt_reverses_the_item():
    """One slip tells nothing about 40 cells; where prompts disagree each would count in full."""
    counts = np.zeros((20, 2, 1, 2), dtype=int)
    counts[:, 0, :, 0] = counts[:, 1, :, 1] = 8
    counts[:7, 0, :, 0], counts[:7, 0, :, 1] = 7, 1
    turned = infer(counts)
    eta = 7 / (20 * 2 * 8)
    # G_u = sum_v c_uv e(mode_v) = (1/4, -1/4) in both cells: from one verdict to the other 1/2.
    cells = 33
    expected = cells * 4 / 8 * eta * (1 - eta) * (1 / 2) ** 2 / 20**2
    assert turned.calls.unseen_slips("prompt") == pytest.approx(expected)
    alike = counts.copy()
    alike[:, 1] = alike[:, 1, :, ::-1]
    assert infer(alike).calls.unseen_slips("prompt") == pytest.approx(0)


@pytest.mark.parametrize("repeats", [2, 3, 4, 8])
@pytest.mark.parametrize("world", judges.WORLDS)
def test_the_items_asked_are_never_less_known_than_others(world, repeats):
    """One judge and two, every component and change rate, many random tables."""
    rng = stream(31, "coherent", world, repeats)
    K, O = (3, 2) if repeats != 3 else (2, 1)
    pool = judges.pool(world, K, O, seed=5, size=400)
    for items in (2, 3, 8, 16, 50):
        laws = pool.laws[pool.draw(items, rng)]
        a, b = (infer(judges.counts(laws, repeats, rng), draws=2_000) for _ in range(2))
        contrasts = [c for c in COMPONENTS if a.refusal(c, "new") is None]
        contrasts += [
            {name: float(x) for name, x in change_contrast(change, K, O).items()}
            for change in ("ask_again", "reword", "both")
            if change != "both" or O > 1
        ]
        for contrast in contrasts:
            here = judge_difference(a, b, contrast)
            new = item_difference(a.items, b.items, contrast)
            assert new.low <= here.low <= here.estimate <= here.high <= new.high
            if isinstance(contrast, str):
                for p in (0.95, 0.975):
                    low, high = a.bounds(contrast, p, "fixed")
                    wide_low, wide_high = a.bounds(contrast, p, "new")
                    assert wide_low <= low <= high <= wide_high


def test_new_items_are_not_narrowed(both):
    """Their coverage is what the items asked lean on."""
    for known in both:
        for component in COMPONENTS:
            assert known.bounds(component, 0.975, "new") == known.items.bounds(component, 0.975)


def test_with_two_calls_the_upper_end_of_new_items_gives_way():
    pool = judges.pool("open, no effects", 6, 2, seed=2, size=200)
    known = infer(judges.counts(pool.laws, 2, stream(3, "r2")))
    own, asked = known.items.bounds("prompt", 0.975), known.calls.bounds("prompt", 0.975)
    assert asked[1] > own[1]
    assert known.bounds("prompt", 0.975, "new") == (own[0], asked[1])
    assert known.bounds("prompt", 0.975, "fixed") == (max(own[0], asked[0]), asked[1])


def test_shares_of_calls_suppose_a_call_that_was_not_seen():
    counts = np.zeros((10, 2, 1, 2), dtype=int)
    counts[..., 0] = 4
    right = np.tile([1.0, 0.0], (10, 1))
    always = item_shares(counts, right, np.full((2, 1), 0.5))
    found = share_difference(always, always, p=0.975)
    assert found.estimate == 0
    assert found.se**2 == pytest.approx(2 * (0.5 / 4 / 10) ** 2)
    assert found.df == 8
    assert (found.low, found.high) == (-found.high, pytest.approx(t_quantile(0.975, 8) * found.se))
    assert share_difference(always, always, p=0.975, new=(-0.001, 0.5)).low == -0.001


def test_one_call_a_cell_shows_no_variance():
    counts = np.zeros((5, 2, 1, 2), dtype=int)
    counts[..., 0] = 1
    once = item_shares(counts, np.tile([1.0, 0.0], (5, 1)), np.full((2, 1), 0.5))
    assert "second repeat" in share_difference(once, once, p=0.975).reason
