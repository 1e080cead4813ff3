"""Estimators that use part of the calls: panels of two repeats, and valid outputs only."""

from fractions import Fraction
from itertools import product
from math import prod

import numpy as np

from judgelaw.estimate import (
    COMPONENTS,
    conditional_on_valid,
    decompose,
    delete_invalid_and_pool,
    panels,
    population,
)
from judgelaw.tensor import VerdictTensor
from support.enumeration import expectation, fractions, outcomes


def test_every_panel_of_two_repeats_is_unbiased():
    """All 2^8 ranked outcomes; with halves and quarters floating point is exact."""
    laws = fractions([[["1/3", "2/3"]], [["3/5", "2/5"]]])
    heads = laws[:, 0, 0]
    ranked = np.array(list(product((0, 1), repeat=8))).reshape(-1, 2, 1, 4)
    chances = np.array(
        [
            prod(heads[k] if z == 0 else 1 - heads[k] for k in range(2) for z in outcome[k, 0])
            for outcome in ranked
        ],
        dtype=object,
    )
    estimate = panels(VerdictTensor.from_ranked(ranked, verdicts=("a", "b")))
    assert estimate.prompt.shape == (256, 2)
    truth = population(laws)
    for name in ("call", "prompt", "total"):
        exact = np.vectorize(Fraction, otypes=[object])(estimate[name])
        assert (expectation(exact, chances) == truth[name]).all(), name


INVALID_LAWS = fractions(
    [[["1/2", "1/3", "1/6"], ["1/4", "1/2", "1/4"]], [["1/5", "4/5", "0"], ["1/3", "1/3", "1/3"]]]
)


def _tensor_of_outcomes(repeats):
    counts, chances = outcomes(INVALID_LAWS, repeats)
    return VerdictTensor.from_counts(counts, verdicts=("yes", "no", "invalid")), chances


def test_conditioning_on_valid_outputs_is_unbiased_for_the_conditional_laws():
    """Given how many calls are valid, the valid ones are draws from the conditional laws."""
    tensor, chances = _tensor_of_outcomes([[2, 2], [2, 3]])
    result = conditional_on_valid(tensor)
    kept = np.isin(tensor.items, result.kept)
    assert 0 < kept.sum() < len(kept)
    assert set(result.kept) | set(result.lost) == set(tensor.items)
    truth = population(INVALID_LAWS[..., :2] / INVALID_LAWS[..., :2].sum(axis=-1, keepdims=True))
    for name in COMPONENTS:
        mean = expectation(result.decomposition[name], chances[kept]) / chances[kept].sum()
        assert mean == truth[name], name


def test_deleting_and_pooling_targets_something_else():
    """The comparator is off the conditional laws' prompt component; the full estimator is not."""
    tensor, chances = _tensor_of_outcomes(2)
    enough = (tensor.counts[..., :2].sum(axis=(2, 3)) >= 2).all(axis=1)
    kept = tensor.select(items=np.array(tensor.items)[enough])
    pooled = delete_invalid_and_pool(kept)
    mean = expectation(pooled.prompt, chances[enough]) / chances[enough].sum()
    truth = population(INVALID_LAWS[..., :2] / INVALID_LAWS[..., :2].sum(axis=-1, keepdims=True))
    assert mean != truth.prompt
    assert expectation(decompose(tensor).prompt, chances) == population(INVALID_LAWS).prompt
