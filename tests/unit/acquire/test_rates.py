"""How fast a provider is asked: a simulated token bucket, in time that passes by events."""

import heapq
import math
import random
from dataclasses import dataclass, field
from itertools import count

import pytest

from judgelaw.acquire.rates import LearnedRate, Mirror, ProviderLimits, Ticket
from judgelaw.wire import Quota

RATE, BURST, LATENCY_S = 80.0, 40.0, 0.05


@dataclass
class Bucket:
    """A provider that grants `rate` units a second, and saves up to `burst`."""

    rate: float = RATE
    burst: float = BURST
    halves_at: float = math.inf
    granted: float = BURST
    level: float = BURST
    at: float = 0.0

    def take(self, units, now):
        rate = self.rate / 2 if now > self.halves_at else self.rate
        gained = rate * (now - self.at)
        self.granted += gained
        self.level, self.at = min(self.burst, self.level + gained), now
        taken = self.level >= units
        self.level -= units * taken
        # As OpenAI writes it: whole requests, and the time until all are there again.
        left = Quota(
            kind="requests",
            limit=self.burst,
            remaining=math.floor(self.level),
            reset_s=(self.burst - self.level) / rate,
        )
        return taken, left


@dataclass
class Asked:
    """What workers made of a bucket."""

    sent: int = 0
    refused: int = 0
    used: float = 0.0
    settled_sent: int = 0
    settled_refused: int = 0
    by_worker: list[int] = field(default_factory=list)


def ask(  # noqa: C901 - the three events of one simulation
    bucket, *, seconds=60.0, workers=1, at_once=64, says="nothing", sizes=(1.0,), settle=5.0
):
    """Ask as lanes do: `at_once` requests of each worker wait for its limits, and for replies."""
    random_ = random.Random(4)
    limits = [ProviderLimits(random_.random) for _ in range(workers)]
    numbers, events, found = count(), [], Asked(by_worker=[0] * workers)

    def later(at, act, *values):
        heapq.heappush(events, (at, next(numbers), act, values))

    def ready(now, worker):
        units = random_.choice(sizes)
        if (pause := limits[worker].wait(units, now)) > 0:
            later(now + max(pause, 0.001) + 0.001 * random_.random(), ready, worker)
            return
        ticket = limits[worker].book(units, now)
        later(now + LATENCY_S * random_.uniform(0.1, 0.3), arrive, worker, ticket, units)

    def arrive(now, worker, ticket, units):
        taken, left = bucket.take(units, now)
        found.sent += 1
        found.used += units * taken
        found.refused += not taken
        if now > settle:
            found.settled_sent += 1
            found.settled_refused += not taken
        found.by_worker[worker] += taken
        later(now + LATENCY_S * random_.uniform(0.7, 0.9), reply, worker, ticket, taken, left)

    def reply(now, worker, ticket, taken, left):
        limit = limits[worker]
        if says == "headers":
            limit.heard(ticket, [left], now)
        if taken:
            limit.answered(ticket)
            later(now, ready, worker)
            return
        asked = 1.0 if says == "retry-after" else None
        limit.refused(ticket, asked, now)
        later(now + (asked or random_.uniform(0.25, 0.75)), ready, worker)

    for worker in range(workers):
        for _ in range(at_once):
            later(0.0, ready, worker)
    while events[0][0] < seconds:
        now, _, act, values = heapq.heappop(events)
        act(now, *values)
    return found


@pytest.mark.parametrize("halves_at", [math.inf, 30.0])
@pytest.mark.parametrize(
    ("says", "least"), [("nothing", 0.98), ("headers", 0.98), ("retry-after", 0.93)]
)
def test_a_limit_that_nobody_declared_is_used_and_hardly_passed(says, least, halves_at):
    bucket = Bucket(halves_at=halves_at)
    found = ask(bucket, says=says)
    assert found.used / bucket.granted >= least
    assert found.settled_refused <= 0.02 * found.settled_sent


