import numpy as np
import pytest
from scipy import stats

from judgelaw.errors import InputError
from judgelaw.uncertainty import call_errors, component_share, gate, item_interval


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
    assert gate(found, 0.5).decision == "inconclusive"
    assert gate(found, 0.5).reason == found.reason


def test_a_table_of_values_is_refused():
    with pytest.raises(InputError, match="one value for each item"):
        item_interval(np.ones((2, 2)))


@pytest.mark.parametrize(
    ("limit", "decision"), [(0.9, "pass"), (0.1, "fail"), (0.5, "inconclusive")]
)
def test_gate_is_one_sided(limit, decision):
    values = 0.5 + np.tile([-0.3, 0.3], 20)
    found = item_interval(values)
    outcome = gate(found, limit)
    assert outcome.decision == decision
    assert (outcome.reason is None) == (decision != "inconclusive")
    half = stats.t.ppf(0.95, 39) * found.se
    assert (outcome.lower, outcome.upper) == pytest.approx((0.5 - half, 0.5 + half))


def test_gate_at_its_own_bounds_is_inconclusive():
    found = item_interval([0.1, 0.2, 0.4])
    for bound in (gate(found, 1.0).upper, gate(found, 1.0).lower):
        assert gate(found, bound).decision == "inconclusive"


def test_gate_of_a_share_is_asked_of_its_contrast():
    counts = np.random.default_rng(1).multinomial(8, [0.4, 0.3, 0.2, 0.1], size=(30, 4, 2))
    errors = call_errors(counts)
    with pytest.raises(InputError, match="gate the contrast"):
        gate(component_share(errors, "prompt"), 0.2)
    assert gate(errors.interval({"prompt": 1, "total": -0.2}), 0.0).decision == "pass"


def test_gate_needs_a_number():
    with pytest.raises(InputError, match="limit is nan"):
        gate(item_interval([0.1, 0.2]), float("nan"))


@pytest.mark.parametrize("items", range(2, 61))
def test_rounding_does_not_pass_for_variance(items):
    """Equal values have no error at any number of items; 0.7 alone would give one of 1e-17."""
    for value in (0.7, 1 / 3, 4 / 9, 1e-17, 123.4):
        found = item_interval(np.full(items, value) * (1 + 1e-15 * (np.arange(items) % 2)))
        assert np.isnan([found.se, found.low, found.high]).all()
        assert "the same value" in found.reason
        assert gate(found, value + 0.1).decision == "inconclusive"


def test_a_stratum_of_equal_items_adds_no_variance():
    found = item_interval([0.7, 0.7, 0.7, 1.0, 2.0], strata=list("aaabb"))
    assert found.se**2 == pytest.approx((2 / 5) ** 2 * 0.5 / 2)
    assert found.df == 3
