import numpy as np
import pytest
from scipy import stats

from judgelaw.errors import InputError
from judgelaw.uncertainty import item_interval


def test_one_stratum_is_the_usual_t_interval():
    values = np.random.default_rng(1).normal(size=30)
    found = item_interval(values, level=0.9)
    low, high = stats.t.interval(0.9, 29, values.mean(), stats.sem(values))
    assert (found.low, found.high, found.df) == pytest.approx((low, high, 29))


def test_strata_weigh_by_their_size():
    values = np.array([1.0, 2.0, 3.0, 10.0, 14.0])
    found = item_interval(values, strata=["a", "a", "a", "b", "b"])
    assert found.estimate == 6.0
    assert found.se**2 == pytest.approx((3 / 5) ** 2 * 1 / 3 + (2 / 5) ** 2 * 8 / 2)
    assert found.df == 3


@pytest.mark.parametrize(
    ("values", "strata", "reason"),
    [
        ([1.0], None, "1 item"),
        ([1.0, 2.0, 3.0], ["a", "a", "b"], "'b' holds one item"),
        ([1.0, np.nan], None, "nan for at least one item"),
        ([2.0, 2.0], None, "the same value"),
    ],
)
def test_what_cannot_be_had_has_a_reason(values, strata, reason):
    found = item_interval(values, strata=strata)
    assert np.isnan([found.se, found.low, found.high]).all()
    assert reason in found.reason


def test_a_table_of_values_is_refused():
    with pytest.raises(InputError, match="one value for each item"):
        item_interval(np.ones((2, 2)))


@pytest.mark.parametrize("items", range(2, 61))
def test_rounding_does_not_pass_for_variance(items):
    """Equal values have no error at any number of items; 0.7 alone would give one of 1e-17."""
    for value in (0.7, 1 / 3, 4 / 9, 1e-17, 123.4):
        found = item_interval(np.full(items, value) * (1 + 1e-15 * (np.arange(items) % 2)))
        assert np.isnan([found.se, found.low, found.high]).all()
        assert "the same value" in found.reason


def test_a_stratum_of_equal_items_adds_no_variance():
    found = item_interval([0.7, 0.7, 0.7, 1.0, 2.0], strata=list("aaabb"))
    assert found.se**2 == pytest.approx((2 / 5) ** 2 * 0.5 / 2)
    assert found.df == 3
