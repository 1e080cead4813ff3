from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import COMPONENTS, decompose
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    call_covariance,
    call_errors,
    call_interval,
    call_variance,
    component_lead,
    component_share,
    concentration_forms,
    declare,
    form_of,
    permutation_test,
    true_call_covariance,
    variance_parts,
)
from judgelaw.worlds import World
from support import judges

W = np.full(6, 1 / 6)
Q = np.full(2, 1 / 2)
WORLD = World.from_effects(prompt=0.02, order=0.01, item_spread=0.4, seed=2)


@pytest.fixture(scope="module")
def tensor():
    return WORLD.tensor(items=40, prompts=6, orders=2, repeats=6, seed=1)


@pytest.fixture(scope="module")
def errors(tensor):
    return call_errors(tensor)


def test_estimates_are_those_of_decompose(tensor, errors):
    found = decompose(tensor)
    for name in COMPONENTS:
        assert errors.values(name) == pytest.approx(found[name], rel=1e-12)
    both = errors.values({"prompt": 2, "total": -1})
    assert both == pytest.approx(2 * found.prompt - found.total)


def test_chunks_of_items_do_not_change_the_covariance(tensor, errors, monkeypatch):
    cells = tensor.counts.reshape(40, 12, 4)
    monkeypatch.setattr(call_variance, "_CHUNK", 1)
    again = call_covariance(cells, concentration_forms(W, Q))
    assert again == pytest.approx(errors.covariance, rel=1e-10, abs=1e-15)


def test_contrast_variance_is_that_of_its_own_form(tensor, errors):
    contrast = {"prompt": 1.0, "order": -1.0}
    direct = call_covariance(tensor.counts.reshape(40, 12, 4), form_of(contrast, W, Q)[None])
    assert errors.variances(contrast) == pytest.approx(direct[:, 0, 0], rel=1e-9, abs=1e-15)


def test_parts_at_the_depth_of_the_pilot_are_the_variance(tensor, errors):
    parts = variance_parts(tensor.counts.reshape(40, 12, 4), concentration_forms(W, Q))
    assert parts.at(6) == pytest.approx(errors.covariance, rel=1e-9, abs=1e-15)


def test_mean_of_variances_is_the_true_variance():
    """Also for unequal weights, unequal repeats and an ordinal scale, in floats."""
    rng = np.random.default_rng(5)
    P = rng.dirichlet([1, 1, 1], size=4)
    R = np.array([4, 5, 6, 4])
    c = concentration_forms(np.array([0.3, 0.7]), np.array([0.6, 0.4]))
    M = 1 - np.abs(np.subtract.outer(range(3), range(3))) / 2
    n = np.stack([rng.multinomial(r, p, size=20_000) for r, p in zip(R, P, strict=True)], axis=1)
    V = call_covariance(n, c, M)
    truth = true_call_covariance(P[None], R, c, M)[0]
    assert np.abs(V.mean(axis=0) - truth) == pytest.approx(
        np.zeros((4, 4)), abs=5 * float((V.std(axis=0) / 20_000**0.5).max())
    )


def bounds_again(n, name, p):
    """Section 12b of the formulas, written out again for equal weights and repeats."""
    N, K, O, C = n.shape
    R = int(n[0, 0, 0].sum())
    w, q = np.full(K, 1 / K), np.full(O, 1 / O)
    c, cells = form_of(name, w, q)[None], n.reshape(N, K * O, C)
    profile, m = np.zeros(C), np.zeros((N, C))
    ranks = [sorted(range(C), key=lambda v: (-x[v], v)) for x in cells.sum(axis=1)]
    for x, rank in zip(cells.sum(axis=1), ranks, strict=True):
        profile += x[rank]
    profile += np.array([0, 2] + [0.3] * (C - 2))
    for i, rank in enumerate(ranks):
        m[i, rank] = profile / profile.sum()
    P, calls = (cells + m[:, None]) / (R + 1), np.full((N, K * O), R)
    V_S = true_call_covariance(P, calls, c)[:, 0, 0]
    V_B = (
        call_covariance(cells, c)[:, 0, 0]
        if R >= 4
        else true_call_covariance(cells / R, calls, c)[:, 0, 0]
    )
    (B, nu_B), (S, nu_S) = ((V.sum() / N**2, _nu(V)) for V in (V_B, V_S))
    V, nu, kappa = max(B, S), min(nu_B, nu_S) if B > 0 else nu_S, 3
    if R >= 4 and B <= S:
        nu = nu_S
    if R >= 4 and B > 0 and nu_B >= 25:
        V, nu, kappa = B, nu_B, 5
    e = float(decompose(n)[name].mean())
    z, t = stats.norm.ppf(p), stats.t.ppf(p, nu)
    a = V / max(abs(e), kappa * V**0.5)
    return e - t * V**0.5, e + z**2 * a / 2 + t * (V + z**2 * a**2 / 4) ** 0.5


