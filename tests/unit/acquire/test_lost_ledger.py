"""A ledger that is gone, emptied or replaced: nothing is asked again, and what can be is saved."""

import shutil
import sqlite3
from contextlib import closing, contextmanager

import pytest

from judgelaw.acquire import acquire
from judgelaw.acquire.acquisition import refuse_shared
from judgelaw.acquire.verify import verify
from judgelaw.cli import main
from judgelaw.errors import IntegrityError
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.study import RECORD, SUMS, freeze, load_study, open_run
from servers.provider import Provider, say
from servers.study import chat_judge, simulated_judge, write_study


@pytest.fixture
def provider():
    with Provider(say("A")) as started:
        yield started


@pytest.fixture
def frozen(tmp_path, provider):
    study = write_study(tmp_path, [chat_judge(provider.base_url)])
    return freeze(load_study(study), tmp_path / "run")


def gone(run):
    (run / LEDGER_NAME).unlink()


def gone_with_its_sums(run):
    """What is left where somebody tidied up: sums without the ledger."""
    gone(run)
    sums = (run / SUMS).read_text().splitlines(keepends=True)
    (run / SUMS).write_text("".join(line for line in sums if LEDGER_NAME not in line))


def gone_with_its_tables(run):
    gone(run)
    for name in ("calls.parquet", "timing.parquet"):
        (run / name).unlink()


def emptied(run):
    (run / LEDGER_NAME).write_bytes(b"")


def anew(run):
    """A database, and nothing in it."""
    gone(run)
    with closing(sqlite3.connect(run / LEDGER_NAME)) as empty:
        empty.execute("CREATE TABLE t (x)")


@pytest.mark.parametrize(
    "harm",
    [gone, gone_with_its_sums, gone_with_its_tables, emptied, anew],
    ids=lambda h: h.__name__,
)
def test_a_finished_run_without_its_ledger_asks_nothing(frozen, provider, harm):
    acquire(frozen).raise_if_open()
    asked = len(provider.seen)
    before = frozen.path / LEDGER_NAME
    copy = shutil.copyfile(before, frozen.path.with_name("copy"))
    harm(frozen.path)
    tables = {p: p.read_bytes() for p in frozen.path.glob("*.parquet")}
    assert not verify(frozen.path).ok
    with pytest.raises(IntegrityError, match=r"from a copy.*--accept-loss"):
        acquire(frozen)
    assert len(provider.seen) == asked
    assert {p: p.read_bytes() for p in tables} == tables
    assert not (frozen.path / ".lock").exists()
    shutil.copyfile(copy, before)
    acquire(frozen).raise_if_open()
    assert len(provider.seen) == asked


def test_the_command_line_leaves_with_four_and_says_how_to_go_on(tmp_path, provider, capsys):
    study = write_study(tmp_path, [chat_judge(provider.base_url)], repeats=2)
    command = ["audit", str(study), "--out", str(tmp_path / "run")]
    with pytest.raises(SystemExit) as done:
        main(command)
    assert done.value.code == 0
    asked, page = len(provider.seen), (tmp_path / "run/report.html").read_bytes()
    (tmp_path / "run" / LEDGER_NAME).unlink()
    capsys.readouterr()
    with pytest.raises(SystemExit) as refused:
        main(command)
    said = capsys.readouterr().err
    assert refused.value.code == 4, said
    assert "Restore the ledger from a copy" in said
    assert len(provider.seen) == asked
    assert (tmp_path / "run/report.html").read_bytes() == page


def test_who_accepts_the_loss_asks_again_and_it_is_written_down(frozen, provider):
    acquire(frozen).raise_if_open()
    (frozen.path / LEDGER_NAME).unlink()
    acquire(frozen, accept_loss=True).raise_if_open()
    assert len(provider.seen) == 2 * frozen.count
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        (loss,) = view.losses()
    assert loss.replies == frozen.count
    assert verify(frozen.path).ok


def test_a_run_that_was_killed_in_its_first_session_is_known_to_have_had_a_ledger(tmp_path):
    killed = tmp_path / "killed"
    with asked(tmp_path, lambda run: shutil.copytree(run, killed)) as (frozen, provider):
        acquire(frozen).raise_if_open()
        count = len(provider.seen)
        for path in (*killed.glob(f"{LEDGER_NAME}*"), killed / "ledger.sent", killed / ".lock"):
            path.unlink()
        with pytest.raises(IntegrityError, match=f"{SUMS} names it"):
            acquire(open_run(killed))
        assert len(provider.seen) == count


def test_a_folder_that_was_only_frozen_goes_on(frozen):
    assert verify(frozen.path).ok
    assert acquire(open_run(frozen.path)).complete


def test_a_shared_ledger_is_no_way_around_it(frozen):
    acquire(frozen).raise_if_open()
    gone(frozen.path)
    with pytest.raises(IntegrityError, match=r"no ledger\.sqlite, and calls were asked"):
        refuse_shared(frozen.path)


@pytest.mark.parametrize("kept", [LEDGER_NAME, "calls.parquet", "manifest.parquet", SUMS])
def test_what_is_left_of_a_run_is_not_written_over(tmp_path, kept):
    study = load_study(write_study(tmp_path, [simulated_judge()]))
    run = freeze(study, tmp_path / "run").path
    acquire(open_run(run)).raise_if_open()
    for path in [*run.iterdir()]:
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name != kept:
            path.unlink()
    with pytest.raises(IntegrityError, match=f"{kept} without {RECORD}"):
        freeze(study, run)


def unlinked(run):
    (run / LEDGER_NAME).unlink()


def all_unlinked(run):
    for path in run.glob(f"{LEDGER_NAME}*"):
        path.unlink()


def replaced(run):
    """As an editor, a synchronising program or a checkout of an older state does it."""
    draft = run / "draft"
    with closing(sqlite3.connect(draft)) as other:
        other.execute("CREATE TABLE t (x)")
    draft.replace(run / LEDGER_NAME)


def moved_away(run):
    run.rename(run.with_name("elsewhere"))


@contextmanager
def asked(folder, harm):
    """Freeze a run of calls that are asked one by one; at the fifth something happens to it."""
    run = folder / "run"

    async def act(seen, request):
        if seen.total == 5:
            harm(run)
        return await say("A")(seen, request)

    with Provider(act) as provider:
        study = write_study(
            folder, [chat_judge(provider.base_url)], items=8, transport={"concurrency": 1}
        )
        yield freeze(load_study(study), run), provider


@pytest.mark.parametrize(
    "harm", [unlinked, all_unlinked, replaced, moved_away], ids=lambda h: h.__name__
)
def test_a_ledger_that_vanishes_on_the_way_loses_no_reply(tmp_path, harm):
    """The session stops, and every reply that came is where the message says."""
    with asked(tmp_path, harm) as (frozen, provider):
        with pytest.raises(IntegrityError, match="removed or replaced") as stopped:
            acquire(frozen)
        count = len(provider.seen)
        assert count < frozen.count, "nothing more is asked"
        if not frozen.path.exists():  # it was moved, and is put back by who moved it
            (tmp_path / "elsewhere").rename(frozen.path)
        rescued = [p for p in (*frozen.path.iterdir(), *tmp_path.iterdir()) if "rescued" in p.name]
        for path in rescued:
            assert path.name in str(stopped.value)
            if harm is replaced:
                with pytest.raises(IntegrityError, match="lacks"):
                    acquire(frozen)
            path.replace(frozen.path / LEDGER_NAME)
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            assert view.totals().completed == count
        acquire(frozen).raise_if_open()
        assert len(provider.seen) == frozen.count
        assert verify(frozen.path).ok
