"""What follows a failure is a pure decision."""

import pytest

from judgelaw.acquire.retry import (
    Again,
    LeaveOpen,
    Reason,
    RetryPolicy,
    StopJudge,
    StopRun,
    decide,
    failures_allowed,
)
from judgelaw.wire import Consequence, Failure, FailureKind

POLICY = RetryPolicy(attempts=5, backoff_s=0.5, max_backoff_s=8.0)


def failed(kind, retry_after=None):
    return Failure(kind=kind, detail="words", retry_after=retry_after)


@pytest.mark.parametrize("kind", FailureKind)
def test_each_kind_has_its_consequence(kind):
    decision = decide(failed(kind), tried=1, policy=POLICY, jitter=0.5)
    expected = {
        Consequence.RETRY: Again,
        Consequence.STOP_JUDGE: StopJudge,
        Consequence.CORRECT_JUDGE: StopJudge,
        Consequence.STOP_RUN: StopRun,
    }
    assert isinstance(decision, expected[kind.consequence])


@pytest.mark.parametrize(
    ("kind", "answered", "ever", "most"),
    [
        (FailureKind.NO_CONNECTION, False, False, 3),
        (FailureKind.NO_CONNECTION, False, True, 3),
        (FailureKind.NO_CONNECTION, True, False, 100),
        (FailureKind.TIMEOUT, False, False, 10),
        (FailureKind.TIMEOUT, False, True, 100),
        (FailureKind.TIMEOUT, True, True, 100),
    ],
)
def test_silence_is_borne_longer_behind_an_answer(kind, answered, ever, most):
    assert failures_allowed(kind, answered=answered, ever=ever) == most


def test_pauses_double_up_to_the_cap():
    pauses = [
        decide(
            failed(FailureKind.RESET),
            tried=n,
            policy=RetryPolicy(attempts=99, backoff_s=0.5, max_backoff_s=8.0),
            jitter=1.0,
        ).delay_s
        for n in range(1, 8)
    ]
    assert pauses == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_jitter_keeps_at_least_half_the_pause():
    low = decide(failed(FailureKind.RESET), tried=3, policy=POLICY, jitter=0.0)
    assert low == Again(1.0)


def test_retry_after_is_waited_for_and_a_little_more():
    decision = decide(failed(FailureKind.BUSY, 30.0), tried=1, policy=POLICY, jitter=0.5)
    assert 30.0 < decision.delay_s < 31.0


@pytest.mark.parametrize("asked", [0.01, 1.0, 30.0])
def test_a_refusal_for_now_pauses_what_it_names_and_no_more(asked):
    decision = decide(failed(FailureKind.THROTTLED, asked), tried=4, policy=POLICY, jitter=1.0)
    assert decision == Again(asked)


def test_a_short_retry_after_does_not_shorten_the_pause():
    decision = decide(failed(FailureKind.BUSY, 0.01), tried=4, policy=POLICY, jitter=0.0)
    assert decision == Again(2.0)


def test_attempts_are_counted_and_the_call_stays_open():
    assert decide(failed(FailureKind.CUT), tried=5, policy=POLICY, jitter=0.0) == LeaveOpen()
    assert isinstance(decide(failed(FailureKind.CUT), tried=4, policy=POLICY, jitter=0.0), Again)


def test_a_provider_that_asks_for_hours_is_left_alone():
    decision = decide(failed(FailureKind.THROTTLED, 7200.0), tried=1, policy=POLICY, jitter=0.0)
    assert decision == StopJudge(Reason.POSTPONED)


def test_a_thousandth_attempt_does_not_overflow():
    patient = RetryPolicy(attempts=10_000, backoff_s=0.5, max_backoff_s=8.0)
    decision = decide(failed(FailureKind.CUT), tried=5_000, policy=patient, jitter=1.0)
    assert decision == Again(8.0)
