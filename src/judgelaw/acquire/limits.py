"""How fast one judge is asked, how long an attempt may take, how much may be unsaved.

Rules of pace are arithmetic on the time that is passed in; waiting is the lane's business.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from judgelaw.acquire.rates import ProviderLimits
from judgelaw.acquire.retry import ChangeSignal, Halt
from judgelaw.ledger import Arrived, Completed, Ending, Held, Read, Record

_MOST_BYTES = 128 * 2**20


class Backlog:
    """Counts what was recorded and not yet written.

    Attributes:
        held: what the ledger cannot write for now; nothing is sent until it can.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._endings = 0
        self._bytes = 0
        self.held: Held | None = None
        self._changed = ChangeSignal()

    @property
    def full(self) -> bool:
        """Whether nothing more should be asked for until something is written."""
        held = self.held is not None
        return held or self._endings >= self._most or self._bytes >= _MOST_BYTES

    def hold(self, held: Held | None) -> None:
        """Note what the ledger cannot write; None once it is written."""
        self.held = held
        self._changed.ring()

    async def writable(self, halt: Halt) -> bool:
        """Wait until the ledger can be written; return whether anything may still be sent."""
        while self.held is not None and not halt.stopped:
            await halt.unless_stopped(self._changed.heard())
        return not halt.stopped

    def add(self, ending: Ending) -> None:
        """Count an ending that was recorded."""
        self._endings += 1
        self._bytes += _size(ending)

    def durable(self, records: Sequence[Record]) -> None:
        """Subtract what was written.

        Verdicts do not count, since they can be read again; a raw reply is counted as its ending.
        """
        endings = [record for record in records if not isinstance(record, Arrived | Read)]
        self._endings -= len(endings)
        self._bytes -= sum(map(_size, endings))


def _size(ending: Ending) -> int:
    return len(ending.body) if isinstance(ending, Completed) else 0


T = TypeVar("T")


@dataclass(slots=True)
class _Watch:
    """One piece of work under a deadline."""

    at: float
    task: "asyncio.Task[Any] | None"
    idle_s: Callable[[], float]
    expired: bool = False


_LATE_S = 0.05
"""A timer that comes later than this tells of a loop that did not run in between."""
_LOOKS = 8
"""Looks at the time within one time-out: a stop between two of them is seen by neither."""


def _never_idle() -> float:
    return 0.0


class Deadlines:
    """Ends work that takes longer than `timeout_s` of the time in which this process ran.

    A process that is stopped, a closed lid and a loop that is held up are no fault of whoever
    answers: what arrived meanwhile is read first. One timer for all does what a timer for each
    would.
    """

    def __init__(self, timeout_s: float) -> None:
        self.timeout_s = timeout_s
        self._watched: dict[int, _Watch] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._stood_s = 0.0

    async def keep(self, work: Awaitable[T], idle_s: Callable[[], float] = _never_idle) -> T:
        """Return what the work returns, or raise TimeoutError once its time is up.

        `idle_s` says for how long the work has stood still for a reason that is not its own.
        """
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        watch = _Watch(loop.time() - self._stood_s + self.timeout_s, task, idle_s)
        self._watched[id(watch)] = watch
        if self._timer is None:
            self._set_timer(loop)
        try:
            return await work
        except asyncio.CancelledError:
            # The cancellation is ours if time was up and nobody else has cancelled the task.
            if watch.expired and task.uncancel() == 0:
                raise TimeoutError from None
            raise
        finally:
            watch.task = None
            del self._watched[id(watch)]

    def _set_timer(self, loop: asyncio.AbstractEventLoop) -> None:
        """Look again at the next deadline, or soon, so that no long stop goes unseen."""
        now = loop.time()
        waiting = [w.at + self._stood_s for w in self._watched.values() if not w.expired]
        self._timer = None
        if waiting:  # an idle lane has no timer
            due = min([now + self.timeout_s / _LOOKS, *(at for at in waiting if at > now)])
            self._timer = loop.call_at(due, self._look, loop, due)

    def _look(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        late = loop.time() - due
        self._stood_s += late if late > _LATE_S else 0.0
        ran = loop.time() - self._stood_s
        for watch in self._watched.values():
            if watch.at > ran or watch.task is None or watch.expired:
                continue
            if (idle := watch.idle_s()) > 0.0 and watch.at + idle > ran:
                continue
            watch.expired = True
            watch.task.cancel()
        self._set_timer(loop)


_CREDIT_S = 1.0
"""A schedule that fell behind may catch up on this much, and no more."""


class Pace:
    """Spaces out units so that no more than `per_minute` of them start in a minute."""

    def __init__(self, per_minute: float | None) -> None:
        self._spacing = 60.0 / per_minute if per_minute else 0.0
        self._next = float("-inf")
        self._waited = False

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._spacing > 0

    def words(self, name: str) -> str:
        """Say that the study limits the rate, where it did."""
        return f"{name} of the study" if self._waited else ""

    def book(self, units: float, now: float) -> float:
        """Book units at the next free time; return the seconds to wait for it."""
        if not self._spacing:
            return 0.0
        start = max(self._next, now - _CREDIT_S)
        self._next = start + units * self._spacing
        self._waited |= start > now
        return max(0.0, start - now)

    def correct(self, units: float) -> None:
        """Add what a booking needed beyond its estimate, or give back what it did not need."""
        if self._spacing:
            self._next += units * self._spacing


class Limiter:
    """The limits of one judge together: what the study declares, and what the provider allows."""

    def __init__(
        self,
        *,
        requests_per_minute: int | None,
        tokens_per_minute: int | None,
        jitter: Callable[[], float] = lambda: 0.5,
    ) -> None:
        self.provider = ProviderLimits(jitter)
        self._requests = Pace(requests_per_minute)
        self._tokens = Pace(tokens_per_minute)

    @property
    def counts_tokens(self) -> bool:
        """Whether calls need an estimate of their tokens."""
        return self._tokens.limited or self.provider.counts_tokens

    @property
    def words(self) -> str:
        """Say what limits the rate; nothing where nothing did yet."""
        declared = self._requests.words("requests_per_minute")
        return self.provider.words or declared or self._tokens.words("tokens_per_minute")

    def book(self, tokens: float, now: float) -> float:
        """Book one request; return the seconds to wait before it may leave."""
        return max(self._requests.book(1.0, now), self._tokens.book(tokens, now))

    def done(self, *, estimated: float, used: float | None) -> None:
        """Correct the booking of tokens."""
        if used is not None:
            self._tokens.correct(used - estimated)
