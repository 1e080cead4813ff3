"""What every ledger promises about batches: durable before the wire, open across sessions."""

import asyncio
from contextlib import contextmanager

import pytest

from judgelaw.errors import IntegrityError
from servers.endings import completed, failed, record, states


def run(work):
    return asyncio.run(work)


def prepare(ledger, uid="u1", calls=3):
    reserved = run(ledger.reserve("chat", after=-1, limit=calls))
    return run(ledger.prepare_batch("chat", uid, reserved)), list(reserved)


def note(ledger, batch, state, **fields):
    run(ledger.note_batch(batch, state, **fields))


def test_a_batch_that_was_only_prepared_has_asked_for_nothing(opened):
    with opened() as ledger:
        prepare(ledger)
    with opened() as ledger:
        assert states(ledger) == ["unsent"] * 3
        (batch,) = ledger.batches()
        assert (batch.state, batch.uid, batch.calls, batch.provider_id) == (
            "withdrawn",
            "u1",
            3,
            None,
        )
        assert run(ledger.open_batches("chat")) == []


@pytest.mark.parametrize("provider_id", [None, "batch_7"])
def test_a_batch_with_a_provider_stays_open_across_sessions(opened, frozen, provider_id):
    with opened() as ledger:
        batch, reserved = prepare(ledger)
        note(ledger, batch, "submitting")
        if provider_id:
            note(ledger, batch, "submitted", provider_id=provider_id)
    with opened() as ledger:
        assert states(ledger) == ["started"] * 3
        (found,) = run(ledger.open_batches("chat"))
        assert (found.batch, found.uid, found.provider_id) == (batch, "u1", provider_id)
        assert list(found.reservations) == reserved
        assert found.submitted_at > 0
        # Its calls are taken; the others are free.
        assert len(run(ledger.reserve("chat", after=-1, limit=100))) == frozen.count - 3


def test_what_was_collected_before_a_kill_is_not_collected_again(opened):
    with opened() as ledger:
        batch, (one, two, three) = prepare(ledger)
        note(ledger, batch, "submitting")
        note(ledger, batch, "submitted", provider_id="b")
        record(ledger, completed(one), failed(two))
    with opened() as ledger:
        (found,) = run(ledger.open_batches("chat"))
        assert found.reservations == (three,)
        record(ledger, completed(three))
        note(ledger, batch, "ended", detail="completed")
        (stored,) = ledger.batches()
        assert (stored.state, stored.provider_id, stored.detail) == ("ended", "b", "completed")
        assert run(ledger.open_batches("chat")) == []
        assert ledger.totals().completed == 2


def test_an_orphaned_batch_is_counted_with_every_attempt_in_it(opened):
    with opened() as ledger:
        batch, reserved = prepare(ledger)
        note(ledger, batch, "submitting")
        note(ledger, batch, "orphaned", detail="nobody heard its name")
        assert states(ledger) == ["orphaned"] * 3
        t = ledger.totals()
        assert (t.orphaned, t.at_risk, t.in_flight) == (3, 3, 0)
        again = [run(ledger.again(r)) for r in reserved]
        assert [(r.call, r.number) for r in again] == [(r.call, 2) for r in reserved]


@contextmanager
def refused(ledger, rule):
    """Expect the ledger to refuse a write, and everything after it."""
    with pytest.raises(IntegrityError, match=rule):
        yield
    with pytest.raises(IntegrityError):
        ledger.close()


def test_a_batch_does_not_end_before_its_attempts(opened):
    ledger = opened()
    batch, _ = prepare(ledger)
    note(ledger, batch, "submitting")
    note(ledger, batch, "submitted", provider_id="b")
    with refused(ledger, "when every attempt in it has ended"):
        note(ledger, batch, "ended")


def test_a_batch_ends_once(opened):
    ledger = opened()
    batch, _ = prepare(ledger)
    note(ledger, batch, "withdrawn")
    with refused(ledger, "ends once"):
        note(ledger, batch, "submitting")


def test_two_batches_never_share_a_name(opened):
    ledger = opened()
    prepare(ledger)
    with refused(ledger, "uid"):
        prepare(ledger)


def test_a_batch_of_another_judge_is_not_ours(opened):
    with opened() as ledger:
        batch, _ = prepare(ledger)
        note(ledger, batch, "submitting")
        assert run(ledger.open_batches("nobody")) == []
