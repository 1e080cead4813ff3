"""A hostile server: each fault ends in the row of "what counts as what" that names it."""

import asyncio
import json
from collections import Counter
from email.utils import formatdate

import pytest

from judgelaw.acquire import acquire
from judgelaw.acquire.retry import Reason
from judgelaw.errors import IncompleteRunError, ProviderRefusedError
from judgelaw.ledger import LEDGER_NAME, SqliteView
from servers.fake_time import FakeTime
from servers.provider import (
    Provider,
    chat_body,
    cut,
    drip,
    first,
    reply,
    reset,
    reset_mid_body,
    say,
    short_json,
)
from servers.study import chat_judge, frozen_study

CALLS = 4  # one item, two prompts, two orders, one repeat
LENGTH = len(json.dumps(chat_body(number=1)))


def run(tmp_path, act, *, time=None, judge=None, repeats=1, **transport):
    """Acquire a small study from a provider that does `act`; return what happened."""
    with Provider(act) as provider:
        spec = chat_judge(provider.base_url, **(judge or {}))
        frozen = frozen_study(
            tmp_path,
            [spec],
            items=1,
            repeats=repeats,
            transport={"concurrency": 2, **transport},
        )
        done = acquire(frozen, effects=(time or FakeTime()).effects)
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            attempts = list(view.attempts())
            verdicts = [verdict for _, verdict in view.verdicts()]
            flags = [kind for _, kind, _ in view.flags()]
    return done, provider, attempts, verdicts, flags


def kinds(attempts):
    return Counter(a.kind for a in attempts if a.state == "failed")


DATE = formatdate(1_700_000_000 + 40, usegmt=True)
TRANSIENT = {
    "429 with Retry-After in seconds": (reply(429, headers={"Retry-After": "30"}), "throttled"),
    "429 with Retry-After as a date": (reply(429, headers={"Retry-After": DATE}), "throttled"),
    "429 without a word": (reply(429), "throttled"),
    "408": (reply(408), "busy"),
    "409": (reply(409), "busy"),
    "425": (reply(425), "busy"),
    "500": (reply(500, {"error": {"message": "boom"}}), "server_error"),
    "520": (reply(520, "<html>unknown error</html>"), "server_error"),
    "529": (reply(529), "server_error"),
    "reset before the reply": (reset, "reset"),
    "reset mid-body": (reset_mid_body, "cut"),
    "no JSON": (reply(200, "OK"), "not_json"),
    "empty body": (reply(200, b""), "not_json"),
    "invalid UTF-8": (reply(200, b'{"choices": [{"message": {"content": "\xff"}}]}'), "not_json"),
    "error object": (reply(200, {"error": {"message": "overloaded"}}), "error_object"),
    "no choices": (reply(200, {"choices": []}), "no_completion"),
}


@pytest.mark.parametrize("fault", TRANSIENT)
def test_a_transient_fault_is_kept_and_the_same_bytes_are_sent_again(tmp_path, fault):
    act, kind = TRANSIENT[fault]
    done, provider, attempts, verdicts, _ = run(tmp_path, first(act))
    assert done.totals.open == 0
    assert kinds(attempts) == {kind: CALLS}
    assert Counter(a.state for a in attempts) == {"failed": CALLS, "completed": CALLS}
    assert set(provider.counts().values()) == {2}, "each request twice, byte for byte"
    assert [v.reason for v in verdicts] == ["parsed"] * CALLS


@pytest.mark.parametrize(("shorten", "kind"), [(cut, "cut"), (short_json, "not_json")])
def test_a_body_cut_at_any_tenth_byte_is_asked_for_again(tmp_path, shorten, kind):
    """Call n of twelve is cut after n tenths of its reply, the last one a byte before the end."""
    places = [round(LENGTH * n / 10) for n in range(10)] + [LENGTH - 2, LENGTH - 1]
    known: dict[str, int] = {}

    async def act(seen, request):
        at = places[known.setdefault(seen.sha256, len(known))]
        return await first(shorten(at))(seen, request)

    done, provider, attempts, _, _ = run(tmp_path, act, repeats=3)
    assert done.totals.completed == len(places)
    assert kinds(attempts) == {kind: len(places)}
    assert set(provider.counts().values()) == {2}


@pytest.mark.parametrize(("header", "wait"), [("30", 30.0), (DATE, 40.0)])
def test_retry_after_is_honoured(tmp_path, header, wait):
    time = FakeTime()
    start = time.now
    _, _, attempts, _, _ = run(
        tmp_path, first(reply(429, headers={"Retry-After": header})), time=time, concurrency=1
    )
    refused, answered = (
        [a for a in attempts if a.state == state] for state in ("failed", "completed")
    )
    for before, after in zip(refused, answered, strict=True):
        assert after.sent_at - before.ended_at >= min(wait, start + wait - before.ended_at)
    assert max(time.naps) >= wait


