"""Results of PandaLM (`pandalm-7b-testset-v1.json`): one verdict an item, by its index."""

from collections.abc import Mapping, Sequence
from typing import Any

from judgelaw.steps import Advance
from judgelaw.tables.importers.entries import Advice, Format, as_text
from judgelaw.tables.importers.known import (
    FIRST,
    PLACE,
    SECOND,
    TIE,
    KnownLog,
    LogFile,
    Row,
    human_label,
)
from judgelaw.tables.reading import AS_GIVEN
from judgelaw.tensor import INVALID

_RESULT, _REASON = "_result", "_reason"
_WINNERS = {"1": FIRST, "2": SECOND, "0": TIE, "tie": TIE}


def tells(file: LogFile) -> bool:
    """Whether records hold an index, and a judge's result with its reason."""
    return "idx" in file.columns and _judge(file.first) is not None


def _judge(record: Mapping[str, Any]) -> str | None:
    """Return the judge's name, which is part of the names of the fields."""
    names = [name.removesuffix(_RESULT) for name in record if name.endswith(_RESULT)]
    return next((name for name in names if name and f"{name}{_REASON}" in record), None)


def known(files: Sequence[LogFile], tick: Advance) -> KnownLog:
    """Read one call for each item."""
    rows = [
        row
        for file in files
        for place, record in file.records(tick)
        if (row := _row(place, record)) is not None
    ]
    return KnownLog(
        format="pandalm",
        name="PandaLM results",
        says=(
            "judge: the name before `_result`",
            "item: `idx`; response 1 is candidate_1",
            "verdict: 1, 2 or 0 (a tie); anything else is invalid",
            "human labels are in another file, testset-v1.json, by `idx`",
        ),
        rows=rows,
    )


def _row(place: str, record: Mapping[str, Any]) -> Row | None:
    judge = _judge(record)
    if judge is None:
        return None
    result = (as_text(record[f"{judge}{_RESULT}"]) or "").strip().lower()
    return {
        "judge": judge,
        "item": as_text(record.get("idx")),
        "prompt": AS_GIVEN,
        "verdict": _WINNERS.get(result, INVALID),
        "human": human_label(record),
        "reply": as_text(record[f"{judge}{_REASON}"]),
        PLACE: place,
    }


OFFERED = (
    Format(
        name="pandalm",
        title="PandaLM results",
        place=82,
        tells=tells,
        known=known,
        advice=Advice(
            fresh="judge again, with a temperature", repeat="judge again and name both files"
        ),
    ),
)
