from dataclasses import replace

import numpy as np
import pytest
from scipy import optimize, stats

from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import COMPONENTS, decompose
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    CallErrors,
    call_covariance,
    call_errors,
    call_interval,
    call_variance,
    component_lead,
    component_map,
    component_share,
    concentration_forms,
    form_of,
    judge_difference,
    permutation_test,
    true_call_covariance,
    variance_parts,
)
from judgelaw.uncertainty.declared import declare
from judgelaw.worlds import World

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


def test_interval_is_centred_and_symmetric(tensor, errors):
    found = call_interval(tensor, "order", level=0.9)
    assert found == errors.interval("order", level=0.9)
    assert found.estimate == pytest.approx((found.low + found.high) / 2)
    V = errors.variances("order")
    assert found.se == pytest.approx(V.sum() ** 0.5 / 40)
    assert found.df == pytest.approx(2 * V.sum() ** 2 / (V**2).sum())
    assert found.at_level(0.99).width > found.width


def test_sampled_design_says_what_it_does_not_cover(tensor):
    found = call_interval(tensor, design="sampled")
    assert "not the drawing of prompts" in found.covers
    assert found.se == pytest.approx(call_interval(tensor).se * 6 / 5)


@pytest.mark.parametrize("repeats", [2, 3])
def test_below_four_repeats_the_item_error_is_offered(repeats):
    tensor = WORLD.tensor(items=5, prompts=6, orders=2, repeats=repeats, seed=1)
    with pytest.raises(NotIdentifiedError, match=r"item_interval.*conservative by exactly S_U\^2"):
        call_interval(tensor)