def _nu(V):
    return max(1, 2 * V.sum() ** 2 / (V**2).sum())


@pytest.mark.parametrize("repeats", [3, 4, 8])
@pytest.mark.parametrize("world", ["open, effects", "noise in one prompt", "heavy tails"])
def test_bounds_are_those_of_the_formulas(world, repeats):
    pool = judges.pool(world, 4, 2, seed=3)
    n = judges.counts(pool.laws[:25], repeats, np.random.default_rng(4))
    for name in ("prompt", "order", "interaction"):
        found = call_errors(n).bounds(name, 0.95)
        assert found == pytest.approx(bounds_again(n, name, 0.95), rel=1e-9)


def test_the_interval_holds_both_bounds_at_half_the_error(tensor, errors):
    found = call_interval(tensor, "order", level=0.9)
    assert found == errors.interval("order", level=0.9)
    assert (found.low, found.high) == errors.bounds("order", 0.95)
    V = errors.variances("order")
    assert found.se == pytest.approx(V.sum() ** 0.5 / 40)
    assert found.df == pytest.approx(2 * V.sum() ** 2 / (V**2).sum())
    with pytest.raises(InputError, match="ask for it anew"):
        found.at_level(0.99)


def test_sampled_design_says_what_it_does_not_cover(tensor):
    found = call_interval(tensor, design="sampled")
    assert "not the drawing of prompts" in found.covers
    assert found.se == pytest.approx(call_interval(tensor).se * 6 / 5)


@pytest.mark.parametrize("repeats", [2, 3])
def test_below_four_repeats_there_is_an_interval_and_no_split(repeats):
    tensor = WORLD.tensor(items=5, prompts=6, orders=2, repeats=repeats, seed=1)
    errors = call_errors(tensor)
    assert not errors.exact
    for name in COMPONENTS:
        low, high = errors.bounds(name, 0.975)
        assert low < errors.values(name).mean() < high
    assert "four repeats" in errors.split().reason


def test_two_repeats_hold_the_variance_of_call_up_by_that_of_agreements():
    """One cell in eighty differs: the plug-in law of a split pair knows little of its variance."""
    n = np.zeros((20, 4, 1, 2), dtype=int)
    n[..., 0] = 2
    n[0, 0, 0] = 1, 1
    errors = call_errors(n)
    a = errors.shown.agreement
    spread, _ = errors.spread("call")
    assert spread.variance == pytest.approx(max(a.var(ddof=1) / 80, spread.variance))
    assert spread.variance >= a.var(ddof=1) / 80


def test_three_repeats_are_told_to_become_four():
    """Not to acquire a second one, which every cell has."""
    tensor = WORLD.tensor(items=5, prompts=6, orders=2, repeats=3, seed=1)
    asked = (
        lambda: declare(tensor, minimum=4),
        lambda: permutation_test(tensor, studentised=True),
    )
    for ask in asked:
        with pytest.raises(NotIdentifiedError, match=r"60 of 60 cells .*R = 3") as refused:
            ask()
        assert "Acquire four repeats of every cell" in str(refused.value)
        assert "second repeat" not in str(refused.value)
        assert "plug-in" not in str(refused.value)
    assert declare(tensor).n.shape == (5, 6, 2, 4)


def test_one_repeat_is_not_identified():
    with pytest.raises(NotIdentifiedError, match="second repeat"):
        call_interval(np.ones((3, 2, 1, 1), dtype=int))


def test_unanimous_cells_have_an_interval_that_is_not_of_width_zero():
    counts = np.zeros((5, 3, 1, 2), dtype=int)
    counts[:, :2, :, 0] = counts[:, 2:, :, 1] = 8
    found = call_interval(counts)
    assert found.estimate == pytest.approx(4 / 9)
    assert found.low < 4 / 9 < found.high
    call = call_interval(counts, "call", level=0.9)
    assert call.estimate == 0
    assert call.high >= 2 * stats.beta.ppf(0.95, 1, 120)  # none of 120 calls leaves its cell's mode


