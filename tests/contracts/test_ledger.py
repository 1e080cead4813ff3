"""What every ledger promises. A further implementation joins by adding itself to `kind`."""

import asyncio
import os
import subprocess
import sys
import textwrap
from dataclasses import replace

import pytest

from judgelaw.errors import IntegrityError, RunLockedError
from judgelaw.ledger import Read, Unsent
from judgelaw.wire import Verdict
from servers.endings import PARSER, completed, failed, read, record, states
from servers.study import chat_judge, frozen_study

one_holder = pytest.mark.parametrize("kind", ["sqlite"], indirect=True)
"""Any number of sessions share a PostgreSQL ledger."""


def reserve(ledger, limit=100, after=-1):
    return asyncio.run(ledger.reserve("chat", after=after, limit=limit))


def test_the_manifest_comes_back_as_it_went_in(opened, frozen):
    with opened() as ledger:
        assert list(ledger.calls()) == list(frozen.iter_calls())
    with opened() as ledger:
        assert ledger.totals().planned == frozen.count


def test_reservations_come_in_schedule_order_behind_a_position(opened, frozen):
    calls = list(frozen.iter_calls())
    with opened() as ledger:
        first = reserve(ledger, limit=3)
        assert [r.call for r in first] == calls[:3]
        rest = reserve(ledger, after=first[-1].call.position)
        assert [r.call for r in rest] == calls[3:]
        assert {r.number for r in first + rest} == {1}
        assert reserve(ledger) == []


def test_another_judge_has_no_calls_here(opened):
    with opened() as ledger:
        assert asyncio.run(ledger.reserve("nobody", after=-1, limit=9)) == []


def test_a_completion_ends_its_attempt_and_its_call(opened):
    with opened() as ledger:
        done, open_one = reserve(ledger, limit=2)
        record(ledger, completed(done))
        assert states(ledger) == ["completed", "started"]
        (stored,) = ledger.completions()
        assert stored.call == done.call
        assert stored.completion == completed(done).completion
        assert stored.receipt == completed(done).receipt
        assert (stored.body, stored.sent_at, stored.ended_at) == (b'{"text": "A"}', 10.0, 11.5)
        assert list(ledger.verdicts()) == []
        record(ledger, read(done))
        assert list(ledger.verdicts()) == [(done.call.call_id, read(done).verdict)]
        record(ledger, Unsent(reservation=open_one, ended_at=20.0))


def with_an_unknown_attempt(taken):
    *some, last = taken
    return [*map(completed, some), completed(replace(last, attempt=10**6))]


@pytest.mark.parametrize("size", [1, 63, 87, 200])
def test_a_group_of_any_size_is_written_whole_or_not_at_all(kind, tmp_path, size):
    judge = chat_judge("http://127.0.0.1:9/v1")
    frozen = frozen_study(tmp_path, [judge], repeats=26)
    with kind(frozen.path) as ledger:
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="m1")
        taken = reserve(ledger, limit=size)
        assert [r.call for r in taken] == list(frozen.iter_calls())[:size]
        texts = [f"text {i}" for i in range(size)]
        record(ledger, *(completed(r, text) for r, text in zip(taken, texts, strict=True)))
        stored = {c.call.call_id: c.completion.text for c in ledger.completions()}
        assert stored == {r.call.call_id: t for r, t in zip(taken, texts, strict=True)}
        record(ledger, *map(read, taken), *map(read, taken))
        assert sorted(call for call, _ in ledger.verdicts()) == sorted(stored)
    with pytest.raises(IntegrityError), kind(frozen.path) as ledger:
        record(ledger, *with_an_unknown_attempt(reserve(ledger, limit=8)))
    with kind(frozen.path) as ledger:
        assert ledger.totals().completed == size


def by_criterion(parser: str = "criteria/1#00000000") -> Verdict:
    parts = (("helpful", "pass", "yes"), ("safe", "invalid", None))
    return Verdict(
        verdict="invalid",
        parser=parser,
        displayed=None,
        reason="no label",
        criteria=tuple(
            (name, Verdict(verdict=v, parser=parser, displayed=shown, reason=f"why {name}\0"))
            for name, v, shown in parts
        ),
    )


