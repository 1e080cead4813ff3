"""Acquisition against a bare aiohttp loop that stores nothing, on a server that takes 20 ms."""

import asyncio
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

from benchmarks.figure import Figure

LATENCY_S = 0.02
_PAYLOAD = "x" * 600


@contextmanager
def server():
    """Serve in a process of its own; yield the port."""
    command = [sys.executable, "-m", "benchmarks.answering", str(LATENCY_S)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield int(process.stdout.readline())
        process.stdin.close()


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
    from judgelaw.design import load_study
    from judgelaw.render import freeze

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
    from judgelaw.design import open_run
    from judgelaw.ledger import SqliteLedger

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
        "rss": _rss(),
    }


def _rss() -> float:
    """Return this process's peak memory in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def compare(port: int, concurrency: int, calls: int, times: int) -> tuple[float, float, float]:
    """Return our rate and CPU per call over the bare loop's, medians of pairs run in turn."""
    rates, cpus, speeds = [], [], []
    for _ in range(times):
        peer = measure("bare", port, concurrency, calls)
        mine = measure("ours", port, concurrency, calls)
        rates.append(mine["calls"] / mine["wall"] / (calls / peer["wall"]))
        cpus.append(mine["cpu"] / mine["calls"] / (peer["cpu"] / calls))
        speeds.append(mine["calls"] / mine["wall"])
    return statistics.median(rates), statistics.median(cpus), statistics.median(speeds)


def run(quick: bool = False) -> list[Figure]:
    calls, times = (2_000, 3) if quick else (10_000, 5)
    figures = []
    with server() as port:
        for concurrency in (20, 200):
            rate, cpu, speed = compare(port, concurrency, calls, times)
            detail = f"{speed:.0f} calls/s, durable ledger; bare aiohttp loop that stores nothing"
            figures += [
                Figure(
                    name=f"calls/s at concurrency {concurrency}",
                    value=rate,
                    # Beyond 20 the one core of an event loop is the limit, of either client.
                    target=0.85 if concurrency == 20 else 0.4,
                    direction="at least",
                    detail=detail,
                ),
                Figure(
                    name=f"CPU a call at concurrency {concurrency}",
                    value=cpu,
                    target=2.0,
                    direction="at most",
                    detail=detail,
                ),
            ]
        figures.append(memory(port, quick=quick))
    return figures


def memory(port: int, *, quick: bool) -> Figure:
    """Compare peak memory at a hundred times the calls (ten times in the quick form)."""
    few, many = (1_000, 10_000) if quick else (1_000, 100_000)
    small, large = (measure("ours", port, 200, calls) for calls in (few, many))
    return Figure(
        name="memory growth while asking, MB",
        value=large["asking"] - small["asking"],
        target=32,
        direction="at most",
        detail=f"most of {many:,} calls ({large['asking']:.0f} MB) less that of {few:,}; "
        f"peak of the process, a page of the manifest included, {large['rss']:.0f} MB",
    )


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
