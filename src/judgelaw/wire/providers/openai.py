"""OpenAI's formats: chat and text completions, and batches of them.

A batch is a file of requests up, a batch object, and files of results and errors down.
"""

import json
from collections.abc import Iterator, Sequence
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
    dumps,
    no_status,
    objects_of,
    stops_of,
    text_of,
    top_tokens_of,
)
from judgelaw.wire.judge_spec import JudgeSpec
from judgelaw.wire.reply import (
    STATUSES,
    Answer,
    Completion,
    Failure,
    FailureKind,
    Reply,
    content_of,
    error_in,
    object_of,
    replayed,
    said_in,
    upstream_kind,
    without,
)
from judgelaw.wire.reply_json import FieldReader
from judgelaw.wire.token_probabilities import chat_tokens, completion_tokens
from judgelaw.words import count, storable, words

_PATHS = {"openai-chat": "chat/completions", "openai-completions": "completions"}
_NAME = "judgelaw_batch"
"""The key of our own name among a batch's metadata, by which a lost batch is found."""
_PAGE = 100
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


def _chat(judge: JudgeSpec) -> Shape:
    system = ""
    if judge.system is not None:
        system = dumps({"role": "system", "content": judge.system}) + ","
    decoding = {**decoding_of(judge), **top_tokens_of(judge)}
    fields = {**decoding, **stops_of(judge, "stop"), **judge.extra}
    return f',"messages":[{system}{{"role":"user","content":', "}]", fields


def _completions(judge: JudgeSpec) -> Shape:
    asked = {} if judge.logprobs is None else {"logprobs": judge.logprobs}
    fields = {**decoding_of(judge), **asked, **stops_of(judge, "stop"), **judge.extra}
    return ',"prompt":', "", fields


TEMPLATE_FILES = {
    "Qwen/Qwen3.6-27B": "chat_template.jinja",
    "openai/gpt-oss-120b": "chat_template.jinja",
    "google/gemma-3-27b-it": "tokenizer_config.json",
}
"""Where the paper's open models keep their chat template, beside their weights."""


def _template_file(judge: JudgeSpec) -> str:
    """Say which file of which revision holds the chat template of a judge."""
    file = TEMPLATE_FILES.get(judge.model, "chat_template.jinja or tokenizer_config.json")
    revision = f" at revision {judge.revision}" if judge.revision else ""
    return f"{file} of {judge.model}{revision} as template:"


def _template_missing(judge: JudgeSpec) -> Iterator[Fault]:
    if judge.template is None:
        text = (
            f"missing, the prompt is rendered here; name {_template_file(judge)}, "
            "or set provider: openai-chat to let the server render"
        )
        yield ("template",), text


def chat(reply: Reply, body: dict[str, Any]) -> Answer | Failure:
    """Decode an OpenAI chat completion; only `content` is the answer, never a reasoning channel."""
    choice = _first_choice(body)
    message = choice.get("message") if choice else None
    if choice is not None and (failed := _failed_choice(reply, choice)) is not None:
        return failed
    if choice is None or not isinstance(message, dict):
        return without(reply, FailureKind.NO_COMPLETION, "no choices[0].message")
    read = FieldReader()
    refusal = read.text(message, "refusal", "message.")
    completion = _completion(read, choice, content_of(message.get("content")), refusal)
    tokens = chat_tokens(read.object(choice, "logprobs").get("content"), read)
    return _openai_answer(read, reply, body, choice, completion, tokens)


def completions(reply: Reply, body: dict[str, Any]) -> Answer | Failure:
    """Decode an OpenAI text completion."""
    choice = _first_choice(body)
    if choice is not None and (failed := _failed_choice(reply, choice)) is not None:
        return failed
    if choice is None or "text" not in choice:
        return without(reply, FailureKind.NO_COMPLETION, "no choices[0].text")
    read = FieldReader()
    completion = _completion(read, choice, storable(choice["text"]), None)
    tokens = completion_tokens(choice.get("logprobs"), read)
    return _openai_answer(read, reply, body, choice, completion, tokens)


