"""Pace and budget hold for all sessions together, and what was spent is counted from rows."""

import asyncio
import random
import time
from itertools import pairwise

import pytest

from judgelaw.acquire import acquire_shared, work_on
from judgelaw.errors import BudgetReachedError
from judgelaw.ledger import PostgresLedger, Terms, Unsent, read_address
from servers.endings import completed, failed
from servers.provider import Provider, say
from servers.study import chat_judge, frozen_study

PRICE = {"input_per_mtok": 10.0, "output_per_mtok": 100.0, "cached_input_per_mtok": 1.0}


@pytest.fixture
def opened(address, tmp_path):
    """Begin sessions on one run whose study has the limits that a test asks for."""
    sessions = []

    def begin(**fields):
        judge = chat_judge("http://127.0.0.1:9/v1", price=PRICE)
        frozen = frozen_study(tmp_path / str(len(sessions)), [judge], repeats=8, **fields)
        ledger = PostgresLedger(address, "run")
        sessions.append(ledger)
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="m")
        ledger.share(frozen.study)
        return ledger

    yield begin
    for ledger in sessions:
        ledger.close()


def reserve(ledger, limit):
    return asyncio.run(ledger.reserve("chat", after=-1, limit=limit))


def book(ledger, reservation, tokens=0.0, usd=0.0):
    return asyncio.run(ledger.book(reservation, tokens=tokens, usd=usd))


def record(ledger, *endings):
    async def go():
        for ending in endings:
            ledger.record(ending)
        await ledger.flush()

    asyncio.run(go())


def purse(ledger):
    (row,) = ledger.rows("purse")
    return dict(zip(PURSE, row, strict=True))


PURSE = ("most_calls", "most_tokens", "most_usd", "calls", "tokens", "usd")
PURSE += ("under_way", "held_tokens", "held_usd")


def test_without_limits_nothing_is_asked(opened):
    ledger = opened()
    groups = ledger._session._groups
    (one,) = reserve(ledger, 1)
    assert book(ledger, one, tokens=1e9, usd=1e9).lacks is None
    assert ledger._session._groups == groups + 1, "one commit reserved; booking took none"


def test_requests_of_all_sessions_keep_one_pace(opened):
    transport = {"requests_per_minute": 300}
    one, two = opened(transport=transport), opened(transport=transport)
    delays = [
        book(ledger, r).delay_s
        for pair in zip(reserve(one, 6), reserve(two, 6), strict=True)
        for ledger, r in zip((one, two), pair, strict=True)
    ]
    # One second of credit is five requests; from then on one every fifth of a second, whoever asks.
    assert delays[:5] == [0.0] * 5
    gaps = [b - a for a, b in pairwise(delays[6:])]
    assert gaps == pytest.approx([0.2] * len(gaps), abs=0.15)
    assert 1.0 < delays[-1] < 1.5


def test_tokens_of_all_sessions_keep_one_pace_and_are_corrected(opened):
    transport = {"tokens_per_minute": 6_000}
    one, two = opened(transport=transport), opened(transport=transport)
    (first, second), (third,) = reserve(one, 2), reserve(two, 1)
    assert book(one, first, tokens=1_100).delay_s == 0.0
    assert book(two, third, tokens=10).delay_s == pytest.approx(10.0, abs=0.3)
    # The reply took 102 tokens where 1,100 had been set aside: ten seconds are given back.
    record(one, completed(first))
    assert book(one, second, tokens=10).delay_s == pytest.approx(0.1, abs=0.3)


def test_a_budget_of_calls_holds_for_all(opened):
    budget = {"calls": 5}
    one, two = opened(budget=budget), opened(budget=budget)
    mine, theirs = reserve(one, 4), reserve(two, 4)
    assert all(book(one, r).lacks is None for r in mine[:3])
    assert all(book(two, r).lacks is None for r in theirs[:2])
    refused = book(two, theirs[2])
    assert (refused.lacks, refused.under_way) == ("5 calls", 5)
    record(one, failed(mine[0]))
    assert book(two, theirs[2]).lacks is None
    record(one, *(completed(r) for r in mine[1:3]))
    record(two, *(completed(r) for r in theirs[:3]))
    assert book(one, mine[3]).lacks == "5 calls"
    assert purse(one)["calls"] == 5


def test_a_budget_of_tokens_and_dollars_holds_the_worst_case(opened):
    ledger = opened(budget={"tokens": 1_000, "usd": 1.0})
    one, two, three = reserve(ledger, 3)
    assert book(ledger, one, tokens=600, usd=0.1).lacks is None
    assert book(ledger, two, tokens=600, usd=0.1).lacks == "1000 tokens (0 used)"
    record(ledger, completed(one, cached_tokens=50))
    # 100 in, half of them cached, and 2 out: (50 x 10 + 50 x 1 + 2 x 100) / 1e6 dollars.
    assert (purse(ledger)["tokens"], purse(ledger)["usd"]) == (102, pytest.approx(0.00075))
    assert book(ledger, two, tokens=600, usd=0.1).lacks is None
    assert book(ledger, three, tokens=1, usd=0.95).lacks == "1 USD (0.0008 used)"