def test_a_whole_second_of_pause_costs_little_once_settled():
    """Of a minute and of two: the second minute alone, in which nothing has to be found out."""
    one, two = Bucket(), Bucket()
    first, both = (ask(b, seconds=s, says="retry-after") for b, s in ((one, 60.0), (two, 120.0)))
    assert (both.used - first.used) / (two.granted - one.granted) >= 0.95


def test_tokens_are_used_as_requests_are():
    bucket = Bucket()
    found = ask(bucket, sizes=(0.5, 1.0, 1.5))
    assert found.used / bucket.granted >= 0.95
    assert found.settled_refused <= 0.02 * found.settled_sent


def test_of_two_workers_that_know_nothing_of_each_other_none_starves():
    bucket = Bucket()
    found = ask(bucket, workers=2, at_once=32)
    assert found.used / bucket.granted >= 0.95
    assert max(found.by_worker) <= 1.5 * min(found.by_worker)


def test_a_slow_limit_is_kept():
    bucket = Bucket(rate=2.0, burst=2.0, granted=2.0, level=2.0)
    found = ask(bucket, seconds=300.0, at_once=20)
    assert found.used / bucket.granted >= 0.95
    assert found.refused <= 0.1 * found.sent


def test_a_limit_that_rises_is_found():
    """The provider doubles what it grants: the rate follows."""
    bucket = Bucket(rate=2 * RATE, halves_at=math.inf)
    limits = LearnedRate(lambda: 0.5)
    for _ in range(40):
        limits.book(0.0)
    limits.refused(Ticket(0.0, 1, 0), 0.5, 0.0)
    before = limits.now(2.0)
    assert limits.now(60.0) > 2 * before
    assert bucket.granted == BURST


def test_a_burst_of_refusals_slows_down_once():
    limits = LearnedRate(lambda: 0.5)
    tickets = [Ticket(0.001 * n, n, 0) for n in range(64)]
    for ticket in tickets:
        limits.book(ticket.at)
    for ticket in tickets[:40]:
        limits.granted(ticket)
    limits.refused(tickets[40], 0.1, 0.0)
    once = limits.per_s
    for ticket in tickets[41:]:
        limits.refused(ticket, 0.11, 0.0)
    assert limits.per_s == once < 400


def test_a_pause_holds_everybody_for_what_it_names():
    limits = ProviderLimits(lambda: 0.5)
    ticket = limits.book(1.0, 0.0)
    limits.refused(ticket, 2.0, 10.0)
    assert limits.wait(1.0, 10.5) == pytest.approx(1.5)
    assert limits.wait(1.0, 12.0) == 0.0
    assert limits.words == "the provider's pause"


def test_nothing_is_held_while_nothing_is_known():
    limits = ProviderLimits(lambda: 0.5)
    tickets = [limits.book(1.0, 0.0) for _ in range(1_000)]
    assert limits.idle
    assert limits.wait(1.0, 0.0) == 0.0
    assert tickets[-1].requests == 1_000


def test_a_reply_out_of_turn_says_nothing_new():
    mirror = Mirror()
    left = {"kind": "requests", "limit": 100.0, "reset_s": None, "period_s": 60.0}
    mirror.heard(Quota(remaining=50.0, **left), 10.0, 10.0, Ticket(0.0, 10, 0), 0.0)
    mirror.heard(Quota(remaining=0.0, **left), 5.0, 10.0, Ticket(0.0, 5, 0), 0.0)
    assert mirror.wait(1.0, 0.0) == 0.0


def test_a_window_opens_at_its_reset():
    mirror = Mirror()
    quota = Quota(kind="requests", limit=100.0, remaining=0.0, reset_s=0.2, window=True)
    mirror.heard(quota, 1.0, 1.0, Ticket(0.0, 1, 0), 0.0)
    assert mirror.wait(1.0, 0.1) > 0
    assert mirror.wait(1.0, 0.2) == 0.0
