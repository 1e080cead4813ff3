"""Replies are read once they are durable, so that no parser can cost one.

Ours read at once. A foreign parser works in a process of its own, beside the event loop and within
a time; what it has not read when a session ends stays in the ledger for the next one.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Self

from judgelaw.acquire.retry import ChangeSignal, Halt, Reason
from judgelaw.ledger import Completed, Ledger, LedgerView, Read, Record
from judgelaw.wire import (
    RAN_OUT,
    SECONDS,
    Completion,
    JudgeSpec,
    Reader,
    Verdict,
    parser_name,
    too_slow,
)

_SLICE = 64
_MOST = 256
_MOST_AT_FIRST = 16
_PROVEN = 100
"""Replies read before as many as `_MOST` may wait: a parser that is no good shows early."""
_MOST_CHARACTERS = 32 * 2**20


@dataclass
class Patience:
    """How often the parser of a judge has run out of time."""

    spec: JudgeSpec
    read: int = 0
    ran_out: int = 0

    @classmethod
    def starting_from(cls, view: LedgerView, spec: JudgeSpec) -> Self:
        """Start from what the rows say of the judge's parser version."""
        patience = cls(spec)
        for c in view.verdict_counts():
            if (c.judge, c.parser) == (spec.name, parser_name(spec)):
                patience.read += c.count
                patience.ran_out += c.count if c.reason == RAN_OUT else 0
        return patience

    @property
    def over(self) -> bool:
        """Whether the parser runs out too often to go on."""
        return too_slow(self.ran_out, self.read)

    @property
    def words(self) -> str:
        """Say how often, and what it means."""
        return (
            f"judge {self.spec.name}: its parser ran out of time on {self.ran_out} of {self.read} "
            f"replies ({SECONDS:g} s of processor time each, invalid: {RAN_OUT}), so it reads no "
            "more of them"
        )

    def count(self, verdict: Verdict) -> None:
        """Count one more reply."""
        self.read += 1
        self.ran_out += verdict.reason == RAN_OUT


def read_again(view: LedgerView, spec: JudgeSpec) -> Iterator[tuple[str, Verdict]]:
    """Yield `(call_id, verdict)` of the completions that the judge's parser has not read yet.

    A parser that runs out of time too often reads no further.
    """
    with Reader(spec) as reader:
        patience: Patience | None = None
        for call_id, order, completion in view.unjudged(spec.name, parser_name(spec)):
            patience = patience or Patience.starting_from(view, spec)
            if patience.over:
                return
            verdict = reader.read(completion, order)
            patience.count(verdict)
            yield call_id, verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class _Unread:
    call_id: str
    order: str
    completion: Completion

    @property
    def size(self) -> int:
        return len(self.completion.text or "")


