"""Open a source of calls, and read it into VerdictTensors."""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
import glob
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import duckdb

from judgelaw.arrays import check_at_least
from judgelaw.duck import column_types, foreign_errors, name, private_connection, text
from judgelaw.errors import InputError, RunError, TableError
from judgelaw.tables.assemble import Part, assemble, gather
from judgelaw.tables.by_criterion import choose_criteria, choose_criterion, of_criterion
from judgelaw.tables.census import (
    Census,
    check_cells,
    check_given,
    choose_judges,
    choose_pair,
    take_census,
)
from judgelaw.tables.columns import PEEKED, Calls, Layout, Mapped, Pair, lay_out, place_of
from judgelaw.tables.engines import DuckCalls, Locator, spark_calls
from judgelaw.tables.files import FileSource, TextFile, locate, store_errors
from judgelaw.tables.forgiving import Blank, check_blank, whole_table, without_blanks
from judgelaw.tables.in_memory import open_in_memory
from judgelaw.tables.onepass import read_in_one_pass
from judgelaw.tables.positions import check_positions, refuse, restored
from judgelaw.tables.soft_columns import with_vectors, without_vectors
from judgelaw.tensor import VerdictTensor
from judgelaw.words import did_you_mean, listed, stream_name


def open_calls(
    con: duckdb.DuckDBPyConnection, source: Any, columns: Mapped, *, folder: Path
) -> Calls:
    """Open a path, or what is in memory; `folder` is for what has to be unpacked."""
    source = whole_table(source)
    if isinstance(source, (str, os.PathLike)):
        found = locate(source)
        if found.format == "parquet":
            return _open_parquet(con, found, columns)
        return _open_text(con, found, columns, folder)
    return open_in_memory(con, source, columns)


def _open_parquet(con: duckdb.DuckDBPyConnection, found: FileSource, columns: Mapped) -> Calls:
    scan = f"read_parquet({text(found.pattern)}, union_by_name=true, hive_types_autocast=false)"
    with store_errors(found.table):
        if found.store is not None:
            con.register_filesystem(found.store)
        if found.single:
            # DuckDB lets `judge=x` in the path hide the file's own column of that name.
            plain = f"read_parquet({text(found.pattern)}, hive_partitioning=false)"
            in_path = {key for key, equals, _ in _parts(found.pattern) if equals}
            scan = plain if in_path and in_path & set(column_types(con, plain)) else scan
        types = column_types(con, scan)

    def places(rows: list[tuple[Any, ...]]) -> list[str]:
        return [f"{path} row {row + 1}" for path, row in rows]

    def peek(some: list[str]) -> list[tuple[Any, ...]]:
        query = f"SELECT {', '.join(map(name, some))} FROM {scan} LIMIT {PEEKED}"
        return con.execute(query).fetchall()

    return DuckCalls(
        con=con,
        table=found.table,
        source=scan,
        layout=lay_out(list(types), columns, table=found.table, peek=peek),
        types=types,
        locator=Locator(columns=("filename", "file_row_number"), places=places),
    )


def _open_text(
    con: duckdb.DuckDBPyConnection, found: FileSource, columns: Mapped, folder: Path
) -> Calls:
    """Load a text file once into the private database, every field as text."""
    path = found.local_text(folder)
    file = TextFile(table=found.table, path=path, format=found.format)
    with foreign_errors(found.table):
        file.refuse_other_encodings()
        layout = (
            _load_csv(con, file, columns, folder)
            if found.format == "csv"
            else _load_json(con, file, columns)
        )

    def places(rows: list[tuple[Any, ...]]) -> list[str]:
        lines = file.lines([row for (row,) in rows])
        return [f"{found.table}:{lines[row]}" for (row,) in rows]

    return DuckCalls(
        con=con,
        table=found.table,
        source="calls",
        layout=layout,
        types=dict.fromkeys(layout.columns, "VARCHAR"),
        locator=Locator(columns=("rowid",), places=places),
    )


def _load_csv(
    con: duckdb.DuckDBPyConnection, file: TextFile, columns: Mapped, folder: Path
) -> Layout:
    header = file.header()
    layout = lay_out(header, columns, table=file.table, peek=file.first)
    positions = {part: header.index(column) for part, column in layout.columns.items()}
    try:
        con.execute(_csv_sql(file.path, len(header), positions))
    except duckdb.InvalidInputException as error:
        if fault := file.fault(len(header)):
            raise TableError(fault) from error
        # A sound file that DuckDB will not take: mixed line ends, or a line beyond its buffer.
        plain = folder / "plain.csv"
        file.rewrite(plain, list(positions.values()))
        narrow = {part: i for i, part in enumerate(positions)}
        con.execute(_csv_sql(plain, len(narrow), narrow))
    return Layout(columns={part: part for part in positions})


