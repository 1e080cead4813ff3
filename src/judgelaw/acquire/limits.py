"""How fast one judge is asked, how long an attempt may take, how much may be unsaved.

Rules of pace are arithmetic on the time that is passed in; waiting is the lane's business.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

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
    expired: bool = False


class Deadlines:
    """Ends work that takes longer than `timeout_s`, as `asyncio.timeout` does.

    All attempts of a lane have the same time-out, so they expire in the sequence in which they
    started: a queue and a single timer do what a timer for each would.
    """

    def __init__(self, timeout_s: float) -> None:
        self._timeout_s = timeout_s
        self._watched: deque[_Watch] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def keep(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what the work returns, or raise TimeoutError once its time is up."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a coroutine runs in a task
        watch = _Watch(loop.time() + self._timeout_s, task)
        self._watched.append(watch)
        if self._timer is None:
            self._timer = loop.call_at(watch.at, self._expire, loop)
        try:
            return await work
        except asyncio.CancelledError:
            # The cancellation is ours if time was up and nobody else has cancelled the task.
            if watch.expired and task.uncancel() == 0:
                raise TimeoutError from None
            raise
        finally:
            watch.task = None
            self._forget()

    def _forget(self) -> None:
        """Drop what has ended, so that the queue holds no more than what is under way."""
        while self._watched and self._watched[0].task is None:
            self._watched.popleft()

    def _expire(self, loop: asyncio.AbstractEventLoop) -> None:
        now = loop.time()
        for watch in self._watched:
            if watch.at > now:
                break
            if watch.task is not None and not watch.expired:
                watch.expired = True
                watch.task.cancel()
        self._forget()
        # The next timer is for the first that still has time; an idle lane has none.
        waiting = next((watch.at for watch in self._watched if not watch.expired), None)
        self._timer = None if waiting is None else loop.call_at(waiting, self._expire, loop)


_CREDIT_S = 1.0
"""A schedule that fell behind may catch up on this much, and no more."""


class Pace:
    """Spaces out units so that no more than `per_minute` of them start in a minute."""

    def __init__(self, per_minute: float | None) -> None:
        self._spacing = 60.0 / per_minute if per_minute else 0.0
        self._next = float("-inf")

    @property
    def limited(self) -> bool:
        """Whether there is a limit at all."""
        return self._spacing > 0

    def book(self, units: float, now: float) -> float:
        """Book units at the next free time; return the seconds to wait for it."""
        if not self._spacing:
            return 0.0
        start = max(self._next, now - _CREDIT_S)
        self._next = start + units * self._spacing
        return max(0.0, start - now)

    def correct(self, units: float) -> None:
        """Add what a booking needed beyond its estimate, or give back what it did not need."""
        if self._spacing:
            self._next += units * self._spacing


class Slots:
    """Requests that may be under way at once: halved when throttled, regained one by one."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.allowed = float(most)
        self.busy = 0
        self._resume_at = float("-inf")

    @property
    def free(self) -> bool:
        """Whether another request may start, as far as slots go."""
        return self.busy < int(self.allowed)

    def wait(self, now: float) -> float:
        """Return the seconds until the provider's pause is over."""
        return max(0.0, self._resume_at - now)

    def throttled(self, now: float, pause_s: float) -> None:
        """Slow down after a 429: pause everyone, and go on with half the width.

        A burst of them halves once, since requests that left before the pause say nothing about
        the width after it.
        """
        if now >= self._resume_at:
            self.allowed = max(1.0, self.allowed / 2)
        self._resume_at = max(self._resume_at, now + pause_s)

    def answered(self) -> None:
        """Open one more slot after each full round of answers."""
        self.allowed = min(float(self.most), self.allowed + 1.0 / self.allowed)


class Limiter:
    """The limits of one judge together."""

    def __init__(
        self, *, concurrency: int, requests_per_minute: int | None, tokens_per_minute: int | None
    ) -> None:
        self.slots = Slots(concurrency)
        self.freed = ChangeSignal()
        self._requests = Pace(requests_per_minute)
        self._tokens = Pace(tokens_per_minute)

    @property
    def counts_tokens(self) -> bool:
        """Whether calls need an estimate of their tokens."""
        return self._tokens.limited

    def book(self, tokens: float, now: float) -> float:
        """Take a slot and book one request; return the seconds to wait before it may leave."""
        self.slots.busy += 1
        return max(self._requests.book(1.0, now), self._tokens.book(tokens, now))

    def done(self, *, estimated: float, used: float | None) -> None:
        """Give the slot back and correct the booking of tokens."""
        self.slots.busy -= 1
        if used is not None:
            self._tokens.correct(used - estimated)
        self.freed.ring()
