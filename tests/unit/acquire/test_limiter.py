"""Limits are arithmetic on the time that is passed in."""

import pytest

from judgelaw.acquire.limits import Limiter, Pace


def test_a_pace_spaces_requests_evenly():
    pace = Pace(60)
    starts = [pace.book(1, now=100.0) for _ in range(4)]
    # One second of credit, then one a second.
    assert starts == [0.0, 0.0, 1.0, 2.0]


def test_a_pace_never_lets_more_through_in_any_minute():
    pace, now, sent = Pace(120), 0.0, []
    for _ in range(1_000):
        now += pace.book(1, now)
        sent.append(now)
    for first, last in zip(sent, sent[122:], strict=False):
        assert last - first >= 60


def test_idle_time_is_not_saved_up():
    pace = Pace(60)
    pace.book(1, now=0.0)
    assert [pace.book(1, now=1000.0) for _ in range(3)] == [0.0, 0.0, 1.0]


def test_no_limit_never_waits():
    assert all(Pace(None).book(1_000_000, now=0.0) == 0.0 for _ in range(10))


def test_tokens_are_corrected_when_the_reply_says_how_many():
    limiter = Limiter(requests_per_minute=None, tokens_per_minute=6_000)
    assert limiter.book(200, now=0.0) == 0.0
    limiter.done(estimated=200, used=50)
    # 50 used of the 100 a second that one second of credit holds: 50 are left, then one waits.
    assert limiter.book(100, now=0.0) == 0.0
    assert limiter.book(100, now=0.0) == pytest.approx(0.5)
