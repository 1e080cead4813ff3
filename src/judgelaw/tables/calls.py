"""Calls that DuckDB can count: columns of the contract, cells as bit masks, rows by their values.

The verdicts of a cell come home as bit masks. Ranks are cut into words of `WORD` bits; in each
word `presence` has the bits of the ranks that hold a call, and `plane_j` those whose verdict code
has bit j set. Counts are then population counts, the ranked verdicts are the bits, and a call that
is there twice shows exactly: `n`, the number of rows, differs from the bits of `presence`.
"""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import duckdb

from judgelaw.duck import foreign_errors, name, text
from judgelaw.tables.columns import SOFT

WORD = 32
"""Ranks in a word of a mask: sums of powers of two in 64 bits then never overflow."""

ONLY = "only"
"""The label of the single order of a table that has no order column."""

Pair = tuple[str | None, str | None]
"""A layer and a judge."""

Share = tuple[int, int]
"""Which share of the items, of how many."""

WHOLE: Share = (0, 1)

_WHOLE = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
)
_MAY_BE_EMPTY = ("stratum", "cluster", "date", "criterion")
_KEYS = ("layer", "judge", "item", "stratum", "gold", "prompt", "order")


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The column of a source by part; an absent part is not a key.

    Attributes:
        columns: as the source calls them.
        named: as the table of the user calls them, for messages.
    """

    columns: Mapping[str, str]
    named: Mapping[str, str] = field(default_factory=dict)

    def has(self, part: str) -> bool:
        """Say whether the table holds this part of the contract."""
        return part in self.columns

    def shown(self, part: str) -> str:
        """Return what the user's table calls a part."""
        return self.named.get(part, self.columns.get(part, part))

    def soft_beside(self, found: Collection[str]) -> frozenset[str]:
        """The verdicts with token probabilities, if one of those found is among them.

        A verdict that no call ended in may still have a probability.
        """
        soft = frozenset(p.removeprefix(SOFT) for p in self.columns if p.startswith(SOFT))
        return soft if soft & set(found) else frozenset()


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


@dataclass(frozen=True, kw_only=True)
class Locator:
    """How a row of the source is told to a person: the SQL that finds it and the words for it."""

    columns: tuple[str, ...] = ()
    places: Callable[[list[tuple[Any, ...]]], list[str]]


