"""The port that acquisition writes through, the same for every database, and the thread behind it.

The thread owns the writing connection, and commits whatever has queued up in one go. While one
group is on its way to the disk the next one gathers, so that the number of commits follows the
speed of the disk and not the number of calls.
"""

import asyncio
import queue
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, repeat
from typing import Any, ClassVar, NamedTuple

from judgelaw.errors import JudgelawError
from judgelaw.ledger.records import (
    BatchState,
    Booking,
    Held,
    OpenBatch,
    Read,
    Record,
    Reservation,
    replies_in,
)
from judgelaw.ledger.view import LedgerView, reservation
from judgelaw.study import PlannedCall
from judgelaw.wire import JudgeSpec, Reply, Verdict

Work = Callable[[Any], Any]
"""Something to do with the database's connection inside a transaction."""
Commit = Callable[[Sequence[Record], Sequence[Work]], "Written"]
"""Writes records, does work and makes both durable in one go."""
Explain = Callable[[Exception], JudgelawError]
Settle = Callable[[Any, BaseException | None], None]
Listener = Callable[[Sequence[Record]], object]
HoldListener = Callable[[Held | None], object]
Passes = Callable[[Exception], str | None]
"""Says in words what keeps a group from being written, if that can pass; None for all else."""

_GATHER_S = 0.02
"""How long a group gathers unless somebody waits for it: far less than a reply takes to come."""
PATIENCE_S = 300.0
"""How long replies are held in memory for a disk or a database that takes nothing."""
_LONGEST_TRY_S = 60.0
_AT_ONCE_S = 1.0
"""A database that has not answered for so long is not waited for where somebody gives up."""
_PAUSES_S = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


class Written(NamedTuple):
    """What became durable in one go: records as they stand in the ledger, and what works gave."""

    records: Sequence[Record]
    results: Sequence[Any]

    def followed(self, by: "Written") -> "Written":
        """Return this and what became durable after it."""
        if not self.records and not self.results:
            return by
        return Written([*self.records, *by.records], [*self.results, *by.results])


@dataclass(slots=True)
class _Job:
    """Something to do inside the next transaction, and how to tell who asked for it."""

    work: Work
    settle: Settle


@dataclass(slots=True)
class _Group:
    """What one transaction writes: records first, since the jobs may build on them."""

    records: list[Record] = field(default_factory=list)
    jobs: list[_Job] = field(default_factory=list)
    last: bool = False

    def add(self, entry: Any) -> None:
        if entry is None:
            self.last = True
        elif isinstance(entry, _Job):
            self.jobs.append(entry)
        else:
            self.records.append(entry)


def _never(error: Exception) -> str | None:
    """Hold nothing."""
    del error
    return None


