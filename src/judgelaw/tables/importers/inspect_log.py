"""Logs of inspect_ai, `.eval` and `.json`, read without inspect_ai."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judgelaw.errors import TableError
from judgelaw.steps import Advance
from judgelaw.tables.importers.entries import (
    Advice,
    Entry,
    Format,
    as_text,
    known_parts,
    mapping,
    mappings,
)
from judgelaw.tables.importers.log_files import Archive, read_json

_EPOCH = re.compile(r"_epoch_(\d+)\.json$")
_ATTACHED = "attachment://"
_FILTERED = "content_filter"


def read(path: Path, tick: Advance) -> Iterator[Entry]:
    """Yield every sample of a log, epoch after epoch."""
    for place, task, sample in _samples(path, tick):
        if not isinstance(sample, dict) or "id" not in sample or "epoch" not in sample:
            raise TableError(f"{place}: no sample of an inspect log: it needs id and epoch")
        yield _entry(place, task, sample)


def _samples(path: Path, tick: Advance) -> Iterator[tuple[str, dict[str, Any], Any]]:
    if path.suffix == ".eval":
        yield from _from_archive(path, tick)
        return
    document = read_json(path, tick)
    task = _task(document, str(path))
    samples = mappings(document.get("samples"))
    if not samples:
        raise TableError(_without_samples(path))
    for sample in sorted(samples, key=_epoch):
        yield f"{path}: sample {sample.get('id')!r} epoch {sample.get('epoch')}", task, sample


def _epoch(sample: Mapping[str, Any]) -> int:
    epoch = sample.get("epoch")
    return epoch if isinstance(epoch, int) else 0


def _from_archive(path: Path, tick: Advance) -> Iterator[tuple[str, dict[str, Any], Any]]:
    archive = Archive(path)
    # A log that was interrupted has no header yet, only the journal of its start.
    head = next((n for n in ("header.json", "_journal/start.json") if n in archive.names), None)
    if head is None:
        raise TableError(f"{path}: no header.json: not an inspect log")
    task = _task(archive.read_json(head, tick), f"{path}!{head}")
    epochs = {name: _EPOCH.search(name) for name in archive.names if name.startswith("samples/")}
    if not epochs:
        raise TableError(_without_samples(path))
    for name in sorted(epochs, key=lambda name: int(found[1]) if (found := epochs[name]) else 0):
        yield f"{path}!{name}", task, archive.read_json(name, tick)


def _task(document: Any, place: str) -> dict[str, Any]:
    task = document.get("eval") if isinstance(document, dict) else None
    if not isinstance(task, dict) or "model" not in task:
        raise TableError(f"{place}: no inspect log: `eval.model` is missing")
    return task


def _without_samples(path: Path) -> str:
    return f"{path}: the log holds no samples: run inspect with --log-samples (its default)"


def _entry(place: str, task: dict[str, Any], sample: dict[str, Any]) -> Entry:
    models = [e for e in mappings(sample.pop("events", None)) if e.get("event") == "model"]
    attachments = mapping(sample.get("attachments"))
    whole = _attached(sample, attachments) if attachments else sample
    output = mapping(whole.get("output"))
    choice = next(iter(mappings(output.get("choices"))), {})
    error = whole.get("error")
    if error is None and not choice:
        error = {"message": output.get("error") or "no model output"}
    last = models[-1] if models else {}
    reason = as_text(choice.get("stop_reason"))
    named = {"item": whole["id"], "prompt": task.get("task"), "judge": task["model"]}
    told = {part: as_text(value) for part, value in named.items()}
    return Entry(
        place=place,
        record={**whole, "eval": task},
        known=known_parts(told, whole.get("metadata")),
        text=_text(output, choice),
        finish_reason=reason,
        content_filtered=reason == _FILTERED,
        response_id=_response_id(output, last),
        cached=last.get("cache") == "read",
        error=None if error is None else str(mapping(error).get("message", error)),
    )


def _text(output: Mapping[str, Any], choice: Mapping[str, Any]) -> str | None:
    """Return the completion, or the text parts of the first choice where it is not stored."""
    if isinstance(text := output.get("completion"), str):
        return text
    content = mapping(choice.get("message")).get("content")
    if isinstance(content, list):
        texts = (part.get("text") for part in mappings(content) if part.get("type") == "text")
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else None


def _response_id(output: Mapping[str, Any], event: Mapping[str, Any]) -> str | None:
    """Return the provider's id; older logs keep it in the raw response only."""
    response = mapping(mapping(event.get("call")).get("response"))
    return as_text(output.get("response_id")) or as_text(response.get("id"))


def _attached(value: Any, attachments: Mapping[str, str]) -> Any:
    """Put long texts back that the log keeps apart under their hash."""
    if isinstance(value, dict):
        return {key: _attached(inner, attachments) for key, inner in value.items()}
    if isinstance(value, list):
        return [_attached(inner, attachments) for inner in value]
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attachments.get(value.removeprefix(_ATTACHED), value)
    return value


OFFERED = (
    Format(
        name="inspect",
        names=("*.eval",),
        marks=("eval", "task"),
        place=10,
        read=read,
        advice=Advice(
            fresh="run it with cache=False, or with CachePolicy(per_epoch=True) and an empty cache",
            repeat="inspect eval --epochs 4",
        ),
    ),
)
