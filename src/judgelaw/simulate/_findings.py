"""What comes of holding a published figure against something: agreement, or not."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from judgelaw.simulate._printed import Span

Kind = Literal["identity", "regenerated", "recomputed"]
Verdict = Literal["agrees", "differs", "not available"]


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One comparison.

    Attributes:
        kind: "identity" (the paper against its own arithmetic), "regenerated" (against our
            simulation) or "recomputed" (against a calls table).
        table: label of the published table, or `text:` and what the text speaks of.
        row: the row, in words.
        rule: what was compared.
        published: the figure as printed.
        found: what it was held against, None where that is not to be had.
        tolerance: how far the two may be apart: rounding of the printed digits, and where chance
            is in play four standard errors of the difference.
        verdict: "agrees", "differs", or "not available".
    """

    kind: Kind
    table: str
    row: str
    rule: str
    published: str
    found: float | str | None
    tolerance: float
    verdict: Verdict


def held(
    kind: Kind, table: str, row: str, rule: str, printed: str, *, found: float, error: float = 0.0
) -> Finding:
    """Hold a printed number against a found one; `error` is the tolerance beyond rounding."""
    span = Span.printed(printed)
    tolerance = span.half_width + error
    # The printed value is exact, the found one a float: leave it its own rounding.
    slack = 1e-12 * max(1.0, abs(span.middle))
    agrees = math.isfinite(found) and abs(found - span.middle) <= tolerance + slack
    return Finding(
        kind=kind,
        table=table,
        row=row,
        rule=rule,
        published=printed,
        found=found,
        tolerance=tolerance,
        verdict="agrees" if agrees else "differs",
    )


def matched(
    table: str, row: str, rule: str, printed: str, *, other: Span, span: Span | None = None
) -> Finding:
    """Hold what a printed number allows (or `span`) against the range that an identity gives."""
    own = span or Span.printed(printed)
    return Finding(
        kind="identity",
        table=table,
        row=row,
        rule=rule,
        published=printed,
        found=other.middle,
        tolerance=own.half_width + other.half_width,
        verdict="agrees" if own.meets(other) else "differs",
    )


def stated(
    kind: Kind, table: str, row: str, rule: str, printed: str, *, found: str | None
) -> Finding:
    """Hold words, lists or whole numbers against each other: they are equal or not."""
    verdict: Verdict = "not available" if found is None else "differs"
    if found == printed:
        verdict = "agrees"
    return Finding(
        kind=kind,
        table=table,
        row=row,
        rule=rule,
        published=printed,
        found=found,
        tolerance=0.0,
        verdict=verdict,
    )


def tally(findings: Iterable[Finding]) -> Mapping[str, Mapping[str, int]]:
    """Count verdicts by table."""
    counts: dict[str, dict[str, int]] = {}
    for finding in findings:
        row = counts.setdefault(finding.table, {"agrees": 0, "differs": 0, "not available": 0})
        row[finding.verdict] += 1
    return counts
