"""kill -9 around the looks of a run: the same looks, the same calls, nothing asked again."""

import signal
import subprocess
import sys
import time
from collections import Counter

import pytest

from judgelaw.acquire.verify import verify
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.study import open_run
from servers.study import simulated_judge, write_study

STOP = {"component": "prompt", "limit": 0.04, "looks": [4, 8, 12]}
NEAR = simulated_judge(law={"world": {"base": [0.5, 0.3, 0.2, 0.0], "prompt": 0.03}})
PAUSED = """
import time
from judgelaw.runs import stopping
from judgelaw import study as frozen

def pausing(function):
    def paused(*args, **more):
        if place == "before":
            print("here", flush=True); time.sleep(60)
        found = function(*args, **more)
        if place == "after":
            print("here", flush=True); time.sleep(60)
        return found
    return paused

stopping.take_looks = pausing(stopping.take_looks)
if place == "written":
    place = "after"
    stopping.take_looks = stopping.take_looks.__closure__[0].cell_contents
    frozen.record_looks = pausing(frozen.record_looks)
"""


def study(folder):
    return write_study(folder, [NEAR], items=12, repeats=4, stop=STOP)


def run(fleet, path):
    done = fleet.start(path.parent, "run", path)
    assert done.wait() == 0, done.said
    return path.parent / "runs" / "small"


def kill_at(fleet, path, place):
    """Start a run, and kill it the moment that it comes to a place around its look."""
    process = fleet.start(path.parent, "run", path, first=f"place = {place!r}\n{PAUSED}")
    while "here\n" not in process.said:
        assert process.code() is None, process.said
        time.sleep(0.005)
    process.kill()


def told(path):
    """Return what a finished run says: its looks, its calls in sequence, its verdicts."""
    frozen = open_run(path)
    return (
        frozen.record.looks,
        [call.call_id for call in frozen.iter_calls()],
        (path / "calls.parquet").read_bytes(),
    )


@pytest.fixture(scope="module")
def whole(fleet, tmp_path_factory):
    """What a run says that nobody killed."""
    return told(run(fleet, study(tmp_path_factory.mktemp("whole"))))


@pytest.mark.parametrize("place", ["before", "after", "written"])
def test_a_kill_around_a_look_changes_nothing(fleet, tmp_path, whole, place):
    path = study(tmp_path)
    for _ in range(2):  # around the first look, and around the second
        kill_at(fleet, path, place)
    resumed = run(fleet, path)
    assert told(resumed) == whole
    assert verify(resumed).ok
    with SqliteView(resumed / LEDGER_NAME) as view:
        asked = Counter(completion.call.call_id for completion in view.completions())
        assert view.totals().attempts == view.totals().completed == len(asked)


def test_a_kill_at_any_moment_changes_nothing(fleet, tmp_path, whole):
    path = study(tmp_path)
    command = [sys.executable, "-m", "judgelaw", "run", str(path)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        time.sleep(0.4)  # in an import, as a rule
        process.send_signal(signal.SIGKILL)
    for pause in (0.05, 0.15, 0.3):
        worker = fleet.start(tmp_path, "run", path)
        time.sleep(pause)
        if worker.code() is None:
            worker.send(signal.SIGKILL)
            worker.wait()
    resumed = run(fleet, path)
    assert told(resumed)[:2] == whole[:2]
    assert verify(resumed).ok
