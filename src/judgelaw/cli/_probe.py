"""One real call of every judge, before a study is frozen."""

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp

    from judgelaw.design import JudgeSpec, PlannedCall
    from judgelaw.render import Verdict
    from judgelaw.render.preview import Preview

_UNREAD = ("no label", "unknown label", "empty")


@dataclass(frozen=True, kw_only=True)
class Probe:
    """How one judge answered one call.

    Attributes:
        judge: its name.
        ok: whether a completion came back.
        verdict: what it counts as.
        why: why it counts as invalid, and what the parser wants; None where it does not.
        said: the completion's text, or the failure in words.
        model: the model that the provider names.
        seconds: how long it took.
        exit_code: of the failure; 0 where there is none.
    """

    judge: str
    ok: bool
    verdict: str | None
    said: str
    model: str | None
    seconds: float
    exit_code: int = 0
    why: str | None = None


def probe(preview: "Preview") -> list[Probe]:
    """Ask every judge its first call, one after the other."""
    return asyncio.run(_all(preview))


async def _all(preview: "Preview") -> list[Probe]:
    import aiohttp

    timeout = aiohttp.ClientTimeout(total=preview.run.study.transport.timeout_s)
    async with aiohttp.ClientSession(timeout=timeout, auto_decompress=False) as session:
        return [await _one(preview, session, call, body) for call, body in preview.examples]


async def _one(
    preview: "Preview", session: "aiohttp.ClientSession", call: "PlannedCall", body: bytes
) -> Probe:
    from judgelaw.errors import ProviderRefusedError, RunError
    from judgelaw.judges import Answer, Consequence, Failure, Surroundings, open_judge
    from judgelaw.render.bounded import Reader

    spec = preview.run.judges[call.judge]
    around = Surroundings(frozen=preview.run, session=session, clock=time.time)
    async with open_judge(spec, around) as judge:
        started = time.monotonic()
        reply = await judge.ask(call, body)
        seconds = time.monotonic() - started
        answer = reply if isinstance(reply, Failure) else judge.decode(reply)
    if isinstance(answer, Answer):
        with Reader(spec) as reader:
            verdict = reader.read(answer.completion, call.order)
        return Probe(
            judge=call.judge,
            ok=True,
            verdict=verdict.verdict,
            said=answer.completion.text or answer.completion.refusal or "",
            model=answer.model,
            seconds=seconds,
            why=_why(spec, verdict),
        )
    retried = answer.kind.consequence is Consequence.RETRY
    return Probe(
        judge=call.judge,
        ok=False,
        verdict=None,
        said=f"{answer.kind}: {answer.detail}",
        model=None,
        seconds=seconds,
        exit_code=RunError.exit_code if retried else ProviderRefusedError.exit_code,
    )


def _why(spec: "JudgeSpec", verdict: "Verdict") -> str | None:
    """Say why a reply counts as invalid, in the words of whoever would correct it."""
    from judgelaw.render.parsers import wanted
    from judgelaw.tensor import INVALID

    if verdict.verdict != INVALID:
        return None
    if verdict.reason not in _UNREAD:
        return f"it counts as invalid ({verdict.reason})"
    return (
        f"it counts as invalid ({verdict.reason}): {wanted(spec)}; see parser of judge "
        f"{spec.name} in the study"
    )
