"""Reading a SQLite ledger: any number of readers, while a run writes or after it."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb

from judgelaw.duck import one_file
from judgelaw.errors import IntegrityError, JudgelawError, RunError, StorageError, disk_refuses
from judgelaw.ledger.lock import SENT_NAME, Counts, LeftMarks
from judgelaw.ledger.migrations import foreign_schema, statements
from judgelaw.ledger.records import JudgePulse, Loss, Pulse, StoredBatch
from judgelaw.ledger.view import LedgerView
from judgelaw.study import SUMS, read_sums, reading

LEDGER_NAME = "ledger.sqlite"
_DERIVED = ("calls.parquet", "timing.parquet")
"""Tables that are written from a ledger; the second has a row for every call that was answered."""

_SQL = statements("sqlite")
_DISK = (
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_IOERR,
)


class SqliteView(LedgerView):
    """The rows of one ledger file, read-only."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reader: sqlite3.Connection | None = None

    def batches(self) -> Iterator[StoredBatch]:
        """Yield every batch; a file of a version before there were batches has none."""
        found = self._execute("SELECT 1 FROM sqlite_master WHERE name = 'batches'").fetchone()
        return super().batches() if found else iter(())

    def counts(self) -> Counts:
        """Return how far the rows reach; a file without tables reaches nowhere."""
        if not self._execute("SELECT 1 FROM sqlite_master WHERE name = 'attempts'").fetchone():
            return Counts()
        (row,) = self._rows("counts")
        return Counts(*row)

    def losses(self) -> tuple[Loss, ...]:
        """Return the losses with which sessions went on, as they wrote them down."""
        return tuple(Loss(**json.loads(said)) for (said,) in self._rows("losses"))

    def pulse(self) -> Pulse:
        """Say how far the run is, in a few milliseconds."""
        (failed, orphaned, why) = next(self._rows("ended_attempts"))
        session = next(self._rows("last_session"), (None, None, None, None))
        invalid: dict[str, dict[str, int]] = {}
        for judge, parser, count in self._rows("invalid_verdicts"):
            invalid.setdefault(judge, {})[parser] = count
        return Pulse(
            judges={
                judge: JudgePulse(
                    completed=completed,
                    input_tokens=tokens_in,
                    output_tokens=tokens_out,
                    cached_tokens=cached,
                    invalid=invalid.get(judge, {}),
                )
                for judge, completed, tokens_in, tokens_out, cached in self._rows("judge_tokens")
            },
            failed=failed,
            orphaned=orphaned,
            last_failure=why,
            pid=session[0],
            host=session[1],
            started_at=session[2],
            ended_at=session[3],
        )

    def check(self) -> list[str]:
        """Return what is wrong with the file's pages, keys and rules."""
        try:
            pages = [row[0] for row in self._execute("PRAGMA integrity_check") if row[0] != "ok"]
            keys = [
                f"row {row[1]} of {row[0]} points at no {row[2]}"
                for row in self._execute("PRAGMA foreign_key_check")
            ]
        except sqlite3.DatabaseError as error:  # a page that says nothing at all
            raise damaged(self.path, error) from error
        schema = [f"{name} is not as judgelaw made it" for name in foreign_schema(self._open())]
        return pages + keys + schema

    def close(self) -> None:
        """Close the file."""
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def _rows(self, name: str, *values: object) -> Iterator[Any]:
        with closing(self._execute(_SQL[name], *values)) as cursor:
            try:
                yield from cursor
            except sqlite3.DatabaseError as error:
                raise damaged(self.path, error) from error

    def _execute(self, sql: str, *values: object) -> sqlite3.Cursor:
        try:
            return self._open().execute(sql, values)
        except sqlite3.DatabaseError as error:
            raise damaged(self.path, error) from error

    def _open(self) -> sqlite3.Connection:
        if self._reader is not None:
            return self._reader
        if not self.path.is_file():
            raise RunError(
                f"{self.path} does not exist: nothing was acquired here yet; "
                "`judgelaw run STUDY --out RUN` starts"
            )
        # Opened by address, so that reading never creates, converts or checkpoints anything.
        address = f"{self.path.absolute().as_uri()}?mode=ro"
        self._reader = sqlite3.connect(address, uri=True, check_same_thread=False)
        _show_as_present(self._reader)
        return self._reader


