"""Calls that lie in a lazy frame (polars, DuckDB, Spark): counted there, only counts come home."""

# ruff: noqa: S608 - every name in the SQL below is our own

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import duckdb
import narwhals as nw

from judgelaw.errors import JudgelawError, MissingExtraError, TableError
from judgelaw.tables._calls import ONLY, WHOLE, WORD, Pair, Row, Share, Tally
from judgelaw.tables._columns import CONTRACT, Layout
from judgelaw.tables._edge import foreign_errors, name

_KEYS = ("layer", "judge", "item", "stratum", "gold", "prompt", "order")


@dataclass(frozen=True, kw_only=True)
class LazyCalls:
    """A lazy frame of any engine behind narwhals."""

    frame: nw.LazyFrame[Any]
    table: str
    layout: Layout

    @property
    def divisible(self) -> bool:
        """The group-by is the engine's, and so is the care for its memory."""
        return False

    def tallies(self) -> list[Tally]:
        """Count calls by layer, judge, verdict and gold in the frame's own engine."""
        keys = [part for part in ("layer", "judge", "verdict", "gold") if self.layout.has(part)]
        with engine_errors(self.table):
            counted = (
                self._calls()
                .group_by(*keys)
                .agg(
                    calls=nw.len(),
                    ranked=nw.col("rank").count(),
                    low=nw.col("rank").min(),
                    high=nw.col("rank").max(),
                )
                .collect()
            )
            rows = [{"layer": None, "gold": None, **row} for row in counted.iter_rows(named=True)]
        return [Tally(**row) for row in rows]

    def count_cells(
        self,
        con: duckdb.DuckDBPyConnection,
        *,
        planes: Sequence[Sequence[str]],
        pairs: Sequence[Pair],
        everything: bool,
        ranks: int,  # noqa: ARG002 - no engine here gains from knowing it
        share: Share = WHOLE,  # noqa: ARG002 - not divisible
    ) -> None:
        """Make the table `cells` from one group-by in the frame's own engine.

        No engine but DuckDB has a bitwise aggregate, so the masks are sums of powers of two: a sum
        of n powers has n bits set if and only if they are distinct, so duplicates still show.
        """
        keys = [part for part in _KEYS if self.layout.has(part)]
        sums = ["presence", *(f"plane_{j}" for j in range(len(planes)))]
        with engine_errors(self.table):
            counted = (
                self._marked(planes, None if everything else pairs)
                .group_by(*keys, "word")
                .agg(*(nw.col(s).sum() for s in sums), nw.len().alias("n"))
                .collect()
            )
            registered(con, "counted", counted)
        columns = [self._key(part) for part in _KEYS]
        columns += ["word::USMALLINT AS word", *(f"{s}::UBIGINT AS {s}" for s in sums)]
        with foreign_errors(self.table):
            con.execute(
                f"CREATE OR REPLACE TEMP TABLE cells AS SELECT {', '.join(columns)}, "
                "n::BIGINT AS n FROM counted"
            )
            con.unregister("counted")

    def find(self, where: Mapping[str, str | int | None], *, at_most: int) -> list[Row]:
        """Find rows by their values; a lazy frame has no row numbers."""
        tests = [self._test(part, value) for part, value in where.items()]
        with engine_errors(self.table):
            frame = self._calls().filter(*tests) if tests else self._calls()
            found = frame.drop("rank").head(at_most).collect()
            return [Row(place=self.table, values=row) for row in found.iter_rows(named=True)]

    def _marked(
        self, planes: Sequence[Sequence[str]], pairs: Sequence[Pair] | None
    ) -> nw.LazyFrame[Any]:
        """Give each call of the pairs (of all where that is None) its mark, whole and by plane."""
        frame = self._calls()
        if pairs is not None:
            frame = frame.filter(reduce(or_, map(self._is_pair, pairs)))
        # A base of 64 bits: polars takes a bare 2 for 32 bits and overflows in silence.
        mark = (nw.lit(2, dtype=nw.Int64) ** (nw.col("rank") % WORD)).cast(nw.Int64)
        frame = frame.with_columns(word=nw.col("rank") // WORD, presence=mark)
        for j, raw in enumerate(planes):
            spelled = nw.col("verdict").is_in(list(raw))
            plane = nw.when(spelled).then(nw.col("presence")).otherwise(nw.lit(0))
            frame = frame.with_columns(**{f"plane_{j}": plane})
        return frame

    def _calls(self) -> nw.LazyFrame[Any]:
        """Select the columns of the contract as text, under its names, and the rank as a number."""
        labels = {
            part: nw.col(self.layout.columns[part]).cast(nw.String)
            for part in CONTRACT
            if self.layout.has(part)
        }
        if (stratum := labels.get("stratum")) is not None:
            # An empty stratum is none: told apart from it, it would split a cell in two.
            labels["stratum"] = nw.when(stratum != nw.lit("")).then(stratum)
        return self.frame.select(**labels, rank=self._rank())

    def _rank(self) -> nw.Expr:
        column = self.layout.columns["repeat"]
        rank = nw.col(column)
        if self.frame.collect_schema()[column].is_integer():
            return rank.cast(nw.Int64)
        number = rank.cast(nw.Float64)
        whole = number.cast(nw.Int64)
        return nw.when(number == whole.cast(nw.Float64)).then(whole)

    def _is_pair(self, pair: Pair) -> nw.Expr:
        tests = [
            self._test(part, value)
            for part, value in zip(("layer", "judge"), pair, strict=True)
            if self.layout.has(part)
        ]
        return nw.all_horizontal(*tests, ignore_nulls=False)

    @staticmethod
    def _test(part: str, value: str | int | None) -> nw.Expr:
        column = nw.col("rank" if part == "repeat" else part)
        return column.is_null() if value is None else column == value

    def _key(self, part: str) -> str:
        if self.layout.has(part):
            return f"{name(part)}::VARCHAR AS {name(part)}"
        return f"{repr(ONLY) if part == 'order' else 'NULL'}::VARCHAR AS {name(part)}"


class _Stream:
    """A frame shown to DuckDB as an Arrow stream only: its other ways want pyarrow installed."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._frame.__arrow_c_stream__(requested_schema)


def registered(con: duckdb.DuckDBPyConnection, view: str, frame: nw.DataFrame[Any]) -> None:
    """Let DuckDB scan a frame in memory without a copy."""
    native = frame.to_native()
    pandas = frame.implementation.is_pandas()
    con.register(view, native if pandas else _Stream(native))


@contextmanager
def engine_errors(table: str) -> Iterator[None]:
    """Let no error of a frame's engine out; each engine has a tree of its own."""
    try:
        yield
    except JudgelawError:
        raise
    except ImportError as error:
        raise MissingExtraError(
            f"{table}: counts come home through {error.name or 'pyarrow'}: pip install pyarrow"
        ) from error
    except Exception as error:
        words = (str(error).strip().splitlines() or [""])[0]
        raise TableError(
            f"{table}: its engine answered {type(error).__name__}: {words}: check that repeat "
            "holds whole numbers and the other columns labels"
        ) from error