def test_three_repeats_are_told_to_become_four():
    """Not to acquire a second one, which every cell has."""
    tensor = WORLD.tensor(items=5, prompts=6, orders=2, repeats=3, seed=1)
    asked = (
        lambda: call_interval(tensor),
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


def test_unanimous_cells_give_a_reason_and_no_interval():
    counts = np.zeros((5, 3, 1, 2), dtype=int)
    counts[:, :2, :, 0] = counts[:, 2:, :, 1] = 8
    found = call_interval(counts)
    assert found.estimate == pytest.approx(4 / 9)
    assert np.isnan([found.se, found.low, found.high, found.df]).all()
    assert "every cell is unanimous" in found.reason


def test_variance_that_is_not_positive_gives_a_reason():
    """(2, 2) twice: the prompts agree better than chance, and V is negative."""
    found = call_interval(np.array([[[[2, 2]], [[2, 2]]]]))
    assert np.isnan(found.se)
    assert "not positive" in found.reason


def with_variances(*V):
    """Call errors whose items have these variances of the call component, one each."""
    covariance = np.zeros((len(V), 4, 4))
    covariance[:, 0, 0] = V
    covariance[:, 3, 3] = 1e-6
    return CallErrors(
        estimates=np.tile([0.2, 0.1, 0.1, 0.1, 0.5], (len(V), 1)),
        covariance=covariance,
        components=component_map(2, 2),
        unanimous=np.zeros(len(V), dtype=bool),
        design="census",
    )


@pytest.mark.parametrize("left", [1e-3, 1e-9, 1e-15])
def test_variances_that_nearly_cancel_give_no_interval(left):
    """2 (sum V)^2 / sum V^2 goes to 0, where the t quantile has no bound."""
    errors = with_variances(0.01 + left * 0.01, -0.01)
    found = errors.interval("call")
    assert np.isnan([found.se, found.low, found.high]).all()
    assert "nearly cancel" in found.reason
    assert "nearly cancel" in judge_difference(errors, errors, "call").reason
    assert "nearly cancel" in component_share(errors, "call", level=0.5).reason


def test_one_degree_of_freedom_is_enough_for_an_interval():
    """V = (1, a): nu = 2 (1 + a)^2 / (1 + a^2) is 1 at a = -2 + sqrt 3."""
    edge = -2 + 3**0.5
    assert "nearly cancel" in with_variances(1.0, edge - 1e-6).interval("call").reason
    assert with_variances(1.0, edge + 1e-6).interval("call").df == pytest.approx(1, abs=1e-4)


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


def test_split_of_items_that_differ_by_rounding_is_refused():
    errors = with_variances(0.01, 0.01, 0.01)
    split = replace(errors, estimates=errors.estimates * (1 + 1e-15 * np.eye(3, 5))).split("call")
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
    """At both ends of the interval |g - rho T| is exactly t standard errors of that contrast."""
    share = component_share(errors, "prompt")
    for rho in (share.low, share.high):
        at = errors.interval({"prompt": 1.0, "total": -rho})
        t = abs(at.estimate) / at.se
        assert t == pytest.approx((share.high - share.low) / 2 / share.se, rel=0.02)
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
    noisy = np.array([[[[3, 1]], [[4, 0]]]])
    found = component_share(call_errors(noisy), "prompt", level=0.999999)
    assert np.isnan(found.low)
    assert found.reason


def test_judges_differ_with_the_sum_of_variances(tensor, errors):
    other = call_errors(WORLD.tensor(items=40, prompts=6, orders=2, repeats=4, seed=9))
    found = judge_difference(errors, other, "prompt")
    a, b = errors.interval("prompt"), other.interval("prompt")
    assert found.estimate == pytest.approx(a.estimate - b.estimate)
    assert found.se == pytest.approx((a.se**2 + b.se**2) ** 0.5)
    elsewhere = call_errors(tensor.select(items=list(reversed(tensor.items))))
    with pytest.raises(InputError, match="same items"):
        judge_difference(errors, elsewhere)


def test_judges_of_other_items_or_designs_do_not_differ(tensor, errors):
    unnamed = call_errors(tensor.counts[:39])
    with pytest.raises(InputError, match="40 and 39 items"):
        judge_difference(errors, unnamed)
    with pytest.raises(InputError, match="'census' and 'sampled'"):
        judge_difference(errors, call_errors(tensor, design="sampled"))


def test_degrees_of_a_difference_count_the_items_of_both(errors):
    other = call_errors(WORLD.tensor(items=40, prompts=6, orders=2, repeats=4, seed=9))
    V, W_ = errors.variances("order"), other.variances("order")
    nu = 2 * (V.sum() + W_.sum()) ** 2 / ((V**2).sum() + (W_**2).sum())
    found = judge_difference(errors, other, "order", level=0.8)
    assert found.df == pytest.approx(nu)
    assert found.width == pytest.approx(2 * stats.t.ppf(0.9, nu) * found.se)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_another_level_is_the_interval_asked_for_at_that_level(errors, level):
    again = errors.interval("prompt").at_level(level)
    assert again == errors.interval("prompt", level=level)
    assert again.width == pytest.approx(2 * stats.t.ppf((1 + level) / 2, again.df) * again.se)


@pytest.mark.parametrize("level", [0.5, 0.95, 0.99])
def test_share_is_the_solution_of_fieller(errors, level):
    """Ends by root finding on the contrast's own interval, with t at the estimated share."""
    share = component_share(errors, "prompt", level=level)
    nu = errors.interval({"prompt": 1.0, "total": -share.estimate}).df
    t = stats.t.ppf((1 + level) / 2, nu)

    def excess(rho):
        contrast = {"prompt": 1.0, "total": -rho}
        V = errors.variances(contrast).sum() / 40**2
        return errors.values(contrast).mean() ** 2 - t**2 * V

    far = 20 * share.se
    low = optimize.brentq(excess, share.estimate - far, share.estimate, xtol=1e-14)
    high = optimize.brentq(excess, share.estimate, share.estimate + far, xtol=1e-14)
    assert (share.low, share.high) == pytest.approx((low, high), rel=1e-8)


def test_share_at_another_level_must_be_asked_for(errors):
    with pytest.raises(InputError, match="component_share"):
        component_share(errors).at_level(0.9)


def test_lead_ranks_by_value_and_not_by_size():
    """A component of -0.9 is an estimate near nothing, not the largest."""
    errors = with_variances(0.01, 0.02)
    signed = replace(errors, estimates=np.tile([0.2, -0.9, 0.1, -0.3, 0.5], (2, 1)))
    lead = component_lead(signed)
    assert (lead.largest, lead.second) == ("call", "order")
    assert lead.by.estimate == pytest.approx(0.1)


def test_difference_to_a_silent_judge_warns(errors):
    counts = np.zeros((40, 6, 2, 4), dtype=int)
    counts[..., 0] = 4
    silent = call_errors(counts)
    found = judge_difference(errors, silent)
    assert np.isfinite(found.se)
    assert "unanimous" in found.warning
    assert "every cell is unanimous" in judge_difference(silent, silent).reason


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
