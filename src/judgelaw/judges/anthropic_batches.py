"""Anthropic message batches: requests in one body, results as one file."""

import json
from collections.abc import Sequence
from typing import Any

from judgelaw.judges.http import ANTHROPIC_VERSION, BatchHttp
from judgelaw.wire import (
    BatchStatus,
    Entry,
    Failure,
    FailureKind,
    LostBatch,
    Reply,
    Results,
    Stage,
    text_of,
)
from judgelaw.words import words

_PATH = "v1/messages/batches"
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


class AnthropicBatches(BatchHttp):
    """Batches of messages."""

    most_bytes: int = 240 * 2**20
    fixed = ANTHROPIC_VERSION

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
        made = await self._json("POST", _PATH, data=b'{"requests": [' + requests + b"]}")
        return made if isinstance(made, Failure) else text_of(made, "id", "a batch")

    async def find(self, uid: str, since: float) -> str | LostBatch | Failure:
        """Say that nobody can tell: a batch carries no name of ours until its results are out."""
        del uid, since
        return LostBatch.UNKNOWN

    async def look(self, provider_id: str) -> BatchStatus | Failure:
        """Ask how far a batch is."""
        batch = await self._json("GET", f"{_PATH}/{provider_id}")
        return batch if isinstance(batch, Failure) else read_batch(batch)

    async def results(self, provider_id: str, look: BatchStatus) -> Results | Failure:
        """Fetch the results, from the judge's own address and from nowhere that a reply names."""
        del look
        lines = await self._lines(f"{_PATH}/{provider_id}/results")
        if isinstance(lines, Failure):
            return lines
        results: dict[str, Reply | Failure] = {}
        for line in lines:
            results.setdefault(str(line.get("custom_id")), read_line(line))
        return results

    async def cancel(self, provider_id: str) -> BatchStatus | Failure:
        """Ask the provider to stop a batch."""
        batch = await self._json("POST", f"{_PATH}/{provider_id}/cancel", data=b"")
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
