"""Batches of a PostgreSQL ledger, each change inside the caller's transaction."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from judgelaw.ledger.sqltext import statements
from judgelaw.ledger.values import BatchState, OpenBatch, Reservation
from judgelaw.ledger.view import reservation

if TYPE_CHECKING:
    import psycopg

_SQL = statements("postgres")


def prepare(
    batch: tuple[str, str, float, int],
    reservations: Sequence[Reservation],
    connection: "psycopg.Connection[Any]",
) -> int:
    """Make a batch (uid, judge, time, session) of reserved attempts; return its row."""
    row = connection.execute(_SQL["prepare_batch"], batch).fetchone()
    number = int(row[0]) if row else 0
    connection.execute(_SQL["join_batch"], (number, [r.attempt for r in reservations]))
    return number


def note(  # noqa: PLR0917 - the connection comes last, as for all work of the writer
    batch: int,
    state: BatchState,
    provider_id: str | None,
    detail: str | None,
    now: float,
    connection: "psycopg.Connection[Any]",
) -> None:
    """Set the state of a batch; its open attempts end with it where it was lost or never left."""
    consequence = {"orphaned": "orphan_batch", "withdrawn": "unsend_batch"}.get(state)
    if consequence is not None:
        connection.execute(_SQL[consequence], (batch, now))
    connection.execute(_SQL["note_batch"], (batch, state, provider_id, now, detail))


def take_open(judge: str, session: int, connection: "psycopg.Connection[Any]") -> list[OpenBatch]:
    """Take over the batches of a judge that a provider has and nobody at work collects."""
    rows = connection.execute(_SQL["take_batches"], (judge, session)).fetchall()
    return [
        OpenBatch(
            batch=batch,
            uid=uid,
            provider_id=provider_id,
            submitted_at=submitted_at,
            reservations=tuple(
                map(reservation, connection.execute(_SQL["batch_attempts"], (batch,)).fetchall())
            ),
        )
        for batch, uid, provider_id, submitted_at in sorted(rows)
    ]
