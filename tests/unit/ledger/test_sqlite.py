"""The SQLite file itself: rules that no statement gets past, upgrades, and what a kill leaves."""

import asyncio
import sqlite3
import time
from contextlib import closing

import pytest

from judgelaw.errors import InputError, IntegrityError, RunError, StorageError
from judgelaw.ledger import LEDGER_NAME, SqliteLedger, SqliteView
from judgelaw.ledger.sent import SENT_NAME, LeftMarks, SentMarks
from judgelaw.ledger.sqlite_view import damaged
from judgelaw.ledger.sqltext import migrations, statements
from servers.endings import completed
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

    monkeypatch.setattr("judgelaw.ledger.sqlite.write_endings", full)
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
