"""The ledger against bare sqlite3 with the same durability: WAL, synchronous FULL."""

import asyncio
import sqlite3
import tempfile
import time
from pathlib import Path

from benchmarks.acquire import frozen_run
from benchmarks.figure import at_least, shown

WIDTHS = {
    20: at_least("durable calls a second, 20 at a time", 1.7),
    200: at_least("durable calls a second, 200 at a time", 3.5),
}
GROWTH = shown("ledger, growth")
TARGETS = (*WIDTHS.values(), GROWTH)


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


def arrived(reservation):
    """A raw reply, which a run records before anything reads it."""
    from judgelaw.ledger import Arrived
    from judgelaw.wire import Reply

    reply = Reply(status=200, body=b"x" * 400)
    return Arrived(reservation=reservation, sent_at=1.0, ended_at=2.0, reply=reply)


def ending(reservation):
    from judgelaw.ledger import Completed, Receipt
    from judgelaw.wire import Completion

    return Completed(
        reservation=reservation,
        sent_at=1.0,
        ended_at=2.0,
        status=200,
        body=b"x" * 400,
        completion=Completion(text="A", finish_reason="stop"),
        receipt=Receipt(input_tokens=180, output_tokens=1, model="bench"),
    )


def reading(reservation):
    from judgelaw.ledger import Read
    from judgelaw.wire import Verdict

    return Read(
        call_id=reservation.call.call_id,
        verdict=Verdict(
            verdict="candidate_1", parser="first-line/1#00000000", displayed="A", reason="parsed"
        ),
    )


async def fill(ledger, *, width: int) -> int:
    """Reserve and complete every call, `width` at a time, each round durable before the next.

    Verdicts follow in the next group, as they do in a run: a reply is read once it is durable.
    """
    from judgelaw.ledger import Completed

    def durable(records):
        for record in records:
            if isinstance(record, Completed):
                ledger.record(reading(record.reservation))

    ledger.listen(durable)
    after, count = -1, 0
    while reserved := await ledger.reserve("bench", after=after, limit=width):
        after = reserved[-1].call.position
        for reservation in reserved:
            ledger.record(arrived(reservation))
            ledger.record(ending(reservation))
        await ledger.flush()
        count += len(reserved)
    await ledger.flush()
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


def run(quick: bool = False):
    calls, times = (60, 1) if quick else (4_000, 5)
    figures = []
    for width, target in WIDTHS.items():
        limits, speeds = [], []
        for _ in range(times):
            with tempfile.TemporaryDirectory() as folder:
                limits.append(bare(Path(folder), 100 if quick else 500))
                speeds.append(ours(Path(folder), calls, width))
        figures.append(
            target.found(
                max(speeds) / max(limits),
                f"{max(speeds):.0f} calls/s, four rows each, over {max(limits):.0f} bare sqlite3 "
                f"commits of one row, best of {times} in turn",
            )
        )
    return [*figures, growth(calls, times=1 if quick else 2)]


def growth(calls: int, *, times: int):
    """Compare whole fills: a rate that falls with the size of the ledger would show."""
    seconds = {}
    for size in (calls, 10 * calls):
        rates = []
        for _ in range(times):
            with tempfile.TemporaryDirectory() as folder:
                rates.append(ours(Path(folder), size, 200))
        seconds[size] = size / max(rates)
    return GROWTH.found(
        seconds[10 * calls] / seconds[calls],
        f"from {calls:,} to {10 * calls:,} calls, 200 at a time, best of {times}",
    )
