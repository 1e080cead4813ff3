"""Replies that cannot be written are held, written later, or put into a second place."""

import asyncio
import sqlite3

import pytest

from judgelaw.errors import RunError
from judgelaw.ledger import (
    LEDGER_NAME,
    Arrived,
    Completed,
    Receipt,
    SqliteLedger,
    SqliteView,
    second_place,
)
from judgelaw.wire import Completion, Reply
from servers.study import chat_judge, frozen_study

BODY = b'{"choices": [{"message": {"content": "A"}}]}' + b" " * 20_000
"""Large enough to need pages of its own."""


@pytest.fixture
def frozen(tmp_path):
    return frozen_study(tmp_path, [chat_judge("http://127.0.0.1:9/v1")])


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """The second place of a test."""
    place = tmp_path / "elsewhere"
    monkeypatch.setenv(second_place.PLACE, str(place))
    return place


def opened(frozen):
    ledger = SqliteLedger(frozen.path)
    ledger.load(frozen.judges, frozen.iter_calls(), manifest="m1")
    return ledger


def fill_up(ledger):
    """Let the database grow no further, as on a full disk: SQLite gives the same error."""
    (pages,) = ledger._connection.execute("PRAGMA page_count").fetchone()
    ledger._connection.execute(f"PRAGMA max_page_count = {pages}")


def free(ledger):
    ledger._connection.execute("PRAGMA max_page_count = 1000000")


async def sent(ledger):
    """Reserve two calls and send them."""
    reserved = await ledger.reserve("chat", after=-1, limit=2)
    for reservation in reserved:
        await ledger.sending(reservation)
    return reserved


def arrived(reservation):
    reply = Reply(status=200, body=BODY, headers={"age": "0"})
    return Arrived(reservation=reservation, sent_at=1.0, ended_at=2.0, reply=reply)


def completed(reservation):
    return Completed(
        reservation=reservation,
        sent_at=1.0,
        ended_at=2.0,
        status=200,
        body=BODY,
        completion=Completion(text="A", finish_reason="stop"),
        receipt=Receipt(),
    )


def record(ledger, reserved):
    for reservation in reserved:
        ledger.record(arrived(reservation))
        ledger.record(completed(reservation))


def test_replies_are_held_while_the_disk_is_full_and_written_when_there_is_room(frozen):
    said, durable = [], []

    async def work(ledger):
        ledger.listen(durable.extend, said.append)
        reserved = await sent(ledger)
        fill_up(ledger)
        record(ledger, reserved)
        flush = asyncio.ensure_future(ledger.flush())
        await asyncio.sleep(0.3)
        assert not flush.done()
        assert (said[-1].replies, said[-1].words) == (2, "the disk is full")
        assert durable == []
        free(ledger)
        await flush

    with opened(frozen) as ledger:
        asyncio.run(work(ledger))
        assert ledger.totals().completed == 2
    assert said[-1] is None
    assert sum(isinstance(each, Completed) for each in durable) == 2


def test_a_full_disk_is_told_at_once_where_no_reply_can_be_lost(frozen):
    async def work(ledger):
        fill_up(ledger)
        # More than the free places of the last pages take.
        await ledger._writer.do(
            lambda c: c.execute("INSERT INTO meta VALUES ('big', ?)", ("x" * 10**6,)), urgent=True
        )

    with pytest.raises(RunError, match="full"), opened(frozen) as ledger:
        asyncio.run(work(ledger))


def give_up(frozen):
    """Leave a session whose disk was full to its end, with two replies."""

    async def work(ledger):
        reserved = await sent(ledger)
        fill_up(ledger)
        record(ledger, reserved)
        ledger.give_up()
        with pytest.raises(RunError, match="full"):
            await ledger.flush()

    with pytest.raises(RunError) as raised, opened(frozen) as ledger:
        asyncio.run(work(ledger))
    return str(raised.value)