@dataclass(frozen=True, kw_only=True)
class Calls:
    """A table that DuckDB can scan, as the SQL expression `source`."""

    con: duckdb.DuckDBPyConnection
    table: str
    source: str
    layout: Layout
    types: Mapping[str, str]
    locator: Locator

    def distinct(self, part: str) -> list[str | None]:
        """Return the labels in a column."""
        with foreign_errors(self.table):
            found = self.con.execute(
                f"SELECT DISTINCT {self.label(part)} FROM {self.source}"
            ).fetchall()
        return [label for (label,) in found]

    def only(self, part: str, label: str | None) -> "Calls":
        """Keep the calls with one label in a column."""
        places = "".join(f"{column}, " for column in self.locator.columns)
        test = self._test(part, label)
        return replace(self, source=f"(SELECT {places}* FROM {self.source} WHERE {test})")

    def tallies(self) -> list[Tally]:
        """Count calls by layer, judge, verdict and gold, in one pass over short columns."""
        parts = ("layer", "judge", "verdict", "gold")
        labels = ", ".join(self.label(part) for part in parts)
        keys = ", ".join(self.label(part) for part in parts if self.layout.has(part))
        rank = self.rank()
        with foreign_errors(self.table):
            rows = self.con.execute(
                f"SELECT {labels}, count(*), count({rank}), min({rank}), max({rank}) "
                f"FROM {self.source} GROUP BY {keys}"
            ).fetchall()
        fields = (*parts, "calls", "ranked", "low", "high")
        return [Tally(**dict(zip(fields, row, strict=True))) for row in rows]

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
        """Make the table `cells` with one GROUP BY; what is constant is not hashed once a row."""
        keys = {part: self.label(part) for part in _KEYS}
        constant = _KEYS[:2] if len(pairs) == 1 else ()
        varying = [self.label(p) for p in _KEYS if self.layout.has(p) and p not in constant]
        if constant:
            keys |= {part: _literal(value) for part, value in zip(_KEYS, pairs[0], strict=False)}
        rank, word = self.rank(), "0::USMALLINT"
        if ranks > WORD:
            rank, word = f"(({rank}) % {WORD})", f"(({rank}) // {WORD})::USMALLINT"
            varying.append(word)
        selected = [f"{sql} AS {name(part)}" for part, sql in keys.items()]
        aggregates = self._masks(f"1::UINTEGER << ({rank})::UINTEGER", planes)
        in_share = "true" if share == WHOLE else f"hash({keys['item']}) % {share[1]} = {share[0]}"
        with foreign_errors(self.table):
            con.execute(
                f"CREATE OR REPLACE TEMP TABLE cells AS SELECT {', '.join(selected)}, "
                f"{word} AS word, {', '.join(aggregates)}, count(*)::BIGINT AS n "
                f"FROM {self.source} "
                f"WHERE {'true' if everything else self.in_pairs(pairs)} AND {in_share} "
                f"GROUP BY {', '.join(varying)}"
            )

    def find(self, where: Mapping[str, str | int | None], *, at_most: int) -> list[Row]:
        """Find rows by their values, first ones first."""
        tests = [self._test(part, value) for part, value in where.items()]
        place = self.locator.columns
        parts = tuple(self.layout.columns)
        columns = ", ".join([*place, *(self.label(part) for part in parts)])
        order = f"ORDER BY {', '.join(place)}" if place else ""
        with foreign_errors(self.table):
            found = self.con.execute(
                f"SELECT {columns} FROM {self.source} WHERE {' AND '.join(tests) or 'true'} "
                f"{order} LIMIT {at_most}"
            ).fetchall()
        places = self.locator.places([row[: len(place)] for row in found])
        return [
            Row(place=where_, values=dict(zip(parts, row[len(place) :], strict=True)))
            for where_, row in zip(places, found, strict=True)
        ]

    def _masks(self, mark: str, planes: Sequence[Sequence[str]]) -> list[str]:
        verdict = self.label("verdict")
        return [f"bit_or({mark}) AS presence"] + [
            f"coalesce(bit_or({mark}) FILTER ({verdict} IN ({', '.join(map(text, raw))})), 0)"
            f"::UINTEGER AS plane_{j}"
            for j, raw in enumerate(planes)
        ]

    def in_pairs(self, pairs: Sequence[Pair]) -> str:
        """Whether a row belongs to one of the pairs."""
        tests = [
            [self._test(part, value) for part, value in zip(_KEYS, pair, strict=False)]
            for pair in pairs
        ]
        return f"({' OR '.join(f'({a} AND {b})' for a, b in tests)})"

    def _test(self, part: str, value: str | int | None) -> str:
        column = self.rank() if part == "repeat" else self.label(part)
        if value is None:
            return f"{column} IS NULL"
        return f"{column} = {value if isinstance(value, int) else text(value)}"

    def label(self, part: str) -> str:
        """The column as text; an empty stratum, cluster, date or criterion counts as none."""
        if not self.layout.has(part):
            return _literal(ONLY if part == "order" else None)
        column = self.layout.columns[part]
        label = name(column) if self.types[column] == "VARCHAR" else f"{name(column)}::VARCHAR"
        # An empty label that differs from NULL would split a cell in two, and hide one half.
        return f"nullif({label}, '')" if part in _MAY_BE_EMPTY else label

    def rank(self) -> str:
        """The column `repeat` as a whole number, NULL if it is not one."""
        column = self.layout.columns["repeat"]
        if self.types[column] in _WHOLE:
            return name(column)
        number = f"TRY_CAST({name(column)} AS DOUBLE)"
        # A double holds every whole number below 2^53; nan and infinity are not below it.
        whole = f"{number} = floor({number}) AND abs({number}) < 9e15"
        return f"CASE WHEN {whole} THEN {number}::BIGINT END"


def _literal(value: str | None) -> str:
    return "NULL::VARCHAR" if value is None else text(value)


def place_of(calls: Calls, where: Mapping[str, str | int | None]) -> str:
    """Say where the first row with these values stands; the table itself if that is not known."""
    rows = calls.find(where, at_most=1)
    return rows[0].place if rows else calls.table
