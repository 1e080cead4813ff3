"""From a completion to a verdict: terminal rule, final channel, parser, restoration.

Parsers: from the text of a completion to the label as displayed. Frozen, versioned, pure.

A parser never changes once released: a better rule gets the next version and `reparse`.
"""

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import entry_points
from typing import Any

from judgelaw.errors import InputError
from judgelaw.tensor import INVALID
from judgelaw.wire.json_in_text import first_object
from judgelaw.wire.judge_spec import (
    PARSERS_GROUP,
    FinalChannel,
    JsonParser,
    JudgeSpec,
    RegexParser,
    ScoreParser,
    canonical_json,
    sha256_hex,
)
from judgelaw.wire.parser_child import pattern_finder
from judgelaw.wire.reply import RAN_OUT, Completion, Verdict
from judgelaw.words import (
    DISPLAYED,
    LETTERS,
    bare,
    candidate_names,
    is_permutation,
    plain_number,
)

Parser = Callable[[str], str | None]
"""Takes the text of a completion, gives the displayed label, or None where it finds none."""

VERSIONS = {"first-line": 1, "regex": 1, "json": 1, "score": 1, "criteria": 1}

READ_AT_MOST = 100_000
"""Characters that a regular expression is shown: ten megabytes of text must not stall a run."""

_NUMBER = r"[-+]?\d+(?:\.\d+)?"
_ANY_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
"""As programs write them: where scores are continuous, 1e-05 is one."""
_TOLERANCE = 1e-9
_MOST_SCORES = 1000


def build(judge: JudgeSpec, find: Parser | None = None) -> Parser:
    """Return the parser that a judge declares.

    Args:
        judge: the judge.
        find: what does the part that `foreign_part` names, in place of doing it here.
    """
    spec = judge.parser
    if isinstance(spec, RegexParser):
        return regex(spec, find)
    if isinstance(spec, JsonParser):
        return json_field(spec)
    if isinstance(spec, ScoreParser):
        return score(spec, find)
    return first_line if spec == "first-line" else find or _foreign(spec)


def foreign_part(judge: JudgeSpec) -> dict[str, Any] | None:
    """Return the part of a judge's parser that may take any time, as `parser_child` takes it.

    None where every step is ours, and linear in the text.
    """
    spec = judge.parser
    if isinstance(spec, RegexParser):
        return {"regex": spec.regex, "ignore_case": spec.ignore_case, "named": True}
    if isinstance(spec, ScoreParser) and spec.score.regex:
        return {"regex": spec.score.regex, "ignore_case": False, "named": False}
    if isinstance(spec, str) and spec != "first-line":
        return {"group": PARSERS_GROUP, "name": _entry_point(spec).name}
    return None


def kind(judge: JudgeSpec) -> str:
    """Return the parser's name and version, `first-line/1`."""
    if judge.criteria:
        return f"criteria/{VERSIONS['criteria']}"
    spec = judge.parser
    if isinstance(spec, str):
        version = VERSIONS.get(spec)
        return f"{spec}/{version or _version(spec)}"
    name = {RegexParser: "regex", JsonParser: "json", ScoreParser: "score"}[type(spec)]
    return f"{name}/{VERSIONS[name]}"


def wanted(judge: JudgeSpec, order: str) -> str:
    """Say in words what the parser of a judge looks for, in a call that shows this order."""
    if judge.criteria:
        parts = judge.by_criterion.items()
        return "; ".join(f"{criterion}: {wanted(part, order)}" for criterion, part in parts)
    spec = judge.parser
    if isinstance(spec, RegexParser):
        return f"regex wants a match of {spec.regex}{_among(spec.labels)}"
    if isinstance(spec, JsonParser):
        return f"json wants an object with the field {spec.field}{_among(spec.labels)}"
    if isinstance(spec, ScoreParser):
        s = spec.score
        steps = f" in steps of {s.step:g}" if s.step else ""
        return f"score wants a number from {s.min:g} to {s.max:g}{steps}"
    if spec == "first-line":
        *letters, tie = DISPLAYED if order == _SINGLE else restored_labels(order)
        return f"first-line wants exactly {', '.join(letters)} or {tie} in the first line"
    return f"{spec} found no label in it"


