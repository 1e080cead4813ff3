"""The reservations of one judge, fetched in batches ahead of the workers that send them.

Reserving costs a commit; fetching the next batch while the last one is being sent takes that
commit off the critical path. Memory holds a few batches, however many calls are planned.
"""

import asyncio
from collections import deque

from judgelaw.acquire.halt import Halt
from judgelaw.ledger import Ledger, Reservation


class Feed:
    """Durable reservations in schedule order."""

    def __init__(self, ledger: Ledger, judge: str, *, width: int, halt: Halt) -> None:
        self._ledger = ledger
        self._judge = judge
        self._low, self._high = 2 * width, 4 * width
        self._halt = halt
        self._ready: deque[Reservation] = deque()
        self._dry = False
        self._wanted = asyncio.Event()
        self._filled = asyncio.Event()

    async def take(self) -> Reservation | None:
        """Return the next reservation; None when there is none left or nothing may start."""
        while not self._ready:
            if self._dry or self._halt.called:
                return None
            self._filled.clear()
            self._wanted.set()
            # Woken at the latest when `fill` ends, which a halt makes it do.
            await self._filled.wait()
        if self._halt.called:
            return None
        if len(self._ready) <= self._low:
            self._wanted.set()
        return self._ready.popleft()

    async def fill(self) -> None:
        """Keep reservations at hand until the schedule ends or nothing may start."""
        after = -1
        try:
            while not (self._dry or self._halt.called):
                if not await self._halt.unless_called(self._wanted.wait()):
                    return
                self._wanted.clear()
                limit = self._high - len(self._ready)
                batch = await self._ledger.reserve(self._judge, after=after, limit=limit)
                if batch:
                    after = batch[-1].call.position
                self._ready.extend(batch)
                self._dry = len(batch) < limit
                self._filled.set()
        finally:
            self._dry = True
            self._filled.set()

    def rest(self) -> list[Reservation]:
        """Hand over what was reserved and will not be sent."""
        rest = list(self._ready)
        self._ready.clear()
        return rest
