"""One worker's hold on a PostgreSQL ledger: a lease, a fence, and commits that happen once.

Every transaction begins by moving its session's row: it renews the lease, it fails where somebody
has declared the session lost, and its count tells, after a cut connection, whether a commit whose
answer never came took place. A session that is lost reserves, marks and gives back nothing any
more; replies that it was paid for it writes all the same, unless somebody else's are there.
"""

import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import uuid4

from judgelaw import __version__
from judgelaw.errors import IntegrityError, LeaseLostError, RunError
from judgelaw.ledger import second_place
from judgelaw.ledger.lock import boot_id
from judgelaw.ledger.migrations import statements
from judgelaw.ledger.postgres_schema import Address, driver, enter, migrate, schema_of
from judgelaw.ledger.records import (
    Completed,
    Failed,
    Read,
    Record,
    Row,
    Unsent,
    completion_row,
    criterion_rows,
    failure_row,
    tokens_rows,
    unread_field_rows,
    unread_rows,
    verdict_row,
)
from judgelaw.ledger.writer import Work, Written

if TYPE_CHECKING:
    import psycopg


_SQL = statements("postgres")


def write_records(
    connection: "psycopg.Connection[Any]", records: Sequence[Record]
) -> Sequence[Record]:
    """Write a group of records inside the caller's transaction; return them as they stand there."""
    completed = [r for r in records if isinstance(r, Completed)]
    failed = [failure_row(r) for r in records if isinstance(r, Failed)]
    unsent = [(r.reservation.attempt, r.ended_at) for r in records if isinstance(r, Unsent)]
    late = _complete(connection, completed)
    write_rows(connection, "add_unread_replies", unread_rows(records))
    write_read(connection, [r for r in records if isinstance(r, Read)])
    if write_rows(connection, "fail", failed) != len(failed):
        _free_orphans(connection, [r.reservation.attempt for r in records if isinstance(r, Failed)])
    write_rows(connection, "unsend", unsent, exactly=len(unsent))
    if not late:
        return records
    return [
        replace(r, superseded=True) if isinstance(r, Completed) and r in late else r
        for r in records
    ]


def _complete(
    connection: "psycopg.Connection[Any]", completed: Sequence[Completed]
) -> Sequence[Completed]:
    """Write completions; return those of calls that somebody else's reply has answered.

    Raises:
        IntegrityError: a completion is there already, or its attempt is not.
    """
    there = _written(connection, completed)
    late = [c for c in completed if c.reservation.attempt not in there]
    attempts = [c.reservation.attempt for c in late]
    found = connection.execute(_SQL["answered_by_others"], (attempts,)).fetchall() if late else []
    if len(there) + len(found) != len(completed):
        raise IntegrityError(f"complete: {len(there)} rows of {len(completed)} are in the ledger")
    ends = ((c.reservation.attempt, c.sent_at, c.ended_at) for c in late)
    write_rows(connection, "supersede", ends)
    return late


def _written(
    connection: "psycopg.Connection[Any]", completed: Sequence[Completed]
) -> Collection[int]:
    """Write the completions that nobody has written yet; return their attempts."""
    rows = [list(column) for column in zip(*map(completion_row, completed), strict=True)]
    if not rows:
        return ()
    found = connection.execute(_SQL["complete"], rows).fetchall()
    there = {row[0] for row in found}
    ours = [c for c in completed if c.reservation.attempt in there]
    write_rows(connection, "add_logprobs", tokens_rows(ours))
    write_rows(connection, "add_unread_fields", unread_field_rows(ours))
    return there


def _free_orphans(connection: "psycopg.Connection[Any]", failed: list[int]) -> None:
    """Let go of calls whose reply turned up late, and was no answer.

    Raises:
        IntegrityError: one that failed is not in the ledger.
    """
    orphans = [row[0] for row in connection.execute(_SQL["orphans"], (failed,)).fetchall()]
    (known,) = connection.execute(_SQL["known_attempts"], (failed,)).fetchone() or (0,)
    if known != len(failed) or not orphans:
        raise IntegrityError(f"fail: {known} rows of {len(failed)} are in the ledger")
    connection.execute(_SQL["free_orphans"], (orphans,))


