"""Components from token probabilities: errors, missing mass, reconciliation."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.arrays import soft_fault
from judgelaw.estimate import COMPONENTS, Estimand, population, soft_components
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import concentration_forms, reconcile, soft_at_depth
from judgelaw.uncertainty.forms import component_map
from judgelaw.uncertainty.soft_variance import soft_variance
from support.vectors import with_verdicts

rng = np.random.default_rng(20261116)
CENSUS = Estimand()
F = Fraction


def soft_tensor(*, items=6, prompts=3, orders=2, repeats=3, seed=1) -> VerdictTensor:
    draw = np.random.default_rng(seed)
    y = draw.dirichlet([4, 2, 1], size=(items, prompts, orders, repeats))
    return with_verdicts(y, ("a", "b", "c"), draw)


def test_bounds_of_missing_mass_hold_wherever_it_belongs():
    """Take mass away from vectors: the components of the whole vectors stay within the bounds."""
    for seed in range(40):
        draw = np.random.default_rng(seed)
        whole = soft_tensor(seed=seed)
        kept = draw.random(whole.soft.shape) ** draw.choice([0.05, 0.5, 3.0])
        lacking = replace(whole, soft=whole.soft * kept)
        errors = soft_at_depth(lacking, CENSUS).errors
        truth = soft_at_depth(whole, CENSUS).errors
        for name in COMPONENTS:
            e, true = errors.values(name).mean(), truth.values(name).mean()
            down, up = errors.slack(name)
            assert down <= 0 <= up
            assert e + down - 1e-12 <= true <= e + up + 1e-12, (seed, name)


def test_bounds_of_missing_mass_hold_where_it_all_belongs_to_one_verdict():
    """Settled cells that lack mass: the bounds are needed nearly to their ends."""
    for sides in ([0, 0, 0], [0, 1, 1], [0, 1, 2]):
        whole = soft_tensor()
        y = np.zeros_like(whole.soft)
        for k, side in enumerate(sides):
            y[:, k, :, :, side] = 1
        truth = soft_at_depth(replace(whole, soft=y), CENSUS).errors
        errors = soft_at_depth(replace(whole, soft=0.95 * y), CENSUS).errors
        for name in COMPONENTS:
            e, true = errors.values(name).mean(), truth.values(name).mean()
            down, up = errors.slack(name)
            assert e + down - 1e-12 <= true <= e + up + 1e-12, (sides, name)
        assert errors.values("call").mean() == pytest.approx(1 - 0.95**2)
        assert errors.slack("call") == pytest.approx((-0.1, 0))


def test_bounds_of_missing_mass_are_exact_in_fractions():
    """Two calls a cell, one prompt: every place for the missing mass, without a tolerance."""
    half, quarter = F(1, 2), F(1, 4)
    known = [[half, quarter], [quarter, half], [half, half], [quarter, quarter]]
    for pair in product(known, repeat=2):
        lacks = [1 - sum(y) for y in pair]
        least = sum(a * b for a, b in zip(*pair, strict=True))
        most = least + sum(lacks)
        for places in product(range(2), repeat=2):
            full = [list(y) for y in pair]
            for y, at, m in zip(full, places, lacks, strict=True):
                y[at] += m
            assert least <= sum(a * b for a, b in zip(*full, strict=True)) <= most


def test_components_of_vectors_that_lack_mass_are_unbiased_for_known_products():
    """Enumerate calls that draw whole or lacking vectors; expectation of the pairs, exactly."""
    support = np.array([[F(1), F(0)], [F(1, 2), F(1, 4)], [F(1, 5), F(3, 5)]])
    chance = np.array([[F(1, 2), F(1, 4), F(1, 4)], [F(0), F(1, 3), F(2, 3)]])
    w, q = np.array([F(1, 3), F(2, 3)]), np.array([F(1)])
    P = chance @ support
    expected = dict.fromkeys(("call", "prompt", "total"), F(0))
    for draw in product(range(3), repeat=4):
        y = support[list(draw)].reshape(2, 1, 2, 2)
        found = soft_components(y, w, q)
        p = np.prod([chance[i // 2, j] for i, j in enumerate(draw)])
        for name in expected:
            expected[name] += p * found[name]
    H_x = sum(w[k] * (P[k] @ P[k]) for k in range(2))
    mean = w @ P
    assert expected["call"] == 1 - H_x
    assert expected["prompt"] == H_x - mean @ mean
    assert expected["total"] == 1 - mean @ mean


FORMS = concentration_forms(np.array([0.4, 0.6]), np.array([1.0]))


def second_sum(y, f, g):
    """Return sum_{u != v} c_uv c'_uv tr(S_u S_v) / (R_u R_v) of two cells."""
    S, R = [np.cov(y[u].T, ddof=1) for u in range(2)], y.shape[1]
    return 2 * FORMS[f, 0, 1] * FORMS[g, 0, 1] * np.trace(S[0] @ S[1]) / R**2


