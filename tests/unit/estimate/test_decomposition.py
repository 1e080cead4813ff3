"""`decompose`: identities that hold in every sample, designs, weights, and what is refused."""

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.estimate import COMPONENTS, population

rng = np.random.default_rng(20261116)
COUNTS = rng.multinomial(4, [0.4, 0.3, 0.2, 0.1], size=(30, 6, 2))
UNEQUAL = COUNTS + rng.integers(0, 3, size=COUNTS.shape)


@pytest.mark.parametrize("design", ["census", "sampled"])
@pytest.mark.parametrize("counts", [COUNTS, UNEQUAL])
def test_components_add_up_in_every_sample(counts, design):
    d = jl.decompose(counts, design=design)
    for part in (d, d.plugin):
        added = part["call"] + part["prompt"] + part["order"] + part["interaction"]
        assert added == pytest.approx(part["total"], abs=1e-14)


def test_balanced_plugin_excess_is_a_rescaled_call_component():
    """R (plug-in - corrected) = (K-1, O-1, (K-1)(O-1), -KO, -1) call / KO, whatever the sample."""
    K, O, R = 6, 2, 4
    d = jl.decompose(COUNTS)
    scale = {"prompt": 5, "order": 1, "interaction": 5, "call": -12, "total": -1}
    for name, factor in scale.items():
        assert R * d.excess[name] == pytest.approx(factor * d.call / (K * O), abs=1e-14)


def test_unequal_plugin_excess_is_the_weighted_self_pair_sum():
    R = UNEQUAL.sum(axis=-1)
    a = (UNEQUAL * (UNEQUAL - 1)).sum(axis=-1) / (R * (R - 1))
    excess = (1 - a) / R
    w, q = 1 / 6, 1 / 2
    assert jl.decompose(UNEQUAL).excess["prompt"] == pytest.approx(
        ((w - w**2) * q**2 * excess).sum(axis=(1, 2)), abs=1e-14
    )


def test_an_absent_facet_is_nan_and_the_rest_stands():
    one_order = jl.decompose(COUNTS[:, :, :1])
    assert np.isnan(one_order.order).all()
    assert np.isnan(one_order.interaction).all()
    assert np.isnan(one_order.plugin["order"]).all()
    assert one_order.call + one_order.prompt == pytest.approx(one_order.total, abs=1e-14)
    one_prompt = jl.decompose(COUNTS[:, :1])
    assert np.isnan(one_prompt.prompt).all()
    assert one_prompt.call + one_prompt.order == pytest.approx(one_prompt.total, abs=1e-14)


def test_leading_axes_are_kept_and_items_are_independent_of_their_neighbours():
    mixed = np.concatenate([COUNTS, UNEQUAL])
    together = jl.decompose(mixed)
    for i in (0, 17, 40, 59):
        alone = jl.decompose(mixed[i])
        assert alone.total.shape == ()
        for name in COMPONENTS:
            assert together[name][i] == alone[name]
    shaped = jl.decompose(mixed.reshape(3, 20, 6, 2, 4))
    assert shaped.prompt.shape == (3, 20)
    assert (shaped.prompt.ravel() == together.prompt).all()


def test_many_blocks_equal_one_block():
    many = np.tile(COUNTS, (400, 1, 1, 1))
    assert (jl.decompose(many).prompt.reshape(400, 30) == jl.decompose(COUNTS).prompt).all()


def test_large_counts_stay_exact():
    """Counts beyond single precision take the double path and agree with the truth."""
    law = np.array([0.4, 0.3, 0.2, 0.1])
    counts = np.rint(law * 10_000_000).astype(int) * np.ones((1, 6, 2, 1), dtype=int)
    d = jl.decompose(counts)
    assert d.call[0] == pytest.approx(0.7, abs=1e-7)
    assert d.prompt[0] == pytest.approx(0, abs=1e-7)


def test_narrow_and_unsigned_integers_do_not_overflow():
    small = COUNTS.astype(np.uint8)
    assert (jl.decompose(small).prompt == jl.decompose(COUNTS).prompt).all()
    assert (jl.decompose(COUNTS.astype(float)).prompt == jl.decompose(COUNTS).prompt).all()


def test_macro_is_the_equal_item_mean_and_a_mapping():
    d = jl.decompose(COUNTS)
    macro = d.macro()
    assert macro.prompt == d.prompt.mean()
    assert macro["prompt"] == macro.prompt
    assert macro.plugin["prompt"] == d.plugin["prompt"].mean()
    assert list(macro) == list(COMPONENTS)
    assert dict(d)["call"] is d.call
    with pytest.raises(KeyError):
        d["plugin"]