def test_verdicts_on_criteria_come_back_with_the_reply_that_holds_them(opened):
    with opened() as ledger:
        first, second = reserve(ledger, limit=2)
        record(ledger, completed(first), completed(second))
        record(ledger, Read(call_id=first.call.call_id, verdict=by_criterion()))
        # Read twice, after a kill: the first reading stays.
        ledger.add_verdicts([(first.call.call_id, by_criterion())])
        ledger.add_verdicts([(second.call.call_id, by_criterion("criteria/1#11111111"))])
        stored = dict(ledger.verdicts())
        assert stored[first.call.call_id] == by_criterion()
        assert stored[second.call.call_id] == by_criterion("criteria/1#11111111")
        assert {j.verdict for j in ledger.judged()} == set(stored.values())
        assert ledger.totals().completed == 2
        assert sum(c.count for c in ledger.verdict_counts()) == 2
        assert [row[:3] for row in ledger.unreadable()] == []
        assert not list(ledger.unjudged("chat", "criteria/1#22222222"))[2:]


def test_a_reply_is_durable_before_anybody_has_read_it(opened):
    with opened() as ledger:
        (one,) = reserve(ledger, limit=1)
        record(ledger, completed(one))
    with opened() as ledger:
        ((call, order, completion),) = ledger.unjudged("chat", PARSER)
        assert (call, order) == (one.call.call_id, one.call.order)
        assert completion == completed(one).completion
        # Whoever reads it first is right; a second reading changes nothing.
        record(ledger, read(one))
        record(ledger, read(one))
        assert list(ledger.unjudged("chat", PARSER)) == []
        assert [c.count for c in ledger.verdict_counts()] == [1]


def test_nothing_is_read_into_a_call_without_a_reply(opened):
    ledger = opened()
    (one,) = reserve(ledger, limit=1)
    with pytest.raises(IntegrityError):
        record(ledger, read(one))
    with pytest.raises(IntegrityError):
        ledger.close()


def test_replies_say_what_completions_say_with_the_place_of_their_call(opened):
    with opened() as ledger:
        record(ledger, *(completed(r) for r in reserve(ledger, limit=3)))
        stored = {x.call.call_id: x for x in ledger.completions()}
        replies = list(ledger.replies())
        assert {reply.call_id for reply in replies} == set(stored)
        for reply in replies:
            call, said = stored[reply.call_id].call, stored[reply.call_id].completion
            assert reply[1:8] == (
                *(call.layer, call.judge, call.item, call.prompt),
                *(call.order, call.repeat, call.seed),
            )
            assert reply.response_id == stored[reply.call_id].receipt.response_id
            assert reply[9:12] == (said.text, said.refusal, said.content_filtered)
        assert list(ledger.replies(replies[0].layer)) == [
            reply for reply in replies if reply.layer == replies[0].layer
        ]
        assert list(ledger.replies("nowhere")) == []
        assert ledger.coverage() == {
            x.judge: x.completed / x.planned for x in ledger.summaries() if x.planned
        }
        assert sum(ledger.coverage().values()) > 0


def test_a_completed_call_is_never_reserved_again(opened, frozen):
    with opened() as ledger:
        record(ledger, *(completed(r) for r in reserve(ledger, limit=4)))
        assert len(reserve(ledger)) == frozen.count - 4


def test_a_completed_call_cannot_be_tried_again(opened):
    ledger = opened()
    (one,) = reserve(ledger, limit=1)
    record(ledger, completed(one))
    with pytest.raises(IntegrityError, match="never requested again"):
        asyncio.run(ledger.again(one))
    with pytest.raises(IntegrityError):
        ledger.close()


def test_a_call_has_one_completion(opened):
    ledger = opened()
    (one,) = reserve(ledger, limit=1)
    record(ledger, completed(one))
    with pytest.raises(IntegrityError):
        record(ledger, completed(one))
    with pytest.raises(IntegrityError):
        ledger.close()


def test_a_group_is_written_whole_or_not_at_all(opened):
    ledger = opened()
    one, two = reserve(ledger, limit=2)
    record(ledger, completed(one))
    with pytest.raises(IntegrityError):
        record(ledger, completed(two), completed(one))
    with pytest.raises(IntegrityError):
        ledger.close()
    with opened() as ledger:
        assert ledger.totals().completed == 1


def test_nothing_is_accepted_after_a_write_that_failed(opened):
    ledger = opened()
    one, two = reserve(ledger, limit=2)
    with pytest.raises(IntegrityError):
        record(ledger, completed(one), completed(one))
    with pytest.raises(IntegrityError):
        record(ledger, completed(two))
    with pytest.raises(IntegrityError):
        ledger.close()


