"""The SQLite file itself: rules that no statement gets past, upgrades, and what a kill leaves."""

import asyncio
import shutil
import sqlite3
import time
from contextlib import closing
from functools import partial

import pytest

from judgelaw.errors import InputError, IntegrityError, RunError, RunLockedError, StorageError
from judgelaw.ledger import LEDGER_NAME, SENT_NAME, SqliteLedger, SqliteView, lost
from judgelaw.ledger.lock import LeftMarks, RunLock, SentMarks
from judgelaw.ledger.migrations import migrations, statements
from judgelaw.ledger.sqlite_view import damaged
from servers.endings import completed, read
from servers.study import chat_judge, frozen_study

ENDED = "INSERT INTO attempts (call, number, session, reserved_at, state, ended_at, sent_at)"


@pytest.fixture
def frozen(tmp_path):
    return frozen_study(tmp_path, [chat_judge("http://127.0.0.1:9/v1")])


@pytest.fixture
def path(frozen):
    """A closed ledger with one completed call, one failed and one open attempt of others."""
    with SqliteLedger(frozen.path) as ledger:
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="m")
        one, *_ = asyncio.run(ledger.reserve("chat", after=-1, limit=3))
        ledger.record(completed(one))
        ledger.record(read(one))
    return frozen.path / LEDGER_NAME


@pytest.mark.parametrize(
    ("statement", "rule"),
    [
        ("UPDATE calls SET seed = 1", "never changed"),
        ("DELETE FROM calls", "never deleted"),
        ("DELETE FROM attempts", "never deleted"),
        ("DELETE FROM completions", "never deleted"),
        ("UPDATE completions SET text = 'B'", "never changed"),
        ("UPDATE verdicts SET verdict = 'tie'", "never changed"),
        ("UPDATE attempts SET state = 'started', ended_at = NULL WHERE id = 1", "ends once"),
        ("UPDATE attempts SET state = 'failed' WHERE id = 1", "ends once"),
        (
            "INSERT INTO attempts (call, number, session, reserved_at) VALUES (1, 2, 1, 0)",
            "never requested again",
        ),
        (
            "INSERT INTO attempts (call, number, session, reserved_at) VALUES (99, 1, 1, 0)",
            "FOREIGN KEY",
        ),
        (
            "INSERT INTO attempts (call, number, session, reserved_at) VALUES (4, 0, 1, 0)",
            "CHECK",
        ),
        (
            f"{ENDED} VALUES (4, 1, 1, 0, 'lost', 1, 1)",
            "CHECK",
        ),
        (
            f"{ENDED} VALUES (4, 1, 1, 0, 'failed', 1, 1)",
            "CHECK",
        ),
        (
            (
                "INSERT INTO completions (call, attempt, sent_at, ended_at, status, body, "
                "content_filtered) VALUES (4, 1, 0, 0, 200, x'', 0)"
            ),
            "open attempt of its own call",
        ),
        ("INSERT INTO verdicts VALUES (7, 'p', 'tie', NULL, 'parsed')", "FOREIGN KEY"),
        ("INSERT INTO verdicts VALUES (1, 'p', '', NULL, 'parsed')", "CHECK"),
        ("INSERT INTO verdicts SELECT * FROM verdicts", "UNIQUE"),
        ("UPDATE judges SET judge_sha256 = x'00'", "CHECK"),
    ],
)
def test_the_database_refuses_illegal_states(path, statement, rule):
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA foreign_keys = ON")
        with pytest.raises(sqlite3.Error, match=rule):
            connection.execute(statement)
    connection.close()


def test_two_attempts_of_a_call_are_never_open_at_once(path):
    connection = sqlite3.connect(path)
    start = "INSERT INTO attempts (call, number, session, reserved_at) VALUES (5, ?, 1, 0)"
    connection.execute(start, (1,))
    with pytest.raises(sqlite3.IntegrityError, match="never open at once"):
        connection.execute(start, (2,))
    with pytest.raises(sqlite3.IntegrityError, match="only with its completion"):
        connection.execute(
            "UPDATE attempts SET state = 'completed', ended_at = 1, sent_at = 1 WHERE call = 5"
        )
    connection.close()


def test_a_closed_ledger_is_one_file(path):
    assert sorted(p.name for p in path.parent.glob("ledger*")) == [LEDGER_NAME]
    before = path.read_bytes()
    with SqliteView(path) as view:
        assert view.totals().completed == 1
        assert view.check() == []
    assert sorted(p.name for p in path.parent.glob("ledger*")) == [LEDGER_NAME]
    assert path.read_bytes() == before


def test_a_reader_may_look_while_a_session_writes(frozen, path):
    with SqliteLedger(frozen.path) as ledger, SqliteView(path) as view:
        asyncio.run(ledger.reserve("chat", after=-1, limit=2))
        assert view.totals().in_flight == 2


