"""The same manifest through batch interfaces: chunks, polling, partial errors, expiry, kills."""

import re
import signal
import textwrap
from collections import Counter
from dataclasses import replace

import pytest

from judgelaw.acquire import acquire
from judgelaw.acquire.verify import verify
from judgelaw.errors import BudgetReachedError, IncompleteRunError, ProviderRefusedError
from judgelaw.ledger import LEDGER_NAME, SqliteView
from servers.batches import BatchProvider
from servers.fake_time import FakeTime
from servers.provider import Provider, reply, say
from servers.study import chat_judge, frozen_study

WIRES = ("openai-chat", "anthropic")


@pytest.fixture(params=WIRES)
def wire(request):
    return request.param


def judge(at: BatchProvider, wire: str, *, chunk=6, at_once=2, **fields):
    base_url = at.root_url if wire == "anthropic" else at.base_url
    batch = {"chunk": chunk, "at_once": at_once, "poll_s": 30}
    return chat_judge(base_url, provider=wire, batch=batch, **fields)


def freeze(tmp_path, at, wire, *, judge_fields=None, **fields):
    return frozen_study(tmp_path, [judge(at, wire, **(judge_fields or {}))], **fields)


def run(frozen, **options):
    return acquire(frozen, effects=options.pop("effects", FakeTime().effects), **options)


def attempts(frozen):
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        return list(view.attempts())


def batches(frozen):
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        return list(view.batches())


def test_every_call_is_answered_through_batches(tmp_path, wire):
    with BatchProvider() as at:
        frozen = freeze(tmp_path, at, wire)
        done = run(frozen)
        assert (done.totals.completed, done.totals.open) == (16, 0)
        # Sixteen calls in chunks of six.
        assert [len(made.entries) for made in at.batches.values()] == [6, 6, 4]
        assert [b.state for b in batches(frozen)] == ["ended"] * 3
        assert [b.calls for b in batches(frozen)] == [6, 6, 4]
        assert verify(frozen.path).ok
        # One call, one line: the logical id is the name of each request.
        assert at.asked == Counter({call.call_id: 1 for call in frozen.iter_calls()})


def test_requests_travel_byte_for_byte(tmp_path, wire):
    from hashlib import sha256

    with BatchProvider() as at:
        frozen = freeze(tmp_path, at, wire)
        run(frozen)
    frozen_hashes = {call.call_id: call.request_sha256 for call in frozen.iter_calls()}
    sent = {name: sha256(body).hexdigest() for name, body in at.bodies.items()}
    assert sent == frozen_hashes


def test_answers_go_to_their_own_calls_in_whatever_order_they_come(tmp_path, wire):
    with BatchProvider(outcome=lambda call, _: "A" if int(call, 16) % 2 else "B") as at:
        frozen = freeze(tmp_path, at, wire)
        run(frozen)
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        said = {c.call.call_id: c.completion.text for c in view.completions()}
    assert said == {call: "A" if int(call, 16) % 2 else "B" for call in said}
    assert len(set(said.values())) == 2


def test_the_providers_statuses_are_waited_for_at_the_studys_rhythm(tmp_path, wire):
    time = FakeTime()
    with BatchProvider(steps=("validating",) * 4 + ("completed",)) as at:
        run(freeze(tmp_path, at, wire, judge_fields={"chunk": 100}), effects=time.effects)
    assert time.naps == [30, 30, 30]


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        ("expired", "expired"),
        ("cancelled", "cancelled"),
        (429, "throttled"),
        (500, "server_error"),
        (None, "no_completion"),
    ],
)
def test_what_failed_is_kept_and_asked_again_in_a_later_batch(tmp_path, wire, outcome, kind):
    def some_fail_once(call, number):
        return outcome if number == 1 and int(call, 16) % 3 == 0 else "A"

    with BatchProvider(outcome=some_fail_once) as at:
        frozen = freeze(tmp_path, at, wire)
        done = run(frozen)
        assert done.totals.open == 0
        failing = {c.call_id for c in frozen.iter_calls() if int(c.call_id, 16) % 3 == 0}
        assert failing
        assert {call for call, count in at.asked.items() if count == 2} == failing
    kept = [a for a in attempts(frozen) if a.state == "failed"]
    assert {a.call_id for a in kept} == failing
    assert {a.kind for a in kept} == {kind}
    assert verify(frozen.path).ok


