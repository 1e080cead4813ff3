"""Processes that are stopped, hung up or killed under faults: every reply is reconciled.

A stop is SIGSTOP: Ctrl-Z, a debugger, a closed lid. What was sent meanwhile waits in sockets.
"""

import os
import pty
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from judgelaw.acquire.verify import verify
from judgelaw.ledger import LEDGER_NAME, SqliteView
from servers.faulty import faulty
from servers.holding import provider
from servers.study import chat_judge, write_study

TIMEOUT_S = 1.0
TRANSPORT = {"concurrency": 8, "timeout_s": TIMEOUT_S, "attempts": 9, "backoff_s": 0.01}


def rows(run):
    with SqliteView(run / LEDGER_NAME) as view:
        hashes = {call.call_id: call.request_sha256 for call in view.calls()}
        attempts = [(hashes[a.call_id], a.state, a.kind) for a in view.attempts()]
        replies = {c.call.request_sha256: c.receipt.response_id for c in view.completions()}
        return view.totals(), attempts, replies


def test_a_stop_longer_than_the_time_out_costs_no_reply(fleet, tmp_path):
    with provider(tmp_path / "provider") as at:
        judge = chat_judge(at.base_url)
        study = write_study(tmp_path, [judge], items=4, transport=TRANSPORT)
        at.hold()
        process = fleet.start(tmp_path, "run", study, "--out", tmp_path / "run")
        at.until(8)
        process.send(signal.SIGSTOP)
        at.release()
        time.sleep(2.5 * TIMEOUT_S)
        process.send(signal.SIGCONT)
        assert process.wait() == 0, process.said
        totals, _, _ = rows(tmp_path / "run")
        assert (totals.completed, totals.failed, totals.orphaned) == (32, 0, 0)
        assert len(at.requests) == 32


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM, signal.SIGINT])
def test_what_is_under_way_is_finished_and_saved(fleet, tmp_path, number):
    with provider(tmp_path / "provider") as at:
        study = write_study(tmp_path, [chat_judge(at.base_url)], items=4, transport=TRANSPORT)
        at.hold()
        process = fleet.start(tmp_path, "run", study, "--out", tmp_path / "run")
        at.until(8)
        process.send(number)
        time.sleep(0.2)
        at.release()
        assert process.wait() == 130, process.said
        totals, _, _ = rows(tmp_path / "run")
        assert (totals.completed, totals.orphaned) == (8, 0)
        assert verify(tmp_path / "run").ok


def test_a_terminal_that_is_closed_ends_a_run_as_ctrl_c_does(tmp_path):
    """The system sends SIGHUP, and every write to the terminal fails from then on."""
    with provider(tmp_path / "provider") as at:
        study = write_study(tmp_path, [chat_judge(at.base_url)], items=4, transport=TRANSPORT)
        at.hold()
        argv = [sys.executable, "-m", "judgelaw", "run", str(study), "--out", str(tmp_path / "run")]
        pid, terminal = pty.fork()
        if pid == 0:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)  # tests may run under nohup
            os.execv(argv[0], argv)  # noqa: S606 - no shell is wanted
        at.until(8)
        os.close(terminal)
        time.sleep(0.2)
        at.release()
        _, status = os.waitpid(pid, 0)
        assert os.waitstatus_to_exitcode(status) == 130
    totals, _, _ = rows(tmp_path / "run")
    assert (totals.completed, totals.orphaned) == (8, 0)


def test_a_run_under_nohup_outlives_its_terminal(tmp_path):
    study = write_study(tmp_path, [chat_judge("http://127.0.0.1:9/v1")])
    with provider(tmp_path / "provider") as at:
        study = write_study(tmp_path, [chat_judge(at.base_url)], items=2, transport=TRANSPORT)
        at.hold()
        ignored = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"
        argv = ["run", str(study), "--out", str(tmp_path / "run")]
        code = f"{ignored}; from judgelaw.cli import main; main({argv!r})"
        process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
        at.until(8)
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        at.release()
        assert process.wait(60) == 0
    assert rows(tmp_path / "run")[0].completed == 16


SHORT = (8, 4, 3)
LONG = pytest.param((60, 50, 20), marks=[pytest.mark.slow, pytest.mark.timeout(1800)])


@pytest.mark.parametrize("size", [SHORT, LONG], ids=["short", "long"])
def test_kills_and_stops_under_faults_lose_no_reply(fleet, tmp_path, size):
    """Every reply that was sent whole is stored, or named: as a failure or as an orphan."""
    items, kills, stops = size
    moments = random.Random(17)
    events = ["kill"] * kills + ["stop"] * stops
    moments.shuffle(events)
    with faulty(tmp_path / "served.log", seed=5) as at:
        judge = chat_judge(at.base_url)
        study = write_study(tmp_path, [judge], items=items, repeats=10, transport=TRANSPORT)
        calls = items * 4 * 10
        run, ends, process = tmp_path / "run", 0, None
        done = Counter()
        for number, event in enumerate(events, 1):
            process = process or fleet.start(tmp_path, "run", study, "--out", run)
            enough = number * calls // (len(events) + 1)
            while process.code() is None and at.requests.total() < enough:
                time.sleep(0.004)
            time.sleep(moments.uniform(0.0, 0.02))
            if process.code() is not None:
                process = None
                continue
            done[event] += 1
            if event == "kill":
                process.kill()
                process, ends = None, ends + 1
            else:
                process.send(signal.SIGSTOP)
                time.sleep(moments.choice((0.1, 0.5, 1.5)) * TIMEOUT_S)
                process.send(signal.SIGCONT)
        process = process or fleet.start(tmp_path, "run", study, "--out", run)
        assert process.wait(300) == 0, process.said
        time.sleep(0.5)
        requests, answers, served = at.requests, at.answers(), at.lines()
    assert (done["kill"], done["stop"]) == (kills, stops)
    reconciled(run, requests, answers, calls=calls)
    totals, attempts, _ = rows(run)
    assert totals.orphaned <= ends * 3 * TRANSPORT["concurrency"]
    kinds = Counter(kind for _, _, kind in attempts if kind)
    assert kinds["timeout"] == 0, "time in which the process did not run counts for nothing"
    modes = Counter(what for _, _, what in served)
    print(dict(modes), dict(kinds), totals)


def reconciled(run, requests, answers, *, calls):
    """Find each request and each whole reply of the server in the ledger."""
    totals, attempts, replies = rows(run)
    assert (totals.completed, totals.in_flight) == (calls, 0)
    states: dict[str, Counter] = {}
    for digest, state, _ in attempts:
        states.setdefault(digest, Counter())[state] += 1
    assert set(requests) == set(states) == set(replies)
    for digest, count in states.items():
        lost = count["failed"] + count["orphaned"] + count["refused"]
        assert count["completed"] == 1
        assert requests[digest] <= 1 + lost, "a request that the ledger does not know"
        assert replies[digest] in answers[digest], "a reply that was never sent"
        # Whole replies beside the stored one belong to attempts whose process was killed.
        assert len(answers[digest]) - 1 <= count["orphaned"]
    found = verify(run)
    assert found.ok, [check for check in found.checks if not check.ok]