class Reading:
    """The replies of one judge, on their way from the disk to a verdict."""

    def __init__(
        self, reader: Reader, patience: Patience, record: Callable[[Read], None], run_halt: Halt
    ) -> None:
        self._reader = reader
        self._patience = patience
        self._record = record
        self._run_halt = run_halt
        self.halt = Halt(above=run_halt)
        self._queue: deque[_Unread] = deque()
        self._characters = 0
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self._moved = ChangeSignal()
        self._stop_if_over()

    def take(self, unread: _Unread) -> None:
        """Read a durable reply, now or as soon as its turn comes."""
        if not self._reader.foreign:
            try:
                self._write(unread, *self._read([unread]))
            except Exception as error:  # noqa: BLE001 - raised by the engine; it costs no reply
                self._run_halt.fail(error)
        elif not self._patience.over:
            self._queue.append(unread)
            self._characters += unread.size
            if self._task is None:
                self._task = asyncio.create_task(self._work())

    @property
    def full(self) -> bool:
        """Whether nothing more should be asked for until something is read."""
        most = _MOST if self._patience.read >= _PROVEN else _MOST_AT_FIRST
        return len(self._queue) >= most or self._characters >= _MOST_CHARACTERS

    @property
    def _slice(self) -> int:
        """How many replies to read at a time: one by one while the parser may be no good."""
        proven = self._patience.read >= _PROVEN * (1 + self._patience.ran_out)
        return _SLICE if proven else 1

    async def room(self) -> None:
        """Wait until there is room for more replies, or nothing more may be asked for."""
        while self.full and not self.halt.stopped:
            await self.halt.unless_stopped(self._moved.heard())

    async def drain(self) -> None:
        """Wait until everything is read, or nobody waits for it any more."""
        while self._task is not None and not self.halt.stopped:
            await self.halt.unless_stopped(self._moved.heard())

    async def close(self) -> None:
        """End the parser's process; what it was reading stays unread."""
        self._closed = True
        self._reader.close()
        if self._task is not None:
            await self._task

    async def _work(self) -> None:
        """Read slices in a thread, which waits for the parser's process."""
        try:
            while self._queue and not self._closed:
                taken = [self._queue.popleft() for _ in range(min(self._slice, len(self._queue)))]
                verdicts = await asyncio.to_thread(self._read, taken)
                self._characters -= sum(one.size for one in taken)
                for one, verdict in zip(taken, verdicts, strict=True):
                    self._write(one, verdict)
                if self._patience.over:
                    self._queue.clear()
                    self._characters = 0
                self._moved.ring()
        except Exception as error:  # noqa: BLE001 - raised by the engine once replies are safe
            if not self._closed:
                self._run_halt.fail(error)
        finally:
            self._task = None
            self._moved.ring()

    def _read(self, some: Sequence[_Unread]) -> list[Verdict]:
        verdicts = self._reader.read_all([(one.completion, one.order) for one in some])
        for verdict in verdicts:
            self._patience.count(verdict)
        return verdicts

    def _write(self, one: _Unread, verdict: Verdict) -> None:
        self._record(Read(call_id=one.call_id, verdict=verdict))
        self._stop_if_over()

    def _stop_if_over(self) -> None:
        if self._patience.over:
            self.halt.stop(Reason.UNREADABLE, self._patience.words)


class Readings:
    """The readings of all judges of a run."""

    def __init__(self, judges: Mapping[str, JudgeSpec], ledger: Ledger, run_halt: Halt) -> None:
        self._ledger = ledger
        self.of = {
            name: Reading(reader, _patience(ledger, reader), ledger.record, run_halt)
            for name, reader in ((name, Reader(spec)) for name, spec in judges.items())
        }
        self._judges = judges

    def durable(self, records: Sequence[Record]) -> None:
        """Read the completions among records that are on the disk."""
        for record in records:
            if isinstance(record, Completed) and not record.superseded:
                call = record.reservation.call
                unread = _Unread(
                    call_id=call.call_id, order=call.order, completion=record.completion
                )
                self.of[call.judge].take(unread)

    async def catch_up(self) -> None:
        """Read what earlier sessions left unread, before anything is asked."""
        for name, spec in self._judges.items():
            reading, left = self.of[name], self._ledger.unjudged(name, parser_name(spec))
            while not reading.halt.stopped and (some := list(islice(left, _MOST))):
                for call_id, order, completion in some:
                    reading.take(_Unread(call_id=call_id, order=order, completion=completion))
                await reading.drain()
                await self._ledger.flush()

    async def drain(self) -> None:
        """Wait until everything durable is read, or nobody waits for it any more."""
        for reading in self.of.values():
            await reading.drain()

    async def close(self) -> None:
        """End every parser's process."""
        for reading in self.of.values():
            await reading.close()


def _patience(ledger: Ledger, reader: Reader) -> Patience:
    """Count earlier sessions where a parser can run out of time; ours cannot."""
    if not reader.foreign:
        return Patience(reader.judge)
    return Patience.starting_from(ledger, reader.judge)
