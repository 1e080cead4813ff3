"""What has one meaning and is no calls table yet: blank verdicts."""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import narwhals as nw

from judgelaw.duck import name, text
from judgelaw.errors import InputError
from judgelaw.tables.census import EMPTY, is_empty
from judgelaw.tables.columns import Calls, Tally
from judgelaw.tables.engines import DuckCalls, LazyCalls
from judgelaw.tensor import INVALID
from judgelaw.words import counted

Blank = Literal["error", "invalid", "drop"]
BLANKS: tuple[Blank, ...] = ("error", "invalid", "drop")


def check_blank(blank: str) -> None:
    """Validate what a blank verdict becomes."""
    if blank not in BLANKS:
        raise InputError(f"blank = {blank!r}: say {', '.join(map(repr, BLANKS))}")


def without_blanks(calls: Calls, blank: Blank) -> tuple[Calls, tuple[str, ...]]:
    """Count verdicts that are blank as invalid, or leave their rows out; and say how many."""
    if blank == "error" or not (rows := _blanks(calls.tallies())):
        return calls, ()
    done = "were counted as invalid" if blank == "invalid" else "were left out"
    note = f"{counted(rows, 'row')} without a verdict {done}"
    column = calls.layout.columns["verdict"]
    if isinstance(calls, DuckCalls):
        return _in_duck(calls, column, blank), (note,)
    if isinstance(calls, LazyCalls):
        return _in_frame(calls, column, blank), (note,)
    return calls, ()


def _blanks(tallies: Sequence[Tally]) -> int:
    return sum(tally.calls for tally in tallies if is_empty(tally.verdict))


def _in_duck(calls: DuckCalls, column: str, blank: Blank) -> DuckCalls:
    verdict = f"{name(column)}::VARCHAR"
    names = ", ".join(map(text, sorted(EMPTY)))
    empty = f"({verdict} IS NULL OR lower(trim({verdict}, ' \t\n\r')) IN ({names}))"
    found = ", ".join((*calls.locator.columns, "*"))
    if blank == "drop":
        return replace(calls, source=f"(SELECT {found} FROM {calls.source} WHERE NOT {empty})")
    said = f"CASE WHEN {empty} THEN {text(INVALID)} ELSE {verdict} END"
    source = f"(SELECT {found} REPLACE ({said} AS {name(column)}) FROM {calls.source})"
    return replace(calls, source=source, types={**calls.types, column: "VARCHAR"})


def _in_frame(calls: LazyCalls, column: str, blank: Blank) -> LazyCalls:
    verdict = nw.col(column).cast(nw.String)
    empty = verdict.is_null() | verdict.str.strip_chars().str.to_lowercase().is_in(sorted(EMPTY))
    if blank == "drop":
        return replace(calls, frame=calls.frame.filter(~empty))
    said = nw.when(empty).then(nw.lit(INVALID)).otherwise(verdict)
    return replace(calls, frame=calls.frame.with_columns(said.alias(column)))
