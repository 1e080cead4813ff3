"""When a worker on a shared ledger may go home: only when nothing is left, free or held."""

import asyncio
from types import SimpleNamespace

from judgelaw.acquire import worker
from judgelaw.acquire.worker import work
from judgelaw.ledger import RemainingCalls


class Shared:
    """A ledger that says, look by look, what is left; the last look stays."""

    lease_s = 60.0

    def __init__(self, *looks: tuple[int, int]) -> None:
        self._looks = list(looks)

    async def others(self) -> RemainingCalls:
        free, held = self._looks.pop(0) if len(self._looks) > 1 else self._looks[0]
        return RemainingCalls(free=free, held=held, holders="process 7 on elsewhere")

    async def beat(self) -> None:
        pass


def rounds(monkeypatch, *looks: tuple[int, int]) -> int:
    """Work until there is nothing to do; return how often the worker went to ask."""
    asked = []

    async def drive(*_args, **_options):
        asked.append(1)
        return ()

    async def sleep(_seconds):
        await asyncio.sleep(0)

    monkeypatch.setattr(worker, "drive", drive)
    effects = SimpleNamespace(sleep=sleep)
    assert asyncio.run(work(None, Shared(*looks), None, effects=effects)) == ()
    return len(asked)


def test_nothing_left_is_the_end(monkeypatch):
    assert rounds(monkeypatch, (0, 0)) == 1


def test_what_others_give_back_is_asked(monkeypatch):
    assert rounds(monkeypatch, (0, 3), (3, 0), (0, 0)) == 2


def test_calls_that_another_took_first_are_waited_for(monkeypatch):
    """They came free, and were held again when this worker looked once more: it stays."""
    assert rounds(monkeypatch, (0, 3), (3, 0), (0, 3), (0, 3), (3, 0), (0, 0)) == 3
