"""What a study costs, and how precise it will be at another depth or number of items.

Standard errors at another depth and another number of items.

The call-sampling variance of a macroaverage has parts that go with 1/R, 1/R^2 and 1/(R(R-1)).
They are estimated without bias from a pilot with four repeats or more, or computed from laws, and
give the variance at any depth. New items add the spread of their true values, S_U^2, which repeats
cannot reduce: the variance over new items is (mean V_i(R) + S_U^2) / N.

A standard error is not the width of an interval, which is random and in settled judges much wider:
module `assurance` foresees widths.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isnan, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import PAIR, as_laws, check_at_least, check_number
from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS, Array, Design, Weights, population, weights_of
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    MIN_REPEATS,
    Estimand,
    VarianceParts,
    call_covariance,
    component_map,
    concentration_forms,
    declare,
    true_variance_parts,
    variance_parts,
)

_MILLION = 1_000_000
_MINUTE = 60.0


@dataclass(frozen=True, kw_only=True)
class Price:
    """US dollars for a million tokens, read and written; cached ones as others by default."""

    input_per_mtok: float
    output_per_mtok: float
    cached_input_per_mtok: float | None = None


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What a study costs.

    Attributes:
        calls: logical calls; retries of failed attempts come on top.
        input_tokens, output_tokens: expected to be read, and written at most.
        usd: money at most, or None where no price is declared.
        expected_usd: what calls like those of a pilot come to; None where none was metered.
        cached_tokens: of those read, expected to be in the provider's prompt cache.
        seconds: expected duration under the declared limits.
        limited_by: which limit sets the duration.
    """

    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    seconds: float
    limited_by: str
    cached_tokens: int = 0
    expected_usd: float | None = None


def workload(
    *,
    calls: int,
    input_tokens: int,
    output_tokens: int,
    latency_s: float,
    concurrency: int,
    price: Price | None = None,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    cached_tokens: int = 0,
) -> Workload:
    """Return the cost of `calls`; tokens are totals over all calls, latency is of one call.

    `cached_tokens` of those read are expected to be in the provider's cache.
    """
    counts = {
        "calls": calls,
        "input_tokens": input_tokens,
        "output_tokens": output_tokens,
        "cached_tokens": cached_tokens,
    }
    for name, count in counts.items():
        check_at_least(name, count, 0, "nothing is counted below zero")
    check_at_least("concurrency", concurrency, 1, "at least one call goes at a time")
    if check_number("latency_s", latency_s) < 0:
        raise InputError(f"latency_s = {latency_s}: a call takes 0 seconds or more")
    _check_rate("requests_per_minute", requests_per_minute)
    _check_rate("tokens_per_minute", tokens_per_minute)
    tokens = input_tokens + output_tokens
    limits = {"latency and concurrency": calls * latency_s / concurrency}
    if requests_per_minute is not None:
        limits["requests per minute"] = calls / requests_per_minute * _MINUTE
    if tokens_per_minute is not None:
        limits["tokens per minute"] = tokens / tokens_per_minute * _MINUTE
    slowest = max(limits, key=lambda name: limits[name])
    usd = None
    if price is not None:
        declared = price.cached_input_per_mtok
        cheap = price.input_per_mtok if declared is None else declared
        fresh = input_tokens - cached_tokens
        usd = fresh * price.input_per_mtok + cached_tokens * cheap
        usd += output_tokens * price.output_per_mtok
        usd /= _MILLION
    return Workload(
        calls=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        usd=usd,
        seconds=limits[slowest],
        limited_by=slowest,
        cached_tokens=cached_tokens,
    )


def _check_rate(name: str, rate: float | None) -> None:
    if rate is not None and check_number(name, rate) <= 0:
        raise InputError(f"{name} = {rate}: a limit is positive; leave it out for no limit")


