"""Records as rows: one prepared statement for each kind, run over the whole group."""

import sqlite3
from collections.abc import Sequence

from judgelaw.ledger.rows import completion_row, failure_row, verdict_row
from judgelaw.ledger.sqltext import statements
from judgelaw.ledger.values import Completed, Failed, Read, Record, Unsent

_SQL = statements("sqlite")


def write_records(connection: sqlite3.Connection, records: Sequence[Record]) -> None:
    """Write a group of records inside the caller's transaction."""
    completed = [r for r in records if isinstance(r, Completed)]
    read = [r for r in records if isinstance(r, Read)]
    connection.executemany(_SQL["complete"], map(completion_row, completed))
    connection.executemany(_SQL["add_verdict"], map(verdict_row, read))
    if len(completed) + len(read) == len(records):
        return
    failed = [r for r in records if isinstance(r, Failed)]
    unsent = [r for r in records if isinstance(r, Unsent)]
    connection.executemany(_SQL["fail"], map(failure_row, failed))
    connection.executemany(_SQL["unsend"], [(r.ended_at, r.reservation.attempt) for r in unsent])
