"""Time that passes only when somebody sleeps."""

import asyncio

from judgelaw.acquire.lane import Effects


class FakeTime:
    """A clock for the engine; `naps` lists every pause that was asked for."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0
        self.naps: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    @property
    def effects(self) -> Effects:
        def now() -> float:
            return self.now

        return Effects(clock=now, monotonic=now, sleep=self.sleep, jitter=lambda: 0.5)
