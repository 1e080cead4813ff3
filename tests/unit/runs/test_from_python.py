"""An audit from Python: from a file or a dict, in a loop that runs, stopped and gone on with."""

import asyncio
import json
import logging
import os
import signal
import threading
import time

import pytest

import judgelaw as jl
from judgelaw.errors import (
    IncompleteRunError,
    InputError,
    ProviderRefusedError,
    StudyChangedError,
    StudyError,
)
from judgelaw.study import load_study
from servers.provider import Provider, reply, say
from servers.study import chat_judge, simulated_judge, write_study


def as_dict(path):
    return json.loads(path.read_text())


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working directory, which the paths of a dict start from."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_dict_is_frozen_as_canonical_yaml_and_starts_from_the_working_directory(here):
    path = write_study(here, [simulated_judge(revision="012")])
    run = jl.audit(as_dict(path))
    assert run.path.resolve() == here / "runs" / "small"
    stored = run.path / "study.yaml"
    again = load_study(stored).study.model_dump()
    assert again == load_study(path).study.model_dump()
    assert stored.read_text().splitlines()[:3] == ["version: 1", "name: small", "seed: 11"]


def test_the_same_dict_in_another_order_goes_on_and_another_is_refused(here):
    study = as_dict(write_study(here, [simulated_judge()]))
    first = jl.audit(study)
    stored = (first.path / "study.yaml").read_text()
    again = jl.audit(dict(reversed(study.items())))
    assert again == first
    assert (again.path / "study.yaml").read_text() == stored
    with pytest.raises(StudyChangedError):
        jl.audit({**study, "seed": 12})


def test_tuples_and_paths_are_what_yaml_would_have(here):
    study = as_dict(write_study(here, [simulated_judge()]))
    study |= {"judges": tuple(study["judges"]), "items": {"source": "jsonl"}}
    study["items"]["path"] = here / "items.jsonl"
    assert jl.audit(study, out=here / "elsewhere").path == here / "elsewhere"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"repeets": 4}, "study: repeets: unknown key; did you mean repeats?"),
        ({"seed": object()}, "study: seed: a object, a study holds text, numbers, lists"),
        ({"judges": [{"name": "a", "provder": "x"}]}, "study: judges[0].provder"),
        ({"repeats": 0}, "study: repeats: "),
    ],
)
def test_a_dict_with_a_fault_is_refused_by_its_key(here, change, words):
    study = as_dict(write_study(here, [simulated_judge()]))
    with pytest.raises(StudyError) as refused:
        jl.audit(study | change)
    assert words in str(refused.value)
    assert not (here / "runs").exists()


@pytest.mark.parametrize("study", [3, None, ["judges"]])
def test_what_is_no_study_is_refused(study):
    with pytest.raises(StudyError, match="is no study: give the path of a YAML file, or a dict"):
        jl.audit(study)


def test_the_error_is_the_one_whose_exit_code_the_command_line_gives(tmp_path):
    with Provider(reply(401, {"error": {"message": "no such key"}})) as provider:
        study = write_study(tmp_path, [chat_judge(provider.base_url)])
        with pytest.raises(ProviderRefusedError, match="no such key") as refused:
            jl.audit(study)
    assert refused.value.exit_code == 5


def test_an_audit_that_was_cut_off_goes_on_and_asks_nothing_twice(tmp_path):
    transport = {"attempts": 1, "concurrency": 1, "backoff_s": 0.01}
    with Provider(reply(500, {})) as provider:
        study = write_study(tmp_path, [chat_judge(provider.base_url)], transport=transport)
        with pytest.raises(IncompleteRunError):
            jl.audit(study)
        provider.act = say("A")
        run = jl.audit(study)
        asked = len(provider.seen)
        jl.audit(study)
        assert len(provider.seen) == asked
    assert run.status.open == 0


