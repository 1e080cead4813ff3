"""Batches and workers: who submitted a batch need not be who collects it."""

import signal
import time

import pytest

from judgelaw.acquire import acquire_shared, work_on
from judgelaw.acquire.verify import verify
from judgelaw.errors import IncompleteRunError
from judgelaw.ledger import PostgresView
from servers.batches import BatchProvider
from servers.study import chat_judge, frozen_study


def batched(at, **fields):
    batch = {"chunk": 6, "at_once": 2, "poll_s": 0.1}
    return chat_judge(at.base_url, batch=batch, **fields)


def until(condition, timeout_s=30.0):
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_shared_run_is_asked_through_batches(tmp_path, address):
    with BatchProvider() as at:
        frozen = frozen_study(tmp_path, [batched(at)])
        done = acquire_shared(frozen, address)
        assert max(at.asked.values()) == 1
    assert done.totals.open == 0
    assert verify(frozen.path).ok


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP])
def test_a_batch_of_a_lost_worker_is_collected_by_another(tmp_path, address, url, fleet, how):
    with BatchProvider(steps=("in_progress",)) as at:
        frozen = frozen_study(tmp_path, [batched(at)])
        acquire_shared(frozen, address, ask=False)
        lost = fleet.start(tmp_path, "worker", "--ledger", url, "--lease", 1)
        until(lambda: at.paths("GET"))
        lost.send(how)
        at.steps = ("completed",)
        for made in at.batches.values():
            made.steps = ["completed"]
        assert work_on(address, "run", lease_s=1).totals.open == 0
        if how is signal.SIGSTOP:
            lost.send(signal.SIGCONT)
            assert lost.wait() == 0, lost.said
        # What was submitted was collected, not asked again; nothing was orphaned by that.
        assert max(at.asked.values()) == 1
        done = acquire_shared(frozen, address)
    assert (done.totals.completed, done.totals.orphaned) == (16, 0)
    with PostgresView(address, "run") as view:
        assert view.check() == []
        assert {b.state for b in view.batches()} == {"ended"}
    assert verify(frozen.path).ok
    fleet.end()


def test_two_workers_share_the_batches_of_a_judge(tmp_path, address, url, fleet):
    with BatchProvider() as at:
        frozen = frozen_study(tmp_path, [batched(at)], items=6)
        acquire_shared(frozen, address, ask=False)
        workers = [fleet.start(tmp_path, "worker", "--ledger", url) for _ in range(2)]
        for worker in workers:
            assert worker.wait() == 0, worker.said
        assert max(at.asked.values()) == 1
        assert sum(at.asked.values()) == frozen.count


def test_a_budget_holds_across_workers_that_submit_batches(tmp_path, address, url, fleet):
    with BatchProvider() as at:
        frozen = frozen_study(tmp_path, [batched(at)], items=6, budget={"calls": 20})
        acquire_shared(frozen, address, ask=False)
        workers = [fleet.start(tmp_path, "worker", "--ledger", url) for _ in range(2)]
        assert [worker.wait() for worker in workers] == [6, 6], workers[0].said
        assert sum(at.asked.values()) == 20


def test_cancelling_beside_a_live_worker_says_what_waits(tmp_path, address, url, fleet):
    with BatchProvider(steps=("in_progress",)) as at:
        frozen = frozen_study(tmp_path, [batched(at)])
        acquire_shared(frozen, address, ask=False)
        live = fleet.start(tmp_path, "worker", "--ledger", url)
        until(lambda: len(at.batches) == 2)
        until(lambda: at.paths("GET"))
        done = acquire_shared(frozen, address, cancel_batches=True)
        with pytest.raises(IncompleteRunError, match="2 of its batches wait still, which another"):
            done.raise_if_open()
        assert not [path for path in at.paths("POST") if path.endswith("/cancel")]
        live.send(signal.SIGTERM)
        assert live.wait() == 130, live.said
        done = acquire_shared(frozen, address, cancel_batches=True)
        with pytest.raises(IncompleteRunError, match="no batch waits at the provider any more"):
            done.raise_if_open()
        assert len([path for path in at.paths("POST") if path.endswith("/cancel")]) == 2


def test_workers_with_other_keys_leave_what_they_cannot_see(tmp_path, address):
    """The one that has the key of a batch collects it; nobody buys it again."""
    with BatchProvider(steps=("in_progress",)) as at:
        limits = {"budget": {"deadline_s": 2}, "transport": {"backoff_s": 0.01}}
        frozen = frozen_study(tmp_path, [batched(at)], **limits)
        acquire_shared(frozen, address)
        assert len(at.batches) == 2
        at.refuse = lambda method, path: 404 if method == "GET" and "/batches/" in path else None
        with pytest.raises(IncompleteRunError, match="key and base_url that it was made with"):
            work_on(address, "run").raise_if_open()
        assert len(at.batches) == 2
        at.refuse, at.steps = (lambda *_: None), ("completed",)
        for made in at.batches.values():
            made.steps = ["completed"]
        assert work_on(address, "run").totals.open == 0
        assert max(at.asked.values()) == 1