def _csv_sql(path: Path, width: int, positions: Mapping[str, int]) -> str:
    """Load without the sniffer, which makes truth values of yes and no."""
    declared = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(width))
    selected = ", ".join(f"c{i} AS {name(part)}" for part, i in positions.items())
    return (
        f"CREATE TEMP TABLE calls AS SELECT {selected} FROM read_csv({_literal_path(path)}, "
        f"auto_detect=false, header=true, delim=',', quote='\"', escape='\"', "
        f"columns={{{declared}}})"
    )


def _load_json(con: duckdb.DuckDBPyConnection, file: TextFile, columns: Mapped) -> Layout:
    scan = f"read_ndjson_objects({_literal_path(file.path)})"
    try:
        kinds = con.execute(f"SELECT DISTINCT json_type(json) FROM {scan}").fetchall()
        keys = con.execute(f"SELECT DISTINCT unnest(json_keys(json)) FROM {scan}").fetchall()
    except duckdb.InvalidInputException as error:
        raise TableError(file.fault(0) or f"{file.table}: {error}") from error
    if any(kind != "OBJECT" for (kind,) in kinds):
        raise TableError(file.fault(0) or f"{file.table}: not every line is an object")
    if not keys:
        raise TableError(f"{file.table} holds no call: write one JSON object a line")
    names = sorted(key for (key,) in keys)
    layout = lay_out(names, columns, table=file.table, peek=file.first)
    selected = ", ".join(
        f"json_extract_string(json, {text(_pointer(column))}) AS {name(part)}"
        for part, column in layout.columns.items()
    )
    con.execute(f"CREATE TEMP TABLE calls AS SELECT {selected} FROM {scan}")
    return Layout(columns={part: part for part in layout.columns})


def _parts(pattern: str) -> list[tuple[str, str, str]]:
    """The folders above a file, each cut at its first equals sign."""
    return [folder.partition("=") for folder in pattern.split("/")[:-1]]


def _literal_path(path: Path) -> str:
    return text(glob.escape(str(path)))


