"""One worker's hold on a PostgreSQL ledger: a lease, a fence, and commits that happen once.

Every transaction begins by moving its session's row: it renews the lease, it fails where somebody
has declared the session lost (so a late worker changes nothing), and its count tells, after a cut
connection, whether a commit whose answer never came took place.
"""

import os
import socket
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from judgelaw import __version__
from judgelaw.errors import IntegrityError, LeaseLostError, RunError
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
from judgelaw.ledger.writer import Work

if TYPE_CHECKING:
    import psycopg


_SQL = statements("postgres")


def write_records(connection: "psycopg.Connection[Any]", records: Sequence[Record]) -> None:
    """Write a group of records inside the caller's transaction."""
    completed = [r for r in records if isinstance(r, Completed)]
    failed = [failure_row(r) for r in records if isinstance(r, Failed)]
    unsent = [(r.reservation.attempt, r.ended_at) for r in records if isinstance(r, Unsent)]
    write_rows(connection, "complete", map(completion_row, completed), exactly=len(completed))
    write_rows(connection, "add_logprobs", tokens_rows(completed))
    write_rows(connection, "add_unread_fields", unread_field_rows(completed))
    unread = unread_rows(records)
    write_rows(connection, "add_unread_replies", unread, exactly=len(unread))
    write_read(connection, [r for r in records if isinstance(r, Read)])
    write_rows(connection, "fail", failed, exactly=len(failed))
    write_rows(connection, "unsend", unsent, exactly=len(unsent))


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
) -> None:
    """Run a statement over columns of values; `exactly` says how many rows it must touch."""
    columns = [list(column) for column in zip(*rows, strict=True)]
    if not columns:
        return
    touched = connection.execute(_SQL[statement], (*columns, *values)).rowcount
    if exactly is not None and touched != exactly:
        raise IntegrityError(f"{statement}: {touched} rows of {exactly} are in the ledger")


_POOLER = (
    "connect to the PostgreSQL server itself, or through a pooler that gives each transaction one "
    "connection (PgBouncer: pool_mode = transaction or session, never statement)"
)
_NOBODY = 0
_TRIES = 20
_BUSY_MS = 1_000
"""A worker on a busy machine may be this slow between two statements, however short its lease."""
_SILENCE_MS = 20_000
_PAUSES_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


@dataclass(frozen=True, slots=True)
class Mark:
    """Say durably that an attempt is about to be sent; all marks of a group are one statement."""

    attempt: int
    at: float

    def __call__(self, connection: Any) -> None:
        """Marks are written together, before the other work of their group."""


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
        self._connection = self._connect()
        try:
            with address.explained("a session cannot begin"):
                migrate(self._connection, run, address)
                self.id, self.round = self._begin()
        except BaseException:
            self._connection.close()
            raise

    @property
    def valid(self) -> bool:
        """Whether no other session can have taken this session's calls yet."""
        return self._now() < self._valid_until

    def commit(self, records: Sequence[Record], works: Sequence[Work]) -> list[Any]:
        """Write a group in one transaction, once, whatever happens to the connection meanwhile.

        Raises:
            LeaseLostError: the session was declared lost; nothing was written.
        """
        psycopg = driver()
        group, results = self._groups + 1, None
        for _ in range(_TRIES):
            begun = self._now()
            try:
                with self._connection.transaction():
                    if not self._fence(group):
                        break
                    results = self._write(records, works)
            except psycopg.Error as error:
                self._recover(error)
                continue
            self._valid_until = begun + self.terms.lease_s
            self._groups = group
            return results
        if results is None or self._committed() != group:
            raise RunError(f"the ledger {self.address} refuses every commit; try again later")
        # An earlier try was committed, but its answer was lost on the way.
        self._groups = group
        return results

    def reap(self, connection: "psycopg.Connection[Any]") -> list[int]:
        """Declare silent sessions lost and let their calls go; part of every heartbeat."""
        rows = connection.execute(_SQL["expired_sessions"], (self.id,)).fetchall()
        for (session,) in rows:
            _settle(connection, session, lost=True)
        return [row[0] for row in rows]

    def end(self) -> None:
        """Settle what is open and end; a server that is gone will see the lease run out."""
        psycopg = driver()
        try:
            if self._connection.closed:
                self._connection = self._connect()
            with self._connection.transaction():
                self._connection.execute(_SQL["settings"], (self._idle_ms,))
                _settle(self._connection, self.id, lost=False)
        except (psycopg.Error, RunError):
            return
        finally:
            self._connection.close()

    def _begin(self) -> tuple[int, int]:
        who = (os.getpid(), socket.gethostname(), __version__)
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
        self._valid_until = begun + self.terms.lease_s
        found = row or (_NOBODY, 1)
        if self._connection.execute(_SQL["session"], found[:1]).fetchone() is None:
            raise RunError(
                f"the ledger {self.address} does not show what was just committed to it: a proxy "
                "reads from a replica that is behind; name the primary server itself"
            )
        return found

    def _fence(self, group: int) -> bool:
        """Take hold of the session's row; return whether this group is still to be written."""
        fenced = self._connection.execute(_SQL["fence"], (self.id, group, self._idle_ms))
        if fenced.rowcount:
            return True
        if self._committed() == group:
            return False
        raise LeaseLostError(
            f"this worker was silent for longer than its lease of {self.terms.lease_s:g} s, and "
            "others have its calls; what it was still waiting for counts as orphaned"
        )

    def _committed(self) -> int:
        row = self._connection.execute(_SQL["session"], (self.id,)).fetchone()
        return int(row[0]) if row else 0

    def _write(self, records: Sequence[Record], works: Sequence[Work]) -> list[Any]:
        if records:
            write_records(self._connection, records)
        marks = [(w.attempt, w.at) for w in works if isinstance(w, Mark)]
        write_rows(self._connection, "mark_sent", marks, self.id, exactly=len(marks))
        return [work(self._connection) for work in works]

    def _recover(self, error: "psycopg.Error") -> None:
        """Connect again after a cut line; give way after a deadlock; raise anything else."""
        psycopg = driver()
        if self._connection.closed:
            self._connection = self._reconnect()
        elif not isinstance(
            error, (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
        ):
            raise error

    def _reconnect(self) -> "psycopg.Connection[Any]":
        deadline = self._now() + self.terms.patience_s
        for pause in chain(_PAUSES_S, repeat(_PAUSES_S[-1])):
            try:
                return self._connect()
            except RunError:
                if self._now() + pause > deadline:
                    raise
            self._sleep(pause)
        raise AssertionError  # the pauses never end

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
