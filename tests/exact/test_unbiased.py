"""Unbiasedness by full enumeration, in fractions, with no tolerance."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from judgelaw.estimate import (
    COMPONENTS,
    benchmark_effect,
    decompose,
    decompose_coarsened,
    decompose_facets,
    decompose_soft,
    expected_plugin,
    numeric,
    pooled_order_agreement,
    population,
    prompt_distances,
    sampled_plugin,
    uncrossed,
    variance_correction,
)
from judgelaw.scale import ScoreScale
from support.enumeration import expectation, fractions, outcomes

F = Fraction

TWO_BY_TWO = fractions([[["1/2", "1/2"], ["1/3", "2/3"]], [["1/5", "4/5"], ["3/4", "1/4"]]])
THREE_VERDICTS = fractions(
    [[["1/2", "1/3", "1/6"], ["1/4", "1/4", "1/2"]], [["0", "1/5", "4/5"], ["2/3", "1/6", "1/6"]]]
)
ONE_ORDER = fractions([[["1/2", "1/2"]], [["1/3", "2/3"]], [["1", "0"]]])


def assert_expects(estimate, truth, chances):
    for name in COMPONENTS:
        assert expectation(estimate[name], chances) == truth[name], name


@pytest.mark.parametrize(
    ("laws", "repeats"),
    [
        (TWO_BY_TWO, 2),
        (TWO_BY_TWO, 3),
        (TWO_BY_TWO, [[2, 3], [4, 2]]),
        (THREE_VERDICTS, 2),
        (THREE_VERDICTS, [[2, 2], [3, 2]]),
    ],
)
def test_crossed_census_is_unbiased(laws, repeats):
    counts, chances = outcomes(laws, repeats)
    assert_expects(decompose(counts), population(laws), chances)


@pytest.mark.parametrize("repeats", [2, [[3, 2], [2, 4]]])
def test_crossed_census_is_unbiased_for_any_weights(repeats):
    weights = {
        "prompt_weights": fractions(["1/3", "2/3"]),
        "order_weights": fractions(["1/4", "3/4"]),
    }
    counts, chances = outcomes(TWO_BY_TWO, repeats)
    assert_expects(decompose(counts, **weights), population(TWO_BY_TWO, **weights), chances)


@pytest.mark.parametrize("r", [fractions([[0, 1, 2], [1, 0, 1], [2, 1, 0]]) / F(2), "nominal"])
def test_other_dissimilarities_are_unbiased(r):
    counts, chances = outcomes(THREE_VERDICTS, 2)
    truth = population(THREE_VERDICTS, dissimilarity=r)
    assert_expects(decompose(counts, dissimilarity=r), truth, chances)


SCORED = fractions(
    [[["1/2", "1/4", "1/8", "1/8"]], [["0", "1/3", "1/2", "1/6"]], [["1/5", "1/5", "2/5", "1/5"]]]
)
"""Three prompts in no order; scores 1, 2 and 4, and replies without one."""


@pytest.mark.parametrize("kind", ["ordinal", "numeric"])
@pytest.mark.parametrize("repeats", [2, [[3], [2], [2]]])
def test_scores_are_unbiased(kind, repeats):
    """The distances of a scale are exact in floats here, so they are so in fractions."""
    scale = ScoreScale(values=(1.0, 2.0, 4.0), dissimilarity=kind)
    r = fractions(scale.distances(("1", "2", "4", "invalid")).tolist())
    counts, chances = outcomes(SCORED, repeats)
    truth = population(SCORED, dissimilarity=r)
    found = decompose(counts, dissimilarity=r)
    for name in ("call", "prompt", "total"):
        assert expectation(found[name], chances) == truth[name], name
        assert truth[name] > 0
    D = prompt_distances(counts, dissimilarity=r)
    assert expectation(D.sum(axis=(-1, -2)) / 18, chances) == truth["prompt"]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"design": "sampled"},
        {"prompt_weights": fractions(["1/3", "2/3"])},
        {"order_weights": fractions(["1/4", "3/4"])},
        {"design": "sampled", "dissimilarity": fractions([["0", "1/3"], ["1/3", "0"]])},
    ],
)
@pytest.mark.parametrize("repeats", [1, 2, 3, [[1, 2], [3, 1]]])
def test_plugin_expects_exactly_the_stated_inflation(repeats, options):
    """The plug-in exists at one repeat, where nothing can be corrected."""
    counts, chances = outcomes(TWO_BY_TWO, repeats)
    R = counts.sum(axis=-1)
    at_face_value = population(counts / R[..., None], **options)
    stated = expected_plugin(TWO_BY_TWO, repeats, **options)
    for name in COMPONENTS:
        assert expectation(at_face_value[name], chances) == stated.plugin[name], name
        assert stated[name] == population(TWO_BY_TWO, **options)[name], name


def test_balanced_crossed_excess_is_the_published_one():
    """Plug-in excess is (K-1)/(2KR) call for two equal orders, and (K-1)/(KR) without orders."""
    for R in (1, 2, 5):
        stated = expected_plugin(TWO_BY_TWO, R)
        assert stated.excess["prompt"] == F(1, 2 * 2 * R) * stated.call
        census = expected_plugin(ONE_ORDER, R)
        assert census.excess["prompt"] == F(2, 3 * R) * census.call


@pytest.mark.parametrize("repeats", [2, 3])
def test_uncrossed_agreement_forms_are_unbiased_for_a_census(repeats):
    counts, chances = outcomes(ONE_ORDER, repeats)
    truth = population(ONE_ORDER)
    estimate = uncrossed(counts[:, :, 0])
    assert expectation(estimate.within, chances) == truth.call
    assert expectation(estimate.prompt, chances) == truth.prompt
    assert expectation(estimate.total, chances) == truth.total


def generator_design(generator, K, repeats):
    """Return outcomes of K prompts drawn independently and evenly from a finite generator."""
    counts, chances = [], []
    for draw in product(range(len(generator)), repeat=K):
        n, chance = outcomes(generator[list(draw)], repeats)
        counts.append(n)
        chances.append(chance / len(generator) ** K)
    return np.concatenate(counts), np.concatenate(chances)


def test_crossed_sampled_design_is_unbiased_for_the_generator():
    """The truth is the census of the generator's own support."""
    generator = fractions(
        [
            [["1/2", "1/2"], ["1/3", "2/3"]],
            [["1", "0"], ["1/4", "3/4"]],
            [["1/5", "4/5"], ["0", "1"]],
        ]
    )
    counts, chances = generator_design(generator, 2, 2)
    assert_expects(decompose(counts, design="sampled"), population(generator), chances)


