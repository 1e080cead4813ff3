"""Every provider and wire format by its name: how a judge's requests are written and read."""

from collections.abc import Callable, Sequence
from functools import lru_cache

from judgelaw.doors import offered
from judgelaw.errors import InputError
from judgelaw.wire.chat_template import ChatRenderer
from judgelaw.wire.form import Frame, Provider, WireFormat, dumps
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.reply import Answer, Failure, Reply

_OFFERED: list[Provider] = offered("judgelaw.wire.providers", "PROVIDERS")
PROVIDERS = {p.name: p for p in sorted(_OFFERED, key=lambda p: (p.place, p.name))}
"""Built-in providers; an entry point of the group `judgelaw.judges` adds its own name."""

WIRES: dict[str, WireFormat] = {
    p.wire.name: p.wire for p in PROVIDERS.values() if p.wire is not None
}


def decode(
    wire: str, reply: Reply, *, content_filter: Sequence[str] = (), now: float
) -> Answer | Failure:
    """Decode a reply of the wire format with that name, as `WireFormat.read` does."""
    return WIRES[wire].read(reply, content_filter=content_filter, now=now)


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
    return Frame(
        before=dumps({"model": judge.model})[:-1] + before,
        after=after + listed,
        prompt=prompt,
        sends_seed=judge.seed == "sent",
    )


def request(judge: JudgeSpec, payload: str, seed: int | None) -> bytes:
    """Return the JSON body of one call."""
    shape = frame(judge)
    return shape.head(payload) + shape.tail(seed)
