"""Reading a PostgreSQL ledger, and copying it into the run folder, which is whole by itself then.

Everything that reads a run reads the copy: `verify`, `status`, `reparse`, diagnostics. The rules of
the SQLite schema check every row on its way in.
"""

import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.errors import RunError
from judgelaw.ledger.migrations import migrate, statements
from judgelaw.ledger.postgres_schema import (
    Address,
    driver,
    enter,
    require,
    schema_of,
    version_of,
)
from judgelaw.ledger.records import LATE, call_row
from judgelaw.ledger.view import LedgerView

if TYPE_CHECKING:
    import psycopg


_SQL = statements("postgres")
_STREAMED = frozenset(
    {
        "calls",
        "attempts",
        "completions",
        "replies",
        "verdicts",
        "judged",
        "unjudged",
        "flags",
        "archived_attempts",
        "archived_completions",
        "archived_logprobs",
        "archived_verdicts",
        "archived_criterion_verdicts",
        "archived_unread_replies",
    }
)
"""Readings as long as the run: they come in pages, on a connection of their own."""
_PAGE = 2_000
_PAUSE_S = 0.2


class PostgresView(LedgerView):
    """The rows of one run, read-only; a server that is away is waited for `patience_s`."""

    def __init__(self, address: Address, run: str, *, patience_s: float = 0.0) -> None:
        schema_of(run)  # a name that is none is refused before anything is connected
        self.address = address
        self.run = run
        self._reader: psycopg.Connection[Any] | None = None
        self._frozen: psycopg.Connection[Any] | None = None
        self._cursors = count()
        self._patience_s = patience_s

    def rows(self, name: str) -> Iterator[Any]:
        """Yield the rows of a named statement."""
        return self._rows(name)

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Make every reading inside show the same moment, even if others write meanwhile."""
        with self._connect() as connection, connection.transaction():
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            self._frozen = connection
            try:
                yield
            finally:
                self._frozen = None

    def inputs(self) -> dict[str, bytes]:
        """Return the frozen inputs that a worker needs, by file name."""
        return dict(self._rows("inputs"))

    def check(self) -> list[str]:
        """Return which rows contradict each other."""
        return [f"{count} {what}" for what, count in self._rows("loose_ends") if count]

    def close(self) -> None:
        """Disconnect."""
        self._disconnect()

    def _rows(self, name: str, *values: object) -> Iterator[Any]:
        with self.address.explained("it cannot be read"):
            if name in _STREAMED:
                yield from self._stream(name, values)
            else:
                yield from self._fetch(name, values)

    def _fetch(self, name: str, values: tuple[object, ...]) -> list[Any]:
        psycopg = driver()
        if self._frozen is not None:
            return self._frozen.execute(_SQL[name], values).fetchall()
        deadline = time.monotonic() + self._patience_s
        while True:
            try:
                return self._open().execute(_SQL[name], values).fetchall()
            except (psycopg.OperationalError, RunError):
                # The server was restarted or the line was cut: reading again is harmless.
                self._disconnect()
                if time.monotonic() >= deadline:
                    raise
            time.sleep(_PAUSE_S)

    def _stream(self, name: str, values: tuple[object, ...]) -> Iterator[Any]:
        if self._frozen is not None:
            yield from self._pages(self._frozen, name, values)
            return
        with self._connect() as connection, connection.transaction():
            yield from self._pages(connection, name, values)

    def _pages(
        self, connection: "psycopg.Connection[Any]", name: str, values: tuple[object, ...]
    ) -> Iterator[Any]:
        with connection.cursor(f"rows_{next(self._cursors)}") as cursor:
            cursor.itersize = _PAGE
            cursor.execute(_SQL[name], values)
            yield from cursor

    def _disconnect(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _open(self) -> "psycopg.Connection[Any]":
        if self._reader is None or self._reader.closed:
            self._reader = self._connect()
        return self._reader

    def _connect(self) -> "psycopg.Connection[Any]":
        connection = self.address.connect()
        try:
            enter(connection, self.run)
            require(connection, self.run, self.address)
            enter(connection, self.run, version=version_of(connection))
        except BaseException:
            connection.close()
            raise
        return connection


_COPY_SQL = statements("sqlite")
_CHUNK = 20_000

Row = tuple[Any, ...]


def archive(view: PostgresView, path: Path) -> None:
    """Write all rows of a run, as they stand at one moment, into a SQLite ledger at `path`."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    with closing(sqlite3.connect(part, isolation_level=None)) as target, view.snapshot():
        # A copy that is cut short is thrown away, so nothing of it needs to be durable yet.
        target.execute("PRAGMA synchronous = OFF")
        target.execute("PRAGMA foreign_keys = ON")
        migrate(target, path)
        _copy(target, "add_judge", view.rows("archived_judges"))
        _copy(target, "archive_session", view.rows("archived_sessions"))
        _copy(target, "add_call", map(call_row, view.calls()))
        _copy(target, "archive_batch", view.rows("archived_batches"))
        _copy(target, "archive_attempt", map(_begun, view.rows("archived_attempts")))
        _copy(target, "complete", view.rows("archived_completions"))
        _copy(target, "add_logprobs", view.rows("archived_logprobs"))
        _copy(target, "add_unread_field", view.rows("archived_unread_fields"))
        _copy(target, "add_unread_reply", view.rows("archived_unread_replies"))
        _copy(target, "add_verdict", view.rows("archived_verdicts"))
        _copy(target, "add_criterion_verdict", view.rows("archived_criterion_verdicts"))
        _copy(target, "set_manifest", view.rows("manifest"))
    part.replace(path)


def _begun(row: Row) -> Row:
    """Return an attempt as it stood before its completion, which ends it by a rule."""
    attempt, call, number, session, state, reserved_at, *rest = row
    if state != "completed":
        return row
    late = LATE in rest
    begun = (attempt, call, number, session, "orphaned" if late else "started", reserved_at)
    return (*begun, None, reserved_at if late else None, None, None, None, False, row[-1])


def _copy(target: sqlite3.Connection, statement: str, rows: Iterable[Row]) -> None:
    rows = iter(rows)
    while chunk := list(islice(rows, _CHUNK)):
        target.execute("BEGIN")
        target.executemany(_COPY_SQL[statement], chunk)
        target.execute("COMMIT")
