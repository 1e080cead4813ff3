"""Endings as rows: one statement for each kind, with a column of values each."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from judgelaw.errors import IntegrityError
from judgelaw.ledger.rows import Row, completion_row, failure_row, verdict_row
from judgelaw.ledger.sqltext import statements
from judgelaw.ledger.values import Completed, Ending, Failed, Unsent

if TYPE_CHECKING:
    import psycopg

_SQL = statements("postgres")


def write_endings(connection: "psycopg.Connection[Any]", endings: Sequence[Ending]) -> None:
    """Write a group of endings inside the caller's transaction."""
    completed = [e for e in endings if isinstance(e, Completed)]
    judged = [verdict_row(e.reservation.attempt, e.verdict) for e in completed if e.verdict]
    failed = [failure_row(e) for e in endings if isinstance(e, Failed)]
    unsent = [(e.reservation.attempt, e.ended_at) for e in endings if isinstance(e, Unsent)]
    write_rows(connection, "complete", map(completion_row, completed), exactly=len(completed))
    write_rows(connection, "judge_completions", judged, exactly=len(judged))
    write_rows(connection, "fail", failed, exactly=len(failed))
    write_rows(connection, "unsend", unsent, exactly=len(unsent))


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