def test_what_may_have_been_answered_counts_as_spent(opened):
    ledger = opened(budget={"tokens": 1_000})
    one, two, three = reserve(ledger, 3)
    for r in (one, two, three):
        book(ledger, r, tokens=100)
    record(ledger, failed(one, "timeout", at_risk=True), failed(two, "busy"))
    record(ledger, Unsent(reservation=three, ended_at=1.0))
    assert (purse(ledger)["tokens"], purse(ledger)["under_way"]) == (100, 0)


def test_what_a_lost_session_had_set_aside_is_settled(opened):
    silent = opened(budget={"tokens": 1_000})
    sent, kept = reserve(silent, 2)
    for r in (sent, kept):
        book(silent, r, tokens=100)
    asyncio.run(silent.sending(sent))
    silent.close()
    other = opened(budget={"tokens": 1_000})
    assert (purse(other)["tokens"], purse(other)["under_way"]) == (100, 0)


def test_what_may_have_been_answered_is_a_call_of_the_budget(opened):
    ledger = opened(budget={"calls": 3})
    one, two, three, four = reserve(ledger, 4)
    for r in (one, two, three):
        book(ledger, r)
    record(ledger, failed(one, "timeout", at_risk=True), failed(two, "busy"))
    assert purse(ledger)["calls"] == 1
    batch = asyncio.run(ledger.prepare_batch("chat", "u1", [three]))
    for state in ("submitting", "orphaned"):
        asyncio.run(ledger.note_batch(batch, state))
    assert (purse(ledger)["calls"], purse(ledger)["under_way"]) == (2, 0)
    other = opened(budget={"calls": 3})
    assert purse(other)["calls"] == 2
    assert book(other, four).lacks is None


def test_what_is_orphaned_with_its_batch_has_used_up_a_try(address, tmp_path):
    frozen = frozen_study(tmp_path, [chat_judge("http://127.0.0.1:9/v1")])
    with PostgresLedger(address, "run", terms=Terms(attempts=1)) as ledger:
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="m")
        asked = reserve(ledger, 100)
        batch = asyncio.run(ledger.prepare_batch("chat", "u1", asked))
        for state in ("submitting", "orphaned"):
            asyncio.run(ledger.note_batch(batch, state))
        assert reserve(ledger, 100) == []
    with PostgresLedger(address, "run", terms=Terms(attempts=1)) as later:
        assert len(reserve(later, 100)) == frozen.count


@pytest.mark.parametrize("seed", range(3))
def test_the_purse_is_always_what_the_rows_say(opened, seed):
    chance = random.Random(seed)
    budget = {"calls": 60, "tokens": 50_000, "usd": 5.0}
    ledgers, held = [opened(budget=budget) for _ in range(2)], []
    for _ in range(25):
        ledger = chance.choice(ledgers)
        for r in reserve(ledger, chance.randrange(4)):
            book(ledger, r, tokens=chance.uniform(0, 900), usd=chance.uniform(0, 0.1))
            held.append((ledger, r))
        for ledger, r in chance.sample(held, min(len(held), 2)):
            held.remove((ledger, r))
            record(ledger, chance.choice(endings(r, chance)))
    kept = purse(ledgers[0])
    assert kept["under_way"] == len(held)
    opened(budget=budget)
    assert purse(ledgers[0]) == pytest.approx(kept)


def endings(reservation, chance):
    return (
        completed(reservation, input_tokens=chance.randrange(500)),
        failed(reservation, "timeout", at_risk=True),
        failed(reservation, "busy"),
        Unsent(reservation=reservation, ended_at=1.0),
    )


def together(address, workers=2):
    """Let workers run side by side, each in a thread of its own."""

    async def go():
        return await asyncio.gather(
            *(asyncio.to_thread(work_on, address, "run") for _ in range(workers))
        )

    return asyncio.run(go())


def test_two_workers_stop_at_one_budget(tmp_path, url):
    address = read_address(url)
    with Provider(say()) as at:
        judge = chat_judge(at.base_url)
        frozen = frozen_study(tmp_path, [judge], items=5, repeats=4, budget={"calls": 30})
        acquire_shared(frozen, address, ask=False)
        worked = together(address)
        assert len(at.seen) == 30
    for acquired in worked:
        assert acquired.totals.completed == 30
        with pytest.raises(BudgetReachedError, match="the budget of 30 calls is used up"):
            acquired.raise_if_open()


def test_two_workers_keep_one_pace(tmp_path, url):
    address = read_address(url)
    with Provider(say()) as at:
        judge = chat_judge(at.base_url)
        transport = {"requests_per_minute": 1200, "concurrency": 8}
        frozen = frozen_study(tmp_path, [judge], items=4, repeats=4, transport=transport)
        acquire_shared(frozen, address, ask=False)
        started = time.monotonic()
        together(address)
        took = time.monotonic() - started
    # 64 calls at 20 a second with one second of credit: no less than (64 - 20) / 20 s.
    assert took >= 2.2