def test_what_is_held_to_the_end_is_kept_in_a_second_place_and_read_first(frozen, elsewhere):
    said = give_up(frozen)
    (file,) = elsewhere.iterdir()
    assert f"2 replies that could not be written are kept in {file}" in said
    assert file.stat().st_mode & 0o777 == 0o600

    async def work(ledger):
        found = await ledger.unread_replies("chat")
        assert [(at, came, reply.body, dict(reply.headers)) for _, at, came, reply in found] == [
            (1.0, 2.0, BODY, {"age": "0"})
        ] * 2
        others = await ledger.reserve("chat", after=-1, limit=9)
        assert {r.call.call_id for r in others}.isdisjoint(r.call.call_id for r, *_ in found)
        record(ledger, [reservation for reservation, *_ in found])
        await ledger.flush()
        assert await ledger.unread_replies("chat") == []

    with opened(frozen) as ledger:
        assert not file.exists(), "its replies are in the ledger"
        asyncio.run(work(ledger))
        totals = ledger.totals()
        assert (totals.completed, totals.orphaned, totals.at_risk) == (2, 0, 0)
        assert list(ledger.unread_attempts()) == []
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert view.check() == []


def test_a_reply_that_turns_up_late_completes_its_orphan(frozen, elsewhere):
    give_up(frozen)
    (file,) = elsewhere.iterdir()
    hidden = elsewhere.with_name("hidden")
    file.rename(hidden)
    with opened(frozen) as ledger:
        assert ledger.totals().orphaned == 2
    hidden.rename(file)
    with opened(frozen) as ledger:
        record(ledger, [r for r, *_ in asyncio.run(ledger.unread_replies("chat"))])
        asyncio.run(ledger.flush())
        totals = ledger.totals()
        assert (totals.completed, totals.orphaned, totals.at_risk) == (2, 0, 0)
    assert not file.exists()


def test_a_reply_that_was_asked_again_meanwhile_is_not_taken_back(frozen, elsewhere):
    give_up(frozen)
    (file,) = elsewhere.iterdir()
    hidden = elsewhere.with_name("hidden")
    file.rename(hidden)
    with opened(frozen) as ledger:
        record(ledger, asyncio.run(sent(ledger)))
    hidden.rename(file)
    with opened(frozen) as ledger:
        assert asyncio.run(ledger.unread_replies("chat")) == []
        assert ledger.totals().orphaned == 2, "asked twice, and counted"


def test_what_fits_nowhere_is_counted_by_name(frozen, monkeypatch):
    monkeypatch.setattr(second_place, "places", lambda _: [])
    said = give_up(frozen)
    calls = [call.call_id for call in frozen.iter_calls()][:2]
    assert "so they count as orphans: calls " in said
    with opened(frozen) as ledger:
        orphans = [a.call_id for a in ledger.attempts() if a.state == "orphaned"]
    assert sorted(orphans) == sorted(call for call in orphans if call in said)
    assert len(orphans) == len(calls)


def test_a_place_that_takes_nothing_is_passed_over(frozen, elsewhere, monkeypatch, tmp_path):
    monkeypatch.setenv(second_place.PLACE, "/dev/full/no/folder")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    assert str(tmp_path / "state/judgelaw") in give_up(frozen)
    assert not elsewhere.exists()


@pytest.mark.parametrize("spoil", ["flip", "link", "cut"])
def test_a_file_that_is_not_as_it_was_written_is_left_where_it_is(frozen, elsewhere, spoil):
    give_up(frozen)
    (file,) = elsewhere.iterdir()
    content = file.read_bytes()
    if spoil == "link":
        file.rename(elsewhere / "target")
        file.symlink_to(elsewhere / "target")
    else:
        file.write_bytes(content.replace(b"200", b"201", 1) if spoil == "flip" else content[:-9])
    with opened(frozen) as ledger:
        totals = ledger.totals()
        unread = len(asyncio.run(ledger.unread_replies("chat")))
        expected = 0 if spoil == "link" else 1
        assert (unread, totals.orphaned) == (expected, 2 - expected)
    assert file.exists()


def test_the_database_refuses_an_unread_reply_to_a_completed_call(frozen):
    with opened(frozen) as ledger:
        record(ledger, asyncio.run(sent(ledger)))
        asyncio.run(ledger.flush())
        with pytest.raises(sqlite3.IntegrityError, match="an unread reply belongs to"):
            ledger._connection.execute(
                "INSERT INTO unread_replies VALUES (1, 1.0, 2.0, 200, '{}', x'')"
            )
