"""Acquisition against a bare aiohttp loop that stores nothing, on a server that takes 20 ms."""

import asyncio
import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figure import at_least, at_most, peak_mb, progress, shown

LATENCY_S = 0.02
RATES = {
    20: at_least("calls/s at concurrency 20", 0.85),
    # Beyond 20 the one core of an event loop is the limit, of either client.
    200: at_least("calls/s at concurrency 200", 0.7),
}
CPUS = {n: at_most(f"CPU a call at concurrency {n}", 2.0) for n in RATES}
MEMORY = at_most("memory growth while asking, MB", 32)
GROWTH = shown("acquisition, growth")
TARGETS = (*RATES.values(), *CPUS.values(), MEMORY, GROWTH)
_PAYLOAD = "x" * 600


@dataclass
class Serving:
    """A server in a process of its own; what it counted is known once it has stopped."""

    port: int
    served: int = 0
    seconds: float = 0.0


@contextmanager
def serving(latency: float = LATENCY_S):
    """Serve in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.answering", str(latency)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        found = Serving(port=int(process.stdout.readline()))
        try:
            yield found
        finally:
            process.stdin.close()
            found.served, found.seconds = json.loads(process.stdout.readline())


def measure(kind: str, port: int, concurrency: int, calls: int) -> dict[str, float]:
    """Run one client in a fresh process; return its wall and CPU seconds and its peak memory."""
    numbers = [str(port), str(concurrency), str(calls)]
    with tempfile.TemporaryDirectory() as folder:
        if kind == "ours":
            _start("freeze", folder, *numbers)
        return json.loads(_start(kind, folder, *numbers))


def _start(*arguments: str) -> bytes:
    command = [sys.executable, "-m", "benchmarks.acquire", *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


async def bare(port: int, concurrency: int, calls: int) -> None:
    import aiohttp

    body = json.dumps(
        {"model": "bench", "messages": [{"role": "user", "content": _PAYLOAD}], "seed": 1}
    ).encode()
    headers = {"Content-Type": "application/json"}
    url = f"http://127.0.0.1:{port}/v1/chat/completions"
    left = iter(range(calls))

    async def work(session):
        for _ in left:
            async with session.post(url, data=body, headers=headers) as response:
                await response.read()

    connector = aiohttp.TCPConnector(limit=concurrency)
    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(work(session) for _ in range(concurrency)))


def frozen_run(folder: Path, port: int, concurrency: int, calls: int):
    from judgelaw.study import freeze, load_study

    repeats = 10
    with (folder / "items.jsonl").open("w") as file:
        for i in range(-(-calls // (2 * repeats))):
            item = {"id": f"i{i}", "instruction": _PAYLOAD, "candidate_1": "a", "candidate_2": "b"}
            file.write(json.dumps(item) + "\n")
    (folder / "study.yaml").write_text(
        f"""
version: 1
name: bench
seed: 1
items: {{source: jsonl, path: items.jsonl}}
prompts:
  policy: census
  templates: [{{id: p1, text: "{{instruction}} {{candidate_a}} {{candidate_b}}"}}]
repeats: {repeats}
judges:
  - {{name: bench, provider: openai-chat, model: bench, base_url: "http://127.0.0.1:{port}/v1"}}
transport: {{concurrency: {concurrency}}}
"""
    )
    return freeze(load_study(folder / "study.yaml"), folder / "run")


def ours(folder: Path) -> dict[str, float]:
    """Time the engine alone: freezing, loading and the tables are linear and measured elsewhere."""
    from judgelaw.acquire.engine import drive
    from judgelaw.ledger import SqliteLedger
    from judgelaw.study import open_run

    frozen = open_run(folder / "run")
    memory = Memory()
    with SqliteLedger(frozen.path) as ledger:
        ledger.load(frozen.judges, frozen.iter_calls(), manifest="bench")
        figures = timed(lambda: asyncio.run(drive(frozen, ledger, memory)))
        assert ledger.totals().completed == frozen.count
        return {**figures, "calls": frozen.count, "asking": memory.most}


class Memory:
    """Watches a run's memory where a progress bar would be, several times a second."""

    most = 0.0

    def show(self, tally, now) -> None:
        del tally, now
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.most = max(self.most, pages * resource.getpagesize() / 2**20)


def timed(function) -> dict[str, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    function()
    return {
        "wall": time.perf_counter() - wall,
        "cpu": time.process_time() - cpu,
        "rss": peak_mb(),
    }


def compare(port: int, concurrency: int, calls: int, times: int):
    """Return the best of several runs in turn, ours and the bare loop's."""
    mine, bare_loop = [], []
    for _ in range(times):
        bare_loop.append({**measure("bare", port, concurrency, calls), "calls": calls})
        mine.append(measure("ours", port, concurrency, calls))
    rate, bare_rate = (max(r["calls"] / r["wall"] for r in runs) for runs in (mine, bare_loop))
    cpu, bare_cpu = (min(r["cpu"] / r["calls"] for r in runs) for runs in (mine, bare_loop))
    progress(f"concurrency {concurrency}: {rate:.0f} calls/s, bare loop {bare_rate:.0f}")
    how = f"durable ledger on, {calls:,} calls, best of {times} in turn"
    return [
        RATES[concurrency].found(
            rate / bare_rate,
            f"{rate:.0f} against {bare_rate:.0f} calls/s of a bare aiohttp loop that stores "
            f"nothing; {how}",
        ),
        CPUS[concurrency].found(
            cpu / bare_cpu,
            f"{1e6 * cpu:.0f} against {1e6 * bare_cpu:.0f} microseconds of that loop; {how}",
        ),
    ]


def run(quick: bool = False):
    calls, times = (1_000, 1) if quick else (5_000, 4)
    with serving() as server:
        return [
            *compare(server.port, 20, calls, times),
            *compare(server.port, 200, 2 * calls, times),
            *large_runs(server.port, *((200, 300, 3_000) if quick else (1_000, 10_000, 100_000))),
        ]


def large_runs(port: int, few: int, tenth: int, many: int):
    """Compare runs of very different sizes: what they hold in memory, and how long they take."""
    progress(f"{few:,}, {tenth:,} and {many:,} calls")
    small, middle, large = (measure("ours", port, 200, calls) for calls in (few, tenth, many))
    return [
        MEMORY.found(
            large["asking"] - small["asking"],
            f"most of {many:,} calls ({large['asking']:.0f} MB) less that of {few:,}; "
            f"peak of the process, a page of the manifest included, {large['rss']:.0f} MB",
        ),
        GROWTH.found(
            large["wall"] / middle["wall"],
            f"from {tenth:,} to {many:,} calls at concurrency 200, once",
        ),
    ]


def main(kind: str, folder: Path, port: int, concurrency: int, calls: int) -> None:
    if kind == "freeze":
        frozen_run(folder, port, concurrency, calls)
        return
    if kind == "ours":
        found = ours(folder)
    else:
        import aiohttp  # noqa: F401 - loaded before the clock starts

        found = timed(lambda: asyncio.run(bare(port, concurrency, calls)))
    print(json.dumps(found))


if __name__ == "__main__":
    kind, folder, *numbers = sys.argv[1:]
    main(kind, Path(folder), *map(int, numbers))
