"""Forecasts against simulation, budgets by hand, and looks that do not look too often."""

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.plan import (
    Price,
    SequentialPlan,
    forecast_from_laws,
    forecast_from_pilot,
    look,
    workload,
)

rng = np.random.default_rng(4)
LAWS = rng.dirichlet([3, 2, 1, 0.5], size=(20, 3, 2))


def draws(laws, repeats, sets, seed):
    generator = np.random.default_rng(seed)
    return generator.multinomial(repeats, laws, size=(sets, *laws.shape[:-1]))


@pytest.mark.parametrize("repeats", [2, 3, 8])
def test_the_forecast_from_laws_is_the_spread_of_simulated_estimates(repeats):
    estimates = jl.decompose(draws(LAWS, repeats, 4000, seed=repeats))
    forecast = forecast_from_laws(LAWS)
    for name in ("call", "prompt", "order", "interaction", "total"):
        spread = estimates[name].mean(axis=1).std(ddof=1)
        # The relative error of a standard deviation of 4,000 draws is 1.1%: four of them.
        assert forecast.at(name, repeats=repeats).call_se == pytest.approx(spread, rel=0.045)


def test_a_pilot_forecasts_other_depths_without_bias():
    pilots = draws(LAWS, 4, 300, seed=9)
    truth = forecast_from_laws(LAWS)
    for repeats in (2, 8, 16):
        variances = [forecast_from_pilot(p)._item_call_variance("prompt", repeats) for p in pilots]
        exact = truth._item_call_variance("prompt", repeats)
        error = np.std(variances, ddof=1) / np.sqrt(len(variances))
        assert abs(np.mean(variances) - exact) < 4 * error


def test_new_items_add_what_repeats_cannot_reduce():
    forecast = forecast_from_laws(LAWS)
    truth = jl.decompose(np.rint(LAWS * 1e8).astype(int)).prompt
    deep = forecast.at("prompt", repeats=1000, items=20)
    assert deep.item_se == pytest.approx(truth.std(ddof=1) / np.sqrt(20), rel=0.02)
    assert deep.call_se < deep.item_se / 3
    quarter = forecast.at("prompt", repeats=4, items=80)
    assert quarter.call_se == pytest.approx(forecast.at("prompt", repeats=4).call_se / 2)


def test_depth_for_a_wanted_width_is_the_smallest():
    forecast = forecast_from_laws(LAWS)
    depth = forecast.depth_for("prompt", 0.02)
    assert forecast.at("prompt", repeats=depth).call_half_width <= 0.02
    assert forecast.at("prompt", repeats=depth - 1).call_half_width > 0.02
    assert forecast.depth_for("prompt", 1e-9) is None


def test_an_absent_facet_has_no_forecast():
    forecast = forecast_from_laws(LAWS[:, :, :1])
    found = forecast.at("order", repeats=4)
    assert np.isnan(found.call_se)
    assert "one level" in found.reason


def test_a_budget_by_hand():
    found = workload(
        calls=1200,
        input_tokens=600_000,
        output_tokens=9_600,
        latency_s=1.0,
        concurrency=20,
        price=Price(input_per_mtok=0.2, output_per_mtok=0.6),
        requests_per_minute=600,
        tokens_per_minute=200_000,
    )
    assert found.usd == pytest.approx(0.12576)
    assert found.seconds == pytest.approx(609_600 / 200_000 * 60)
    assert found.limited_by == "tokens per minute"
    free = workload(calls=10, input_tokens=1, output_tokens=1, latency_s=2, concurrency=1)
    assert free.usd is None
    assert free.seconds == 20


def test_looks_spend_the_error_and_stop_when_decided():
    plan = SequentialPlan(component="prompt", limit=0.3, depths=(4, 8))
    assert plan.level == pytest.approx(0.975)
    tensor = jl.VerdictTensor.from_laws(np.full((40, 6, 2, 4), 0.25), repeats=8, seed=1)
    assert look(plan, tensor, depth=4).action == "stop"
    near = SequentialPlan(component="prompt", limit=0.0, depths=(4, 8))
    first = look(near, tensor, depth=4)
    assert (first.action, first.next_depth) == ("continue", 8)
    assert look(near, tensor, depth=8).action == "exhausted"


@pytest.mark.parametrize("depths", [(), (8, 4), (2, 4)])
def test_looks_must_be_declared_in_order_and_deep_enough(depths):
    with pytest.raises(jl.InputError, match="looks are at growing repeats"):
        SequentialPlan(component="prompt", limit=0.02, depths=depths)


def test_undeclared_looks_and_impossible_numbers_are_refused():
    plan = SequentialPlan(component="prompt", limit=0.3, depths=(4, 8))
    tensor = jl.VerdictTensor.from_laws(np.full((4, 2, 2, 4), 0.25), repeats=8, seed=1)
    with pytest.raises(jl.InputError, match="not declared"):
        look(plan, tensor, depth=6)
    with pytest.raises(jl.InputError, match="two calls"):
        forecast_from_laws(LAWS).at("prompt", repeats=1)
    with pytest.raises(jl.NotIdentifiedError):
        forecast_from_pilot(tensor.prefix(2))
