"""Reading a PostgreSQL ledger: any number of readers, while workers write or after them."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import TYPE_CHECKING, Any

from judgelaw.errors import RunError
from judgelaw.ledger.postgres_address import Address, driver
from judgelaw.ledger.postgres_schema import enter, require, schema_of
from judgelaw.ledger.sqltext import statements
from judgelaw.ledger.view import RowView

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
        "archived_verdicts",
    }
)
"""Readings as long as the run: they come in pages, on a connection of their own."""
_PAGE = 2_000
_PAUSE_S = 0.2


class PostgresView(RowView):
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
        """Let every reading inside show the same moment, whatever is written meanwhile."""
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
        cursor_name = f"rows_{next(self._cursors)}"
        with driver().RawServerCursor(connection, cursor_name) as cursor:
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
        except BaseException:
            connection.close()
            raise
        return connection
