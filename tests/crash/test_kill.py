"""kill -9 at random moments, then resume: nothing is lost, nothing committed is asked again."""

import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import pytest

from judgelaw.acquire.verify import verify
from judgelaw.errors import IntegrityError
from judgelaw.ledger import LEDGER_NAME, SqliteView
from judgelaw.study import open_run
from servers import counting
from servers.local_judges import command_judge, function_judge, write_code
from servers.study import chat_judge, write_study
from support.criteria import write_criteria_study
from support.workers import Fleet, Worker

CONCURRENCY = 8


@contextmanager
def counting_server(log: Path, *words: str):
    command = [sys.executable, counting.__file__, str(log), "0.01", *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield int(process.stdout.readline())
        process.stdin.close()


def requests(log: Path) -> list[str]:
    return log.read_text().split() if log.exists() else []


def kill(process: Worker) -> bool:
    """Kill the process if it still runs; return whether it did."""
    if process.code() is None:
        process.send(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def kill_after(pause_s: float, study: Path, run: Path, log: Path, most: int) -> bool:
    """Start an interpreter of its own, for once, and kill it wherever it is: in an import, say.

    No later than at so many requests: a run that asks fast would leave nothing for other kills.
    """
    command = [sys.executable, "-m", "judgelaw", "run", str(study), "--out", str(run)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    until_s = time.monotonic() + pause_s
    while time.monotonic() < until_s and len(requests(log)) < most:
        time.sleep(0.004)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    return process.returncode == -signal.SIGKILL


def until(process: Worker, log: Path, count: int) -> None:
    """Wait until so many requests were written down, or the process ends."""
    while process.code() is None and len(requests(log)) < count:
        time.sleep(0.004)


def committed(run: Path, name: str = "request_sha256") -> set[str]:
    """Return the names of calls whose completion is on the disk."""
    if not (run / LEDGER_NAME).exists():
        return set()
    with SqliteView(run / LEDGER_NAME) as view:
        return {getattr(c.call, name) for c in view.completions()}


def campaign(fleet, tmp_path: Path, *, items: int, repeats: int, kills: int, seed: int) -> None:
    log = tmp_path / "requests.log"
    with counting_server(log) as port:
        judge = chat_judge(f"http://127.0.0.1:{port}/v1")
        transport = {"concurrency": CONCURRENCY}
        study = write_study(tmp_path, [judge], items=items, repeats=repeats, transport=transport)
        killings(fleet, study, log, calls=items * 4 * repeats, kills=kills, seed=seed)


def killings(
    fleet: Fleet,
    study: Path,
    log: Path,
    *,
    calls: int,
    kills: int,
    seed: int,
    name: str = "request_sha256",
    longest_s: float = 0.02,
) -> None:
    """Kill a run at random moments, finish it, and look what was asked.

    Args:
        fleet: starts the processes.
        study: whose judge writes down every call that it is asked.
        log: where, one name a line.
        calls: of the study.
        kills: how often.
        seed: of the moments.
        name: by which field of a call the log names it.
        longest_s: between a request and a kill.
    """
    random_moments = random.Random(seed)
    run = study.parent / "run"
    killed = 0
    for n in range(kills):
        before, so_far = committed(run, name), len(requests(log))
        enough = so_far + 1 + int(random_moments.uniform(0.0, 1 / kills) * calls)
        if n % 5 == 4:
            # Any moment at all: imports, freezing, loading, asking.
            killed += kill_after(random_moments.uniform(0.0, 2.0), study, run, log, enough)
        else:
            process = fleet.start(study.parent, "run", study, "--out", run)
            until(process, log, enough)
            time.sleep(random_moments.uniform(0.0, longest_s))
            killed += kill(process)
        asked_since = requests(log)[so_far:]
        assert not before.intersection(asked_since), "a committed call was asked again"
    before, so_far = committed(run, name), len(requests(log))
    last = fleet.start(study.parent, "run", study, "--out", run)
    assert last.wait(300) == 0, last.said
    assert not before.intersection(requests(log)[so_far:])
    assert killed >= kills // 2, "the campaign must have killed something"
    check(run, requests(log), calls=calls, killed=killed, name=name)


def check(run: Path, seen: list[str], *, calls: int, killed: int, name: str) -> None:
    asked = Counter(seen)
    hashes = {call.call_id: getattr(call, name) for call in open_run(run).iter_calls()}
    with SqliteView(run / LEDGER_NAME) as view:
        totals = view.totals()
        states: dict[str, Counter] = {}
        for attempt in view.attempts():
            states.setdefault(hashes[attempt.call_id], Counter())[attempt.state] += 1
    assert (totals.planned, totals.completed, totals.in_flight) == (calls, calls, 0)
    for request, count in states.items():
        assert count["completed"] == 1
        surplus = asked[request] - count["completed"]
        # Each surplus request that the server saw belongs to an attempt that was lost or failed.
        assert 0 <= surplus <= count["orphaned"] + count["failed"]
    assert set(asked) == set(states)
    # On the wire, and read but not yet written: three rounds of calls at the very most.
    assert totals.orphaned <= killed * 3 * CONCURRENCY
    found = verify(run)
    assert found.ok, [c for c in found.checks if not c.ok]


def test_a_few_kills_lose_nothing(fleet, tmp_path):
    campaign(fleet, tmp_path, items=15, repeats=5, kills=5, seed=4)


def test_kills_lose_no_criterion_and_repeat_no_reply(fleet, tmp_path):
    """One reply holds two verdicts: both are there in the end, and nobody paid for it twice."""
    log = tmp_path / "requests.log"
    with counting_server(log, '{"helpful": "yes", "safe": "no"}') as port:
        judge = chat_judge(f"http://127.0.0.1:{port}/v1")
        transport = {"concurrency": CONCURRENCY}
        study = write_criteria_study(tmp_path, [judge], items=30, repeats=5, transport=transport)
        killings(fleet, study, log, calls=300, kills=5, seed=8)
    with SqliteView(tmp_path / "run" / LEDGER_NAME) as view:
        read = [
            tuple((name, v.verdict) for name, v in whole.criteria) for _, whole in view.verdicts()
        ]
    assert Counter(read) == {(("helpful", "pass"), ("safe", "unsafe")): 300}


@pytest.mark.slow
def test_fifty_kills_lose_nothing(fleet, tmp_path):
    campaign(fleet, tmp_path, items=50, repeats=10, kills=50, seed=5)


LOCAL = {
    "plain": function_judge("judge_functions:plain"),
    "async": function_judge("judge_functions:waiting"),
    "lines": command_judge("python", "lines.py"),
    "once": command_judge("python", "once.py", mode="once"),
}


def local_campaign(
    fleet, tmp_path, monkeypatch, kind, *, items: int, repeats: int, kills: int
) -> None:
    log = tmp_path / "asked.log"
    monkeypatch.setenv("ASKED_LOG", str(log))
    write_code(tmp_path)
    transport = {"concurrency": CONCURRENCY if kind != "once" else 2}
    study = write_study(tmp_path, [LOCAL[kind]], items=items, repeats=repeats, transport=transport)
    calls = items * 4 * repeats
    # A function answers at once: in 20 ms it would be asked a hundred times.
    killings(fleet, study, log, calls=calls, kills=kills, seed=6, name="call_id", longest_s=0.004)


@pytest.mark.parametrize("kind", LOCAL)
def test_a_few_kills_of_functions_and_commands_lose_nothing(fleet, tmp_path, monkeypatch, kind):
    depth = 5 if kind != "once" else 2
    local_campaign(fleet, tmp_path, monkeypatch, kind, items=10, repeats=depth, kills=3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "lines"])
def test_fifty_kills_of_functions_and_commands_lose_nothing(fleet, tmp_path, monkeypatch, kind):
    local_campaign(fleet, tmp_path, monkeypatch, kind, items=100, repeats=10, kills=50)


def without_log(run, folder):
    """Count the replies in the file of a ledger without the log beside it."""
    folder.mkdir()
    shutil.copy(run / LEDGER_NAME, folder)
    try:
        return len(committed(folder))
    except IntegrityError:  # not even its tables were copied yet
        return 0


def test_a_lost_log_stops_the_next_run_until_somebody_accepts_it(fleet, tmp_path):
    """Kill a run, lose the log beside its ledger: nothing is asked again in silence."""
    log, run = tmp_path / "requests.log", tmp_path / "run"
    with counting_server(log) as port:
        judge = chat_judge(f"http://127.0.0.1:{port}/v1")
        transport = {"concurrency": CONCURRENCY}
        study = write_study(tmp_path, [judge], items=100, repeats=4, transport=transport)
        had = kept = 0
        for asked in (
            600,
            800,
            1_000,
            1_200,
            1_400,
        ):  # a kill may come right after the log was copied
            process = fleet.start(tmp_path, "run", study, "--out", run)
            until(process, log, asked)
            assert kill(process)
            had, kept = len(committed(run)), without_log(run, tmp_path / str(asked))
            if 0 < kept < had:
                break
        (run / f"{LEDGER_NAME}-wal").unlink()
        (run / f"{LEDGER_NAME}-shm").unlink(missing_ok=True)
        asked = len(requests(log))
        assert 0 < kept < had
        refused = fleet.start(tmp_path, "run", study, "--out", run)
        assert refused.wait(120) == 4, refused.said
        assert "replies that were on the disk" in refused.said
        assert len(requests(log)) == asked, "nothing was asked"
        assert "marks" in {c.name for c in verify(run).checks if not c.ok}
        done = fleet.start(tmp_path, "run", study, "--out", run, "--accept-loss")
        assert done.wait() == 0, done.said
    found = verify(run)
    assert found.ok, [c for c in found.checks if not c.ok]
    (said,) = [c.detail for c in found.checks if c.name == "complete"]
    lost = int(re.search(r"went on without (\d+) replies that were on the disk", said)[1])
    # The last groups may have been committed, and their counts not yet.
    assert had - kept - 3 * CONCURRENCY <= lost <= had - kept


def test_a_budget_holds_over_kills(fleet, tmp_path):
    """What was under way at a kill may have been paid: it counts, and is not asked beyond it."""
    log, budget = tmp_path / "requests.log", 120
    with counting_server(log) as port:
        study = write_study(
            tmp_path,
            [chat_judge(f"http://127.0.0.1:{port}/v1")],
            items=20,
            repeats=4,
            transport={"concurrency": CONCURRENCY},
            budget={"calls": budget},
        )
        run = tmp_path / "run"
        for asked in (15, 35, 55, 75, 95):
            process = fleet.start(tmp_path, "run", study, "--out", run)
            until(process, log, asked)
            assert kill(process)
        last = fleet.start(tmp_path, "run", study, "--out", run)
        assert last.wait() == 6, last.said
        assert len(requests(log)) <= budget
        again = fleet.start(tmp_path, "run", study, "--out", run)
        assert again.wait() == 6, again.said
        assert len(requests(log)) <= budget
    with SqliteView(run / LEDGER_NAME) as view:
        totals = view.totals()
    assert totals.orphaned > 0
    assert totals.completed + totals.at_risk == budget >= len(requests(log))
