"""Workers behind a pooler: a transaction has a connection of its own, a session has none."""

import asyncio
from contextlib import ExitStack, closing

import pytest

from judgelaw.errors import RunError
from judgelaw.ledger import PostgresLedger, PostgresView, read_address
from judgelaw.ledger.migrations import statements
from servers.study import chat_judge, frozen_study
from support.pooler import Pooler
from support.sites import check, make_site


@pytest.fixture
def pooler(url):
    with closing(Pooler(url)) as made:
        yield made


def test_two_runs_share_a_pooler(tmp_path, fleet, pooler):
    """Each worker writes into its own run, whatever connection it gets."""
    with ExitStack() as stack:
        sites = []
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            site = make_site(tmp_path / name, pooler.url, fleet, name=name, items=6, repeats=4)
            sites.append(stack.enter_context(site))
        workers = [
            site.fleet.start(site.folder, "worker", "--ledger", pooler.url, "--run", site.name)
            for site in sites
            for _ in range(2)
        ]
        for worker in workers:
            assert worker.wait() == 0, worker.said
        for site in sites:
            assert check(site, surplus=0)["orphaned"] == 0
    assert pooler.handed_on > 100


def test_nothing_of_a_session_is_left_on_the_server(tmp_path, pooler):
    """No setting, no prepared statement, no temporary table: the next one gets the connection."""
    frozen = frozen_study(tmp_path, [chat_judge("http://127.0.0.1:9/v1")])
    with PostgresLedger(read_address(pooler.url), "run") as ledger:
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="m")
        for _ in range(8):
            asyncio.run(ledger.reserve("chat", after=-1, limit=1))
        with ledger.snapshot():
            list(ledger.calls())
    for _ in range(9):
        with read_address(pooler.url).connect() as one:
            left = one.execute(
                "SELECT current_setting('search_path'), current_setting('synchronous_commit'), "
                "current_setting('idle_in_transaction_session_timeout'), "
                "coalesce(current_setting('judgelaw.probe', true), ''), "
                "(SELECT count(*) FROM pg_prepared_statements), "
                "(SELECT count(*) FROM pg_class WHERE relnamespace = pg_my_temp_schema())"
            ).fetchone()
        assert left == ('"$user", public', "on", "0", "", 0, 0)


def test_what_another_client_left_on_a_connection_changes_nothing(tmp_path, url, pooler):
    """Workers of an earlier version set the schema for their session, and so do people."""
    for name in ("one", "two"):
        PostgresLedger(read_address(pooler.url), name).close()
    for _ in range(9):
        with read_address(pooler.url).connect() as one:
            one.execute('SET search_path TO "judgelaw:two"')
            one.execute("SET synchronous_commit TO off")
    frozen = frozen_study(tmp_path, [chat_judge("http://127.0.0.1:9/v1")])
    with PostgresLedger(read_address(pooler.url), "one") as ledger:
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="m")
        assert len(asyncio.run(ledger.reserve("chat", after=-1, limit=3))) == 3
    with (
        PostgresView(read_address(url), "one") as one,
        PostgresView(read_address(url), "two") as two,
    ):
        assert (one.totals().planned, two.totals().planned) == (frozen.count, 0)


def test_a_pooler_that_tears_transactions_apart_is_refused(url):
    with closing(Pooler(url, torn=True)) as pooler:
        refused = r"cannot hold a transaction together: .*pool_mode = transaction or session"
        with pytest.raises(RunError, match=refused):
            PostgresLedger(read_address(pooler.url), "run")


def test_a_replica_is_refused(address, monkeypatch):
    as_there = statements("postgres")["probed"].replace("pg_is_in_recovery()", "true")
    monkeypatch.setitem(statements("postgres"), "probed", as_there)
    with pytest.raises(RunError, match="is a replica, which takes no writes: name the primary"):
        PostgresLedger(address, "run")