def write_late(connection: "psycopg.Connection[Any]", records: Sequence[Record]) -> None:
    """Write replies of a session that has ended, to calls that nobody has answered since."""
    completed = [r for r in records if isinstance(r, Completed)]
    _written(connection, completed)
    write_rows(connection, "add_unread_replies", unread_rows(records))
    write_read(connection, [r for r in records if isinstance(r, Read)])


def write_read(connection: "psycopg.Connection[Any]", read: Sequence[Read]) -> None:
    """Write verdicts and those on their criteria, together or not at all.

    Another session may have read the same reply, after a kill or on its way home.
    """
    write_rows(connection, "add_verdicts", map(verdict_row, read))
    by_criterion = (row for each in read for row in criterion_rows(each))
    write_rows(connection, "add_criterion_verdicts", by_criterion)


def write_rows(
    connection: "psycopg.Connection[Any]",
    statement: str,
    rows: Iterable[Row],
    *values: object,
    exactly: int | None = None,
) -> int:
    """Run a statement over columns of values; return how many rows it touched.

    `exactly` says how many they must be.
    """
    columns = [list(column) for column in zip(*rows, strict=True)]
    if not columns:
        return 0
    touched: int = connection.execute(_SQL[statement], (*columns, *values)).rowcount
    if exactly is not None and touched != exactly:
        raise IntegrityError(f"{statement}: {touched} rows of {exactly} are in the ledger")
    return touched


_POOLER = (
    "connect to the PostgreSQL server itself, or through a pooler that gives each transaction one "
    "connection (PgBouncer: pool_mode = transaction or session, never statement)"
)
_NOBODY = 0
_TRIES = 20
_BUSY_MS = 1_000
"""A worker on a busy machine may be this slow between two statements, however short its lease."""
_SILENCE_MS = 20_000
_LOOK_S = 0.1
_PASSING_CLASSES = ("08", "40", "53", "55", "57", "58")
"""Classes of refusals that pass: connection, rollback, resources, state, operator, system."""
_PASSING = ("25006", "25P02", "25P03", "25P04")
"""And single ones: read-only, an aborted transaction, and time-outs of transactions."""


class AwayError(RunError):
    """The server is away, or takes no connection for now."""


def refusal(error: Exception) -> str | None:
    """Say what PostgreSQL refuses where that can pass; None where it cannot."""
    if isinstance(error, AwayError):
        return str(error)
    if not isinstance(error, driver().Error):
        return None
    state = error.sqlstate
    if state is None:  # of the driver, not of the server: the connection was lost
        passes = isinstance(error, driver().OperationalError)
    else:
        passes = state[:2] in _PASSING_CLASSES or state in _PASSING
    return str(error).strip().partition("\n")[0] if passes else None


@dataclass(frozen=True, slots=True)
class Mark:
    """Say durably that an attempt is about to be sent; all marks of a group are one statement."""

    attempt: int
    at: float

    def __call__(self, connection: Any) -> None:
        """Do nothing alone: marks are written together, before the other work of their group."""


@dataclass(frozen=True, kw_only=True)
class Terms:
    """On which terms a session works.

    Attributes:
        lease_s: how long it may be silent before others take its calls.
        attempts: how often it tries a call.
        patience_s: how long it waits for a server that is away.
    """

    lease_s: float = 60.0
    attempts: int = 5
    patience_s: float = 300.0


class _Part(NamedTuple):
    """A part of a group from its beginning on, and what became of it."""

    records: int
    works: int
    written: Written


def _AGAIN() -> tuple[type[Exception], ...]:  # noqa: N802 - a constant of a driver that loads late
    """Return what is tried again at once: who gives way to others may win the next time."""
    errors = driver().errors
    return errors.SerializationFailure, errors.DeadlockDetected, errors.IntegrityError


def _key(schema: str, session: int, pid: int, host: str, started_at: str) -> str:
    return "|".join((schema, str(session), str(pid), host, started_at))


@cache
def this_machine() -> str:
    """Name this machine so that another one of the same name, or a container in it, is another.

    A number of a process says nothing about a process of theirs.
    """
    told = boot_id()
    with suppress(OSError):
        told += bytes(Path("/proc/self/ns/pid").readlink())
    return f"{socket.gethostname()} ({sha256(told).hexdigest()[:6]})"


