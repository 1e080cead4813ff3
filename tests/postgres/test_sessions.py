"""Several sessions on one ledger: leases, the fence, and commits that happen exactly once."""

import asyncio
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace

import pytest

from judgelaw.errors import InputError, LeaseLostError, RunError, StudyChangedError
from judgelaw.ledger import PostgresLedger, PostgresView, Terms, Unsent, list_runs, read_address
from judgelaw.ledger.postgres_session import Session, this_machine
from servers.endings import completed, failed, record, states
from servers.study import chat_judge, frozen_study
from support.postgres import PASSWORD, Line, admin, server

HASTY = Terms(lease_s=0.05, attempts=2, patience_s=20)


@pytest.fixture
def frozen(tmp_path):
    return frozen_study(tmp_path, [chat_judge("http://127.0.0.1:9/v1")])


@pytest.fixture
def opened(address, frozen):
    """Begin a session; sessions that a test leaves open are closed for it."""
    sessions = []

    def begin(terms=None, at=None):
        ledger = PostgresLedger(at or address, "run", terms=terms or Terms(attempts=2))
        sessions.append(ledger)
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="m")
        return ledger

    yield begin
    for ledger in sessions:
        with suppress(RunError):  # what a test broke on purpose
            ledger.close()


def run(work):
    return asyncio.run(work)


def reserve(ledger, limit=100, after=-1):
    return run(ledger.reserve("chat", after=after, limit=limit))


def lose(ledger, by):
    """Let another session find this one silent."""
    admin_in(ledger, "UPDATE sessions SET heartbeat_at = heartbeat_at - interval '1 day'")
    run(by.beat())


def admin_in(ledger, sql):
    with ledger.address.connect() as connection:
        connection.execute(f'SET search_path TO "judgelaw:{ledger.run}"')
        cursor = connection.execute(sql)
        return cursor.fetchall() if cursor.description else cursor.rowcount


def test_two_sessions_never_hold_the_same_call(opened, frozen):
    one, two = opened(), opened()
    mine = [r.call.call_id for _ in range(4) for r in reserve(one, limit=2)]
    theirs = [r.call.call_id for _ in range(4) for r in reserve(two, limit=2)]
    assert len(set(mine + theirs)) == len(mine) + len(theirs) == frozen.count
    assert reserve(one) == []


