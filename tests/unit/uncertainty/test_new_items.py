"""Bounds for new items, against the formulas written out again."""

import numpy as np
import pytest
from scipy import stats

from judgelaw.errors import InputError
from judgelaw.estimate import decompose
from judgelaw.uncertainty import infer, item_difference, signed_interval, treated_interval
from judgelaw.uncertainty.item_bounds import (
    DRAWS,
    Draws,
    _order_statistic,
    carried_distances,
    effective_items,
    lower_bound,
    rate_bounds,
    upper_bound,
    weigh,
)
from judgelaw.uncertainty.new_items import largest_allowed, weightings_for
from support import judges


def t_bound(x, p):
    return x.mean() + stats.t.ppf(p, len(x) - 1) * x.std(ddof=1) / np.sqrt(len(x))


def hall(x, p):
    N, m, s = len(x), x.mean(), x.std(ddof=1)
    A = ((x - m) ** 3).mean() / s**3 / np.sqrt(N)
    y = stats.t.ppf(1 - p, N - 1)
    return m - s / np.sqrt(N) * 3 * (np.cbrt(1 + A * (y - A / 6)) - 1) / A


def gaffke(x, b, p):
    """With other draws than the module's own, so equal up to their noise."""
    W = np.random.default_rng(99).dirichlet(np.ones(len(x) + 1), size=200_000)
    return np.quantile(W[:, :-1] @ x + W[:, -1] * b, p)


def drawn_of(x):
    found = weigh(x[:, None])
    return Draws(sums=found.sums[0], last=found.last)


def test_the_upper_bound_is_the_largest_of_three():
    rng = np.random.default_rng(1)
    x = rng.gamma(1.0, 0.05, size=30)
    first, second = np.sort(x)[::-1][:2]
    expected = max(t_bound(x, 0.95), hall(x, 0.95), gaffke(x, min(0.5, 2 * first - second), 0.95))
    found = upper_bound(x, drawn_of(x), 0.95, top=0.5, careful=False)
    assert found == pytest.approx(expected, rel=0.01)
    careful = upper_bound(x, drawn_of(x), 0.95, top=0.5, careful=True)
    assert careful == pytest.approx(max(t_bound(x, 0.95), gaffke(x, 0.5, 0.95)), rel=0.01)


@pytest.mark.parametrize("items", [49, 50])
def test_the_lower_bound_changes_its_rule_at_fifty_items(items):
    x = np.random.default_rng(2).gamma(0.5, 0.05, size=items) - 0.01
    p, least = 0.975, -x.min()
    if items < 50:
        expected = min(2 * x.mean() - t_bound(x, p), -gaffke(-x, max(0.0, least), p))
    else:
        expected = min(2 * x.mean() - t_bound(x, p), -hall(-x, p), -gaffke(-x, least, p))
    assert lower_bound(x, drawn_of(x), p) == pytest.approx(expected, rel=0.02, abs=2e-4)


def test_equal_items_get_a_bound_and_no_zero_width():
    """About 3 B / N: what an unseen item may add."""
    x = np.zeros(50)
    found = upper_bound(x, drawn_of(x), 0.95, top=0.75, careful=True)
    assert found == pytest.approx(0.75 * (1 - 0.05 ** (1 / 50)), rel=0.02)


def test_effective_items_count_those_that_carry_the_sum():
    assert effective_items(np.array([0.2, 0.2, 0.2, 0.0])) == pytest.approx(3)
    assert effective_items(np.zeros(4)) == 0


def bounds_of_ones(ones, items, p=0.975):
    """The bounds for so many values of one, the rest zero, as quantiles of beta laws."""

    def upper(x):
        a = 0.8 if x < 8 else 0.5
        return stats.beta.ppf(p, x + a, items - x + 0.25) if x < items else 1.0

    return 1 - upper(items - ones), upper(ones)


@pytest.mark.parametrize("ones", [0, 3, 20])
def test_bounds_of_ones_and_zeros_lie_between_those_of_jeffreys_and_of_clopper_and_pearson(ones):
    x = (np.arange(50) < ones) * 1.0
    down, up = carried_distances(x, 1 - x, 0.975, top=1.0)
    low, high = bounds_of_ones(ones, 50)
    assert (x.mean() - down, x.mean() + up) == pytest.approx((low, high), abs=0.003)
    assert high < stats.beta.ppf(0.975, ones + 1, 50 - ones)


@pytest.mark.parametrize("items", [50, 200])
def test_bounds_of_ones_and_zeros_cover_each_share_and_from_four_ones_on_little_more(items):
    """By the binomial law itself: .935 or more for every share, .981 at most from 3.7 ones on.

    Where fewer than 3.7 ones are expected, a sample without any has a chance above .025: an upper
    bound that may miss that often never misses, and .975 is left for the lower one.
    """
    ones = np.arange(items + 1)
    low, high = np.array([bounds_of_ones(k, items) for k in ones]).T
    shares = np.linspace(0.2 / items, 0.5, 2_000)
    held = [
        stats.binom.pmf(ones[(low <= share) & (share <= high)], items, share).sum()
        for share in shares
    ]
    assert min(held) > 0.935
    assert max(np.array(held)[shares * items >= 3.7]) < 0.981


@pytest.mark.parametrize("carried", [True, False])
def test_an_unseen_item_lies_at_the_end_only_where_few_items_carry_the_sum(carried):
    x = np.random.default_rng(3).uniform(0.4, 0.6, size=40) if carried else np.zeros(40)
    x[:3] += 0.1
    _, near = carried_distances(x, 1 - x, 0.975, top=1.0)
    _, far = carried_distances(x, 4 - x, 0.975, top=4.0)
    assert (far > near) is not carried


