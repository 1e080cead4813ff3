"""Forecasts against simulation, budgets by hand, and looks that do not look too often."""

import numpy as np
import pytest

import judgelaw as jl
from judgelaw.decide import (
    Price,
    forecast_from_laws,
    forecast_from_pilot,
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


def test_impossible_numbers_are_refused():
    tensor = jl.VerdictTensor.from_laws(np.full((4, 2, 2, 4), 0.25), repeats=8, seed=1)
    with pytest.raises(jl.InputError, match="two calls"):
        forecast_from_laws(LAWS).at("prompt", repeats=1)
    with pytest.raises(jl.NotIdentifiedError):
        forecast_from_pilot(tensor.prefix(2))


def test_a_forecast_from_one_item_says_why_it_knows_no_item_error():
    found = forecast_from_laws(LAWS[:1]).at("prompt", repeats=4)
    assert np.isnan(found.item_se)
    assert found.call_se > 0
    assert "one item" in found.reason


def test_laws_without_noise_are_not_called_a_pilot():
    certain = np.zeros((3, 2, 2, 4))
    certain[..., 0] = 1.0
    found = forecast_from_laws(certain).at("prompt", repeats=4)
    assert np.isnan(found.call_se)
    assert "pilot" not in found.reason
    assert "the laws give" in found.reason


def test_item_variance_of_pilots_is_without_their_call_noise():
    truth = forecast_from_laws(LAWS).item_variance["prompt"]
    found = [forecast_from_pilot(p).item_variance["prompt"] for p in draws(LAWS, 4, 300, seed=11)]
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert abs(np.mean(found) - truth) < 4 * error


def test_item_variance_may_be_negative_and_says_so():
    same = np.broadcast_to(LAWS[:1], (4, 3, 2, 4))
    forecasts = [forecast_from_pilot(p) for p in draws(same, 4, 40, seed=3)]
    found = [f.item_variance["prompt"] for f in forecasts]
    assert min(found) < 0 < max(found)


def test_design_and_weights_change_the_forecast_as_they_change_the_estimate():
    w = [0.6, 0.3, 0.1]
    weighted = jl.decompose(draws(LAWS, 4, 4000, seed=21), prompt_weights=w)
    spread = weighted.prompt.mean(axis=1).std(ddof=1)
    found = forecast_from_laws(LAWS, prompt_weights=w).at("prompt", repeats=4)
    assert found.call_se == pytest.approx(spread, rel=0.045)
    sampled = jl.decompose(draws(LAWS, 4, 4000, seed=22), design="sampled")
    spread = sampled.prompt.mean(axis=1).std(ddof=1)
    found = forecast_from_laws(LAWS, design="sampled").at("prompt", repeats=4)
    assert found.call_se == pytest.approx(spread, rel=0.045)
    (pilot,) = draws(LAWS, 400, 1, seed=23)
    for known in ({"design": "sampled"}, {"prompt_weights": w}):
        plain = forecast_from_pilot(pilot).at("prompt", repeats=4).call_se
        other = forecast_from_pilot(pilot, **known).at("prompt", repeats=4).call_se
        exact = forecast_from_laws(LAWS, **known).at("prompt", repeats=4).call_se
        assert other == pytest.approx(exact, rel=0.05)
        assert other != pytest.approx(plain, rel=0.05)


def test_requests_per_minute_limit_seconds():
    found = workload(
        calls=30,
        input_tokens=0,
        output_tokens=0,
        latency_s=0.1,
        concurrency=1,
        requests_per_minute=20,
    )
    assert (found.seconds, found.limited_by) == (90.0, "requests per minute")


@pytest.mark.parametrize(
    "wrong",
    [
        {"requests_per_minute": 0},
        {"requests_per_minute": -1},
        {"tokens_per_minute": 0},
        {"input_tokens": -1},
        {"output_tokens": -1},
        {"latency_s": float("nan")},
        {"latency_s": -1.0},
        {"concurrency": 0},
    ],
)
def test_impossible_workloads_are_refused(wrong):
    (name,) = wrong
    given = {"calls": 1, "input_tokens": 1, "output_tokens": 1, "latency_s": 1.0, "concurrency": 1}
    with pytest.raises(jl.InputError, match=f"{name} = "):
        workload(**{**given, **wrong})


def test_depths_that_are_no_counts_and_laws_of_no_item_are_refused():
    with pytest.raises(jl.InputError, match=r"repeats = 2\.5: a whole number"):
        forecast_from_laws(LAWS).at("prompt", repeats=2.5)
    with pytest.raises(jl.InputError, match="laws of 0 items"):
        forecast_from_laws(LAWS[:0])
