"""Logs of inspect_ai, `.eval` and `.json`, read without inspect_ai.

Two kinds of calls lie in them. Scorers that asked a model are calls of a judge, the grader: they
are what the log says it is. Where the model under test is itself the judge, its completions are
read as rules say.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgelaw.errors import TableError
from judgelaw.record_files import json_document
from judgelaw.steps import Advance
from judgelaw.tables.importers.entries import (
    Advice,
    Entry,
    Format,
    Grading,
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
from judgelaw.tables.importers.log_files import Archive
from judgelaw.tables.reading import AS_GIVEN
from judgelaw.tensor import INVALID
from judgelaw.words import counted

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
    if LogFile(path).kind == "archive":
        yield from _from_archive(path, tick)
        return
    document = json_document(path, tick)
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
    missing = _listed(archive, tick)
    for name in sorted(epochs, key=lambda name: int(found[1]) if (found := epochs[name]) else 0):
        place, sample = f"{path}!{name}", archive.read_json(name, tick)
        if isinstance(sample, dict):
            stated = epochs[name]
            if stated is not None and str(sample.get("epoch")) != stated[1]:
                raise TableError(
                    f"{place}: the sample says that it is of epoch {sample.get('epoch')!r}, the "
                    "name of its entry another: the archive is damaged, copy the log again"
                )
            missing.discard(_identity(sample))
        yield place, task, sample
    if missing:
        lost, epoch = min(missing)
        raise TableError(
            f"{path}: the archive lists {counted(len(missing), 'sample')} that it does not hold, "
            f"such as {lost} of epoch {epoch}: it is damaged or was changed, copy the log again"
        )


def _listed(archive: Archive, tick: Advance) -> set[tuple[str, str]]:
    """Return the samples that the archive's own summaries name."""
    whole = [name for name in archive.names if name == "summaries.json"]
    parts = [name for name in archive.names if name.startswith("_journal/summaries/")]
    found = [archive.read_json(name, tick) for name in whole or parts]
    return {_identity(sample) for each in found for sample in mappings(each)}


def _identity(sample: Mapping[str, Any]) -> tuple[str, str]:
    return str(sample.get("id")), str(sample.get("epoch"))


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


_LETTERS = {"C": "correct", "I": "incorrect", "P": "partial", "N": "no answer"}
"""The words that inspect writes as letters: C would pass for the name of an answer."""
_GRADER_OPTIONS = frozenset({"model", "model_role"})
_UNREAD = "grade not found in model output"
"""What model-graded scorers say of a reply without a grade; they score it as incorrect."""


@dataclass(frozen=True, kw_only=True)
class _Sample:
    """A sample with the log that it stands in."""

    place: str
    task: Mapping[str, Any]
    record: Mapping[str, Any]
    graders: Mapping[str, "tuple[Mapping[str, Any], ...]"]

    @property
    def judged(self) -> str:
        """Name what a grader saw: the input and the answer to it."""
        output = mapping(self.record.get("output"))
        choice = next(iter(mappings(output.get("choices"))), {})
        return hashed(self.asked, _text(output, choice))

    @property
    def asked(self) -> str:
        """Name the question."""
        return hashed(self.record.get("input"), self.record.get("target"))


def tells(file: LogFile) -> bool:
    """Whether a file is a log of inspect: an archive with a header, or a document with `eval`."""
    if file.kind == "archive":
        return any(name in file.archive.names for name in ("header.json", "_journal/start.json"))
    return "model" in mapping(file.document.get("eval"))


def known(files: Sequence[LogFile], tick: Advance) -> KnownLog:
    """Read a call for each scorer that asked a model, in each sample.

    Raises:
        TableError: no scorer did.
    """
    left: Counter[str] = Counter()
    samples = [sample for file in files for sample in _graded(file.path, tick)]
    names = _names(samples)
    rows = [row for s, name in zip(samples, names, strict=True) for row in _scores(s, name, left)]
    if not rows:
        raise _no_grader(files[0].path, left, samples)
    if len({row["criterion"] for row in rows}) == 1:
        rows = [{**row, "criterion": None} for row in rows]
    return KnownLog(
        format="inspect",
        name="inspect log",
        says=(
            "judge: the model that each scorer asked, not the model under test",
            "criterion: the scorer, where several ask different things; asked again is a repeat",
            "item: the sample, with its epoch where there are several: a new answer is a new item",
            "two logs: samples are the same item only where input and answer are the same",
            "verdict: the score; a reply without a grade is invalid",
        ),
        left_out=counts(left),
        rows=rows,
    )


def _no_grader(path: Path, left: Counter[str], samples: Sequence[_Sample]) -> TableError:
    found = ", ".join(counts(left)) or "no sample"
    said = (
        f"{path}: an inspect log in which no scorer asked a model ({found}): a string match "
        "gives one verdict for ever. "
    )
    return TableError(
        said
        + judged_by_the_model(
            "inspect", path, *(sample.record.get("metadata") for sample in samples)
        )
    )


