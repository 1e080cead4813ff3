"""Open a source of calls, and read it into VerdictTensors."""

# ruff: noqa: S608 - names in the SQL below are quoted by `duck`
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
from judgelaw.duck import foreign_errors, name, private_connection
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
from judgelaw.tables.columns import PEEKED, Calls, Mapped, Pair, lay_out, place_of
from judgelaw.tables.engines import DuckCalls, LazyCalls, engine_errors, laid_out, spark_calls
from judgelaw.tables.forgiving import Blank, check_blank, without_blanks
from judgelaw.tables.in_memory import FRAME, lazy_frame
from judgelaw.tables.onepass import read_in_one_pass
from judgelaw.tables.opening import open_table
from judgelaw.tables.positions import check_positions, refuse, restored
from judgelaw.tables.soft_columns import with_vectors, without_vectors
from judgelaw.tensor import VerdictTensor
from judgelaw.words import did_you_mean, listed, stream_name


def open_calls(
    con: duckdb.DuckDBPyConnection, source: Any, columns: Mapped, *, folder: Path
) -> Calls:
    """Open a path, or what is in memory; `folder` is for what has to be unpacked."""
    if (frame := lazy_frame(source)) is not None:
        with engine_errors(FRAME):
            layout = laid_out(frame, columns, FRAME)
        return LazyCalls(frame=frame, table=FRAME, layout=layout)
    opened = open_table(con, source, folder=folder)

    def peek(some: list[str]) -> list[tuple[Any, ...]]:
        query = f"SELECT {', '.join(map(name, some))} FROM {opened.source} LIMIT {PEEKED}"
        return con.execute(query).fetchall()

    with foreign_errors(opened.table):
        layout = lay_out(opened.columns, columns, table=opened.table, peek=peek)
    return DuckCalls(
        con=con,
        table=opened.table,
        source=opened.source,
        layout=layout,
        types=opened.types,
        locator=opened.locator,
    )


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