COMPLETIONS = {
    "empty content": (say(""), "empty"),
    "null content": (say(None), "empty"),
    "a refusal": (say(None, refusal="I cannot judge this"), "refusal"),
    "nonsense": (say("Both have merits."), "no label"),
    "truncated": (say("A", finish="length"), "truncated"),
    "filtered": (say("", finish="content_filter"), "content filtered"),
    "10 MB of text": (say("x" * 10_000_000), "no label"),
}


@pytest.mark.parametrize("what", COMPLETIONS)
def test_whatever_a_completion_says_it_is_never_asked_again(tmp_path, what):
    act, reason = COMPLETIONS[what]
    done, provider, attempts, verdicts, _ = run(tmp_path, act)
    assert done.totals.open == 0
    assert {a.state for a in attempts} == {"completed"}
    assert set(provider.counts().values()) == {1}
    assert {(v.verdict, v.reason) for v in verdicts} == {("invalid", reason)}


def test_a_slow_drip_ends_at_the_deadline_of_the_call(tmp_path):
    done, provider, attempts, _, _ = run(tmp_path, first(drip(0.05)), timeout_s=0.4)
    assert kinds(attempts) == {"timeout": CALLS}
    assert done.totals.at_risk == CALLS
    assert done.totals.open == 0
    assert set(provider.counts().values()) == {2}


def test_no_connection_is_a_failed_attempt(tmp_path):
    with Provider() as gone:
        pass
    frozen = frozen_study(tmp_path, [chat_judge(gone.base_url)], items=1, repeats=1)
    done = acquire(frozen, effects=FakeTime().effects)
    assert 5 * 3 <= done.totals.failed <= 5 * CALLS
    assert (done.totals.completed, done.totals.at_risk) == (0, 0)
    with pytest.raises(IncompleteRunError, match="4 open: the same command resumes"):
        done.raise_if_open()


def test_where_nobody_is_there_a_few_calls_are_enough_to_say_so(tmp_path):
    with Provider() as gone:
        pass
    transport = {"concurrency": 2}
    frozen = frozen_study(tmp_path, [chat_judge(gone.base_url)], items=40, transport=transport)
    done = acquire(frozen, effects=FakeTime().effects)
    assert done.totals.failed <= 5 * 4
    peer = gone.base_url.removeprefix("http://").removesuffix("/v1")
    said = f"3 calls in a row used up their attempts; last, judge chat: cannot connect to {peer}: "
    with pytest.raises(IncompleteRunError, match=said):
        done.raise_if_open()


def test_a_judge_that_answered_before_is_given_more_time(tmp_path):
    """What is left open may be what nobody can answer: other calls stand behind it."""

    async def act(seen, request):
        return await (say() if seen.total <= 20 else reply(503))(seen, request)

    done, provider, _, _, _ = run(tmp_path, act, repeats=60, attempts=1)
    assert done.totals.completed == 20
    assert 120 <= len(provider.seen) <= 122


def test_attempts_used_up_leave_the_call_open_and_a_later_session_asks_again(tmp_path):
    act = first(reply(500), times=3)
    done, _, _, _, _ = run(tmp_path, act, attempts=2)
    assert (done.totals.failed, done.totals.open) == (2 * CALLS, CALLS)
    assert done.stops[0].reason is Reason.ATTEMPTS
    with pytest.raises(IncompleteRunError) as error:
        done.raise_if_open()
    assert error.value.exit_code == 3


def test_a_provider_that_asks_for_hours_is_left_alone_and_resumed_later(tmp_path):
    done, provider, attempts, _, _ = run(
        tmp_path, reply(429, headers={"Retry-After": "7200"}), repeats=20
    )
    assert len(provider.seen) <= 2
    assert set(kinds(attempts)) == {"throttled"}
    assert done.stops[0].reason is Reason.POSTPONED
    with pytest.raises(IncompleteRunError, match="status 429"):
        done.raise_if_open()


def test_a_server_that_never_answers_is_given_up_for_now(tmp_path):
    done, provider, _, _, _ = run(tmp_path, reply(503), repeats=60, attempts=1)
    assert 10 <= len(provider.seen) <= 12
    assert done.totals.open == 240
    with pytest.raises(IncompleteRunError, match="10 calls in a row used up their attempts"):
        done.raise_if_open()


@pytest.mark.parametrize("status", [400, 404, 413, 422, 418])
def test_a_rejected_request_stops_its_judge_with_the_providers_words(tmp_path, status):
    error = {"error": {"message": "max_tokens is too large", "type": "invalid_request_error"}}
    done, provider, attempts, _, _ = run(tmp_path, reply(status, error), repeats=20)
    assert 1 <= len(provider.seen) <= 2, "only what was under way went out"
    assert set(kinds(attempts)) == {"rejected"}
    with pytest.raises(ProviderRefusedError, match="max_tokens is too large") as raised:
        done.raise_if_open()
    assert raised.value.exit_code == 5


