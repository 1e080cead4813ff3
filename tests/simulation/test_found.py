"""What the simulation found, one test for each."""

import random
from itertools import count
from pathlib import Path

import pytest

from judgelaw.errors import IntegrityError, JudgelawError, RunError, StorageError
from judgelaw.ledger import LEDGER_NAME, SqliteLedger, SqliteView
from simulation.disk import FULL, IO_ERROR_FSYNC, IO_ERROR_WRITE, OK, Disk, mounted
from simulation.shadow import Op, Shadow
from simulation.world import play


class FailingAt:
    """Refuses one operation of a kind, the one at this place."""

    def __init__(self, place: int, kind: str, code: int) -> None:
        self._left, self._kind, self._code = place, kind, code

    def __call__(self, op: Op) -> int:
        self._left -= op.kind == self._kind
        return self._code if op.kind == self._kind and self._left == 0 else OK

    @property
    def came(self) -> bool:
        return self._left <= 0


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
        mounted(Disk(tmp_path, FailingAt(place, "sync", IO_ERROR_FSYNC))),
        pytest.raises(JudgelawError, match=r"cannot be opened for writing|free the disk"),
    ):
        SqliteLedger(tmp_path)


@pytest.mark.parametrize(
    ("kind", "code"), [("write", FULL), ("write", IO_ERROR_WRITE), ("sync", IO_ERROR_FSYNC)]
)
def test_a_disk_that_refuses_anything_is_said_in_words(kind, code, tmp_path):
    """Whichever operation it is: while a ledger is opened, while it is closed, or in between."""
    for place in count(1):
        folder = tmp_path / str(place)
        folder.mkdir()
        decide = FailingAt(place, kind, code)
        try:
            with mounted(Disk(folder, decide)), SqliteLedger(folder):
                pass
        except (RunError, StorageError) as refused:
            assert "the same command" in str(refused)  # noqa: PT017 - some are survived
        if not decide.came:
            break
        with mounted(Disk(folder, lambda _: OK)), SqliteLedger(folder) as ledger:
            assert ledger.check() == []
    assert place > 5


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


@pytest.mark.parametrize("page", [1, 2, 3, 8])
def test_a_page_that_was_overwritten_is_an_integrity_failure(page, tmp_path):
    """SQLite's own check gives up on some of them in the middle of its answer."""
    with mounted(Disk(tmp_path, lambda _: OK)), SqliteLedger(tmp_path):
        pass
    with (tmp_path / LEDGER_NAME).open("r+b") as file:
        file.seek(page * 4096)
        file.write(b"\xff" * 4096)
    with (
        SqliteView(tmp_path / LEDGER_NAME) as view,
        pytest.raises(IntegrityError, match="damaged"),
    ):
        view.check()


def test_what_is_written_once_more_behind_a_failed_sync_is_sure():
    """A checkpoint that fails is made again, page by page; what it leaves out stays in doubt."""
    shadow = Shadow()
    shadow.start({"f": b"........"})
    for op in (
        *(Op("write", "f", 0, b"old"), Op("write", "f", 5, b"old"), Op("failed sync", "f")),
        *(Op("write", "f", 0, b"new"), Op("sync", "f")),
    ):
        shadow.follow(op)
    assert shadow.image("synced", random.Random(0)) == {"f": b"new....."}
    assert shadow.image("everything", random.Random(0)) == {"f": b"new..old"}


@pytest.mark.parametrize("seed", [1813, 2957, 3949])
def test_a_checkpoint_that_failed_once_harms_nothing(seed):
    assert play([seed]) == {}
