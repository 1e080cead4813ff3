"""PostgreSQL refuses for a moment, is away for long, or for ever: no paid reply is lost."""

import asyncio
import signal
import threading
import time
from contextlib import contextmanager

import psycopg
import pytest

from judgelaw.errors import RunError
from judgelaw.ledger import PostgresLedger, Terms, read_address, second_place
from servers.endings import completed, failed, record
from support.postgres import Line, admin, restart, server
from support.sites import BRIEF_S, CONCURRENCY, LEASE_S, check, make_site, until_held

FAULT_S = 1.2


@contextmanager
def setting(name, value):
    """Set something for every session of the server."""
    admin(f"ALTER SYSTEM SET {name} = {value}")
    admin("SELECT pg_reload_conf()")
    try:
        yield
    finally:
        admin(f"ALTER SYSTEM RESET {name}")
        admin("SELECT pg_reload_conf()")


@contextmanager
def read_only(_url):
    with setting("default_transaction_read_only", "on"):
        yield


@contextmanager
def cancelled(url):
    """An administrator ends every statement that a worker runs."""
    done = threading.Event()

    def cancel():
        with psycopg.connect(server().get_uri(), autocommit=True) as connection:
            while not done.is_set():
                connection.execute(
                    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity "
                    "WHERE application_name = 'judgelaw' AND state <> 'idle'"
                )

    thread = threading.Thread(target=cancel)
    with setting("log_min_messages", "panic"), locked(url):
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()


@contextmanager
def locked(url):
    """Somebody holds a lock on the attempts."""
    with psycopg.connect(url) as connection:
        connection.execute('LOCK TABLE "judgelaw:run".attempts IN ACCESS EXCLUSIVE MODE')
        yield
        connection.rollback()


@contextmanager
def lock_timeout(url):
    with setting("lock_timeout", "50"), locked(url):
        yield


@contextmanager
def statement_timeout(url):
    with setting("statement_timeout", "50"), locked(url):
        yield


@contextmanager
def full(url):
    """The server has no room for another row, as it says with this very code."""
    refuse = (
        "CREATE FUNCTION public.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
        "RAISE EXCEPTION 'could not extend file: No space left on device' "
        "USING ERRCODE = 'disk_full'; END $$"
    )
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(refuse)
        connection.execute(
            'CREATE TRIGGER full_disk BEFORE INSERT ON "judgelaw:run".completions '
            "FOR EACH STATEMENT EXECUTE FUNCTION public.refuse()"
        )
        try:
            yield
        finally:
            connection.execute('DROP TRIGGER full_disk ON "judgelaw:run".completions')
            connection.execute("DROP FUNCTION public.refuse")


FAULTS = {
    "read-only": read_only,
    "cancelled": cancelled,
    "lock timeout": lock_timeout,
    "statement timeout": statement_timeout,
    "disk full": full,
}


@pytest.mark.parametrize("fault", FAULTS)
def test_replies_are_held_until_the_server_takes_them(tmp_path, url, fleet, fault):
    size = {"items": 8, "repeats": 4, "transport": {"concurrency": 16}}
    with make_site(tmp_path, url, fleet, **size) as site:
        site.provider.hold()
        workers = [site.worker(lease_s=30) for _ in range(2)]
        until_held(site, 2 * 16)
        with FAULTS[fault](url):
            site.provider.release()
            time.sleep(FAULT_S)
            asked = len(site.provider.requests)
        for worker in workers:
            assert worker.wait() == 0, worker.said
        assert asked == 2 * 16, "nothing more is sent meanwhile"
        assert check(site, surplus=0)["orphaned"] == 0


@pytest.fixture
def lines(site):
    """Two lines to the server."""
    made = [Line(site.url), Line(site.url)]
    yield made
    for line in made:
        line.close()


def paid_on(site, lines, *, lease_s):
    """Start a worker on each line; the provider has their requests."""
    site.provider.hold()
    workers = [site.worker(url=line.url, lease_s=lease_s) for line in lines]
    until_held(site, len(lines) * CONCURRENCY)
    return workers


@pytest.mark.parametrize("how", ["refuse", "silence"])
def test_nobody_is_lost_for_the_time_in_which_the_server_was_away(site, lines, how):
    """For longer than a lease: whoever comes back first takes nothing from the others."""
    workers = paid_on(site, lines, lease_s=BRIEF_S)
    for line in lines:
        getattr(line, how)()
    site.provider.release()
    time.sleep(2.5 * BRIEF_S)
    lines[0].mend()
    time.sleep(0.3 * BRIEF_S)
    lines[1].mend()
    for worker in workers:
        assert worker.wait() == 0, worker.said
        assert "silent for longer" not in worker.said
    assert check(site, surplus=0)["orphaned"] == 0


def test_nobody_is_lost_for_a_restart_that_takes_longer_than_a_lease(site):
    site.provider.hold()
    workers = [site.worker(lease_s=BRIEF_S) for _ in range(2)]
    until_held(site, 2 * CONCURRENCY)
    with stopped():
        site.provider.release()
        time.sleep(2 * BRIEF_S)
    for worker in workers:
        assert worker.wait() == 0, worker.said
    assert check(site, surplus=0)["orphaned"] == 0


@contextmanager
def stopped():
    """Stop the server, and start it again."""
    from support import postgres

    started = server()
    process = started.get_postmaster_info().process
    process.send_signal(signal.SIGINT)
    process.wait(20)
    try:
        yield
    finally:
        postgres._wait_until_up(started)


