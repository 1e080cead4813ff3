"""Who counts the calls: DuckDB, a lazy frame where it lies, or Spark."""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import narwhals as nw

from judgelaw.duck import foreign_errors, name, text
from judgelaw.errors import InputError, JudgelawError, MissingExtraError, TableError
from judgelaw.tables.columns import (
    CONTRACT,
    ONLY,
    PEEKED,
    WHOLE,
    WORD,
    Layout,
    Mapped,
    Pair,
    Row,
    Share,
    Tally,
    lay_out,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


_WHOLE = frozenset(
    {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}
)
_MAY_BE_EMPTY = ("stratum", "date", "criterion")
_KEYS = ("layer", "judge", "item", "stratum", "gold", "prompt", "order")


@dataclass(frozen=True, kw_only=True)
class Locator:
    """How a row of the source is told to a person: the SQL that finds it and the words for it."""

    columns: tuple[str, ...] = ()
    places: Callable[[list[tuple[Any, ...]]], list[str]]


@dataclass(frozen=True, kw_only=True)
class DuckCalls:
    """A table that DuckDB can scan, as the SQL expression `source`."""

    con: duckdb.DuckDBPyConnection
    table: str
    source: str
    layout: Layout
    types: Mapping[str, str]
    locator: Locator

    @property
    def divisible(self) -> bool:
        """The table can be scanned again for every share."""
        return True

    def distinct(self, part: str) -> list[str | None]:
        """Return the labels in a column."""
        with foreign_errors(self.table):
            found = self.con.execute(
                f"SELECT DISTINCT {self.label(part)} FROM {self.source}"
            ).fetchall()
        return [label for (label,) in found]

    def only(self, part: str, label: str | None) -> "DuckCalls":
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
        """The column as text; an empty stratum, date or criterion counts as none."""
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

    def distinct(self, part: str) -> list[str | None]:
        """Return the labels in a column."""
        with engine_errors(self.table):
            found = self._calls().select(part).unique().collect()
        return [row[0] or None for row in found.iter_rows()]

    def only(self, part: str, label: str | None) -> "LazyCalls":
        """Keep the calls with one label in a column."""
        column = nw.col(self.layout.columns[part]).cast(nw.String)
        kept = column.is_null() | (column == "") if label is None else column == label
        return replace(self, frame=self.frame.filter(kept))

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
            # An empty stratum counts as no stratum; otherwise it would split a cell in two.
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
    """Make a frame in memory known to DuckDB, which scans it without a copy."""
    native = frame.to_native()
    pandas = frame.implementation.is_pandas()
    con.register(view, native if pandas else _Stream(native))


@contextmanager
def engine_errors(table: str) -> Iterator[None]:
    """Turn every error of a frame's engine into one of ours; each engine has its own classes."""
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


def laid_out(frame: Any, columns: Mapped, table: str) -> Layout:
    """Return the columns of a narwhals frame, as the contract calls them."""
    # The names of pandas columns may be anything; those of the contract are text.
    names = [name for name in frame.collect_schema().names() if isinstance(name, str)]
    first = frame.lazy().head(PEEKED)
    return lay_out(
        names, columns, table=table, peek=lambda some: first.select(some).collect().rows()
    )


_INFERENCE = "spark.sql.sources.partitionColumnTypeInference.enabled"


@contextmanager
def spark_calls(source: Any, columns: "Mapped") -> "Iterator[LazyCalls]":
    """Open a path in the session there is, or in one of our own that ends with the job."""
    if not isinstance(source, (str, os.PathLike)):
        raise InputError(
            f"engine = 'spark' reads paths, not a {type(source).__name__}: a frame is counted by "
            "its own engine, so leave engine out"
        )
    import narwhals as nw  # noqa: PLC0415 - files need no frame library

    place = os.fspath(source)
    with ExitStack() as jobs:
        with engine_errors(place):
            frame = nw.from_native(_frame(jobs.enter_context(_session()), place))
            layout = laid_out(frame, columns, place)
        yield LazyCalls(frame=frame, table=place, layout=layout)


@contextmanager
def _session() -> "Iterator[SparkSession]":
    try:
        from pyspark.sql import SparkSession  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            "engine = 'spark' needs pyspark: pip install 'judgelaw[spark]'"
        ) from error
    if running := SparkSession.getActiveSession():
        yield running
        return
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        raise MissingExtraError(
            "engine = 'spark' needs Java, and there is no java on the PATH: install a Java "
            "runtime of version 17 or later, or set JAVA_HOME"
        )
    # Master, memory and the rest come from spark-submit or spark-defaults.conf, as for any job.
    spark = SparkSession.builder.appName("judgelaw").getOrCreate()
    try:
        yield spark
    finally:
        spark.stop()


def _frame(spark: "SparkSession", place: str) -> "DataFrame":
    """Read by the ending of the name; a folder, a glob or anything else is Parquet."""
    plain = place.lower().removesuffix(".gz")
    if plain.endswith(".csv"):
        # Every field as text, as our own reader has it; quotes are doubled, and may hold newlines.
        return spark.read.csv(place, header=True, escape='"', multiLine=True, inferSchema=False)
    if plain.endswith((".jsonl", ".ndjson")):
        return spark.read.json(place, primitivesAsString=True)
    calls = Path(place) / "calls.parquet"
    with _text_partitions(spark):
        return spark.read.parquet(str(calls) if calls.exists() else place)  # a run holds others too


@contextmanager
def _text_partitions(spark: "SparkSession") -> "Iterator[None]":
    """Keep the labels in names of folders as they are: Spark makes 7 of judge=007."""
    before = spark.conf.get(_INFERENCE)
    spark.conf.set(_INFERENCE, "false")
    try:
        yield
    finally:
        spark.conf.set(_INFERENCE, before or "true")