def test_uncrossed_sampled_forms_agree_and_theorem_one_holds():
    counts, chances = generator_design(ONE_ORDER, 3, 2)
    truth = population(ONE_ORDER)
    flat = counts[:, :, 0]
    pairs = uncrossed(flat, "sampled")
    assert (variance_correction(flat) == pairs.prompt).all()
    assert expectation(pairs.prompt, chances) == truth.prompt
    assert expectation(pairs.total, chances) == truth.total
    assert expectation(sampled_plugin(flat), chances) == truth.prompt + truth.call / 2


def test_three_facets_are_unbiased_and_additive():
    heads = np.array([[[1, 0], [5, 3]], [[0, 2], [4, 5]]])  # of five; certain cells keep it short
    laws = fractions(np.stack([heads, 5 - heads], axis=-1)) / F(5)
    counts, chances = outcomes(laws, 2)
    estimate = decompose_facets(counts, ("prompt", "order", "temperature"))
    truth = _facet_truth(laws)
    for subset, value in estimate.components.items():
        assert expectation(value, chances) == truth[subset], subset
    parts = sum(estimate.components.values()) + estimate.call
    assert (parts == estimate.total).all()


def _facet_truth(laws):
    """Components straight from orthogonal projections of the laws, sharing no estimator code."""
    truth = {}
    names = ("prompt", "order", "temperature")
    for size in (1, 2, 3):
        for subset in ((s) for s in product((0, 1), repeat=3) if sum(s) == size):
            effect = laws
            for axis, inside in enumerate(subset):
                mean = effect.mean(axis=axis, keepdims=True) + 0 * effect
                effect = effect - mean if inside else mean
            key = tuple(name for name, inside in zip(names, subset, strict=True) if inside)
            truth[key] = (effect**2).sum(axis=-1).mean()
    return truth


def test_prompt_distances_are_unbiased_and_sum_to_the_prompt_component():
    counts, chances = outcomes(TWO_BY_TWO, 2)
    D = prompt_distances(counts)
    averaged = TWO_BY_TWO.mean(axis=1)
    assert expectation(D[:, 0, 1], chances) == ((averaged[0] - averaged[1]) ** 2).sum()
    assert (D.sum(axis=(1, 2)) / 8 == decompose(counts).prompt).all()