def label_words(judge: JudgeSpec) -> tuple[str, ...]:
    """Return the words that a judge may answer with, as far as its parser lists them."""
    spec = judge.parser
    if isinstance(spec, RegexParser | JsonParser):
        return tuple(spec.labels or DISPLAYED)
    if isinstance(spec, ScoreParser):
        s = spec.score
        if not s.step:
            return ()
        steps = min(int((s.max - s.min) / s.step + _TOLERANCE), _MOST_SCORES)
        return tuple(plain_number(s.min + s.step * i) for i in range(steps + 1))
    return DISPLAYED if spec == "first-line" else ()


def _among(labels: dict[str, str] | None) -> str:
    return f" that reads {', '.join(labels)}" if labels else ""


def first_line(text: str) -> str | None:
    """Read the first non-empty line if it is exactly a letter or TIE (the paper's rule).

    Blanks around the label are no part of it; case is. `parse` takes the letters that were shown
    alone: A and B for a pair.
    """
    label = text.lstrip().partition("\n")[0].rstrip()
    return label if label == DISPLAYED[-1] or (len(label) == 1 and label in LETTERS) else None


def regex(spec: RegexParser, find: Parser | None = None) -> Parser:
    """Read the first match: its group `verdict`, or its first group, or the whole of it."""
    find = find or pattern_finder(spec.regex, ignore_case=spec.ignore_case)
    label = _labeller(spec)

    def read(text: str) -> str | None:
        found = find(text[:READ_AT_MOST])
        return None if found is None else label(found)

    return read


def json_field(spec: JsonParser) -> Parser:
    """Read one field of the first JSON object in the text; a dotted path descends."""
    label = _labeller(spec)
    steps = spec.field.split(".")

    def read(text: str) -> str | None:
        value: Any = first_object(text[:READ_AT_MOST])
        for step in steps:
            value = value.get(step) if isinstance(value, dict) else None
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return None
        return label(value if isinstance(value, str) else plain_number(value))

    return read


def score(spec: ScoreParser, find: Parser | None = None) -> Parser:
    """Read a number on the declared grid; the verdict is the number in plain digits."""
    low, high, step = spec.score.min, spec.score.max, spec.score.step
    usual = _NUMBER if step else _ANY_NUMBER
    find = find or pattern_finder(spec.score.regex or usual, named=False)

    def read(text: str) -> str | None:
        found = find(text[:READ_AT_MOST])
        try:
            value = float(found) if found is not None else math.nan
        except ValueError:
            return None
        steps = (value - low) / step if step else 0.0
        on_grid = math.isfinite(steps) and abs(steps - round(steps)) < _TOLERANCE
        return plain_number(value) if on_grid and low <= value <= high else None

    return read


def _labeller(spec: RegexParser | JsonParser) -> Parser:
    """Map what was matched to a label; without a map, to itself."""
    fold = label_fold(spec)
    if spec.labels is None:
        known = {fold(label): label for label in DISPLAYED}
        return lambda found: known.get(fold(found), found.strip() or None)
    table = {fold(found): label for found, label in spec.labels.items()}
    return lambda found: table.get(fold(found))


def label_fold(spec: RegexParser | JsonParser) -> Callable[[str], str]:
    """Return what makes two spellings of a label one."""
    if not spec.strict:
        return bare
    return (lambda text: text.strip().casefold()) if spec.ignore_case else str.strip


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


TIE = "tie"

_SINGLE = "single"
_CONTRACT = ("parser", "truncated", "truncated_on", "complete_on", "final_channel")
_HASH_DIGITS = 8


def parse(
    judge: JudgeSpec, completion: Completion, order: str, parser: Parser | None = None
) -> Verdict:
    """Read one completion under the judge's contract, with candidates restored.

    Args:
        judge: whose contract.
        completion: what was said.
        order: in which order candidates were shown.
        parser: the judge's parser as somebody else runs it; by default it runs here, for as long
            as it takes.
    """
    if judge.criteria:
        parts = judge.by_criterion.items()
        found = {name: parse(part, completion, order) for name, part in parts}
        return Verdict.joined(found, parser_name(judge))
    text, reason = text_to_read(judge, completion)
    displayed = None if text is None else (parser or _parser(judge))(text)
    if displayed is not None:
        displayed = _as_shown(judge, displayed, order)
    if text is not None and displayed is None:
        reason = "no label"
    name = parser_name(judge)
    if displayed is None:
        return Verdict(verdict=INVALID, parser=name, displayed=None, reason=reason)
    verdict = restore(displayed, order)
    if verdict is None:
        return Verdict(verdict=INVALID, parser=name, displayed=displayed, reason="unknown label")
    return Verdict(verdict=verdict, parser=name, displayed=displayed, reason="parsed")


