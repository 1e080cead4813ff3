"""The embedded model: time to serve, calls a second by schedule, laws that history cannot move."""

import json
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figure import Figure, at_least, at_most, best
from judgelaw.judges import embedded
from judgelaw.judges.embedded import EmbeddedServer, primer_request
from judgelaw.streams import stream
from judgelaw.study import FrozenRun, PlannedCall, freeze, load_study, request_for
from judgelaw.wire import JudgeSpec
from support.exact_law import exact_law

CHAT = "/v1/chat/completions"
PAIRS = Path(__file__).parents[1] / "examples" / "pairs" / "study.yaml"
BATCH_OF_LLAMA_CPP = 512

SERVED = at_most("embedded model served, s", 5)
SCHEDULE = at_least("embedded calls a second, schedule cells over random", 1.5)
ACQUIRED = at_most("pairs acquired, s", 225)
AUDIT = at_most("make audit with the environment there, s", 240)
HISTORY = at_most("law of a prompt moved by the prompts before it", 0)
TARGETS = (SERVED, SCHEDULE, ACQUIRED, AUDIT, HISTORY)


def run(quick: bool = False):
    with TemporaryDirectory() as folder:
        frozen = freeze(load_study(PAIRS), Path(folder) / "run")
        (spec,) = frozen.judges.values()
        calls = list(frozen.iter_calls())
        began = time.perf_counter()
        with EmbeddedServer(spec) as server:
            start = time.perf_counter() - began
            schedule, acquired = _speed(server, frozen, calls, cells=2 if quick else 24)
            moved = _moved_by_history(server, frozen, calls, prompts=1 if quick else 4)
        return [
            SERVED.found(start, "child process, model loaded, healthy"),
            schedule,
            acquired,
            *([] if quick else [_audit(start + acquired.value)]),
            _history(moved, _with_wide_batches(spec, frozen, calls)),
        ]


def _audit(acquired: float) -> Figure:
    """Expect what is asked at the measured rate, and the rest as it takes in a run like it."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "judgelaw", "demo", "--out", f"{folder}/demo"]
        rest = best(lambda: subprocess.run(command, check=True, capture_output=True), 1)
    return AUDIT.found(
        acquired + rest,
        f"expected: model served and asked in {acquired:.0f} s at the rates above, and all other "
        f"stages in the {rest:.1f} s of judgelaw demo, which has more calls",
    )


def _speed(
    server: EmbeddedServer, frozen: FrozenRun, calls: list[PlannedCall], *, cells: int
) -> tuple[Figure, Figure]:
    audit = [call for call in calls if call.layer == "audit"]
    # The schedule keeps a cell's calls together; other cells follow in random order, since the
    # server remembers prompts that it has read.
    payloads = list(dict.fromkeys(call.payload_sha256 for call in audit))
    together = _of(audit, payloads[:cells])
    shuffled = _of(audit, payloads[cells : 2 * cells])
    stream(0, "benchmark").shuffle(shuffled)
    by_cells, by_chance = (_seconds(server, frozen, c) for c in (together, shuffled))
    repeats = len(together) // cells
    again = _seconds(server, frozen, together[-repeats:] * 5) / (5 * repeats)
    control = len(calls) - len(audit)
    whole = by_cells / len(together) * len(audit) + again * control
    return (
        SCHEDULE.found(
            by_chance / by_cells,
            f"{len(together)} calls: {len(together) / by_cells:.1f} against "
            f"{len(together) / by_chance:.1f} calls a second; {1 / again:.0f} a second while the "
            "prompt stays",
        ),
        ACQUIRED.found(
            whole,
            f"{len(audit)} calls at the rate of {cells} cells, and {control} of the control "
            "layer at that of a cached prompt",
        ),
    )


def _of(calls: list[PlannedCall], payloads: list[str]) -> list[PlannedCall]:
    wanted = set(payloads)
    return [call for call in calls if call.payload_sha256 in wanted]


def _seconds(server: EmbeddedServer, frozen: FrozenRun, calls: list[PlannedCall]) -> float:
    """Ask as the embedded judge does: a discarded request for each change of prompt."""
    began = time.perf_counter()
    primed = None
    for call in calls:
        body = request_for(frozen, call)
        if call.payload_sha256 != primed:
            server.post(CHAT, primer_request(body))
            primed = call.payload_sha256
        server.post(CHAT, body)
    return time.perf_counter() - began


def _moved_by_history(
    server: EmbeddedServer, frozen: FrozenRun, calls: list[PlannedCall], prompts: int = 4
) -> float:
    """Return the largest change of a probability when another prompt was asked before."""
    seen = {call.payload_sha256: call for call in calls}
    moved = 0.0
    for call in list(seen.values())[:prompts]:
        body = request_for(frozen, call)
        laws = []
        for share in (0.0, 0.6, 0.95):
            server.post(CHAT, primer_request(_forked(body, share)))
            laws.append(exact_law(server, body))
        moved = max(moved, *(abs(law[w] - laws[0][w]) for law in laws for w in law))
    return moved


def _forked(body: bytes, share: float) -> bytes:
    """Return a request whose prompt begins alike and goes on differently."""
    fields = json.loads(body)
    text = fields["messages"][-1]["content"]
    fields["messages"][-1]["content"] = text[: int(share * len(text))] + " zebra crossing"
    return json.dumps(fields).encode()


def _with_wide_batches(spec: JudgeSpec, frozen: FrozenRun, calls: list[PlannedCall]) -> float:
    ours = embedded.N_UBATCH
    embedded.N_UBATCH = BATCH_OF_LLAMA_CPP
    try:
        with EmbeddedServer(spec) as server:
            return _moved_by_history(server, frozen, calls)
    finally:
        embedded.N_UBATCH = ours


def _history(moved: float, default: float) -> Figure:
    return HISTORY.found(
        moved,
        f"largest change of a probability; {default:.3f} with llama.cpp's batches of "
        f"{BATCH_OF_LLAMA_CPP}",
    )
