"""Other tools on the server of `benchmarks.acquire`: their calls a second over the bare loop's.

The server counts: from the first request that it sees to its last answer, so that a tool's start
and its reading of data cost it nothing. Each turn has a server of its own.
"""

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.acquire import measure, serving
from benchmarks.figure import Figure, Target, progress, shown
from benchmarks.peers.environment import (
    NotInstalled,
    clean_environment,
    promptfoo,
    python_with,
    version_in,
)

CONCURRENCY = 20
HERE = Path(__file__).parent

OURS = shown("judgelaw, calls/s over a bare loop")
INSPECT = shown("inspect_ai, calls/s over a bare loop")
LM_EVAL = shown("lm-eval, calls/s over a bare loop")
PROMPTFOO = shown("promptfoo, calls/s over a bare loop")
TARGETS = (OURS, INSPECT, LM_EVAL, PROMPTFOO)

Client = Callable[[int, int], None]
"""Asks the server at a port a number of calls."""


def run(quick: bool = False) -> list[Figure]:
    share, times = (10, 1) if quick else (1, 2)
    clients, absent = _clients(quick=quick)
    rates: dict[str, list[float]] = {name: [] for name in ("bare", *clients)}
    for _ in range(times):
        rates["bare"].append(_rate(_own("bare"), 4_000 // share))
        for name, (client, calls, _) in clients.items():
            rates[name].append(_rate(client, calls // share))
            progress(f"{name}: {rates[name][-1]:.0f} calls/s, bare loop {rates['bare'][-1]:.0f}")
    bare = max(rates["bare"])
    found = [
        _target(name).found(
            max(rates[name]) / bare,
            f"{max(rates[name]):.0f} against {bare:.0f} calls/s at concurrency {CONCURRENCY}, "
            f"{calls // share:,} calls, best of {times} in turn, counted by the server{version}",
        )
        for name, (_, calls, version) in clients.items()
    ]
    return [*found, *absent]


def _target(name: str) -> Target:
    return {"judgelaw": OURS, "inspect_ai": INSPECT, "lm_eval": LM_EVAL, "promptfoo": PROMPTFOO}[
        name
    ]


def _clients(*, quick: bool) -> tuple[dict[str, tuple[Client, int, str]], list[Figure]]:
    """Return what can run, with the calls that take it a few seconds, and what cannot."""
    clients: dict[str, tuple[Client, int, str]] = {"judgelaw": (_own("ours"), 4_000, "")}
    absent = []
    for name, make, calls in (
        ("inspect_ai", lambda: _scripted("inspect_ai", "inspect_calls.py", quick=quick), 300),
        ("lm_eval", lambda: _scripted("lm_eval", "lm_eval_calls.py", quick=quick), 3_000),
        ("promptfoo", lambda: _promptfoo(quick=quick), 600),
    ):
        try:
            client, version = make()
        except NotInstalled as error:
            absent.append(_target(name).absent(str(error)))
        else:
            clients[name] = (client, calls, f"; {version}")
    return clients, absent


def _rate(client: Client, calls: int) -> float:
    with serving() as server:
        client(server.port, calls)
    # A tool may look at the server before it asks; one that asks less than it should is broken.
    if not calls <= server.served <= calls + 5:
        raise ValueError(f"the server answered {server.served} requests where {calls} were due")
    return server.served / server.seconds


def _own(kind: str) -> Client:
    return lambda port, calls: measure(kind, port, CONCURRENCY, calls) and None


def _scripted(name: str, script: str, *, quick: bool) -> tuple[Client, str]:
    """Return a peer that is driven by a script of ours in its own environment."""
    python = python_with(name, install=not quick)

    def ask(port: int, calls: int) -> None:
        _start([python, HERE / script, str(port), str(CONCURRENCY), str(calls)])

    return ask, f"{name} {version_in(python, name)}"


def _promptfoo(*, quick: bool) -> tuple[Client, str]:
    command = promptfoo(install=not quick)
    package = json.loads((command.parents[1] / "promptfoo" / "package.json").read_text())

    def ask(port: int, calls: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            config = Path(folder) / "config.json"
            config.write_text(json.dumps(_promptfoo_config(port, calls)))
            options = ["--no-cache", "--no-progress-bar", "--no-table", "-j", str(CONCURRENCY)]
            _start([command, "eval", "-c", config, *options, "-o", f"{folder}/out.json"])

    return ask, f"promptfoo {package['version']}"


def _promptfoo_config(port: int, calls: int) -> dict[str, object]:
    server = {"apiBaseUrl": f"http://127.0.0.1:{port}/v1", "apiKey": "none"}
    return {
        "prompts": ["{{text}}"],
        "providers": [{"id": "openai:chat:bench", "config": server}],
        "tests": [{"vars": {"text": f"{i} {'x' * 600}"}} for i in range(calls)],
    }


def _start(command: list[str | Path]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            command,
            cwd=folder,
            env=clean_environment(folder),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
    if done.returncode:
        raise ValueError(
            f"{Path(command[1]).name} ended with {done.returncode}: {done.stderr[-2000:]}"
        )
