"""The exact bytes of a request, and the reading of its reply, for each wire format."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from judgelaw.errors import InputError
from judgelaw.wire.chat_template import ChatRenderer
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.reply import (
    Answer,
    Completion,
    Failure,
    FailureKind,
    Reply,
    read_json,
    read_status,
    replayed,
    said_in,
)
from judgelaw.words import count, storable


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
    if body.get("error"):
        error = body["error"] if isinstance(body["error"], dict) else {"message": body["error"]}
        return _without(reply, FailureKind.ERROR_OBJECT, f"an error object: {said_in(error)}")
    return DECODERS[wire](reply, body)


def chat(reply: Reply, body: dict[str, Any]) -> Answer | Failure:
    """Decode an OpenAI chat completion; only `content` is the answer, never a reasoning channel."""
    choice = _first_choice(body)
    message = choice.get("message") if choice else None
    if choice is None or not isinstance(message, dict):
        return _without(reply, FailureKind.NO_COMPLETION, "no choices[0].message")
    refusal = storable(message.get("refusal"))
    return _openai_answer(reply, body, choice, _content(message.get("content")), refusal)


def completions(reply: Reply, body: dict[str, Any]) -> Answer | Failure:
    """Decode an OpenAI text completion."""
    choice = _first_choice(body)
    if choice is None or "text" not in choice:
        return _without(reply, FailureKind.NO_COMPLETION, "no choices[0].text")
    return _openai_answer(reply, body, choice, storable(choice["text"]), None)


def messages(reply: Reply, body: dict[str, Any]) -> Answer | Failure:
    """Decode an Anthropic message; its text blocks are the answer."""
    content = body.get("content")
    if not isinstance(content, list):
        return _without(reply, FailureKind.NO_COMPLETION, "no content")
    usage = _object(body.get("usage"))
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    fresh = count(usage.get("input_tokens"))
    reason = storable(body.get("stop_reason"))
    text = _content(content)
    return Answer(
        completion=Completion(
            text=text,
            finish_reason=reason,
            refusal=text or "" if reason == "refusal" else None,
        ),
        # Tokens read from and written to the prompt cache are reported apart from the others.
        input_tokens=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output_tokens=count(usage.get("output_tokens")),
        cached_tokens=cached,
        model=storable(body.get("model")),
        response_id=storable(body.get("id")),
        replayed=replayed(reply),
    )


DECODERS: dict[str, Callable[[Reply, dict[str, Any]], Answer | Failure]] = {
    "openai-chat": chat,
    "openai-completions": completions,
    "anthropic": messages,
    "simulated": chat,
}


def _openai_answer(
    reply: Reply,
    body: dict[str, Any],
    choice: dict[str, Any],
    text: str | None,
    refusal: str | None,
) -> Answer:
    usage = _object(body.get("usage"))
    details = usage.get("prompt_tokens_details")
    reason = storable(choice.get("finish_reason"))
    return Answer(
        completion=Completion(
            text=text,
            finish_reason=reason,
            refusal=refusal,
            content_filtered=reason == "content_filter",
        ),
        input_tokens=count(usage.get("prompt_tokens")),
        output_tokens=count(usage.get("completion_tokens")),
        cached_tokens=count(_object(details).get("cached_tokens")) if details else None,
        model=storable(body.get("model")),
        fingerprint=storable(body.get("system_fingerprint")),
        response_id=storable(body.get("id")),
        echoed_seed=_seed(body, choice),
        replayed=replayed(reply),
    )


def _first_choice(body: dict[str, Any]) -> dict[str, Any] | None:
    choices = body.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    return None


def _content(content: Any) -> str | None:
    """Return the text of a content field: a string, or the text parts of a list."""
    if isinstance(content, list):
        parts = [p.get("text") for p in content if isinstance(p, dict) and p.get("type") == "text"]
        return storable("".join(p for p in parts if isinstance(p, str)))
    return storable(content)


def _seed(body: dict[str, Any], choice: dict[str, Any]) -> int | None:
    """Return the seed that some servers say they sampled with."""
    if "seed" in choice:
        return count(choice["seed"])
    return count(body["seed"]) if "seed" in body else None


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _without(reply: Reply, kind: FailureKind, what: str) -> Failure:
    return Failure(kind=kind, status=reply.status, detail=f"status {reply.status} with {what}")


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
