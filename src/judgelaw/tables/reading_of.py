"""The one door to a table: open whatever holds records, and read it the same way for everybody."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from judgelaw.tables.opening import OpenTable, kept_where, open_rows, open_table
from judgelaw.tables.reading import Question, Role, TableReading, all_problems
from judgelaw.tables.roles import read_roles
from judgelaw.tables.said import Wishes
from judgelaw.words import counted

_READINGS: ContextVar[list[TableReading] | None] = ContextVar("readings", default=None)


@contextmanager
def readings() -> Iterator[list[TableReading]]:
    """Collect how tables are read meanwhile, for whoever has to tell it."""
    found: list[TableReading] = []
    before = _READINGS.set(found)
    try:
        yield found
    finally:
        _READINGS.reset(before)


def told() -> dict[str, Any] | None:
    """Return how the first table that was read meanwhile was read; None where nothing is to say."""
    found = _READINGS.get()
    return found[0].to_json() if found and not found[0].plain else None


def read_table(
    con: duckdb.DuckDBPyConnection,
    source: Any,
    said: Wishes,
    *,
    folder: Path,
    question: Question = "calls",
    plain: bool = False,
) -> TableReading:
    """Read a table, by what was said, by names, by values.

    Args:
        con: the database in which it is looked at.
        source: paths, a frame, a list; see `read_tensor`.
        said: what was said about it.
        folder: takes what has to be unpacked.
        question: what is asked of the table.
        plain: whether it is a plain table, whatever else its content looks like.

    Raises:
        UnclearTableError: it can be read in several ways; the message says what settles each.
    """
    found = None
    if not (plain or said.shapes):
        found = _known(con, source, said)
    if found is None:
        found = _plain(con, source, said, folder=folder, question=question)
    if (told := _READINGS.get()) is not None:
        told.append(found)
    return found


def _plain(
    con: duckdb.DuckDBPyConnection,
    source: Any,
    said: Wishes,
    *,
    folder: Path,
    question: Question,
) -> TableReading:
    seen: dict[Any, OpenTable] = {}

    def opened(wish: Wishes) -> OpenTable:
        how = (wish.explode, tuple(wish.where.items()), wish.with_file, wish.on)
        if how not in seen:
            seen[how] = open_table(
                con,
                source,
                folder=folder,
                explode=wish.explode,
                where=wish.where,
                with_file=wish.with_file,
                on=wish.on,
            )
        return seen[how]

    def decide(wish: Wishes) -> TableReading:
        return read_roles(opened(wish), wish, question)

    return all_problems(decide, said, _named(source))


def _named(source: Any) -> str:
    if isinstance(source, (str, os.PathLike)):
        return os.fspath(source)
    if isinstance(source, (list, tuple)) and source and isinstance(source[0], (str, os.PathLike)):
        more = f" and {counted(len(source) - 1, 'more path')}" if len(source) > 1 else ""
        return f"{os.fspath(source[0])}{more}"
    return "the list" if isinstance(source, (list, tuple)) else "the frame"


def _paths(source: Any) -> list[str]:
    """Return the paths of a source on this machine; none for anything else."""
    places: Sequence[Any] = source if isinstance(source, (list, tuple)) else [source]
    if not places or not all(isinstance(place, (str, os.PathLike)) for place in places):
        return []
    found = [os.fspath(place) for place in places]
    if not all(isinstance(place, str) and Path(place).exists() for place in found):
        return []
    runs = ("study.yaml", "calls.parquet", "manifest.parquet", "manifest.json")
    return [] if any(Path(p, name).exists() for p in found for name in runs) else found


def _known(con: duckdb.DuckDBPyConnection, source: Any, said: Wishes) -> TableReading | None:
    """Read a log whose format says what everything means; None where it is no such log."""
    paths = _paths(source)
    if not paths:
        return None
    from judgelaw.tables.importers import known_log  # noqa: PLC0415 - tables need no formats

    log = known_log(paths)
    if log is None:
        return None
    from judgelaw.tables.importers.known import PLACE, ROW  # noqa: PLC0415 - see above

    places = [str(row.get(PLACE) or f"{paths[0]}, call {n}") for n, row in enumerate(log.rows)]
    parts = [part for part in ROW if any(row.get(part) is not None for row in log.rows)]
    rows: list[Mapping[str, Any]] = [{part: row.get(part) for part in parts} for row in log.rows]
    opened = open_rows(con, rows, places, table=_named(source))
    opened = kept_where(replace(opened, skipped=_left_out(log.left_out)), said.where)
    reading = TableReading(
        opened=opened,
        roles={part: Role(columns=(part,), why="by the format") for part in parts},
        wishes=said,
        kind=log.name,
        says=log.says,
        scale=log.scale,
    )
    from judgelaw.tables.look import Look  # noqa: PLC0415 - known logs are seldom large
    from judgelaw.tables.words_read import read_words  # noqa: PLC0415 - same

    words, _, blanks = read_words(Look(opened), reading, said)
    return replace(reading, words=words, blanks=blanks)


def _left_out(named: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"left out: {each}" for each in named)
