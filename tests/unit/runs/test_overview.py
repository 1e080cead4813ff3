"""Runs at a glance: what each is doing, what it cost and found, and that nobody touches it."""

import json
import os
import shutil
import time

import pytest

from judgelaw.ledger import LOCK_NAME, SqliteView, holder_of
from judgelaw.runs import Overview, Shown, audit_study
from servers.holding import provider
from servers.study import chat_judge, frozen_study, simulated_judge, write_study
from support.studies import snapshot

PRICE = {"input_per_mtok": 10.0, "output_per_mtok": 100.0}


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    audit_study(write_study(folder, [simulated_judge()], items=4), folder / "run", shown=Shown())
    return folder / "run"


def only(folder):
    runs = Overview(folder)
    (name,) = runs.find()
    return runs.glance(name)


def test_a_finished_run_tells_what_it_found(finished):
    found = only(finished.parent)
    assert (found.name, found.folder, found.state) == ("small", "run", "finished")
    assert found.planned == found.completed == 4 * 2 * 2 * 2
    with SqliteView(finished / "ledger.sqlite") as view:
        invalid = sum(c.count for c in view.verdict_counts() if c.verdict == "invalid")
    assert found.plain()["invalid"] == invalid > 0
    assert found.report
    document = json.loads((finished / "results" / "analysis.json").read_text())
    assert found.answers["sim"]["sentence"] == document["judges"]["sim"]["sentence"]
    assert found.plain()["usd"] is None


def test_looking_writes_nothing(finished):
    before = snapshot(finished)
    only(finished.parent)
    only(finished)
    assert snapshot(finished) == before


def test_a_run_that_nobody_started_waits(tmp_path):
    frozen_study(tmp_path, [simulated_judge()])
    found = only(tmp_path)
    assert (found.state, found.completed, found.planned) == ("waiting", 0, 16)


def test_a_run_is_seen_while_it_goes_on_and_after_it_was_killed(tmp_path, fleet):
    with provider(tmp_path / "provider", delay_s=0.02) as server:
        judge = chat_judge(server.base_url, price=PRICE)
        study = write_study(tmp_path, [judge], items=20, transport={"concurrency": 2})
        command = ("run", study, "--out", tmp_path / "run")
        process = fleet.start(tmp_path, *command)
        server.until(40)
        runs = Overview(tmp_path)
        (name,) = runs.find()
        found = runs.glance(name)
        assert found.state == "running"
        assert f"process {process.pid}, since" in found.about
        assert 0 < found.completed < found.planned == 160
        spent = found.plain()["usd"]
        assert spent == pytest.approx(found.completed * (100 * 10 + 100) / 1e6)
        left = found.planned - found.completed
        assert found.plain()["usd_left"] == pytest.approx(spent * left / found.completed)
        process.kill()
        assert holder_of(tmp_path / "run").alive is False
        assert runs.glance(name).state == "killed"
        again = fleet.start(tmp_path, *command)
        assert again.wait() == 0, again.said
    found = runs.glance(name)
    assert (found.state, found.completed) == ("answered", 160)
    assert found.orphaned >= 1


def test_another_process_of_the_same_number_does_not_hold_the_run(tmp_path):
    who = {"pid": os.getpid(), "host": os.uname().nodename, "since": 1000.0}
    (tmp_path / LOCK_NAME).write_text(json.dumps(who))
    assert holder_of(tmp_path).alive is False
    (tmp_path / LOCK_NAME).write_text(json.dumps({**who, "since": time.time()}))
    assert holder_of(tmp_path).alive is True
    (tmp_path / LOCK_NAME).write_text(json.dumps({**who, "host": "elsewhere"}))
    assert holder_of(tmp_path).alive is None
    (tmp_path / LOCK_NAME).write_text("")
    assert holder_of(tmp_path) is None


def test_a_damaged_run_is_listed_with_its_fault(finished, tmp_path):
    shutil.copytree(finished, tmp_path / "run")
    (tmp_path / "run" / "ledger.sqlite").write_bytes(b"no ledger at all" * 100)
    found = only(tmp_path)
    assert found.state == "damaged"
    assert "is no ledger" in found.about
    shutil.copy(finished / "ledger.sqlite", tmp_path / "run")
    (tmp_path / "run" / "results" / "analysis.json").write_text("{")
    found = only(tmp_path)
    assert found.state == "answered"
    assert found.problems == (
        "results/analysis.json cannot be read (ValueError): `judgelaw audit` writes it anew",
    )


def test_two_hundred_runs_are_listed_in_under_a_second(finished, tmp_path):
    for n in range(200):
        shutil.copytree(finished, tmp_path / f"{n % 7}" / f"run-{n:03d}")
    runs = Overview(tmp_path)
    start = time.process_time()
    found = [runs.glance(name) for name in runs.find()]
    took = time.process_time() - start
    assert len(found) == 200
    assert all(one.state == "finished" for one in found)
    assert took < 1.0
    start = time.process_time()
    again = [runs.glance(name) for name in runs.find()]
    assert again == found
    assert time.process_time() - start < took
