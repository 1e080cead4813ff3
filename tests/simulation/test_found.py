"""What the simulation found, one test for each."""

import pytest

from judgelaw.errors import RunError
from judgelaw.ledger import SqliteLedger
from simulation.disk import IO_ERROR_FSYNC, OK, Disk, mounted


@pytest.mark.parametrize("failing", range(1, 4))
def test_a_ledger_that_stays_without_its_log_is_not_used(failing, tmp_path):
    """SQLite tells of a sync that failed, and of the mode it stays in, only to who reads on."""
    syncs = 0

    def decide(op):
        nonlocal syncs
        syncs += op.kind == "sync"
        return IO_ERROR_FSYNC if op.kind == "sync" and syncs == failing else OK

    with (
        mounted(Disk(tmp_path, decide)),
        pytest.raises(RunError, match="cannot be opened for writing"),
    ):
        SqliteLedger(tmp_path)
