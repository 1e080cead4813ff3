"""One thread that owns the writing connection, and commits whatever has queued up in one go.

While one group is on its way to the disk the next one gathers, so that the number of commits
follows the speed of the disk and not the number of calls.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from judgelaw.errors import JudgelawError
from judgelaw.ledger.records import Record

Work = Callable[[Any], Any]
"""Something to do with the database's connection inside a transaction."""
Commit = Callable[[Sequence[Record], Sequence[Work]], list[Any]]
"""Writes records, does work and makes both durable in one go; returns what the work gave."""
Explain = Callable[[Exception], JudgelawError]
Settle = Callable[[Any, BaseException | None], None]

_GATHER_S = 0.02
"""How long a group gathers unless somebody waits for it: far less than a reply takes to come."""


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


class GroupWriter:
    """Writes records behind the caller, and runs jobs in the same transactions."""

    def __init__(self, commit: Commit, explain: Explain) -> None:
        self._commit_group = commit
        self._explain = explain
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._hurry = threading.Event()
        self._failure: JudgelawError | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._listener: Callable[[Sequence[Record]], object] | None = None
        self._start()

    def listen(self, listener: Callable[[Sequence[Record]], object]) -> None:
        """Tell `listener`, in the running event loop, of records that are on the disk."""
        self._loop = asyncio.get_running_loop()
        self._listener = listener

    def put(self, record: Record) -> None:
        """Queue a record for the next group."""
        self.refuse_if_broken()
        self._put(record, urgent=False)

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
        self._loop = self._listener = None
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
            self._write(group)

    def _gather(self) -> _Group:
        group = _Group()
        group.add(self._queue.get())
        self._hurry.wait(_GATHER_S)
        # Cleared before the queue is emptied: what arrives in between joins this group or the next.
        self._hurry.clear()
        while not self._queue.empty():
            group.add(self._queue.get())
        return group

    def _write(self, group: _Group) -> None:
        """Make a group durable, and tell everyone who waits how that ended."""
        try:
            results = self._commit(group)
        except Exception as error:  # noqa: BLE001 - handed on to everyone who waits
            self._break(group, error)
        else:
            self._tell(group, results)

    def _commit(self, group: _Group) -> list[Any]:
        self.refuse_if_broken()
        if not group.records and not group.jobs:
            return []
        return self._commit_group(group.records, [job.work for job in group.jobs])

    def _tell(self, group: _Group, results: Iterable[Any]) -> None:
        news: list[partial[Any]] = []
        if group.records and self._listener is not None:
            news.append(partial(self._listener, group.records))
        for job, result in zip(group.jobs, results, strict=True):
            news.append(partial(job.settle, result, None))
        self._announce(news)

    def _break(self, group: _Group, error: Exception) -> None:
        """Remember the first failure: nothing is accepted after a group that was not written."""
        failure = self._ours(error)
        self._failure = self._failure or failure
        news: list[partial[Any]] = [partial(job.settle, None, failure) for job in group.jobs]
        self._announce(news)

    def _ours(self, error: Exception) -> JudgelawError:
        if isinstance(error, JudgelawError):
            return error
        ours = self._explain(error)
        ours.__cause__ = error
        return ours

    def _announce(self, news: list[partial[Any]]) -> None:
        """Tell everyone who waits, waking the event loop once."""
        if self._loop is None:
            _call_all(news)
            return
        try:
            self._loop.call_soon_threadsafe(_call_all, news)
        except RuntimeError:  # the loop has ended, and nobody waits in it any more
            self._loop = self._listener = None
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
