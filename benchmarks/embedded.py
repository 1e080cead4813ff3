"""The embedded model: time to serve, calls a second by schedule, laws that history cannot move."""

import json
import time
from pathlib import Path

from benchmarks.figure import Figure
from judgelaw.design import FrozenRun, PlannedCall, load_study
from judgelaw.design.judge import JudgeSpec
from judgelaw.judges import embedded_server
from judgelaw.judges.embedded import primer_request
from judgelaw.judges.embedded_law import exact_law
from judgelaw.judges.embedded_server import EmbeddedServer
from judgelaw.render import freeze, request_for
from judgelaw.streams import stream

CHAT = "/v1/chat/completions"
QUICKSTART = Path(__file__).parents[1] / "examples" / "quickstart" / "study.yaml"
BATCH_OF_LLAMA_CPP = 512


def run(quick: bool = False) -> list[Figure]:
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        frozen = freeze(load_study(QUICKSTART), Path(folder) / "run")
        (spec,) = frozen.judges.values()
        calls = list(frozen.iter_calls())
        began = time.perf_counter()
        with EmbeddedServer(spec) as server:
            start = time.perf_counter() - began
            speed = _speed(server, frozen, calls, cells=6 if quick else 24)
            moved = _moved_by_history(server, frozen, calls)
        return [
            Figure(
                name="embedded model served, s",
                value=start,
                target=5,
                direction="at most",
                detail="child process, model loaded, healthy",
            ),
            *speed,
            _history(moved, _with_wide_batches(spec, frozen, calls)),
        ]


def _speed(
    server: EmbeddedServer, frozen: FrozenRun, calls: list[PlannedCall], *, cells: int
) -> list[Figure]:
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
    return [
        Figure(
            name="embedded calls a second, schedule cells over random",
            value=by_chance / by_cells,
            target=1.5,
            direction="at least",
            detail=f"{len(together)} calls: {len(together) / by_cells:.1f} against "
            f"{len(together) / by_chance:.1f} calls a second; {1 / again:.0f} a second while the "
            "prompt stays",
        ),
        Figure(
            name="quickstart acquired, s",
            value=whole,
            target=225,
            direction="at most",
            detail=f"{len(audit)} calls at the rate of {cells} cells, and {control} of the control "
            "layer at that of a cached prompt",
        ),
    ]


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
    ours = embedded_server.N_UBATCH
    embedded_server.N_UBATCH = BATCH_OF_LLAMA_CPP
    try:
        with EmbeddedServer(spec) as server:
            return _moved_by_history(server, frozen, calls)
    finally:
        embedded_server.N_UBATCH = ours


def _history(moved: float, default: float) -> Figure:
    return Figure(
        name="law of a prompt moved by the prompts before it",
        value=moved,
        target=0,
        direction="at most",
        detail=f"largest change of a probability; {default:.3f} with llama.cpp's batches of "
        f"{BATCH_OF_LLAMA_CPP}",
    )
