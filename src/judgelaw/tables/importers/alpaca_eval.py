"""Annotations of AlpacaEval (`annotations.json`): a system against a reference, one call each."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgelaw.steps import Advance
from judgelaw.tables.columns import is_empty
from judgelaw.tables.importers.entries import Advice, Format, as_text, mapping
from judgelaw.tables.importers.known import (
    FIRST,
    PLACE,
    RESPONSE,
    SECOND,
    TIE,
    KnownLog,
    LogFile,
    Row,
    hashed,
    human_label,
)
from judgelaw.tables.reading import AS_GIVEN, UNNAMED
from judgelaw.tensor import INVALID

_LABELS = {"1": FIRST, "2": SECOND, "1.5": TIE, "0": TIE}


def tells(file: LogFile) -> bool:
    """Whether records are annotations: two outputs, an annotator and a preference."""
    names = {"instruction", "output_1", "output_2", "annotator", "preference"}
    return names <= set(file.columns)


def known(files: Sequence[LogFile], tick: Advance) -> KnownLog:
    """Read one call for each pair; preferences are labels only where all of them are."""
    found = [pair for file in files for pair in file.records(tick)]
    given = {as_text(record.get("preference")) for _, record in found}
    labels = all(is_empty(word) or word in _LABELS for word in given)
    rows = [_row(place, record, labels=labels) for place, record in found]
    said = (
        "verdict: preference 1 is output_1 (candidate_1), 2 output_2, 1.5 a tie"
        if labels
        else "verdict: the preference, a number from 1 (output_1) to 2 (output_2): 1 and the "
        "probability that output_2 is preferred; no label"
    )
    return KnownLog(
        format="alpaca-eval",
        name="AlpacaEval annotations",
        says=(
            "judge: `annotator`",
            "item: the system (`generator_2`) and a hash of instruction and outputs",
            said,
            "order: drawn at random and restored by AlpacaEval; the file does not hold it",
        ),
        rows=rows,
        scale=None if labels else {"from": 1.0, "to": 2.0},
    )


def _row(place: str, record: Mapping[str, Any], *, labels: bool) -> Row:
    texts = [as_text(record.get(name)) for name in ("instruction", "output_1", "output_2")]
    preference = as_text(record.get("preference"))
    word = INVALID if preference is None or is_empty(preference) else preference
    systems = [as_text(record.get(f"generator_{n}")) for n in (1, 2)]
    return {
        "judge": as_text(record.get("annotator")) or UNNAMED,
        "item": f"{systems[1] or 'output_2'}/{hashed(texts, systems)}",
        "cluster": hashed(texts[0]),
        "answer": systems[1],
        "stratum": as_text(record.get("dataset")),
        "prompt": AS_GIVEN,
        "verdict": _LABELS.get(word, word) if labels else word,
        "human": human_label(record),
        "instruction": texts[0],
        "candidate_1": texts[1],
        "candidate_2": texts[2],
        "reply": _reply(record.get("raw_completion")),
        RESPONSE: hashed(record) if "time_per_example" in record else None,
        PLACE: place,
    }


def _reply(raw: Any) -> str | None:
    return as_text(mapping(mapping(raw).get("message")).get("content")) or as_text(raw)


OFFERED = (
    Format(
        name="alpaca-eval",
        title="AlpacaEval annotations",
        place=74,
        tells=tells,
        known=known,
        advice=Advice(
            fresh="annotate with caching off (`caching_path=None`)",
            repeat="annotate again with `caching_path=None` and another seed, and name both files",
        ),
    ),
)
