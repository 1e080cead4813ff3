"""Results of the OpenAI and Anthropic batch interfaces: JSON lines named by `custom_id`."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judgelaw.errors import InputError, TableError
from judgelaw.record_files import json_lines
from judgelaw.steps import Advance
from judgelaw.tables.importers.entries import (
    PARTS,
    Advice,
    Entry,
    Format,
    as_text,
    compiled,
    mapping,
    mappings,
)
from judgelaw.tables.importers.known import LogFile

if TYPE_CHECKING:
    from judgelaw.wire import Answer, Completion, Failure, Reply

_MARK = r"(?:/|\||__)"
CUSTOM_ID = (
    rf"(?P<item>.+?){_MARK}(?P<prompt>.+?)(?:{_MARK}(?P<order>AB|BA))?{_MARK}r?(?P<repeat>\d+)"
)
"""The usual form, `item/prompt/AB/0`; Anthropic takes no slash, hence `item__prompt__AB__0`."""

_OK = 200
_LONGEST_ID = 1_000

Decoded = tuple[str | None, str | None, "Completion | str"]
"""Model, response id, and the completion or why there is none."""
Decoder = Callable[[dict[str, Any]], list[Decoded]]


def read_openai(path: Path, tick: Advance, pattern: str = CUSTOM_ID) -> Iterator[Entry]:
    """Yield every completion of OpenAI batch output; `pattern` splits `custom_id` into parts."""
    return _read(path, tick, _openai, _custom_id(pattern))


def read_anthropic(path: Path, tick: Advance, pattern: str = CUSTOM_ID) -> Iterator[Entry]:
    """Yield every completion of Anthropic batch results."""
    return _read(path, tick, _anthropic, _custom_id(pattern))


def _custom_id(pattern: str) -> re.Pattern[str]:
    found = compiled(pattern, f"--custom-id {pattern!r}")
    strange = [name for name in found.groupindex if name not in PARTS]
    if strange or "item" not in found.groupindex:
        what = f"group {strange[0]!r} is no part of a call" if strange else "no group (?P<item>...)"
        raise InputError(f"--custom-id {pattern!r}: {what}; name groups {', '.join(PARTS)}")
    return found


def _read(path: Path, tick: Advance, decoder: Decoder, pattern: re.Pattern[str]) -> Iterator[Entry]:
    for place, record in json_lines(path, tick):
        name = record.get("custom_id")
        found = None
        # Providers take 64 characters; the pattern is slow on very long ones.
        if isinstance(name, str) and len(name) <= _LONGEST_ID:
            found = pattern.fullmatch(name)
        if found is None:
            raise TableError(
                f"{place}: custom_id {name!r} does not match {pattern.pattern!r}: say how it is "
                "made up, such as --custom-id '(?P<item>.+)-(?P<prompt>.+)-(?P<repeat>[0-9]+)'"
            )
        known = {part: text for part, text in found.groupdict().items() if text}
        decoded = decoder(record)
        if len(decoded) > 1:
            known.pop("repeat", None)
        for index, (model, response_id, outcome) in enumerate(decoded):
            yield _entry(
                place=place if len(decoded) == 1 else f"{place} choice {index}",
                record=record,
                known={**({"judge": model} if model else {}), "prompt": "only", **known},
                # Choices of one response are draws of their own.
                response_id=response_id and f"{response_id}#{index}",
                outcome=outcome,
            )


def _entry(*, outcome: "Completion | str", **shared: Any) -> Entry:
    if isinstance(outcome, str):
        return Entry(error=outcome, **shared)
    return Entry(
        text=outcome.text,
        finish_reason=outcome.finish_reason,
        refusal=outcome.refusal,
        content_filtered=outcome.content_filtered,
        **shared,
    )


def _openai(record: dict[str, Any]) -> list[Decoded]:
    response = mapping(record.get("response"))
    body = response.get("body")
    if record.get("error") or response.get("status_code") != _OK or not isinstance(body, dict):
        return [(None, None, _words(record.get("error") or body or "no response"))]
    if body.get("object") == "response":
        return [(as_text(body.get("model")), as_text(body.get("id")), _response(body))]
    choices = mappings(body.get("choices"))
    if not choices:
        return [(None, None, "no choices")]
    from judgelaw.wire import chat, completions  # noqa: PLC0415 - tables are read without it

    decode = completions if "text" in choices[0] else chat
    return [_answered(decode(_bare(), {**body, "choices": [choice]})) for choice in choices]


def _bare() -> "Reply":
    """The decoders look at status and headers as well; a batch file has none of interest."""
    from judgelaw.wire import Reply  # noqa: PLC0415 - tables are read without it

    return Reply(status=_OK, body=b"")


def _response(body: dict[str, Any]) -> "Completion":
    """Decode the body of the responses interface."""
    from judgelaw.wire import Completion  # noqa: PLC0415 - tables are read without it

    blocks = mappings(body.get("output"))
    parts = [part for block in blocks for part in mappings(block.get("content"))]
    reason = as_text(mapping(body.get("incomplete_details")).get("reason"))
    refusals = [as_text(part.get("refusal")) for part in parts if part.get("type") == "refusal"]
    texts = [as_text(part.get("text")) for part in parts if part.get("type") == "output_text"]
    return Completion(
        text="".join(text or "" for text in texts),
        finish_reason={"max_output_tokens": "length", None: "stop"}.get(reason, reason),
        refusal=refusals[0] if refusals else None,
        content_filtered=reason == "content_filter",
    )


def _anthropic(record: dict[str, Any]) -> list[Decoded]:
    result = mapping(record.get("result"))
    if result.get("type") != "succeeded" or not isinstance(result.get("message"), dict):
        return [(None, None, _words(result.get("error") or result.get("type") or "no result"))]
    from judgelaw.wire import messages  # noqa: PLC0415 - tables are read without it

    return [_answered(messages(_bare(), result["message"]))]


def _answered(found: "Answer | Failure") -> Decoded:
    from judgelaw.wire import Failure  # noqa: PLC0415 - tables are read without it

    if isinstance(found, Failure):
        return None, None, found.detail
    return found.model, found.response_id, found.completion


def _words(error: Any) -> str:
    """Return the provider's own words, however deep they lie."""
    while isinstance(error, dict):
        error = error.get("error") or error.get("message") or error.get("type") or "an error"
    return str(error)


def _tells(field: str, file: LogFile) -> bool:
    return file.kind != "table" and {"custom_id", field} <= set(file.columns)


_ADVICE = Advice(
    fresh="send every repeat as a request of its own, with a custom_id of its own",
    repeat="one request for each repeat, or n=4 with OpenAI",
)
OFFERED = tuple(
    Format(
        name=name,
        title=title,
        place=place,
        tells=partial(_tells, field),
        read=read,
        advice=_ADVICE,
        by_custom_id=True,
    )
    for name, title, place, read, field in (
        ("openai-batch", "results of an OpenAI batch", 40, read_openai, "response"),
        ("anthropic-batch", "results of an Anthropic batch", 50, read_anthropic, "result"),
    )
)
