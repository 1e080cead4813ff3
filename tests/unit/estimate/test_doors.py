"""What the estimators let in: tensors and arrays alike, and nothing that would be misread."""

import numpy as np
import pytest

import judgelaw as jl
from judgelaw import estimate

rng = np.random.default_rng(3)
COUNTS = rng.multinomial(4, [0.4, 0.3, 0.2, 0.1], size=(9, 3, 2))
W, Q = [0.2, 0.3, 0.5], [0.25, 0.75]
TENSOR = jl.VerdictTensor.from_counts(COUNTS, orders=("AB", "BA"))
BY_NAME = {"AB": 0.25, "BA": 0.75}
GROUPS = {"x": ["p1", "p3"], "y": ["p2"]}


def test_narrow_integers_do_not_wrap_in_the_uncrossed_design():
    counts = [[12, 8], [0, 20], [13, 7]]
    narrow = estimate.uncrossed(np.array(counts, dtype=np.int8))
    wide = estimate.uncrossed(np.array(counts, dtype=np.int64))
    assert narrow == wide
    assert wide.within == pytest.approx((2 * 96 / 380 + 2 * 91 / 380) / 3, abs=1e-15)


def test_pooled_prompts_are_refused_where_calls_are_paired():
    pooled = TENSOR.coarsen_prompts(GROUPS)
    for refuse in (
        jl.decompose,
        estimate.plugin,
        estimate.prompt_distances,
        estimate.benchmark_effect,
        estimate.delete_invalid_and_pool,
        estimate.conditional_on_valid,
    ):
        with pytest.raises(jl.InputError, match="decompose_coarsened"):
            refuse(pooled)


def test_groups_by_name_are_groups_by_position():
    by_name = estimate.decompose_coarsened(TENSOR, GROUPS, order_weights=BY_NAME)
    by_place = estimate.decompose_coarsened(COUNTS, {"x": [0, 2], "y": [1]}, order_weights=Q)
    assert (by_name.prompt == by_place.prompt).all()
    with pytest.raises(jl.InputError, match="each prompt once"):
        estimate.decompose_coarsened(TENSOR, {"x": ["p1"]})


def test_a_group_for_each_prompt_is_the_plain_decomposition():
    alone = {"x": ["p1"], "y": ["p2"], "z": ["p3"]}
    coarse = estimate.decompose_coarsened(TENSOR, alone, order_weights=Q, prompt_weights=W)
    plain = jl.decompose(TENSOR, order_weights=Q, prompt_weights=W)
    for name in plain:
        assert coarse[name] == pytest.approx(plain[name], abs=1e-14)
        assert coarse.plugin[name] == pytest.approx(plain.plugin[name], abs=1e-14)


def test_bad_cells_are_counted_over_all_blocks_and_named_in_place():
    counts = np.full((6000, 6, 2, 4), 1)
    counts[5000, 2, 1] = counts[5900, 0, 0] = [1, 0, 0, 0]
    with pytest.raises(jl.NotIdentifiedError, match=r"2 of 72000 .*first cell \(5000, 2, 1\)"):
        jl.decompose(counts)
    with pytest.raises(jl.NotIdentifiedError, match=r"2 of 72000 .*first cell \(50, 0, 2, 1\)"):
        jl.decompose(counts.reshape(60, 100, 6, 2, 4))
    tensor = jl.VerdictTensor.from_counts(counts)
    with pytest.raises(jl.NotIdentifiedError, match=r"2 of 72000 .*first i5001 x p3 x o2"):
        jl.decompose(tensor)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: estimate.uncrossed(COUNTS[:, :, 0], "foo"), "'foo'"),
        (lambda: estimate.uncrossed(TENSOR), "2 orders"),
        (
            lambda: estimate.decompose_facets(COUNTS, ("prompt", "order"), weights={"promt": W}),
            "promt",
        ),
        (lambda: estimate.same_count_law(2.5), "whole number"),
        (lambda: estimate.pooled_order_agreement([1, 0], [0, 1], 1.5), "whole number"),
        (lambda: estimate.expected_plugin([[[0.5, 0.5]]], 2.5), "whole"),
        (lambda: jl.decompose(TENSOR, dissimilarity="ordinal"), "no scale"),
        (lambda: jl.decompose(COUNTS, dissimilarity=[[0, 1], [1]]), "dissimilarities cannot"),
        (lambda: jl.decompose(COUNTS, order_weights=["a", "b"]), "order weights are <U1"),
        (lambda: jl.decompose(COUNTS, order_weights=[[1], [1, 2]]), "order weights cannot"),
        (lambda: jl.decompose([[[1, 2], [3]]]), "counts cannot"),
        (lambda: jl.decompose(np.ma.masked_equal(COUNTS, 0)), "masked"),
        (lambda: estimate.population([[[0.5, 0.5]], [[1.0]]]), "laws cannot"),
        (lambda: estimate.numeric(["low", "high"]), "scores are"),
        (lambda: estimate.prompt_distances(COUNTS[0, 0]), "axes"),
        (lambda: estimate.benchmark_effect(COUNTS[0]), "axes"),
    ],
)
def test_what_would_be_misread_is_refused(call, words):
    with pytest.raises(jl.InputError, match=words):
        call()


def test_a_small_dissimilarity_is_held_to_the_same_rule_as_a_large_one():
    bad = np.array([[0, 1, 9], [1, 0, 1], [9, 1, 0]])
    for scale in (1e-12, 1, 1e12):
        with pytest.raises(jl.InputError, match="eigenvalue"):
            jl.decompose(COUNTS[..., :3] + 1, dissimilarity=bad * scale)
        jl.decompose(COUNTS[..., :3] + 1, dissimilarity=estimate.ordinal(3) * scale)


def test_tensors_and_their_counts_give_the_same_answers():
    D = estimate.prompt_distances(TENSOR, order_weights=BY_NAME)
    assert (estimate.prompt_distances(COUNTS, order_weights=Q) == D).all()
    names = {"p3": 0.5, "p1": 0.2, "p2": 0.3}
    effect = estimate.benchmark_effect(TENSOR, order_weights=BY_NAME, prompt_weights=names)
    assert effect == estimate.benchmark_effect(COUNTS, order_weights=Q, prompt_weights=W)
    one = estimate.uncrossed(TENSOR.select(orders=["BA"]), "sampled")
    assert (one.prompt == estimate.uncrossed(COUNTS[:, :, 1], "sampled").prompt).all()


@pytest.mark.parametrize(
    "options",
    [
        {"order_weights": Q, "prompt_weights": W},
        {"design": "sampled", "dissimilarity": estimate.numeric([0, 1, 3, 4])},
    ],
)
def test_the_plugin_is_the_one_beside_the_estimate(options):
    alone, beside = estimate.plugin(COUNTS, **options), jl.decompose(COUNTS, **options).plugin
    for name in beside:
        assert alone[name] == pytest.approx(beside[name], abs=1e-14)


def test_the_plugin_exists_at_one_call_and_the_refusal_names_it():
    single = np.eye(4, dtype=int)[rng.integers(0, 4, size=(5, 3, 2))]
    with pytest.raises(jl.NotIdentifiedError, match=r"estimate\.plugin"):
        jl.decompose(single)
    assert estimate.plugin(single)["call"] == pytest.approx(0, abs=1e-15)
    assert estimate.plugin(single)["total"].max() > 0.5
