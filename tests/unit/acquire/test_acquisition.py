"""A run from frozen to tables: resuming, budgets, interruption, and what is never sent."""

import asyncio
import io
import json
import sys
from collections import Counter
from dataclasses import replace

import duckdb
import pytest

from judgelaw.acquire import Silent, acquire
from judgelaw.acquire.engine import drive
from judgelaw.acquire.progress import Tally, clock
from judgelaw.acquire.retry import Reason
from judgelaw.cli.terminal import CallBar, CallLines
from judgelaw.errors import BudgetReachedError, InputError, IntegrityError
from judgelaw.ledger import LEDGER_NAME, SqliteLedger, SqliteView
from judgelaw.study import Budget, extend, file_sha256, freeze, load_study, read_sums
from servers.fake_time import FakeTime
from servers.provider import Provider, first, reply, say
from servers.study import chat_judge, frozen_study, simulated_judge

PRICE = {"input_per_mtok": 1.0, "output_per_mtok": 10.0}


def rows(path, *columns):
    """Read a table, or some of its columns, in the sequence of the file."""
    table = duckdb.read_parquet(str(path))
    places = [table.columns.index(name) for name in columns or table.columns]
    return [tuple(row[place] for place in places) for row in table.fetchall()]


def test_a_run_ends_in_a_calls_table_without_provenance(tmp_path):
    frozen = frozen_study(tmp_path, [simulated_judge()], items=3, repeats=3)
    done = acquire(frozen)
    done.raise_if_open()
    table = frozen.path / "calls.parquet"
    assert duckdb.read_parquet(str(table)).columns == [
        *("judge", "layer", "item", "stratum", "prompt", "order", "repeat", "verdict", "gold")
    ]
    found = rows(table)
    assert len(found) == frozen.count == 3 * 2 * 2 * 3
    assert found == sorted(found, key=lambda r: (r[0], r[1], r[2], r[5], r[6], r[4]))
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        stored = Counter(verdict.verdict for _, verdict in view.verdicts())
    assert Counter(r[7] for r in found) == stored


def test_hidden_labels_take_the_place_of_slots_in_the_table_only(tmp_path):
    layers = [{"name": "audit"}, {"name": "null", "role": "control", "repeats": 3, "labels": 4}]
    frozen = frozen_study(tmp_path, [simulated_judge()], layers=layers)
    acquire(frozen)
    table = frozen.path / "calls.parquet"
    prompts = {layer: set() for layer in ("audit", "null")}
    for layer, prompt in rows(table, "layer", "prompt"):
        prompts[layer].add(prompt)
    assert prompts == {"audit": {"p1", "p2"}, "null": {"h1", "h2", "h3", "h4"}}
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        slots = {c.prompt for c in view.calls() if c.layer == "null"}
    assert slots == {"slot-1", "slot-2", "slot-3", "slot-4"}
    blocks = Counter(rows(table, "layer", "item", "prompt", "order", "repeat"))
    assert set(blocks.values()) == {1}


def test_timing_counts_from_the_first_request(tmp_path):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    acquire(frozen)
    times = rows(frozen.path / "timing.parquet", "started_s", "latency_s", "position", "attempts")
    assert min(t[0] for t in times) == 0.0
    assert all(0 <= t[1] < 60 for t in times)
    assert sorted(t[2] for t in times) == list(range(frozen.count))
    assert {t[3] for t in times} == {1}


def test_every_hash_is_refreshed(tmp_path):
    frozen = frozen_study(tmp_path, [simulated_judge()])
    acquire(frozen)
    sums = read_sums(frozen.path)
    for name in (LEDGER_NAME, "calls.parquet", "timing.parquet", "manifest.parquet"):
        assert sums[name] == file_sha256(frozen.path / name)


def test_a_finished_run_sends_nothing(tmp_path):
    with Provider() as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url)])
        acquire(frozen)
        asked = len(provider.seen)
        before = (frozen.path / "calls.parquet").read_bytes()
        acquire(frozen)
        assert len(provider.seen) == asked == frozen.count
    assert (frozen.path / "calls.parquet").read_bytes() == before


