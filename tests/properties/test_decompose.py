"""Properties of `decompose` that hold for any counts."""

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from hypothesis.extra import numpy as hnp

import judgelaw as jl
from judgelaw.estimate import COMPONENTS

shapes = st.tuples(st.integers(1, 6), st.integers(2, 5), st.integers(1, 3), st.integers(2, 5))
counts = shapes.flatmap(lambda shape: hnp.arrays(np.int64, shape, elements=st.integers(0, 9))).map(
    lambda n: n + np.eye(n.shape[-1], dtype=int)[0] * 2
)


def assert_same(a, b):
    for name in COMPONENTS:
        assert a[name] == pytest.approx(b[name], abs=1e-12, nan_ok=True)


@given(counts, st.randoms(use_true_random=False))
@settings(deadline=None, max_examples=60)
def test_labels_carry_no_information(n, random):
    """Permuting verdicts, prompts or orders changes nothing; permuting items permutes results."""
    items, prompts, orders, verdicts = (random.sample(range(size), size) for size in n.shape)
    base = jl.decompose(n)
    assert_same(jl.decompose(n[:, prompts][:, :, orders][..., verdicts]), base)
    moved = jl.decompose(n[items])
    for name in COMPONENTS:
        assert np.array_equal(moved[name], base[name][items], equal_nan=True)


@given(counts)
@settings(deadline=None, max_examples=60)
def test_a_verdict_that_never_occurs_changes_nothing(n):
    empty = np.zeros((*n.shape[:-1], 1), dtype=int)
    assert_same(jl.decompose(np.concatenate([n, empty], axis=-1)), jl.decompose(n))


@given(counts)
@settings(deadline=None, max_examples=60)
def test_copies_of_a_prompt_leave_a_census_unchanged_except_in_noise(n):
    """Splitting the weight of a prompt that is listed twice is the same census of laws."""
    p = n / n.sum(axis=-1, keepdims=True)
    twice = np.concatenate([p, p], axis=1)
    from judgelaw.estimate import population

    assert_same(population(twice), population(p))


@given(counts, st.integers(2, 4))
@settings(deadline=None, max_examples=60)
def test_population_components_are_never_negative(n, power):
    from judgelaw.estimate import population

    p = n.astype(float) ** power
    truth = population(p / p.sum(axis=-1, keepdims=True))
    for name in COMPONENTS:
        assert np.all(np.isnan(truth[name]) | (truth[name] > -1e-12))
