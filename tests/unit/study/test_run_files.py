import errno
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import sleep

import pytest

from judgelaw.errors import InputError, IntegrityError, RunLockedError, StorageError
from judgelaw.study import durable, file_sha256, read_sums, write_sums
from judgelaw.study.run_files import PENDING, exclusive, placed, recover, settle, staged


def stage(run: Path, **files: str) -> None:
    with staged(run) as folder:
        for name, text in files.items():
            (folder / name).write_text(text)


def test_staged_files_arrive_together_with_their_hashes(tmp_path):
    stage(tmp_path, a="1", b="2")
    assert (tmp_path / "a").read_text() == "1"
    assert read_sums(tmp_path) == {name: file_sha256(tmp_path / name) for name in "ab"}
    assert not (tmp_path / PENDING).exists()


def test_a_failure_leaves_what_was_there(tmp_path):
    stage(tmp_path, a="1")
    before = read_sums(tmp_path)

    def fail():
        with staged(tmp_path) as folder:
            (folder / "a").write_text("2")
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        fail()
    assert (tmp_path / "a").read_text() == "1"
    assert read_sums(tmp_path) == before
    assert not (tmp_path / PENDING).exists()


def test_death_before_the_list_undoes_and_death_after_it_finishes(tmp_path):
    """Rebuild the folder as a kill leaves it after each step, and recover."""
    stage(tmp_path, a="1", b="1")
    pending = tmp_path / PENDING
    for moved in range(-1, 3):
        pending.mkdir()
        for name in "ab":
            (pending / name).write_text("2")
        if moved >= 0:
            (pending / "COMMIT").write_text(json.dumps(["a", "b"]))
        for name in "ab"[: max(moved, 0)]:
            (pending / name).replace(tmp_path / name)
        recover(tmp_path)
        expected = "1" if moved < 0 else "2"
        assert [(tmp_path / name).read_text() for name in "ab"] == [expected] * 2
        assert not pending.exists()
        for name in "ab":
            (tmp_path / name).write_text("1")


def test_sums_of_others_stay(tmp_path):
    stage(tmp_path, a="1")
    (tmp_path / "ledger").write_text("x")
    write_sums(tmp_path, ["ledger"])
    stage(tmp_path, b="2")
    assert set(read_sums(tmp_path)) == {"a", "b", "ledger"}
    lines = (tmp_path / "SHA256SUMS").read_text().splitlines()
    assert lines == sorted(lines, key=lambda line: line.split("  ")[1])


def test_a_broken_line_of_sums_is_named(tmp_path):
    (tmp_path / "SHA256SUMS").write_text("no line\n")
    with pytest.raises(IntegrityError, match="SHA256SUMS:1"):
        read_sums(tmp_path)


def test_what_lies_inside_arrives_with_its_sums_and_what_lies_outside_where_it_is(tmp_path):
    run = tmp_path / "run"
    stage(run.parent, ignored="")
    run.mkdir()
    page, folder, outside = run / "pages" / "a.html", run / "figures", tmp_path / "b.svg"
    with placed(run, page, folder, outside) as (there, inside, beyond):
        assert beyond == outside
        there.write_text("page")
        inside.mkdir()
        for name in ("x", "y"):
            (inside / name).write_text(name)
        beyond.write_text("drawing")
        assert not page.exists()
    assert set(read_sums(run)) == {"pages/a.html", "figures/x", "figures/y"}
    assert page.read_text() == "page"
    assert not (run / PENDING).exists()


def test_a_run_that_nothing_is_written_into_is_not_touched(tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    with placed(run, tmp_path / "b.svg"), placed(None, run / "c.svg"):
        pass
    assert list(run.iterdir()) == []


def test_a_disk_that_is_full_at_the_sums_leaves_what_was_there(tmp_path, monkeypatch):
    stage(tmp_path, a="1")
    before = (tmp_path / "SHA256SUMS").read_bytes()

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("judgelaw.study.run_files.write_all", full)
    with pytest.raises(StorageError):
        stage(tmp_path, a="2", b="2")
    assert {path.name for path in tmp_path.iterdir()} == {"a", "SHA256SUMS"}
    assert (tmp_path / "a").read_text() == "1"
    assert (tmp_path / "SHA256SUMS").read_bytes() == before


def test_what_a_dead_process_left_is_cleared_unless_another_is_at_work(tmp_path):
    (tmp_path / PENDING).mkdir()
    with exclusive(tmp_path):
        settle(tmp_path)
        assert (tmp_path / PENDING).exists()
    settle(tmp_path)
    assert not (tmp_path / PENDING).exists()


def test_who_only_adds_a_file_waits_for_another(tmp_path):
    with ThreadPoolExecutor() as pool:
        with exclusive(tmp_path):
            waiting = pool.submit(write_sums, tmp_path, [])
            sleep(0.2)
            assert not waiting.done()
        waiting.result(10)


def test_two_processes_do_not_freeze_one_run(tmp_path):
    with (
        exclusive(tmp_path),
        pytest.raises(RunLockedError, match="another process"),
        exclusive(tmp_path),
    ):
        pass
    with exclusive(tmp_path):
        pass


@pytest.fixture(params=[0o000, 0o022])
def mask(request):
    """Set what new files and folders leave out for others."""
    before = os.umask(request.param)
    yield
    os.umask(before)


@pytest.mark.usefixtures("mask")
def test_what_is_sealed_is_for_its_owner_alone(tmp_path):
    with exclusive(tmp_path / "run"), staged(tmp_path / "run") as folder:
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "sealed").mkdir()
        (folder / "sealed" / "labels.parquet").write_text("1")
    sealed = tmp_path / "run" / "sealed"
    assert sealed.stat().st_mode & 0o777 == 0o700
    assert (sealed / "labels.parquet").stat().st_mode & 0o777 == 0o600


def planted(place):
    """Say that whatever is a link, or lies at this place, belongs to somebody else."""

    def lstat(path, real=Path.lstat):
        there = real(path)
        foreign = path == place
        return os.stat_result([*there[:4], there.st_uid + foreign, *there[5:]])

    return lstat


@pytest.mark.parametrize("name", ["", "report.html", "inputs", "tables/x.csv"])
def test_a_folder_or_link_of_another_user_is_refused(tmp_path, monkeypatch, name):
    run, other = tmp_path / "run", tmp_path / "other"
    other.write_text("mine")
    (run / "tables").mkdir(parents=True)
    if name == "inputs":
        (run / name).mkdir()
    elif name:
        (run / name).symlink_to(other)
    with exclusive(run):
        pass
    monkeypatch.setattr(Path, "lstat", planted(run / name if name else run))
    with pytest.raises(InputError, match=r"of another user .*; give another path"), exclusive(run):
        pass
    assert other.read_text() == "mine"


def test_a_link_in_the_place_of_a_file_is_not_followed(tmp_path):
    other = tmp_path / "other"
    other.write_text("mine")
    for name in ("a.tmp", "a", ".freeze.lock"):
        (tmp_path / name).symlink_to(other)
    durable(tmp_path / "a", b"new")
    with pytest.raises(InputError, match="symbolic links"), exclusive(tmp_path):
        pass
    assert other.read_text() == "mine"
    assert (tmp_path / "a").read_bytes() == b"new"
    assert not (tmp_path / "a").is_symlink()
