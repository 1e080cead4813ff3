"""Deadlines of the attempts of one lane, with one timer for all of them.

All attempts of a lane have the same time-out, so they expire in the sequence in which they
started: a queue and a single timer do what a timer for each would.
"""

import asyncio
from collections import deque
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Watch:
    """One piece of work under a deadline."""

    __slots__ = ("at", "expired", "task")

    def __init__(self, at: float, task: "asyncio.Task[Any]") -> None:
        self.at = at
        self.task: asyncio.Task[Any] | None = task
        self.expired = False


class Deadlines:
    """Ends work that takes longer than `timeout_s`, as `asyncio.timeout` does."""

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
            # Ours if time was up and nobody else has cancelled the task as well.
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