def test_a_rejected_judge_does_not_stop_another(tmp_path):
    with Provider(say()) as good, Provider(reply(404, {"error": {"message": "no model"}})) as bad:
        judges = [chat_judge(good.base_url), chat_judge(bad.base_url, name="bad")]
        frozen = frozen_study(tmp_path, judges, items=1, repeats=1)
        done = acquire(frozen, effects=FakeTime().effects)
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            assert view.totals("chat").open == 0
            assert view.totals("bad").open == CALLS
    assert [stop.reason for stop in done.stops] == [Reason.REJECTED]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_a_redirect_is_never_followed(tmp_path, status):
    act = reply(status, headers={"Location": "http://127.0.0.1:9/v2"})
    done, provider, attempts, _, _ = run(tmp_path, act)
    assert {seen.path for seen in provider.seen} == {"/v1/chat/completions"}
    assert set(kinds(attempts)) == {"redirected"}
    with pytest.raises(ProviderRefusedError, match=r"http://127\.0\.0\.1:9/v2"):
        done.raise_if_open()


def test_a_filter_that_the_judge_names_is_an_invalid_completion(tmp_path):
    error = {"error": {"code": "content_filter", "message": "policy"}}
    done, provider, attempts, verdicts, _ = run(
        tmp_path, reply(400, error), judge={"content_filter": ["content_filter"]}
    )
    assert done.totals.open == 0
    assert {a.state for a in attempts} == {"completed"}
    assert {(v.verdict, v.reason) for v in verdicts} == {("invalid", "content filtered")}
    assert set(provider.counts().values()) == {1}


REFUSALS = {
    "401": reply(401, {"error": {"message": "invalid key"}}),
    "402": reply(402, {"error": {"message": "no credit"}}),
    "403": reply(403, {"error": {"message": "not allowed"}}),
    "429 insufficient_quota": reply(429, {"error": {"code": "insufficient_quota"}}),
}


@pytest.mark.parametrize("what", REFUSALS)
def test_a_key_refused_halfway_stops_at_once_and_fails_nothing(tmp_path, what):
    async def act(seen, request):
        return await (say() if seen.total <= 20 else REFUSALS[what])(seen, request)

    done, provider, attempts, _, _ = run(tmp_path, act, repeats=20)
    assert done.totals.completed == 20
    assert len(provider.seen) <= 22
    assert done.totals.failed == 0
    assert {a.state for a in attempts} == {"completed", "refused", "unsent"}
    with pytest.raises(ProviderRefusedError) as raised:
        done.raise_if_open()
    assert raised.value.exit_code == 5


def test_after_a_refusal_the_same_run_resumes(tmp_path):
    async def act(seen, request):
        return await (REFUSALS["401"] if 3 <= seen.total <= 4 else say())(seen, request)

    with Provider(act) as provider:
        judge = chat_judge(provider.base_url)
        frozen = frozen_study(tmp_path, [judge], items=1, transport={"concurrency": 2})
        assert acquire(frozen, effects=FakeTime().effects).totals.open > 0
        assert acquire(frozen, effects=FakeTime().effects).totals.open == 0
        asked = provider.counts()
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        sent = Counter(a.call_id for a in view.attempts() if a.state != "unsent")
    assert sorted(asked.values()) == sorted(sent.values())


@pytest.mark.parametrize(
    ("act", "flag", "count"),
    [
        (say(model="another-model"), "model", CALLS),
        (reply(200, chat_body()), "response_id", CALLS - 1),
        (reply(200, chat_body(), {"X-Cache": "HIT"}), "replay", CALLS),
    ],
)
def test_replies_of_another_model_or_of_the_past_are_kept_and_flagged(tmp_path, act, flag, count):
    done, _, attempts, verdicts, flags = run(tmp_path, act)
    assert done.totals.open == 0
    assert {a.state for a in attempts} == {"completed"}
    assert Counter(flags)[flag] == count
    assert len(verdicts) == CALLS


def test_throttling_narrows_the_run_for_a_while(tmp_path):
    """While the server lets two in and throttles the rest, everything is answered in the end."""
    busy = 0

    async def act(seen, request):
        nonlocal busy
        if busy >= 2:
            return await reply(429, headers={"Retry-After": "0.05"})(seen, request)
        busy += 1
        try:
            await asyncio.sleep(0.02)
            return await say()(seen, request)
        finally:
            busy -= 1

    with Provider(act) as provider:
        judge = chat_judge(provider.base_url)
        transport = {"concurrency": 8, "attempts": 20, "backoff_s": 0.01}
        frozen = frozen_study(tmp_path, [judge], items=4, transport=transport)
        done = acquire(frozen)
        assert done.totals.open == 0
        assert len(provider.seen) == done.totals.attempts
        assert done.totals.failed < done.totals.completed
