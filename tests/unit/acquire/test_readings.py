"""Replies are durable before they are read, and no parser can hold up or cost a run."""

import json
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing

import psutil
import pytest

from judgelaw.acquire import acquire, reparse, with_parser
from judgelaw.acquire.readings import Readings
from judgelaw.acquire.verify import verify
from judgelaw.cli import program
from judgelaw.errors import InputError
from judgelaw.ledger import LEDGER_NAME, Completed, SqliteView
from servers.batches import BatchProvider
from servers.fake_time import FakeTime
from servers.provider import Provider, say
from servers.study import chat_judge, frozen_study, simulated_judge, write_study

BACKTRACKS = {"regex": "^(A|B|A+)+$"}
HOSTILE = "A" * 60 + "!"
HASTY = "import judgelaw.wire.bounded as bounded; bounded.SECONDS = 0.2"


@pytest.fixture(autouse=True)
def hasty(monkeypatch):
    """Give parsers of this process a fifth of their time: nothing here is near the limit."""
    monkeypatch.setattr("judgelaw.wire.bounded.SECONDS", 0.2)


def verdicts(run) -> Counter:
    with SqliteView(run / LEDGER_NAME) as view:
        return Counter((v.verdict, v.reason) for _, v in view.verdicts())


def completed(run) -> int:
    with SqliteView(run / LEDGER_NAME) as view:
        return view.totals().completed


@pytest.mark.parametrize("parser", ["first-line", {"regex": "[AB]"}])
def test_a_reply_is_on_the_disk_before_it_is_read(tmp_path, monkeypatch, parser):
    """At the moment of every reading another connection finds the completion."""
    frozen = frozen_study(tmp_path, [simulated_judge(parser=parser)])
    seen = []
    take = Readings.durable

    def look(self, records):
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            there = {c.call.call_id for c in view.completions()}
        mine = {r.reservation.call.call_id for r in records if isinstance(r, Completed)}
        assert mine <= there
        seen.extend(mine)
        take(self, records)

    monkeypatch.setattr(Readings, "durable", look)
    acquire(frozen).raise_if_open()
    assert len(seen) == frozen.count == sum(verdicts(frozen.path).values())


@pytest.mark.parametrize("parser", ["first-line", {"regex": "[AB]"}])
def test_what_a_session_left_unread_is_read_by_the_next_and_not_asked_again(
    tmp_path, monkeypatch, parser
):
    with Provider() as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url, parser=parser)])
        with monkeypatch.context() as blind:
            blind.setattr(Readings, "durable", lambda *_: None)
            with pytest.raises(InputError, match="16 of their replies not read yet"):
                acquire(frozen).raise_if_open()
        assert (completed(frozen.path), verdicts(frozen.path)) == (16, Counter())
        checks = {c.name: c for c in verify(frozen.path).checks}
        assert "16 replies wait to be read" in checks["verdicts"].detail
        acquire(frozen).raise_if_open()
        assert len(provider.seen) == 16
    assert sum(verdicts(frozen.path).values()) == 16
    assert verify(frozen.path).ok


def test_a_parser_that_runs_out_often_stops_its_judge_and_costs_no_reply(tmp_path):
    with Provider(say(HOSTILE)) as provider:
        judges = [chat_judge(provider.base_url, parser=BACKTRACKS), simulated_judge()]
        frozen = frozen_study(tmp_path, judges, items=10, transport={"concurrency": 2})
        done = acquire(frozen)
        with pytest.raises(InputError, match="judge chat: its parser ran out of time on 3 of 3"):
            done.raise_if_open()
        asked = len(provider.seen)
        assert 3 <= asked < 80
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            assert view.totals("chat").completed == asked
            assert view.totals("sim").open == 0, "the other judge goes on"
        assert verdicts(frozen.path)["invalid", "parser timeout"] == 3
        assert verify(frozen.path).ok
        # Resuming asks nothing: the frozen parser is the same.
        with pytest.raises(InputError, match="reparse RUN --parser RULE"):
            acquire(frozen).raise_if_open()
        assert len(provider.seen) == asked
    better = with_parser(frozen.judges["chat"], {"regex": "A"})
    reparse(frozen, {"chat": better})
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert len(list(view.verdicts())) == asked + 3 + 80
    with pytest.raises(InputError, match="ran out of time on 3 of 3 replies"):
        reparse(frozen, {"chat": with_parser(frozen.judges["chat"], {"regex": "(A+)+$"})})


