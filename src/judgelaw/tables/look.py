"""What the values of columns show: how many there are, what varies where, what comes again."""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from judgelaw.duck import foreign_errors, name
from judgelaw.tables.opening import OpenTable

FEW = 20
"""Values of a column that is a condition at first sight."""
_MOST_LISTED = 1001
_SAMPLE = 20_000


@dataclass(frozen=True, kw_only=True)
class Stat:
    """What one column holds.

    Attributes:
        filled: rows with a value.
        distinct: different values; approximate in large tables, except where they are few.
        longest: characters of the longest value.
    """

    filled: int
    distinct: int
    longest: int


@dataclass(frozen=True, kw_only=True)
class Variation:
    """What varies within groups of rows.

    Attributes:
        groups: how many there are.
        several: groups of two rows or more.
        rows: rows of the largest group.
        within: by column, the groups within which it varies.
    """

    groups: int
    several: int
    rows: int
    within: Mapping[str, int]


class Look:
    """Looks at an open table, and remembers what it saw."""

    def __init__(self, opened: OpenTable) -> None:
        self.opened = opened
        self._stats: dict[str, Stat] = {}
        self._values: dict[str, list[tuple[str, int]]] = {}

    @cached_property
    def rows(self) -> int:
        """How many rows there are."""
        return int(self._all(f"SELECT count(*) FROM {self.opened.source}")[0][0])

    def holds_anything(self, column: str) -> bool:
        """Whether a row has a value in a column; none has where all of it was left out."""
        sql = self.text(column)
        found = f"SELECT 1 FROM {self.opened.source} WHERE {sql} IS NOT NULL LIMIT 1"
        return bool(self._all(found)) or not self._all(
            f"SELECT 1 FROM {self.opened.source} LIMIT 1"
        )

    def text(self, column: str) -> str:
        """Return the SQL of a column as text, nothing where it is empty."""
        return f"nullif({self.opened.as_text(column)}, '')"

    def stat(self, column: str) -> Stat:
        """Return what a column holds."""
        if column not in self._stats:
            self.take_stats([column])
        return self._stats[column]

    def take_stats(self, columns: Iterable[str]) -> None:
        """Look at several columns in one scan."""
        new = [column for column in columns if column not in self._stats]
        if not new:
            return
        selected = []
        for column in new:
            sql = self.text(column)
            selected += [
                f"count({sql})",
                f"approx_count_distinct({sql})",
                f"max(length({sql}))",
            ]
        (found,) = self._all(f"SELECT {', '.join(selected)} FROM {self.opened.source}")
        for number, column in enumerate(new):
            filled, distinct, longest = found[3 * number : 3 * number + 3]
            if distinct < _MOST_LISTED * 2 or filled <= _SAMPLE:
                distinct = self.count([column])
            self._stats[column] = Stat(filled=filled, distinct=distinct, longest=longest or 0)

    def count(self, columns: Sequence[str]) -> int:
        """Count the different combinations of values of some columns, empty ones left out."""
        keys = ", ".join(map(self.text, columns))
        filled = " OR ".join(f"{self.text(column)} IS NOT NULL" for column in columns)
        query = f"SELECT count(*) FROM (SELECT DISTINCT {keys} FROM {self.opened.source} "
        return int(self._all(f"{query} WHERE {filled})")[0][0])

    def count_sql(self, sql: str) -> int:
        """Count the different values of an expression, empty ones left out."""
        return int(self._all(f"SELECT count(DISTINCT {sql}) FROM {self.opened.source}")[0][0])

    def values(self, column: str) -> list[tuple[str, int]]:
        """Return the values of a column with their numbers of rows, the most frequent first."""
        if column not in self._values:
            sql = self.text(column)
            self._values[column] = self._all(
                f"SELECT {sql} AS v, count(*) AS n FROM {self.opened.source} "
                f"WHERE {sql} IS NOT NULL GROUP BY 1 ORDER BY n DESC, v LIMIT {_MOST_LISTED}"
            )
        return self._values[column]

    def words(self, column: str) -> list[str]:
        """Return the values of a column, sorted; as many as a verdict can have at most."""
        return sorted(value for value, _ in self.values(column))

    def varying(
        self, keys: Sequence[str], columns: Sequence[str], *, blanks: bool = True
    ) -> Variation:
        """Count the groups of equal keys (SQL) within which columns vary.

        Args:
            keys: what makes a group.
            columns: what may vary.
            blanks: whether an empty field is a value of its own.
        """
        also = " OR count({sql}) NOT IN (0, count(*))" if blanks else ""
        aggregates = [
            f"(min({sql}) IS DISTINCT FROM max({sql}){also.format(sql=sql)}) AS v{number}"
            for number, sql in enumerate(map(self.text, columns))
        ]
        group = ", ".join(["count(*) AS n", *aggregates])
        outer = ["count(*)", "count(*) FILTER (n > 1)", "max(n)"]
        outer += [f"count(*) FILTER (v{number})" for number in range(len(columns))]
        by = f"GROUP BY {', '.join(keys)}" if keys else ""
        (found,) = self._all(
            f"SELECT {', '.join(outer)} FROM (SELECT {group} FROM {self.opened.source} {by})"
        )
        groups, several, rows, *within = found
        return Variation(
            groups=groups,
            several=several,
            rows=rows or 0,
            within=dict(zip(columns, within, strict=True)),
        )

    def recurs(self, column: str, item: Sequence[str]) -> bool:
        """Whether a column has few values that come again with other items."""
        stat = self.stat(column)
        if stat.distinct < 2 or stat.distinct * 2 > stat.filled:  # noqa: PLR2004 - one is none
            return False
        value, key = self.text(column), self._key(item)
        ((again, most),) = self._all(
            "SELECT count(*) FILTER (items > 1), median(items) FROM ("
            f"SELECT {value} AS v, count(DISTINCT {key}) AS items FROM {self.opened.source} "
            f"WHERE {value} IS NOT NULL GROUP BY 1)"
        )
        if 2 * again < stat.distinct:
            return False
        if stat.distinct <= FEW:
            return True
        items = self.count(item)
        return bool(most is not None and most >= _CROSSED * items)

    def met_by(self, column: str, item: Sequence[str]) -> float:
        """Return how many items the median value of a column meets."""
        value = self.text(column)
        ((most,),) = self._all(
            f"SELECT median(items) FROM (SELECT count(DISTINCT {self._key(item)}) AS items "
            f"FROM {self.opened.source} WHERE {value} IS NOT NULL GROUP BY {value})"
        )
        return float(most or 0)

    def crossed(self, cells: Sequence[str], column: str) -> bool:
        """Whether every group of several rows holds all values of a column, equally often."""
        value = self.text(column)
        by = ", ".join(cells) or "true"
        ((groups, full),) = self._all(
            "SELECT count(*), count(*) FILTER (low = high AND met = n) FROM ("
            "SELECT min(times) AS low, max(times) AS high, count(*) AS met, sum(times) AS calls "
            f"FROM (SELECT [{by}]::VARCHAR AS cell, {value} AS v, count(*) AS times "
            f"FROM {self.opened.source} GROUP BY 1, 2) GROUP BY cell), "
            f"(SELECT count(DISTINCT {value}) + max(({value} IS NULL)::INT) AS n "
            f"FROM {self.opened.source}) WHERE calls > 1"
        )
        return bool(groups) and full >= _CROSSED * groups

    def come_both_ways(self, first: str, second: str) -> bool:
        """Whether two columns change places: each pair of values stands as often either way."""
        a, b = self.text(first), self.text(second)
        pairs = (
            f"(SELECT {a} AS a, {b} AS b, count(*) AS n FROM {self.opened.source} GROUP BY 1, 2)"
        )
        ((there, alone, alike),) = self._all(
            "SELECT count(*), count(*) FILTER (y.n IS DISTINCT FROM x.n), "
            "count(*) FILTER (x.a IS NULL OR x.b IS NULL OR x.a = x.b) "
            f"FROM {pairs} x LEFT JOIN {pairs} y ON x.a = y.b AND x.b = y.a"
        )
        return there > 1 and not alone and not alike

    def sample(self, columns: Mapping[str, str]) -> list[tuple[Any, ...]]:
        """Return columns (SQL by name) of rows spread over the table, the same ones every time."""
        selected = ", ".join(f"{sql} AS {name(label)}" for label, sql in columns.items())
        step = max(self.rows // _SAMPLE, 1)
        return self._all(
            f"SELECT * EXCLUDE (n) FROM (SELECT {selected}, row_number() OVER () AS n "
            f"FROM {self.opened.source}) WHERE n % {step} = 0 LIMIT {_SAMPLE}"
        )

    def _key(self, columns: Sequence[str]) -> str:
        if len(columns) == 1:
            return self.text(columns[0])
        return f"({', '.join(map(self.text, columns))})"

    def _all(self, query: str) -> list[Any]:
        with foreign_errors(self.opened.table):
            return self.opened.con.execute(query).fetchall()


_CROSSED = 0.8
"""The share of items that the median value of a condition of many values meets."""
