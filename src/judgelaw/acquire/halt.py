"""Why acquisition stops before the last call, and how everyone who waits hears of it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from enum import IntEnum
from typing import Any

Sleep = Callable[[float], Coroutine[Any, Any, None]]


class Reason(IntEnum):
    """Why calls are left open, the gravest last."""

    ATTEMPTS = 1
    """Calls that failed as often as the study allows."""
    POSTPONED = 2
    """A provider asked to be left alone, or never answered."""
    BUDGET = 3
    UNREADABLE = 4
    """A parser ran out of time too often: asking for more replies would be of no use."""
    REJECTED = 5
    """A provider rejected what one judge asks."""
    REFUSED = 6
    """A provider refused the key or the account."""
    INTERRUPTED = 7
    BROKEN = 8
    """Something raised that nobody had foreseen."""


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
            above.on_call(self._set)
            if above.called:
                self._set()

    @property
    def called(self) -> bool:
        """Whether nothing new may start."""
        return self._event.is_set()

    def call(self, reason: Reason, words: str, *, remedy: str = "") -> None:
        """Stop; the first reason stays. `remedy` says what to change before the run is resumed."""
        if self.reason is None:
            self.reason, self.words, self.remedy = reason, words, remedy
        self._set()

    def fail(self, error: Exception) -> None:
        """Stop for an error; it is raised when what is under way has ended."""
        self.error = self.error or error
        self.call(Reason.BROKEN, str(error))

    def on_call(self, listener: Callable[[], None]) -> None:
        """Also tell `listener`."""
        self._listeners.append(listener)

    def _set(self) -> None:
        """Tell everyone who waits, here and below."""
        self._event.set()
        for listener in self._listeners:
            listener()

    async def wait(self) -> None:
        """Wait until somebody calls."""
        await self._event.wait()

    async def unless_called(self, waiting: Awaitable[Any]) -> bool:
        """Wait for something, or for a call to stop; return whether to go on."""
        task = asyncio.ensure_future(waiting)
        call = asyncio.ensure_future(self._event.wait())
        try:
            await asyncio.wait({task, call}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            task.cancel()
            call.cancel()
        return not self.called


class Bell:
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