def test_a_rare_hostile_reply_is_invalid_and_the_run_goes_on(tmp_path):
    async def one_is_hostile(seen, request):
        return await say(HOSTILE if seen.total == 7 else "A")(seen, request)

    with Provider(one_is_hostile) as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url, parser=BACKTRACKS)])
        acquire(frozen).raise_if_open()
    found = verdicts(frozen.path)
    assert found["invalid", "parser timeout"] == 1
    assert sum(found.values()) == 16
    assert verify(frozen.path).ok


def test_verify_takes_a_timeout_as_it_stands_only_where_one_can_be(tmp_path):
    """A parser of ours cannot run out, and neither can one that was shown nothing."""
    frozen = frozen_study(tmp_path, [simulated_judge()])
    acquire(frozen).raise_if_open()
    forged = "UPDATE verdicts SET verdict = 'invalid', displayed = NULL, reason = 'parser timeout'"
    with closing(sqlite3.connect(frozen.path / LEDGER_NAME)) as connection:
        connection.execute("DROP TRIGGER verdicts_are_frozen")
        connection.execute(forged)
        connection.commit()
    checks = {c.name: c for c in verify(frozen.path).checks}
    assert not checks["verdicts"].ok


def test_batches_are_collected_before_they_are_read_and_none_follows(tmp_path):
    with BatchProvider(outcome=lambda *_: HOSTILE) as at:
        batch = {"chunk": 4, "at_once": 2, "poll_s": 30}
        judge = chat_judge(at.base_url, batch=batch, parser=BACKTRACKS)
        frozen = frozen_study(tmp_path, [judge], items=8)
        done = acquire(frozen, effects=FakeTime().effects)
        with pytest.raises(InputError, match="ran out of time on 3 of 3"):
            done.raise_if_open()
        submitted = sum(at.asked.values())
        assert submitted < 64
        assert completed(frozen.path) == submitted, "what was submitted is collected"
        with pytest.raises(InputError):
            acquire(frozen, effects=FakeTime().effects).raise_if_open()
        assert sum(at.asked.values()) == submitted
    assert verify(frozen.path).ok


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_run_whose_parser_is_at_work(tmp_path, fleet, number):
    with Provider(say(HOSTILE)) as provider:
        study = write_study(tmp_path, [chat_judge(provider.base_url, parser=BACKTRACKS)])
        run = tmp_path / "run"
        process = fleet.start(tmp_path, "run", study, "--out", run)
        until = time.monotonic() + 60
        while not psutil.Process(process.pid).children() and time.monotonic() < until:
            time.sleep(0.02)
        process.send(number)
        started = time.monotonic()
        assert process.wait() == 130, process.said
        assert time.monotonic() - started < 8
        asked = len(provider.seen)
    assert completed(run) == asked > 0


def test_a_kill_while_a_parser_is_at_work_loses_nothing(tmp_path, fleet):
    async def mostly_hostile(seen, request):
        return await say(HOSTILE if seen.total % 2 else "A")(seen, request)

    with Provider(mostly_hostile) as provider:
        study = write_study(tmp_path, [chat_judge(provider.base_url, parser=BACKTRACKS)])
        run = tmp_path / "run"
        process = fleet.start(tmp_path, "run", study, "--out", run)
        until = time.monotonic() + 60
        while len(provider.seen) < 16 and time.monotonic() < until:
            time.sleep(0.02)
        time.sleep(0.5)
        process.kill()
        assert (completed(run), len(provider.seen)) == (16, 16)
        again = fleet.start(tmp_path, "run", study, "--out", run, first=HASTY)
        assert again.wait() == 2, again.said
        assert "ran out of time on 3 of" in again.said
        assert len(provider.seen) == 16


def test_a_run_with_unread_replies_can_be_looked_at(tmp_path, capsys):
    with Provider(say(HOSTILE)) as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url, parser=BACKTRACKS)])
        acquire(frozen)
    assert program._run(["status", str(frozen.path), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["completed"], found["unread"]) == (16, 13)