def test_a_call_that_fails_every_time_stays_open(tmp_path, wire):
    with BatchProvider(outcome=lambda call, _: 500 if call == worst else "A") as at:
        frozen = freeze(tmp_path, at, wire, transport={"attempts": 3})
        worst = next(frozen.iter_calls()).call_id
        done = run(frozen)
        assert at.asked[worst] == 3
    assert (done.totals.open, done.totals.failed) == (1, 3)
    with pytest.raises(IncompleteRunError, match="failed 3 times each"):
        done.raise_if_open()


def test_a_rejected_request_stops_the_judge_and_the_rest_is_kept(tmp_path, wire):
    with BatchProvider(outcome=lambda call, _: 400 if call == worst else "A") as at:
        frozen = freeze(tmp_path, at, wire)
        worst = next(frozen.iter_calls()).call_id
        done = run(frozen)
    with pytest.raises(ProviderRefusedError, match="status 400 for this one"):
        done.raise_if_open()
    assert done.totals.completed >= 5


def test_a_refused_key_stops_at_once_and_marks_nothing_failed(tmp_path, wire):
    with BatchProvider(refuse=lambda method, _: 401 if method == "POST" else None) as at:
        frozen = freeze(tmp_path, at, wire)
        done = run(frozen)
        assert len(at.asked_for) == 1
    assert (done.totals.failed, done.totals.attempts, done.totals.open) == (0, 0, 16)
    assert [b.state for b in batches(frozen)] == ["withdrawn"]
    with pytest.raises(ProviderRefusedError):
        done.raise_if_open()


def test_a_busy_provider_is_asked_again(tmp_path, wire):
    busy = iter([503, 429, None, 503])
    with BatchProvider(
        refuse=lambda method, _: next(busy, None) if method == "GET" else None
    ) as at:
        frozen = freeze(tmp_path, at, wire)
        assert run(frozen).totals.open == 0
        assert max(at.asked.values()) == 1


def test_an_interrupted_run_leaves_its_batches_and_collects_them_later(tmp_path, wire):
    with BatchProvider(steps=("in_progress",)) as at:
        frozen = freeze(tmp_path, at, wire, budget={"deadline_s": 100})
        first = run(frozen, effects=stopping_after(200))
        assert first.totals.completed == 0
        assert first.totals.in_flight == 12
        assert [b.state for b in batches(frozen)] == ["submitted"] * 2
        with pytest.raises(BudgetReachedError):
            first.raise_if_open()
        for made in at.batches.values():
            made.steps = ["completed"]
        at.steps = ("completed",)
        second = run(freeze(tmp_path, at, wire))
        assert second.totals.open == 0
        assert max(at.asked.values()) == 1, "what was submitted is collected, not asked again"
    assert verify(frozen.path).ok


def test_what_fails_in_a_batch_of_an_earlier_session_is_asked_again_once(tmp_path, wire):
    """It waits for its next try, and it stands in the schedule: that is one call, not two."""

    def all_expire_once(_call, number):
        return "expired" if number == 1 else "A"

    alone = {"at_once": 1}
    with BatchProvider(steps=("in_progress",), outcome=all_expire_once) as at:
        frozen = freeze(tmp_path, at, wire, judge_fields=alone, budget={"deadline_s": 100})
        run(frozen, effects=stopping_after(200))
        for made in at.batches.values():
            made.steps = ["completed"]
        at.steps = ("completed",)
        second = run(freeze(tmp_path, at, wire, judge_fields=alone))
        assert second.totals.open == 0
        assert set(at.asked.values()) == {2}
    assert verify(frozen.path).ok


def stopping_after(seconds):
    """A clock on which the deadline of a session comes after a few looks."""
    import asyncio

    from judgelaw.acquire.lane import Effects

    time = FakeTime()

    async def sleep(pause):
        if pause == 100:  # the deadline itself
            while time.now < 1_700_000_000.0 + seconds:  # noqa: ASYNC110 - others move the clock
                await asyncio.sleep(0.001)
            return
        await time.sleep(pause)

    return Effects(
        clock=time.effects.clock,
        monotonic=time.effects.monotonic,
        sleep=sleep,
        jitter=time.effects.jitter,
    )


