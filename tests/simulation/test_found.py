"""What the simulation found, one test for each."""

import random
from pathlib import Path

import pytest

from judgelaw.errors import RunError
from judgelaw.ledger import LEDGER_NAME, SqliteLedger, SqliteView
from simulation.disk import FULL, IO_ERROR_FSYNC, IO_ERROR_WRITE, OK, Disk, mounted


def failing_at(place: int, kind: str, code: int):
    """Refuse one operation of a kind, the one at this place."""
    count = 0

    def decide(op):
        nonlocal count
        count += op.kind == kind
        return code if op.kind == kind and count == place else OK

    return decide


def after_power_loss(folder: Path) -> None:
    """Use a ledger, close it in good order, and lose power at once."""
    with mounted(Disk(folder, lambda _: OK)) as disk, SqliteLedger(folder):
        pass
    for path in folder.iterdir():
        path.unlink()
    for name, content in disk.shadow.image("synced", random.Random(0)).items():
        (folder / name).write_bytes(content)


@pytest.mark.parametrize("place", range(1, 4))
def test_a_ledger_that_stays_without_its_log_is_not_used(place, tmp_path):
    """SQLite tells of a sync that failed, and of the mode it stays in, only to who reads on."""
    with (
        mounted(Disk(tmp_path, failing_at(place, "sync", IO_ERROR_FSYNC))),
        pytest.raises(RunError, match="cannot be opened for writing"),
    ):
        SqliteLedger(tmp_path)


@pytest.mark.parametrize(
    ("kind", "code"), [("write", FULL), ("write", IO_ERROR_WRITE), ("sync", IO_ERROR_FSYNC)]
)
def test_a_disk_that_refuses_anything_is_said_in_words(kind, code, tmp_path):
    """Whichever operation it is: while a ledger is opened, while it is closed, or in between."""
    for place in range(1, 200):
        folder = tmp_path / str(place)
        folder.mkdir()
        disk = Disk(folder, failing_at(place, kind, code))
        try:
            with mounted(disk), SqliteLedger(folder):
                pass
        except RunError as refused:
            assert "then run the same command" in str(refused)  # noqa: PT017 - some are survived
    with mounted(Disk(folder, lambda _: OK)), SqliteLedger(folder) as ledger:
        assert ledger.check() == []


def test_a_power_loss_after_a_good_end_is_no_damage(tmp_path):
    """The last change may come back undone, with the journal that undoes it."""
    after_power_loss(tmp_path)
    assert (tmp_path / f"{LEDGER_NAME}-journal").exists()
    with (
        SqliteView(tmp_path / LEDGER_NAME) as reader,
        pytest.raises(RunError, match="puts that right"),
    ):
        reader.totals()
    with SqliteLedger(tmp_path) as ledger:
        assert ledger.check() == []