def test_weights_by_name_follow_the_tensor():
    tensor = jl.VerdictTensor.from_counts(COUNTS, orders=("AB", "BA"))
    by_name = jl.decompose(tensor, order_weights={"BA": 0.75, "AB": 0.25})
    assert (by_name.order == jl.decompose(COUNTS, order_weights=[0.25, 0.75]).order).all()


def test_deterministic_cells_have_no_call_component_and_no_excess():
    counts = np.zeros((5, 6, 2, 4), dtype=int)
    counts[:, :3, :, 0] = 4
    counts[:, 3:, :, 1] = 4
    d = jl.decompose(counts)
    assert (d.call == 0).all()
    assert (d.excess["prompt"] == 0).all()
    assert d.prompt == pytest.approx(0.5)


def test_ordinal_two_verdicts_equal_nominal():
    two = np.stack([COUNTS[..., 0], COUNTS[..., 1:].sum(axis=-1)], axis=-1)
    nominal, ordinal = jl.decompose(two), jl.decompose(two, dissimilarity="ordinal")
    for name in COMPONENTS:
        assert ordinal[name] == pytest.approx(nominal[name], abs=1e-14)


def test_population_is_the_limit_of_many_repeats():
    laws = rng.dirichlet([1, 1, 1], size=(4, 3, 2))
    counts = np.rint(laws * 10**8).astype(np.int64)
    truth = population(counts / counts.sum(axis=-1, keepdims=True))
    for name in COMPONENTS:
        assert jl.decompose(counts)[name] == pytest.approx(truth[name], abs=1e-7)


REFUSED = [
    (np.full((2, 3, 2, 4), 0.5), {}, jl.InputError, "whole"),
    (-COUNTS, {}, jl.InputError, "negative"),
    (np.full((2, 3, 2, 4), np.nan), {}, jl.InputError, "nan"),
    (np.array([["a", "b"]]), {}, jl.InputError, "numbers"),
    (COUNTS[0, 0], {}, jl.InputError, "axes"),
    (COUNTS[:0], {}, jl.InputError, "no item"),
    (np.where(COUNTS > 9, COUNTS, 0), {}, jl.IncompleteDesignError, "hold no call"),
    (np.eye(4, dtype=int)[None, :, None], {}, jl.NotIdentifiedError, "R = 1"),
    (COUNTS, {"order_weights": [0.5, 0.6]}, jl.InputError, "sum to 1.1"),
    (COUNTS, {"order_weights": [1.5, -0.5]}, jl.InputError, "positive"),
    (COUNTS, {"order_weights": [np.nan, 1.0]}, jl.InputError, "positive"),
    (COUNTS, {"order_weights": [1.0]}, jl.InputError, "2 levels"),
    (COUNTS, {"order_weights": {"AB": 1.0}}, jl.InputError, "VerdictTensor"),
    (COUNTS, {"design": "random"}, jl.InputError, "'random'"),
    (COUNTS, {"design": "sampled", "prompt_weights": [1 / 6] * 6}, jl.InputError, "sampled"),
    (COUNTS[:, :1], {"design": "sampled"}, jl.InputError, "one prompt"),
    (COUNTS, {"dissimilarity": "euclid"}, jl.InputError, "'euclid'"),
    (COUNTS, {"dissimilarity": np.eye(4)}, jl.InputError, "zero on its diagonal"),
    (COUNTS, {"dissimilarity": np.zeros((3, 3))}, jl.InputError, "shape"),
    (
        COUNTS[..., :3],
        {"dissimilarity": [[0, 1, 9], [1, 0, 1], [9, 1, 0]]},
        jl.InputError,
        "eigenvalue",
    ),
]


@pytest.mark.parametrize(("counts", "options", "error", "words"), REFUSED)
def test_bad_input_is_refused_in_words(counts, options, error, words):
    with pytest.raises(error, match=words):
        jl.decompose(counts, **options)


def test_one_call_in_one_cell_is_named():
    counts = COUNTS.copy()
    counts[7, 2, 1] = [1, 0, 0, 0]
    tensor = jl.VerdictTensor.from_counts(counts)
    with pytest.raises(jl.NotIdentifiedError, match="i8 x p3 x o2"):
        jl.decompose(tensor)
