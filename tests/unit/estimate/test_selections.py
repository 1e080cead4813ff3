"""Panels, valid outputs, soft verdicts, distances and facets: agreement among each other."""

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.estimate import (
    benchmark_effect,
    conditional_on_valid,
    decompose_facets,
    decompose_soft,
    panels,
    prompt_distances,
)

rng = np.random.default_rng(11)
LAWS = rng.dirichlet([2, 2, 1, 0.4], size=(12, 3, 2))
TENSOR = jl.VerdictTensor.from_laws(LAWS, repeats=6, seed=5)


def test_panels_of_two_repeats_equal_the_complete_estimator():
    two = TENSOR.prefix(2)
    assert (panels(two).prompt[:, 0] == jl.decompose(two).prompt).all()


def test_panels_split_ranks_in_consecutive_pairs():
    estimate = panels(TENSOR)
    assert estimate.prompt.shape == (12, 3)
    last = jl.decompose(TENSOR.ranks([4, 5]))
    assert (estimate.prompt[:, 2] == last.prompt).all()


def test_panels_need_the_same_ranks_everywhere():
    ranked = TENSOR.ranked.copy()
    ranked[3, 1, 0, 5] = -1
    with pytest.raises(jl.NotIdentifiedError, match="same ranks"):
        panels(jl.VerdictTensor.from_ranked(ranked))


def test_conditioning_on_valid_says_which_items_it_loses():
    counts = TENSOR.counts.copy()
    counts[4, 0, 0] = [1, 0, 0, 5]
    tensor = jl.VerdictTensor.from_counts(counts, items=[f"item-{i}" for i in range(12)])
    result = conditional_on_valid(tensor)
    assert "item-4" in result.lost
    assert len(result.kept) + len(result.lost) == 12
    assert len(result.decomposition.prompt) == len(result.kept)


def test_conditioning_on_valid_refuses_to_lose_everything():
    counts = np.zeros((2, 2, 2, 4), dtype=int)
    counts[..., 3] = 4
    with pytest.raises(jl.NotIdentifiedError, match="loses the whole benchmark"):
        conditional_on_valid(jl.VerdictTensor.from_counts(counts))


def test_certain_soft_verdicts_are_hard_verdicts():
    onehot = np.eye(4)[TENSOR.ranked]
    soft, hard = decompose_soft(onehot), jl.decompose(TENSOR)
    for name in hard:
        assert soft[name] == pytest.approx(hard[name], abs=1e-14)


def test_soft_verdicts_need_two_repeats_and_laws():
    with pytest.raises(jl.NotIdentifiedError, match="R = 1"):
        decompose_soft(np.full((3, 2, 1, 2), 0.5))
    with pytest.raises(jl.InputError, match="sums to"):
        decompose_soft(np.full((3, 2, 2, 2), 0.4))


def test_distances_are_symmetric_and_sum_to_the_prompt_component():
    D = prompt_distances(TENSOR.counts)
    assert (np.swapaxes(D, 1, 2) == D).all()
    assert (D[:, range(3), range(3)] == 0).all()
    assert D.sum(axis=(1, 2)) / 18 == pytest.approx(jl.decompose(TENSOR).prompt, abs=1e-14)


def test_benchmark_effect_splits_the_mean_prompt_component():
    effect = benchmark_effect(TENSOR.counts)
    assert effect.shared + effect.by_item == pytest.approx(effect.prompt, abs=1e-15)
    assert effect.prompt == pytest.approx(jl.decompose(TENSOR).macro().prompt, abs=1e-14)
    with pytest.raises(jl.NotIdentifiedError, match="two items"):
        benchmark_effect(TENSOR.counts[:1])


def test_a_shift_shared_by_all_items_is_all_shared():
    counts = np.zeros((8, 2, 1, 2), dtype=int)
    counts[:, 0, 0] = [4, 0]
    counts[:, 1, 0] = [0, 4]
    effect = benchmark_effect(counts)
    assert effect.shared == pytest.approx(0.5)
    assert effect.by_item == pytest.approx(0)


def test_two_facets_are_the_crossed_decomposition():
    facets = decompose_facets(TENSOR.counts, ("prompt", "order"))
    crossed = jl.decompose(TENSOR)
    assert facets.components["prompt",] == pytest.approx(crossed.prompt, abs=1e-14)
    assert facets.components["prompt", "order"] == pytest.approx(crossed.interaction, abs=1e-14)
    assert facets.plugin["order",] == pytest.approx(crossed.plugin["order"], abs=1e-14)


def test_a_facet_with_one_level_is_absent():
    facets = decompose_facets(TENSOR.counts[:, :, :, None, :], ("prompt", "order", "temperature"))
    assert np.isnan(facets.components["temperature",]).all()
    assert np.isnan(facets.components["prompt", "temperature"]).all()
    assert not np.isnan(facets.components["prompt", "order"]).any()
    with pytest.raises(jl.InputError, match="name each facet axis once"):
        decompose_facets(TENSOR.counts, ("prompt", "prompt"))
