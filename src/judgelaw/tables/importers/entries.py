"""What a log holds and what its fields mean: from an entry to a call."""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, Literal

from judgelaw.errors import InputError, TableError
from judgelaw.tables.columns import is_empty
from judgelaw.tables.said import Blank, check_blank, check_positions
from judgelaw.tensor import INVALID
from judgelaw.words import storable

if TYPE_CHECKING:
    from pathlib import Path

    from judgelaw.steps import Advance
    from judgelaw.tables.importers.known import KnownLog, LogFile
    from judgelaw.wire import Completion, JudgeSpec, Verdict

MISSING: Final = object()
_SHOWN = 12


def find(value: Any, path: str) -> Any:
    """Descend a dotted path; a key that has dots itself is found as well, a number picks an entry.

    >>> find({"scores": {"a.b": {"value": [7]}}}, "scores.a.b.value.0")
    7
    """
    if isinstance(value, list):
        head, _, tail = path.partition(".")
        if not head.isdecimal() or int(head) >= len(value):
            return MISSING
        return find(value[int(head)], tail) if tail else value[int(head)]
    if not isinstance(value, Mapping):
        return MISSING
    if path in value:
        return value[path]
    head, dot, tail = path.rpartition(".")
    while dot:
        if head in value:
            return find(value[head], tail)
        head, dot, more = head.rpartition(".")
        tail = f"{more}.{tail}"
    return MISSING


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a mapping as it is, an empty one in the place of anything else."""
    return value if isinstance(value, Mapping) else {}


def mappings(value: Any) -> list[Mapping[str, Any]]:
    """Return the mappings in a list, none where it is no list."""
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def as_text(value: Any) -> str | None:
    """Return a single value as text, None for nothing and for what is no single value."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int | float):
        return str(value)
    return storable(value)


def need(record: Mapping[str, Any], path: str, *, part: str, place: str) -> str:
    """Return the text of the field that the user named for a part, or say what is there."""
    value = find(record, path)
    if value is MISSING:
        paths = list(_paths(record))
        near = get_close_matches(path, paths, n=1) or get_close_matches(
            path.rpartition(".")[2], paths, n=1
        )
        hint = f" (did you mean {near[0]!r}?)" if near else ""
        listed = ", ".join(paths[:_SHOWN]) + (", ..." if len(paths) > _SHOWN else "")
        raise TableError(f"{place}: no field {path!r} for the {part}{hint}; there are {listed}")
    text = as_text(value)
    if text is None or not text.strip():
        kind = "empty" if value is None or text is not None else f"a {type(value).__name__}"
        raise TableError(
            f"{place}: field {path!r} for the {part} is {kind}; name a field with one value"
        )
    return text.strip()


def known_parts(told: Mapping[str, str | None], *metadata: Any) -> dict[str, str]:
    """Return the parts that a format tells, and over them those that metadata call by name."""
    known = {part: text for part, text in told.items() if text}
    for record in metadata:
        known |= scalars(record, (p for p in PARTS if p not in ("repeat", "verdict", "judge")))
    return known


def scalars(record: Any, names: Iterable[str]) -> dict[str, str]:
    """Return the named fields of a record that hold a single value."""
    if not isinstance(record, Mapping):
        return {}
    found = {name: as_text(record.get(name)) for name in names}
    return {name: text.strip() for name, text in found.items() if text and text.strip()}


def _paths(value: Any, prefix: str = "") -> Iterable[str]:
    """Yield the dotted paths of single values; lists are left out."""
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from _paths(inner, f"{prefix}{key}.")
        elif as_text(inner) is not None:
            yield f"{prefix}{key}"