def _show_as_present(connection: sqlite3.Connection) -> None:
    """Let a file of an earlier version have no dates, criteria or token probabilities."""
    columns = [row[1] for row in connection.execute("PRAGMA table_info(calls)")]
    if columns and "date" not in columns:
        connection.execute("CREATE TEMP VIEW calls AS SELECT *, NULL AS date FROM main.calls")
        connection.execute(
            "CREATE TEMP VIEW criterion_verdicts AS "
            "SELECT *, NULL AS criterion FROM main.verdicts WHERE false"
        )
        connection.execute(
            "CREATE TEMP VIEW logprobs AS SELECT 0 AS call, NULL AS tokens WHERE false"
        )
    if columns and not connection.execute("PRAGMA table_info(unread_fields)").fetchone():
        connection.execute(
            "CREATE TEMP VIEW unread_fields AS "
            "SELECT 0 AS call, NULL AS field, NULL AS reason WHERE false"
        )
        connection.execute("CREATE TEMP VIEW unread_replies AS SELECT 0 AS attempt WHERE false")


def lost(path: Path) -> Loss | None:
    """Compare a ledger with the marks that its last session left, and with the table made of it.

    None where nothing is missing. Reads only: what is left may be needed to mend it.
    """
    left = LeftMarks(path.with_name(SENT_NAME))
    there = Counts()
    if path.exists() and path.stat().st_size:
        with SqliteView(path) as view:
            there = view.counts()
    durable = max(left.counts.completed, _tabled(path.with_name(_DERIVED[1])))
    replies = max(0, durable - there.completed)
    attempts = left.sent_after(there.attempt)
    return Loss(replies=replies, attempts=attempts) if replies or attempts else None


def _tabled(table: Path) -> int:
    """Count the calls of the table of times; one that is not there, or damaged, tells of none."""
    if not table.is_file():
        return 0
    try:
        with reading() as connection:
            query = f"SELECT count(*) FROM {one_file(table)}"  # noqa: S608 - the path is quoted
            return int(connection.execute(query).fetchall()[0][0])
    except duckdb.Error:  # `verify` names it, and the next session writes it anew
        return 0


def refuse_missing(run: Path) -> None:
    """Refuse a folder whose calls were asked, and whose ledger is not there.

    Raises:
        IntegrityError: another ledger would ask and pay for everything again.
    """
    if told := traces(run):
        raise IntegrityError(
            f"{run}: no {LEDGER_NAME}, and calls were asked: {', '.join(told)}. Restore the ledger "
            "from a copy, then the same command goes on; `judgelaw run --accept-loss` asks and "
            "pays for every call again, as does another folder with --out"
        )


def traces(run: Path) -> list[str]:
    """Return what tells of a ledger in a folder that has none; nothing where it has one."""
    if (run / LEDGER_NAME).exists():
        return []
    found = [f"{name} is there" for name in _DERIVED if (run / name).exists()]
    if LEDGER_NAME in read_sums(run):
        found.append(f"{SUMS} names it")
    return found


def damaged(path: Path, error: sqlite3.Error) -> JudgelawError:
    """Say whether a change was left half done, the disk is at fault, or the file is no ledger."""
    if path.with_name(f"{path.name}-journal").exists():
        # A reader may not undo an unfinished change; SQLite then says that it cannot write.
        return RunError(
            f"{path}: {error}: a kill or a power loss left a change half done; the command that "
            "acquires the run (`judgelaw run` or `judgelaw audit`) puts that right"
        )
    return disk_fault(path, error) or IntegrityError(
        f"{path}: {error}: the file is damaged or is no ledger; restore it from a copy, "
        "`judgelaw verify` says what else changed"
    )


def disk_fault(path: Path, error: sqlite3.Error) -> StorageError | None:
    """Return our error for a disk that is full, read-only or broken, None for any other fault."""
    # The low byte is the class of the fault, the rest its detail; faults of our own have no code.
    known = getattr(error, "sqlite_errorcode", 0) & 0xFF in _DISK
    return disk_refuses(path, str(error)) if known else None