def test_a_changed_rule_is_found(path):
    with sqlite3.connect(path) as connection:
        connection.execute("DROP TRIGGER completions_are_frozen")
    connection.close()
    with SqliteView(path) as view:
        assert view.check() == ["trigger completions_are_frozen is not as judgelaw made it"]


def test_a_missing_ledger_says_how_to_start(tmp_path):
    with pytest.raises(RunError, match="nothing was acquired here yet"):
        SqliteView(tmp_path / LEDGER_NAME).totals()


def test_a_damaged_ledger_says_so(path):
    content = bytearray(path.read_bytes())
    content[:16] = b"no database here"
    path.write_bytes(content)
    with SqliteView(path) as view, pytest.raises(IntegrityError, match="damaged"):
        view.totals()
    with pytest.raises(IntegrityError, match="damaged"):
        SqliteLedger(path.parent)
    assert not (path.parent / ".lock").exists()


def test_a_newer_ledger_asks_for_a_newer_judgelaw(path):
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO migrations VALUES (99, 'future', 0)")
    connection.close()
    with pytest.raises(InputError, match="schema version 99, and this judgelaw knows up to"):
        SqliteLedger(path.parent)


def test_migrations_are_numbered_without_gaps():
    steps = migrations("sqlite")
    assert [step.version for step in steps] == list(range(1, len(steps) + 1))


def test_a_run_that_another_machine_holds_is_refused_by_its_name(tmp_path, monkeypatch):
    with monkeypatch.context() as there:
        there.setattr("judgelaw.ledger.lock.socket.gethostname", lambda: "elsewhere")
        held = RunLock(tmp_path)
    with held, pytest.raises(RunLockedError, match=r"is held by process \d+ on elsewhere, since "):
        RunLock(tmp_path)
    RunLock(tmp_path).release()


def test_marks_tell_what_was_sent(tmp_path):
    path = tmp_path / SENT_NAME
    marks = SentMarks(path)
    marks.mark(3)
    marks.mark(3 + (1 << 14))
    left = LeftMarks(path)
    assert left.never_sent(2)
    assert not left.never_sent(3 + (1 << 14))
    assert not left.never_sent(3), "its mark was written over by a later one"
    assert left.never_sent(3 + (2 << 14))
    marks.close()
    assert not path.exists()


def test_marks_of_another_boot_or_a_cut_file_prove_nothing(tmp_path):
    path = tmp_path / SENT_NAME
    marks = SentMarks(path)
    content = path.read_bytes()
    marks.close()
    path.write_bytes(b"another-boot".ljust(64, b"\0") + content[64:])
    assert not LeftMarks(path).never_sent(1)
    path.write_bytes(content[:-1])
    assert not LeftMarks(path).never_sent(1)
    path.unlink()
    assert not LeftMarks(path).never_sent(1)


def test_a_disk_that_refuses_stops_the_session_with_words(frozen, monkeypatch):
    def full(*_):
        raise sqlite3.OperationalError("database or disk is full")

    monkeypatch.setattr("judgelaw.ledger.sqlite.write_records", full)
    ledger = SqliteLedger(frozen.path)
    ledger.load(frozen.judges, frozen.iter_calls(), manifest="m")
    (one,) = asyncio.run(ledger.reserve("chat", after=-1, limit=1))
    ledger.record(completed(one))
    with pytest.raises(RunError, match="disk is full; nothing more was sent"):
        ledger.close()
    monkeypatch.undo()
    with SqliteLedger(frozen.path) as ledger:
        assert ledger.totals().in_flight == 0


def test_groups_gather_while_the_disk_is_busy(frozen):
    with SqliteLedger(frozen.path) as ledger:
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="m")

        async def session():
            groups = []
            ledger.listen(lambda endings: groups.append(len(endings)))
            for r in await ledger.reserve("chat", after=-1, limit=16):
                ledger.record(completed(r))
            await ledger.flush()
            await asyncio.sleep(0)
            return groups

        start = time.monotonic()
        groups = asyncio.run(session())
        assert sum(groups) == 16
        assert len(groups) <= 2, "sixteen endings recorded at once are not sixteen commits"
        assert time.monotonic() - start < 5


def killed(frozen, folder, *, replies=40):
    """Copy a run as a kill would leave it: answered calls, marks, and the log beside the file."""
    with SqliteLedger(frozen.path) as ledger:
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="m")

        async def session():
            reserved = await ledger.reserve("chat", after=-1, limit=replies)
            for r in reserved:
                await ledger.sending(r)
                ledger.record(completed(r))
                await ledger.flush()

        asyncio.run(session())
        shutil.copytree(frozen.path, folder)
    (folder / ".lock").unlink()
    return folder


@pytest.fixture
def many(tmp_path):
    return frozen_study(tmp_path, [chat_judge("http://127.0.0.1:9/v1")], items=10)


