"""A worker is cut off from the ledger but not from the provider, or the other way round.

For longer than its lease, and in silence: no packet arrives, none is refused.
"""

import time

import psycopg
import pytest

from judgelaw.ledger import PostgresLedger
from support.postgres import Line
from support.sites import BRIEF_S, CONCURRENCY, LEASE_S, check, make_site, until_held
from support.wires import TcpWire


@pytest.fixture
def line(site):
    made = Line(site.url)
    yield made
    made.close()


def paid_in_a_partition(site, line):
    """Start a worker, part it from the ledger, and let the provider answer what it asked."""
    site.provider.hold()
    worker = site.worker(url=line.url, lease_s=BRIEF_S)
    until_held(site, CONCURRENCY)
    line.silence()
    site.provider.release()
    return worker


def test_a_worker_without_its_ledger_asks_nothing_more(site, line):
    """What was asked is answered and paid; nothing leaves while it cannot be marked."""
    worker = paid_in_a_partition(site, line)
    time.sleep(1.5 * BRIEF_S)
    assert len(site.provider.requests) == CONCURRENCY
    line.mend()
    assert worker.wait() == 0, worker.said
    # Nobody had taken its calls, so its replies are written after all.
    states = check(site, surplus=0)
    assert states["orphaned"] == 0


def test_what_was_paid_in_a_partition_and_not_committed_is_an_orphan(site, line):
    worker = paid_in_a_partition(site, line)
    other = site.worker()
    assert other.wait() == 0, other.said
    with site.view() as view:
        before = (list(view.attempts()), list(view.completions()))
        assert view.totals().orphaned == CONCURRENCY
    line.mend()
    assert worker.wait() == 0, worker.said
    assert "silent for longer than its lease" in worker.said
    with site.view() as view:
        assert (list(view.attempts()), list(view.completions())) == before
    assert check(site, surplus=CONCURRENCY)["orphaned"] == CONCURRENCY


def test_a_peer_that_vanished_is_given_up_while_something_is_under_way(address):
    """The proxy's kernel answers for it, so that only the setting itself can be looked at."""
    with PostgresLedger(address, "run") as ledger:
        set_there = ledger._session._connection.info.get_parameters()
    assert set_there["tcp_user_timeout"] == "20000"


def test_a_worker_without_its_provider_keeps_its_calls(tmp_path, url, fleet):
    """Its heart beats on while it waits for replies, so that nobody asks for them again."""
    with make_site(tmp_path, url, fleet, through=TcpWire, items=6, repeats=4) as site:
        site.provider.hold()
        worker = site.worker()
        until_held(site, CONCURRENCY)
        site.wire.silence()
        site.provider.release()
        other = site.worker()
        time.sleep(1.5 * LEASE_S)
        with psycopg.connect(url) as connection:
            silent = connection.execute(
                'SELECT count(*) FROM "judgelaw:run".sessions WHERE ended_at IS NULL '
                "AND heartbeat_at + lease_s * interval '1 second' < clock_timestamp()"
            ).fetchone()
        assert silent == (0,), "a heart stands still"
        with site.view() as view:
            assert (view.totals().orphaned, view.totals().completed) == (0, 0)
        site.wire.mend()
        assert (worker.wait(), other.wait()) == (0, 0), (worker.said, other.said)
        assert check(site, surplus=0)["orphaned"] == 0


def test_requests_that_a_partition_swallowed_are_failures_that_may_have_been_paid(
    tmp_path, url, fleet
):
    transport = {"timeout_s": LEASE_S / 3, "attempts": 2, "backoff_s": 0.1}
    size = {"items": 6, "repeats": 4, "transport": transport}
    with make_site(tmp_path, url, fleet, through=TcpWire, **size) as site:
        site.provider.hold()
        worker = site.worker()
        until_held(site, CONCURRENCY)
        site.wire.silence()
        site.provider.release()
        assert worker.wait() == 3, worker.said
        with site.view() as view:
            totals = view.totals()
        assert totals.completed == totals.orphaned == 0
        assert totals.at_risk == totals.failed >= CONCURRENCY
        site.wire.mend()
        assert site.worker().wait() == 0
        check(site)