def test_the_safe_covariance_is_the_formula_written_out():
    y = soft_tensor(items=2, prompts=2, orders=1, repeats=4).soft.reshape(2, 2, 4, 3)
    found = soft_variance(y, FORMS).safe
    for i in range(2):
        S = [np.cov(y[i, u].T, ddof=1) for u in range(2)]
        p = y[i].mean(axis=1)
        for f, g in product(range(4), repeat=2):
            total = 2 * second_sum(y[i], f, g)
            for u in range(2):
                G, H = FORMS[f, u] @ p, FORMS[g, u] @ p
                total += 4 / 4 * G @ S[u] @ H
                total += 2 * FORMS[f, u, u] * FORMS[g, u, u] * np.trace(S[u] @ S[u]) / 12
            assert found[i, f, g] == pytest.approx(total)


def test_the_sharp_covariance_of_four_calls_is_unbiased():
    """Every outcome of two cells whose calls draw one of two vectors, four calls each."""
    support = np.array([[[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]], [[0.6, 0.4, 0.0], [0.0, 0.1, 0.9]]])
    chance = np.array([[0.7, 0.3], [0.9, 0.1]])
    outcomes = np.array(list(product(range(2), repeat=8))).reshape(-1, 2, 4)
    y = np.stack([support[u][outcomes[:, u]] for u in range(2)], axis=1)
    p = np.prod([chance[u][outcomes[:, u]].prod(axis=-1) for u in range(2)], axis=0)
    found = soft_components(y[:, :, None], np.array([0.4, 0.6]), np.array([1.0]))
    variance_of = soft_variance(y, FORMS)
    sharp, safe = variance_of.sharp, variance_of.safe
    rows = component_map(2, 1)
    for name in ("call", "prompt", "total"):
        values = found[name].astype(float)
        variance = p @ values**2 - (p @ values) ** 2
        row = rows[COMPONENTS.index(name)]
        expected = p @ np.einsum("a,nab,b->n", row, sharp, row)
        assert expected == pytest.approx(variance, rel=1e-10), name
    plug_in = p @ np.einsum("a,nab,b->n", rows[0], safe, rows[0])
    assert plug_in < 0.9 * (p @ found["call"] ** 2 - (p @ found["call"]) ** 2)


def test_two_calls_take_the_vector_that_other_cells_show_for_the_usual_one():
    """One call of the first cell has left the law that all others have: S_u counts there."""
    usual, other = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    y = np.array([[[usual, other], [usual, usual]]])
    c = np.array([np.diag([1.0, 0.0])])
    found = soft_variance(y, c)
    d = (usual - other)[None] * (usual - other)[:, None] / 2
    at = [4 / 2 * vector @ d @ vector for vector in (usual, other)]
    assert found.sharp[0, 0, 0] == pytest.approx((3 * at[0] + at[1]) / 4)
    assert found.safe[0, 0, 0] == found.sharp[0, 0, 0]


def test_the_agreement_of_three_calls_varies_as_its_bounds_allow():
    """Every outcome of a cell that no other shows: D without bias, with rho at its most."""
    support, chance = np.array([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5]]), np.array([0.7, 0.3])
    outcomes = np.array(list(product(range(2), repeat=3)))
    y, p = support[outcomes][:, None], chance[outcomes].prod(axis=-1)
    P = chance @ support
    S = (chance[:, None] * (support - P)).T @ (support - P)
    along, around = P @ S @ P, np.trace(S @ S)
    found = soft_variance(y, np.ones((1, 1, 1))).agreement[:, 0]
    assert p @ found == pytest.approx(4 / 3 * (along + around), rel=1e-10)
    a = soft_components(y[:, :, None], np.ones(1), np.ones(1))["call"].astype(float)
    variance = p @ a**2 - (p @ a) ** 2
    assert variance == pytest.approx(4 / 3 * along + around / 3, rel=1e-10)


def test_a_cell_that_moved_is_weighed_by_what_other_cells_show():
    """One call of the first cell has left the law that all others have: rho is that of the law."""
    usual, other = np.array([1.0, 0.0]), np.array([0.5, 0.5])
    y = np.tile(usual, (1, 4, 3, 1))
    y[0, 0, 2] = other
    D = np.var([1, 0.5, 0.5], ddof=1)
    assert soft_variance(y, np.zeros((1, 4, 4))).agreement[0] == pytest.approx([4 / 3 * D, 0, 0, 0])
    y[0, 2:] = [[usual, usual, other], [other, other, other]]
    S, share = np.cov(y[0, 0].T, ddof=1), np.array([2 * 5, 4]) / 14
    m = share @ [usual, other]
    W = share.prod() * np.outer(usual - other, usual - other)
    rho = m @ S @ m / (m @ S @ m + np.trace(S @ W))
    found = soft_variance(y, np.zeros((1, 4, 4))).agreement[0, 0]
    assert found == pytest.approx(D * (1 / 3 + rho + (1 - rho) / 4))


