"""Anthropic's format: messages, and batches of them: requests in one body, results as one file."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from judgelaw.wire.form import (
    Batches,
    BatchStatus,
    Entry,
    Fault,
    LostBatch,
    Provider,
    Results,
    Shape,
    Stage,
    WireFormat,
    decoding_of,
    stops_of,
    text_of,
)
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.reply import (
    Answer,
    Completion,
    Failure,
    FailureKind,
    Reply,
    content_of,
    object_of,
    replayed,
    without,
)
from judgelaw.words import count, storable, words

_VERSION = "2026-10-21"
_SAMPLING_VERSION = "2023-06-01"
"""The vendor's SDK names the newer one, whose requests have no sampling parameters; the older one
takes them. A judge's `headers:` may name another."""
_SAMPLING = ("temperature", "top_p", "top_k")
_DECODING = {"temperature", "top_p", "top_k", "max_tokens"}
_BATCHES = "v1/messages/batches"
_STATUSES = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that a single request would have been answered with, by the type of the error."""
_ENDS = {"expired": FailureKind.EXPIRED, "canceled": FailureKind.CANCELLED}


def _messages(judge: JudgeSpec) -> Shape:
    system = {} if judge.system is None else {"system": judge.system}
    fields = {**system, **decoding_of(judge), **stops_of(judge, "stop_sequences"), **judge.extra}
    return ',"messages":[{"role":"user","content":', "}]", fields


def _headers(judge: JudgeSpec) -> dict[str, str]:
    sampled = any(getattr(judge.decoding, name) is not None for name in _SAMPLING)
    return {"anthropic-version": _SAMPLING_VERSION if sampled else _VERSION}


def _faults(judge: JudgeSpec) -> Iterator[Fault]:
    if judge.decoding.max_tokens is None:
        yield ("decoding",), "the messages format needs max_tokens; add it"
    for key in judge.decoding.model_dump(exclude_none=True):
        if key not in _DECODING:
            yield ("decoding", key), "the messages format has no such field; leave it out"


def messages(reply: Reply, body: dict[str, Any]) -> Answer | Failure:
    """Decode an Anthropic message; its text blocks are the answer."""
    content = body.get("content")
    if not isinstance(content, list):
        return without(reply, FailureKind.NO_COMPLETION, "no content")
    usage = object_of(body.get("usage"))
    cached = count(usage.get("cache_read_input_tokens"))
    written = count(usage.get("cache_creation_input_tokens"))
    fresh = count(usage.get("input_tokens"))
    reason = storable(body.get("stop_reason"))
    text = content_of(content)
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


class AnthropicBatches(Batches):
    """Batches of messages."""

    most_bytes: int = 240 * 2**20

    async def upload(self, entries: Sequence[Entry]) -> str | Failure:
        """Do nothing: requests travel with the batch."""
        del entries
        return ""

    async def create(self, uid: str, upload: str, entries: Sequence[Entry]) -> str | Failure:
        """Make a batch of the requests; the provider keeps no name of ours."""
        del uid, upload
        requests = b",".join(
            b'{"custom_id": "%s", "params": %s}' % (entry.call_id.encode(), entry.body)
            for entry in entries
        )
        made = await self._link.json("POST", _BATCHES, data=b'{"requests": [' + requests + b"]}")
        return made if isinstance(made, Failure) else text_of(made, "id", "a batch")

    async def find(self, uid: str, since: float) -> str | LostBatch | Failure:
        """Say that nobody can tell: a batch carries no name of ours until its results are out."""
        del uid, since
        return LostBatch.UNKNOWN

    async def look(self, provider_id: str) -> BatchStatus | Failure:
        """Ask how far a batch is."""
        batch = await self._link.json("GET", f"{_BATCHES}/{provider_id}")
        return batch if isinstance(batch, Failure) else read_batch(batch)

    async def results(self, provider_id: str, look: BatchStatus) -> Results | Failure:
        """Fetch the results, from the judge's own address and from nowhere that a reply names."""
        del look
        lines = await self._link.lines(f"{_BATCHES}/{provider_id}/results")
        if isinstance(lines, Failure):
            return lines
        results: dict[str, Reply | Failure] = {}
        for line in lines:
            results.setdefault(str(line.get("custom_id")), read_line(line))
        return results

    async def cancel(self, provider_id: str) -> BatchStatus | Failure:
        """Ask the provider to stop a batch."""
        batch = await self._link.json("POST", f"{_BATCHES}/{provider_id}/cancel", data=b"")
        return batch if isinstance(batch, Failure) else read_batch(batch)


def read_batch(batch: dict[str, Any]) -> BatchStatus:
    """Read a message batch."""
    status = str(batch.get("processing_status"))
    if status != "ended":
        return BatchStatus(stage=Stage.WORKING, words=words(status))
    cancelled = batch.get("cancel_initiated_at") is not None
    stage = Stage.CANCELLED if cancelled else Stage.ENDED
    return BatchStatus(stage=stage, words="cancelled" if cancelled else "ended")


def read_line(line: dict[str, Any]) -> Reply | Failure:
    """Read one line of the results."""
    result = line.get("result")
    kind = result.get("type") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(kind, str):
        return Failure(kind=FailureKind.NO_COMPLETION, detail="a line without a result")
    if kind == "succeeded":
        return Reply(status=200, body=_bytes(result.get("message")))
    if kind == "errored":
        error = result.get("error")
        inner = error.get("error", error) if isinstance(error, dict) else {}
        name = inner.get("type") if isinstance(inner, dict) else None
        return Reply(status=_STATUSES.get(str(name), 500), body=_bytes(error))
    ended = _ENDS.get(kind, FailureKind.NO_COMPLETION)
    return Failure(kind=ended, detail=words(f"the batch says: {kind}"))


def _bytes(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


MESSAGES = WireFormat(
    name="anthropic",
    path="v1/messages",
    at_root=True,
    headers=_headers,
    sign=lambda key: {"x-api-key": key},
    encode=_messages,
    decode=messages,
    seedless="the messages format takes no seed",
    faults=_faults,
    batches=AnthropicBatches,
)
PROVIDERS = (Provider(name="anthropic", place=20, wire=MESSAGES),)
