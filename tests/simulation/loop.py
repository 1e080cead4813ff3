"""An event loop whose time is virtual and whose sequence is drawn from a seed.

Of everything that could run next, one thing is chosen at random and run alone; time moves on only
when nothing can run. Before each step somebody may stop the process.
"""

import asyncio
import heapq
import random
import selectors
from collections.abc import Callable


class HangError(Exception):
    """Nothing can run any more, or time goes on for ever."""


class SimulatedLoop(asyncio.SelectorEventLoop):
    """Runs callbacks one by one in a drawn sequence; nothing here waits for the real clock."""

    def __init__(
        self, *, dice: random.Random, start: float, most_s: float, before: Callable[[], None]
    ) -> None:
        super().__init__(selectors.SelectSelector())
        self._dice = dice
        self._now = start
        self._end = start + most_s
        self._before = before
        self.interrupt: Callable[[], object] | None = None

    def time(self) -> float:
        return self._now

    def add_signal_handler(self, sig, callback, *args):
        del sig, args
        self.interrupt = callback

    def remove_signal_handler(self, sig):
        del sig
        self.interrupt = None
        return True

    def _write_to_self(self) -> None:
        """Nobody waits in a selector, so nobody has to be woken."""

    def _run_once(self) -> None:
        self._let_time_pass()
        self._before()
        place = self._dice.randrange(len(self._ready))
        handle = self._ready[place]
        del self._ready[place]
        if not handle.cancelled():
            handle._run()

    def close(self) -> None:
        """Let tasks that were cancelled end first: a drawn sequence may not have come to them."""
        if not self.is_closed():
            self.run_until_complete(self._come_to_rest())
        super().close()

    async def _come_to_rest(self) -> None:
        while self._ready:  # noqa: ASYNC110 - no event tells that nothing is ready
            await asyncio.sleep(0)

    def _let_time_pass(self) -> None:
        """Make ready what is due; if nothing is, jump to the next time at which something is."""
        while not self._ready:
            if not self._scheduled:
                raise HangError("everybody waits for somebody else")
            self._now = max(self._now, self._scheduled[0].when())
            if self._now > self._end:
                raise HangError(f"still running at {self._now:.0f} s")
            self._take_due()
        self._take_due()

    def _take_due(self) -> None:
        while self._scheduled and self._scheduled[0].when() <= self._now:
            timer = heapq.heappop(self._scheduled)
            timer._scheduled = False
            if timer.cancelled():
                self._timer_cancelled_count -= 1
            else:
                self._ready.append(timer)
