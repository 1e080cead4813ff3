"""Records as rows: one statement for each kind, with a column of values each."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from judgelaw.errors import IntegrityError
from judgelaw.ledger.rows import Row, completion_row, failure_row, verdict_row
from judgelaw.ledger.sqltext import statements
from judgelaw.ledger.values import Completed, Failed, Read, Record, Unsent

if TYPE_CHECKING:
    import psycopg

_SQL = statements("postgres")


def write_records(connection: "psycopg.Connection[Any]", records: Sequence[Record]) -> None:
    """Write a group of records inside the caller's transaction."""
    completed = [r for r in records if isinstance(r, Completed)]
    failed = [failure_row(r) for r in records if isinstance(r, Failed)]
    unsent = [(r.reservation.attempt, r.ended_at) for r in records if isinstance(r, Unsent)]
    write_rows(connection, "complete", map(completion_row, completed), exactly=len(completed))
    # Another session may have read the same reply, after a kill or on its way home.
    write_rows(connection, "add_verdicts", [verdict_row(r) for r in records if isinstance(r, Read)])
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