def test_where_a_loop_runs_it_works_in_a_thread_of_its_own(here):
    study = as_dict(write_study(here, [simulated_judge()]))

    async def in_a_loop():
        plain = jl.audit(study, out="one")
        ticks = 0

        async def tick():
            nonlocal ticks
            while True:
                ticks += 1
                await asyncio.sleep(0.001)

        ticking = asyncio.create_task(tick())
        awaited = await jl.audit_async(study, out="two")
        ticking.cancel()
        return plain, awaited, ticks

    plain, awaited, ticks = asyncio.run(in_a_loop())
    assert plain.status.open == awaited.status.open == 0
    assert (plain.to_frame("pandas") == awaited.to_frame("pandas")).all().all()
    assert ticks > 5, "the loop was held up"


def test_an_error_in_the_thread_is_raised_where_somebody_waits():
    async def in_a_loop():
        with pytest.raises(StudyError, match="is no study"):
            jl.audit(3)
        with pytest.raises(StudyError, match="is no study"):
            await jl.audit_async(3)

    asyncio.run(in_a_loop())


@pytest.fixture
def slow(tmp_path):
    """A provider that takes its time, and a study of 16 calls asked one by one."""

    async def act(seen, request):
        await asyncio.sleep(0.15)
        return await say("A")(seen, request)

    with Provider(act) as provider:
        judge = chat_judge(provider.base_url)
        yield provider, write_study(tmp_path, [judge], transport={"concurrency": 1})


def test_a_cancelled_task_stops_in_good_order_and_the_same_line_goes_on(slow):
    provider, study = slow

    async def cancelled():
        task = asyncio.create_task(jl.audit_async(study))
        while len(provider.seen) < 3:  # noqa: ASYNC110 - its server is in another thread
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    asked = len(provider.seen)
    assert 3 <= asked < 16
    run = jl.Run(study.parent / "runs" / "small")
    assert run.status.completed == asked, "a reply under way was lost"
    assert jl.audit(study).status.open == 0
    assert len(provider.seen) == 16


def test_an_interruption_where_a_loop_runs_saves_what_was_answered(slow):
    provider, study = slow

    def interrupt():
        while len(provider.seen) < 3:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    async def in_a_loop():
        # As a kernel does it: the handler of Python, and not the one of asyncio.run.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        threading.Thread(target=interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            jl.audit(study)

    asyncio.run(in_a_loop())
    run = jl.Run(study.parent / "runs" / "small")
    assert run.status.completed == len(provider.seen) < 16
    assert jl.audit(study).status.open == 0
    assert len(provider.seen) == 16


def test_what_happens_is_in_the_log(tmp_path, caplog):
    study = write_study(tmp_path, [simulated_judge()])
    with caplog.at_level(logging.INFO, logger="judgelaw"):
        jl.audit(study)
    assert "sim: 16 of 16 calls are open" in caplog.messages
    assert "16 calls are done" in caplog.messages
    assert {record.name.split(".")[0] for record in caplog.records} == {"judgelaw"}


def test_a_plan_says_what_a_study_costs_and_what_it_will_know(here):
    study = as_dict(write_study(here, [simulated_judge()], items=4, repeats=4))
    supposed = jl.plan(study)
    assert (supposed.calls, supposed.items, supposed.repeats) == (64, 4, 4)
    assert "cannot be told without a pilot" in supposed.in_words()
    pilot = jl.audit(study)
    known = jl.plan(study, pilot, half_width=0.2, component="call")
    assert known.forecast_from == "pilot"
    assert known.wanted.component == "call"
    assert known.to_json()["half_widths_new_items"]["call"]
    with pytest.raises(InputError, match="new items needs a pilot"):
        jl.plan(study, half_width=0.1, items="new")
    tensor = jl.VerdictTensor.from_table(pilot)
    with pytest.raises(InputError, match=r"the pilot holds judges \['a', 'b'\]"):
        jl.plan(study, {"a": tensor, "b": tensor})