class GroupWriter:
    """Writes records behind the caller, and runs jobs in the same transactions.

    A group that cannot be written, for a reason that can pass, is held: it is tried again and
    again, together with what comes meanwhile, until it is written, `give_up` is called, or
    `patience_s` is over. Then the writer is broken, and `unwritten` is what it still has.

    Args:
        commit, explain: of the database.
        passes: whether the reason can pass.
        at_stake: whether replies may still come that would be lost with the writer: where nothing
            is, a full disk is told at once.
        patience_s: how long to hold a group.
        abort: ends what the database is asked at this moment; called where nobody waits any more.
    """

    def __init__(
        self,
        commit: Commit,
        explain: Explain,
        *,
        passes: Passes = _never,
        at_stake: Callable[[], bool] = bool,
        patience_s: float = PATIENCE_S,
        abort: Callable[[], None] = lambda: None,
    ) -> None:
        self._commit_group = commit
        self._abort = abort
        self._busy_since: float | None = None
        self._explain = explain
        self._passes = passes
        self._at_stake = at_stake
        self._patience_s = patience_s
        self._waited_s: float | None = None
        self._tried_at = 0.0
        self._given_up = threading.Event()
        self.unwritten: list[Record] = []
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._hurry = threading.Event()
        self._failure: JudgelawError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listener: Listener | None = None
        self._hold_listener: HoldListener | None = None
        self._start()

    def listen(self, listener: Listener, held: HoldListener | None = None) -> None:
        """Tell `listener`, in the running event loop, of records that are on the disk.

        And `held` of what has to wait, whenever that changes; of None once it is written.
        """
        self._loop = asyncio.get_running_loop()
        self._listener, self._hold_listener = listener, held

    def put(self, record: Record) -> None:
        """Queue a record for the next group; one that cannot be written is among `unwritten`."""
        self._put(record, urgent=False)

    def give_up(self) -> None:
        """Hold nothing any longer: what cannot be written at once is left to the caller."""
        self._given_up.set()
        if self.busy_s > _AT_ONCE_S:
            self._abort()

    @property
    def busy_s(self) -> float:
        """For how long the database has not answered to what is being written."""
        since = self._busy_since
        return 0.0 if since is None else self._now() - since

    async def do(self, work: Work, *, urgent: bool = False) -> Any:
        """Run `work` inside the next transaction; return when that is committed."""
        self.refuse_if_broken()
        self._loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = self._loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.done():  # the waiting task was cancelled; what it asked for is durable
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self._put(_Job(work, settle), urgent=urgent)
        return await future

    def do_now(self, work: Work) -> Any:
        """Run `work` inside the next transaction and block until that is committed."""
        self.refuse_if_broken()
        # No event loop is running in a thread that blocks; one that ended is let go.
        self._loop = self._listener = self._hold_listener = None
        outcome = _Blocking()
        self._put(_Job(work, outcome), urgent=True)
        return outcome.wait()

    def stop(self) -> None:
        """Write what is queued and end the thread."""
        self._put(None, urgent=True)
        self._thread.join()

    def refuse_if_broken(self) -> None:
        """Raise what kept an earlier group from being written."""
        if self._failure is not None:
            raise self._failure

    def _start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="judgelaw-ledger", daemon=True)
        self._thread.start()

    def _put(self, entry: Record | _Job | None, *, urgent: bool) -> None:
        self._queue.put(entry)
        if urgent:
            self._hurry.set()

    def _work(self) -> None:
        group = _Group()
        while not group.last:
            group = self._gather()
            pauses = chain(_PAUSES_S, repeat(_PAUSES_S[-1]))
            while not self._write(group):
                self._given_up.wait(next(pauses))
                self._drain(group)

    def _gather(self) -> _Group:
        group = _Group()
        group.add(self._queue.get())
        self._hurry.wait(_GATHER_S)
        # Cleared before the queue is emptied: what arrives in between joins this group or the next.
        self._hurry.clear()
        self._drain(group)
        return group

    def _drain(self, group: _Group) -> None:
        while not self._queue.empty():
            group.add(self._queue.get())

    def _write(self, group: _Group) -> bool:
        """Make a group durable, and tell everyone who waits how that ended; False if it is held."""
        written = Written([], [])
        try:
            self.refuse_if_broken()
            if group.records or group.jobs:
                self._busy_since = self._now()
                written = self._commit_group(group.records, [job.work for job in group.jobs])
        except Exception as error:  # noqa: BLE001 - handed on to everyone who waits
            if (held := self._held(group, error)) is not None:
                self._say(held)
                return False
            self._hold_no_longer()
            self._break(group, error)
        else:
            self._hold_no_longer()
            self._tell(group, written)
        finally:
            self._busy_since = None
        return True

    def _hold_no_longer(self) -> None:
        """Say so before anybody hears that what was held is written, or never will be."""
        if self._waited_s is not None:
            self._waited_s = None
            self._say(None)

    def _held(self, group: _Group, error: Exception) -> Held | None:
        """Return what is to be held of a group that was not written; None to hold it no longer."""
        words = None if self._failure else self._passes(error)
        replies = len(replies_in(group.records))
        if words is None or not (replies or self._at_stake()):
            return None
        since, self._tried_at = self._tried_at, self._now()
        # A process that was stopped for an hour has not waited for an hour.
        waited = None if self._waited_s is None else min(self._tried_at - since, _LONGEST_TRY_S)
        self._waited_s = 0.0 if waited is None else (self._waited_s or 0.0) + waited
        if group.last or self._given_up.is_set() or self._waited_s >= self._patience_s:
            return None
        return Held(replies=replies, words=words)

    def _now(self) -> float:
        return time.monotonic()

    def _say(self, held: Held | None) -> None:
        if self._hold_listener is not None:
            self._announce([partial(self._hold_listener, held)])

    def _tell(self, group: _Group, written: Written) -> None:
        listener = self._listener if written.records else None
        heard = [] if listener is None else [partial(listener, written.records)]
        done = zip(group.jobs, written.results, strict=True)
        self._announce([*heard, *(partial(job.settle, result, None) for job, result in done)])

    def _break(self, group: _Group, error: Exception) -> None:
        """Remember the first failure: nothing is accepted after a group that was not written."""
        failure = error if isinstance(error, JudgelawError) else self._explain(error)
        if failure is not error:
            failure.__cause__ = error
        self._failure = self._failure or failure
        self.unwritten += group.records
        self._announce([partial(job.settle, None, failure) for job in group.jobs])

    def _announce(self, news: list[partial[Any]]) -> None:
        """Tell everyone who waits, waking the event loop once."""
        if self._loop is None:
            _call_all(news)
            return
        try:
            self._loop.call_soon_threadsafe(_call_all, news)
        except RuntimeError:  # the loop has ended, and nobody waits in it any more
            self._loop = self._listener = self._hold_listener = None
            _call_all([each for each in news if isinstance(each.func, _Blocking)])


