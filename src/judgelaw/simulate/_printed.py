"""Published numbers as printed: each stands for every number that rounds to it."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache
from importlib import resources
from typing import Any

from judgelaw.errors import InputError

Cell = str | list[str]
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
    text = resources.files("judgelaw.simulate").joinpath("published.json").read_text("utf-8")
    content: dict[str, Any] = json.loads(text)["tables"]
    return {
        label: PublishedTable(
            label=label,
            rows=tuple(dict(zip(table["columns"], cells, strict=True)) for cells in table["rows"]),
        )
        for label, table in content.items()
    }
