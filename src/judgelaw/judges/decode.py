"""From a reply to an answer or a failure, for each wire format. Pure functions."""

from collections.abc import Callable, Sequence
from typing import Any

from judgelaw.judges.reply import Answer, Failure, FailureKind, Reply
from judgelaw.judges.status import read_json, read_status, replayed, said_in
from judgelaw.judges.text import count, storable
from judgelaw.render.completion import Completion


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