def _completion(
    read: FieldReader, choice: dict[str, Any], text: str | None, refusal: str | None
) -> Completion:
    reason = read.text(choice, "finish_reason")
    return Completion(
        text=text,
        finish_reason=reason,
        refusal=refusal,
        content_filtered=reason == "content_filter",
    )


def _openai_answer(  # noqa: PLR0917 - what reads, then what came, from the whole to its parts
    read: FieldReader,
    reply: Reply,
    body: dict[str, Any],
    choice: dict[str, Any],
    completion: Completion,
    tokens: str | None,
) -> Answer:
    usage = read.object(body, "usage")
    details = read.object(usage, "prompt_tokens_details", "usage.")
    return Answer(
        completion=completion,
        tokens=tokens,
        input_tokens=read.count(usage, "prompt_tokens", "usage."),
        output_tokens=read.count(usage, "completion_tokens", "usage."),
        cached_tokens=read.count(details, "cached_tokens", "usage."),
        model=read.text(body, "model"),
        fingerprint=read.text(body, "system_fingerprint"),
        response_id=read.text(body, "id"),
        # Some servers say with which seed they sampled.
        echoed_seed=read.count(choice if "seed" in choice else body, "seed"),
        replayed=replayed(reply),
        unread=read.unread,
    )


def _first_choice(body: dict[str, Any]) -> dict[str, Any] | None:
    """Return the choice that calls itself the first, wherever it stands."""
    choices = objects_of(body.get("choices"))
    numbered = [choice for choice in choices if count(choice.get("index")) is not None]
    if numbered:
        return next((choice for choice in numbered if choice["index"] == 0), None)
    return choices[0] if choices else None


def _failed_choice(reply: Reply, choice: dict[str, Any]) -> Failure | None:
    """Return the failure of a choice that carries an error from upstream, as gateways write it."""
    error = error_in(choice)
    if error is None and choice.get("finish_reason") != "error":
        return None
    message = object_of(choice.get("message"))
    said = said_in(error) if error else "finish_reason error"
    if content_of(message.get("content")) or choice.get("text"):
        what = f"an upstream error beside a part of an answer: {said}"
        return without(reply, FailureKind.ERROR_BESIDE, what)
    kind = upstream_kind(error or {})
    return without(reply, kind, f"an upstream error in its choice: {said}")


class OpenAIBatches(Batches):
    """Batches of chat completions or of text completions."""

    most_bytes: int = 190 * 2**20

    async def upload(self, entries: Sequence[Entry]) -> str | Failure:
        """Upload the requests as a file; nothing is asked, and nothing charged, by that."""
        import aiohttp  # noqa: PLC0415 - loads when a judge is asked

        form = aiohttp.FormData()
        form.add_field("purpose", "batch")
        lines = b"".join(self._line(entry) for entry in entries)
        form.add_field("file", lines, filename="judgelaw.jsonl", content_type="application/jsonl")
        made = await self._link.json("POST", "files", data=form)
        return made if isinstance(made, Failure) else text_of(made, "id", "an uploaded file")

    async def create(self, uid: str, upload: str, entries: Sequence[Entry]) -> str | Failure:
        """Make a batch of the uploaded file, under our own name."""
        del entries
        assert self._link.spec.batch is not None  # noqa: S101 - only such judges come here
        asked = {
            "input_file_id": upload,
            "endpoint": self._endpoint,
            "completion_window": self._link.spec.batch.window,
            "metadata": {_NAME: uid},
        }
        made = await self._link.json("POST", "batches", data=json.dumps(asked).encode())
        return made if isinstance(made, Failure) else text_of(made, "id", "a batch")

    async def find(self, lost: Unheard) -> str | LostBatch | Failure:
        """Look through the newest batches for our name."""
        async for listed in self._pages("batches", after="after", limit=_PAGE):
            if isinstance(listed, Failure):
                return listed
            for batch in listed:
                if object_of(batch.get("metadata")).get(_NAME) == lost.uid:
                    return text_of(batch, "id", "a batch")
            oldest = min((count(b.get("created_at")) or 0 for b in listed), default=0)
            if oldest < lost.since - CLOCKS_S:
                break
        return LostBatch.ABSENT

    async def look(self, provider_id: str) -> BatchStatus | Failure:
        """Ask how far a batch is."""
        batch = await self._link.json("GET", f"batches/{provider_id}")
        return batch if isinstance(batch, Failure) else read_batch(batch)

    async def results(self, provider_id: str, look: BatchStatus) -> Results | Failure:
        """Fetch the output file and the error file."""
        del provider_id
        results = Gathered()
        for source in look.sources:
            lines = await self._link.lines(f"files/{source}/content")
            if isinstance(lines, Failure):
                return lines
            for line in lines:
                results.take(line.get("custom_id"), read_line(line))
        return results

    async def cancel(self, provider_id: str) -> BatchStatus | Failure:
        """Ask the provider to stop a batch."""
        batch = await self._link.json("POST", f"batches/{provider_id}/cancel", data=b"")
        return batch if isinstance(batch, Failure) else read_batch(batch)

    @property
    def _endpoint(self) -> str:
        return f"/v1/{_PATHS[self._link.spec.body or '']}"

    def _line(self, entry: Entry) -> bytes:
        """Return a line that holds the exact bytes of the single request."""
        head = {"custom_id": entry.call_id, "method": "POST", "url": self._endpoint}
        return json.dumps(head)[:-1].encode() + b', "body": ' + entry.body + b"}\n"