def test_a_budget_of_calls_is_kept(tmp_path, wire):
    with BatchProvider() as at:
        frozen = freeze(tmp_path, at, wire, budget={"calls": 9})
        done = run(frozen)
        assert sum(at.asked.values()) == 9
    assert done.totals.completed == 9
    with pytest.raises(BudgetReachedError, match="9 calls"):
        done.raise_if_open()


def test_a_batch_that_fails_validation_stops_the_judge_in_its_own_words(tmp_path):
    errors = [{"code": "invalid_model", "message": "no such model", "line": 1}]
    with BatchProvider(steps=("validating", "failed"), errors=errors) as at:
        frozen = freeze(tmp_path, at, "openai-chat", judge_fields={"at_once": 1})
        done = run(frozen)
    with pytest.raises(ProviderRefusedError, match="invalid_model: no such model"):
        done.raise_if_open()
    assert done.totals.attempts == 0
    assert [b.state for b in batches(frozen)] == ["withdrawn"]


def test_a_full_queue_is_waited_for(tmp_path):
    errors = [{"code": "token_limit_exceeded", "message": "enqueued token limit reached"}]
    with BatchProvider(steps=("validating", "failed"), errors=errors) as at:
        frozen = freeze(tmp_path, at, "openai-chat", judge_fields={"at_once": 1})
        looks = []

        def refuse(method, path):
            if method == "GET" and path.startswith("/v1/batches/"):
                looks.append(path)
                at.steps = ("completed",) if len(looks) >= 2 else at.steps

        at.refuse = refuse
        done = run(frozen)
    assert done.totals.open == 0
    assert [b.state for b in batches(frozen)].count("withdrawn") >= 1


def test_a_batch_that_is_cancelled_at_the_provider_is_not_submitted_again_by_itself(tmp_path, wire):
    with BatchProvider(outcome=lambda call, _: "A" if int(call, 16) % 2 else "cancelled") as at:
        frozen = freeze(tmp_path, at, wire, judge_fields={"chunk": 100})
        at.steps = ("in_progress", "cancelled")
        original = at._make

        def make(*args):
            made = original(*args)
            made.cancelled = True
            return made

        at._make = make
        done = run(frozen)
        assert len(at.batches) == 1
    with pytest.raises(IncompleteRunError, match="was cancelled"):
        done.raise_if_open()
    assert 0 < done.totals.completed < 16


def test_batches_can_be_cancelled_and_collected(tmp_path, wire):
    with BatchProvider(steps=("in_progress",)) as at:
        frozen = freeze(tmp_path, at, wire, budget={"deadline_s": 100})
        run(frozen, effects=stopping_after(200))
        answered = iter(["A", "A", "A"] + ["cancelled"] * 100)
        said = {}
        at.outcome = lambda call, _: said.setdefault(call, next(answered))
        done = run(freeze(tmp_path, at, wire), cancel_batches=True)
        assert sum(path.endswith("/cancel") for path in at.paths("POST")) == 2
        assert len(at.batches) == 2
    assert (done.totals.completed, done.totals.in_flight) == (3, 0)
    with pytest.raises(IncompleteRunError, match="the same command resumes"):
        done.raise_if_open()
    assert [b.state for b in batches(frozen)] == ["ended"] * 2


def results_of(path: str) -> bool:
    return path.endswith(("/content", "/results"))


@pytest.mark.parametrize("gone", [results_of, lambda path: "/batches/" in path])
@pytest.mark.parametrize("status", [404, 410])
def test_what_the_provider_does_not_find_stays_ours_and_is_not_bought_again(
    tmp_path, wire, gone, status
):
    """Not its results, or not the batch itself: perhaps under another key, perhaps for an hour."""
    limits = {"transport": {"attempts": 2}, "budget": {"calls": 16}}
    with BatchProvider() as at:
        at.refuse = lambda method, path: status if method == "GET" and gone(path) else None
        frozen = freeze(tmp_path, at, wire, **limits)
        for _ in range(3):
            done = run(frozen)
            with pytest.raises(
                IncompleteRunError, match=f"cannot be read.*status {status}.*cancel"
            ):
                done.raise_if_open()
            assert (done.totals.in_flight, done.totals.orphaned) == (12, 0)
        assert [b.state for b in batches(frozen)] == ["submitted"] * 2
        assert len(at.batches) == 2
        at.refuse = lambda *_: None
        done = run(frozen)
        assert done.totals.open == 0
        assert max(at.asked.values()) == 1
    assert verify(frozen.path).ok


