"""What follows a failed attempt: a pure decision."""

from dataclasses import dataclass

from judgelaw.judges import Consequence, Failure, FailureKind

PATIENCE_S = 3600.0
"""A provider that asks to wait longer than this is left alone until the run is resumed."""

_UNREACHABLE = 3
_SILENT = 10
_HOPELESS = 100


@dataclass(frozen=True, kw_only=True)
class RetryPolicy:
    """How often a call is tried in one session, and how the pauses grow."""

    attempts: int
    backoff_s: float
    max_backoff_s: float


@dataclass(frozen=True, slots=True)
class Again:
    """Send the same bytes again, not before so many seconds."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class LeaveOpen:
    """The call stays open; a later session asks again."""


@dataclass(frozen=True, slots=True)
class StopJudge:
    """No further call of this judge is sent; `refused` if the provider rejected the request."""

    refused: bool


@dataclass(frozen=True, slots=True)
class StopRun:
    """Nothing is sent any more."""


Decision = Again | LeaveOpen | StopJudge | StopRun


def bearable(kind: FailureKind, *, answered: bool, ever: bool) -> int:
    """Return how many calls in a row may use up their attempts before a judge is left for now.

    A few where nobody is there; some more where a judge has never answered, since calls that
    nobody could answer may stand first in the schedule; many behind an answer.

    Args:
        kind: how the last one failed.
        answered: whether the judge answered in this session.
        ever: whether it answered in an earlier one.
    """
    if answered:
        return _HOPELESS
    if kind is FailureKind.NO_CONNECTION:
        return _UNREACHABLE
    return _HOPELESS if ever else _SILENT


def decide(failure: Failure, *, tried: int, policy: RetryPolicy, jitter: float) -> Decision:
    """Decide what follows the `tried`-th failed attempt of a call in this session.

    The pause doubles with every failure up to a cap and is drawn from its upper half, so that
    calls that failed together do not come back together; a Retry-After is always waited for.

    Args:
        failure: how the attempt ended.
        tried: attempts of this call in this session, this one included.
        policy: the study's transport rules.
        jitter: a number in [0, 1).
    """
    match failure.kind.consequence:
        case Consequence.STOP_RUN:
            return StopRun()
        case Consequence.STOP_JUDGE:
            return StopJudge(refused=True)
        case Consequence.RETRY:
            pass
    asked = failure.retry_after or 0.0
    if asked > PATIENCE_S:
        return StopJudge(refused=False)
    if tried >= policy.attempts:
        return LeaveOpen()
    # The exponent is bounded so that a thousandth attempt does not overflow.
    pause = min(policy.max_backoff_s, policy.backoff_s * 2.0 ** min(tried - 1, 60))
    pause *= 0.5 + 0.5 * jitter
    return Again(max(pause, asked + 0.1 * pause if asked else 0.0))
