"""Exports of promptfoo (`promptfoo eval -o results.json`, or `.jsonl`)."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from judgelaw.errors import TableError
from judgelaw.steps import Advance
from judgelaw.tables.importers.entries import Advice, Entry, Format, as_text, known_parts, mapping
from judgelaw.tables.importers.log_files import read_json, read_json_lines

_OTHER_EXPORTS = (".csv", ".tsv", ".yaml", ".yml", ".html", ".xml", ".txt")
_FAILED_TO_RUN = 2
"""`failureReason` of a row without an answer; 1 is an answer that failed an assertion."""


def read(path: Path, tick: Advance) -> Iterator[Entry]:
    """Yield every row of an export.

    The export has no repeat index: rows with equal provider, prompt and vars are repeats, in the
    order of the file.
    """
    for place, row in _rows(path, tick):
        if not isinstance(row, dict) or not {"provider", "prompt", "vars"} <= set(row):
            raise TableError(f"{place}: no promptfoo result: it needs provider, prompt and vars")
        yield _entry(place, row)


def _rows(path: Path, tick: Advance) -> Iterator[tuple[str, Any]]:
    if path.suffix.lower() in _OTHER_EXPORTS:
        raise TableError(
            f"{path}: a promptfoo {path.suffix[1:].upper()} leaves out which provider and prompt "
            "answered: write the JSON, `promptfoo eval -o results.json`, or of an evaluation that "
            "is done, `promptfoo export eval latest -o results.json`"
        )
    if path.suffix == ".jsonl":
        yield from read_json_lines(path, tick)
        return
    document = read_json(path, tick)
    results = document.get("results") if isinstance(document, dict) else None
    rows = results.get("results") if isinstance(results, dict) else results
    if not isinstance(rows, list):
        raise TableError(f"{path}: no promptfoo export: `results.results` is missing")
    yield from ((f"{path}: results.results.{i}", row) for i, row in enumerate(rows))


def _entry(place: str, row: dict[str, Any]) -> Entry:
    response = mapping(row.get("response"))
    output = response.get("output")
    failed = row.get("failureReason") == _FAILED_TO_RUN or output is None
    return Entry(
        place=place,
        record=row,
        known=_known(row),
        text=output if isinstance(output, str) or failed else json.dumps(output),
        finish_reason=as_text(response.get("finishReason")),
        response_id=as_text(mapping(response.get("raw")).get("id")),
        cached=response.get("cached") is True,
        error=str(response.get("error") or row.get("error") or "no output") if failed else None,
    )


def _known(row: dict[str, Any]) -> dict[str, str]:
    """Take what vars and metadata call by name; equal vars are one item where none is named."""
    told = {
        "judge": _label(row["provider"], "label", "id"),
        "prompt": _label(row["prompt"], "label", "raw"),
        "item": _fingerprint(row["vars"]),
    }
    return known_parts(told, mapping(row.get("testCase")).get("metadata"), row["vars"])


def _label(value: Any, *names: str) -> str | None:
    if not isinstance(value, Mapping):
        return as_text(value)
    return next((text for name in names if (text := as_text(value.get(name)))), None)


def _fingerprint(variables: Any) -> str:
    """Name an item by its variables, the display order apart."""
    kept = {k: v for k, v in mapping(variables).items() if k != "order"}
    text = json.dumps(kept, sort_keys=True, ensure_ascii=False)
    return f"vars-{hashlib.sha256(text.encode(errors='replace')).hexdigest()[:12]}"


OFFERED = (
    Format(
        name="promptfoo",
        marks=("provider", "vars", "prompt"),
        place=20,
        read=read,
        advice=Advice(
            fresh="run promptfoo eval with --no-cache", repeat="promptfoo eval --repeat 4"
        ),
    ),
)
