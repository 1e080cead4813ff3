"""Exports of promptfoo (`promptfoo eval -o results.json`, or `.jsonl`).

Two kinds of calls lie in them. Assertions that asked a model (`llm-rubric`) are calls of a judge:
they are what the log says it is. Where the provider under test is itself the judge, its outputs
are read as rules say.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from judgelaw.errors import TableError
from judgelaw.record_files import json_document, json_lines
from judgelaw.steps import Advance, unheard
from judgelaw.tables.importers.entries import (
    Advice,
    Entry,
    Format,
    as_text,
    known_parts,
    mapping,
    mappings,
)
from judgelaw.tables.importers.known import (
    CACHED,
    PLACE,
    RESPONSE,
    KnownLog,
    LogFile,
    Row,
    counts,
    hashed,
    human_label,
    judged_by_the_model,
)
from judgelaw.tables.reading import AS_GIVEN
from judgelaw.tensor import INVALID

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
        yield from json_lines(path, tick)
        return
    document = json_document(path, tick)
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


_ASKING = frozenset(
    {
        *("llm-rubric", "model-graded-closedqa", "model-graded-factuality", "factuality"),
        *("g-eval", "answer-relevance", "context-recall", "context-relevance"),
        *("context-faithfulness", "conversation-relevance", "search-rubric", "agent-rubric"),
        *("video-rubric", "trajectory:goal-success"),
    }
)
"""Assertions that ask a model about one output."""
_GRADERS_OF_ATTACKS = "promptfoo:redteam:"
_UNREAD = ("could not extract json", "invalid json", "could not parse")
"""promptfoo's words where the grader answered and its reply could not be read."""
_DEFAULT_GRADER = "promptfoo's default grader"
_BY_PEOPLE = "human"
"""The type of an assertion that somebody set by hand in the viewer."""


def tells(file: LogFile) -> bool:
    """Whether a file is an export: results with provider, prompt and variables."""
    if file.kind == "records":
        return {"provider", "prompt", "vars"} <= set(file.columns)
    rows = _rows_of(file.document)
    return bool(rows) and {"provider", "prompt", "vars"} <= set(mapping(rows[0]))


def _rows_of(document: Mapping[str, Any]) -> list[Any]:
    results = document.get("results")
    rows = mapping(results).get("results") if isinstance(results, Mapping) else results
    return rows if isinstance(rows, list) else []


def known(files: Sequence[LogFile], tick: Advance) -> KnownLog:
    """Read a call for each assertion that asked a model.

    Raises:
        TableError: no assertion did.
    """
    left: Counter[str] = Counter()
    rows: list[Row] = []
    for file in files:
        default = _default_grader(file.document)
        for place, row in _rows(file.path, tick):
            rows += _graded(place, row, default, left)
    if not rows:
        raise _no_grader(files[0], left)
    _name_criteria(rows)
    labels = all(row["verdict"] in {"0", "1", INVALID} for row in rows)
    if labels:
        words = {"0": "fail", "1": "pass", INVALID: INVALID}
        rows = [{**row, "verdict": words[str(row["verdict"])]} for row in rows]
    return KnownLog(
        format="promptfoo",
        name="promptfoo export",
        says=(
            "judge: the grader of each assertion that asked a model, not the provider under test",
            "item: a hash of variables, output and rubric; same variables, same cluster",
            "prompt: one; the prompts of the log are the task of the provider under test",
            "verdict: pass or fail" if labels else "verdict: the score, 0 to 1",
        ),
        left_out=counts(left),
        rows=rows,
        scale=None if labels else {"from": 0.0, "to": 1.0},
    )


def _no_grader(file: LogFile, left: Counter[str]) -> TableError:
    found = ", ".join(counts(left)) or "no assertion at all"
    said = (
        f"{file.path}: a promptfoo export in which no assertion asked a model ({found}): an "
        "assertion that is computed gives one verdict for ever. "
    )
    variables = (mapping(row).get("vars") for _, row in _rows(file.path, unheard))
    return TableError(said + judged_by_the_model("promptfoo", file.path, *variables))


