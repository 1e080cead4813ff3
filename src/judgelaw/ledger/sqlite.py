"""The SQLite ledger: one file, one writing session, any number of readers."""

import json
import os
import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import asdict
from functools import cache, partial
from itertools import chain, islice
from operator import methodcaller
from pathlib import Path
from typing import Any

from judgelaw import __version__
from judgelaw.errors import IntegrityError, JudgelawError, RunError, writing
from judgelaw.ledger import second_place
from judgelaw.ledger.lock import SENT_NAME, Counts, LeftMarks, RunLock, SentMarks
from judgelaw.ledger.migrations import migrate, statements
from judgelaw.ledger.records import (
    UNLIMITED,
    Booking,
    Completed,
    Failed,
    Loss,
    Read,
    Record,
    Reservation,
    Row,
    Unsent,
    call_row,
    completion_row,
    criterion_rows,
    failure_row,
    replies_in,
    tokens_rows,
    unread_field_rows,
    unread_reply,
    unread_rows,
    verdict_row,
)
from judgelaw.ledger.sqlite_view import (
    LEDGER_NAME,
    SqliteView,
    damaged,
    disk_fault,
    lost,
    refuse_missing,
)
from judgelaw.ledger.view import reservation
from judgelaw.ledger.writer import GroupWriter, Ledger, Work, Written
from judgelaw.study import PlannedCall
from judgelaw.systems import sync_folder
from judgelaw.wire import JudgeSpec, Reply, Verdict

_SQL = statements("sqlite")
_ROW = re.compile(r"\(\?(?:, \?)*\)")
_AT_ONCE = (64, 16, 4, 1)
"""Rows that one statement writes."""


@cache
def _of_rows(name: str, count: int) -> str:
    """Return a statement that writes so many rows in place of one."""
    return _ROW.sub(lambda row: ", ".join([row[0]] * count), _SQL[name])


def write_rows(connection: sqlite3.Connection, name: str, rows: Iterable[Row]) -> None:
    """Write rows with a statement for many of them.

    Python gives way to the event loop at every statement, and taking turns costs more than a row.
    """
    left = iter(rows)
    for count in _AT_ONCE:
        while True:
            some = list(islice(left, count))
            if len(some) < count:
                left = chain(some, left)
                break
            connection.execute(_of_rows(name, count), [value for row in some for value in row])


def write_records(connection: sqlite3.Connection, records: Sequence[Record]) -> None:
    """Write a group of records inside the caller's transaction."""
    completed = [r for r in records if isinstance(r, Completed)]
    read = [r for r in records if isinstance(r, Read)]
    write_rows(connection, "complete", map(completion_row, completed))
    if rows := tokens_rows(completed):
        connection.executemany(_SQL["add_logprobs"], rows)
    if rows := unread_field_rows(completed):
        connection.executemany(_SQL["add_unread_field"], rows)
    if rows := unread_rows(records):
        connection.executemany(_SQL["add_unread_reply"], rows)
    _write_read(connection, read)
    if len(completed) + len(read) == len(records):
        return
    failed = [r for r in records if isinstance(r, Failed)]
    unsent = [r for r in records if isinstance(r, Unsent)]
    connection.executemany(_SQL["fail"], map(failure_row, failed))
    connection.executemany(_SQL["unsend"], [(r.ended_at, r.reservation.attempt) for r in unsent])


def _write_read(connection: sqlite3.Connection, read: Sequence[Read]) -> None:
    """Write verdicts and those on their criteria, together or not at all."""
    write_rows(connection, "add_verdict", map(verdict_row, read))
    by_criterion = [row for each in read for row in criterion_rows(each)]
    if by_criterion:
        connection.executemany(_SQL["add_criterion_verdict"], by_criterion)