def test_the_wire_carries_the_frozen_bytes_and_nothing_else(tmp_path, monkeypatch):
    monkeypatch.setenv("A_KEY", "sk-canary")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with Provider() as provider:
        judge = chat_judge(
            provider.base_url, api_key="env:A_KEY", headers={"X-Org": "literal:mine"}
        )
        frozen = frozen_study(tmp_path, [judge])
        acquire(frozen)
    planned = {call.request_sha256 for call in frozen.iter_calls()}
    assert set(provider.counts()) == planned
    for seen in provider.seen:
        assert set(json.loads(seen.body)) == {"model", "messages", "max_tokens", "seed"}
        assert seen.headers["Authorization"] == "Bearer sk-canary"
        assert seen.headers["X-Org"] == "mine"
        assert set(seen.headers) == {
            *("Host", "Content-Type", "Content-Length", "Accept", "Accept-Encoding"),
            *("User-Agent", "Authorization", "X-Org"),
        }


@pytest.mark.parametrize(
    ("provider_name", "path"),
    [("openai-completions", "/v1/completions"), ("anthropic", "/v1/messages")],
)
def test_the_other_wire_formats_reach_their_endpoints(tmp_path, monkeypatch, provider_name, path):
    monkeypatch.setenv("A_KEY", "sk-canary")
    with Provider() as provider:
        root = provider.root_url if provider_name == "anthropic" else provider.base_url
        judge = chat_judge(root, provider=provider_name, api_key="env:A_KEY")
        if provider_name == "openai-completions":
            judge["template"] = {"text": "{{ messages[0].content }}", "server_adds_bos": False}
        frozen = frozen_study(tmp_path, [judge])
        acquire(frozen).raise_if_open()
    assert {seen.path for seen in provider.seen} == {path}
    if provider_name == "anthropic":
        assert {seen.headers["x-api-key"] for seen in provider.seen} == {"sk-canary"}
        assert {seen.headers["anthropic-version"] for seen in provider.seen} == {"2026-10-21"}


def test_extended_calls_are_asked_and_the_old_ones_are_not(tmp_path):
    with Provider() as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url)], repeats=2)
        acquire(frozen)
        before = provider.counts()
        extended = extend(frozen.path, 4)
        done = acquire(extended)
        assert (done.totals.planned, done.totals.open) == (2 * frozen.count, 0)
        assert provider.counts() - before == Counter(
            {c.request_sha256: 1 for c in extended.iter_calls(after=frozen.count - 1)}
        )


def test_memory_holds_a_few_batches_however_many_calls(tmp_path):
    """No more reservations are open at once than the feed keeps, for any length of schedule."""
    most = 0

    class Watching:
        def show(self, _tally, _now):
            nonlocal most
            with SqliteView(frozen.path / LEDGER_NAME) as view:
                most = max(most, view.totals().in_flight)

    frozen = frozen_study(
        tmp_path, [simulated_judge()], items=50, repeats=10, transport={"concurrency": 4}
    )
    acquire(frozen, observer=Watching())
    assert most <= 4 * 4 + 4


def test_a_budget_in_calls_stops_and_a_larger_one_resumes(tmp_path):
    with Provider() as provider:
        judges = [chat_judge(provider.base_url)]
        frozen = frozen_study(tmp_path, judges, budget={"calls": 5})
        done = acquire(frozen)
        assert (done.totals.completed, len(provider.seen)) == (5, 5)
        with pytest.raises(BudgetReachedError, match="budget of 5 calls") as raised:
            done.raise_if_open()
        assert raised.value.exit_code == 6
        frozen = frozen_study(tmp_path, judges, budget={"calls": 500})
        assert acquire(frozen).totals.open == 0


