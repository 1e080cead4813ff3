"""Samples of lm-evaluation-harness (`--log_samples`): one JSON line a document and filter."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

from judgelaw.errors import NotIdentifiedError, TableError
from judgelaw.record_files import json_lines
from judgelaw.steps import Advance
from judgelaw.tables.importers.entries import Advice, Entry, Format, as_text, known_parts
from judgelaw.tables.importers.known import LogFile

_NAME = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT[\d.:-]+\.jsonl(?:\.gz)?")


def read(path: Path, tick: Advance) -> Iterator[Entry]:
    """Yield every response to every document.

    A task with several filters writes the same responses once a filter: the first filter is read.
    """
    first: str | None = None
    for place, line in json_lines(path, tick):
        if "resps" not in line or "doc_id" not in line:
            raise TableError(
                f"{place}: no sample of lm-evaluation-harness: it needs doc_id and resps; "
                "run lm_eval with --log_samples"
            )
        used = str(line.get("filter"))
        first = used if first is None else first
        if used == first:
            yield from _responses(path, place, line)


def _responses(path: Path, place: str, line: dict[str, Any]) -> Iterator[Entry]:
    known = _known(path, line)
    answers = line["resps"]
    if not isinstance(answers, list):
        raise TableError(f"{place}: resps is no list: no sample of lm-evaluation-harness")
    requests = (text if isinstance(text, list) else [text] for text in answers)
    for number, text in enumerate(chain.from_iterable(requests)):
        if not isinstance(text, str):
            raise NotIdentifiedError(
                f"{place}: the responses are log-likelihoods ({text!r}), which are computed, "
                "not drawn: repeated verdicts need a task of output_type generate_until"
            )
        yield Entry(place=f"{place} response {number}", record=line, known=known, text=text)


def _known(path: Path, line: dict[str, Any]) -> dict[str, str]:
    """Take the task from the file's name and the model from its folder, as lm_eval writes them."""
    named = _NAME.fullmatch(path.name)
    told = {
        "judge": path.resolve().parent.name,
        "prompt": named["task"] if named else path.name.partition(".")[0],
        "item": as_text(line["doc_id"]),
    }
    return known_parts(told, line.get("doc"))


def tells(file: LogFile) -> bool:
    """Whether records are samples: a document and the responses to it."""
    return file.kind != "table" and {"doc_id", "resps"} <= set(file.columns)


OFFERED = (
    Format(
        name="lm-eval",
        title="samples of lm-evaluation-harness",
        place=30,
        tells=tells,
        read=read,
        advice=Advice(
            fresh="run it without --use_cache, with do_sample: true and a temperature",
            repeat="`repeats: 4` in the task's YAML file",
        ),
    ),
)
