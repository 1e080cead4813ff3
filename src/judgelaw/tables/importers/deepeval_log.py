"""Test runs of deepeval (`.deepeval/.latest_test_run.json`): test cases x metrics."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from judgelaw.steps import Advance
from judgelaw.tables.importers.entries import Advice, Format, as_text, mapping, mappings
from judgelaw.tables.importers.known import (
    PLACE,
    RESPONSE,
    KnownLog,
    LogFile,
    Row,
    counts,
    hashed,
    human_label,
)
from judgelaw.tables.reading import AS_GIVEN
from judgelaw.tensor import INVALID

_JUDGED = (
    *("input", "actualOutput", "expectedOutput", "context", "retrievalContext", "toolsCalled"),
    *("expectedTools", "turns", "scenario", "expectedOutcome", "imagesMapping"),
)
"""What a metric may look at: the same of all of them is the same item."""
_UNREAD = "invalid json"
"""deepeval's words where the judge's reply was no JSON: an answer that could not be read."""


def tells(file: LogFile) -> bool:
    """Whether a file is a test run: `testRunData`, or itself one, with `testCases`."""
    return isinstance(_run(file).get("testCases"), list)


def _run(file: LogFile) -> Mapping[str, Any]:
    return mapping(file.document.get("testRunData", file.document))


def known(files: Sequence[LogFile], tick: Advance) -> KnownLog:
    """Read every metric of every test case that asked a model."""
    left: Counter[str] = Counter()
    rows = [row for file in files for row in _rows(file, left)]
    tick(1)
    return KnownLog(
        format="deepeval",
        name="deepeval test run",
        says=(
            "judge: `evaluationModel` of each metric",
            "criterion: the metric",
            "item: a hash of input, output and context; `order` is the index of the case",
            "verdict: the score, 0 to 1; a reply that was no valid JSON is invalid",
        ),
        left_out=counts(left),
        rows=rows,
        scale={"from": 0.0, "to": 1.0},
    )


def _rows(file: LogFile, left: Counter[str]) -> Iterator[Row]:
    run = _run(file)
    for kind in ("testCases", "conversationalTestCases"):
        for number, case in enumerate(mappings(run.get(kind))):
            for metric in mappings(case.get("metricsData")):
                found = _row(case, metric, left)
                if found is not None:
                    yield {**found, PLACE: f"{file.path}: {kind}.{number} {metric.get('name')}"}


def _row(case: Mapping[str, Any], metric: Mapping[str, Any], left: Counter[str]) -> Row | None:
    judge, name = as_text(metric.get("evaluationModel")), as_text(metric.get("name"))
    score, error = as_text(metric.get("score")), as_text(metric.get("error"))
    if not judge:
        left[f"{name} (asked no model)"] += 1
        return None
    unread = error is not None and _UNREAD in error.casefold()
    if score is None and not unread:
        left[f"{name} (no score{f': {error}' if error else ''})"] += 1
        return None
    return {
        "judge": judge,
        "criterion": name,
        "item": hashed({key: case.get(key) for key in _JUDGED if case.get(key)}),
        "prompt": AS_GIVEN,
        "verdict": INVALID if unread else score,
        RESPONSE: hashed(case, metric) if "runDuration" in case else None,
        "human": human_label(case, case.get("additionalMetadata"), case.get("metadata")),
        "instruction": as_text(case.get("input")),
        "candidate_1": as_text(case.get("actualOutput")),
        "reference": as_text(case.get("expectedOutput")),
        "reply": as_text(metric.get("reason")),
    }


OFFERED = (
    Format(
        name="deepeval",
        title="deepeval test run",
        place=22,
        tells=tells,
        known=known,
        advice=Advice(
            fresh="evaluate with use_cache=False",
            repeat="`deepeval test run FILE --repeat 4`, or evaluate the same test cases again and "
            "name both files",
        ),
    ),
)