def test_draws_fall_with_the_number_of_items_and_blocks_change_nothing(monkeypatch):
    assert weightings_for(1_000) == DRAWS
    assert weightings_for(1_000_000) == 1_000
    x = np.random.default_rng(3).random((40, 2))
    whole = weigh(x, draws=500, seed=4)
    monkeypatch.setattr("judgelaw.uncertainty.item_bounds._KEPT", 0)
    monkeypatch.setattr("judgelaw.uncertainty.item_bounds._BLOCK", 41 * 7)
    again = weigh(x, draws=500, seed=4)
    assert np.allclose(again.sums, whole.sums)
    assert np.allclose(again.last, whole.last)


def test_rates_of_nothing_and_of_everything():
    low, high = rate_bounds(np.zeros(20), 0.95)
    assert (low, high) == (0, pytest.approx(1 - 0.05 ** (1 / 20), rel=0.03))
    low, high = rate_bounds(np.ones(20), 0.95)
    assert (low, high) == (pytest.approx(0.05 ** (1 / 20), rel=0.01), 1)


def test_shares_are_what_the_contrast_allows():
    pool = judges.pool("open, effects", 4, 2, seed=5)
    found = infer(judges.counts(pool.laws[:60], 4, np.random.default_rng(6))).items
    high = found.share_upper("prompt", 0.95)
    y = found.of({"prompt": 1.0, "total": -high})
    drawn = found.drawn_of({"prompt": 1.0, "total": -high})
    bound = upper_bound(y, drawn, 0.95, top=(1 - high) * found.top["prompt"], careful=False)
    assert bound == pytest.approx(0, abs=1e-3)
    assert 0 <= found.share_lower("prompt", 0.95) < high < 1


def test_the_largest_allowed_is_found_from_above():
    assert largest_allowed(lambda rho: rho <= 0.3) == pytest.approx(0.3, abs=1e-3)
    assert largest_allowed(lambda rho: rho <= 0.3) >= 0.3
    assert largest_allowed(lambda _: True) == 1
    assert largest_allowed(lambda _: False) == 0


def test_a_difference_is_paired_by_item():
    pool = judges.pool("open, effects", 4, 2, seed=7)
    rng = np.random.default_rng(8)
    a, b = (infer(judges.counts(pool.laws[:30], 4, rng)).items for _ in range(2))
    found = item_difference(a, b, "order")
    y = a.of("order") - b.of("order")
    assert found.estimate == pytest.approx(y.mean())
    assert found.high >= t_bound(y, 0.975)
    other = infer(judges.counts(pool.laws[:20], 4, rng)).items
    with pytest.raises(InputError, match="30 and 20 items"):
        item_difference(a, other, "order")


def test_a_lean_of_few_items_keeps_room_for_one_nobody_saw():
    y = np.zeros(20)
    y[0] = 1.0
    found = signed_interval(y)
    assert found.low < -0.05
    assert found.high > 0.2
    assert signed_interval(np.array([0.5])).reason is not None


def test_a_treatment_that_many_items_show_needs_no_unseen_item():
    """Normal changes of 50 items: the interval is that of t, but for the skewness they show."""
    y = np.random.default_rng(9).normal(0.1, 0.1, size=50)
    found = treated_interval(y)
    plain = t_bound(y, 0.975) + t_bound(-y, 0.975)
    assert plain <= found.width < 1.03 * plain
    assert signed_interval(y).width > 1.1 * plain


def test_a_treatment_that_few_items_show_keeps_room_for_one_nobody_saw():
    y = np.zeros(50)
    y[:9] = 0.5
    assert treated_interval(y).low < 0
    y[9] = 0.5
    assert treated_interval(y).low > 0
    assert treated_interval(np.array([0.5])).reason is not None


def test_one_verdict_seen_is_not_the_only_one_there_is():
    found = infer(np.full((10, 3, 2, 1), 4))
    for name in ("call", "prompt", "total"):
        for scope in ("fixed", "new"):
            assert found.bounds(name, 0.95, scope)[1] > 0


def test_ranges_are_those_of_a_census():
    laws = np.zeros((1, 6, 2, 4))
    laws[0, :3, :, 0] = laws[0, 3:, :, 1] = 1
    counts = (4 * laws).astype(int)
    found = infer(np.concatenate([counts] * 3)).items
    assert found.top["prompt"] == 1 - 1 / 4
    assert found.top["order"] == 1 - 1 / 2
    assert decompose(counts).prompt[0] <= found.top["prompt"]


@pytest.mark.parametrize("p", [0.5, 0.9, 0.975, 0.9999, 1.0])
@pytest.mark.parametrize(
    "values",
    [
        np.random.default_rng(1).standard_normal(20_000) ** 3,
        np.random.default_rng(2).integers(0, 3, size=5_000).astype(float),
        np.zeros(1_000),
        np.array([2.0, 1.0]),
        # Every 16th value is large: a sample of them says nothing of where the tail begins.
        np.where(np.arange(4_000) % 16 == 0, 1.0, 0.0) + np.random.default_rng(3).random(4_000) / 2,
        np.where(np.arange(4_000) % 16 == 0, 0.0, 1.0) + np.random.default_rng(4).random(4_000) / 2,
    ],
    ids=["skewed", "ties", "all alike", "two", "sample too large", "sample too small"],
)
def test_the_tail_holds_the_order_statistic_of_all_values(values, p):
    at = int(np.ceil(p * (len(values) - 1)))
    assert _order_statistic(values, p) == np.sort(values)[at]
