"""What providers say of their limits: headers as they are sent."""

import pytest

from judgelaw.wire import SPELLINGS, quotas_in

NOW = 1_795_125_600.0
SENT = {
    "openai": (
        {
            "x-ratelimit-limit-requests": "500",
            "x-ratelimit-remaining-requests": "499",
            "x-ratelimit-reset-requests": "120ms",
            "x-ratelimit-limit-tokens": "30000",
            "x-ratelimit-remaining-tokens": "29000",
            "x-ratelimit-reset-tokens": "2s",
        },
        [("requests", 499, 500 / 60), ("tokens", 29000, 500.0)],
    ),
    "azure": (
        {"x-ratelimit-remaining-requests": "119", "x-ratelimit-remaining-tokens": "119940"},
        [("requests", 119, None), ("tokens", 119940, None)],
    ),
    "groq": (
        {
            "x-ratelimit-limit-requests": "14400",
            "x-ratelimit-remaining-requests": "14370",
            "x-ratelimit-reset-requests": "2m59.56s",
        },
        [("requests", 14370, 30 / 179.56)],
    ),
    "anthropic": (
        {
            "anthropic-ratelimit-requests-limit": "50",
            "anthropic-ratelimit-requests-remaining": "20",
            "anthropic-ratelimit-requests-reset": "2026-11-19T22:00:36Z",
        },
        [("requests", 20, 30 / 36)],
    ),
    "mistral": (
        {"x-ratelimit-limit-req-minute": "60", "x-ratelimit-remaining-req-minute": "59"},
        [("requests", 59, 1.0)],
    ),
    "envoy": (
        {"ratelimit-limit": "100, 100;w=60", "ratelimit-remaining": "40", "ratelimit-reset": "30"},
        [("requests", 40, None)],
    ),
}


@pytest.mark.parametrize("provider", SENT)
def test_headers_say_what_is_left_and_how_fast_it_comes_back(provider):
    headers, expected = SENT[provider]
    found = [(q.kind, q.remaining, q.per_s) for q in quotas_in(headers, NOW)]
    assert [(k, r) for k, r, _ in found] == [(k, r) for k, r, _ in expected]
    for (_, _, rate), (_, _, wanted) in zip(found, expected, strict=True):
        assert rate == (wanted if wanted is None else pytest.approx(wanted))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"x-ratelimit-limit-requests": "500"},
        {"x-ratelimit-remaining-requests": "many"},
        {"x-ratelimit-remaining-requests": ""},
        {"content-type": "application/json"},
    ],
)
def test_what_says_nothing_of_what_is_left_is_no_quota(headers):
    assert quotas_in(headers, NOW) == ()


@pytest.mark.parametrize("odd", ["-5", "9" * 400, "1e999", "nan", "\u0663", "soon", "0s", "1d"])
def test_odd_values_are_read_or_left(odd):
    headers = {
        "x-ratelimit-limit-requests": odd,
        "x-ratelimit-remaining-requests": "1",
        "x-ratelimit-reset-requests": odd,
    }
    (quota,) = quotas_in(headers, NOW)
    assert quota.per_s is None or quota.per_s >= 0


def test_every_family_has_a_row():
    text = " ".join(SPELLINGS)
    for name in ("OpenAI", "Azure", "Groq", "Anthropic", "Mistral", "vLLM"):
        assert name in text
