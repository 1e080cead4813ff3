"""OpenAI's Responses format, as its SDK writes it: `input` and `instructions`, no seed, no stop."""

from collections.abc import Iterator
from typing import Any

from judgelaw.wire.form import Fault, Provider, Shape, WireFormat, decoding_of, objects_of
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.reply import (
    Answer,
    Completion,
    Failure,
    FailureKind,
    Reply,
    replayed,
    without,
)
from judgelaw.wire.reply_json import FieldReader, shown
from judgelaw.words import storable, words

_DECODING = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "top_logprobs": "top_logprobs",
}
_CUT = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""Finish reasons as the other formats call them, by why a response is incomplete."""
_FINISHED = ("completed", "incomplete")
_UNFINISHED = ("failed", "in_progress", "cancelled", "queued")


def _encode(judge: JudgeSpec) -> Shape:
    declared = decoding_of(judge)
    fields: dict[str, Any] = {}
    if judge.system is not None:
        fields["instructions"] = judge.system
    fields |= {_DECODING[name]: value for name, value in declared.items() if name in _DECODING}
    if "reasoning_effort" in declared:
        fields["reasoning"] = {"effort": declared["reasoning_effort"]}
    return ',"input":', "", {**fields, **judge.extra}


def _faults(judge: JudgeSpec) -> Iterator[Fault]:
    for name in decoding_of(judge):
        if name not in _DECODING and name != "reasoning_effort":
            yield ("decoding", name), "the responses format has no such field; leave it out"
    if judge.stop:
        yield ("stop",), "the responses format takes no stop sequences; leave them out"


def responses(reply: Reply, body: dict[str, Any]) -> Answer | Failure:
    """Decode a response; the text parts of its messages are the answer."""
    status = body.get("status")
    output = body.get("output")
    if not isinstance(output, list) or status in _UNFINISHED:
        said = words(str(status))
        return without(reply, FailureKind.NO_COMPLETION, f"a response that is {said}")
    messages = [item for item in objects_of(output) if item.get("type") == "message"]
    parts = [part for message in messages for part in objects_of(message.get("content"))]
    texts = _said(parts, "output_text", "text")
    if status not in _FINISHED and texts is None:
        said = words(str(status))
        return without(reply, FailureKind.NO_COMPLETION, f"a response that is {said}")
    read = FieldReader()
    why = read.text(read.object(body, "incomplete_details"), "reason", "incomplete_details.")
    reason = "stop" if status == "completed" else _CUT.get(str(why), why)
    if status not in _FINISHED:
        read.cannot("status", f"{shown(status)}, where completed or incomplete belongs")
    usage = read.object(body, "usage")
    details = read.object(usage, "input_tokens_details", "usage.")
    return Answer(
        completion=Completion(
            text=texts,
            finish_reason=reason,
            refusal=_said(parts, "refusal", "refusal"),
            content_filtered=reason == "content_filter",
        ),
        input_tokens=read.count(usage, "input_tokens", "usage."),
        output_tokens=read.count(usage, "output_tokens", "usage."),
        cached_tokens=read.count(details, "cached_tokens", "usage."),
        model=read.text(body, "model"),
        response_id=read.text(body, "id"),
        replayed=replayed(reply),
        unread=read.unread,
    )


def _said(parts: list[dict[str, Any]], kind: str, key: str) -> str | None:
    """Join the texts of the parts of a kind; None where there is no such part."""
    texts = [part.get(key) for part in parts if part.get("type") == kind]
    return storable("".join(text for text in texts if isinstance(text, str))) if texts else None


RESPONSES = WireFormat(
    name="openai-responses",
    path="responses",
    encode=_encode,
    caches=True,
    decode=responses,
    seedless="the responses format takes no seed",
    faults=_faults,
)
PROVIDERS = (Provider(name="openai-responses", place=12, wire=RESPONSES),)
