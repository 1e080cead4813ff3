"""Every wire format by its name: how a judge's requests are written, and its replies read."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from judgelaw.errors import InputError
from judgelaw.wire import anthropic, local, openai
from judgelaw.wire.chat_template import ChatRenderer
from judgelaw.wire.form import Frame, WireFormat, dumps
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.reply import (
    Answer,
    Failure,
    FailureKind,
    Reply,
    error_in,
    read_json,
    read_status,
    said_in,
    without,
)

_SIMULATED = WireFormat(
    name="simulated", encode=openai.COMPLETIONS.encode, decode=openai.CHAT.decode
)
WIRES: dict[str, WireFormat] = {
    wire.name: wire for wire in (*openai.WIRES, *anthropic.WIRES, *local.WIRES, _SIMULATED)
}
"""One file a provider: it offers its formats as `WIRES`, and is named here."""


def decode(
    wire: str, reply: Reply, *, content_filter: Sequence[str] = (), now: float
) -> Answer | Failure:
    """Decode a reply of the given wire format.

    Args:
        wire: `openai-chat`, `openai-completions`, `anthropic` or `simulated`.
        reply: what came back.
        content_filter: codes or words of a 400 that the judge counts as a filtered completion.
        now: Unix time, against which a Retry-After date is read.
    """
    if (early := read_status(reply, content_filter=content_filter, now=now)) is not None:
        return early
    body = read_json(reply)
    if isinstance(body, Failure):
        return body
    if (error := error_in(body)) is None:
        return WIRES[wire].decode(reply, body)
    if isinstance(WIRES[wire].decode(reply, body), Answer):
        # Somebody answered, and charged for it; whether this is the answer, nobody can tell.
        what = f"an error object beside a completion: {said_in(error)}"
        return without(reply, FailureKind.ERROR_BESIDE, what)
    return without(reply, FailureKind.ERROR_OBJECT, f"an error object: {said_in(error)}")


@lru_cache(maxsize=256)
def frame(judge: JudgeSpec) -> Frame:
    """Return the frame of a judge's requests."""
    if judge.body is None:
        raise InputError(f"judge {judge.name!r}: provider {judge.provider!r} names no wire format")
    wire = WIRES[judge.body]
    before, after, fields = wire.encode(judge)
    listed = "".join(f",{dumps(name)}:{dumps(value)}" for name, value in fields.items())
    prompt: Callable[[str], str] = str
    if wire.rendered and judge.template is not None:
        prompt = ChatRenderer(judge.template, judge.system, judge.name)
    named = dumps({"model": judge.model})[:-1] + before
    return Frame(
        before=named if judge.model else "{" + before.removeprefix(","),
        after=after + listed,
        prompt=prompt,
        sends_seed=judge.seed == "sent",
    )


def request(judge: JudgeSpec, payload: str, seed: int | None) -> bytes:
    """Return the JSON body of one call."""
    shape = frame(judge)
    return shape.head(payload) + shape.tail(seed)
