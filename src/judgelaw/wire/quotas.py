"""What providers say in headers of the limits that a key has: their spellings, in one table."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

Kind = Literal["requests", "tokens"]

_MINUTE_S = 60.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """What is left of one limit.

    Attributes:
        kind: what is counted.
        limit: how many there are when all are left.
        remaining: how many are left behind this request.
        reset_s: seconds until all are left again; None where that was not said.
        period_s: the period of the limit, where the header names it.
        window: whether all come back at once at the reset, and nothing before.
    """

    kind: Kind
    limit: float | None
    remaining: float
    reset_s: float | None
    period_s: float | None = None
    window: bool = False

    @property
    def per_s(self) -> float | None:
        """How fast the limit refills; None where nothing tells, or where it does so at once."""
        if self.limit is None or self.window:
            return None
        if self.reset_s and self.limit > self.remaining:
            return (self.limit - self.remaining) / self.reset_s
        return self.limit / self.period_s if self.period_s else None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Spelling:
    """How one family of providers writes one limit."""

    kind: Kind
    limit: str
    remaining: str
    reset: str | None = None
    period_s: float | None = None
    window: bool = False


def _openai(kind: Kind, name: str) -> _Spelling:
    """`x-ratelimit-*-requests`: OpenAI, Azure, Groq, LiteLLM and most gateways before vLLM."""
    return _Spelling(
        kind=kind,
        limit=f"x-ratelimit-limit-{name}",
        remaining=f"x-ratelimit-remaining-{name}",
        reset=f"x-ratelimit-reset-{name}",
    )


def _anthropic(name: str) -> _Spelling:
    return _Spelling(
        kind="requests" if name == "requests" else "tokens",
        limit=f"anthropic-ratelimit-{name}-limit",
        remaining=f"anthropic-ratelimit-{name}-remaining",
        reset=f"anthropic-ratelimit-{name}-reset",
    )


def _minutely(kind: Kind, limit: str, remaining: str) -> _Spelling:
    return _Spelling(kind=kind, limit=limit, remaining=remaining, period_s=_MINUTE_S)


SPELLINGS: Mapping[str, tuple[_Spelling, ...]] = {
    "OpenAI, Azure, Groq, LiteLLM, vLLM behind a gateway": (
        _openai("requests", "requests"),
        _openai("tokens", "tokens"),
        _openai("tokens", "project-tokens"),
    ),
    "Anthropic": (
        _anthropic("requests"),
        _anthropic("tokens"),
        _anthropic("input-tokens"),
    ),
    "Mistral": (
        _minutely("requests", "x-ratelimit-limit-req-minute", "x-ratelimit-remaining-req-minute"),
        _minutely(
            "tokens", "x-ratelimit-limit-tokens-minute", "x-ratelimit-remaining-tokens-minute"
        ),
        _Spelling(
            kind="tokens",
            limit="ratelimitbysize-limit",
            remaining="ratelimitbysize-remaining",
            reset="ratelimitbysize-reset",
        ),
    ),
    "Kong": (_minutely("requests", "x-ratelimit-limit-minute", "x-ratelimit-remaining-minute"),),
    "Envoy, Kong, APISIX and others: RateLimit headers of the IETF drafts": (
        _Spelling(
            kind="requests",
            limit="ratelimit-limit",
            remaining="ratelimit-remaining",
            reset="ratelimit-reset",
            window=True,
        ),
        _Spelling(
            kind="requests",
            limit="x-ratelimit-limit",
            remaining="x-ratelimit-remaining",
            reset="x-ratelimit-reset",
            window=True,
        ),
    ),
}
"""By family. Gemini sends none of these: a refusal names its pause in its body (`retryDelay`)."""

_ALL = tuple(spelling for family in SPELLINGS.values() for spelling in family)
_REMAINING = frozenset(spelling.remaining for spelling in _ALL)
_DURATION = re.compile(
    r"(?:(\d+)d)?(?:(\d+)h)?(?:(\d+)m(?!s))?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?"
)
_DURATION_S = (86_400.0, 3_600.0, 60.0, 1.0, 0.001)
_EPOCH_S = 1e9
"""Larger numbers of seconds are a date."""


def quotas_in(headers: Mapping[str, str], now: float) -> tuple[Quota, ...]:
    """Return what a reply says of the limits of its key; nothing where it says nothing.

    Args:
        headers: of the reply, by lower-case name.
        now: Unix time, against which dates are read.
    """
    if _REMAINING.isdisjoint(headers):
        return ()
    return tuple(found for each in _ALL if (found := _read(each, headers, now)) is not None)


def _read(spelling: _Spelling, headers: Mapping[str, str], now: float) -> Quota | None:
    remaining = _number(headers.get(spelling.remaining))
    if remaining is None:
        return None
    reset = None if spelling.reset is None else seconds_until(headers.get(spelling.reset), now)
    limit = _number(headers.get(spelling.limit))
    return Quota(
        kind=spelling.kind,
        limit=limit,
        remaining=remaining,
        reset_s=reset,
        period_s=spelling.period_s,
        window=spelling.window,
    )


def _number(text: str | None) -> float | None:
    """Return a count; `100, 100;w=60` begins with it."""
    found = re.match(r"\s*(-?\d{1,15}(?:\.\d{1,9})?)\s*(?:[,;]|$)", text or "")
    return None if found is None else max(0.0, float(found[1]))


def seconds_until(text: str | None, now: float) -> float | None:
    """Return the seconds that a reset is away: `1s`, `6m0s`, `20ms`, `17`, a date or Unix time.

    >>> seconds_until("6m0.5s", 0.0), seconds_until("20ms", 0.0), seconds_until("soon", 0.0)
    (360.5, 0.02, None)
    """
    text = (text or "").strip()
    number = _number(text)
    if number is not None:
        return max(0.0, number - now) if number > _EPOCH_S else number
    if text and (found := _DURATION.fullmatch(text)) and any(found.groups()):
        parts = zip(found.groups(), _DURATION_S, strict=True)
        return sum(float(part) * unit for part, unit in parts if part)
    try:
        return max(0.0, datetime.fromisoformat(text).timestamp() - now)
    except (ValueError, OverflowError, OSError):
        return None