PARTS = ("judge", "layer", "item", "prompt", "order", "repeat", "stratum", "gold", "verdict")
"""The columns of a calls table that can be taken from a field of a log."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Entry:
    """One completion as a log holds it, before anybody says what its fields mean.

    Attributes:
        place: file and line, or file and entry, for messages.
        record: where fields are looked up by path.
        known: the parts of a call that the format itself tells, or that metadata call by name.
        text, finish_reason, refusal, content_filtered: the completion.
        response_id: the provider's name for the response, with the choice where it had several.
        cached: the tool says that it did not ask the model for this one.
        error: why there is no completion, None where there is one.
    """

    place: str
    record: Mapping[str, Any]
    known: Mapping[str, str] = field(default_factory=dict)
    text: str | None = None
    finish_reason: str | None = None
    refusal: str | None = None
    content_filtered: bool = False
    response_id: str | None = None
    cached: bool = False
    error: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportedCall:
    """One call of somebody else's run.

    Attributes:
        place: where it stands in the log.
        order: AB or BA, or the log's own word for it; None where the log has no orders.
        repeat: the rank that the log states; None means by order of appearance in the cell.
        verdict: as displayed, or with candidates restored, as `displayed` says.
        displayed: candidates are still to be restored, if the verdict names positions.
        said: a hash of what the model wrote, None where the log does not hold it.
        reason: `parsed`, or why the verdict is `invalid`.
    """

    place: str
    judge: str
    item: str
    prompt: str
    verdict: str
    layer: str | None = None
    order: str | None = None
    repeat: int | None = None
    stratum: str | None = None
    gold: str | None = None
    displayed: bool = False
    said: str | None = None
    response_id: str | None = None
    cached: bool = False
    reason: str = "parsed"
    criterion: str | None = None
    date: str | None = None
    human: str | None = None
    cluster: str | None = None
    answer: str | None = None

    @property
    def cell(self) -> tuple[str | None, ...]:
        """Judge, criterion, layer, date, item, prompt and order."""
        return (*self.stream, self.date, self.item, self.prompt, self.order)

    @property
    def stream(self) -> tuple[str, str | None, str | None]:
        """Judge, criterion and layer."""
        return self.judge, self.criterion, self.layer


ORDERS = ("AB", "BA")
SINGLE = "single"
_LONGEST_RANK = 18


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How to read a log.

    Attributes:
        fields: where a part of a call, or the `text`, stands: a dotted path, or `=` and a constant.
        parser: `first-line`, `regex:PATTERN`, `json:FIELD` or `score:MIN..MAX`, which reads the
            completion; None where `fields` or the log itself names the verdict.
        labels: what a matched or stored value stands for, `{"[[A]]": "A"}`; gold labels as well
            where no parser reads the verdicts.
        orders: which display order a value of the order field means, `{"swapped": "BA"}`.
        positions: the words for the answer shown first, shown second, and perhaps for a tie.
        blank: what a stored verdict that is blank becomes: `error`, `invalid`, or `drop`.
        where: keep entries with these values only, by path.
        truncated: the terminal rule, what a completion cut at its cap becomes.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    parser: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, str] = field(default_factory=dict)
    positions: tuple[str, ...] = ()
    blank: Blank = "error"
    where: Mapping[str, str] = field(default_factory=dict)
    truncated: Literal["invalid", "parse"] = "invalid"

    def __post_init__(self) -> None:
        for part in self.fields:
            if part not in (*PARTS, "text"):
                raise InputError(f"{part!r} is no part of a call: {', '.join((*PARTS, 'text'))}")
        for value, order in self.orders.items():
            if order not in ORDERS:
                raise InputError(f"order {value}={order}: a display order is AB or BA")
        check_positions(self.positions)
        check_blank(self.blank)
        if self.parser is None:
            return
        if self.positions:
            raise InputError(
                "a parser and positions: a parser reads labels as they were displayed, and they "
                "are turned into candidates already; leave --positions out"
            )
        if "verdict" in self.fields:
            raise InputError("a parser and a verdict field: leave one of them out")
        _ = self.judge  # a parser that cannot be read is refused here

    @property
    def nothing_said(self) -> bool:
        """Whether nobody said what a field means, so that a log that knows may say it."""
        return self == Rules()

    def keeps(self, entry: Entry) -> bool:
        """Say whether an entry is asked for."""
        return all(as_text(find(entry.record, p)) == value for p, value in self.where.items())

    @cached_property
    def judge(self) -> "JudgeSpec":
        """The reading contract as a judge declares it."""
        from pydantic import ValidationError  # noqa: PLC0415 - tables are read without it

        from judgelaw.wire import JudgeSpec  # noqa: PLC0415 - same

        try:
            return JudgeSpec(
                name="imported",
                provider="simulated",
                model="imported",
                parser=_parser(self.parser or "", dict(self.labels) or None),
                truncated=self.truncated,
            )
        except ValidationError as error:
            raise InputError(f"parser {self.parser!r}: {error.errors()[0]['msg']}") from error

    @contextmanager
    def reading(self) -> Iterator["TextReader | None"]:
        """Yield what reads completions; None where no parser does."""
        if self.parser is None:
            yield None
            return
        with closing(TextReader(self.judge)) as reader:
            yield reader

    @property
    def scores(self) -> bool:
        """Whether verdicts are numbers, which do not change with the display order."""
        from judgelaw.wire import ScoreParser  # noqa: PLC0415 - tables are read without it

        return self.parser is not None and isinstance(self.judge.parser, ScoreParser)


_FEW, _MANY, _PROVEN = 4, 256, 100


class TextReader:
    """Reads texts that a judge wrote, each in bounded time, and gives up a rule that is no good.

    A pattern may take any time over a text that was made for it.
    """

    def __init__(self, judge: "JudgeSpec") -> None:
        from judgelaw.wire import RAN_OUT, Reader, parser_name, too_slow  # noqa: PLC0415 - as above

        self._reader = Reader(judge)
        self._name, self._reason, self._too_slow = parser_name(judge), RAN_OUT, too_slow
        self._read = self._ran_out = 0

    def read(self, texts: "Sequence[tuple[Completion, str]]") -> "list[Verdict]":
        """Read texts shown in these orders; where the rule runs out of time they are invalid.

        Raises:
            TableError: the rule ran out of time too often.
        """
        found: list[Verdict] = []
        while rest := texts[len(found) : len(found) + self._at_once]:
            read = self._reader.read_all(rest)
            found += read
            self._read += len(read)
            self._ran_out += sum(verdict.reason == self._reason for verdict in read)
            if self._too_slow(self._ran_out, self._read):
                raise TableError(
                    f"parser {self._name}: it ran out of time on {self._ran_out} of {self._read} "
                    "texts (1 s of processor time each): let no repeated part of a pattern hold "
                    "another one that matches the same characters, as (a+)+ does"
                )
        return found

    @property
    def _at_once(self) -> int:
        """How many take one way to the process of a pattern: few until it has proved good."""
        return _MANY if self._read >= _PROVEN * (1 + self._ran_out) else _FEW

    def close(self) -> None:
        """End the process of a pattern."""
        self._reader.close()


def interpret(entry: Entry, rules: Rules, reader: TextReader | None = None) -> ImportedCall:
    """Say which call an entry is, and what its verdict is.

    Args:
        entry: what the log holds.
        rules: what its fields mean.
        reader: reads completions, where the rules name a parser.

    Raises:
        TableError: a part is missing or has no meaning; the message gives the place and the remedy.
    """
    order = _part(entry, "order", rules)
    order = order if order is None else rules.orders.get(order, order)
    text = _part(entry, "text", rules) if "text" in rules.fields else storable(entry.text)
    verdict, reason = _verdict(entry, text, order, rules, reader)
    gold = _part(entry, "gold", rules)
    return ImportedCall(
        place=entry.place,
        judge=_needed(entry, "judge", rules),
        layer=_part(entry, "layer", rules),
        item=_needed(entry, "item", rules),
        prompt=_needed(entry, "prompt", rules),
        order=order,
        repeat=_rank(_part(entry, "repeat", rules), entry.place),
        verdict=verdict,
        displayed=rules.parser is None,
        stratum=_part(entry, "stratum", rules),
        gold=gold if gold is None or rules.parser is not None else rules.labels.get(gold, gold),
        said=None if text is None else hashlib.sha256(text.encode(errors="replace")).hexdigest(),
        response_id=entry.response_id,
        cached=entry.cached,
        reason=reason,
    )


def _needed(entry: Entry, part: str, rules: Rules) -> str:
    text = _part(entry, part, rules)
    if text is None:
        raise TableError(
            f"{entry.place}: the log does not say the {part}: name a field or a constant, "
            f"--{part} FIELD or --{part} =NAME"
        )
    return text


def _part(entry: Entry, part: str, rules: Rules) -> str | None:
    path = rules.fields.get(part)
    if path is None:
        return entry.known.get(part)
    if path.startswith("="):
        return path[1:]
    return need(entry.record, path, part=part, place=entry.place)


def _rank(text: str | None, place: str) -> int | None:
    if text is None:
        return None
    if not text.isdecimal() or len(text) > _LONGEST_RANK:
        raise TableError(f"{place}: repeat {text!r} is no whole number; map another field")
    return int(text)


def _stored(entry: Entry, rules: Rules) -> str | None:
    """Return the verdict that a log holds as it is, None where it is blank."""
    path = rules.fields.get("verdict")
    if path is None or path.startswith("="):
        return _part(entry, "verdict", rules)
    found = find(entry.record, path)
    blank = found is None or (isinstance(found, str | float) and is_empty(str(found)))
    if blank and rules.blank == "error":
        raise TableError(
            f"{entry.place}: field {path!r} for the verdict is empty: say what a blank is, "
            "--blank invalid or --blank drop"
        )
    return None if blank else _part(entry, "verdict", rules)


def _also(order: str | None, rules: Rules) -> str:
    """Name the other option that the same log may need, so that one refusal is enough."""
    if order is None or rules.positions or rules.labels:
        return ""
    return "; and if A and B mean the answers shown first and second, --positions A,B as well"


def is_blank(entry: Entry, rules: Rules) -> bool:
    """Whether an entry holds no verdict, and no parser is to read one."""
    return rules.parser is None and entry.error is None and is_empty(_stored(entry, rules))


def _verdict(
    entry: Entry, text: str | None, order: str | None, rules: Rules, reader: TextReader | None
) -> tuple[str, str]:
    """Read the verdict from a field, or from the completion by the parser; say how it went."""
    if reader is None:
        stored = _stored(entry, rules)
        if is_empty(stored) and rules.blank == "invalid":
            return INVALID, "blank"
        if stored is not None and is_empty(stored):
            raise TableError(
                f"{entry.place}: the verdict is blank: say what a blank is, --blank invalid or "
                f"--blank drop{_also(order, rules)}"
            )
        if stored is None:
            raise TableError(
                f"{entry.place}: nothing says what the verdict is: read the completion with "
                "--parser first-line (or regex:PATTERN), or name the field, "
                "--verdict scores.NAME.value"
            )
        return rules.labels.get(stored, stored), "stored"
    if order is not None and order not in ORDERS and not rules.scores:
        raise TableError(
            f"{entry.place}: order {order!r} is neither AB nor BA: say which it is, "
            f"--map-order {order}=BA"
        )
    from judgelaw.wire import Completion  # noqa: PLC0415 - tables are read without it

    completion = Completion(
        text=text,
        finish_reason=entry.finish_reason,
        refusal=entry.refusal,
        content_filtered=entry.content_filtered,
    )
    shown = SINGLE if rules.scores or order is None else order
    (read,) = reader.read([(completion, shown)])
    return read.verdict, read.reason


def _parser(text: str, labels: dict[str, str] | None) -> Any:
    """Write the parser as a study would."""
    from judgelaw.wire import FORMS, parser_rule  # noqa: PLC0415 - tables are read without it

    rule = parser_rule(text)
    if isinstance(rule, str) and rule != "first-line":
        raise InputError(f"parser {text!r}: write {FORMS}")
    labelled = isinstance(rule, dict) and ("regex" in rule or "json" in rule)
    if labels and not labelled:
        raise InputError(f"labels go with regex:, json: or a verdict field, not with {text!r}")
    if isinstance(rule, dict) and "regex" in rule:
        compiled(str(rule["regex"]), f"parser regex:{rule['regex']}")
    return {**rule, "labels": labels or rule.get("labels")} if labelled else rule


def compiled(pattern: str, asked: str) -> re.Pattern[str]:
    """Compile a pattern that somebody asked for in these words."""
    try:
        return re.compile(pattern)
    except re.error as error:
        raise InputError(f"{asked}: no regular expression ({error})") from error


@dataclass(frozen=True, kw_only=True)
class Advice:
    """How people change the tool that wrote the log: to draw afresh, and to repeat."""

    fresh: str
    repeat: str


@dataclass(frozen=True, kw_only=True)
class Grading:
    """What a grader was asked about one answer, as a log recorded it, and what it said.

    Attributes:
        item: the answer that was graded.
        cluster: the question that it answers.
        answer: which of several answers to it; None where there is one.
        criterion: the scorer.
        grader: the model that was asked.
        system: the system message; None where there was none.
        text: the prompt, with the answer in it.
        question: what was asked of the model under test.
        verdict: what the log says.
        human: what people say; None where nobody was asked.
        pattern: where the verdict stands in a reply.
        labels: verdicts by what is found there; None where what is found is the verdict.
    """

    item: str
    cluster: str
    answer: str | None
    criterion: str
    grader: str
    system: str | None
    text: str
    question: str
    verdict: str
    human: str | None
    pattern: str
    labels: Mapping[str, str] | None


@dataclass(frozen=True, kw_only=True)
class Format:
    """How the logs of one tool are read. A file of this folder offers some as `OFFERED`.

    Attributes:
        name: what `--from` takes.
        title: what such a log is, in words.
        place: where lists show it, the smallest first.
        tells: whether a file is such a log, by its content; None where only `--from` can tell.
        known: gives the calls of its files where the format says what everything means.
        read: gives every entry of a file, for rules that say what its fields mean.
        advice: how people make the tool repeat.
        grading: how people make its graders repeat, where that is done in another way.
        gradings: gives what graders were asked, where the log holds their prompts.
        by_custom_id: whether `read` takes the pattern of a custom id as well.
    """

    name: str
    title: str = ""
    place: int = 100
    tells: "Callable[[LogFile], bool] | None" = None
    known: "Callable[[Sequence[LogFile], Advance], KnownLog] | None" = None
    read: Callable[..., Iterator[Entry]] | None = None
    gradings: "Callable[[Path, Advance], Iterator[Grading]] | None" = None
    advice: Advice
    grading: Advice | None = None
    by_custom_id: bool = False