_CHUNK = 2_000
_CHECKPOINT_S = 0.5
"""How often the log is copied into the database, so that one that is lost holds little."""
# At full speed the time decides; SQLite's own limit is for a log that readers held up.
_CHECKPOINT_PAGES = 8_000
_PASSING = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "the disk is read-only",
    sqlite3.SQLITE_BUSY: "another process has the ledger open for writing",
    sqlite3.SQLITE_LOCKED: "another process has the ledger open for writing",
}
"""Faults that pass. What was written through a failed sync is in doubt for ever, and is not tried
again on the same connection."""


class SqliteLedger(SqliteView, Ledger):
    """The ledger of a run folder, held by this process until it is closed.

    Args:
        run: the run folder.
        lock: the caller's hold on it; without one the ledger takes its own.
        clock: Unix time.
        accept_loss: begin although replies or attempts are missing, and write that down.
        writer: makes what owns the writing: a thread, or what a simulation puts in its place.

    Raises:
        RunLockedError: another process holds the run; the message says which.
        IntegrityError: something is missing that was durable, or sent.
    """

    _sql = _SQL

    def __init__(
        self,
        run: Path,
        *,
        lock: RunLock | None = None,
        clock: Callable[[], float] = time.time,
        accept_loss: bool = False,
        writer: Callable[..., GroupWriter] = GroupWriter,
    ) -> None:
        super().__init__(run / LEDGER_NAME)
        self._at_stake = set()
        self._stored_unread: set[int] = set()
        self._clock = clock
        self._held = ExitStack()
        if lock is None:  # else the caller holds the run, and has more to write after us
            self._held.enter_context(RunLock(run))
        self._last: int
        try:
            with _ours(self.path):
                _roll_back(self.path)
                # Before the log is opened for writing, which would throw away what cannot be read.
                loss = _accepted_loss(self.path, accept=accept_loss)
                self._connection = _connect(self.path)
                self._held.callback(self._connection.close)
                self._file = self.path.stat()
                self._session = self._begin(loss)
                counts = Counts(*self._connection.execute(_SQL["counts"]).fetchone())
                self._log = _beside(self.path, "wal").stat()
            self._marks = SentMarks(run / SENT_NAME, counts)
        except BaseException:
            self._held.close()
            raise
        self._last, self._completed = counts
        self._checkpointed = clock()
        self._writer = writer(
            self._commit, _explain, passes=_passes, at_stake=lambda: bool(self._at_stake)
        )

    def load(
        self, judges: Mapping[str, JudgeSpec], calls: Iterable[PlannedCall], *, manifest: str
    ) -> None:
        """Take in the calls of the manifest with hash `manifest`; what is there stays."""
        known = self._writer.do_now(lambda c: c.execute(_SQL["manifest"]).fetchone())
        if known == (manifest,):
            return
        names = [
            (n, spec.model or None, bytes.fromhex(spec.fingerprint)) for n, spec in judges.items()
        ]
        self._write_many("add_judge", names)
        self._write_many("add_call", map(call_row, calls))
        # Last, so that a load that was cut short is taken up again.
        self._writer.do_now(lambda c: c.execute(_SQL["set_manifest"], (manifest,)))

    async def book(self, reservation: Reservation, *, tokens: float, usd: float) -> Booking:
        """Allow every request: no other session works on this run."""
        del reservation, tokens, usd
        return UNLIMITED

    async def sending(self, reservation: Reservation) -> bool:
        """Mark that the wire is about to be touched, so that a kill leaves an orphan.

        Raises:
            IntegrityError: the file has lost its name; the replies under way are still written.
        """
        self._refuse_unnamed()
        self._at_stake.add(reservation.attempt)
        self._marks.mark(reservation.attempt)
        return True

    async def _before_sending(self, work: Work) -> None:
        self._refuse_unnamed()
        await super()._before_sending(work)

    def add_verdicts(self, verdicts: Iterable[tuple[str, Verdict]]) -> None:
        """Add `(call_id, verdict)` under further parser versions; those that are there stay."""
        read = (Read(call_id=call, verdict=v) for call, v in verdicts)
        while chunk := list(islice(read, _CHUNK)):
            self._writer.do_now(partial(_write_read, read=chunk))

    def close(self) -> None:
        """Write everything out, end the session, let the run go.

        What was sent and has not ended is an orphan, as after a kill. The closed ledger is one
        file in rollback mode, so that readers, copies and hashes find nothing beside it.
        """
        super().close()
        self._writer.stop()
        if not self._is_there():
            self._rescue()
        try:
            # Where the writer broke, the marks stay for the next session to read.
            self._refuse_if_broken()
            with _ours(self.path):
                self._end()
            self._marks.close()
        finally:
            self._held.close()

    def _commit(self, records: Sequence[Record], works: Sequence[Work]) -> Written:
        with _transaction(self._connection):
            if records:
                write_records(self._connection, records)
                self._drop_read(records)
            results = [work(self._connection) for work in works]
        self._completed += sum(isinstance(record, Completed) for record in records)
        self._marks.durable(Counts(self._last, self._completed))
        self._written(records)
        self._stored_unread.update(row[0] for row in unread_rows(records))  # type: ignore[misc]
        self._checkpoint()
        return Written(records, results)

    def _refuse_unnamed(self) -> None:
        if not self._is_there():
            raise IntegrityError(f"{self.path} was removed or replaced: nothing more is asked")

    def _is_there(self) -> bool:
        """Whether the name still leads to the file that this session writes."""
        try:
            return os.path.samestat(self.path.stat(), self._file)
        except FileNotFoundError:
            return False

    def _rescue(self) -> None:
        """Write out what a file that has lost its name holds, and let the run go.

        The system keeps such a file for as long as it is open. Its rows get their name back where
        that is free; else they go beside it, since nobody here can know which file is the right
        one. The marks stay: a session that finds less refuses to begin.

        Raises:
            IntegrityError: always, with where the rows are.
        """
        run = self.path.parent
        there = run.is_dir()
        with self._held:
            saved = _unused((self.path if there else run).with_name(f"{run.name}.rescued.sqlite"))
            with _ours(saved):
                _copy(self._connection, saved)
            self._connection.close()
            self._drop_log()
            where = f"is {saved}: put it in the place of {self.path}, then the same command goes on"
            if there and not self.path.exists():
                saved.rename(self.path)
                where = "has its name back: the same command goes on"
        raise IntegrityError(
            f"{self.path} was removed or replaced while this session wrote it; what it held, "
            f"{self._completed} replies, {where}. Find out what touches the folder first"
        )

    def _drop_read(self, records: Sequence[Record]) -> None:
        """Drop raw replies whose attempts end; most never had to be stored apart."""
        if self._stored_unread:
            ended = [r.reservation.attempt for r in records if isinstance(r, Completed | Failed)]
            over = [(attempt,) for attempt in ended if attempt in self._stored_unread]
            self._connection.executemany(_SQL["drop_unread_reply"], over)

    def _refuse_if_broken(self) -> None:
        """Put replies that could not be written into a second place, and say where they are.

        Raises:
            JudgelawError: what kept them from being written.
        """
        try:
            self._writer.refuse_if_broken()
        except JudgelawError as error:
            replies = replies_in(self._writer.unwritten)
            if not replies:
                raise
            path = second_place.keep(self._key, replies, beside=self.path.parent)
            raise type(error)(f"{error}. {second_place.kept_words(replies, path)}") from error

    def _checkpoint(self) -> None:
        """Copy the log into the database now and then."""
        now = self._clock()
        if abs(now - self._checkpointed) < _CHECKPOINT_S:
            return
        self._checkpointed = now
        # What could not be copied stays in the log, where it is as durable; a disk that is full
        # or broken says so to the next commit.
        with suppress(sqlite3.OperationalError):
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")

    def _drop_log(self) -> None:
        """Take our own log away from a name that is another file's: read with it, it is damage."""
        log = _beside(self.path, "wal")
        with suppress(FileNotFoundError):
            if os.path.samestat(log.stat(), self._log):
                log.unlink()
                _beside(self.path, "shm").unlink()

    def _write_many(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        """Write rows in transactions that are long enough to be fast and short enough to hold."""
        rows = iter(rows)
        while chunk := list(islice(rows, _CHUNK)):
            self._writer.do_now(methodcaller("executemany", _SQL[statement], chunk))

    def _begin(self, loss: Loss | None) -> int:
        migrate(self._connection, self.path)
        self._drop_draft()
        left = LeftMarks(self.path.with_name(SENT_NAME))
        now = self._clock()
        found: list[second_place.KeptReplies] = []
        with _transaction(self._connection):
            for session in self._connection.execute(_SQL["open_sessions"]).fetchall():
                found += second_place.kept(_session_key(session), beside=self.path.parent)
            for file in found:
                self._connection.executemany(_SQL["take_back_reply"], file.rows)
            self._settle_open(left.never_sent, now)
            if loss is not None:
                self._connection.execute(_SQL["add_loss"], (json.dumps(asdict(loss)),))
            who = (os.getpid(), socket.gethostname(), __version__, now)
            session = self._connection.execute(_SQL["begin_session"], who).lastrowid or 0
        self._key = _session_key((session, who[0], who[1], now))
        for file in found:
            if not file.damaged:
                file.path.unlink(missing_ok=True)
        return session

    def _end(self) -> None:
        with _transaction(self._connection):
            self._settle_open(self._marks.never_sent, self._clock())
            self._connection.execute(_SQL["end_session"], (self._clock(), self._session))
        try:
            self._connection.execute("PRAGMA journal_mode = DELETE")
        except sqlite3.OperationalError:
            self._leave_readers()

    def _leave_readers(self) -> None:
        """Put a copy in the place of a file that somebody reads, and leave the file to them.

        Whoever reads cannot take the log away at the end, and it would stay behind with what only
        it holds. The copy has the same pages: read with that log, in between, it is the same.
        """
        self._drop_draft()
        try:
            with writing(self.path):
                _copy(self._connection, self._draft)
                self._draft.replace(self.path)
                sync_folder(self.path.parent)
        except BaseException:
            self._drop_draft()
            raise
        self._drop_log()

    @property
    def _draft(self) -> Path:
        return self.path.with_name(f".{self.path.name}.draft")

    def _drop_draft(self) -> None:
        """Clear a copy that was not finished, of a killed session too."""
        for path in (self._draft, _beside(self._draft, "journal")):
            path.unlink(missing_ok=True)

    def _settle_open(self, never_sent: Callable[[int], bool], now: float) -> None:
        for attempt, batch in self._connection.execute(_SQL["open_attempts"]).fetchall():
            # A batch that was only prepared has not left, whatever the marks can still tell.
            name = "unsend" if batch == "prepared" or never_sent(attempt) else "orphan"
            self._connection.execute(_SQL[name], (now, attempt))
        # What a session left before it was sent ends with it.
        for (prepared,) in self._connection.execute(_SQL["prepared_batches"]).fetchall():
            self._note_batch(prepared, "withdrawn", None, None, now, self._connection)

    def _unread_replies(
        self, judge: str, connection: sqlite3.Connection
    ) -> list[tuple[Reservation, float, float, Reply]]:
        rows = connection.execute(_SQL["unread_replies"], (judge,)).fetchall()
        self._stored_unread.update(row[5] for row in rows)
        return [(reservation(row[5:]), *unread_reply(row[:5])) for row in rows]

    def _reserve(
        self, judge: str, after: int, limit: int, connection: sqlite3.Connection
    ) -> list[Reservation]:
        rows = connection.execute(_SQL["next_open_calls"], (judge, after, limit)).fetchall()
        now, first = self._clock(), self._last + 1
        started = [(first + i, row[0], row[1], self._session, now) for i, row in enumerate(rows)]
        write_rows(connection, "start", started)
        self._last += len(rows)
        return [reservation((first + i, *row[1:])) for i, row in enumerate(rows)]

    def _again(self, attempt: int, connection: sqlite3.Connection) -> int:
        self._last += 1
        values = (self._last, self._session, self._clock(), attempt)
        if connection.execute(_SQL["start_again"], values).rowcount != 1:
            raise IntegrityError(f"attempt {attempt} is not in the ledger: it cannot be followed")
        return self._last

    def _prepare_batch(
        self, judge: str, uid: str, attempts: Sequence[int], connection: sqlite3.Connection
    ) -> int:
        made = connection.execute(_SQL["prepare_batch"], (uid, judge, self._clock()))
        batch = made.lastrowid or 0
        connection.executemany(_SQL["join_batch"], [(batch, attempt) for attempt in attempts])
        return batch

    def _open_batch_rows(self, judge: str, connection: sqlite3.Connection) -> list[Any]:
        return connection.execute(_SQL["open_batches"], (judge,)).fetchall()


def _copy(connection: sqlite3.Connection, path: Path) -> None:
    """Write the pages of a database into another file, which nothing has to lie beside."""
    with closing(sqlite3.connect(path)) as copy:
        connection.backup(copy)
        copy.execute("PRAGMA journal_mode = DELETE")


def _beside(path: Path, what: str) -> Path:
    """Return the log of a database, or the index of it."""
    return path.with_name(f"{path.name}-{what}")


def _unused(path: Path) -> Path:
    """Return the path, or one like it that nothing has."""
    number, free = 1, path
    while free.exists():
        number += 1
        free = path.with_stem(f"{path.stem}-{number}")
    return free


def _session_key(row: Sequence[Any]) -> str:
    """Name a session as no other is named, by its row."""
    return "|".join(map(repr, row))


def _roll_back(path: Path) -> None:
    """Make SQLite undo an unfinished change if there is no log, or no longer one.

    Whoever only reads cannot do that, and would take the file for damaged.
    """
    if path.with_name(f"{path.name}-journal").exists():
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()


def _accepted_loss(path: Path, *, accept: bool) -> Loss | None:
    loss = lost(path)
    if accept:
        return loss
    if loss is None or not path.with_name(SENT_NAME).exists():
        refuse_missing(path.parent)
    if loss is None:
        return None
    raise IntegrityError(
        f"{path} lacks {loss.words} (as {SENT_NAME} or the tables tell): {path.name}-wal was lost "
        f"or damaged, or {path.name} is an older copy. Restore both from a copy and run the same "
        "command; or go on without them: `judgelaw run --accept-loss` asks and pays for those "
        "calls again, and writes the loss down for verify and the report"
    )


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            # The answer must be read: SQLite keeps the old mode without an error, and in that mode
            # a power loss may take back the last commit.
            raise sqlite3.OperationalError(f"its journal stays in mode {mode}")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("PRAGMA foreign_keys = ON")
        # Rows of one statement pass through a table of their own, which needs no disk.
        connection.execute("PRAGMA temp_store = MEMORY")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


@contextmanager
def _ours(path: Path) -> Iterator[None]:
    """Turn every error of SQLite, while a ledger opens or closes, into one of ours."""
    try:
        yield
    except sqlite3.OperationalError as error:
        raise disk_fault(path, error) or RunError(
            f"{path} cannot be opened for writing: {error}; close what has it open, "
            "check the rights of the folder, then run the same command"
        ) from error
    except sqlite3.DatabaseError as error:
        raise damaged(path, error) from error


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _passes(error: Exception) -> str | None:
    """Say what keeps the ledger from being written, where that can pass."""
    if not isinstance(error, sqlite3.Error):
        return None
    code = getattr(error, "sqlite_errorcode", 0)
    return None if code == sqlite3.SQLITE_READONLY_DBMOVED else _PASSING.get(code & 0xFF)


def _explain(error: Exception) -> JudgelawError:
    if isinstance(error, sqlite3.IntegrityError):
        return IntegrityError(f"the ledger refused a write: {error}")
    if isinstance(error, sqlite3.Error):
        return RunError(
            f"the ledger could not be written: {error}; nothing more was sent. Free the disk or "
            "the file, then run the same command: it resumes"
        )
    return JudgelawError(f"the ledger's writer failed: {error!r}")