def ran_out(judge: JudgeSpec) -> Verdict:
    """Return what a completion counts as whose parser ran out of time."""
    name = parser_name(judge)
    return Verdict(verdict=INVALID, parser=name, displayed=None, reason=RAN_OUT)


def _as_shown(judge: JudgeSpec, displayed: str, order: str) -> str | None:
    """Return a label as it was shown; None where the first line names no label of this call."""
    if order == _SINGLE or displayed in (labels := restored_labels(order)):
        return displayed
    if judge.parser == "first-line":
        return None
    if isinstance(judge.parser, RegexParser | JsonParser):
        fold = label_fold(judge.parser)
        return next((label for label in labels if fold(label) == fold(displayed)), displayed)
    return displayed


def restore(displayed: str, order: str) -> str | None:
    """Map a displayed label to the candidate that stood there; None where it names none.

    Single answers have no order: their label is the verdict.
    """
    return displayed if order == _SINGLE else restored_labels(order).get(displayed)


def display(verdict: str, order: str) -> str:
    """Map a verdict to the label that shows it: the inverse of `restore`."""
    if order == _SINGLE:
        return verdict
    shown = {restored: label for label, restored in restored_labels(order).items()}
    return shown[verdict]


@lru_cache(maxsize=4096)
def restored_labels(order: str) -> Mapping[str, str]:
    """Return the verdict of every label that an order shows.

    >>> dict(restored_labels("CAB"))
    {'A': 'candidate_3', 'B': 'candidate_1', 'C': 'candidate_2', 'TIE': 'tie'}
    """
    if not is_permutation(order):
        raise InputError(
            f"order {order!r}, must be AB, BA or single, or letters in another order: CAB"
        )
    names = dict(zip(LETTERS, candidate_names(len(order)), strict=False))
    shown = {LETTERS[slot]: names[letter] for slot, letter in enumerate(order)}
    return {**shown, DISPLAYED[-1]: TIE}


@lru_cache(maxsize=256)
def parser_name(judge: JudgeSpec) -> str:
    """Name the reading contract: parser, version and a hash of every rule that decides.

    Two judges with the same name here read every completion alike.
    """
    rules = judge.model_dump(mode="json", by_alias=True, include=set(_CONTRACT))
    if judge.criteria:
        rules |= judge.model_dump(mode="json", by_alias=True, include={"criteria"})
        del rules["parser"]  # reads nothing
        return f"{kind(judge)}#{sha256_hex(canonical_json(rules))[:_HASH_DIGITS]}"
    if getattr(judge.parser, "strict", False):
        del rules["parser"]["strict"]  # as runs were frozen that know of no other reading
    return f"{kind(judge)}#{sha256_hex(canonical_json(rules))[:_HASH_DIGITS]}"


@lru_cache(maxsize=256)
def _parser(judge: JudgeSpec) -> Parser:
    return build(judge)


def text_to_read(judge: JudgeSpec, completion: Completion) -> tuple[str | None, str]:
    """Return what the parser of a judge is shown, or None and why it is shown nothing."""
    refused = _refused(judge, completion)
    if refused is not None:
        return None, refused
    text = completion.text or ""
    if judge.final_channel is not None:
        final = _final(text, judge.final_channel)
        if final is None:
            return None, "no final channel"
        text = final
    if not text.strip():
        return None, "empty"
    return text, ""


def _refused(judge: JudgeSpec, completion: Completion) -> str | None:
    """Apply what makes an output invalid before its text is read."""
    if completion.content_filtered:
        return "content filtered"
    if (said := completion.said_invalid) is not None:
        return said
    if completion.finish_reason in judge.truncated_on:
        if judge.truncated == "invalid":
            return "truncated"
    elif judge.complete_on is not None and completion.finish_reason not in judge.complete_on:
        return "unexpected finish"
    if completion.refusal is not None and not (completion.text or "").strip():
        return "refusal"
    return None


def _final(text: str, channel: FinalChannel) -> str | None:
    before, mark, final = text.rpartition(channel.start)
    del before
    if not mark:
        return None
    for end in channel.end:
        final = final.partition(end)[0]
    return final
