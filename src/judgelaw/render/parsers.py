"""Parsers: from the text of a completion to the label as displayed. Frozen, versioned, pure.

A parser never changes once released: a better rule gets the next version and `reparse`.
"""

import json
import math
import re
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

from judgelaw.design import JsonParser, JudgeSpec, RegexParser, ScoreParser
from judgelaw.design.judge_rules import DISPLAYED, PARSERS_GROUP
from judgelaw.errors import InputError

Parser = Callable[[str], str | None]
"""Takes the text of a completion, gives the displayed label, or None where it finds none."""

VERSIONS = {"first-line": 1, "regex": 1, "json": 1, "score": 1}

READ_AT_MOST = 100_000
"""Characters that a regular expression is shown: ten megabytes of text must not stall a run."""

_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?")
_TOLERANCE = 1e-9


def build(judge: JudgeSpec) -> Parser:
    """Return the parser that a judge declares."""
    spec = judge.parser
    if isinstance(spec, RegexParser):
        return regex(spec)
    if isinstance(spec, JsonParser):
        return json_field(spec)
    if isinstance(spec, ScoreParser):
        return score(spec)
    return first_line if spec == "first-line" else _foreign(spec)


def kind(judge: JudgeSpec) -> str:
    """Return the parser's name and version, `first-line/1`."""
    spec = judge.parser
    if isinstance(spec, str):
        version = VERSIONS.get(spec)
        return f"{spec}/{version or _version(spec)}"
    name = {RegexParser: "regex", JsonParser: "json", ScoreParser: "score"}[type(spec)]
    return f"{name}/{VERSIONS[name]}"


def wanted(judge: JudgeSpec) -> str:
    """Say in words what the parser of a judge looks for."""
    spec = judge.parser
    if isinstance(spec, RegexParser):
        return f"regex wants a match of {spec.regex}{_among(spec.labels)}"
    if isinstance(spec, JsonParser):
        return f"json wants an object with the field {spec.field}{_among(spec.labels)}"
    if isinstance(spec, ScoreParser):
        s = spec.score
        return f"score wants a number from {s.min:g} to {s.max:g} in steps of {s.step:g}"
    if spec == "first-line":
        return "first-line wants exactly A, B or TIE in the first line"
    return f"{spec} found no label in it"


def _among(labels: dict[str, str] | None) -> str:
    return f" that reads {', '.join(labels)}" if labels else ""


def first_line(text: str) -> str | None:
    """Read the first non-empty line if it is exactly A, B or TIE (the paper's rule).

    Blanks around the label are no part of it; case is.
    """
    for line in text.split("\n"):
        label = line.strip()
        if label:
            return label if label in DISPLAYED else None
    return None


def regex(spec: RegexParser) -> Parser:
    """Read the first match: its group `verdict`, or its first group, or the whole of it."""
    pattern = re.compile(spec.regex, re.IGNORECASE if spec.ignore_case else 0)
    label = _labeller(spec.labels, ignore_case=spec.ignore_case)

    def read(text: str) -> str | None:
        match = pattern.search(text[:READ_AT_MOST])
        if match is None:
            return None
        named = match.groupdict().get("verdict")
        found = named if named is not None else match.group(1 if pattern.groups else 0)
        return None if found is None else label(found)

    return read


def json_field(spec: JsonParser) -> Parser:
    """Read one field of the first JSON object in the text; a dotted path descends."""
    label = _labeller(spec.labels, ignore_case=spec.ignore_case)
    steps = spec.field.split(".")

    def read(text: str) -> str | None:
        value: Any = _first_object(text[:READ_AT_MOST])
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        return label(value if isinstance(value, str) else _plain(value))

    return read


def score(spec: ScoreParser) -> Parser:
    """Read a number on the declared grid; the verdict is the number in plain digits."""
    low, high, step = spec.score.min, spec.score.max, spec.score.step
    pattern = re.compile(spec.score.regex) if spec.score.regex else _NUMBER

    def read(text: str) -> str | None:
        match = pattern.search(text[:READ_AT_MOST])
        if match is None:
            return None
        try:
            value = float(match.group(1 if pattern.groups else 0))
        except (ValueError, TypeError):
            return None
        steps = (value - low) / step
        on_grid = math.isfinite(steps) and abs(steps - round(steps)) < _TOLERANCE
        return _plain(value) if on_grid and low <= value <= high else None

    return read


def _labeller(labels: dict[str, str] | None, *, ignore_case: bool) -> Parser:
    """Map what was matched to a label; without a map, to itself."""

    def fold(text: str) -> str:
        return text.strip().casefold() if ignore_case else text.strip()

    if labels is None:
        known = {fold(label): label for label in DISPLAYED}
        return lambda found: known.get(fold(found), found.strip() or None)
    table = {fold(found): label for found, label in labels.items()}
    return lambda found: table.get(fold(found))


def _first_object(text: str) -> Any:
    """Decode the first JSON object in a text that may have words or a fence around it."""
    decoder = json.JSONDecoder()
    start = text.find("{")
    while start != -1:
        try:
            return decoder.raw_decode(text, start)[0]
        except (ValueError, RecursionError):
            start = text.find("{", start + 1)
    return None


def _plain(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))


def _foreign(name: str) -> Parser:
    parser: Parser = _entry_point(name).load()
    return parser


def _version(name: str) -> str:
    distribution = _entry_point(name).dist
    return distribution.version if distribution is not None else "0"


def _entry_point(name: str) -> Any:
    for point in entry_points(group=PARSERS_GROUP, name=name):
        return point
    raise InputError(f"parser {name!r} is not installed; install the package that provides it")