def test_a_single_404_is_asked_again(tmp_path, wire):
    trouble = iter([404])
    with BatchProvider() as at:
        at.refuse = lambda _, path: next(trouble, None) if results_of(path) else None
        frozen = freeze(tmp_path, at, wire)
        assert run(frozen).totals.open == 0
        assert max(at.asked.values()) == 1


def test_what_is_given_up_counts_as_paid(tmp_path, wire):
    """A budget of calls takes in what nobody can collect any more."""
    with BatchProvider() as at:
        at.refuse = lambda _, path: 404 if results_of(path) else None
        frozen = freeze(tmp_path, at, wire, transport={"attempts": 2}, budget={"calls": 16})
        run(frozen)
        done = run(frozen, cancel_batches=True)
        assert (done.totals.orphaned, done.totals.at_risk, done.totals.in_flight) == (12, 12, 0)
        assert [b.state for b in batches(frozen)] == ["orphaned"] * 2
        at.refuse = lambda *_: None
        done = run(frozen)
        assert sum(at.asked.values()) == 16
    assert done.totals.completed == 4
    with pytest.raises(BudgetReachedError, match="16 calls"):
        done.raise_if_open()


def test_what_is_orphaned_has_used_up_a_try(tmp_path):
    """The provider says that it made a batch, and does not know it."""

    def without_name(number, prefix):
        return None if number <= 3 else f"{prefix}_{number}"

    with BatchProvider(name=without_name) as at:
        at.batches = Forgetful()
        alone = {"chunk": 16, "at_once": 1}
        frozen = freeze(tmp_path, at, "openai-chat", judge_fields=alone, transport={"attempts": 2})
        done = run(frozen)
        assert len(at.asked) == 16
        assert max(at.asked.values()) == 2
    assert (done.totals.open, done.totals.orphaned, done.totals.at_risk) == (16, 32, 32)


class Forgetful(dict):
    """Batches of a provider that loses those without a name."""

    def __setitem__(self, name, made):
        if name is not None:
            super().__setitem__(name, made)


def cut_lines(times: int):
    """Leave out the last line of a file of results, so many times."""
    left = [times]

    def spoil(text: str) -> str:
        left[0] -= 1
        return text if left[0] < 0 else "".join(text.splitlines(keepends=True)[:-1])

    return spoil


def test_a_file_that_lacks_results_is_fetched_again(tmp_path, wire):
    with BatchProvider(spoil=cut_lines(2)) as at:
        frozen = freeze(tmp_path, at, wire)
        assert run(frozen).totals.open == 0
        assert max(at.asked.values()) == 1


def test_a_file_that_goes_on_lacking_results_stops_the_judge(tmp_path, wire):
    with BatchProvider(spoil=cut_lines(1000)) as at:
        frozen = freeze(tmp_path, at, wire)
        done = run(frozen)
        with pytest.raises(
            IncompleteRunError, match=r"1 of 6 calls are not in .* counts 6 where 5 are"
        ):
            done.raise_if_open()
        # What is there is kept at once; what is not is given up only when somebody says so.
        assert (done.totals.completed, done.totals.in_flight) == (5, 7)
        assert max(at.asked.values()) == 1
        done = run(frozen, cancel_batches=True)
        assert (done.totals.completed, done.totals.at_risk) == (10, 2)
        at.spoil = None
        assert run(frozen).totals.open == 0
        assert sum(at.asked.values()) == 18
    assert verify(frozen.path).ok


def test_where_nobody_counts_a_missing_result_is_looked_for_twice_and_counts_as_paid(
    tmp_path, wire
):
    with BatchProvider(spoil=cut_lines(1000), counts=False) as at:
        frozen = freeze(tmp_path, at, wire, budget={"calls": 17}, judge_fields={"at_once": 1})
        done = run(frozen)
        fetched = sum(map(results_of, at.paths("GET")))
        assert fetched == 2 * len(at.batches)
        assert sum(at.asked.values()) == 17
    kinds = Counter(a.kind for a in attempts(frozen) if a.state == "failed")
    assert kinds == {"unlisted": done.totals.at_risk}
    assert done.totals.completed + done.totals.at_risk == 17