def test_a_budget_in_dollars_is_never_passed(tmp_path):
    with Provider() as provider:
        judges = [chat_judge(provider.base_url, price=PRICE)]
        # A call costs 100 tokens in and 2 out: 0.00012 dollars; at most 8 out: 0.00018.
        frozen = frozen_study(tmp_path, judges, items=4, budget={"usd": 0.0015})
        done = acquire(frozen)
        spent = done.totals.completed * 0.00012
        assert 0.0010 < spent <= 0.0015
        assert done.stops[0].reason is Reason.BUDGET


def test_a_budget_in_tokens_needs_usage(tmp_path):
    body = {"choices": [{"message": {"content": "A"}, "finish_reason": "stop"}]}
    with Provider(reply(200, body)) as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url)], budget={"tokens": 100_000})
        with pytest.raises(InputError, match="reports no token usage"):
            acquire(frozen)
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        assert view.totals().completed >= 1, "the reply that showed it is kept"
    assert (frozen.path / "calls.parquet").exists()


def test_dollars_without_prices_are_refused_before_anything_is_sent(tmp_path):
    with Provider() as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url)])
        study = frozen.study.model_copy(update={"budget": Budget(usd=1.0)})
        with pytest.raises(InputError, match="has no price"):
            acquire(replace(frozen, study=study))
        assert provider.seen == []


def test_a_deadline_stops_the_session(tmp_path):
    async def slow(seen, request):
        await asyncio.sleep(0.05)
        return await say()(seen, request)

    with Provider(slow) as provider:
        frozen = frozen_study(
            tmp_path,
            [chat_judge(provider.base_url)],
            items=10,
            transport={"concurrency": 1},
            budget={"deadline_s": 0.3},
        )
        done = acquire(frozen)
    assert 0 < done.totals.completed < frozen.count
    assert done.totals.failed == 0, "what was under way was waited for"
    with pytest.raises(BudgetReachedError, match=r"deadline of 0\.3 s"):
        done.raise_if_open()


def test_requests_a_minute_are_kept(tmp_path):
    time = FakeTime()
    with Provider() as provider:
        frozen = frozen_study(
            tmp_path,
            [chat_judge(provider.base_url)],
            items=8,
            transport={"concurrency": 1, "requests_per_minute": 60},
        )
        start = time.now
        done = acquire(frozen, effects=time.effects)
    assert done.totals.open == 0
    assert time.now - start >= frozen.count - 2


def test_paid_replies_survive_a_cancellation(tmp_path):
    """Cancelled from outside: what is under way is waited for, written, then let go."""

    async def slow(seen, request):
        await asyncio.sleep(0.3)
        return await say()(seen, request)

    async def session(frozen, ledger):
        task = asyncio.create_task(drive(frozen, ledger, Silent()))
        await asyncio.sleep(0.15)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    with Provider(slow) as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url)], items=8)
        with SqliteLedger(frozen.path) as ledger:
            ledger.load(frozen.judges, frozen.iter_calls(), manifest="m")
            asyncio.run(session(frozen, ledger))
            totals = ledger.totals()
        assert totals.completed == len(provider.seen) > 0
        assert (totals.failed, totals.in_flight) == (0, 0)


def test_a_parser_that_raises_costs_no_reply(tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("a parser of another package")

    frozen = frozen_study(tmp_path, [simulated_judge()])
    monkeypatch.setattr("judgelaw.wire.bounded.parse", broken)
    with pytest.raises(ZeroDivisionError):
        acquire(frozen)
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        kept = view.totals().completed
        assert kept > 0
        assert list(view.verdicts()) == []
    monkeypatch.undo()
    acquire(frozen).raise_if_open()
    assert len(rows(frozen.path / "calls.parquet")) == frozen.count


def test_changed_inputs_are_never_sent(tmp_path):
    with Provider() as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url)])
        tampered = replace(frozen.items["i0"], candidate_1="tampered")
        changed = replace(frozen, items={**frozen.items, "i0": tampered})
        with pytest.raises(IntegrityError, match="renders to other bytes"):
            acquire(changed)
        assert all(b"tampered" not in seen.body for seen in provider.seen)


