"""How attempts and runs end: what follows a failed attempt, and why a run stops early."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any

from judgelaw.errors import InputError
from judgelaw.ledger import Completed, Failed, Receipt, Reservation
from judgelaw.wire import Answer, Consequence, Failure, FailureKind, JudgeSpec, Reply
from judgelaw.words import words

_LOG = logging.getLogger(__name__)


def failed(failure: Failure, reservation: Reservation, sent_at: float, now: float) -> Failed:
    """Return the ending of an attempt that failed."""
    return Failed(
        reservation=reservation,
        sent_at=sent_at,
        ended_at=now,
        kind=failure.kind.value,
        detail=failure.detail,
        status=failure.status,
        at_risk=failure.kind.at_risk,
        refused=failure.kind is FailureKind.REFUSED,
    )


def completed(  # noqa: PLR0917 - what came, then for what and when, as for `failed`
    reply: Reply,
    answer: Answer,
    receipt: Receipt,
    reservation: Reservation,
    sent_at: float,
    now: float,
) -> Completed:
    """Return the ending of an attempt that was answered."""
    return Completed(
        reservation=reservation,
        sent_at=sent_at,
        ended_at=now,
        status=reply.status,
        body=reply.body,
        completion=answer.completion,
        receipt=receipt,
        tokens=answer.tokens,
        unread=answer.unread,
    )


def receipt_of(answer: Answer, spec: JudgeSpec) -> Receipt:
    """Return what the provider says of its reply."""
    if spec.seed == "sent" or answer.echoed_seed is None:
        return answer
    return replace(answer, echoed_seed=None)  # a seed that was not sent cannot come back changed


def unmetered(spec: JudgeSpec) -> InputError:
    """Return the error of a reply without usage where a budget needs one."""
    return InputError(
        f"judge {spec.name} reports no token usage, so a budget in tokens or dollars cannot be "
        "kept: the replies so far are safe; budget in calls instead, then resume"
    )


Sleep = Callable[[float], Coroutine[Any, Any, None]]

_UNREAD_REMEDY = "mend the judge's `decode`, or upgrade judgelaw if the judge is one of its own"


class Reason(IntEnum):
    """Why calls are left open, the gravest last."""

    ATTEMPTS = 1
    """Calls that failed as often as the study allows."""
    POSTPONED = 2
    """A provider asked to be left alone, or never answered."""
    BUDGET = 3
    UNREAD = 4
    """The code that reads the replies of a judge fails on some: they are kept for better code."""
    UNREADABLE = 5
    """A parser ran out of time too often: asking for more replies would be of no use."""
    REJECTED = 6
    """A provider rejected what one judge asks."""
    FAULTY = 7
    """The function that answers raised an error of its own, or returned what is no verdict."""
    REFUSED = 8
    """A provider refused the key or the account."""
    INTERRUPTED = 9
    BROKEN = 10
    """Something raised that nobody had foreseen."""


@dataclass(frozen=True, kw_only=True)
class Stop:
    """Why calls were left open, in words, and what to change where resuming alone is no help."""

    reason: Reason
    words: str
    remedy: str = ""


class Halt:
    """A flag that stops new calls, and that everyone who waits also waits for."""

    def __init__(self, above: "Halt | None" = None) -> None:
        self._event = asyncio.Event()
        self._listeners: list[Callable[[], None]] = []
        self.reason: Reason | None = None
        self.words = ""
        self.remedy = ""
        self.error: Exception | None = None
        if above is not None:
            above.on_stop(self._set)
            if above.stopped:
                self._set()

    @property
    def stopped(self) -> bool:
        """Whether nothing new may start."""
        return self._event.is_set()

    def stop(self, reason: Reason, words: str, *, remedy: str = "") -> None:
        """Stop; the first reason stays. `remedy` says what to change before the run is resumed."""
        if self.reason is None:
            self.reason, self.words, self.remedy = reason, words, remedy
        self._set()

    def fail(self, error: Exception) -> None:
        """Stop for an error; it is raised when what is under way has ended."""
        self.error = self.error or error
        self.stop(Reason.BROKEN, str(error))

    def on_stop(self, listener: Callable[[], None]) -> None:
        """Call `listener` too when the run or judge stops."""
        self._listeners.append(listener)

    def _set(self) -> None:
        """Tell everyone who waits, here and below."""
        self._event.set()
        for listener in self._listeners:
            listener()

    async def guard(self, work: Callable[[], Awaitable[None]]) -> None:
        """Stop for an error of some work, but let the replies under way arrive first."""
        try:
            await work()
        except Exception as error:  # noqa: BLE001 - raised by the engine once replies are safe
            self.fail(error)

    async def unless_stopped(self, waiting: Awaitable[Any]) -> bool:
        """Wait for something, or for a call to stop; return whether to go on."""
        task = asyncio.ensure_future(waiting)
        call = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({task, call}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()
            call.cancel()
        return not self.stopped


class DecodeFaults:
    """Counts the replies that the code of a judge fails to read; after a few it is asked no more.

    They are kept as they came, for code that does not fail.
    """

    MOST = 3

    def __init__(self, judge: str, halt: Halt) -> None:
        self._judge = judge
        self._halt = halt
        self._count = 0
        self._said = ""

    def add(self, error: Exception) -> None:
        """Count one."""
        self._count += 1
        said = words(f"{type(error).__name__}: {error}")
        _LOG.info("%s: a reply cannot be read: %s", self._judge, said, exc_info=error)
        self._said = (
            f"judge {self._judge}: the code that reads its replies fails on {self._count} of them "
            f"({said}); they are kept as they came, and asked for no second time"
        )
        if self._count >= self.MOST:
            self._halt.stop(Reason.UNREAD, self._said, remedy=_UNREAD_REMEDY)

    def stops(self) -> Iterator[Stop]:
        """Yield why the run is not whole, where that stopped nothing."""
        if self._said and self._halt.reason is None:
            yield Stop(reason=Reason.UNREAD, words=self._said, remedy=_UNREAD_REMEDY)


class ChangeSignal:
    """Wakes everyone who waits for a change of something shared."""

    def __init__(self) -> None:
        self._waiting: list[asyncio.Future[None]] = []

    def ring(self) -> None:
        """Wake whoever waits."""
        if self._waiting:
            waiting, self._waiting = self._waiting, []
            for future in waiting:
                if not future.done():
                    future.set_result(None)

    def heard(self) -> asyncio.Future[None]:
        """Return what is done at the next ring."""
        future = asyncio.get_running_loop().create_future()
        self._waiting.append(future)
        return future


PATIENCE_S = 3600.0
"""A provider that asks to wait longer than this is left alone until the run is resumed."""

_UNREACHABLE = 3
_NOBODY_THERE = (FailureKind.NO_CONNECTION, FailureKind.CRASHED)
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
    """No further call of this judge is sent, for this reason."""

    reason: Reason


@dataclass(frozen=True, slots=True)
class StopRun:
    """Nothing is sent any more."""


Decision = Again | LeaveOpen | StopJudge | StopRun


def failures_allowed(kind: FailureKind, *, answered: bool, ever: bool) -> int:
    """Return how many calls in a row may use up their attempts before a judge is left for now.

    A few where nobody is there; some more where a judge has never answered, since calls that
    nobody could answer may stand first in the schedule; many behind an answer of this session.
    """
    if answered:
        return _HOPELESS
    if kind in _NOBODY_THERE:
        return _UNREACHABLE
    return _HOPELESS if ever else _SILENT


def decide(failure: Failure, *, tried: int, policy: RetryPolicy, jitter: float) -> Decision:
    """Decide what follows the `tried`-th failed attempt of a call in this session.

    The pause doubles with every failure up to a cap and is drawn from its upper half, so that
    calls that failed together do not come back together (`jitter` is a number in [0, 1)); a
    Retry-After is always waited for. Behind a 429 it is all that is waited for: how fast requests
    follow then is up to what is known of the provider's limits.
    """
    match failure.kind.consequence:
        case Consequence.STOP_RUN:
            return StopRun()
        case Consequence.STOP_JUDGE:
            return StopJudge(Reason.REJECTED)
        case Consequence.CORRECT_JUDGE:
            return StopJudge(Reason.FAULTY)
        case Consequence.RETRY:
            pass
    asked = failure.retry_after or 0.0
    if asked > PATIENCE_S:
        return StopJudge(Reason.POSTPONED)
    if tried >= policy.attempts:
        return LeaveOpen()
    # The exponent is bounded so that a thousandth attempt does not overflow.
    pause = min(policy.max_backoff_s, policy.backoff_s * 2.0 ** min(tried - 1, 60))
    pause *= 0.5 + 0.5 * jitter
    named = asked if failure.kind is FailureKind.THROTTLED else max(pause, asked + 0.1 * pause)
    return Again(named if asked else pause)


def stop_for(decision: Decision, said: str, *, judge: Halt, run: Halt) -> None:
    """Stop the judge or the run where a failure demands it."""
    match decision:
        case StopJudge(reason=reason):
            judge.stop(reason, said)
        case StopRun():
            run.stop(Reason.REFUSED, said)
