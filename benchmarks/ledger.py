"""The ledger against bare sqlite3 with the same durability: WAL, synchronous FULL."""

import asyncio
import sqlite3
import tempfile
import time
from pathlib import Path

from benchmarks.acquire import frozen_run
from benchmarks.figure import Figure


def bare(folder: Path, commits: int) -> float:
    """Return commits a second of one small row each."""
    connection = sqlite3.connect(folder / "bare.sqlite", isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE IF NOT EXISTS t (id INTEGER PRIMARY KEY, body BLOB)")
    start = time.perf_counter()
    for _ in range(commits):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t (body) VALUES (?)", (b"x" * 400,))
        connection.execute("COMMIT")
    elapsed = time.perf_counter() - start
    connection.close()
    return commits / elapsed


def ending(reservation):
    from judgelaw.ledger import Completed, Receipt
    from judgelaw.render.completion import Completion, Verdict

    return Completed(
        reservation=reservation,
        sent_at=1.0,
        ended_at=2.0,
        status=200,
        body=b"x" * 400,
        completion=Completion(text="A", finish_reason="stop"),
        receipt=Receipt(input_tokens=180, output_tokens=1, model="bench"),
        verdict=Verdict(
            verdict="candidate_1", parser="first-line/1#00000000", displayed="A", reason="parsed"
        ),
    )


async def fill(ledger, *, width: int) -> int:
    """Reserve and complete every call, `width` at a time, each round durable before the next."""
    after, count = -1, 0
    while reserved := await ledger.reserve("bench", after=after, limit=width):
        after = reserved[-1].call.position
        for reservation in reserved:
            ledger.record(ending(reservation))
        await ledger.flush()
        count += len(reserved)
    return count


def ours(folder: Path, calls: int, width: int) -> float:
    """Return calls a second that are reserved, completed and judged, all of it durable."""
    from judgelaw.ledger import SqliteLedger

    frozen = frozen_run(folder, 9, width, calls)
    with SqliteLedger(frozen.path) as ledger:
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="bench")
        start = time.perf_counter()
        count = asyncio.run(fill(ledger, width=width))
        return count / (time.perf_counter() - start)


def run(quick: bool = False) -> list[Figure]:
    calls, times = (400, 2) if quick else (4_000, 3)
    figures = []
    for width, target in ((20, 2.0), (200, 4.0)):
        ratios, speeds = [], []
        for _ in range(times):
            with tempfile.TemporaryDirectory() as folder:
                limit = bare(Path(folder), 100 if quick else 500)
                speed = ours(Path(folder), calls, width)
            ratios.append(speed / limit)
            speeds.append(speed)
        figures.append(
            Figure(
                name=f"durable calls a second, {width} at a time",
                value=sorted(ratios)[len(ratios) // 2],
                target=target,
                direction="at least",
                detail=f"{max(speeds):.0f}/s, four rows each, over bare sqlite3 commits of one row",
            )
        )
    return figures