def test_variance_that_is_not_positive_gives_way_to_that_of_smoothed_laws():
    """(2, 2) twice: the prompts agree better than chance, and the unbiased V is negative."""
    counts = np.array([[[[2, 2]], [[2, 2]]]])
    assert call_errors(counts).variances("prompt")[0] < 0
    found = call_interval(counts)
    assert found.low < found.estimate < found.high


def with_variances(errors, *V):
    """Call errors whose items have these variances of the call component, one each."""
    covariance = np.zeros((len(V), 4, 4))
    covariance[:, 0, 0] = V
    covariance[:, 3, 3] = 1e-6
    kept = errors.rows(np.arange(len(V)))
    estimates = np.tile([0.2, 0.1, 0.1, 0.1, 0.5], (len(V), 1))
    return replace(kept, estimates=estimates, covariance=covariance)


@pytest.mark.parametrize("left", [1e-3, 1e-9, 1e-15])
def test_variances_that_nearly_cancel_are_held_up_by_smoothed_laws(errors, left):
    """2 (sum V)^2 / sum V^2 goes to 0, where the t quantile has no bound."""
    found = with_variances(errors, 0.01 + left * 0.01, -0.01)
    spread, _ = found.spread("call")
    assert spread.df >= 1
    low, high = found.bounds("call", 0.95)
    assert low < 0.2 < high


def test_absent_facet_has_no_interval():
    tensor = WORLD.tensor(items=5, prompts=6, orders=2, repeats=4, seed=1).select(orders=["o1"])
    found = call_interval(tensor, "interaction")
    assert np.isnan(found.estimate)
    assert "needs two levels" in found.reason
    assert np.isfinite(call_interval(tensor, "prompt").se)


def test_split_adds_up_and_reliability_follows(errors):
    split = errors.split("prompt")
    assert split.call + split.item == pytest.approx(split.total)
    assert split.total == pytest.approx(errors.values("prompt").var(ddof=1) / 40)
    assert split.reliability == pytest.approx(1 - split.call / split.total)


def test_split_of_one_item_is_refused(tensor):
    split = call_errors(tensor.select(items=["i1"])).split()
    assert np.isnan([split.item, split.total, split.reliability]).all()
    assert "one item" in split.reason


def test_split_of_one_unanimous_item_knows_no_call_error():
    counts = np.zeros((1, 3, 1, 2), dtype=int)
    counts[:, :2, :, 0] = counts[:, 2:, :, 1] = 8
    split = call_errors(counts).split()
    assert np.isnan(split.call)
    assert "every cell is unanimous" in split.reason


def test_split_of_items_that_differ_by_rounding_is_refused(errors):
    flat = with_variances(errors, 0.01, 0.01, 0.01)
    split = replace(flat, estimates=flat.estimates * (1 + 1e-15 * np.eye(3, 5))).split("call")
    assert "same estimate" in split.reason


def test_reliability_predicts_split_half_correlation():
    """With true items that differ, halves of eight repeats correlate as the reliability says."""
    world = World.from_effects(prompt=0.0009, item_spread=0.9, seed=3)
    tensor = world.tensor(items=400, prompts=4, orders=2, repeats=16, seed=3)
    halves = [call_errors(tensor.ranks(slice(a, a + 8))) for a in (0, 8)]
    seen = np.corrcoef(halves[0].values("call"), halves[1].values("call"))[0, 1]
    predicted = np.mean([half.split("call").reliability for half in halves])
    assert seen == pytest.approx(predicted, abs=0.05)


def test_lead_is_the_contrast_of_the_two_largest(errors):
    lead = component_lead(errors)
    assert lead.largest == "call"
    assert lead.by == errors.interval({lead.largest: 1.0, lead.second: -1.0})


def test_lead_needs_two_components():
    with pytest.raises(InputError, match="vary prompts or orders"):
        component_lead(call_errors(np.array([[[[3, 2]]], [[[4, 1]]]])))


def test_share_inverts_the_contrast(errors):
    """At both ends |g - rho T| is t standard errors of that contrast, up to the last halving."""
    share = component_share(errors, "prompt")
    for rho in (share.low, share.high):
        contrast = {"prompt": 1.0, "total": -rho}
        spread = errors.wide_spread(contrast)
        t = abs(errors.values(contrast).mean()) / spread.variance**0.5
        assert t == pytest.approx(stats.t.ppf(0.975, spread.df), abs=0.15)
    assert share.low < share.estimate < share.high
    macro = decompose_share(errors)
    assert share.estimate == pytest.approx(macro)