def test_contradicting_results_are_no_answer(tmp_path, wire):
    """Two lines for one call: the same twice is one result, two that differ are none."""
    frozen_calls = []

    def twice(text: str) -> str:
        lines = text.splitlines(keepends=True)
        said = [line for line in lines if frozen_calls[0] in line]
        return text + lines[0] + "".join(line.replace('"A"', '"B"') for line in said)

    with BatchProvider(spoil=twice, shuffle=False) as at:
        frozen = freeze(tmp_path, at, wire, transport={"attempts": 2})
        frozen_calls += [call.call_id for call in frozen.iter_calls()][:1]
        done = run(frozen)
        assert at.asked[frozen_calls[0]] == 2
    assert (done.totals.completed, done.totals.at_risk) == (15, 2)
    (kept,) = {(a.call_id, a.kind) for a in attempts(frozen) if a.state == "failed"}
    assert kept == (frozen_calls[0], "contradicting")
    with pytest.raises(IncompleteRunError, match="contradict each other"):
        done.raise_if_open()


@pytest.mark.parametrize("status", ["something new", None, 7, ["completed"]])
def test_a_status_that_nobody_knows_ends_with_its_words(tmp_path, wire, status):
    with BatchProvider(change=lambda shown: change_status(shown, status)) as at:
        frozen = freeze(tmp_path, at, wire)
        done = run(frozen)
        looks = [path for path in at.paths("GET") if "batch_1" in path]
        assert len(looks) <= 5
        said = "null" if status is None else re.escape(repr(status))
        with pytest.raises(IncompleteRunError, match=f"status {said}, which is none of those"):
            done.raise_if_open()
        at.change = lambda shown: shown
        assert run(frozen).totals.open == 0
        assert max(at.asked.values()) == 1


def change_status(shown: dict, status) -> dict:
    return shown | {key: status for key in ("status", "processing_status") if key in shown}


def test_names_that_are_numbers_are_names(tmp_path, wire):
    with BatchProvider(name=lambda number, _: number) as at:
        frozen = freeze(tmp_path, at, wire)
        assert run(frozen).totals.open == 0
        assert [b.provider_id for b in batches(frozen)] == ["1", "2", "3"]


def test_a_name_that_is_given_twice_is_not_believed(tmp_path, wire):
    """A proxy that repeats an earlier answer: the second batch was never made, or has no name."""
    with BatchProvider(name=lambda *_: "batch_1") as at:
        at.batches = Keeping()
        frozen = freeze(tmp_path, at, wire, transport={"attempts": 2})
        done = run(frozen)
        assert max(at.asked.values()) <= 2
    assert done.totals.completed >= 6
    stored = {c.call.call_id for c in completions(frozen)}
    assert all(a.call_id not in stored for a in attempts(frozen) if a.state == "orphaned")
    sent = Counter(a.call_id for a in attempts(frozen) if a.state not in ("unsent", "refused"))
    assert sent == at.asked


class Keeping(dict):
    """Batches of a provider that gives a name once, and then gives the same one again."""

    def __setitem__(self, name, made):
        self.setdefault(name, made)


def completions(frozen):
    with SqliteView(frozen.path / LEDGER_NAME) as view:
        return list(view.completions())


def test_a_batch_that_is_over_needs_no_cancelling(tmp_path, wire):
    """Providers refuse to cancel what has ended; what it was answered with is collected."""
    with BatchProvider(steps=("in_progress",)) as at:
        frozen = freeze(tmp_path, at, wire, budget={"deadline_s": 100})
        run(frozen, effects=stopping_after(200))

        def refuse(_method, path):
            if not path.endswith("/cancel"):
                return None
            for made in at.batches.values():
                made.steps = ["completed"]
            return 409

        at.refuse = refuse
        done = run(freeze(tmp_path, at, wire), cancel_batches=True)
    assert (done.totals.completed, done.totals.in_flight) == (12, 0)


