"""The tables of a run against the rows that they were written from."""

from collections.abc import Iterable, Iterator
from itertools import zip_longest
from pathlib import Path
from typing import Any

import duckdb

from judgelaw.acquire.outputs import (
    CALLS,
    CALLS_COLUMNS,
    TIMING,
    TIMING_COLUMNS,
    calls_row,
    results,
    timing_rows,
)
from judgelaw.acquire.verify.check import Check, Problems
from judgelaw.design.manifest import FrozenRun
from judgelaw.design.manifest_file import reading
from judgelaw.ledger import LedgerView
from judgelaw.parquet import one_file

_FETCH = 10_000


def check_tables(frozen: FrozenRun, view: LedgerView) -> Iterator[Check]:
    """Derive both tables again and compare every row."""
    calls = map(calls_row, results(frozen, view))
    yield _same(frozen.path / CALLS, CALLS_COLUMNS, calls, "calls")
    yield _same(frozen.path / TIMING, TIMING_COLUMNS, timing_rows(frozen, view), "timing")


def _same(
    path: Path, columns: tuple[str, ...], derived: Iterable[tuple[Any, ...]], name: str
) -> Check:
    problems, count = Problems(), 0
    for row, (stored, expected) in enumerate(zip_longest(_rows(path, columns), derived)):
        count = row + 1
        if stored == expected:
            continue
        if stored is None or expected is None:
            less = path.name if stored is None else "the ledger"
            problems.add(f"{path.name}: row {row} is missing from {less}")
            break
        problems.add(
            f"{path.name}: row {row} is {_short(stored)}, the ledger has {_short(expected)}"
        )
    return problems.check(name, f"{count} rows are what the ledger gives")


def _rows(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[Any, ...]]:
    quoted = ", ".join(f'"{column}"' for column in columns)
    with reading() as connection:
        try:
            # Rows in the sequence of the file, which is part of what is compared.
            query = f"SELECT {quoted} FROM {one_file(path)}"  # noqa: S608 - column names are ours
            cursor = connection.execute(query)
            while rows := cursor.fetchmany(_FETCH):
                yield from rows
        except duckdb.Error as error:
            yield (f"cannot be read: {str(error).splitlines()[0]}",)


def _short(row: tuple[Any, ...]) -> str:
    return " / ".join(str(value) for value in row if value is not None)
