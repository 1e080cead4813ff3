"""Commands beside each other, and commands that are killed: the same command goes on."""

import errno
import shutil

import pytest

from judgelaw.acquire import acquire, reparse, with_parser, write_outputs
from judgelaw.acquire.readings import read_again
from judgelaw.acquire.verify import verify
from judgelaw.errors import InputError, StorageError
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.runs import Contents, release, verify_package
from judgelaw.study import PENDING, adopt, open_run
from servers.study import frozen_study, simulated_judge

ANOTHER = {"regex": "^ *([AB]|TIE)"}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    frozen = frozen_study(tmp_path_factory.mktemp("killed"), [simulated_judge()], items=6)
    acquire(frozen).raise_if_open()
    return frozen.path


@pytest.fixture
def run(original, tmp_path):
    return shutil.copytree(original, tmp_path / "run")


def beside(run):
    return sorted(path.name for path in run.iterdir() if path.name.startswith(f"{LEDGER_NAME}-"))


@pytest.fixture
def beside_reader(monkeypatch):
    """Open a reader once the writer is at work, as `analyze` and `verify` may; it stays open."""
    readers = []

    def read(ledger, spec):
        reader = SqliteView(ledger.path)
        rows = reader.verdicts()
        readers.append((reader, rows, next(rows)))
        return read_again(ledger, spec)

    monkeypatch.setattr("judgelaw.acquire.outputs.read_again", read)
    yield readers
    for reader, rows, _ in readers:
        rows.close()
        reader.close()


@pytest.mark.parametrize("first", ["the writer", "the reader"])
def test_a_reader_beside_a_writer_leaves_nothing_behind(run, beside_reader, first):
    """`analyze` or `verify` beside `reparse --adopt`, whichever of the two ends first."""
    frozen = open_run(run)
    specs = {"sim": with_parser(frozen.readers["sim"], ANOTHER)}
    reparse(frozen, specs)
    ((reader, rows, (call, _)),) = beside_reader
    if first == "the reader":
        rows.close()
        reader.close()
    write_outputs(adopt(frozen, specs))
    assert beside(run) == []
    assert verify(run).ok
    if first == "the writer":  # it sees what was there when it began
        assert len({call, *(call for call, _ in rows)}) == frozen.count
        reader.close()
    assert beside(run) == []
    with SqliteView(run / LEDGER_NAME) as later:
        assert sum(1 for _ in later.verdicts()) == 2 * frozen.count
    assert verify(run).ok


@pytest.mark.usefixtures("beside_reader")
def test_a_copy_that_the_disk_does_not_take_is_said_and_loses_nothing(run, monkeypatch):
    frozen = open_run(run)
    specs = {"sim": with_parser(frozen.readers["sim"], ANOTHER)}

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("judgelaw.ledger.sqlite._copy", full)
        with pytest.raises(StorageError, match=r"No space left.*the same command goes on"):
            reparse(frozen, specs)
    reparse(frozen, specs)
    assert beside(run) == []
    assert verify(run).ok


def kill_at(step, monkeypatch):
    """Die at the n-th file that moves into its place, as under `kill -9`: nothing is cleaned up."""
    moves = iter(range(10_000))
    move = type(step["path"]).replace

    def replace(path, target):
        if PENDING in path.parts and next(moves) == step["at"]:
            raise Killed
        return move(path, target)

    monkeypatch.setattr("pathlib.Path.replace", replace)


class Killed(BaseException):
    """What no handler of ours takes for an error."""


def test_a_release_goes_on_wherever_it_was_killed(run, tmp_path, monkeypatch):
    package = tmp_path / "package"
    whole = release(run, tmp_path / "whole")
    for at in (0, 1, 2, 7, len(whole.files) - 1, len(whole.files)):
        kill_at({"path": package, "at": at}, monkeypatch)
        with pytest.raises(Killed):
            release(run, package)
        monkeypatch.undo()
        again = release(run, package)
        assert again.files == whole.files
        assert verify_package(package).ok
        assert not (package / PENDING).exists()
        assert release(run, package) == again, "once more changes nothing"
        shutil.rmtree(package)


def test_a_release_that_died_before_its_commit_is_done_again(run, tmp_path):
    package = tmp_path / "package"
    (package / PENDING).mkdir(parents=True)
    (package / PENDING / "calls.parquet").write_bytes(b"half")
    assert release(run, package).calls
    assert verify_package(package).ok


def test_another_package_is_not_written_over(run, tmp_path):
    package = tmp_path / "package"
    release(run, package)
    with pytest.raises(InputError, match="not just this package"):
        release(run, package, Contents(completions=True))
    (package / "tables" / next((package / "tables").iterdir()).name).write_bytes(b"")
    with pytest.raises(InputError, match="not just this package"):
        release(run, package)
