"""Scores and labels of single answers: how replies are read by default, and what is refused."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from judgelaw.errors import InputError
from judgelaw.study.models import Continuous, Study
from judgelaw.study.problems import Problem
from judgelaw.wire import JudgeSpec, ScoreParser, parser_rule
from judgelaw.words import counted, plain_number

FIRST_LINE = r"\s*([^\n]*)"
"""The first line that is not empty; an answer is read if that is a verdict, and nothing else."""
_ROUNDING = 1e-9
_LISTED = 8
_FEWEST, _MOST = 2, 101
"""Verdicts of a scale or of labels: a slider from 0 to 100 fits."""
COMPONENTS = ("call", "prompt", "order", "interaction", "total")


def with_parsers(judges: Any, raw: Mapping[str, Any]) -> Any:
    """Fill in how replies are read, from the scale or the labels of a study as it is written.

    A judge without a parser, or with `first-line`, is read by its first line, which must be one of
    the verdicts but for case and marks. A pattern or a field becomes one of the verdicts or is
    invalid. The range of `score` is that of an evenly spaced scale.
    """
    verdicts, ends = _written(raw), _ends(raw.get("scale"))
    if raw.get("task") != "pointwise" or not isinstance(judges, list):
        return judges
    if ends:
        return [_with_range(judge, ends) for judge in judges]
    return [_with_parser(judge, verdicts, raw) for judge in judges] if verdicts else judges


def _ends(scale: Any) -> dict[str, float]:
    """Return the range of a continuous scale that is not checked yet, empty for any other."""
    if not isinstance(scale, dict):
        return {}
    low, high = scale.get("from"), scale.get("to")
    if not (isinstance(low, int | float) and isinstance(high, int | float)):
        return {}
    return {"min": low, "max": high, "step": 0}


def _with_range(judge: Any, ends: dict[str, float]) -> Any:
    """Give a judge the range in which its replies are read as scores."""
    if not isinstance(judge, dict):
        return judge
    parser = judge.get("parser", "first-line")
    if parser == "first-line":
        return {**judge, "parser": {"score": ends}}
    if isinstance(parser, dict) and isinstance(parser.get("score"), dict):
        return {**judge, "parser": {"score": {**ends, **parser["score"]}}}
    return judge


def _with_parser(judge: Any, verdicts: list[str], raw: Mapping[str, Any]) -> Any:
    if not isinstance(judge, dict):
        return judge
    parser = judge.get("parser", "first-line")
    if isinstance(parser, str) and ":" in parser:
        with suppress(InputError):  # what is no rule is named where judges are checked
            parser = parser_rule(parser)
    labels = {verdict: verdict for verdict in verdicts}
    if parser == "first-line":
        return {**judge, "parser": {"regex": FIRST_LINE, "labels": labels, "strict": False}}
    if not isinstance(parser, dict):
        return judge
    if parser.keys() & {"regex", "json"} and parser.get("labels") is None:
        return {**judge, "parser": {**parser, "labels": labels}}
    if isinstance(parser.get("score"), dict) and (grid := _grid(raw.get("scale"))):
        return {**judge, "parser": {"score": {**grid, **parser["score"]}}}
    return judge


def reading_rule(study: Study, written: Any) -> Any:
    """Return a parser for another reading that finds verdicts of the study alone.

    Raises:
        InputError: the text is no parser.
    """
    if study.verdicts is None:
        return written
    scores = list(study.scale) if isinstance(study.scale, tuple) else None
    listed = {"scale": scores, "labels": list(study.labels or ()) or None}
    raw = {"task": study.task, **listed}
    return with_parsers([{"parser": parser_rule(written)}], raw)[0]["parser"]


def _written(raw: Mapping[str, Any]) -> list[str]:
    """Return the verdicts of a study that is not checked yet; none where they are no verdicts."""
    scale, labels = raw.get("scale"), raw.get("labels")
    if isinstance(scale, list) and all(_is_number(value) for value in scale):
        return [plain_number(value) for value in scale]
    if isinstance(labels, list) and all(isinstance(label, str) for label in labels):
        return labels
    return []


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _grid(scale: Any) -> dict[str, float]:
    """Return the range of an evenly spaced scale, empty for any other."""
    if not isinstance(scale, list | tuple) or len(scale) < 2:  # noqa: PLR2004 - a range has two ends
        return {}
    step = (scale[-1] - scale[0]) / (len(scale) - 1)
    even = all(
        abs(scale[0] + place * step - value) < _ROUNDING for place, value in enumerate(scale)
    )
    return {"min": scale[0], "max": scale[-1], "step": step} if even and step > 0 else {}


def answer_problems(study: Study) -> Iterator[Problem]:
    """Yield what is wrong with the scale or the labels of a study, and with what refers to them."""
    if study.task != "pointwise":
        for key in ("scale", "labels", "dissimilarity"):
            if getattr(study, key) is not None:
                text = f"is about single answers; write task: pointwise, or leave {key} out"
                yield Problem(path=(key,), text=text)
        return
    if study.scale is not None and study.labels is not None:
        text = "labels have no order and scores do; name scale or labels, one of them"
        yield Problem(path=("labels",), text=text)
        return
    if study.dissimilarity is not None and study.scale is None:
        text = f"{study.dissimilarity!r}, is about scores; declare scale:, or leave it out"
        yield Problem(path=("dissimilarity",), text=text)
    if isinstance(study.scale, Continuous):
        if study.scale.low >= study.scale.high:
            text = f"from {study.scale.low:g} is not below to {study.scale.high:g}; swap them"
            yield Problem(path=("scale",), text=text)
        if study.dissimilarity not in (None, "numeric"):
            text = f"{study.dissimilarity!r}, continuous scores are numeric; leave it out"
            yield Problem(path=("dissimilarity",), text=text)
    yield from _repeated(study)
    yield from _no_order(study)


def _repeated(study: Study) -> Iterator[Problem]:
    listed = study.scale if isinstance(study.scale, tuple) else None
    declared: Mapping[str, tuple[Any, ...] | None] = {"scale": listed, "labels": study.labels}
    for key, values in declared.items():
        if values is None:
            continue
        if not _FEWEST <= len(values) <= _MOST:
            text = f"{counted(len(values), 'verdict')}, must be {_FEWEST} to {_MOST}; list them all"
            yield Problem(path=(key,), text=text)
        seen: set[Any] = set()
        for place, value in enumerate(values):
            same = value.casefold() if isinstance(value, str) else value
            shown = repr(value) if isinstance(value, str) else plain_number(value)
            if same in seen:
                text = f"{shown}, is there already; name every verdict once"
                yield Problem(path=(key, place), text=text)
            elif same == "invalid":
                text = "'invalid', is what a reply without a verdict becomes; choose another word"
                yield Problem(path=(key, place), text=text)
            elif key == "scale" and seen and value < max(seen):
                above = plain_number(max(seen))
                text = f"{shown}, comes after {above}; write the scores from low to high"
                yield Problem(path=(key, place), text=text)
            seen.add(same)


def _no_order(study: Study) -> Iterator[Problem]:
    for name in ("order", "interaction"):
        if study.gate is not None and getattr(study.gate, name) is not None:
            text = "single answers have no order; leave it out"
            yield Problem(path=("gate", name), text=text)


def gate_problems(study: Study) -> Iterator[Problem]:
    """Yield limits of a gate that no component of this study's verdicts can reach."""
    largest, remedy = 1.0, "write a smaller number"
    if study.ends:
        span = study.ends[1] - study.ends[0]
        if study.dissimilarity == "numeric" or isinstance(study.scale, Continuous):
            largest = span**2 / 2
            remedy = "numeric components are variances, in squared points; write a smaller number"
        elif study.dissimilarity != "nominal" and span > 0:
            share = plain_number(round(1 / span, 4))
            remedy = f"components are shares of the scale, so a point is {share}; write a share"
    for name in COMPONENTS:
        limit = getattr(study.gate, name, None)
        if limit is not None and limit > largest:
            text = f"{limit:g}, must be at most {plain_number(largest)}; {remedy}"
            yield Problem(path=("gate", name), text=text)


def verdict_problems(judge: JudgeSpec, study: Study) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield where a parser and the verdicts of the study do not go together."""
    verdicts, parser = study.verdicts, judge.parser
    if verdicts is None:
        return
    known = ", ".join(verdicts[:_LISTED]) + (", ..." if len(verdicts) > _LISTED else "")
    if isinstance(parser, ScoreParser):
        declared = parser.score.model_dump(include={"min", "max", "step"})
        if (grid := _grid(study.scale)) != declared:
            remedy = "leave out min, max and step" if grid else "write {regex: ...}"
            text = f"{_range(declared)}, the verdicts are {known}; {remedy}"
            yield ("parser", "score"), text
    elif not isinstance(parser, str):
        for found, label in (parser.labels or {}).items():
            if label not in verdicts:
                text = f"{label!r}, must be one of {known}; choose one"
                yield ("parser", "labels", found), text


def _range(declared: Mapping[str, float]) -> str:
    low, high, step = (plain_number(declared[key]) for key in ("min", "max", "step"))
    return f"{low} to {high} in steps of {step}"