def _graded(path: Path, tick: Advance) -> Iterator[_Sample]:
    for place, task, sample in _samples(path, tick):
        if not isinstance(sample, dict) or "id" not in sample or "epoch" not in sample:
            raise TableError(f"{place}: no sample of an inspect log: it needs id and epoch")
        graders = _asked_by_scorer(mappings(sample.pop("events", None)))
        attachments = mapping(sample.pop("attachments", None))
        sample.pop("messages", None)
        whole = _attached(sample, attachments) if attachments else sample
        yield _Sample(place=place, task=task, record=whole, graders=graders)


def _asked_by_scorer(
    events: Sequence[Mapping[str, Any]],
) -> dict[str, tuple[Mapping[str, Any], ...]]:
    """Return the calls of models that each scorer made, by its name.

    Newer logs nest events in spans, older ones between the begin and the end of a step.
    """
    scorer: dict[Any, str] = {}
    parent: dict[Any, Any] = {}
    step: str | None = None
    found: dict[str, list[Mapping[str, Any]]] = {}
    for event in events:
        kind = event.get("event")
        if kind == "span_begin":
            parent[event.get("id")] = event.get("parent_id")
            if event.get("type") == "scorer":
                scorer[event.get("id")] = str(event.get("name"))
        elif kind == "step" and event.get("type") == "scorer":
            step = str(event.get("name")) if event.get("action") == "begin" else None
        elif kind == "model":
            span = event.get("span_id")
            while span is not None and span not in scorer:
                span = parent.get(span)
            name = scorer.get(span, step)
            if name is not None:
                found.setdefault(name, []).append(event)
    return {name: tuple(calls) for name, calls in found.items()}


def _names(samples: Sequence[_Sample]) -> list[tuple[str, str, str | None]]:
    """Return item, cluster and answer of every sample.

    Ids are kept as long as they name one thing: another question under the same id is called by
    its task as well, another answer by its epoch, and by its model or a number where that is not
    enough.
    """
    epochs = len({sample.record["epoch"] for sample in samples}) > 1
    questions: dict[str, str] = {}
    answers: dict[str, str] = {}
    found = []
    for sample in samples:
        task, model = (as_text(sample.task.get(key)) or "?" for key in ("task", "model"))
        own = as_text(sample.record["id"]) or "?"
        cluster = _free(questions, sample.asked, (own, f"{task}/{own}"))
        answer = str(sample.record["epoch"]) if epochs else None
        name = f"{cluster}/{answer}" if answer else cluster
        item = _free(answers, sample.judged, (name, f"{name} ({model})"))
        found.append((item, cluster, answer))
    return found


def _free(taken: dict[str, str], content: str, names: Sequence[str]) -> str:
    """Return the name that this content has, or the first that no other content has."""
    for name in names:
        if taken.setdefault(name, content) == content:
            return name
    number = 2
    while taken.setdefault(f"{names[-1]} #{number}", content) != content:
        number += 1
    return f"{names[-1]} #{number}"


def _scores(
    sample: _Sample, named: tuple[str, str, str | None], left: Counter[str]
) -> Iterator[Row]:
    scores = mapping(sample.record.get("scores")) or _single(sample.record.get("score"))
    if not scores:
        why = "an error" if sample.record.get("error") else "no score"
        left[f"samples with {why}"] += 1
    item, cluster, answer = named
    again = _asked_again(sample.task)
    metadata = mapping(sample.record.get("metadata"))
    for name, score in scores.items():
        found = mapping(score)
        asked = sample.graders.get(name) or _only(sample.graders, scores)
        grading = mapping(found.get("metadata")).get("grading")
        if not asked and not grading:
            left[f"{name} (asked no model)"] += 1
            continue
        last = asked[-1] if asked else {}
        for criterion, verdict in _values(again.get(name, name), found):
            yield {
                "judge": _grader(sample.task, asked, grading, name),
                "criterion": criterion,
                "item": item,
                "cluster": cluster,
                "answer": answer,
                "stratum": as_text(metadata.get("stratum")),
                "prompt": AS_GIVEN,
                "verdict": verdict,
                "human": _word(human_label(metadata)),
                "instruction": as_text(sample.record.get("input")),
                "candidate_1": as_text(found.get("answer")),
                "reference": as_text(sample.record.get("target")),
                "reply": as_text(found.get("explanation")),
                RESPONSE: _with_criterion(
                    _response_id(mapping(last.get("output")), last), criterion
                ),
                CACHED: "yes" if last.get("cache") == "read" else None,
                PLACE: f"{sample.place} {name} {criterion}",
            }


