"""OpenAI batches: a file of requests up, a batch, and files of results and errors down."""

import json
from collections.abc import Sequence
from typing import Any

from judgelaw.judges.http import PATHS, BatchHttp
from judgelaw.wire import (
    BatchStatus,
    Entry,
    Failure,
    FailureKind,
    LostBatch,
    Reply,
    Results,
    Stage,
    said_in,
    text_of,
)
from judgelaw.words import count, words

_NAME = "judgelaw_batch"
"""The key of our own name among a batch's metadata, by which a lost batch is found."""
_PAGE = 100
_CLOCKS_S = 3600.0
"""How far the provider's clock may be from ours."""
_STAGES = {
    "validating": Stage.WORKING,
    "in_progress": Stage.WORKING,
    "finalizing": Stage.WORKING,
    "cancelling": Stage.WORKING,
    "completed": Stage.ENDED,
    "expired": Stage.ENDED,
    "cancelled": Stage.CANCELLED,
    "failed": Stage.FAILED,
}
_LATER = frozenset({"token_limit_exceeded", "rate_limit_exceeded", "queue_limit_exceeded"})
_CODES = {"batch_expired": FailureKind.EXPIRED, "batch_cancelled": FailureKind.CANCELLED}


class OpenAIBatches(BatchHttp):
    """Batches of chat completions or of text completions."""

    most_bytes: int = 190 * 2**20

    async def upload(self, entries: Sequence[Entry]) -> str | Failure:
        """Upload the requests as a file; nothing is asked, and nothing charged, by that."""
        import aiohttp  # noqa: PLC0415 - loads when a judge is asked

        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        lines = b"".join(self._line(entry) for entry in entries)
        form.add_field("file", lines, filename="judgelaw.jsonl", content_type="application/jsonl")
        made = await self._json("POST", "files", data=form)
        return made if isinstance(made, Failure) else text_of(made, "id", "an uploaded file")

    async def create(self, uid: str, upload: str, entries: Sequence[Entry]) -> str | Failure:
        """Make a batch of the uploaded file, under our own name."""
        del entries
        assert self._spec.batch is not None  # noqa: S101 - only such judges come here
        asked = {
            "input_file_id": upload,
            "endpoint": self._endpoint,
            "completion_window": self._spec.batch.window,
            "metadata": {_NAME: uid},
        }
        made = await self._json("POST", "batches", data=json.dumps(asked).encode())
        return made if isinstance(made, Failure) else text_of(made, "id", "a batch")

    async def find(self, uid: str, since: float) -> str | LostBatch | Failure:
        """Look through the newest batches for our name."""
        query = {"limit": str(_PAGE)}
        seen: set[str] = set()
        while True:
            page = await self._json("GET", "batches", query=query)
            if isinstance(page, Failure):
                return page
            listed = _objects(page.get("data"))
            for batch in listed:
                metadata = batch.get("metadata")
                if isinstance(metadata, dict) and metadata.get(_NAME) == uid:
                    return text_of(batch, "id", "a batch")
            oldest = min((count(b.get("created_at")) or 0 for b in listed), default=0)
            if not page.get("has_more") or not listed or oldest < since - _CLOCKS_S:
                return LostBatch.ABSENT
            last = text_of(listed[-1], "id", "a batch")
            if isinstance(last, Failure):
                return last
            if last in seen:
                what = "the list of batches goes round in a circle"
                return Failure(kind=FailureKind.NO_COMPLETION, detail=what)
            seen.add(last)
            query["after"] = last

    async def look(self, provider_id: str) -> BatchStatus | Failure:
        """Ask how far a batch is."""
        batch = await self._json("GET", f"batches/{provider_id}")
        return batch if isinstance(batch, Failure) else read_batch(batch)

    async def results(self, provider_id: str, look: BatchStatus) -> Results | Failure:
        """Fetch the output file and the error file."""
        del provider_id
        results: dict[str, Reply | Failure] = {}
        for source in look.sources:
            lines = await self._lines(f"files/{source}/content")
            if isinstance(lines, Failure):
                return lines
            for line in lines:
                results.setdefault(str(line.get("custom_id")), read_line(line))
        return results

    async def cancel(self, provider_id: str) -> BatchStatus | Failure:
        """Ask the provider to stop a batch."""
        batch = await self._json("POST", f"batches/{provider_id}/cancel", data=b"")
        return batch if isinstance(batch, Failure) else read_batch(batch)

    @property
    def _endpoint(self) -> str:
        return f"/v1/{PATHS[self._wire]}"

    def _line(self, entry: Entry) -> bytes:
        """Return a line that holds the exact bytes of the single request."""
        head = {"custom_id": entry.call_id, "method": "POST", "url": self._endpoint}
        return json.dumps(head)[:-1].encode() + b', "body": ' + entry.body + b"}\n"


def read_batch(batch: dict[str, Any]) -> BatchStatus:
    """Read a batch object."""
    status = str(batch.get("status"))
    stage = _STAGES.get(status, Stage.WORKING)
    sources = [batch.get(key) for key in ("output_file_id", "error_file_id")]
    return BatchStatus(
        stage=stage,
        words=words(status),
        sources=tuple(source for source in sources if isinstance(source, str) and source),
        failure=_rejection(batch) if stage is Stage.FAILED else None,
    )


def read_line(line: dict[str, Any]) -> Reply | Failure:
    """Read one line of a result or error file."""
    response = line.get("response")
    if isinstance(response, dict) and isinstance(response.get("status_code"), int):
        body = json.dumps(response.get("body"), separators=(",", ":"))
        return Reply(status=response["status_code"], body=body.encode())
    error = line.get("error")
    if not isinstance(error, dict):
        return Failure(kind=FailureKind.NO_COMPLETION, detail="a line without response or error")
    kind = _CODES.get(str(error.get("code")), FailureKind.ERROR_OBJECT)
    return Failure(kind=kind, detail=said_in(error))


def _objects(value: Any) -> list[dict[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def _rejection(batch: dict[str, Any]) -> Failure:
    """Say why a batch was not accepted; a full queue is no fault of the requests."""
    errors = batch.get("errors")
    data = errors.get("data") if isinstance(errors, dict) else None
    listed = _objects(data)
    codes = {str(error.get("code")) for error in listed}
    kind = FailureKind.THROTTLED if codes and codes <= _LATER else FailureKind.REJECTED
    said = "; ".join(said_in(error) for error in listed[:3]) or "no reason given"
    return Failure(kind=kind, detail=f"the batch failed validation: {said}")
