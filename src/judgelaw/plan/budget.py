"""Calls, tokens, money and time of a study, from its numbers alone."""

from dataclasses import dataclass

from judgelaw.errors import InputError
from judgelaw.worlds.checks import check_at_least, check_number

_MILLION = 1_000_000
_MINUTE = 60.0


@dataclass(frozen=True, kw_only=True)
class Price:
    """US dollars for a million tokens, read and written."""

    input_per_mtok: float
    output_per_mtok: float


@dataclass(frozen=True, kw_only=True)
class Workload:
    """What a study costs.

    Attributes:
        calls: logical calls; retries of failed attempts come on top.
        input_tokens, output_tokens: expected to be read, and written at most.
        usd: money, or None where no price is declared.
        seconds: expected duration under the declared limits.
        limited_by: which limit sets the duration.
    """

    calls: int
    input_tokens: int
    output_tokens: int
    usd: float | None
    seconds: float
    limited_by: str


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
) -> Workload:
    """Return the cost of `calls`; tokens are totals over all calls, latency is of one call."""
    counts = {"calls": calls, "input_tokens": input_tokens, "output_tokens": output_tokens}
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
        usd = input_tokens * price.input_per_mtok + output_tokens * price.output_per_mtok
        usd /= _MILLION
    return Workload(
        calls=calls,
        input_tokens=input_tokens,
        output_tokens=output_tokens,
        usd=usd,
        seconds=limits[slowest],
        limited_by=slowest,
    )


def _check_rate(name: str, rate: float | None) -> None:
    if rate is not None and check_number(name, rate) <= 0:
        raise InputError(f"{name} = {rate}: a limit is positive; leave it out for no limit")