def _asked_again(task: Mapping[str, Any]) -> dict[str, str]:
    """Return the scorers that only ask again, or ask another grader, with the scorer they repeat.

    Inspect numbers scorers of one name; those whose options differ in the grader alone put the same
    question.
    """
    seen: dict[str, Any] = {}
    found: dict[str, str] = {}
    numbers: Counter[str] = Counter()
    for scorer in mappings(task.get("scorers")):
        name = as_text(scorer.get("name")) or ""
        options = mapping(scorer.get("options"))
        question = {key: value for key, value in options.items() if key not in _GRADER_OPTIONS}
        number = numbers[name]
        numbers[name] += 1
        if number and seen[name] == question:
            found[f"{name}{number}"] = name
        seen.setdefault(name, question)
    return found


def _single(score: Any) -> Mapping[str, Any]:
    """Return the score of the oldest logs, which had one."""
    return {"score": score} if isinstance(score, Mapping) else {}


def _only(
    graders: Mapping[str, tuple[Mapping[str, Any], ...]], scores: Mapping[str, Any]
) -> tuple[Mapping[str, Any], ...]:
    """Return the calls of the one scorer, whatever its span is called."""
    return next(iter(graders.values())) if len(graders) == len(scores) == 1 else ()


def _with_criterion(response: str | None, criterion: str) -> str | None:
    """Name what one reply says on one criterion: replies on several are no copies."""
    return response and f"{response} {criterion}"


_GRADES = r"(?i)GRADE\s*:\s*\W*([CPIN])"
"""Where a model-graded scorer finds its letter, unless its options say otherwise."""


def gradings(path: Path, tick: Advance) -> Iterator[Grading]:
    """Yield every prompt that a scorer sent to its grader, as the log recorded it."""
    samples = list(_graded(path, tick))
    for sample, (item, cluster, answer) in zip(samples, _names(samples), strict=True):
        patterns = _patterns(sample.task)
        metadata = mapping(sample.record.get("metadata"))
        for name, found in mapping(sample.record.get("scores")).items():
            score = mapping(found)
            messages = mappings(mapping(score.get("metadata")).get("grading"))
            asked = [m for m in messages if m.get("role") == "user"]
            text = as_text(_said(asked[0])) if asked else None
            if text is None:
                continue
            ((_, verdict),) = list(_values(name, score))[:1] or [(name, INVALID)]
            yield Grading(
                item=item,
                cluster=cluster,
                answer=answer,
                criterion=_asked_again(sample.task).get(name, name),
                grader=_grader(sample.task, sample.graders.get(name, ()), messages, name),
                system=next((_said(m) for m in messages if m.get("role") == "system"), None),
                text=text,
                question=as_text(sample.record.get("input")) or "",
                verdict=verdict,
                human=_word(human_label(metadata)),
                pattern=patterns.get(name, _GRADES),
                labels=None if name in patterns else _LETTERS,
            )


def _said(message: Mapping[str, Any]) -> str:
    content = message.get("content")
    if isinstance(content, list):
        texts = (part.get("text") for part in mappings(content) if part.get("type") == "text")
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _patterns(task: Mapping[str, Any]) -> dict[str, str]:
    """Return the pattern that each scorer reads its grader by, where the task says one."""
    numbers: Counter[str] = Counter()
    found: dict[str, str] = {}
    for scorer in mappings(task.get("scorers")):
        name = as_text(scorer.get("name")) or ""
        own = name + (str(numbers[name]) if numbers[name] else "")
        numbers[name] += 1
        pattern = as_text(mapping(scorer.get("options")).get("grade_pattern"))
        if pattern is not None:
            found[own] = pattern
    return found


def _values(name: str, score: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    value = score.get("value")
    unread = _UNREAD in (as_text(score.get("explanation")) or "").casefold()
    for key, each in value.items() if isinstance(value, Mapping) else [(None, value)]:
        text = as_text(each)
        blank = text is None or not text.strip() or text == "nan"
        verdict = INVALID if unread or blank else _word(text)
        yield (name if key is None else f"{name}.{key}"), verdict or INVALID


def _word(text: str | None) -> str | None:
    return None if text is None else _LETTERS.get(text, text)


def _grader(
    task: Mapping[str, Any], asked: Sequence[Mapping[str, Any]], grading: Any, scorer: str
) -> str:
    """Name who graded: by the calls, the role, the reply; never by the model under test."""
    models = sorted({model for event in asked if (model := as_text(event.get("model")))})
    if models:
        return " + ".join(models)
    roles = mapping(task.get("model_roles"))
    role = as_text(mapping(roles.get("grader")).get("model")) or as_text(roles.get("grader"))
    replied = (as_text(message.get("model")) for message in mappings(grading))
    return role or next((name for name in replied if name), None) or f"grader of {scorer}"


OFFERED = (
    Format(
        name="inspect",
        title="inspect log",
        place=10,
        tells=tells,
        known=known,
        read=read,
        gradings=gradings,
        advice=Advice(
            fresh="run it with cache=False, or with CachePolicy(per_epoch=True) and an empty cache",
            repeat="inspect eval --epochs 4",
        ),
        grading=Advice(
            fresh="score again with the cache off",
            repeat="inspect score LOG --action append, with the same scorer",
        ),
    ),
)