def decompose_share(errors):
    return errors.values("prompt").mean() / errors.values("total").mean()


def test_share_of_what_cannot_be_had_has_a_reason():
    flat = np.zeros((3, 2, 1, 2), dtype=int)
    flat[..., 0] = 4
    assert "total is zero" in component_share(call_errors(flat)).reason
    one_prompt = np.array([[[[3, 2]]], [[[4, 1]]]])
    assert "needs two levels of prompt" in component_share(call_errors(one_prompt)).reason


def test_a_total_that_may_be_zero_allows_any_share():
    noisy = np.array([[[[3, 1]], [[4, 0]]]])
    found = component_share(call_errors(noisy), "prompt", level=0.999999)
    assert (found.low, found.high) == (0, 1)


def test_share_at_another_level_must_be_asked_for(errors):
    with pytest.raises(InputError, match="ask for it anew"):
        component_share(errors).at_level(0.9)


def test_lead_ranks_by_value_and_not_by_size(errors):
    """A component of -0.9 is an estimate near nothing, not the largest."""
    signed = replace(
        with_variances(errors, 0.01, 0.02), estimates=np.tile([0.2, -0.9, 0.1, -0.3, 0.5], (2, 1))
    )
    lead = component_lead(signed)
    assert (lead.largest, lead.second) == ("call", "order")
    assert lead.by.estimate == pytest.approx(0.1)


@pytest.mark.parametrize("contrast", ["prompts", {"prompt": 0.0}, {"colour": 1.0}])
def test_contrasts_that_do_not_exist_are_refused(errors, contrast):
    with pytest.raises(InputError, match=r"no component is called|no coefficient"):
        errors.interval(contrast)


def test_weights_by_name_and_by_position_agree(tensor):
    by_name = call_interval(tensor, "order", order_weights={"o1": 0.8, "o2": 0.2})
    by_position = call_interval(tensor, "order", order_weights=[0.8, 0.2])
    assert by_name == by_position
    assert by_name.se != call_interval(tensor, "order").se


def test_counts_need_an_item_axis():
    with pytest.raises(InputError, match="four axes"):
        call_interval(np.full((2, 1, 2), 4))


def test_ordinal_scale_changes_estimate_and_error():
    tensor = VerdictTensor.from_counts(
        np.array([[[[3, 1, 1]], [[1, 1, 3]]], [[[2, 2, 1]], [[1, 0, 4]]]])
    )
    nominal, ordinal = (
        call_interval(tensor, "call"),
        call_interval(tensor, "call", dissimilarity="ordinal"),
    )
    assert ordinal.estimate < nominal.estimate
    assert ordinal.se != nominal.se


def test_pooled_prompts_are_refused():
    tensor = VerdictTensor.from_laws(np.full((4, 2, 2, 4), 0.25), repeats=4, seed=1)
    pooled = tensor.coarsen_prompts({"both": tensor.prompts})
    with pytest.raises(InputError, match="decompose_coarsened"):
        call_errors(pooled)


def nearly_unanimous(deviating):
    """Five items, six prompts, two orders, four calls a cell; the first calls of some differ."""
    counts = np.zeros((5, 6, 2, 4), dtype=int)
    counts[..., 0] = 4
    counts[:deviating, 0, 0, :2] = 3, 1
    return counts


def test_few_calls_off_the_mode_hold_the_upper_end_of_call_up():
    """None of 240 calls: two calls differ at most twice as often as one leaves the mode."""
    low, high = call_errors(nearly_unanimous(0)).bounds("call", 0.95)
    assert high == pytest.approx(2 * stats.beta.ppf(0.95, 1, 240))
    assert low < 0


@pytest.mark.parametrize("deviating", [0, 1])
def test_one_item_may_hide_a_prompt_that_is_noisy(deviating):
    """2 eps^2 f / N with f = (K - 1) / K^2, and eps from the eight calls of a prompt."""
    errors = call_errors(nearly_unanimous(deviating))
    eps = 1 - 0.05 ** (1 / 8)
    least = errors.values("prompt").mean() + 2 * eps**2 * 5 / 36 / 5
    found = errors.bounds("prompt", 0.95)[1]
    assert found == pytest.approx(least) if deviating == 0 else found > least - 1e-12
