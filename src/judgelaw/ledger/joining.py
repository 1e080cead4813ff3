"""One ledger of several, whose calls are slices of one manifest."""

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path

from judgelaw.errors import IntegrityError
from judgelaw.ledger.migrations import migrate, statements
from judgelaw.ledger.records import LATE, call_row
from judgelaw.ledger.sqlite_view import damaged
from judgelaw.study import PlannedCall
from judgelaw.wire import JudgeSpec

_SQL = statements("sqlite")
_CHUNK = 2_000
_ROWS = (
    *("join_sessions", "join_losses", "join_batches", "join_attempts", "join_completions"),
    *("join_logprobs", "join_unread_fields", "join_unread_replies"),
    *("join_verdicts", "join_criterion_verdicts"),
)
"""Each after what its rows point at; the rules of the database look at every row once more."""


def join_ledgers(
    parts: Sequence[Path],
    path: Path,
    *,
    judges: Mapping[str, JudgeSpec],
    calls: Iterable[PlannedCall],
    manifest: str,
) -> None:
    """Write a ledger that holds the calls of a manifest and all rows of the parts.

    Args:
        parts: ledgers that no session writes, of the present schema.
        path: the ledger to write; nothing may be there.
        judges: the judges of the run.
        calls: all its calls.
        manifest: the hash of the file that they are from.

    Raises:
        IntegrityError: two parts asked one call, a part asked one that the manifest does not have,
            or a part is damaged.
    """
    with closing(sqlite3.connect(path, isolation_level=None, uri=True)) as target:
        # A ledger that is cut short is thrown away, so nothing of it needs to be durable yet.
        target.execute("PRAGMA synchronous = OFF")
        target.execute("PRAGMA foreign_keys = ON")
        migrate(target, path)
        with _transaction(target):
            for name, spec in judges.items():
                row = (name, spec.model or None, bytes.fromhex(spec.fingerprint))
                target.execute(_SQL["add_judge"], row)
            rows = map(call_row, calls)
            while chunk := list(islice(rows, _CHUNK)):
                target.executemany(_SQL["add_call"], chunk)
            target.execute(_SQL["set_manifest"], (manifest,))
        for part in parts:
            _join(target, part)


def _join(target: sqlite3.Connection, part: Path) -> None:
    target.execute("ATTACH DATABASE ? AS part", (f"{part.absolute().as_uri()}?mode=ro",))
    try:
        with _transaction(target):
            if (row := target.execute(_SQL["twice"]).fetchone()) is not None:
                call, planned = row
                wrong = "was asked in two of them" if planned else "is not in the manifest"
                raise IntegrityError(
                    f"{part}: call {call} {wrong}; the folders are no shards of one run, or one of "
                    "them was changed by hand"
                )
            session, attempt, batch = target.execute(_SQL["offsets"]).fetchone()
            moved = {"session": session, "attempt": attempt, "batch": batch, "late": LATE}
            for name in _ROWS:
                target.execute(_SQL[name], moved)
    except sqlite3.IntegrityError as error:
        raise IntegrityError(f"{part} does not join: {error}") from error
    except sqlite3.DatabaseError as error:
        raise damaged(part, error) from error
    finally:
        target.execute("DETACH DATABASE part")


@contextmanager
def _transaction(connection: sqlite3.Connection) -> Iterator[None]:
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
