"""Read a source of calls into VerdictTensors."""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import duckdb

from judgelaw.arrays import check_at_least
from judgelaw.duck import private_connection
from judgelaw.errors import InputError, RunError, TableError
from judgelaw.tables.assemble import Part, assemble, clusters_of_items, gather, in_clusters
from judgelaw.tables.by_criterion import choose_criteria, choose_criterion, of_criterion
from judgelaw.tables.calls import Calls, Pair, place_of
from judgelaw.tables.census import (
    Census,
    check_cells,
    choose_judges,
    choose_pair,
    take_census,
)
from judgelaw.tables.onepass import read_in_one_pass
from judgelaw.tables.reading import TableReading
from judgelaw.tables.reading_of import read_table
from judgelaw.tables.relation import as_calls, item_texts
from judgelaw.tables.said import Blank, Wishes, wishes
from judgelaw.tables.soft_columns import with_vectors, without_vectors
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.words import counted, did_you_mean, listed, plain_number, stream_name

_BIG = 1_000_000
"""Calls from which one pass is faster than a group-by."""

_CELLS_AT_ONCE = 3_000_000
"""Cells that a group-by holds within the memory limit, labels of ordinary length given."""

_MOST_SHARES = 1024

Source = str | PathLike[str] | Any


def read_tensor(
    source: Source,
    *,
    judge: str | None = None,
    layer: str | None = None,
    repeats: int | None = None,
    columns: Mapping[str, Any] | None = None,
    verdicts: Sequence[str] | None = None,
    positions: Sequence[str] | None = None,
    blank: Blank = "error",
    incomplete: Literal["error", "drop"] = "error",
    date: str | None = None,
    criterion: str | None = None,
    said: Wishes | None = None,
) -> VerdictTensor:
    """Read the calls of one judge and layer.

    Labels are sorted, so neither the order of rows nor that of columns matters.

    Args:
        source: a file of records (CSV, TSV, JSON, Parquet, .gz of each), a folder or glob of them,
            a log of a known tool, an `s3://` address, a run folder, any frame that narwhals
            accepts, Arrow record batches, or a list of dicts.
        judge: the judge to read; needed where the table holds several.
        layer: the layer to read; needed where the judge has several.
        repeats: keep the frozen prefix of repeat ranks below this number.
        columns: the table's own columns by part, `{"verdict": "winner"}`; None leaves an optional
            part out.
        verdicts: the alphabet; by default the usual four, or what the table holds, sorted.
        positions: the words for the answer shown first, shown second, and perhaps for a tie.
        blank: what a blank verdict becomes: `"invalid"`, or `"drop"` for no call.
        incomplete: `"drop"` keeps the items with two calls in every cell and says what went.
        date: the date to read, where the table has such a column; by default the latest.
        criterion: the criterion to read; needed where the table holds several.
        said: what else was said about the table.

    Raises:
        TableError: the table breaks the contract, or can be read in several ways; the message
            names the row or the column, and the remedy.
        DuplicateCallsError: the same call is there twice.
        IncompleteDesignError: cells hold no call and `incomplete` is "error".
    """
    _check_arguments(repeats, incomplete, judge=judge, layer=layer, criterion=criterion, date=date)
    wish = _all_said(said, columns, verdicts, positions, blank)
    with _opened(source, wish, date) as (con, everything, reading):
        one, names = choose_criterion(everything, judge, criterion)
        calls, census = _surveyed(of_criterion(everything, one), reading)
        pair = choose_pair(census, names[0] if names else None, layer)
        tensor = _read(con, calls, census, [pair], repeats=repeats)[pair]
    return replace(_scored(tensor, reading), criterion=one).complete(incomplete)