def test_a_failure_is_kept_and_the_next_attempt_has_the_next_number(opened):
    with opened() as ledger:
        (one,) = reserve(ledger, limit=1)
        record(ledger, failed(one, "timeout", status=None, at_risk=True))
        second = asyncio.run(ledger.again(one))
        assert (second.number, second.call) == (2, one.call)
        record(ledger, completed(second))
        first, _ = ledger.attempts()
        assert (first.state, first.kind, first.detail) == ("failed", "timeout", "words")
        t = ledger.totals()
        assert (t.attempts, t.failed, t.completed, t.at_risk) == (2, 1, 1, 1)


def test_a_call_that_failed_is_open_for_a_later_session(opened):
    with opened() as ledger:
        (one,) = reserve(ledger, limit=1)
        record(ledger, failed(one))
    with opened() as ledger:
        (again,) = reserve(ledger, limit=1)
        assert (again.call, again.number) == (one.call, 2)


def test_a_refusal_is_no_failure(opened):
    with opened() as ledger:
        (one,) = reserve(ledger, limit=1)
        record(ledger, failed(one, "refused", status=401, refused=True))
        t = ledger.totals()
        assert (t.failed, t.refused, t.open, t.attempts) == (0, 1, t.planned, 1)


def test_what_was_never_sent_is_no_attempt(opened):
    with opened() as ledger:
        (one,) = reserve(ledger, limit=1)
        record(ledger, Unsent(reservation=one, ended_at=5.0))
        t = ledger.totals()
        assert (t.attempts, t.unsent) == (0, 1)


def test_a_session_that_ends_with_attempts_open_says_which_were_sent(opened):
    with opened() as ledger:
        sent, _ = reserve(ledger, limit=2)
        asyncio.run(ledger.sending(sent))
    with opened() as ledger:
        assert states(ledger) == ["orphaned", "unsent"]
        t = ledger.totals()
        assert (t.orphaned, t.at_risk, t.attempts) == (1, 1, 1)


def test_the_listener_hears_of_endings_when_they_are_durable(opened):
    heard = []

    async def session(ledger):
        ledger.listen(lambda endings: heard.append([e.reservation.attempt for e in endings]))
        one, two = await ledger.reserve("chat", after=-1, limit=2)
        ledger.record(completed(one))
        assert heard == []
        await ledger.flush()
        await asyncio.sleep(0)
        assert heard == [[one.attempt]]
        ledger.record(failed(two))
        await ledger.flush()
        await asyncio.sleep(0)

    with opened() as ledger:
        asyncio.run(session(ledger))
    assert [attempt for group in heard for attempt in group] == [1, 2]


def test_records_without_a_flush_are_written_at_the_end(opened):
    with opened() as ledger:
        for r in reserve(ledger):
            ledger.record(completed(r))
    with opened() as ledger:
        assert ledger.totals().open == 0


def test_both_parser_versions_stay(opened):
    with opened() as ledger:
        (one,) = reserve(ledger, limit=1)
        record(ledger, completed(one), read(one))
        call = one.call.call_id
        other = Verdict(verdict="tie", parser="regex/1#1", displayed="TIE", reason="parsed")
        assert [(c, o) for c, o, _ in ledger.unjudged("chat", "regex/1#1")] == [
            (call, one.call.order)
        ]
        ledger.add_verdicts([(call, other)])
        ledger.add_verdicts([(call, other)])
        assert dict(ledger.verdicts("regex/1#1")) == {call: other}
        assert {v.parser for _, v in ledger.verdicts()} == {PARSER, "regex/1#1"}
        assert list(ledger.unjudged("chat", "regex/1#1")) == []
        assert [c.count for c in ledger.verdict_counts()] == [1, 1]


def test_verdicts_come_with_their_calls_in_one_sequence(opened, frozen):
    with opened() as ledger:
        reserved = reserve(ledger)
        record(ledger, *(completed(r) for r in reversed(reserved)), *map(read, reserved))
        judged = list(ledger.judged())
    where = [
        (j.call.judge, j.call.layer, j.call.item, j.call.order, j.call.repeat, j.call.prompt)
        for j in judged
    ]
    assert where == sorted(where)
    assert len(judged) == frozen.count
    assert {(j.attempts, j.input_tokens, j.finish_reason) for j in judged} == {(1, 100, "stop")}


