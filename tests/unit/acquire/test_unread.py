"""Nothing that reading a reply does, and no disk that is full for a while, costs the reply."""

import json
import time

import pytest

from judgelaw.acquire import acquire
from judgelaw.acquire.retry import Reason
from judgelaw.acquire.verify import verify
from judgelaw.judges.http import BatchLink, HttpJudge
from judgelaw.ledger import LEDGER_NAME, SqliteLedger, SqliteView, second_place
from servers.batches import BatchProvider
from servers.fake_time import FakeTime
from servers.provider import BODIES, Provider, say
from servers.study import chat_judge, frozen_study


@pytest.fixture
def provider():
    with Provider(say("A")) as started:
        yield started


def frozen_run(folder, provider, *, items=4, **transport):
    return frozen_study(
        folder,
        [chat_judge(provider.base_url)],
        items=items,
        transport={"concurrency": 8, **transport},
    )


def broken(times, decode=HttpJudge.decode):
    """Return a decoder that raises so many times."""
    left = iter(range(times))

    def bug(judge, reply):
        if next(left, None) is not None:
            raise RuntimeError("a bug while reading")
        return decode(judge, reply)

    return bug


def test_a_reply_that_the_code_cannot_read_is_kept_and_read_later(tmp_path, provider, monkeypatch):
    frozen = frozen_run(tmp_path, provider)
    with monkeypatch.context() as patch:
        patch.setattr(HttpJudge, "decode", broken(2))
        done = acquire(frozen)
        assert done.totals.completed == frozen.count - 2, "the others are read"
        assert [stop.reason for stop in done.stops] == [Reason.UNREAD]
        assert "fails on 2 of them (RuntimeError: a bug while reading)" in done.stops[0].words
        patch.setattr(HttpJudge, "decode", broken(2))
        assert acquire(frozen).totals.completed == frozen.count - 2, "still the same two"
    assert len(provider.seen) == frozen.count
    done = acquire(frozen)
    assert done.complete
    assert len(provider.seen) == frozen.count, "nothing is asked a second time"
    assert (done.totals.attempts, done.totals.orphaned) == (frozen.count, 0)


def test_a_judge_whose_replies_nobody_can_read_is_asked_no_more(tmp_path, provider, monkeypatch):
    frozen = frozen_run(tmp_path, provider, items=20)
    monkeypatch.setattr(HttpJudge, "decode", broken(10**6))
    done = acquire(frozen)
    assert done.totals.completed == 0
    assert 3 <= len(provider.seen) <= 3 + 8 < frozen.count
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert len(list(view.unread_attempts())) == len(provider.seen)


@pytest.mark.parametrize("wire", ["openai-chat", "anthropic"])
def test_a_result_of_a_batch_that_cannot_be_read_is_kept_too(tmp_path, monkeypatch, wire):
    """Also while the batch is still open, where its results are fetched once more."""
    decode = BatchLink.decode
    with BatchProvider() as at:
        base_url = at.root_url if wire == "anthropic" else at.base_url
        batch = {"chunk": 8, "at_once": 1, "poll_s": 30}
        judge = chat_judge(base_url, provider=wire, batch=batch)
        frozen = frozen_study(tmp_path, [judge])
        with monkeypatch.context() as patch:
            for times in (2, 10**6):
                patch.setattr(BatchLink, "decode", broken(times, decode))
                done = acquire(frozen, effects=FakeTime().effects)
                assert [stop.reason for stop in done.stops] == [Reason.UNREAD]
                assert done.totals.completed == frozen.count - 2
        done = acquire(frozen, effects=FakeTime().effects)
        assert done.complete
        assert set(at.asked.values()) == {1}, "nothing is bought a second time"
    assert (done.totals.attempts, done.totals.orphaned) == (frozen.count, 0)
    assert verify(frozen.path).ok


def test_a_large_reply_is_durable_before_anything_reads_it(tmp_path, provider, monkeypatch):
    async def large(seen, request):
        body = BODIES[seen.path]("A" + " " * 2**21, number=seen.total)
        return await say()(seen, request) if seen.total > 1 else _json(body)

    provider.act = large
    frozen = frozen_run(tmp_path, provider, items=1)
    decode, sizes = HttpJudge.decode, []

    def look(judge, reply):
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            stored = len(list(view.unread_attempts())) + view.totals().completed
        sizes.append((len(reply.body) > 2**20, stored > 0))
        return decode(judge, reply)

    monkeypatch.setattr(HttpJudge, "decode", look)
    assert acquire(frozen).complete
    assert (True, True) in sizes


def _json(body):
    from aiohttp import web

    return web.Response(body=json.dumps(body).encode(), content_type="application/json")


class FullFor:
    """Fills the disk of a run when some calls are done, and frees it a while after that is told."""

    def __init__(self, monkeypatch, seconds):
        self.held = []
        self._seconds = seconds
        self._since = self._full = None
        opened = SqliteLedger.__init__

        def open_and_note(ledger, *given, **named):
            opened(ledger, *given, **named)
            self._ledger = ledger

        monkeypatch.setattr(SqliteLedger, "__init__", open_and_note)

    def show(self, tally, now):
        connection = self._ledger._connection
        if self._full is None and tally.done >= 4:
            (pages,) = connection.execute("PRAGMA page_count").fetchone()
            connection.execute(f"PRAGMA max_page_count = {pages}")
            self._full = now
        if tally.held is not None:
            self.held.append(tally.held)
            self._since = self._since or time.monotonic()
            if time.monotonic() - self._since > self._seconds:
                connection.execute("PRAGMA max_page_count = 1000000")


def slow(seconds):
    async def act(seen, request):
        import asyncio

        await asyncio.sleep(seconds)
        body = BODIES[seen.path]("A" + " " * 9_000, number=seen.total)
        del request
        return _json(body)

    return act


def test_a_disk_that_is_full_for_a_while_costs_nothing(tmp_path, provider, monkeypatch):
    provider.act = slow(0.1)
    frozen = frozen_run(tmp_path, provider, items=20)
    full = FullFor(monkeypatch, 1.0)
    done = acquire(frozen, observer=full)
    assert done.complete
    assert full.held, "the disk was full"
    assert len(provider.seen) == frozen.count == done.totals.attempts
    asked = max(held.replies for held in full.held)
    assert 0 < asked <= 3 * 8, "what was under way, and nothing more"


def test_a_disk_that_stays_full_costs_nothing_either(tmp_path, provider, monkeypatch):
    """Somebody interrupts; the same command finds every reply in the second place."""
    monkeypatch.setenv(second_place.PLACE, str(tmp_path / "elsewhere"))
    provider.act = slow(0.1)
    frozen = frozen_run(tmp_path, provider, items=20)
    full = FullFor(monkeypatch, 1e9)

    class Impatient:
        def show(self, tally, now):
            full.show(tally, now)
            if tally.held is not None and len(full.held) > 4:
                import signal

                signal.raise_signal(signal.SIGTERM)

    with pytest.raises(Exception, match=r"are kept in .*judgelaw-held-.*jsonl"):
        acquire(frozen, observer=Impatient(), grace_s=0.5)
    done = acquire(frozen)
    assert done.complete
    assert len(provider.seen) == frozen.count == done.totals.attempts
    assert done.totals.orphaned == 0