def test_a_batch_that_failed_half_way_is_collected(tmp_path):
    errors = [{"code": "internal_error", "message": "lost its way"}]
    with BatchProvider(steps=("validating", "failed"), errors=errors) as at:
        at.change = lambda shown: half_failed(at, shown)
        frozen = freeze(tmp_path, at, "openai-chat", judge_fields={"at_once": 1})
        done = run(frozen)
        assert max(at.asked.values()) == 1
    assert (done.totals.completed, done.totals.open) == (6, 10)
    with pytest.raises(ProviderRefusedError, match="lost its way"):
        done.raise_if_open()


def half_failed(at: BatchProvider, shown: dict) -> dict:
    if shown["status"] != "failed":
        return shown
    whole = at._shown(replace(at.batches[shown["id"]], steps=["completed"]))
    return shown | {key: whole[key] for key in ("output_file_id", "request_counts")}


def test_what_waits_in_batches_is_set_aside_before_anybody_asks(tmp_path):
    """Two judges under one budget: one asks live, the other one's batches wait since yesterday."""
    with BatchProvider(steps=("in_progress",)) as at, Provider() as live:
        first = judge(at, "openai-chat")
        second = chat_judge(live.base_url) | {"name": "live"}
        study = {"items": 2, "budget": {"calls": 20, "deadline_s": 100}}
        frozen = frozen_study(tmp_path, [first, second], **study)
        live.act = reply(400, {"error": {"message": "not today"}})
        run(frozen, effects=stopping_after(200))
        assert sum(at.asked.values()) == 12
        live.act = say()
        before = len(live.seen)
        run(frozen, effects=stopping_after(200))
        assert len(live.seen) - before <= 20 - 12


