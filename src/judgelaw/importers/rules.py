"""What the fields of a log mean: from an entry to a call."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from pydantic import ValidationError

from judgelaw.design import JudgeSpec
from judgelaw.errors import InputError, TableError
from judgelaw.importers.fields import as_text, find, need
from judgelaw.importers.values import PARTS, Entry, ImportedCall
from judgelaw.judges.text import storable
from judgelaw.render import Completion, parse

ORDERS = ("AB", "BA")
SINGLE = "single"
_LONGEST_RANK = 18
_PARSERS = "first-line, regex:PATTERN, json:FIELD or score:MIN..MAX"


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How to read a log.

    Attributes:
        fields: where a part of a call, or the `text`, stands: a dotted path, or `=` and a constant.
        parser: `first-line`, `regex:PATTERN`, `json:FIELD` or `score:MIN..MAX`, which reads the
            completion; None where `fields` or the log itself names the verdict.
        labels: what a matched or stored value stands for, `{"[[A]]": "A"}`.
        orders: which display order a value of the order field means, `{"swapped": "BA"}`.
        where: keep entries with these values only, by path.
        truncated: the terminal rule, what a completion cut at its cap becomes.
    """

    fields: Mapping[str, str] = field(default_factory=dict)
    parser: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    orders: Mapping[str, str] = field(default_factory=dict)
    where: Mapping[str, str] = field(default_factory=dict)
    truncated: Literal["invalid", "parse"] = "invalid"

    def __post_init__(self) -> None:
        for part in self.fields:
            if part not in (*PARTS, "text"):
                raise InputError(f"{part!r} is no part of a call: {', '.join((*PARTS, 'text'))}")
        for value, order in self.orders.items():
            if order not in ORDERS:
                raise InputError(f"order {value}={order}: a display order is AB or BA")
        if self.parser is not None and "verdict" in self.fields:
            raise InputError("a parser and a verdict field: leave one of them out")
        if self.parser is not None:
            _ = self.judge

    def keeps(self, entry: Entry) -> bool:
        """Say whether an entry is asked for."""
        return all(as_text(find(entry.record, p)) == value for p, value in self.where.items())

    @cached_property
    def judge(self) -> JudgeSpec:
        """The reading contract as a judge declares it."""
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

    @property
    def scores(self) -> bool:
        """Whether verdicts are numbers, which do not change with the display order."""
        return self.parser is not None and self.parser.startswith("score:")


def interpret(entry: Entry, rules: Rules) -> ImportedCall:
    """Say which call an entry is, and what its verdict is.

    Raises:
        TableError: a part is missing or has no meaning; the message gives the place and the remedy.
    """
    order = _part(entry, "order", rules)
    order = order if order is None else rules.orders.get(order, order)
    text = _part(entry, "text", rules) if "text" in rules.fields else storable(entry.text)
    verdict, reason = _verdict(entry, text, order, rules)
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
        gold=_part(entry, "gold", rules),
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


def _verdict(entry: Entry, text: str | None, order: str | None, rules: Rules) -> tuple[str, str]:
    """Read the verdict from a field, or from the completion by the parser; say how it went."""
    if rules.parser is None:
        stored = _part(entry, "verdict", rules)
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
    completion = Completion(
        text=text,
        finish_reason=entry.finish_reason,
        refusal=entry.refusal,
        content_filtered=entry.content_filtered,
    )
    read = parse(rules.judge, completion, SINGLE if rules.scores or order is None else order)
    return read.verdict, read.reason


def _parser(text: str, labels: dict[str, str] | None) -> Any:
    """Write the parser as a study would."""
    kind, _, rest = text.partition(":")
    if labels and kind not in ("regex", "json"):
        raise InputError(f"labels go with regex:, json: or a verdict field, not with {text!r}")
    if text == "first-line":
        return text
    if kind in ("regex", "json") and rest:
        if kind == "regex":
            _check_pattern(rest)
        return {kind: rest, "labels": labels}
    low, dots, high = rest.partition("..")
    if kind == "score" and dots:
        return {"score": {"min": low, "max": high}}
    raise InputError(f"parser {text!r}: write {_PARSERS}")


def _check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise InputError(f"parser regex:{pattern}: no regular expression ({error})") from error