def _graded(place: str, row: Any, default: str | None, left: Counter[str]) -> Iterator[Row]:
    found = mapping(row)
    case, response = mapping(found.get("testCase")), mapping(found.get("response"))
    options = mapping(case.get("options"))
    components = _components(mapping(found.get("gradingResult")))
    variables = mapping(found.get("vars"))
    human = human_label(variables, case.get("metadata")) or _by_people(components)
    for number, component in enumerate(components):
        assertion = mapping(component.get("assertion"))
        kind = as_text(assertion.get("type")) or "assertion of no type"
        if kind == _BY_PEOPLE:
            continue
        base = kind.removeprefix("not-")
        if base not in _ASKING and not base.startswith(_GRADERS_OF_ATTACKS):
            left[kind] += 1
            continue
        verdict = _score(component)
        if verdict is None:
            left[f"{kind} (the grader gave no reply)"] += 1
            continue
        used = mapping(component.get("tokensUsed"))
        cached = bool(used.get("cached")) and used.get("cached") == used.get("total")
        grader = _grader(assertion.get("provider")) or _grader(options.get("provider")) or default
        yield {
            "judge": grader or _DEFAULT_GRADER,
            "criterion": as_text(assertion.get("metric")) or kind,
            "item": hashed(_plain(variables), response.get("output"), assertion.get("value"), kind),
            "cluster": hashed(_plain(variables)),
            "stratum": as_text(mapping(case.get("metadata")).get("stratum")),
            "prompt": AS_GIVEN,
            "verdict": verdict,
            "human": human,
            "instruction": as_text(mapping(found.get("prompt")).get("raw")),
            "candidate_1": as_text(response.get("output")),
            "reference": as_text(assertion.get("value")),
            "reply": as_text(component.get("reason")),
            CACHED: "yes" if cached else None,
            RESPONSE: f"{found['id']}/{number}" if found.get("id") and not cached else None,
            PLACE: f"{place} assertion {number}",
        }


def _plain(variables: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in variables.items() if name != "sessionId"}


def _components(grading: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the results of single assertions; those of a set stand beside it, or within it."""
    flat = mappings(grading.get("componentResults"))
    if not flat and grading.get("assertion"):
        return [grading]
    inner = [i for each in flat for i in mappings(each.get("componentResults")) if i not in flat]
    return [each for each in (*flat, *inner) if not each.get("componentResults")]


def _by_people(components: Sequence[Mapping[str, Any]]) -> str | None:
    """Return what somebody set by hand in the viewer."""
    for component in components:
        if mapping(component.get("assertion")).get("type") == _BY_PEOPLE:
            return "pass" if component.get("pass") else "fail"
    return None


def _score(component: Mapping[str, Any]) -> str | None:
    """Return the score, `invalid` for a reply that could not be read, None where there was none."""
    reason = (as_text(component.get("reason")) or "").casefold()
    if any(words in reason for words in _UNREAD):
        return INVALID
    if mapping(component.get("metadata")).get("graderError"):
        return None
    score = component.get("score")
    passed = component.get("pass")
    return as_text(score) if isinstance(score, int | float) else _as_score(passed)


def _as_score(passed: Any) -> str | None:
    return None if not isinstance(passed, bool) else "1" if passed else "0"


def _grader(provider: Any) -> str | None:
    """Return the name of a provider, written as a name, with an id, or by kind of request."""
    if not isinstance(provider, Mapping):
        return as_text(provider)
    named = as_text(provider.get("label")) or as_text(provider.get("id"))
    return named or _grader(provider.get("text"))


def _default_grader(document: Mapping[str, Any]) -> str | None:
    config = mapping(document.get("config"))
    options = mapping(mapping(config.get("defaultTest")).get("options"))
    return _grader(options.get("provider"))


def _name_criteria(rows: list[Row]) -> None:
    """Keep criteria only where there are several: each is a question of its own."""
    if len({row["criterion"] for row in rows}) == 1:
        for row in rows:
            row["criterion"] = None


OFFERED = (
    Format(
        name="promptfoo",
        title="promptfoo export",
        place=20,
        tells=tells,
        known=known,
        read=read,
        advice=Advice(
            fresh="run promptfoo eval with --no-cache", repeat="promptfoo eval --repeat 4"
        ),
        grading=Advice(
            fresh="run promptfoo eval with --no-cache",
            repeat="write the assertion twice and run promptfoo eval with --no-cache",
        ),
    ),
)