class TestKillBetweenSubmitAndItsCommit:
    """The provider has the batch, and the ledger has not heard its name."""

    @pytest.fixture(autouse=True)
    def _fleet(self, fleet):
        self.fleet = fleet

    def killed(self, tmp_path, at, wire):
        frozen = freeze(tmp_path, at, wire, judge_fields={"chunk": 10})
        code = f"""
            import os
            from pathlib import Path
            from judgelaw.acquire import acquire
            from judgelaw.study import open_run
            from judgelaw.wire.providers.anthropic import AnthropicBatches
            from judgelaw.wire.providers.openai import OpenAIBatches

            for client in (AnthropicBatches, OpenAIBatches):
                def create(self, *args, make=client.create, **kw):
                    async def go():
                        await make(self, *args, **kw)
                        os.kill(os.getpid(), 9)
                    return go()
                client.create = create
            acquire(open_run(Path({str(frozen.path)!r})))
        """
        done = self.fleet.start(tmp_path, first=textwrap.dedent(code))
        assert done.wait() == -signal.SIGKILL, done.said
        assert len(at.batches) == 1
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            assert [b.state for b in view.batches()] == ["submitting"]
        return frozen

    def test_where_the_provider_keeps_our_name_it_is_found_again(self, tmp_path):
        with BatchProvider() as at:
            for _ in range(5):  # batches of others, older ones too
                at._make("batch", [], {"judgelaw_batch": "another"})
            at.batches.clear()
            frozen = self.killed(tmp_path, at, "openai-chat")
            for _ in range(3):
                at._make("batch", [], {})
            done = run(frozen, effects=late())
            assert max(at.asked.values()) == 1, "nothing is asked, or paid, twice"
        assert (done.totals.open, done.totals.orphaned) == (0, 0)
        assert [b.state for b in batches(frozen)] == ["ended", "ended"]

    def test_where_it_keeps_names_of_requests_it_is_found_by_those(self, tmp_path):
        with BatchProvider() as at:
            frozen = self.killed(tmp_path, at, "anthropic")
            (lost,) = at.batches
            # Of others, and of the same size: one that is over, one that is not.
            calls = [{"custom_id": f"{n:032x}-{'f' * 16}"} for n in range(10)]
            for step in ("completed", "in_progress"):
                at._make("msgbatch", calls, {}).steps[:] = [step]
            at.batches[lost].steps[:] = ["in_progress"]
            clock = late()
            looks = []

            def refuse(method, path):
                if (method, path) == ("GET", "/v1/messages/batches"):
                    looks.append(path)
                    if len(looks) > 3:
                        at.batches[lost].steps[:] = ["completed"]

            at.refuse = refuse
            done = run(frozen, effects=clock)
            assert {at.asked[call.call_id] for call in frozen.iter_calls()} == {1}
        assert (done.totals.open, done.totals.orphaned) == (0, 0)
        assert {b.provider_id for b in batches(frozen)} == {lost, "msgbatch_4"}
        assert verify(frozen.path).ok

    def test_what_may_be_it_and_does_not_show_it_any_more_counts_as_paid(self, tmp_path):
        with BatchProvider() as at:
            frozen = self.killed(tmp_path, at, "anthropic")
            for made in at.batches.values():
                made.steps[:] = ["completed"]
            at.change = lambda shown: shown | {"archived_at": "2026-01-01T00:00:00Z"}
            done = run(frozen, effects=late())
            assert Counter(at.asked.values()) == {2: 10, 1: 6}
        assert (done.totals.open, done.totals.orphaned, done.totals.at_risk) == (0, 10, 10)
        assert Counter(b.state for b in batches(frozen)) == {"orphaned": 1, "ended": 2}
        assert verify(frozen.path).ok

    @pytest.mark.parametrize("other", ["key", "address"])
    def test_a_list_under_another_key_does_not_say_that_it_was_never_made(
        self, tmp_path, monkeypatch, other
    ):
        monkeypatch.setenv("ANOTHER_KEY", "sk-another-key-of-ours")
        with BatchProvider() as at, BatchProvider() as elsewhere:
            frozen = self.killed(tmp_path, at, "openai-chat")
            account = elsewhere if other == "address" else at
            key = {"api_key": "env:ANOTHER_KEY"} if other == "key" else {}
            if other == "key":
                at.batches.clear()  # they are another account's
            changed = {"chunk": 10, **key}
            done = run(
                freeze(tmp_path, account, "openai-chat", judge_fields=changed), effects=late()
            )
        assert (done.totals.open, done.totals.orphaned, done.totals.at_risk) == (0, 10, 10)
        assert frozen.path == done.path

    def test_a_batch_that_never_arrived_is_withdrawn(self, tmp_path):
        with BatchProvider() as at:
            frozen = self.killed(tmp_path, at, "openai-chat")
            at.batches.clear()
            at.asked.clear()
            done = run(frozen, effects=late())
        assert (done.totals.open, done.totals.orphaned) == (0, 0)
        assert Counter(b.state for b in batches(frozen)) == {"withdrawn": 1, "ended": 2}

    @pytest.mark.parametrize("jump_s", [-1e6, 0.0, 1e6])
    def test_what_may_be_on_its_way_is_waited_for_whatever_the_clock_says(self, tmp_path, jump_s):
        with BatchProvider() as at:
            frozen = self.killed(tmp_path, at, "openai-chat")
            clock = FakeTime()
            clock.now += jump_s
            done = run(frozen, effects=clock.effects)
        assert done.totals.open == 0
        assert clock.naps[0] == 60


def late():
    """A clock on which whatever was on its way has arrived."""
    import time

    clock = FakeTime()
    clock.now = time.time()
    return clock.effects


@pytest.mark.parametrize("wire", ["openai-chat"])
@pytest.mark.parametrize("how", ["drop after", "drop", 500])
def test_a_submission_without_an_answer_is_looked_up_before_it_is_repeated(tmp_path, wire, how):
    trouble = iter([how])

    def refuse(method, path):
        return next(trouble, None) if (method, path) == ("POST", "/v1/batches") else None

    with BatchProvider(refuse=refuse) as at:
        frozen = freeze(tmp_path, at, wire)
        done = run(frozen)
        assert max(at.asked.values()) == 1
    assert (done.totals.open, done.totals.orphaned) == (0, 0)


def test_no_key_reaches_a_file(tmp_path, wire, monkeypatch):
    monkeypatch.setenv("BATCH_KEY", "canary-secret-key")
    with BatchProvider(outcome=lambda *_: "A canary-secret-key") as at:
        frozen = freeze(tmp_path, at, wire, judge_fields={"api_key": "env:BATCH_KEY"})
        run(frozen)
        assert any("canary-secret-key" in str(headers) for headers in at.headers)
    for file in frozen.path.rglob("*"):
        if file.is_file():
            assert b"canary-secret-key" not in file.read_bytes(), file