def test_benchmark_effect_is_unbiased_for_fixed_items_of_a_common_coding():
    laws = fractions([[[["1/2", "1/2"]], [["1/3", "2/3"]]], [[["1/4", "3/4"]], [["1", "0"]]]])
    counts, chances = outcomes(laws, 2)
    effects = [benchmark_effect(outcome) for outcome in counts]
    shift = laws[:, :, 0] - laws[:, :, 0].mean(axis=1, keepdims=True)
    cross = (shift[0] * shift[1]).sum(axis=-1).mean()
    fixed = ((shift.mean(axis=0)) ** 2).sum(axis=-1).mean()
    prompt = population(laws).prompt.mean()
    assert expectation(np.array([e.shared for e in effects]), chances) == cross
    assert expectation(np.array([e.prompt for e in effects]), chances) == prompt
    assert expectation(np.array([e.shared_fixed_items for e in effects]), chances) == fixed


def test_soft_verdicts_are_unbiased_for_the_mean_laws():
    """Each call draws its vector from a small set; the target is the law of the mean vectors."""
    support = fractions([["1", "0"], ["1/2", "1/2"], ["1/5", "4/5"]])
    chance_of = fractions([["1/2", "1/4", "1/4"], ["0", "1/3", "2/3"]])
    laws = (chance_of @ support)[:, None, :]
    values, chances = [], []
    for draw in product(range(3), repeat=4):
        y = support[list(draw)].reshape(2, 1, 2, 2)
        values.append(decompose_soft(y))
        chances.append(np.prod([chance_of[i // 2, j] for i, j in enumerate(draw)]))
    truth = population(laws)
    for name in ("call", "prompt", "total"):
        mean = sum(c * v[name] for c, v in zip(chances, values, strict=True))
        assert mean == truth[name]


def test_pooling_orders_undershoots_the_declared_mixture_as_stated():
    a, b = fractions(["1/2", "1/2"]), fractions(["1/5", "4/5"])
    for calls in (1, 2, 3):
        counts, chances = outcomes(np.stack([a, b]), calls)
        pooled = counts.sum(axis=1)
        agreement = (pooled * (pooled - 1)).sum(axis=-1) / F(2 * calls * (2 * calls - 1))
        assert expectation(agreement, chances) == pooled_order_agreement(a, b, calls)


def test_numeric_scores_give_the_variance_components_of_the_scores():
    """With (s - t)^2 / 2 the total is the variance of a score drawn from the mean law."""
    scores = [0.0, 1.0, 4.0]
    laws = np.array(THREE_VERDICTS, dtype=float)
    mean = laws.mean(axis=(0, 1))
    variance = mean @ np.square(scores) - (mean @ scores) ** 2
    truth = population(laws, dissimilarity=numeric(scores))
    assert truth.total == pytest.approx(variance, abs=1e-14)


FOUR_PROMPTS = fractions(
    [[["9/10", "1/10"]], [["1/10", "9/10"]], [["1/2", "1/2"]], [["1/2", "1/2"]]]
)
THREE_PROMPTS = fractions(
    [
        [["9/10", "1/10"], ["1/3", "2/3"]],
        [["1/10", "9/10"], ["1/4", "3/4"]],
        [["1/2", "1/2"], ["1", "0"]],
    ]
)


def test_groups_of_different_prompts_expect_the_disagreement_of_their_mixture():
    """Two groups of mean law (1/2, 1/2): call is 1/2, where pooled calls would expect more."""
    counts, chances = outcomes(FOUR_PROMPTS, 2)
    coarse = decompose_coarsened(counts, {"mixed": [0, 1], "even": [2, 3]})
    assert expectation(coarse.call, chances) == F(1, 2)
    assert expectation(coarse.prompt, chances) == 0


@pytest.mark.parametrize("repeats", [2, [[2, 3], [2, 2], [3, 2]]])
def test_coarsened_prompts_are_unbiased_for_any_weights(repeats):
    w, q = fractions(["1/6", "1/2", "1/3"]), fractions(["1/4", "3/4"])
    counts, chances = outcomes(THREE_PROMPTS, repeats)
    coarse = decompose_coarsened(counts, {"a": [2, 0], "b": [1]}, prompt_weights=w, order_weights=q)
    merged = (THREE_PROMPTS[2] * w[2] + THREE_PROMPTS[0] * w[0]) / (w[2] + w[0])
    truth = population(
        np.stack([merged, THREE_PROMPTS[1]]),
        prompt_weights=fractions(["1/2", "1/2"]),
        order_weights=q,
    )
    assert_expects(coarse, truth, chances)