def test_a_reply_is_written_whatever_the_lease_says_while_nobody_has_another(site, lines):
    """Others have reserved its calls already: what they were to ask is not asked any more."""
    (sleeper,) = paid_on(site, lines[:1], lease_s=BRIEF_S)
    lines[0].silence()
    site.provider.release()
    with PostgresLedger(read_address(site.url), "run", terms=Terms(lease_s=60)) as other:
        still_open = asyncio.run(taken_over(other, lines[0]))
        assert still_open.count(False) == CONCURRENCY
    assert sleeper.wait() == 0, sleeper.said
    states = check(site, surplus=0)
    assert states["orphaned"] == still_open.count(True), "marked as sent by the other"


async def taken_over(other, line):
    """Take every free call from a worker that is parted; then mend its line, and ask for marks."""
    while not await other._writer.do(other._session.reap, urgent=True):
        await asyncio.sleep(BRIEF_S / 4)
        other._session._in_touch_since = 0.0
    taken = await other.reserve("chat", after=-1, limit=999)
    line.mend()
    for _ in range(400):
        if other.totals().completed >= CONCURRENCY:
            break
        await asyncio.sleep(0.05)
    return [await other.sending(reservation) for reservation in taken]


def test_the_second_answer_to_a_call_is_an_orphan(address, opened):
    """It was sent before the first one turned up: nobody breaks, and it is counted."""
    late, other = opened(), opened()
    (one, *_rest) = asyncio.run(late.reserve("chat", after=-1, limit=2))
    asyncio.run(late.sending(one))
    with psycopg.connect(address.url, autocommit=True) as connection:
        connection.execute(
            "UPDATE \"judgelaw:run\".sessions SET heartbeat_at = heartbeat_at - interval '1 day' "
            "WHERE id = %s",
            (late._session.id,),
        )
    asyncio.run(other.beat())
    (again, beside) = asyncio.run(other.reserve("chat", after=-1, limit=2))
    assert asyncio.run(other.sending(again))
    with pytest.raises(RunError, match="silent for longer"):
        record(late, completed(one, text="first"))
    with pytest.raises(RunError, match="silent for longer"):
        late.close()
    assert other.totals().completed == 1, "written at its end, whatever the lease says"
    heard = []

    async def end_both():
        other.listen(heard.extend)
        other.record(completed(again, text="second"))
        other.record(failed(beside))
        await other.flush()

    asyncio.run(end_both())
    assert [getattr(record, "superseded", None) for record in heard] == [True, None]
    (stored,) = other.completions()
    assert stored.body == b'{"text": "first"}'
    states = {a.attempt: a.state for a in other.attempts()}
    assert states[one.attempt] == "completed"
    assert states[again.attempt] == "orphaned"
    assert other.totals().at_risk == 1
    assert other.check() == []
    assert asyncio.run(other.again(again)) is None


@pytest.fixture
def opened(address, tmp_path):
    from servers.study import chat_judge, frozen_study

    frozen = frozen_study(tmp_path, [chat_judge("http://127.0.0.1:9/v1")])
    sessions = []

    def begin():
        sessions.append(PostgresLedger(address, "run", terms=Terms(lease_s=5)))
        sessions[-1].load(frozen.judges, frozen.iter_calls(), manifest="m")
        return sessions[-1]

    yield begin
    for ledger in sessions:
        if not ledger._session._connection.closed:
            ledger.close()


@pytest.mark.parametrize("how", ["refuse", "silence"])
def test_ctrl_c_while_the_server_is_away_does_not_wait_for_it(site, lines, monkeypatch, how):
    """Replies go to a second place, and are read from there; nothing is asked twice."""
    place = site.folder / "elsewhere"
    monkeypatch.setenv(second_place.PLACE, str(place))
    (worker,) = paid_on(site, lines[:1], lease_s=60)
    getattr(lines[0], how)()
    site.provider.release()
    time.sleep(0.5)
    worker.send(signal.SIGINT)
    code = worker.wait(15)  # the line is still dead
    assert code == 3, worker.said
    assert f"{CONCURRENCY} replies that could not be written are kept in {place}" in worker.said
    lines[0].mend()
    with psycopg.connect(site.url, autocommit=True) as connection:
        connection.execute(
            'UPDATE "judgelaw:run".sessions SET lease_s = 0.1 WHERE ended_at IS NULL'
        )
    assert site.worker().wait() == 0
    assert list(place.iterdir()) == []
    assert check(site, surplus=0)["orphaned"] == 0


def test_a_worker_that_starts_while_the_server_restarts_waits(site):
    with stopped():
        worker = site.worker()
        time.sleep(0.5)
        assert worker.code() is None
    assert worker.wait() == 0, worker.said
    assert "trying again for" in worker.said
    check(site, surplus=0)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("postgres@", "nobody@"), "role"),
        (("127.0.0.1", "no-such-host.invalid"), "no-such-host"),
    ],
)
def test_what_waiting_does_not_mend_is_said_at_once(site, lines, change, said):
    url = lines[0].url.replace(":canary-Pa55word", "").replace(*change)
    worker = site.worker(url=url)
    assert worker.wait() == 3, worker.said
    assert said in worker.said
    assert "trying again" not in worker.said


def test_a_server_that_restarts_again_and_again_costs_nothing(site):
    workers = [site.worker(lease_s=LEASE_S) for _ in range(3)]
    for count in (10, 30, 60):
        site.provider.until(count)
        restart()
    for worker in workers:
        assert worker.wait() == 0, worker.said
    assert check(site, surplus=0)["orphaned"] == 0