@pytest.mark.parametrize("repeats", [2, 4])
def test_two_calls_show_no_product_that_shares_a_call_and_four_need_none(repeats):
    y = soft_tensor(items=2, prompts=2, orders=1, repeats=repeats).soft.reshape(2, 2, repeats, 3)
    assert soft_variance(y, FORMS).agreement is None


def test_the_call_error_of_three_calls_counts_its_degrees_by_cells():
    """Both cells of one item of three move: four degrees of freedom, not two."""
    y = np.tile([1.0, 0.0], (3, 2, 1, 3, 1))
    y[0, :, :, 2] = [0.5, 0.5]
    errors = soft_at_depth(with_verdicts(y, ("a", "b"), rng), CENSUS).errors
    spread = errors.wide_spread("call")
    assert spread.df == pytest.approx(4)
    assert spread.variance == pytest.approx(errors.variances("call").sum() / 9)
    assert errors.rows(np.array([1, 2])).wide_spread("call").variance == 0


def test_absent_calls_do_not_count():
    whole = soft_tensor(repeats=4)
    ranked, soft = whole.ranked.copy(), whole.soft.copy()
    ranked[..., 3], soft[..., 3, :] = -1, np.nan
    verdicts = whole.verdicts
    holes = replace(VerdictTensor.from_ranked(ranked, verdicts=verdicts), soft=soft)
    three = whole.prefix(3)
    for name in COMPONENTS:
        one, other = (soft_at_depth(t, CENSUS).errors.interval(name) for t in (holes, three))
        assert one.estimate == pytest.approx(other.estimate)
        assert one.se == pytest.approx(other.se)


def test_vectors_that_do_not_move_give_the_law_and_no_interval_of_width_zero():
    laws = rng.dirichlet([3, 2, 1], size=(8, 3, 2))
    y = np.repeat(laws[..., None, :], 2, axis=-2)
    tensor = with_verdicts(y, ("a", "b", "c"), rng)
    errors = soft_at_depth(tensor, CENSUS).errors
    truth = population(laws).macro()
    for name in COMPONENTS:
        found = errors.interval(name)
        assert found.estimate == pytest.approx(float(truth[name]))
        assert found.low <= truth[name] + 1e-12
        assert found.high > found.low


def test_one_vector_is_not_taken_for_the_law():
    with pytest.raises(jl.NotIdentifiedError, match="single vector"):
        soft_at_depth(soft_tensor(repeats=1), CENSUS)


def test_drawn_prompts_have_no_soft_errors():
    with pytest.raises(jl.InputError, match="drawn from a generator"):
        soft_at_depth(soft_tensor(), Estimand(design="sampled"))


def test_reconciliation_accepts_the_right_vectors_and_refuses_others():
    right = soft_tensor(items=30, seed=3)
    assert reconcile(right, np.random.default_rng(1), 400) > 0.05
    swapped = replace(right, soft=right.soft[..., [1, 0, 2]])
    assert reconcile(swapped, np.random.default_rng(1), 400) < 0.01
    greedy = replace(
        VerdictTensor.from_ranked(right.soft.argmax(axis=-1), verdicts=right.verdicts),
        soft=right.soft,
    )
    assert reconcile(greedy, np.random.default_rng(1), 400) < 0.01


@pytest.mark.parametrize(
    ("vector", "words"),
    [
        ([0.8, 0.4, 0.0], "sum to 1.2"),
        ([-0.1, 0.4, 0.0], "no probabilities"),
        ([0.0, 1.0, 0.0], "probability 0 in its own vector"),
    ],
)
def test_vectors_that_cannot_be_are_refused(vector, words):
    ranked = np.zeros((1, 2, 1, 2), int)
    y = np.tile([0.7, 0.2, 0.1], (1, 2, 1, 2, 1))
    assert soft_fault(y, ranked, ("a", "b", "c")) is None
    y[0, 1, 0, 1] = vector
    at, said = soft_fault(y, ranked, ("a", "b", "c"))
    assert at == (0, 1, 0, 1)
    assert words in said


def test_vectors_follow_their_calls():
    tensor = soft_tensor()
    chosen = tensor.select(items=tensor.items[2:4], prompts=tensor.prompts[1:]).prefix(2)
    assert (chosen.soft == tensor.soft[2:4, 1:, :, :2]).all()
    merged = tensor.recode({"c": "a"})
    assert merged.soft[..., 0] == pytest.approx(tensor.soft[..., 0] + tensor.soft[..., 2])
