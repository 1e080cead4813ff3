"""The provider's batch interface, in the time of the simulation and under its weather."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judgelaw.wire import (
    Answer,
    BatchStatus,
    Entry,
    Failure,
    FailureKind,
    LostBatch,
    Reply,
    Stage,
    Unheard,
    decode,
)
from simulation.provider import Provider

_LONGEST_S = 20.0
_LATEST_S = 50.0
"""A request is on its way for no longer than this, as the program supposes too."""


@dataclass(frozen=True)
class _Made:
    """A batch as the provider keeps it; what is not among its answers has expired there."""

    name: str
    ready_at: float
    answers: dict[str, bytes]


class Batches:
    """A `BatchClient`; `keeps_names` says whether the provider knows batches by our names."""

    most_bytes = 10**6

    def __init__(
        self, provider: Provider, clock: Callable[[], float], *, keeps_names: bool
    ) -> None:
        self._provider = provider
        self._clock = clock
        self._keeps_names = keeps_names
        self._by_uid: dict[str, _Made] = {}
        self._on_their_way: list[tuple[float, str, Sequence[Entry]]] = []

    async def __aenter__(self):
        return self

    async def __aexit__(self, *exception):
        pass

    async def upload(self, entries: Sequence[Entry]) -> str | Failure:
        del entries
        return await self._there() or await self._back() or "file"

    async def create(self, uid: str, upload: str, entries: Sequence[Entry]) -> str | Failure:
        del upload
        for entry in entries:
            self._provider.send(entry.call_id)
        # It arrives whether or not somebody still waits, or is still there to wait.
        if self._provider.happens("late"):
            at = self._now() + self._provider.draw(0, _LATEST_S)
            self._on_their_way.append((at, uid, entries))
            await asyncio.get_running_loop().create_future()
        if failure := await self._there():
            return failure
        made = self._make(uid, entries)
        return await self._back() or made.name

    def mark(self, uid: str) -> str:
        return uid[:4]

    async def find(self, lost: Unheard) -> str | LostBatch | Failure:
        if failure := await self._there() or await self._back():
            return failure
        self._let_arrive(self._now())
        if not self._keeps_names:
            return LostBatch.UNKNOWN
        return self._by_uid[lost.uid].name if lost.uid in self._by_uid else LostBatch.ABSENT

    async def look(self, provider_id: str) -> BatchStatus | Failure:
        if failure := await self._there() or await self._back():
            return failure
        ready = self._now() >= self._named(provider_id).ready_at
        return BatchStatus(stage=Stage.ENDED if ready else Stage.WORKING, words="as the test says")

    async def results(
        self, provider_id: str, look: BatchStatus
    ) -> dict[str, Reply | Failure] | Failure:
        del look
        if failure := await self._there() or await self._back():
            return failure
        answers = self._named(provider_id).answers
        for call in answers:
            self._provider.deliver(call)
        return {call: Reply(status=200, body=body) for call, body in answers.items()}

    async def cancel(self, provider_id: str) -> BatchStatus | Failure:
        raise NotImplementedError(provider_id)

    def decode(self, reply: Reply) -> Answer | Failure:
        return decode("openai-chat", reply, now=0.0)

    def end(self) -> None:
        """Let everything arrive that is still on its way."""
        self._let_arrive(float("inf"))

    def _let_arrive(self, now: float) -> None:
        for late in [one for one in self._on_their_way if one[0] <= now]:
            self._on_their_way.remove(late)
            _, uid, entries = late
            self._make(uid, entries)

    def _make(self, uid: str, entries: Sequence[Entry]) -> _Made:
        answers = {}
        for entry in entries:
            self._provider.arrive(entry.call_id)
            if not self._provider.happens("broken"):
                answers[entry.call_id] = self._provider.answer(entry.call_id)
        ready_at = self._now() + self._provider.draw(0, _LONGEST_S)
        made = self._by_uid[uid] = _Made(f"batch_{len(self._by_uid)}", ready_at, answers)
        return made

    async def _there(self) -> Failure | None:
        """Carry a request to the provider, if it gets there."""
        await self._provider.delay()
        if self._provider.happens("unreachable"):
            return Failure(kind=FailureKind.NO_CONNECTION, detail="unreachable")
        if self._provider.happens("lost"):
            await asyncio.get_running_loop().create_future()
        return None

    async def _back(self) -> Failure | None:
        """Carry an answer back, if it gets here."""
        await self._provider.delay()
        if self._provider.happens("reset"):
            return Failure(kind=FailureKind.RESET, detail="reset")
        if self._provider.happens("reply_lost"):
            await asyncio.get_running_loop().create_future()
        return None

    def _named(self, name: str) -> _Made:
        return next(made for made in self._by_uid.values() if made.name == name)

    def _now(self) -> float:
        return self._clock()
