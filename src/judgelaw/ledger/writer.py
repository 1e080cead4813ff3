"""One thread that owns the writing connection, and commits whatever has queued up in one go.

While one group is on its way to the disk the next one gathers, so that the number of commits
follows the speed of the disk and not the number of calls.
"""

import asyncio
import queue
import sqlite3
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from judgelaw.errors import IntegrityError, JudgelawError, RunError
from judgelaw.ledger.values import Ending

Work = Callable[[sqlite3.Connection], Any]
WriteEndings = Callable[[sqlite3.Connection, Sequence[Ending]], None]


@dataclass(slots=True)
class _Job:
    """Something to do inside the next transaction, and who waits for it."""

    work: Work
    done: Callable[[Any, BaseException | None], object]


@dataclass(slots=True)
class _Group:
    """What one transaction writes: endings first, since the jobs may build on them."""

    endings: list[Ending] = field(default_factory=list)
    jobs: list[_Job] = field(default_factory=list)
    last: bool = False

    def add(self, entry: Any) -> None:
        if entry is None:
            self.last = True
        elif isinstance(entry, _Job):
            self.jobs.append(entry)
        else:
            self.endings.append(entry)


class GroupWriter:
    """Writes endings behind the caller, and runs jobs in the same transactions."""

    def __init__(self, connection: sqlite3.Connection, write_endings: WriteEndings) -> None:
        self._connection = connection
        self._write_endings = write_endings
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._failure: JudgelawError | None = None
        self._on_durable: Callable[[Sequence[Ending]], object] | None = None
        self._thread = threading.Thread(target=self._work, name="judgelaw-ledger", daemon=True)
        self._thread.start()

    def on_durable(self, callback: Callable[[Sequence[Ending]], object] | None) -> None:
        """Call back, from the writing thread, with every group of endings that is on the disk."""
        self._on_durable = callback

    def put(self, ending: Ending) -> None:
        """Queue an ending for the next group."""
        self.refuse_if_broken()
        self._queue.put(ending)

    async def do(self, work: Work) -> Any:
        """Run `work` inside the next transaction; return when that is committed."""
        self.refuse_if_broken()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def settle(result: Any, error: BaseException | None) -> None:
            if future.done():  # the waiting task was cancelled; what it asked for is durable
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self._queue.put(_Job(work, lambda *outcome: loop.call_soon_threadsafe(settle, *outcome)))
        return await future

    def do_now(self, work: Work) -> Any:
        """Run `work` inside the next transaction and block until that is committed."""
        self.refuse_if_broken()
        outcome: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        self._queue.put(_Job(work, lambda *both: outcome.put(both)))
        result, error = outcome.get()
        if error is not None:
            raise error
        return result

    def stop(self) -> None:
        """Write what is queued and end the thread."""
        self._queue.put(None)
        self._thread.join()

    def refuse_if_broken(self) -> None:
        """Raise what kept an earlier group from being written."""
        if self._failure is not None:
            raise self._failure

    def _work(self) -> None:
        group = _Group()
        while not group.last:
            group = self._gather()
            try:
                results = self._commit(group)
            except Exception as error:  # noqa: BLE001 - handed on to everyone who waits
                self._break(group, error)
            else:
                self._tell(group, results)

    def _gather(self) -> _Group:
        group = _Group()
        group.add(self._queue.get())
        while not self._queue.empty():
            group.add(self._queue.get())
        return group

    def _commit(self, group: _Group) -> list[Any]:
        self.refuse_if_broken()
        if not group.endings and not group.jobs:
            return []
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            if group.endings:
                self._write_endings(self._connection, group.endings)
            results = [job.work(self._connection) for job in group.jobs]
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return results

    def _tell(self, group: _Group, results: Iterable[Any]) -> None:
        if group.endings and self._on_durable is not None:
            self._on_durable(group.endings)
        for job, result in zip(group.jobs, results, strict=True):
            job.done(result, None)

    def _break(self, group: _Group, error: Exception) -> None:
        """Remember the first failure: nothing is accepted after a group that was not written."""
        failure = _ours(error)
        self._failure = self._failure or failure
        for job in group.jobs:
            job.done(None, failure)


def _ours(error: Exception) -> JudgelawError:
    if isinstance(error, JudgelawError):
        return error
    if isinstance(error, sqlite3.IntegrityError):
        ours: JudgelawError = IntegrityError(f"the ledger refused a write: {error}")
    elif isinstance(error, sqlite3.Error):
        ours = RunError(
            f"the ledger could not be written: {error}; nothing more was sent. Free the disk or "
            "the file, then run the same command: it resumes"
        )
    else:
        ours = JudgelawError(f"the ledger's writer failed: {error!r}")
    ours.__cause__ = error
    return ours
