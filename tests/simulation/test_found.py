"""What the simulation found, one test for each."""

import sqlite3
from contextlib import closing

import pytest

from judgelaw.errors import RunError
from judgelaw.ledger import LEDGER_NAME, SqliteLedger
from simulation.disk import IO_ERROR_FSYNC, OK, Disk, mounted


@pytest.mark.parametrize("failing", range(1, 4))
def test_a_ledger_that_stays_without_its_log_is_not_used(failing, tmp_path):
    """A sync that fails may leave the file in another mode, which SQLite does not call an error."""
    syncs = 0

    def decide(op):
        nonlocal syncs
        syncs += op.kind == "sync"
        return IO_ERROR_FSYNC if op.kind == "sync" and syncs == failing else OK

    with mounted(Disk(tmp_path, decide)):
        try:
            ledger = SqliteLedger(tmp_path)
        except RunError as refused:
            assert "cannot be opened for writing" in str(refused)
            return
        with ledger, closing(sqlite3.connect(tmp_path / LEDGER_NAME)) as other:
            assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    pytest.fail("no sync failed")