def read_batch(batch: dict[str, Any]) -> BatchStatus | Failure:
    """Read a batch object."""
    status = str(batch.get("status"))
    stage = _STAGES.get(status)
    if stage is None:
        return no_status("status", batch.get("status"))
    sources = [batch.get(key) for key in ("output_file_id", "error_file_id")]
    return BatchStatus(
        stage=stage,
        words=words(status),
        results=_fetchable(status, object_of(batch.get("request_counts"))),
        sources=tuple(source for source in sources if isinstance(source, str) and source),
        failure=_rejection(batch) if stage is Stage.FAILED else None,
    )


def _fetchable(status: str, counts: dict[str, Any]) -> int | None:
    """Return how many lines the files must hold.

    Where a batch did not run to its end, what failed in it need not have a line.
    """
    done, failed = count(counts.get("completed")), count(counts.get("failed"))
    if not count(counts.get("total")) or done is None:
        return None
    return done + (failed or 0) if status == "completed" else done


def read_line(line: dict[str, Any]) -> Reply | Failure:
    """Read one line of a result or error file."""
    response = line.get("response")
    status = count(response.get("status_code")) if isinstance(response, dict) else None
    if isinstance(response, dict) and status is not None and status in STATUSES:
        body = json.dumps(response.get("body"), separators=(",", ":"))
        return Reply(status=status, body=body.encode())
    error = line.get("error")
    if not isinstance(error, dict):
        return Failure(kind=FailureKind.NO_COMPLETION, detail="a line without response or error")
    kind = _CODES.get(str(error.get("code")), FailureKind.ERROR_OBJECT)
    return Failure(kind=kind, detail=said_in(error))


def _rejection(batch: dict[str, Any]) -> Failure:
    """Say why a batch was not accepted; a full queue is no fault of the requests."""
    errors = batch.get("errors")
    data = errors.get("data") if isinstance(errors, dict) else None
    listed = objects_of(data)
    codes = {str(error.get("code")) for error in listed}
    kind = FailureKind.THROTTLED if codes and codes <= _LATER else FailureKind.REJECTED
    said = "; ".join(said_in(error) for error in listed[:3]) or "no reason given"
    return Failure(kind=kind, detail=f"the batch failed validation: {said}")


CHAT = WireFormat(
    name="openai-chat",
    path=_PATHS["openai-chat"],
    encode=_chat,
    caches=True,
    decode=chat,
    batches=OpenAIBatches,
    probabilities=True,
)
COMPLETIONS = WireFormat(
    name="openai-completions",
    path=_PATHS["openai-completions"],
    encode=_completions,
    caches=True,
    decode=completions,
    rendered=True,
    faults=_template_missing,
    batches=OpenAIBatches,
    probabilities=True,
)
PROVIDERS = (
    Provider(name="openai-chat", place=10, wire=CHAT),
    Provider(
        name="openai-completions",
        place=11,
        wire=COMPLETIONS,
        speaks=("openai-chat", "anthropic"),
    ),
)
