"""Every estimator against the complete-pair form of the paper, as explicit loops over cells."""

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.estimate import (
    COMPONENTS,
    benchmark_effect,
    conditional_on_valid,
    decompose_facets,
    decompose_soft,
    numeric,
    panels,
    plugin,
    population,
    prompt_distances,
    sampled_plugin,
    uncrossed,
)

rng = np.random.default_rng(20261116)
K, O = 3, 2
LAWS = rng.dirichlet([2, 2, 1, 0.7], size=(8, K, O))
TENSOR = jl.VerdictTensor.from_laws(LAWS, repeats=6, seed=2)
COUNTS = TENSOR.counts
UNEQUAL = COUNTS + rng.integers(0, 3, size=COUNTS.shape)
W, Q = [0.5, 0.2, 0.3], [0.25, 0.75]
NUMERIC = numeric([0.0, 0.5, 2.0, 1.0])


def by_pairs(
    n, *, design="census", prompt_weights=None, order_weights=None, dissimilarity=None, plugin=False
):
    """The estimator for one item; the plug-in pairs every call with itself too."""
    w = np.full(K, 1 / K) if prompt_weights is None else prompt_weights
    q = np.full(O, 1 / O) if order_weights is None else order_weights
    M = np.eye(n.shape[-1]) if dissimilarity is None else 1 - dissimilarity
    R = n.sum(axis=-1)
    cells = [(k, o) for k in range(K) for o in range(O)]

    def agree(u, v):
        if u == v and not plugin:
            return (n[u] @ M @ n[u] - R[u]) / (R[u] * (R[u] - 1))
        return n[u] @ M @ n[v] / (R[u] * R[v])

    def two(k, m):
        """The weight of two prompts: drawn apart if they are a sample."""
        if design == "sampled":
            return 0 if k == m else 1 / (K * (K - 1))
        return w[k] * w[m]

    H_XO = sum(w[k] * q[o] * agree((k, o), (k, o)) for k, o in cells)
    H_X = sum(w[k] * q[o] * q[p] * agree((k, o), (k, p)) for k, o in cells for p in range(O))
    H_O = sum(q[o] * two(k, m) * agree((k, o), (m, o)) for k, o in cells for m in range(K))
    H_0 = sum(two(k, m) * q[o] * q[p] * agree((k, o), (m, p)) for k, o in cells for m, p in cells)
    return {
        "call": 1 - H_XO,
        "prompt": H_X - H_0,
        "order": H_O - H_0,
        "interaction": H_XO - H_X - H_O + H_0,
        "total": 1 - H_0,
    }


def assert_pairs(found, counts, **options):
    """Compare components by name with the loops over every item."""
    expected = [by_pairs(n, **options) for n in counts]
    for name in COMPONENTS:
        assert found[name] == pytest.approx([e[name] for e in expected], abs=1e-13), name


BOTH = {"prompt_weights": W, "order_weights": Q}
OPTIONS = [
    {},
    BOTH,
    {"prompt_weights": W},
    {"order_weights": Q},
    {"dissimilarity": NUMERIC},
    {"design": "sampled"},
    {"design": "sampled", "order_weights": Q, "dissimilarity": NUMERIC},
]


@pytest.mark.parametrize("counts", [COUNTS, UNEQUAL])
@pytest.mark.parametrize("options", OPTIONS)
def test_decompose(counts, options):
    estimate = jl.decompose(counts, **options)
    assert_pairs(estimate, counts, **options)
    assert_pairs(estimate.plugin, counts, plugin=True, **options)


@pytest.mark.parametrize("options", OPTIONS)
def test_the_plugin_alone(options):
    assert_pairs(plugin(UNEQUAL, **options), UNEQUAL, plugin=True, **options)


@pytest.mark.parametrize("options", OPTIONS)
def test_known_laws_are_their_own_plugin(options):
    assert_pairs(population(LAWS, **options), LAWS, plugin=True, **options)


@pytest.mark.parametrize("options", OPTIONS[:4])
def test_soft_verdicts_that_are_certain(options):
    soft = decompose_soft(np.eye(4)[TENSOR.ranked], **options)
    assert_pairs(soft, COUNTS, **options)
    assert_pairs(soft.plugin, COUNTS, plugin=True, **options)