class _Blocking:
    """Settles a job whose caller blocks a thread, from whichever thread it is told in."""

    def __init__(self) -> None:
        self._outcome: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

    def __call__(self, result: Any, error: BaseException | None) -> None:
        self._outcome.put((result, error))

    def wait(self) -> Any:
        result, error = self._outcome.get()
        if error is not None:
            raise error
        return result


def _call_all(news: Iterable[Callable[[], object]]) -> None:
    for tell in news:
        tell()


class Ledger(LedgerView):
    """The durable record of a run, held by one session.

    A reservation is durable when `reserve` or `again` returns it, thus before the wire is touched.
    A record is written behind: `record` returns at once, the listener hears of it when it is
    durable, and `flush` waits until everything recorded is.
    """

    _sql: ClassVar[Mapping[str, str]]
    _writer: GroupWriter
    _clock: Callable[[], float]
    _at_stake: set[int]
    """Attempts that were sent, and whose end, or whose reply, is not durable yet."""

    @abstractmethod
    def load(
        self, judges: Mapping[str, JudgeSpec], calls: Iterable[PlannedCall], *, manifest: str
    ) -> None:
        """Take in the calls of the manifest with hash `manifest`; what is there stays."""

    def listen(self, listener: Listener, held: HoldListener | None = None) -> None:
        """Call `listener` in the event loop with each group of records that became durable.

        Call `held` with what the ledger cannot write for now, and with None once it is written:
        meanwhile nothing should be sent.
        """
        self._writer.listen(listener, held)

    def give_up(self) -> None:
        """Hold nothing in memory any longer: what cannot be written goes to another place."""
        self._writer.give_up()

    @property
    def busy_s(self) -> float:
        """For how long the database has not answered."""
        return self._writer.busy_s

    async def unread_replies(self, judge: str) -> Sequence[tuple[Reservation, float, float, Reply]]:
        """Return the replies of open calls of a judge that came and that no reader has taken.

        Each with its attempt, when it was sent and when its reply came.
        """
        found: Sequence[tuple[Reservation, float, float, Reply]] = await self._writer.do(
            partial(self._unread_replies, judge), urgent=True
        )
        return found

    async def reserve(self, judge: str, *, after: int, limit: int) -> Sequence[Reservation]:
        """Reserve attempts for the next open calls of a judge behind schedule position `after`."""
        work = partial(self._reserve, judge, after, limit)
        reserved: Sequence[Reservation] = await self._writer.do(work, urgent=True)
        return reserved

    async def again(self, reservation: Reservation) -> Reservation | None:
        """Reserve the next attempt of a call whose attempt failed; None if it is answered."""
        attempt: int | None = await self._writer.do(partial(self._again, reservation.attempt))
        if attempt is None:
            return None
        return Reservation(attempt=attempt, number=reservation.number + 1, call=reservation.call)

    @abstractmethod
    async def book(self, reservation: Reservation, *, tokens: float, usd: float) -> Booking:
        """Ask the limits that other sessions share, if any, for one request."""

    @abstractmethod
    async def sending(self, reservation: Reservation) -> bool:
        """Mark that the wire is about to be touched, so that a kill leaves an orphan.

        False where the call has been answered meanwhile, so that it must not be sent.

        Raises:
            LeaseLostError: others have the call.
        """

    def may_send(self) -> bool:
        """Whether nobody can have taken what was marked, asked right before the wire is touched."""
        return True

    def record(self, record: Record) -> None:
        """Write behind how an attempt ended, or what a reply was read as."""
        self._writer.put(record)

    async def flush(self) -> None:
        """Wait until everything recorded is durable; raise what kept it from being so."""
        await self._writer.do(lambda _: None, urgent=True)

    async def prepare_batch(self, judge: str, uid: str, reservations: Sequence[Reservation]) -> int:
        """Put reserved attempts into a batch; durable when it returns, before anything is sent."""
        work = partial(self._prepare_batch, judge, uid, [r.attempt for r in reservations])
        batch: int = await self._writer.do(work, urgent=True)
        return batch

    async def note_batch(
        self,
        batch: int,
        state: BatchState,
        *,
        provider_id: str | None = None,
        detail: str | None = None,
    ) -> None:
        """Write down durably how far a batch is.

        One that is orphaned orphans its open attempts; one that is withdrawn was never sent.
        """
        work = partial(self._note_batch, batch, state, provider_id, detail, self._clock())
        await (self._before_sending(work) if state == "submitting" else self._do(work))

    async def open_batches(self, judge: str) -> Sequence[OpenBatch]:
        """Return the batches of a judge that providers have, and that nobody else collects."""
        found: Sequence[OpenBatch] = await self._writer.do(
            partial(self._open_batches, judge), urgent=True
        )
        return found

    @abstractmethod
    def add_verdicts(self, verdicts: Iterable[tuple[str, Verdict]]) -> None:
        """Add `(call_id, verdict)` under further parser versions; those that are there stay."""

    async def _do(self, work: Work) -> None:
        await self._writer.do(work, urgent=True)

    async def _before_sending(self, work: Work) -> None:
        """Make durable what must be so before the wire is touched."""
        await self._do(work)

    def _written(self, records: Iterable[Record]) -> None:
        """Count what became durable as no longer at stake."""
        self._at_stake.difference_update(
            r.reservation.attempt for r in records if not isinstance(r, Read)
        )

    @abstractmethod
    def _unread_replies(
        self, judge: str, connection: Any
    ) -> Sequence[tuple[Reservation, float, float, Reply]]: ...

    @abstractmethod
    def _reserve(
        self, judge: str, after: int, limit: int, connection: Any
    ) -> Sequence[Reservation]: ...

    @abstractmethod
    def _again(self, attempt: int, connection: Any) -> int | None:
        """Start the next attempt of a call; return its row, None where the call is answered."""

    @abstractmethod
    def _prepare_batch(
        self, judge: str, uid: str, attempts: Sequence[int], connection: Any
    ) -> int: ...

    def _note_batch(  # noqa: PLR0917 - the connection comes last, as for all work of the writer
        self,
        batch: int,
        state: BatchState,
        provider_id: str | None,
        detail: str | None,
        now: float,
        connection: Any,
    ) -> None:
        """Set the state of a batch; its open attempts end with it where it was lost or not sent."""
        consequence = {"orphaned": "orphan_batch", "withdrawn": "unsend_batch"}.get(state)
        if consequence is not None:
            connection.execute(self._sql[consequence], (batch, now))
        connection.execute(self._sql["note_batch"], (batch, state, provider_id, now, detail))

    @abstractmethod
    def _open_batch_rows(self, judge: str, connection: Any) -> Sequence[Any]:
        """Return row, name, provider's name, time and note of the batches to collect."""

    def _open_batches(self, judge: str, connection: Any) -> list[OpenBatch]:
        attempts = self._sql["batch_attempts"]
        rows = self._open_batch_rows(judge, connection)
        return [
            OpenBatch(
                batch=batch,
                uid=uid,
                provider_id=provider_id,
                submitted_at=submitted_at,
                detail=detail,
                reservations=tuple(
                    map(reservation, connection.execute(attempts, (batch,)).fetchall())
                ),
            )
            for batch, uid, provider_id, submitted_at, detail in rows
        ]
