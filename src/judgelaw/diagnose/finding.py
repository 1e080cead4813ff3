"""What a diagnostic hands on: what was found in words, what to do, and the figures behind it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Severity = Literal["ok", "notice", "problem", "unknown"]
"""`notice`: read before quoting; `problem`: the estimates may be wrong; `unknown`: not testable."""

Cell = str | int | float | None
"""One cell of a table; None is not available."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One diagnostic of one stream of calls, or of several together.

    Attributes:
        name: which diagnostic, `rank_gap`, `replay`, ...
        verdict: "ok", "notice", "problem", or "unknown" where the data cannot answer.
        headline: what was found, in one sentence.
        advice: what to do about it, in one sentence.
        subject: judge, or "judge / layer", that it is about; "" for all of them.
        figures: the numbers of the headline by name; nan where one cannot be had.
        columns, rows: the evidence as a table.
    """

    name: str
    verdict: Severity
    headline: str
    advice: str
    subject: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()
