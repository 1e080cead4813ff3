"""Read a calls table into VerdictTensors."""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import duckdb

from judgelaw.errors import InputError, RunError
from judgelaw.tables._assemble import assemble
from judgelaw.tables._calls import Calls, Pair
from judgelaw.tables._census import Census, choose_judges, choose_pair, take_census
from judgelaw.tables._checks import check_cells
from judgelaw.tables._duck import DuckCalls
from judgelaw.tables._edge import private_connection
from judgelaw.tables._gather import Part, gather
from judgelaw.tables._onepass import read_in_one_pass
from judgelaw.tables._open import open_calls
from judgelaw.tables._spark import spark_calls
from judgelaw.tables._verdicts import check_given
from judgelaw.tensor import VerdictTensor

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
    incomplete: Literal["error", "drop"] = "error",
    engine: Engine = "duckdb",
) -> VerdictTensor:
    """Read the calls of one judge and layer.

    Labels are sorted, so neither the order of rows nor that of columns matters.

    Args:
        source: a `.csv`, `.csv.gz`, `.jsonl`, `.jsonl.gz` or `.parquet` file, a folder or glob of
            Parquet, an `s3://` address, a run folder, or any frame that narwhals accepts.
        judge: the judge to read; needed where the table holds several.
        layer: the layer to read; needed where the judge has several.
        repeats: keep the frozen prefix of repeat ranks below this number.
        columns: names of the table's columns by contract name, `{"verdict": "winner"}`; None
            leaves an optional column out.
        verdicts: the alphabet; by default the usual four, or what the table holds, sorted.
        incomplete: `"drop"` keeps the items with two calls in every cell and says what went.
        engine: `"spark"` lets Spark read a path and count; only the counts come home.

    Raises:
        TableError: the table breaks the contract; the message names the row and the remedy.
        DuplicateCallsError: the same call is there twice.
        IncompleteDesignError: cells hold no call and `incomplete` is "error".
    """
    _check_arguments(repeats, incomplete)
    with _opened(source, columns, verdicts, engine) as (con, calls, census):
        pair = choose_pair(census, judge, layer)
        tensor = _read(con, calls, census, [pair], repeats)[pair]
    return tensor.complete(incomplete)


def read_tensors(
    source: Source,
    *,
    columns: Mapping[str, str | None] | None = None,
    repeats: int | None = None,
    verdicts: Sequence[str] | None = None,
    incomplete: Literal["error", "drop"] = "error",
    judges: Iterable[str] | None = None,
    engine: Engine = "duckdb",
) -> dict[Pair, VerdictTensor]:
    """Read every judge and layer of a table, or those of the named judges, by (layer, judge).

    Each tensor is the one that `read_tensor` gives for its judge and layer. A table without a
    layer column has the layer None.
    """
    _check_arguments(repeats, incomplete)
    with _opened(source, columns, verdicts, engine) as (con, calls, census):
        tensors = _read(con, calls, census, choose_judges(census, judges), repeats)
    return {pair: tensor.complete(incomplete) for pair, tensor in tensors.items()}


@contextmanager
def _opened(
    source: Source,
    columns: Mapping[str, str | None] | None,
    verdicts: Sequence[str] | None,
    engine: Engine,
) -> Iterator[tuple[duckdb.DuckDBPyConnection, Calls, Census]]:
    given = check_given(verdicts)
    with (
        tempfile.TemporaryDirectory(prefix="judgelaw-") as folder,
        private_connection() as con,
        ExitStack() as jobs,
    ):
        if engine == "spark":
            calls: Calls = jobs.enter_context(spark_calls(source, columns))
        else:
            calls = open_calls(con, source, columns, folder=Path(folder))
        yield con, calls, take_census(calls, given)


def _read(
    con: duckdb.DuckDBPyConnection,
    calls: Calls,
    census: Census,
    pairs: Sequence[Pair],
    repeats: int | None,
) -> dict[Pair, VerdictTensor]:
    tensors = None
    if isinstance(calls, DuckCalls) and census.calls >= _BIG:
        tensors = read_in_one_pass(calls, census, pairs)
    if tensors is None:
        tensors = _read_by_cells(con, calls, census, pairs)
    if repeats is None:
        return tensors
    return {pair: tensor.prefix(repeats) for pair, tensor in tensors.items()}


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


def _check_arguments(repeats: int | None, incomplete: str) -> None:
    if repeats is not None and repeats < 1:
        raise InputError(
            f"repeats = {repeats!r}: a prefix keeps a whole number of ranks, 1 or more"
        )
    if incomplete not in ("error", "drop"):
        raise InputError(f"incomplete = {incomplete!r}: say 'error' or 'drop'")
