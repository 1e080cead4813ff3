"""What uncertainty must not depend on: names, the order of items, company in the table."""

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st

from judgelaw.estimate import COMPONENTS
from judgelaw.uncertainty import call_errors, item_interval, permutation_test, prompt_projection

CLOSE = {"rel": 1e-9, "abs": 1e-12}


@st.composite
def tables(draw):
    """Counts of a few items with four to six calls in every cell."""
    items, prompts, orders = (
        draw(st.integers(1, 4)),
        draw(st.integers(3, 4)),
        draw(st.integers(1, 2)),
    )
    verdicts = draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    law = rng.dirichlet(np.ones(verdicts), size=(items, prompts, orders))
    R = rng.integers(4, 7, size=(items, prompts, orders))
    return rng.multinomial(R, law)


@given(tables(), st.randoms(use_true_random=False))
@settings(max_examples=40, deadline=None)
def test_call_variance_ignores_names_and_order(counts, random):
    """Prompts, orders and verdicts are labels; items keep their own values wherever they stand."""
    axes = [random.sample(range(n), n) for n in counts.shape]
    moved = counts[np.ix_(*axes)]
    plain, shuffled = call_errors(counts), call_errors(moved)
    for name in COMPONENTS:
        expected = plain.variances(name)[axes[0]]
        assert shuffled.variances(name) == pytest.approx(expected, nan_ok=True, **CLOSE)


@given(tables())
@settings(max_examples=40, deadline=None)
def test_an_item_has_its_variance_alone_or_in_company(counts):
    together = call_errors(counts).covariance
    alone = np.concatenate([call_errors(counts[i : i + 1]).covariance for i in range(len(counts))])
    assert alone == pytest.approx(together, **CLOSE)


@given(tables())
@settings(max_examples=40, deadline=None)
def test_twice_the_items_halve_the_variance(counts):
    once, twice = (call_errors(np.tile(counts, (m, 1, 1, 1))) for m in (1, 2))
    assert twice.values("total").mean() == pytest.approx(once.values("total").mean())
    a, b = (x.variances("total").sum() / len(x.estimates) ** 2 for x in (once, twice))
    assert b == pytest.approx(a / 2)


@given(tables())
@settings(max_examples=40, deadline=None)
def test_components_add_up_in_covariance_too(counts):
    """call + prompt + order + interaction - total is zero in every sample: so is its variance."""
    assume(counts.shape[2] > 1)
    nothing = dict.fromkeys(COMPONENTS, 1.0) | {"total": -1.0}
    errors = call_errors(counts)
    assert errors.values(nothing) == pytest.approx(np.zeros(len(counts)), abs=1e-12)
    assert errors.variances(nothing) == pytest.approx(np.zeros(len(counts)), abs=1e-12)


@given(tables(), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_projection_ignores_which_prompt_came_first(counts, random):
    order = random.sample(range(counts.shape[1]), counts.shape[1])
    plain, moved = prompt_projection(counts), prompt_projection(counts[:, order])
    assert moved.estimate == pytest.approx(plain.estimate, **CLOSE)
    assert moved.variance == pytest.approx(plain.variance, **CLOSE)


@given(tables())
@settings(max_examples=20, deadline=None)
def test_p_values_are_probabilities(counts):
    found = permutation_test(counts, draws=19)
    if found.reason is None:
        assert 1 / 20 <= found.p <= 1


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=20), st.floats(-5, 5))
@settings(max_examples=40, deadline=None)
def test_item_error_ignores_a_shift(values, shift):
    plain, moved = item_interval(values), item_interval(np.array(values) + shift)
    if plain.reason is None and plain.se > 1e-6:
        assert moved.se == pytest.approx(plain.se, rel=1e-6)