def _pointer(key: str) -> str:
    """The JSON pointer (RFC 6901) of a key."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


_BIG = 1_000_000
"""Calls from which one pass is faster than a group-by."""

_CELLS_AT_ONCE = 3_000_000
"""Cells that a group-by holds within the memory limit, labels of ordinary length given."""

_MOST_SHARES = 1024

Source = str | PathLike[str] | Any

Engine = Literal["duckdb", "spark"]
"""What counts the calls of a path; a frame is counted by its own engine."""


def read_tensor(
    source: Source,
    *,
    judge: str | None = None,
    layer: str | None = None,
    repeats: int | None = None,
    columns: Mapping[str, str | None] | None = None,
    verdicts: Sequence[str] | None = None,
    positions: Sequence[str] | None = None,
    blank: Blank = "error",
    incomplete: Literal["error", "drop"] = "error",
    engine: Engine = "duckdb",
    date: str | None = None,
    criterion: str | None = None,
) -> VerdictTensor:
    """Read the calls of one judge and layer.

    Labels are sorted, so neither the order of rows nor that of columns matters.

    Args:
        source: a `.csv`, `.csv.gz`, `.jsonl`, `.jsonl.gz` or `.parquet` file, a folder or glob of
            Parquet, an `s3://` address, a run folder, any frame that narwhals accepts, or Arrow
            record batches.
        judge: the judge to read; needed where the table holds several.
        layer: the layer to read; needed where the judge has several.
        repeats: keep the frozen prefix of repeat ranks below this number.
        columns: names of the table's columns by contract name, `{"verdict": "winner"}`; None
            leaves an optional column out.
        verdicts: the alphabet; by default the usual four, or what the table holds, sorted.
        positions: the words for the answer shown first, shown second, and perhaps for a tie.
        blank: what a blank verdict becomes: `"invalid"`, or `"drop"` for no call.
        incomplete: `"drop"` keeps the items with two calls in every cell and says what went.
        engine: `"spark"` lets Spark read a path and count; only the counts come home.
        date: the date to read, where the table has such a column; by default the latest.
        criterion: the criterion to read; needed where the table holds several.

    Raises:
        TableError: the table breaks the contract; the message names the row and the remedy.
        DuplicateCallsError: the same call is there twice.
        IncompleteDesignError: cells hold no call and `incomplete` is "error".
    """
    _check_arguments(repeats, incomplete, judge=judge, layer=layer, criterion=criterion, date=date)
    meaning = Meaning(verdicts=verdicts, positions=positions, blank=blank)
    meaning.checked()
    with _opened(source, columns, engine, date) as (con, everything):
        one, names = choose_criterion(everything, judge, criterion)
        calls, census = _surveyed(of_criterion(everything, one), meaning)
        pair = choose_pair(census, names[0] if names else None, layer)
        tensor = _read(con, calls, census, [pair], repeats=repeats, meaning=meaning)[pair]
    return replace(tensor, criterion=one).complete(incomplete)


def read_tensors(
    source: Source,
    *,
    columns: Mapping[str, str | None] | None = None,
    repeats: int | None = None,
    verdicts: Sequence[str] | None = None,
    positions: Sequence[str] | None = None,
    blank: Blank = "error",
    incomplete: Literal["error", "drop"] = "error",
    judges: Iterable[str] | None = None,
    engine: Engine = "duckdb",
    date: str | None = None,
    criteria: Iterable[str] | None = None,
    vectors: bool = True,
) -> dict[Pair, VerdictTensor]:
    """Read every judge and layer of a table, or those of the named judges, by (layer, judge).

    Each tensor is the one that `read_tensor` gives for its judge and layer. A table without a
    layer column has the layer None. Where a table has criteria, each judge stands there once for
    each of them, as `judge \N{MIDDLE DOT} criterion`, with an alphabet of its own.
    Without `vectors` token probabilities are not looked at.
    """
    _check_arguments(repeats, incomplete)
    meaning = Meaning(verdicts=verdicts, positions=positions, blank=blank)
    meaning.checked()
    found: dict[Pair, VerdictTensor] = {}
    with _opened(source, columns, engine, date) as (con, everything):
        for criterion, names in choose_criteria(everything, judges, criteria):
            calls, census = _surveyed(of_criterion(everything, criterion), meaning)
            pairs = choose_judges(census, names)
            chosen = calls if vectors else without_vectors(calls)
            tensors = _read(con, chosen, census, pairs, repeats=repeats, meaning=meaning)
            for (layer, judge), tensor in tensors.items():
                name = judge if criterion is None else stream_name(judge or "judge", criterion)
                found[layer, name] = replace(tensor, criterion=criterion)
    return {pair: tensor.complete(incomplete) for pair, tensor in found.items()}


@dataclass(frozen=True, kw_only=True)
class Meaning:
    """What the words in the verdict column mean, as the caller says."""

    verdicts: Sequence[str] | None = None
    positions: Sequence[str] | None = None
    blank: Blank = "error"

    def checked(self) -> tuple[tuple[str, ...] | None, tuple[str, ...] | None]:
        """Return the alphabet and the positions, if they are sound."""
        check_blank(self.blank)
        given, positions = check_given(self.verdicts), check_positions(self.positions)
        if given is not None and positions is not None:
            raise InputError(
                f"verdicts = {list(given)} declares the words as they are, positions = "
                f"{list(positions)} turns them into candidates: give one of the two"
            )
        return given, positions


@contextmanager
def _opened(
    source: Source,
    columns: Mapping[str, str | None] | None,
    engine: Engine,
    date: str | None,
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Calls]]:
    with (
        tempfile.TemporaryDirectory(prefix="judgelaw-") as folder,
        private_connection() as con,
        ExitStack() as jobs,
    ):
        if engine == "spark":
            calls: Calls = jobs.enter_context(spark_calls(source, columns))
        else:
            calls = open_calls(con, source, columns, folder=Path(folder))
        yield con, _of_date(calls, date)


def _surveyed(calls: Calls, meaning: Meaning) -> tuple[Calls, Census]:
    """Look at calls for the first time: blanks, alphabet, ranks, faults."""
    given, positions = meaning.checked()
    calls, notes = without_blanks(calls, meaning.blank)
    census = take_census(calls, given, positions)
    alphabet = replace(census.alphabet, notes=(*census.alphabet.notes, *notes))
    return calls, replace(census, alphabet=alphabet)


def _of_date(calls: Calls, date: str | None) -> Calls:
    """Keep the calls of one date, the latest unless told, where a table has dates."""
    if not calls.layout.has("date"):
        if date is not None:
            raise TableError(f"{calls.table} has no column 'date': leave date out")
        return calls
    return calls.only("date", _choose_date(calls, date))


_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(\D.*)?")


def _choose_date(calls: Calls, asked: str | None) -> str | None:
    """Pick the date that the caller named, else the latest; rows without one come before all."""
    known = sorted({date or "" for date in calls.distinct("date")})
    named = [date for date in known if date]
    if asked is not None and asked not in known:
        near = did_you_mean(asked, named)
        raise TableError(
            f"{calls.table}: no date is called {asked!r}{near}: it has {listed(named)}"
        )
    strange = [date for date in named if not _DATE.fullmatch(date)]
    if asked is None and len(known) > 1 and strange:
        place = place_of(calls, {"date": strange[0]})
        raise TableError(
            f"{place}: {strange[0]!r} is no date, so nobody knows which is the latest: write dates "
            "as YYYY-MM-DD, or name one, date=... (--date)"
        )
    return (known[-1] if asked is None else asked) or None


def _read(
    con: duckdb.DuckDBPyConnection,
    calls: Calls,
    census: Census,
    pairs: Sequence[Pair],
    *,
    repeats: int | None,
    meaning: Meaning,
) -> dict[Pair, VerdictTensor]:
    tensors = None
    if isinstance(calls, DuckCalls) and census.calls >= _BIG:
        tensors = read_in_one_pass(calls, census, pairs)
    if tensors is None:
        tensors = _read_by_cells(con, calls, census, pairs)
    tensors = {pair: with_vectors(t, pair, calls, census.alphabet) for pair, t in tensors.items()}
    tensors = {pair: _as_meant(t, pair, calls, census, meaning) for pair, t in tensors.items()}
    if repeats is None:
        return tensors
    return {pair: tensor.prefix(repeats) for pair, tensor in tensors.items()}


def _as_meant(
    tensor: VerdictTensor, pair: Pair, calls: Calls, census: Census, meaning: Meaning
) -> VerdictTensor:
    """Count ranks from 0 and turn positions into candidates; refuse letters that may be either."""
    if census.first.get(pair) == 1 and tensor.ranked is not None:
        note = "repeats count from 1 in this table; they were read as counting from 0"
        soft = None if tensor.soft is None else tensor.soft[..., 1:, :]
        notes = (*tensor.notes, note)
        tensor = replace(tensor, ranked=tensor.ranked[..., 1:], soft=soft, notes=notes)
    if meaning.positions:
        return restored(tensor, meaning.positions, table=calls.table)
    if census.alphabet.letters and len(tensor.orders) > 1:
        raise refuse(census.found, calls.table)
    return tensor


def _read_by_cells(
    con: duckdb.DuckDBPyConnection, calls: Calls, census: Census, pairs: Sequence[Pair]
) -> dict[Pair, VerdictTensor]:
    """Group the calls by cell, in as many shares of the items as memory asks for."""
    ranks = max(census.ranks[pair] for pair in pairs)
    shares = 1 + census.calls // (ranks * _CELLS_AT_ONCE) if calls.divisible else 1
    while True:
        try:
            parts = _gathered(con, calls, census, pairs, shares)
            break
        except RunError:  # out of memory: cells are emptier than the deepest one
            if shares >= _MOST_SHARES or not calls.divisible:
                raise
            shares *= 4
    return {
        pair: assemble(parts[pair], pair, alphabet=census.alphabet, ranks=census.ranks[pair])
        for pair in pairs
    }


def _gathered(
    con: duckdb.DuckDBPyConnection,
    calls: Calls,
    census: Census,
    pairs: Sequence[Pair],
    shares: int,
) -> dict[Pair, list[Part]]:
    ranks = max(census.ranks[pair] for pair in pairs)
    parts: dict[Pair, list[Part]] = {pair: [] for pair in pairs}
    for share in range(shares):
        calls.count_cells(
            con,
            planes=census.alphabet.planes,
            pairs=pairs,
            everything=len(pairs) == len(census.ranks),
            ranks=ranks,
            share=(share, shares),
        )
        check_cells(con, calls, ranks)
        for pair in pairs:
            ranks_here = census.ranks[pair]
            parts[pair].append(gather(con, calls, pair, alphabet=census.alphabet, ranks=ranks_here))
        con.execute("DROP TABLE cells")
    return parts


def _check_arguments(repeats: int | None, incomplete: str, **names: object) -> None:
    for part, given in names.items():
        if given is not None and not isinstance(given, str):
            raise InputError(f"{part} = {given!r}: a name is needed, in quotes")
    if repeats is not None:
        check_at_least("repeats", repeats, 1, "a prefix keeps a whole number of ranks")
    if incomplete not in ("error", "drop"):
        raise InputError(f"incomplete = {incomplete!r}: say 'error' or 'drop'")
