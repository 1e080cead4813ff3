"""What a source of calls can do, whichever engine stands behind it.

The verdicts of a cell come home as bit masks. Ranks are cut into words of `WORD` bits; in each
word `presence` has the bits of the ranks that hold a call, and `plane_j` those whose verdict code
has bit j set. Counts are then population counts, the ranked verdicts are the bits, and a call that
is there twice shows exactly: `n`, the number of rows, differs from the bits of `presence`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import duckdb

from judgelaw.tables._columns import Layout

WORD = 32
"""Ranks in a word of a mask: sums of powers of two in 64 bits then never overflow."""

ONLY = "only"
"""The label of the single order of a table that has no order column."""

Pair = tuple[str | None, str | None]
"""A layer and a judge."""


Share = tuple[int, int]
"""Which share of the items, of how many."""

WHOLE: Share = (0, 1)


@dataclass(frozen=True, kw_only=True)
class Tally:
    """The calls of one judge and layer that hold one verdict (and gold label), counted."""

    layer: str | None
    judge: str | None
    verdict: str | None
    gold: str | None
    calls: int
    ranked: int
    low: int | None
    high: int | None


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row of the table, as it is written there, and where it stands."""

    place: str
    values: Mapping[str, str | None]


class Calls(Protocol):
    """A table of calls that can be counted where it lies."""

    @property
    def table(self) -> str:
        """How to call the table in a message."""
        ...

    @property
    def layout(self) -> Layout:
        """Which column is which."""
        ...

    @property
    def divisible(self) -> bool:
        """Whether the cells can be counted in shares of the items, one after the other."""
        ...

    def tallies(self) -> list[Tally]:
        """Count calls by layer, judge, verdict and gold; `ranked` have a whole-number rank."""
        ...

    def count_cells(
        self,
        con: duckdb.DuckDBPyConnection,
        *,
        planes: Sequence[Sequence[str]],
        pairs: Sequence[Pair],
        everything: bool,
        ranks: int,
        share: Share = WHOLE,
    ) -> None:
        """Make the table `cells` in `con` for the named pairs, which may be `everything`.

        All ranks lie below `ranks`. A `share` holds some of the items, all their cells.
        Its columns are layer, judge, item, stratum, gold, prompt, order, word, presence, one
        plane for each list of spellings in `planes`, and n.
        """
        ...

    def find(self, where: Mapping[str, str | int | None], *, at_most: int) -> list[Row]:
        """Find the first rows whose columns hold the given values.

        None matches a missing value; under `repeat` a whole number matches the rank, and None
        whatever is no whole number.
        """
        ...


def place_of(calls: Calls, where: Mapping[str, str | int | None]) -> str:
    """Say where the first row with these values stands; the table itself if that is not known."""
    rows = calls.find(where, at_most=1)
    return rows[0].place if rows else calls.table