def test_token_probabilities_are_kept_beside_the_completion(opened):
    tokens = '[["A",-0.5,[["A",-0.5],["\\u0000",-2.0]]]]'
    with opened() as ledger:
        first, second = reserve(ledger, limit=2)
        record(ledger, replace(completed(first), tokens=tokens), completed(second))
        record(ledger, read(first), read(second))
        found = {
            j.call.call_id: (j.tokens, j.completion and j.completion.text) for j in ledger.judged()
        }
    assert found[first.call.call_id] == (tokens, "A")
    assert found[second.call.call_id] == (None, None)


def test_replies_that_look_like_somebody_elses_are_flagged(opened):
    with opened() as ledger:
        rs = reserve(ledger, limit=8)
        record(
            ledger,
            completed(rs[0], model="m", fingerprint="f1"),
            completed(rs[1], model="other"),
            completed(rs[2], response_id="same"),
            completed(rs[3], response_id="same"),
            completed(rs[4], fingerprint="f2"),
            completed(rs[5], replayed=True),
            completed(rs[6], echoed_seed=rs[6].call.seed),
            completed(rs[7], echoed_seed=rs[7].call.seed + 1),
        )
        flags = {(call, kind) for call, kind, _ in ledger.flags()}
        assert flags == {
            (rs[1].call.call_id, "model"),
            (rs[3].call.call_id, "response_id"),
            (rs[4].call.call_id, "fingerprint"),
            (rs[5].call.call_id, "replay"),
            (rs[7].call.call_id, "seed"),
        }
        assert ledger.flagged() == ledger.flagged("chat") == 5


def test_the_summary_says_how_calls_ended(opened):
    with opened() as ledger:
        one, two, three = reserve(ledger, limit=3)
        record(ledger, completed(one, model="m"), failed(two, "timeout"), failed(three, "timeout"))
        record(ledger, completed(asyncio.run(ledger.again(two)), model="m2", fingerprint="f"))
        (summary,) = ledger.summaries()
    assert (summary.judge, summary.completed, summary.retried) == ("chat", 2, 1)
    assert summary.finish_reasons == {"stop": 2}
    assert summary.failures == {"timeout": 2}
    assert summary.models == {"m": 1, "m2": 1}
    assert summary.flags == {"model": 1}
    assert summary.fingerprints == {"f": 1}


def test_totals_of_a_judge_are_its_own(opened):
    with opened() as ledger:
        record(ledger, *(completed(r) for r in reserve(ledger, limit=3)))
        t = ledger.totals("chat")
        assert (t.completed, t.input_tokens, t.output_tokens, t.unmetered) == (3, 300, 6, 0)
        assert ledger.totals("nobody").planned == 0


@one_holder
def test_a_second_session_is_told_who_holds_the_run(opened, kind, frozen):
    with opened(), pytest.raises(RunLockedError, match=f"process {os.getpid()} on .*, since "):
        kind(frozen.path)
    with opened() as ledger:
        assert ledger.totals().planned == frozen.count


@one_holder
def test_a_killed_holder_lets_go(opened, kind, frozen):
    code = f"""
        import os, pathlib
        from {kind.__module__} import {kind.__name__}
        {kind.__name__}(pathlib.Path({str(frozen.path)!r}))
        print("held", flush=True)
        os.kill(os.getpid(), 9)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.returncode) == ("held\n", -9)
    with opened() as ledger:
        assert ledger.totals().planned == frozen.count


def test_more_calls_may_be_loaded_and_the_old_ones_stay(kind, frozen):
    calls = list(frozen.iter_calls())
    with kind(frozen.path) as ledger:
        ledger.load(frozen.judges, calls[:5], manifest="first")
        record(ledger, completed(reserve(ledger, limit=1)[0]))
    with kind(frozen.path) as ledger:
        ledger.load(frozen.judges, calls, manifest="second")
        assert list(ledger.calls()) == calls
        assert ledger.totals().completed == 1


def test_text_that_nobody_expects_survives(opened):
    text = "nul \x00, quotes ' \", \U0001f600, \ufffd, " + "x" * 100_000
    with opened() as ledger:
        (one,) = reserve(ledger, limit=1)
        record(ledger, completed(one, text))
        (stored,) = ledger.completions()
        assert stored.completion.text == text