def test_many_sessions_at_once_share_without_loss(opened, frozen):
    ledgers, taken = [opened() for _ in range(6)], []

    def take(ledger):
        while batch := reserve(ledger, limit=1):
            taken.extend(r.call.call_id for r in batch)

    threads = [threading.Thread(target=take, args=(ledger,)) for ledger in ledgers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == sorted(c.call_id for c in frozen.iter_calls())


def test_a_silent_session_is_lost_and_its_calls_come_back(opened):
    silent, other = opened(), opened()
    sent, kept = reserve(silent, limit=2)
    run(silent.sending(sent))
    lose(silent, by=other)
    assert states(other) == ["orphaned", "unsent"]
    again = reserve(other, limit=2)
    assert [(r.call, r.number) for r in again] == [(sent.call, 2), (kept.call, 2)]
    assert other.totals().at_risk == 1


LATE = {
    "complete": lambda ledger, one: record(ledger, completed(one)),
    "fail": lambda ledger, one: record(ledger, failed(one)),
    "give back": lambda ledger, one: record(ledger, Unsent(reservation=one, ended_at=1.0)),
    "send": lambda ledger, one: run(ledger.sending(one)),
    "reserve": lambda ledger, _: reserve(ledger),
    "again": lambda ledger, one: run(ledger.again(one)),
}


@pytest.mark.parametrize("late", LATE)
def test_a_late_session_changes_nothing(opened, late):
    silent, other = opened(), opened()
    (one,) = reserve(silent, limit=1)
    run(silent.sending(one))
    lose(silent, by=other)
    (again,) = reserve(other, limit=1)
    before = list(other.attempts())
    with pytest.raises(LeaseLostError, match="silent for longer than its lease"):
        LATE[late](silent, one)
    assert list(other.attempts()) == before
    record(other, completed(again))
    assert other.totals().completed == 1


@pytest.mark.parametrize("same", [True, False])
def test_a_machine_of_the_same_name_is_not_asked_about_its_processes(opened, monkeypatch, same):
    """After an outage longer than the lease: only a process of this very machine is known dead."""
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    host = this_machine()
    if not same:
        monkeypatch.setattr("judgelaw.ledger.postgres_session.boot_id", lambda: b"another")
        host = this_machine.__wrapped__()
    assert socket.gethostname() in host
    silent, other = opened(), opened()
    (sent,) = reserve(silent, limit=1)
    run(silent.sending(sent))
    admin_in(
        silent,
        f"UPDATE sessions SET pid = {ended.pid}, host = '{host}', "  # noqa: S608 - names of ours
        f"heartbeat_at = heartbeat_at - interval '90 s' WHERE id = {silent._session.id}",
    )
    run(other.beat())
    assert states(other) == (["orphaned"] if same else ["started"])


def test_a_late_session_changes_nothing_before_anybody_took_its_call(opened):
    silent, other = opened(), opened()
    (one,) = reserve(silent, limit=1)
    lose(silent, by=other)
    with pytest.raises(LeaseLostError):
        record(silent, completed(one))
    assert other.totals().completed == 0


def test_a_session_that_slept_but_was_not_missed_goes_on(opened):
    """Nobody declared it lost, so what it was waiting for still counts."""
    lease_s = 2.0
    ledger = opened(replace(HASTY, lease_s=lease_s))
    (one,) = reserve(ledger, limit=1)
    run(ledger.sending(one))
    threading.Event().wait(1.1 * lease_s)
    assert not ledger._session.valid
    record(ledger, completed(one))
    assert ledger._session.valid


def test_a_request_leaves_only_inside_its_lease(opened):
    """A sleep between the durable mark and the wire is noticed: the mark is renewed."""
    ledger = opened()
    (one,) = reserve(ledger, limit=1)
    times = iter([0.0, 1e6, 1e6, 1e6, 1e6])
    ledger._session._now = lambda: next(times, 1e6)
    run(ledger.sending(one))
    assert ledger._session._groups >= 4, "the first mark was too old, a second one followed"


def test_a_call_between_two_tries_is_still_held(opened):
    one, two = opened(), opened()
    (first, *_rest) = reserve(one)
    record(one, failed(first))
    assert reserve(two) == []
    second = run(one.again(first))
    record(one, failed(second))
    # Two tries are all that this study allows in a round, for anybody.
    assert reserve(two) == reserve(one) == []
    assert run(two.others()).free == 0


def test_a_used_up_call_waits_for_the_next_round(opened):
    one = opened()
    (first,) = reserve(one, limit=1)
    record(one, failed(first))
    record(one, failed(run(one.again(first))))
    two = opened()
    assert first.call not in [r.call for r in reserve(two)]
    one.close()
    two.close()
    three = opened()
    (again,) = reserve(three, limit=1)
    assert (again.call, again.number) == (first.call, 3)


def test_a_session_that_ends_gives_back_what_it_was_about_to_try_again(opened):
    one, two = opened(), opened()
    (first,) = reserve(one, limit=1)
    record(one, failed(first))
    one.close()
    assert first.call in [r.call for r in reserve(two)]


def test_who_holds_the_rest_is_said(opened, frozen):
    one, two = opened(), opened()
    reserve(one, limit=3)
    others = run(two.others())
    assert (others.free, others.held) == (frozen.count - 3, 3)
    assert others.holders.startswith("process ")


class TestCutLine:
    """A commit whose answer never came is looked up, not repeated; one that failed is repeated."""

    @pytest.fixture
    def line(self, url):
        made = Line(url)
        yield made
        made.close()

    @pytest.fixture
    def ledger(self, opened, line):
        return opened(Terms(patience_s=20), at=read_address(line.url))

    def test_an_answer_that_was_lost_is_no_lost_commit(self, ledger, line):
        """The server commits, and the line breaks before it says so."""

        async def go():
            def last(connection):
                del connection
                line.swallow_replies.set()

            reserved = ledger.reserve("chat", after=-1, limit=3)
            task = asyncio.ensure_future(reserved)
            await asyncio.sleep(0)
            await ledger._writer.do(last, urgent=True)
            return await task

        reserved = run(go())
        assert not line.swallow_replies.is_set(), "an answer was swallowed"
        assert [r.attempt for r in reserved] == [a.attempt for a in ledger.attempts()]
        record(ledger, *(completed(r) for r in reserved))
        assert ledger.totals().completed == 3

    def test_a_commit_that_did_not_arrive_is_repeated(self, ledger, line):
        cuts = iter([True, True])

        async def go():
            def cut(connection):
                del connection
                if next(cuts, False):
                    line.cut()

            task = asyncio.ensure_future(ledger.reserve("chat", after=-1, limit=2))
            await asyncio.sleep(0)
            await ledger._writer.do(cut, urgent=True)
            return await task

        reserved = run(go())
        assert len(reserved) == len(list(ledger.attempts())) == 2

    def test_a_server_that_stays_away_ends_the_session_in_words(self, opened, line):
        at = read_address(line.url)
        ledger = opened(Terms(patience_s=0.3), at=at)
        line.refuse()
        with pytest.raises(RunError, match="cannot connect to the ledger") as refused:
            reserve(ledger)
        assert PASSWORD not in str(refused.value)
        assert f"postgresql://postgres@127.0.0.1:{line.port}/" in str(refused.value)

    def test_a_server_that_comes_back_is_waited_for(self, ledger, line):
        line.refuse()
        threading.Timer(0.5, line.mend).start()
        assert len(reserve(ledger, limit=2)) == 2

    def test_readings_survive_a_cut(self, ledger, line, frozen):
        assert ledger.totals().planned == frozen.count
        line.cut()
        assert ledger.totals().planned == frozen.count


def test_a_backend_that_is_ended_by_the_administrator_is_replaced(opened):
    ledger = opened()
    one, two = reserve(ledger, limit=2)
    record(ledger, completed(one))
    admin(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'judgelaw'"
    )
    record(ledger, completed(two))
    assert ledger.totals().completed == 2


def test_a_frozen_transaction_does_not_block_the_others_for_long(opened, address, monkeypatch):
    ledger = opened()
    monkeypatch.setattr("judgelaw.ledger.postgres_session._BUSY_MS", 500)  # a second outside tests
    frozen_one = Session(address, "run", Terms(lease_s=0.1))
    with frozen_one._connection.transaction():
        assert frozen_one._fence(1)
        threading.Event().wait(1.1)
        run(ledger.beat())
        assert admin_in(ledger, "SELECT id FROM sessions WHERE lost") == [(frozen_one.id,)]
        frozen_one._connection.close()


def test_a_server_that_goes_away_while_a_session_begins_is_said_in_words(url, monkeypatch):
    def cut(connection, *_):
        connection.close()
        connection.execute("SELECT 1")

    monkeypatch.setattr("judgelaw.ledger.postgres_session.migrate", cut)
    with pytest.raises(RunError, match="a session cannot begin: the connection is closed"):
        PostgresLedger(read_address(url), "run")


def test_another_study_of_the_same_name_is_refused(opened, frozen, tmp_path, address):
    opened().close()
    others = {
        "calls differ": frozen_study(
            tmp_path / "texts", [chat_judge("http://127.0.0.1:9/v1")], seed=12
        ),
        "another configuration": frozen_study(
            tmp_path / "judge", [chat_judge("http://127.0.0.1:9/v1", model="other")]
        ),
    }
    for how, other in others.items():
        ledger = PostgresLedger(address, "run")
        with pytest.raises(StudyChangedError, match=how):
            ledger.load(other.judges, other.iter_calls(), manifest="another")
        with pytest.raises(StudyChangedError):
            ledger.close()
    with opened() as ledger:
        assert list(ledger.calls()) == list(frozen.iter_calls())


def test_a_folder_that_is_behind_the_ledger_is_refused(opened, frozen, address):
    """Somebody extended the run elsewhere: the older folder must not go on alone."""
    opened().close()
    ledger = PostgresLedger(address, "run")
    with pytest.raises(StudyChangedError, match="16 calls are there, 5 here"):
        ledger.load(frozen.judges, list(frozen.iter_calls())[:5], manifest="older")
    with pytest.raises(StudyChangedError):
        ledger.close()


def test_runs_of_a_database_are_listed_oldest_first(address):
    assert list_runs(address) == []
    for name in ("second", "a-first.1"):
        PostgresLedger(address, name).close()
    assert list_runs(address) == ["second", "a-first.1"]


@pytest.mark.parametrize("name", ["", "a b", "-x", 'q"', "x" * 80])
def test_a_name_that_could_be_cut_or_misread_is_refused(address, name):
    with pytest.raises(InputError, match="cannot name a run"):
        PostgresLedger(address, name)


def test_a_run_that_is_not_there_says_how_to_start(address):
    with pytest.raises(RunError, match="holds no run nowhere: `judgelaw run STUDY --ledger URL`"):
        PostgresView(address, "nowhere").totals()


def test_one_moment_is_shown_whatever_is_written_meanwhile(opened, frozen):
    ledger = opened()
    with ledger.snapshot():
        before = ledger.totals()
        other = opened()
        record(other, *(completed(r) for r in reserve(other)))
        assert ledger.totals() == before
        assert list(ledger.completions()) == []
    assert ledger.totals().completed == frozen.count


def test_rows_that_contradict_each_other_are_found(opened, frozen):
    ledger = opened()
    reserve(ledger, limit=1)
    assert ledger.check() == []
    admin_in(ledger, "DELETE FROM open_calls")
    assert ledger.check() == [
        f"{frozen.count} calls that are neither open nor completed",
        "1 attempts under way that hold no call",
    ]


def test_the_server_is_a_real_one():
    ((version,),) = admin("SHOW server_version_num")
    assert int(version) >= 160000
    assert server().get_pid() is not None