def flip(path, at):
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)


def lose(run):
    (run / f"{LEDGER_NAME}-wal").unlink()


def damage(run):
    """Flip one bit in the middle of the log: SQLite takes what is before it, and says nothing."""
    path = run / f"{LEDGER_NAME}-wal"
    flip(path, path.stat().st_size // 2)


def cut(run):
    path = run / f"{LEDGER_NAME}-wal"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])


def start_anew(run):
    for path in run.glob(f"{LEDGER_NAME}*"):
        path.unlink()


@pytest.mark.parametrize("harm", [lose, damage, cut, start_anew])
def test_a_ledger_that_lost_what_it_had_is_not_opened(many, tmp_path, monkeypatch, harm):
    monkeypatch.setattr("judgelaw.ledger.sqlite._CHECKPOINT_S", 1e9)
    run = killed(many, tmp_path / "killed")
    harm(run)
    before = {p.name: p.read_bytes() for p in run.iterdir() if p.is_file()}
    with pytest.raises(IntegrityError, match=r"lacks \d+ replies .*--accept-loss") as refused:
        SqliteLedger(run)
    assert refused.value.exit_code == 4
    there = {p.name: p.read_bytes() for p in run.iterdir() if p.is_file()}
    assert all(there[name] == content for name, content in before.items() if "-shm" not in name)
    missing = lost(run / LEDGER_NAME)
    with SqliteLedger(run, accept_loss=True) as ledger:
        ledger.load(many.judges, many.iter_calls(), manifest="m")
        assert ledger.totals().completed == 40 - missing.replies
        assert ledger.losses() == (missing,)
    with SqliteLedger(run) as ledger:
        assert ledger.losses() == (missing,)


def test_a_kill_alone_loses_nothing(many, tmp_path):
    run = killed(many, tmp_path / "killed")
    assert lost(run / LEDGER_NAME) is None
    with SqliteLedger(run) as ledger:
        assert ledger.totals().completed == 40
        assert ledger.losses() == ()


def test_a_kill_leaves_most_of_it_in_the_main_file(many, tmp_path):
    """Time passes fifty milliseconds a look, so that forty commits are worth a few checkpoints."""
    now = iter(range(10**6))
    ledger_of = partial(SqliteLedger, clock=lambda: next(now) / 20)
    with ledger_of(many.path) as ledger:
        ledger.load(many.judges, many.iter_calls(), manifest="m")

        async def session():
            for r in await ledger.reserve("chat", after=-1, limit=40):
                ledger.record(completed(r))
                await ledger.flush()

        asyncio.run(session())
        run = shutil.copytree(many.path, tmp_path / "killed")
    lose(run)
    with SqliteView(run / LEDGER_NAME) as view:
        assert view.totals().completed >= 20


@pytest.mark.parametrize("place", [0, 1])
def test_one_damaged_count_is_made_up_for_by_the_other(many, tmp_path, place):
    run = killed(many, tmp_path / "killed")
    sent = run / SENT_NAME
    flip(sent, sent.stat().st_size - 1 - 20 * place)
    counts = LeftMarks(sent).counts
    assert counts.completed in (39, 40)
    lose(run)
    (run / LEDGER_NAME).write_bytes(b"")
    assert lost(run / LEDGER_NAME).replies == counts.completed


def test_marks_without_counts_are_those_of_an_earlier_version(many, tmp_path):
    run = killed(many, tmp_path / "killed")
    sent = run / SENT_NAME
    sent.write_bytes(sent.read_bytes()[:-40])
    assert LeftMarks(sent).counts == (0, 0)
    assert not LeftMarks(sent).never_sent(40)
    assert LeftMarks(sent).never_sent(41)
    with SqliteLedger(run) as ledger:
        assert ledger.totals().completed == 40


def test_completions_are_read_without_sorting_their_bodies(path):
    """Sorting would hold every body of a run at once; the sequence is that of an index."""
    with closing(sqlite3.connect(path)) as connection:
        plan = connection.execute("EXPLAIN QUERY PLAN " + statements("sqlite")["completions"])
        assert not [step for *_, step in plan if "TEMP B-TREE" in step]


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (sqlite3.SQLITE_FULL, StorageError),
        (sqlite3.SQLITE_READONLY, StorageError),
        (sqlite3.SQLITE_IOERR_FSYNC, StorageError),
        (sqlite3.SQLITE_CANTOPEN, StorageError),
        (sqlite3.SQLITE_CORRUPT, IntegrityError),
        (sqlite3.SQLITE_NOTADB, IntegrityError),
    ],
)
def test_a_fault_of_the_disk_is_no_damage_of_the_ledger(path, code, error):
    fault = sqlite3.DatabaseError("what SQLite says")
    fault.sqlite_errorcode = code
    assert type(damaged(path, fault)) is error