@pytest.mark.parametrize("options", OPTIONS[:4])
def test_panels_pair_the_ranks_of_their_own(options):
    estimate = panels(TENSOR, **options)
    for which in range(3):
        counts = TENSOR.ranks([2 * which, 2 * which + 1]).counts
        panel = {name: estimate[name][:, which] for name in COMPONENTS}
        assert_pairs(panel, counts, **options)
        panel = {name: estimate.plugin[name][:, which] for name in COMPONENTS}
        assert_pairs(panel, counts, plugin=True, **options)


@pytest.mark.parametrize("options", OPTIONS[:4])
def test_valid_outputs(options):
    tensor = jl.VerdictTensor.from_counts(UNEQUAL + np.array([2, 0, 0, 0]))
    found = conditional_on_valid(tensor, **options)
    assert len(found.kept) == len(UNEQUAL)
    assert_pairs(found.decomposition, tensor.counts[..., :3], **options)


@pytest.mark.parametrize("q", [None, Q])
@pytest.mark.parametrize("w", [None, W])
def test_distances_and_the_benchmark_effect(w, q):
    expected = np.array([by_pairs(n, prompt_weights=w, order_weights=q)["prompt"] for n in UNEQUAL])
    weights = np.full(K, 1 / K) if w is None else np.array(w)
    D = prompt_distances(UNEQUAL, order_weights=q)
    assert (D @ weights) @ weights / 2 == pytest.approx(expected, abs=1e-13)
    effect = benchmark_effect(UNEQUAL, order_weights=q, prompt_weights=w)
    assert effect.prompt == pytest.approx(expected.mean(), abs=1e-13)
    assert effect.shared == pytest.approx(shared_by_pairs(UNEQUAL, weights, q), abs=1e-13)


def shared_by_pairs(counts, w, q):
    """Products of the shifts of two different items, averaged over their pairs."""
    p = counts / counts.sum(axis=-1, keepdims=True)
    P = np.average(p, axis=2, weights=q)
    shift = P - np.average(P, axis=1, weights=w)[:, None]
    pairs = [(i, j) for i in range(len(P)) for j in range(len(P)) if i != j]
    return np.mean([sum(w[k] * shift[i, k] @ shift[j, k] for k in range(K)) for i, j in pairs])


@pytest.mark.parametrize("options", OPTIONS[:5])
def test_facets(options):
    weights = {name: options.get(f"{name}_weights") for name in ("prompt", "order")}
    found = decompose_facets(
        UNEQUAL,
        ("prompt", "order"),
        weights={name: given for name, given in weights.items() if given is not None},
        dissimilarity=options.get("dissimilarity"),
    )
    names = {"prompt": ("prompt",), "order": ("order",), "interaction": ("prompt", "order")}
    components = {name: found.components[key] for name, key in names.items()}
    assert_pairs({**components, "call": found.call, "total": found.total}, UNEQUAL, **options)
    beside = [by_pairs(n, plugin=True, **options) for n in UNEQUAL]
    for name, key in names.items():
        assert found.plugin[key] == pytest.approx([e[name] for e in beside], abs=1e-13)


@pytest.mark.parametrize("design", ["census", "sampled"])
def test_uncrossed_is_crossed_with_a_single_order(design):
    counts = UNEQUAL[:, :, 0]
    found = uncrossed(counts, design)
    one = jl.decompose(counts[:, :, None], design=design)
    assert found.within == pytest.approx(one.call, abs=1e-13)
    assert found.prompt == pytest.approx(one.prompt, abs=1e-13)
    assert found.total == pytest.approx(one.total, abs=1e-13)
    if design == "sampled":
        assert sampled_plugin(counts) == pytest.approx(one.plugin["prompt"], abs=1e-13)


def test_mapping_keeps_the_plugin_and_the_design():
    d = jl.decompose(COUNTS, design="sampled")
    doubled = d.map(lambda values: 2 * values)
    assert doubled.design == d.macro().design == "sampled"
    assert (doubled.plugin["prompt"] == 2 * d.plugin["prompt"]).all()
    assert (doubled.prompt == 2 * d.prompt).all()
