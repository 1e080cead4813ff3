"""Published numbers as printed, and what comes of holding them against something."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any, Literal

from judgelaw.errors import InputError

Row = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Span:
    """A closed range of exact numbers."""

    low: Fraction
    high: Fraction

    @classmethod
    def printed(cls, text: str) -> "Span":
        """Return what a printed number may have been before rounding: half a last digit around."""
        value = Decimal(text)
        exponent = value.as_tuple().exponent
        if not isinstance(exponent, int):
            raise InputError(f"published {text!r} is no number")
        half = Fraction(0) if exponent >= 0 else Fraction(10) ** exponent / 2
        return cls(low=Fraction(value) - half, high=Fraction(value) + half)

    @classmethod
    def exactly(cls, value: Fraction | int) -> "Span":
        """Return the range that holds one number."""
        return cls(low=Fraction(value), high=Fraction(value))

    def __add__(self, other: "Span") -> "Span":
        return Span(low=self.low + other.low, high=self.high + other.high)

    def __sub__(self, other: "Span") -> "Span":
        return Span(low=self.low - other.high, high=self.high - other.low)

    def times(self, factor: Fraction | int) -> "Span":
        """Multiply by a known number."""
        ends = (self.low * factor, self.high * factor)
        return Span(low=min(ends), high=max(ends))

    def over(self, other: "Span") -> "Span":
        """Divide by a range of positive numbers."""
        ends = [a / b for a in (self.low, self.high) for b in (other.low, other.high)]
        return Span(low=min(ends), high=max(ends))

    @property
    def middle(self) -> float:
        """The centre."""
        return float((self.low + self.high) / 2)

    @property
    def half_width(self) -> float:
        """Half the length."""
        return float((self.high - self.low) / 2)

    def meets(self, other: "Span") -> bool:
        """Whether some number lies in both."""
        return self.low <= other.high and other.low <= self.high


@dataclass(frozen=True, kw_only=True)
class PublishedTable:
    """One table of the paper; labels that start with `text:` hold figures quoted outside tables."""

    label: str
    rows: tuple[Row, ...]

    def row(self, **key: str) -> Row:
        """Return the one row with these cells."""
        (found,) = (row for row in self.rows if all(row[k] == v for k, v in key.items()))
        return found

    def spans(self, column: str) -> list[Span]:
        """Return a column as ranges."""
        return [Span.printed(row[column]) for row in self.rows]

    def bands(self) -> Iterator[tuple[Row, str, str]]:
        """Yield (row, column of the estimate, column of its band) for every band."""
        for column in self.rows[0]:
            if column in ("band", "interval"):
                yield from ((row, "estimate", column) for row in self.rows if "estimate" in row)
            elif column.endswith("_band"):
                yield from ((row, column.removesuffix("_band"), column) for row in self.rows)


Tables = Mapping[str, PublishedTable]


@cache
def published() -> Tables:
    """Return every published table by its label."""
    text = resources.files("judgelaw.replication").joinpath("published.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)["tables"]
    return {
        label: PublishedTable(
            label=label,
            rows=tuple(dict(zip(table["columns"], cells, strict=True)) for cells in table["rows"]),
        )
        for label, table in content.items()
    }


Kind = Literal["identity", "regenerated", "recomputed", "fresh"]
Verdict = Literal["agrees", "compatible", "differs", "cannot tell", "not available"]


@dataclass(frozen=True)
class Finding:
    """One comparison.

    Attributes:
        kind: "identity" (the paper against its own arithmetic), "regenerated" (against our
            simulation), "recomputed" (against the same calls) or "fresh" (against other calls of
            the same judges).
        table: label of the published table, or `text:` and what the text speaks of.
        row: the row, in words.
        rule: what was compared.
        published: the figure as printed.
        found: what it was held against, None where that is not to be had.
        tolerance: how far the two may be apart: rounding of the printed digits, and where chance
            is in play four standard errors of the difference.
        verdict: "agrees", "differs", or "not available"; of fresh calls "compatible", "differs",
            or "cannot tell".
        interval: of the difference, fresh less published, for all figures of a table together.
        seen: the difference that the comparison would have called one in 80 % of replications.
    """

    kind: Kind
    table: str
    row: str
    rule: str
    published: str
    found: float | str | None
    tolerance: float
    verdict: Verdict
    interval: tuple[float, float] | None = None
    seen: float | None = None


AXES = (
    *("layer", "judge", "split", "stream", "metric", "component", "repeats"),
    *("items", "prompts", "orders"),
)
"""Columns that say what a published row speaks of."""


def row_name(row: Row) -> str:
    """Say in words what a published row speaks of."""
    shown = ("layer", "judge", "stream", "split", "metric", "component", "repeats")
    return ", ".join(f"R = {row[k]}" if k == "repeats" else row[k] for k in shown if k in row)


def held(
    kind: Kind, table: str, row: str, rule: str, printed: str, *, found: float, error: float = 0.0
) -> Finding:
    """Hold a printed number against a found one; `error` is the tolerance beyond rounding."""
    span = Span.printed(printed)
    tolerance = span.half_width + error
    # The printed value is exact, the found one a float: leave it its own rounding.
    slack = 1e-12 * max(1.0, abs(span.middle))
    agrees = math.isfinite(found) and abs(found - span.middle) <= tolerance + slack
    verdict: Verdict = "agrees" if agrees else "differs"
    return Finding(kind, table, row, rule, printed, found, tolerance, verdict)


def matched(
    table: str, row: str, rule: str, printed: str, *, other: Span, span: Span | None = None
) -> Finding:
    """Hold what a printed number allows (or `span`) against the range that an identity gives."""
    own = span or Span.printed(printed)
    verdict: Verdict = "agrees" if own.meets(other) else "differs"
    tolerance = own.half_width + other.half_width
    return Finding("identity", table, row, rule, printed, other.middle, tolerance, verdict)


def stated(
    kind: Kind, table: str, row: str, rule: str, printed: str, *, found: str | None
) -> Finding:
    """Hold words, lists or whole numbers against each other: they are equal or not."""
    verdict: Verdict = "not available" if found is None else "differs"
    if found == printed:
        verdict = "agrees"
    return Finding(kind, table, row, rule, printed, found, 0.0, verdict)