def read_tensors(
    source: Source,
    *,
    columns: Mapping[str, Any] | None = None,
    repeats: int | None = None,
    verdicts: Sequence[str] | None = None,
    positions: Sequence[str] | None = None,
    blank: Blank = "error",
    incomplete: Literal["error", "drop"] = "error",
    judges: Iterable[str] | None = None,
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
    found, _ = read_all(
        source,
        _all_said(None, columns, verdicts, positions, blank),
        repeats=repeats,
        incomplete=incomplete,
        judges=judges,
        date=date,
        criteria=criteria,
        vectors=vectors,
    )
    return found


def read_all(
    source: Source,
    said: Wishes,
    *,
    repeats: int | None = None,
    incomplete: Literal["error", "drop"] = "error",
    judges: Iterable[str] | None = None,
    date: str | None = None,
    criteria: Iterable[str] | None = None,
    vectors: bool = True,
) -> tuple[dict[Pair, VerdictTensor], TableReading]:
    """Read what `read_tensors` reads, and return how the table was read beside it."""
    _check_arguments(repeats, incomplete)
    found: dict[Pair, VerdictTensor] = {}
    with _opened(source, said, date) as (con, everything, reading):
        for criterion, names in choose_criteria(everything, judges, criteria):
            calls, census = _surveyed(of_criterion(everything, criterion), reading)
            pairs = choose_judges(census, names)
            chosen = calls if vectors else without_vectors(calls)
            tensors = _read(con, chosen, census, pairs, repeats=repeats)
            for (layer, judge), tensor in tensors.items():
                name = judge if criterion is None else stream_name(judge or "judge", criterion)
                found[layer, name] = replace(_scored(tensor, reading), criterion=criterion)
        told = replace(reading, texts=item_texts(reading))
    return {pair: tensor.complete(incomplete) for pair, tensor in found.items()}, told


def _all_said(
    said: Wishes | None,
    columns: Mapping[str, Any] | None,
    verdicts: Sequence[str] | None,
    positions: Sequence[str] | None,
    blank: Blank,
) -> Wishes:
    more = wishes(columns=columns, verdicts=verdicts, positions=positions, blank=blank)
    return more if said is None else said.and_also(more)


def _scored(tensor: VerdictTensor, reading: TableReading) -> VerdictTensor:
    """Read verdicts as scores, where a known log says which there are."""
    scale = reading.scale
    if scale is None:
        return tensor
    if isinstance(scale, Mapping):
        return on_continuous(tensor, scale)
    return tensor.on_scale(scale)


def on_continuous(
    tensor: VerdictTensor,
    scale: Mapping[str, float],
    *,
    outside: Literal["error", "invalid"] = "error",
) -> VerdictTensor:
    """Read verdicts as scores between two ends, apart by their squared difference.

    However a number is written, it is one score: 1, 1.0 and 1.00.

    Args:
        tensor: the calls.
        scale: the ends, `{"from": 0, "to": 1}`.
        outside: what a verdict is that is no number between them.
    """
    low, high = float(scale["from"]), float(scale["to"])
    said = tensor.counts.sum(axis=(0, 1, 2)) > 0
    gold = {*(tensor.gold or ())}
    names, found = dict[str, str](), {low, high}
    for verdict, n in zip(tensor.verdicts, said, strict=True):
        if verdict == INVALID:
            continue
        try:
            score = float(verdict)
        except ValueError:
            score = inf
        inside = low <= score <= high
        if not inside and n and outside == "error":
            raise InputError(
                f"verdict {verdict!r} is no score between {low:g} and {high:g}: correct the scale, "
                f"or leave it out"
            )
        names[verdict] = plain_number(score) if inside and (n or verdict in gold) else INVALID
        if names[verdict] != INVALID:
            found.add(score)
    return tensor.recode(names).on_scale(sorted(found), "numeric")


@contextmanager
def _opened(
    source: Source, said: Wishes, date: str | None
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Calls, TableReading]]:
    with (
        tempfile.TemporaryDirectory(prefix="judgelaw-") as folder,
        private_connection() as con,
    ):
        reading = read_table(con, source, said, folder=Path(folder))
        yield con, _of_date(as_calls(reading), date), reading


def _surveyed(calls: Calls, reading: TableReading) -> tuple[Calls, Census]:
    """Look at calls for the first time: alphabet, ranks, faults."""
    census = take_census(calls, reading.wishes.verdicts)
    notes = [*reading.words.notes, *reading.notes]
    if reading.blanks:
        invalid = reading.wishes.blank == "invalid"
        done = "were counted as invalid" if invalid else "were left out"
        notes.append(f"{counted(reading.blanks, 'row')} without a verdict {done}")
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
) -> dict[Pair, VerdictTensor]:
    tensors = read_in_one_pass(calls, census, pairs) if census.calls >= _BIG else None
    if tensors is None:
        tensors = _read_by_cells(con, calls, census, pairs)
    tensors = {pair: with_vectors(t, pair, calls, census.alphabet) for pair, t in tensors.items()}
    tensors = {pair: _from_zero(t, census.first.get(pair)) for pair, t in tensors.items()}
    if calls.layout.has("cluster"):
        of_item = clusters_of_items(calls)
        tensors = {pair: in_clusters(t, of_item) for pair, t in tensors.items()}
    if repeats is None:
        return tensors
    return {pair: tensor.prefix(repeats) for pair, tensor in tensors.items()}


def _from_zero(tensor: VerdictTensor, first: int | None) -> VerdictTensor:
    """Count ranks from 0."""
    if first != 1 or tensor.ranked is None:
        return tensor
    note = "repeats count from 1 in this table; they were read as counting from 0"
    soft = None if tensor.soft is None else tensor.soft[..., 1:, :]
    return replace(tensor, ranked=tensor.ranked[..., 1:], soft=soft, notes=(*tensor.notes, note))


def _read_by_cells(
    con: duckdb.DuckDBPyConnection, calls: Calls, census: Census, pairs: Sequence[Pair]
) -> dict[Pair, VerdictTensor]:
    """Group the calls by cell, in as many shares of the items as memory asks for."""
    ranks = max(census.ranks[pair] for pair in pairs)
    shares = 1 + census.calls // (ranks * _CELLS_AT_ONCE)
    while True:
        try:
            parts = _gathered(con, calls, census, pairs, shares)
            break
        except RunError:  # out of memory: cells are emptier than the deepest one
            if shares >= _MOST_SHARES:
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
