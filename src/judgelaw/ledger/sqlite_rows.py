"""Endings as rows: one prepared statement for each kind, run over the whole group."""

import sqlite3
from collections.abc import Sequence
from itertools import starmap

from judgelaw.ledger.rows import completion_row, failure_row, verdict_row
from judgelaw.ledger.sqltext import statements
from judgelaw.ledger.values import Completed, Ending, Failed, Unsent

_SQL = statements("sqlite")


def write_endings(connection: sqlite3.Connection, endings: Sequence[Ending]) -> None:
    """Write a group of endings inside the caller's transaction."""
    completed = [e for e in endings if isinstance(e, Completed)]
    connection.executemany(_SQL["complete"], map(completion_row, completed))
    judged = [(e.reservation.attempt, e.verdict) for e in completed if e.verdict is not None]
    connection.executemany(_SQL["judge_completion"], starmap(verdict_row, judged))
    if len(completed) == len(endings):
        return
    failed = [e for e in endings if isinstance(e, Failed)]
    unsent = [e for e in endings if isinstance(e, Unsent)]
    connection.executemany(_SQL["fail"], map(failure_row, failed))
    connection.executemany(_SQL["unsend"], [(e.ended_at, e.reservation.attempt) for e in unsent])
