"""Batches of a SQLite ledger, each change inside the caller's transaction."""

import sqlite3
from collections.abc import Sequence

from judgelaw.ledger.sqltext import statements
from judgelaw.ledger.values import BatchState, OpenBatch, Reservation
from judgelaw.ledger.view import reservation

_SQL = statements("sqlite")


def prepare(
    judge: str,
    uid: str,
    reservations: Sequence[Reservation],
    now: float,
    connection: sqlite3.Connection,
) -> int:
    """Make a batch of reserved attempts; return its row."""
    batch = connection.execute(_SQL["prepare_batch"], (uid, judge, now)).lastrowid or 0
    connection.executemany(_SQL["join_batch"], [(batch, r.attempt) for r in reservations])
    return batch


def note(  # noqa: PLR0917 - the connection comes last, as for all work of the writer
    batch: int,
    state: BatchState,
    provider_id: str | None,
    detail: str | None,
    now: float,
    connection: sqlite3.Connection,
) -> None:
    """Set the state of a batch; its open attempts end with it where it was lost or never left."""
    consequence = {"orphaned": "orphan_batch", "withdrawn": "unsend_batch"}.get(state)
    if consequence is not None:
        connection.execute(_SQL[consequence], (batch, now))
    connection.execute(_SQL["note_batch"], (batch, state, provider_id, now, detail))


def withdraw_prepared(connection: sqlite3.Connection, now: float) -> None:
    """End the batches that a session left before they were sent."""
    for (batch,) in connection.execute(_SQL["prepared_batches"]).fetchall():
        note(batch, "withdrawn", None, None, now, connection)


def open_ones(judge: str, connection: sqlite3.Connection) -> list[OpenBatch]:
    """Return the batches of a judge that a provider has, or may have."""
    return [
        OpenBatch(
            batch=batch,
            uid=uid,
            provider_id=provider_id,
            submitted_at=submitted_at,
            reservations=tuple(
                reservation(row) for row in connection.execute(_SQL["batch_attempts"], (batch,))
            ),
        )
        for batch, uid, provider_id, submitted_at in connection.execute(
            _SQL["open_batches"], (judge,)
        ).fetchall()
    ]