def _is_dead(pid: int, host: str) -> bool:
    """Whether a process of this machine has ended."""
    if host != this_machine() or pid == os.getpid():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except OSError:  # it is another user's, or cannot be asked
        return False
    return False


def elapsed() -> float:
    """Return seconds that also pass while the machine is suspended, as the server's do."""
    if hasattr(time, "CLOCK_BOOTTIME"):
        return time.clock_gettime(time.CLOCK_BOOTTIME)
    return time.monotonic()


class Session:
    """The writing side of a ledger, used by one thread at a time."""

    def __init__(
        self,
        address: Address,
        run: str,
        terms: Terms,
        *,
        now: Callable[[], float] = elapsed,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        schema_of(run)  # a name that is none is refused before anything is connected
        self.address = address
        self.run = run
        self.terms = terms
        self._now = now
        self._sleep = sleep
        self._groups = 0
        self._valid_until = 0.0
        self._in_touch_since = self._last_touch = now()
        self._given_up = threading.Event()
        self._doubt: _Part | None = None
        self._done = _Part(0, 0, Written([], []))
        self._connection = self._connect()
        try:
            with address.explained("a session cannot begin"):
                migrate(self._connection, run, address)
                self.id, self.round, self._started_at = self._begin()
                self._take_back()
        except BaseException:
            self._connection.close()
            raise

    @property
    def valid(self) -> bool:
        """Whether no other session can have taken this session's calls yet."""
        return self._now() < self._valid_until

    def commit(self, records: Sequence[Record], works: Sequence[Work]) -> Written:
        """Write a group in one transaction, once, whatever happens to the connection meanwhile.

        One that could not be written is handed in again, and may have grown at its end.

        Raises:
            LeaseLostError: the session was declared lost; nothing was written.
            AwayError: the server is away.
        """
        while True:
            done = self._done
            rest = records[done.records :], works[done.works :]
            if not any(rest) and done.records + done.works:
                written = Written([], [])
            elif (found := self._try(*rest)) is None:
                self._note_heard(self._doubt)
                continue
            else:
                written = found
            self._done = _Part(0, 0, Written([], []))
            return done.written.followed(written)

    def reap(self, connection: "psycopg.Connection[Any]") -> list[int]:
        """Declare silent sessions lost and let their calls go; part of every heartbeat.

        Nobody is lost for a time in which the server, or the way to it, was away from all: whoever
        declares it has been in touch for as long as the lease, or nobody would wait so long, or it
        is a process of this machine that is dead.
        """
        in_touch_s = 0.0 if self._was_away else self._now() - self._in_touch_since
        lost = []
        rows = connection.execute(_SQL["silent_sessions"], (self.id,)).fetchall()
        for session, pid, host, lease_s, silent_s, server_s in rows:
            seen = in_touch_s >= lease_s and server_s >= lease_s
            given_up = silent_s >= lease_s + self.terms.patience_s
            if seen or given_up or _is_dead(pid, host):
                _settle(connection, session, lost=True)
                lost.append(session)
        return lost

    def abort(self) -> None:
        """End what the server is asked at this moment, from another thread, and ask it no more."""
        self._given_up.set()
        with suppress(Exception):  # it may be closed, or not yet open
            line = socket.socket(fileno=os.dup(self._connection.pgconn.socket))
            with line:
                line.shutdown(socket.SHUT_RDWR)

    def keep(self, records: Sequence[Record]) -> bool:
        """Write what a session that has ended was paid for; False where the server is away."""
        psycopg = driver()
        if self._given_up.is_set():
            return False
        try:
            if self._connection.closed:
                self._connection = self._connect_or_give_up()
            with self._connection.transaction():
                self._connection.execute(_SQL["settings"], (self._idle_ms,))
                write_late(self._connection, records)
        except (psycopg.Error, RunError):
            return False
        return True

    @property
    def key(self) -> str:
        """Name the session as no other is named."""
        return _key(schema_of(self.run), self.id, os.getpid(), this_machine(), self._started_at)

    def end(self) -> None:
        """Settle what is open and end; a server that is gone will see the lease run out."""
        psycopg = driver()
        if self._given_up.is_set():
            self._connection.close()
            return
        try:
            if self._connection.closed:
                self._connection = self._connect_or_give_up()
            with self._connection.transaction():
                self._connection.execute(_SQL["settings"], (self._idle_ms,))
                _settle(self._connection, self.id, lost=False)
        except (psycopg.Error, RunError):
            return
        finally:
            self._connection.close()

    def _begin(self) -> tuple[int, int, str]:
        who = (os.getpid(), this_machine(), __version__)
        terms = (self.terms.attempts, self.terms.lease_s)
        begun = self._now()
        self.id = _NOBODY
        with self._connection.transaction():
            self._connection.execute(_SQL["settings"], (self._idle_ms,))
            # One at a time, so that sessions that overlap agree on their round.
            self._connection.execute(
                "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))", (schema_of(self.run),)
            )
            self.reap(self._connection)
            row = self._connection.execute(_SQL["begin_session"], (*who, *terms)).fetchone()
        self._touch(begun)
        found = row or (_NOBODY, 1, "")
        if self._connection.execute(_SQL["session"], found[:1]).fetchone() is None:
            raise RunError(
                f"the ledger {self.address} does not show what was just committed to it: a proxy "
                "reads from a replica that is behind; name the primary server itself"
            )
        return found

    def _take_back(self) -> None:
        """Take the replies that earlier sessions of this user could not write, and left here."""
        schema = schema_of(self.run)
        known = self._connection.execute(_SQL["known_sessions"]).fetchall()
        for session in known:
            for file in second_place.kept(_key(schema, *session), beside=None):
                with self._connection.transaction():
                    self._connection.execute(_SQL["settings"], (self._idle_ms,))
                    for row in file.rows:
                        self._connection.execute(_SQL["take_back_reply"], row)
                if not file.damaged:
                    file.path.unlink(missing_ok=True)

    @property
    def _was_away(self) -> bool:
        """Whether the server has not been heard of for longer than between a few heartbeats."""
        return self._now() - self._last_touch > self.terms.lease_s / 2

    def _touch(self, begun: float) -> None:
        """Note that the server has answered to what began at this time."""
        if self._was_away:
            self._in_touch_since = self._now()
        self._last_touch = self._now()
        self._valid_until = begun + self.terms.lease_s

    def _try(self, records: Sequence[Record], works: Sequence[Work]) -> Written | None:
        """Write in one transaction; None where an earlier try of it was committed unheard."""
        psycopg = driver()
        for tries in range(1, _TRIES + 1):
            begun = self._now()
            try:
                if self._connection.closed:
                    self._connection = self._connect_or_give_up()
                with self._connection.transaction():
                    if not self._fence(self._groups + 1):
                        return None
                    written = self._write(records, works)
                    # From here on nobody knows whether it is committed until the server says so.
                    self._doubt = _Part(len(records), len(works), written)
            except _AGAIN() as error:
                # What others have just written may have been in the way: seen once, it is not.
                once = isinstance(error, psycopg.IntegrityError)
                if tries == _TRIES or (once and tries > 1):
                    raise
                continue
            self._touch(begun)
            self._groups += 1
            self._doubt = None
            return written
        raise AssertionError  # the last try returns or raises

    def _note_heard(self, part: "_Part | None") -> None:
        """Count the part of a group that was committed, although its answer was lost."""
        if part is None:
            raise IntegrityError(
                f"session {self.id} has committed what it knows nothing of: another process uses it"
            )
        done = self._done
        self._done = _Part(
            done.records + part.records,
            done.works + part.works,
            done.written.followed(part.written),
        )
        self._groups += 1
        self._doubt = None

    def _fence(self, group: int) -> bool:
        """Take hold of the session's row; return whether this group is still to be written."""
        fenced = self._connection.execute(_SQL["fence"], (self.id, group, self._idle_ms))
        if fenced.rowcount:
            return True
        if self._committed() == group:
            return False
        raise LeaseLostError(
            f"this worker was silent for longer than its lease of {self.terms.lease_s:g} s, and "
            "others have its calls; replies that it has are written where nobody else's are there"
        )

    def _committed(self) -> int:
        row = self._connection.execute(_SQL["session"], (self.id,)).fetchone()
        return int(row[0]) if row else 0

    def _write(self, records: Sequence[Record], works: Sequence[Work]) -> Written:
        there = write_records(self._connection, records) if records else []
        marked = self._mark([w for w in works if isinstance(w, Mark)])
        results = [
            work.attempt in marked if isinstance(work, Mark) else work(self._connection)
            for work in works
        ]
        return Written(there, results)

    def _mark(self, marks: Sequence[Mark]) -> Collection[int]:
        """Mark attempts as about to be sent; return those whose call is still open."""
        if not marks:
            return ()
        attempts = [mark.attempt for mark in marks]
        values = (attempts, [mark.at for mark in marks], self.id)
        marked = {row[0] for row in self._connection.execute(_SQL["mark_sent"], values).fetchall()}
        missing = [attempt for attempt in attempts if attempt not in marked]
        if missing:
            found = self._connection.execute(_SQL["answered_by_others"], (missing,)).fetchall()
            if {row[0] for row in found} != set(missing):
                raise IntegrityError(
                    f"mark_sent: {len(marked)} rows of {len(attempts)} are in the ledger"
                )
        return marked

    def _connect_or_give_up(self) -> "psycopg.Connection[Any]":
        """Connect once more, beside this thread, which may be told to wait no longer.

        Raises:
            AwayError: the server is away, or nobody waits any more.
        """
        made: queue.SimpleQueue[Any] = queue.SimpleQueue()

        def connect() -> None:
            try:
                connection = self._connect()
            except RunError as error:
                made.put(AwayError(str(error)))
                return
            made.put(connection)
            if self._given_up.is_set():  # perhaps nobody has taken it
                connection.close()

        threading.Thread(target=connect, name="judgelaw-connect", daemon=True).start()
        while not self._given_up.is_set():
            with suppress(queue.Empty):
                found = made.get(timeout=_LOOK_S)
                if isinstance(found, AwayError):
                    raise found
                return found  # type: ignore[no-any-return] # the driver is loaded lazily
        raise AwayError(f"the ledger {self.address} is away, and nobody waits for it any more")

    def _connect(self) -> "psycopg.Connection[Any]":
        keepalive = {"keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 3}
        # Nothing is kept alive while something is under way: that has a time of its own, without
        # which a partition is noticed after a quarter of an hour.
        connection = self.address.connect(**keepalive, tcp_user_timeout=_SILENCE_MS)
        try:
            with self.address.explained("the connection was closed"):
                enter(connection, self.run)
                self._probe(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _probe(self, connection: "psycopg.Connection[Any]") -> None:
        """Refuse a way to the ledger on which a transaction is not what it is on the server itself.

        What one sets holds up to its end, on one connection, and not beyond it.
        """
        token = f"{os.getpid()}-{uuid4().hex}"
        try:
            with connection.transaction():
                connection.execute(_SQL["settings"], (self._idle_ms,))
                connection.execute(_SQL["probe"], (token,))
                inside = connection.execute(_SQL["probed"]).fetchone()
            with connection.transaction():
                after = connection.execute(_SQL["probed"]).fetchone()
        except driver().Error as error:
            raise RunError(f"{self._torn}: {self.address.hide(error)}; {_POOLER}") from None
        if inside is None or inside[:2] != (token, "on"):
            raise RunError(f"{self._torn}: what it sets is gone before it ends; {_POOLER}")
        if after is None or after[0] == token:
            raise RunError(f"{self._torn}: what it sets holds beyond its end; {_POOLER}")
        if inside[2]:
            raise RunError(
                f"the ledger {self.address} is a replica, which takes no writes: name the primary "
                "server, or all of them and ?target_session_attrs=read-write"
            )

    @property
    def _torn(self) -> str:
        return f"the ledger {self.address} cannot hold a transaction together"

    @property
    def _idle_ms(self) -> str:
        """How long a worker that freezes inside a transaction may hold its locks."""
        return str(max(_BUSY_MS, int(self.terms.lease_s * 500)))


def _settle(connection: "psycopg.Connection[Any]", session: int, *, lost: bool) -> None:
    connection.execute(_SQL["settle_session"], (session,))
    connection.execute(_SQL["let_go"], (session,))
    connection.execute(_SQL["let_batches_go"], (session,))
    connection.execute(_SQL["end_session"], (session, lost))
