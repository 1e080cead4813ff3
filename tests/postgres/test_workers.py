"""Workers killed, frozen, cut off: each call completes once, none committed is asked again."""

import asyncio
import random
import signal
import time

import pytest

from judgelaw.ledger import PostgresLedger, read_address
from support.postgres import Line, restart
from support.sites import BRIEF_S, CONCURRENCY, Site, both_at_work, check, make_site, until_held


def test_a_killed_worker_leaves_its_calls_to_others(site):
    site.provider.hold()
    victim = site.worker(lease_s=BRIEF_S)
    until_held(site, CONCURRENCY)
    victim.kill()
    site.provider.release()
    assert site.worker().wait() == 0
    states = check(site, surplus=CONCURRENCY)
    # What was on the wire is orphaned, and no more: the rest of its lease was never sent.
    assert states["orphaned"] == CONCURRENCY
    assert states["unsent"] > 0


def test_a_worker_that_wakes_after_its_lease_changes_nothing(site):
    site.provider.hold()
    sleeper = site.worker(lease_s=BRIEF_S)
    until_held(site, CONCURRENCY)
    sleeper.send(signal.SIGSTOP)
    site.provider.release()
    other = site.worker()
    assert other.wait() == 0
    with site.view() as view:
        before = (list(view.attempts()), list(view.completions()))
    sleeper.send(signal.SIGCONT)
    assert sleeper.wait() == 0
    assert "silent for longer than its lease" in sleeper.said
    with site.view() as view:
        assert (list(view.attempts()), list(view.completions())) == before
    assert check(site, surplus=CONCURRENCY)["orphaned"] == CONCURRENCY


def test_a_worker_that_wakes_in_time_goes_on(site):
    site.provider.hold()
    sleeper = site.worker(lease_s=30)
    until_held(site, CONCURRENCY)
    sleeper.send(signal.SIGSTOP)
    site.provider.release()
    time.sleep(0.3)
    sleeper.send(signal.SIGCONT)
    assert sleeper.wait() == 0
    check(site, surplus=0)


def test_the_server_restarts_in_the_middle(site):
    workers = both_at_work(site)
    site.provider.until(site.calls // 4)
    restart()
    for worker in workers:
        assert worker.wait() == 0, worker.said
    check(site, surplus=0)


def test_the_line_is_cut_again_and_again(site):
    line = Line(site.url)
    worker = site.worker(url=line.url, lease_s=60)
    for count in (10, 30, 50, 70):
        site.provider.until(count)
        line.swallow_replies.set()
        site.provider.until(count + 4)
        line.cut()
    assert worker.wait() == 0, worker.said
    line.close()
    check(site, surplus=0)


def test_eight_workers_share_the_calls(site):
    workers = [site.worker(lease_s=60) for _ in range(8)]
    for worker in workers:
        assert worker.wait() == 0, worker.said
    assert check(site, surplus=0)["orphaned"] == 0


def test_an_interrupted_worker_gives_its_calls_back(site):
    site.provider.hold()
    worker = site.worker(lease_s=60)
    until_held(site, CONCURRENCY)
    worker.send(signal.SIGINT)
    time.sleep(0.1)
    site.provider.release()
    assert worker.wait() == 130, worker.said
    with site.view() as view:
        totals = view.totals()
    assert (totals.completed, totals.in_flight, totals.orphaned) == (CONCURRENCY, 0, 0)
    # Nobody has to wait for a lease of a minute.
    started = time.monotonic()
    assert site.worker().wait() == 0
    assert time.monotonic() - started < 30
    check(site, surplus=0)


def test_a_worker_that_waits_for_others_can_be_stopped(site):
    """All calls are with another worker: stopping this one takes nothing from anybody."""
    site.provider.hold()
    busy = site.fleet.start(site.folder, "worker", "--ledger", site.url)
    until_held(site, CONCURRENCY)
    with site.view() as view:
        reserved = view.totals().in_flight
    acquired = hold_the_rest(site)
    waiting = site.worker()
    deadline = time.monotonic() + 20
    while "no call is free; waiting for" not in waiting.said:
        assert time.monotonic() < deadline, waiting.said
        time.sleep(0.02)
    waiting.send(signal.SIGTERM)
    assert waiting.wait() == 130, waiting.said
    acquired.close()
    site.provider.release()
    assert busy.wait() == 0
    assert reserved > 0
    check(site, surplus=0)


def hold_the_rest(site):
    """Reserve every free call in a session of our own."""
    ledger = PostgresLedger(read_address(site.url), "run")
    asyncio.run(ledger.reserve("chat", after=-1, limit=1_000))
    return ledger


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_eight_workers_lose_nothing_under_every_fault(tmp_path, url, fleet, seed):
    with make_site(tmp_path, url, fleet, items=50, repeats=10) as site:
        faults(site, random.Random(seed))


def faults(site: Site, chance: random.Random) -> None:
    """Kill, freeze, wake, restart and cut at random moments, with eight workers at any time."""
    line = Line(site.url)
    start = lambda: site.worker(url=chance.choice((site.url, line.url)))  # noqa: E731 - local
    workers, frozen = [start() for _ in range(8)], []
    for _ in range(25):
        time.sleep(chance.uniform(0.05, 0.4))
        match chance.choice(("kill", "kill", "freeze", "wake", "cut", "restart")):
            case "kill":
                victim = workers.pop(chance.randrange(len(workers)))
                victim.send(signal.SIGKILL)
                workers.append(start())
            case "freeze":
                frozen.append(workers.pop(chance.randrange(len(workers))))
                frozen[-1].send(signal.SIGSTOP)
                workers.append(start())
            case "wake" if frozen:
                workers.append(frozen.pop())
                workers[-1].send(signal.SIGCONT)
            case "cut":
                line.cut()
            case "restart":
                restart()
    for worker in frozen:
        worker.send(signal.SIGCONT)
    for worker in [*workers, *frozen]:
        worker.wait(120)
    line.close()
    states = check(site)
    print(dict(states), len(site.provider.requests))