def test_retries_are_told_apart_in_the_tables(tmp_path):
    with Provider(first(reply(500))) as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url)])
        acquire(frozen, effects=FakeTime().effects)
    assert {a for (a,) in rows(frozen.path / "timing.parquet", "attempts")} == {2}


def test_the_same_study_freezes_and_acquires_the_same_table(tmp_path):
    tables = []
    for name in ("a", "b"):
        frozen = frozen_study(tmp_path / name, [simulated_judge()], items=3)
        acquire(frozen)
        tables.append((frozen.path / "calls.parquet").read_bytes())
    assert tables[0] == tables[1]
    assert freeze(load_study(tmp_path / "a" / "study.yaml"), tmp_path / "a" / "run").count


def test_the_rate_shown_is_that_of_the_last_seconds_and_what_limits_it_is_named():
    tally = Tally(judges={}, planned=1_000, done=0, started_at=0.0)
    for second in range(100):
        tally.answered = 4 * min(second, 80)
        tally.mark(float(second))
        if second == 60:
            assert tally.rate(60.0) == 4.0
    assert tally.rate(99.0) == 0.0
    tally.limits = lambda: ["", "the provider's refusals"]
    assert "limited by the provider's refusals" in tally.words(99.0)


def test_a_refusal_for_now_is_not_shown_as_a_failure(tmp_path):
    with Provider(first(reply(429, headers={"Retry-After": "0"}))) as provider:
        frozen = frozen_study(tmp_path, [chat_judge(provider.base_url)])
        shown = Shows()
        acquire(frozen, observer=shown).raise_if_open()
    assert shown.tally.throttled == frozen.count
    assert shown.tally.failed == 0
    assert "0 failed," in shown.tally.words(1.0) + ","


class Shows:
    def show(self, tally, now):
        del now
        self.tally = tally


def test_progress_says_rate_time_cost_failures_and_invalid_share(capsys):
    tally = Tally(judges={}, planned=100, done=50, started_at=0.0)
    tally.answered, tally.read, tally.invalid, tally.failed = 50, 50, 5, 3
    assert tally.words(10.0) == "50/100 calls, 5.0/s, 0:10 left, 3 failed, 10.0% invalid"
    lines = CallLines(sys.stderr)
    for now in (0.0, 1.0, 5.0, 5.5, 6.0):
        tally.done += 1
        lines.show(tally, now)
    tally.done = 100
    lines.show(tally, 6.1)
    said = capsys.readouterr().err.splitlines()
    assert [line.split()[0] for line in said] == ["53/100", "100/100"]


def test_progress_says_how_the_last_attempt_failed(capsys):
    tally = Tally(judges={}, planned=9, done=0, started_at=0.0)
    lines = CallLines(sys.stderr)
    for failed in (36, 37):
        tally.failed = failed
        tally.last_failure = "cannot connect to [::1]:8998:\n\x1b[2J" + " refused" * 40
        lines.show(tally, 6.0 * (failed - 35))
    one, other = capsys.readouterr().err.splitlines()
    assert "36 failed" in one
    assert "no answer yet, 37 failed: cannot connect to [::1]:8998: [2J refused" in other
    assert "\x1b" not in other
    assert len(other) < 110
    screen = io.StringIO()
    with CallBar(screen) as bar:
        bar.show(tally, 1.0)
    assert "[::1]:8998" in " ".join(screen.getvalue().split())


def test_a_terminal_gets_a_bar(tmp_path):
    screen = io.StringIO()
    frozen = frozen_study(tmp_path, [simulated_judge(price=PRICE)])
    with CallBar(screen) as bar:
        acquire(frozen, observer=bar)
    assert "100%" in screen.getvalue()
    assert "16/16 calls" in screen.getvalue()
    assert "USD" in screen.getvalue()


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.4, "0:00"), (59.6, "1:00"), (3725, "1:02:05"), (200_000, "2 d 7 h")]
)
def test_durations_as_people_read_them(seconds, said):
    assert clock(seconds) == said
