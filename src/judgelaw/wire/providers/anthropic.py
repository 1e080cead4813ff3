"""Anthropic's format: messages, and batches of them: requests in one body, results as one file."""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from judgelaw.wire.form import (
    CLOCKS_S,
    Batches,
    BatchStatus,
    Entry,
    Fault,
    Gathered,
    LostBatch,
    Provider,
    Results,
    Shape,
    Stage,
    Unheard,
    WireFormat,
    decoding_of,
    no_status,
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
from judgelaw.wire.reply_json import FieldReader
from judgelaw.words import count, words

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
_JOINT = "-"
"""Between a call and the batch that it was asked in, in the name of a request."""
_PAGE = 100
_DAY_S = 86_400.0
_WORKING = ("in_progress", "canceling")
_COUNTS = ("processing", "succeeded", "errored", "canceled", "expired")
_ENDS = {"expired": FailureKind.EXPIRED, "canceled": FailureKind.CANCELLED}


def _messages(judge: JudgeSpec) -> Shape:
    system = {} if judge.system is None else {"system": judge.system}
    fields = {**system, **decoding_of(judge), **stops_of(judge, "stop_sequences"), **judge.extra}
    if judge.prompt_cache == "off":
        return ',"messages":[{"role":"user","content":', "}]", fields
    # The same text as one block, kept to its end: repeats of a cell have all of it in common.
    block = ',"messages":[{"role":"user","content":[{"type":"text","text":'
    return block, ',"cache_control":{"type":"ephemeral"}}]}]', fields


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
    read = FieldReader()
    usage = read.object(body, "usage")
    cached = read.count(usage, "cache_read_input_tokens", "usage.")
    written = read.count(usage, "cache_creation_input_tokens", "usage.")
    fresh = read.count(usage, "input_tokens", "usage.")
    reason = read.text(body, "stop_reason")
    text = content_of(content)
    return Answer(
        completion=Completion(
            text=text,
            finish_reason=reason,
            refusal=text or "" if reason == "refusal" else None,
        ),
        # Tokens read from and written to the prompt cache are reported apart from the others.
        input_tokens=None if fresh is None else fresh + (cached or 0) + (written or 0),
        output_tokens=read.count(usage, "output_tokens", "usage."),
        cached_tokens=cached,
        model=read.text(body, "model"),
        response_id=read.text(body, "id"),
        replayed=replayed(reply),
        unread=read.unread,
    )


class AnthropicBatches(Batches):
    """Batches of messages."""

    most_bytes: int = 240 * 2**20

    async def upload(self, entries: Sequence[Entry]) -> str | Failure:
        """Do nothing: requests travel with the batch."""
        del entries
        return ""

    async def create(self, uid: str, upload: str, entries: Sequence[Entry]) -> str | Failure:
        """Make a batch of the requests; ours is part of their names, for want of one for all."""
        del upload
        requests = b",".join(
            b'{"custom_id": "%s", "params": %s}' % (_named(entry.call_id, uid).encode(), entry.body)
            for entry in entries
        )
        made = await self._link.json("POST", _BATCHES, data=b'{"requests": [' + requests + b"]}")
        return made if isinstance(made, Failure) else text_of(made, "id", "a batch")

    async def find(self, lost: Unheard) -> str | LostBatch | Failure:
        """Look for a batch of as many requests whose results carry our name.

        Results are out when a batch has ended; until then one of that size may be ours.
        """
        verdict = LostBatch.ABSENT
        async for listed in self._pages(_BATCHES, after="after_id", limit=_PAGE):
            if isinstance(listed, Failure):
                return listed
            times = [_time(batch.get("created_at")) for batch in listed]
            for batch, created in zip(listed, times, strict=True):
                name = text_of(batch, "id", "a batch")
                if name in lost.known or not _may_hold(batch, len(lost.calls)):
                    continue
                found = name if isinstance(name, Failure) else await self._is(batch, name, lost)
                if isinstance(found, (str, Failure)):
                    return found
                # What is older by days than ours cannot be ours, although nobody can look inside.
                if found is LostBatch.UNKNOWN and created < lost.since - _DAY_S:
                    continue
                verdict = verdict if found is LostBatch.ABSENT else found
            if min(times, default=0.0) < lost.since - CLOCKS_S:
                break
        return verdict

    async def _is(
        self, batch: dict[str, Any], name: str, lost: Unheard
    ) -> str | LostBatch | Failure:
        """Say whether a batch is the lost one: its name, or why it is not, or not yet, known."""
        if batch.get("processing_status") != "ended":
            return LostBatch.UNDECIDED
        if batch.get("archived_at") is not None:
            return LostBatch.UNKNOWN
        lines = await self._link.lines(f"{_BATCHES}/{name}/results")
        if isinstance(lines, Failure):
            return lines
        ours = {_named(call, lost.uid) for call in lost.calls}
        names = {str(line["custom_id"]) for line in lines if line.get("custom_id")}
        if not names:  # every request has a result at the end: this file says nothing
            return Failure(kind=FailureKind.CUT, detail=f"no results in those of batch {name}")
        # Earlier versions named a request after its call alone.
        return name if names & ours or names == lost.calls else LostBatch.ABSENT

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
        results = Gathered()
        for line in lines:
            results.take(str(line.get("custom_id")).partition(_JOINT)[0], read_line(line))
        return results

    async def cancel(self, provider_id: str) -> BatchStatus | Failure:
        """Ask the provider to stop a batch."""
        batch = await self._link.json("POST", f"{_BATCHES}/{provider_id}/cancel", data=b"")
        return batch if isinstance(batch, Failure) else read_batch(batch)


def read_batch(batch: dict[str, Any]) -> BatchStatus | Failure:
    """Read a message batch."""
    status = batch.get("processing_status")
    if status in _WORKING:
        return BatchStatus(stage=Stage.WORKING, words=words(str(status)))
    if status != "ended":
        return no_status("processing_status", status)
    cancelled = batch.get("cancel_initiated_at") is not None
    stage = Stage.CANCELLED if cancelled else Stage.ENDED
    said = "cancelled" if cancelled else "ended"
    return BatchStatus(stage=stage, words=said, results=_size(batch))


def _named(call: str, uid: str) -> str:
    """Return the name of a call in one batch, within the 64 characters that it may have."""
    return f"{call}{_JOINT}{uid[:16]}"


def _size(batch: dict[str, Any]) -> int | None:
    """Return how many requests a batch has, each of which has a result at its end."""
    counts = object_of(batch.get("request_counts"))
    return sum(n for key in _COUNTS if (n := count(counts.get(key)))) or None


def _may_hold(batch: dict[str, Any], calls: int) -> bool:
    """Whether a batch may have so many requests; all are counted only while it is worked on."""
    size = _size(batch)
    if size is None or size == calls:
        return True
    return size < calls and batch.get("processing_status") not in _WORKING


def _time(value: Any) -> float:
    """Return the Unix time of a date; 0 for anything that is none."""
    try:
        return datetime.fromisoformat(value).timestamp()
    except (TypeError, ValueError, OverflowError):
        return 0.0


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
    caches=True,
    seedless="the messages format takes no seed",
    faults=_faults,
    batches=AnthropicBatches,
)
PROVIDERS = (Provider(name="anthropic", place=20, wire=MESSAGES),)
