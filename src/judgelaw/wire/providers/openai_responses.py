"""OpenAI's Responses format, as its SDK writes it: `input` and `instructions`, no seed, no stop."""

from collections.abc import Iterator
from typing import Any

from judgelaw.wire.form import Fault, Provider, Shape, WireFormat, decoding_of
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.reply import (
    Answer,
    Completion,
    Failure,
    FailureKind,
    Reply,
    object_of,
    replayed,
    without,
)
from judgelaw.words import count, storable

_DECODING = {
    "temperature": "temperature",
    "top_p": "top_p",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "top_logprobs": "top_logprobs",
}
_CUT = {"max_output_tokens": "length", "content_filter": "content_filter"}
"""Finish reasons as the other formats call them, by why a response is incomplete."""


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
    if not isinstance(output, list) or status not in ("completed", "incomplete"):
        return without(reply, FailureKind.NO_COMPLETION, f"a response that is {status}")
    parts = [
        part
        for item in output
        if isinstance(item, dict) and item.get("type") == "message"
        for part in item.get("content") or ()
        if isinstance(part, dict)
    ]
    texts = [str(p.get("text", "")) for p in parts if p.get("type") == "output_text"]
    refusals = [str(p.get("refusal", "")) for p in parts if p.get("type") == "refusal"]
    why = object_of(body.get("incomplete_details")).get("reason")
    reason = "stop" if status == "completed" else _CUT.get(str(why), storable(why))
    usage = object_of(body.get("usage"))
    details = object_of(usage.get("input_tokens_details"))
    return Answer(
        completion=Completion(
            text=storable("".join(texts)) if texts else None,
            finish_reason=reason,
            refusal=storable("".join(refusals)) if refusals else None,
            content_filtered=reason == "content_filter",
        ),
        input_tokens=count(usage.get("input_tokens")),
        output_tokens=count(usage.get("output_tokens")),
        cached_tokens=count(details.get("cached_tokens")),
        model=storable(body.get("model")),
        response_id=storable(body.get("id")),
        replayed=replayed(reply),
    )


RESPONSES = WireFormat(
    name="openai-responses",
    path="responses",
    encode=_encode,
    decode=responses,
    seedless="the responses format takes no seed",
    faults=_faults,
)
PROVIDERS = (Provider(name="openai-responses", place=12, wire=RESPONSES),)
