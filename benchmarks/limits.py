"""Acquisition behind a token bucket: how much of what it grants is used, and how much is refused.

The server knows what it granted: its burst, and its rate over the time of the run.
"""

import json
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

from benchmarks.acquire import frozen_run
from benchmarks.figure import Target, at_least, at_most, progress

RATE, BURST, CONCURRENCY = 80, 40, 64
KINDS = {
    "429 alone": ("nothing", False),
    "Retry-After: 1": ("retry-after", False),
    "limits in headers": ("headers", False),
    "429 alone, the rate halves midway": ("nothing", True),
}
USED = {name: at_least(f"used of what was granted: {name}", 0.95) for name in KINDS}
REFUSED = {name: at_most(f"refused once settled: {name}", 0.02) for name in KINDS}
TARGETS: tuple[Target, ...] = (*USED.values(), *REFUSED.values())


@contextmanager
def granting(says: str, *, halves: int):
    """Serve in a process of its own; what it counted is known once it has stopped."""
    numbers = [says, str(RATE), str(BURST), str(halves)]
    command = [sys.executable, "-m", "benchmarks.granting", *numbers]
    found: dict[str, float] = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        port = int(process.stdout.readline())
        try:
            yield port, found
        finally:
            process.stdin.close()
            found.update(json.loads(process.stdout.readline()))


def asked(says: str, *, halves: bool, seconds: int) -> dict[str, float]:
    """Ask for about so many seconds; return what the server counted."""
    from judgelaw.acquire import acquire

    calls = RATE * seconds
    with (
        tempfile.TemporaryDirectory() as folder,
        granting(says, halves=calls // 2 if halves else 0) as (port, found),
    ):
        frozen = frozen_run(Path(folder), port, CONCURRENCY, calls)
        totals = acquire(frozen).totals
        assert totals.completed == frozen.count, f"{totals.open} calls are open"
    return found


def run(quick: bool = False):
    figures = []
    for name, (says, halves) in KINDS.items():
        found = asked(says, halves=halves, seconds=15 if quick else 60)
        progress(f"{name}: {found}")
        settled = found["refused_late"] / max(found["asked_late"], 1)
        how = (
            f"{RATE} a second, bursts of {BURST}, {CONCURRENCY} at once, replies after 50 ms, "
            f"{found['seconds']:.0f} s"
        )
        used = found["answered"] / found["granted"]
        said = f"{found['answered']:.0f} of {found['granted']:.0f} granted; {how}"
        figures.append(USED[name].found(used, said))
        told = f"{found['refused']:.0f} refused in all; after 10 s; {how}"
        figures.append(REFUSED[name].found(settled, told))
    return figures