@dataclass(frozen=True, kw_only=True)
class Precision:
    """What to expect of one component at a depth and a number of items.

    Attributes:
        call_se: standard error of asking the same items again.
        item_se: standard error for new items of the same kind, call noise included.
        reason: why one of the two is nan, or None.
    """

    component: str
    repeats: int
    items: int
    call_se: float
    item_se: float
    reason: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Forecast:
    """Per-item variance parts of every component, ready for any depth and number of items.

    Attributes:
        parts: mean over items of the 1/R, 1/R^2 and 1/(R(R-1)) parts, {component: (3,)}.
        item_variance: S_U^2 of the true item values; estimated from a pilot it may be negative.
        items: items that the forecast rests on.
        source: "pilot" or "laws".
    """

    parts: Mapping[str, tuple[float, float, float]]
    item_variance: Mapping[str, float]
    items: int
    source: str

    def at(self, component: str, *, repeats: int, items: int | None = None) -> Precision:
        """Return the precision to expect with `repeats` calls a cell on `items` items."""
        if component not in self.parts:
            raise InputError(f"no component is called {component!r}; there are {list(self.parts)}")
        check_at_least("repeats", repeats, PAIR, "a cell needs two calls to be corrected at all")
        N = self.items if items is None else items
        check_at_least("items", N, 1, "a benchmark has an item")
        V = self._item_call_variance(component, repeats)
        both = V + self.item_variance[component]
        return Precision(
            component=component,
            repeats=repeats,
            items=N,
            call_se=sqrt(V / N) if V > 0 else nan,
            item_se=sqrt(both / N) if both > 0 else nan,
            reason=self._reason(component, V, both),
        )

    def _item_call_variance(self, component: str, R: int) -> float:
        linear, cross, pair = self.parts[component]
        return linear / R + cross / R**2 + pair / (R * (R - 1))

    def _reason(self, component: str, V: float, both: float) -> str | None:
        """Say why a number is nan, the most far-reaching cause first."""
        if isnan(V):
            return f"the design has no {component} component: a facet has one level only"
        if V <= 0:
            return _no_call_variance(self.source, component, V)
        if isnan(both):
            return "one item shows no spread between items: item_se needs a forecast from two"
        if both <= 0:
            return (
                f"the item variance of {component} comes out at {both:.3g}, call noise included: "
                "too few items to forecast item_se from; give a larger pilot"
            )
        return None


def forecast_from_pilot(
    pilot: VerdictTensor | ArrayLike,
    *,
    design: Design = "census",
    order_weights: Weights = None,
    prompt_weights: Weights = None,
) -> Forecast:
    """Forecast from the counts of a pilot with four repeats or more in every cell."""
    estimand = Estimand(design=design, order_weights=order_weights, prompt_weights=prompt_weights)
    known = declare(pilot, estimand, minimum=MIN_REPEATS)
    forms = concentration_forms(known.w, known.q)
    parts = variance_parts(known.cells, forms, known.M)
    found = known.decompose()
    L = component_map(len(known.w), len(known.q), design)
    # The pilot's item estimates hold their own call noise: s^2 estimates S_U^2 + mean V_i.
    covariance = call_covariance(known.cells, forms, known.M).mean(axis=0)
    values = np.stack([found[c] for c in COMPONENTS])
    return _forecast(parts, L, values=values, covariance=covariance, source="pilot")


def forecast_from_laws(
    laws: ArrayLike,
    *,
    design: Design = "census",
    order_weights: Weights = None,
    prompt_weights: Weights = None,
) -> Forecast:
    """Forecast from known or supposed laws (items, prompts, orders, verdicts)."""
    P = as_laws(laws)
    if P.ndim != 4:  # noqa: PLR2004 - items, prompts, orders, verdicts
        raise InputError(f"laws have shape {P.shape}; they need (items, prompts, orders, verdicts)")
    N, K, O, C = P.shape
    if N == 0:
        raise InputError("laws of 0 items: a forecast is a mean over items; give one item or more")
    w, q = weights_of("prompt", prompt_weights, K), weights_of("order", order_weights, O)
    parts = true_variance_parts(P.reshape(N, K * O, C), concentration_forms(w, q))
    truth = population(
        P, design=design, order_weights=q, prompt_weights=None if prompt_weights is None else w
    )
    values = np.stack([truth[c] for c in COMPONENTS])
    L, exactly = component_map(K, O, design), np.zeros((4, 4))
    return _forecast(parts, L, values=values, covariance=exactly, source="laws")


def _forecast(
    parts: VarianceParts, L: Array, *, values: Array, covariance: Array, source: str
) -> Forecast:
    means = [p.mean(axis=0) for p in (parts.linear, parts.cross, parts.pair)]
    of_component = {
        name: tuple(float(row @ m @ row) for m in means)
        for name, row in zip(COMPONENTS, L, strict=True)
    }
    N = values.shape[1]
    item_variance = {}
    for name, row, found in zip(COMPONENTS, L, values, strict=True):
        spread = float(found.var(ddof=1)) if N > 1 else nan
        item_variance[name] = spread - float(row @ covariance @ row)
    return Forecast(
        parts={name: (x[0], x[1], x[2]) for name, x in of_component.items()},
        item_variance=item_variance,
        items=N,
        source=source,
    )


def _no_call_variance(source: str, component: str, V: float) -> str:
    if source == "laws":
        return (
            f"the laws give {component} a call variance of {V:.3g}: calls of a cell would all say "
            "the same; give laws that are not 0 and 1"
        )
    return (
        f"the pilot's call variance of {component} comes out at {V:.3g} at this depth: "
        "too few calls to forecast from; give laws, or a larger pilot"
    )
