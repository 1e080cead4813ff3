"""A copy of a PostgreSQL ledger in the run folder, so that the folder is whole by itself.

Everything that reads a run reads this copy: `verify`, `status`, `reparse`, diagnostics. The rules
of the SQLite schema check every row on its way in.
"""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from judgelaw.ledger.migrate import migrate
from judgelaw.ledger.postgres_view import PostgresView
from judgelaw.ledger.rows import call_row
from judgelaw.ledger.sqltext import statements

_SQL = statements("sqlite")
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
        _copy(target, "add_verdict", view.rows("archived_verdicts"))
        _copy(target, "set_manifest", view.rows("manifest"))
    part.replace(path)


def _begun(row: Row) -> Row:
    """Return an attempt as it stood before its completion, which ends it by a rule."""
    attempt, call, number, session, state, reserved_at, *_ = row
    if state != "completed":
        return row
    begun = (attempt, call, number, session, "started", reserved_at)
    return (*begun, None, None, None, None, None, False, row[-1])


def _copy(target: sqlite3.Connection, statement: str, rows: Iterable[Row]) -> None:
    rows = iter(rows)
    while chunk := list(islice(rows, _CHUNK)):
        target.execute("BEGIN")
        target.executemany(_SQL[statement], chunk)
        target.execute("COMMIT")
