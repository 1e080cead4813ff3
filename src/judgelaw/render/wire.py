"""The exact bytes of a request: fixed key order, and nothing that the study does not name."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from judgelaw.design import JudgeSpec
from judgelaw.errors import InputError
from judgelaw.render.chat_template import ChatRenderer


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """A judge's request with holes for the payload and the seed.

    The seed stands last, so that the requests of one cell share everything before it and a hash
    of the shared part is taken once.
    """

    before: str
    after: str
    prompt: Callable[[str], str]
    sends_seed: bool

    def head(self, payload: str) -> bytes:
        """Return everything before the seed."""
        content = _dumps(self.prompt(payload))
        end = ',"seed":' if self.sends_seed else ""
        return (self.before + content + self.after + end).encode()

    def tail(self, seed: int | None) -> bytes:
        """Return the seed and the end of the body."""
        if not self.sends_seed:
            return b"}"
        if seed is None:
            raise InputError("seed: sent needs a seed for every call, this one has none")
        return b"%d}" % seed


@lru_cache(maxsize=256)
def frame(judge: JudgeSpec) -> Frame:
    """Return the frame of a judge's requests."""
    shapes = {
        "openai-chat": _chat,
        "openai-completions": _completions,
        "anthropic": _messages,
        "simulated": _completions,
    }
    if judge.body is None:
        raise InputError(f"judge {judge.name!r}: provider {judge.provider!r} names no wire format")
    before, after, fields = shapes[judge.body](judge)
    listed = "".join(f",{_dumps(name)}:{_dumps(value)}" for name, value in fields.items())
    prompt: Callable[[str], str] = str
    if judge.body == "openai-completions" and judge.template is not None:
        prompt = ChatRenderer(judge.template, judge.system, judge.name)
    return Frame(
        before=_dumps({"model": judge.model})[:-1] + before,
        after=after + listed,
        prompt=prompt,
        sends_seed=judge.seed == "sent",
    )


def request(judge: JudgeSpec, payload: str, seed: int | None) -> bytes:
    """Return the JSON body of one call."""
    shape = frame(judge)
    return shape.head(payload) + shape.tail(seed)


Shape = tuple[str, str, dict[str, Any]]
"""Text before the content, text after it, and the fields that follow."""


def _chat(judge: JudgeSpec) -> Shape:
    system = ""
    if judge.system is not None:
        system = _dumps({"role": "system", "content": judge.system}) + ","
    fields = {**_decoding(judge), **_stops(judge, "stop"), **judge.extra}
    return f',"messages":[{system}{{"role":"user","content":', "}]", fields


def _completions(judge: JudgeSpec) -> Shape:
    return ',"prompt":', "", {**_decoding(judge), **_stops(judge, "stop"), **judge.extra}


def _messages(judge: JudgeSpec) -> Shape:
    system = {} if judge.system is None else {"system": judge.system}
    fields = {**system, **_decoding(judge), **_stops(judge, "stop_sequences"), **judge.extra}
    return ',"messages":[{"role":"user","content":', "}]", fields


def _decoding(judge: JudgeSpec) -> dict[str, Any]:
    return judge.decoding.model_dump(exclude_none=True)


def _stops(judge: JudgeSpec, name: str) -> dict[str, Any]:
    return {name: list(judge.stop)} if judge.stop else {}


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
