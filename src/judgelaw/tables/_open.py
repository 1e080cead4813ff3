"""Open a source of calls: decide the engine, lay out the columns, say how to name a row."""

# ruff: noqa: S608 - every name and literal in the SQL below is quoted by _edge.name and _edge.text

import glob
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from judgelaw.errors import InputError, TableError
from judgelaw.tables._calls import Calls
from judgelaw.tables._columns import Layout, lay_out
from judgelaw.tables._duck import DuckCalls, Locator
from judgelaw.tables._edge import foreign_errors, name, text
from judgelaw.tables._files import FileSource, locate, store_errors
from judgelaw.tables._text import TextFile

Mapped = Mapping[str, str | None] | None

FRAME = "the frame"


def open_calls(
    con: duckdb.DuckDBPyConnection, source: Any, columns: Mapped, *, folder: Path
) -> Calls:
    """Open a path or a frame; `folder` is for what has to be unpacked."""
    if isinstance(source, (str, os.PathLike)):
        found = locate(source)
        if found.format == "parquet":
            return _open_parquet(con, found, columns)
        return _open_text(con, found, columns, folder)
    return _open_frame(con, source, columns)


def _open_parquet(con: duckdb.DuckDBPyConnection, found: FileSource, columns: Mapped) -> Calls:
    scan = f"read_parquet({text(found.pattern)}, union_by_name=true, hive_types_autocast=false)"
    with store_errors(found.table):
        if found.store is not None:
            con.register_filesystem(found.store)
        if found.single:
            # DuckDB lets `judge=x` in the path hide the file's own column of that name.
            plain = f"read_parquet({text(found.pattern)}, hive_partitioning=false)"
            in_path = {key for key, equals, _ in _parts(found.pattern) if equals}
            scan = plain if in_path and in_path & set(_types(con, plain)) else scan
        types = _types(con, scan)

    def places(rows: list[tuple[Any, ...]]) -> list[str]:
        return [f"{path} row {row + 1}" for path, row in rows]

    return DuckCalls(
        con=con,
        table=found.table,
        source=scan,
        layout=lay_out(list(types), columns, table=found.table),
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
    layout = lay_out(header, columns, table=file.table)
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
    layout = lay_out(sorted(key for (key,) in keys), columns, table=file.table)
    selected = ", ".join(
        f"json_extract_string(json, {text(_pointer(column))}) AS {name(part)}"
        for part, column in layout.columns.items()
    )
    con.execute(f"CREATE TEMP TABLE calls AS SELECT {selected} FROM {scan}")
    return Layout(columns={part: part for part in layout.columns})


def _open_frame(con: duckdb.DuckDBPyConnection, source: Any, columns: Mapped) -> Calls:
    import narwhals as nw  # noqa: PLC0415 - files need no frame library

    from judgelaw.tables._lazy import (  # noqa: PLC0415 - same
        LazyCalls,
        engine_errors,
        registered,
    )

    with engine_errors(FRAME):
        try:
            frame = nw.from_native(source)
        except TypeError as error:
            raise InputError(
                f"a {type(source).__name__} is no calls table: pass the path of a file, or a "
                "frame of pandas, polars, pyarrow, DuckDB or Spark"
            ) from error
        layout = laid_out(frame, columns, FRAME)
    if isinstance(frame, nw.LazyFrame):
        return LazyCalls(frame=frame, table=FRAME, layout=layout)
    needed: Sequence[str] = sorted(set(layout.columns.values()))
    with engine_errors(FRAME):
        registered(con, "frame", frame.select(needed))
        types = _types(con, "frame")
    return DuckCalls(
        con=con,
        table=FRAME,
        source="frame",
        layout=layout,
        types=types,
        locator=Locator(places=lambda rows: [FRAME] * len(rows)),
    )


def laid_out(frame: Any, columns: Mapped, table: str) -> Layout:
    """Lay out the columns of a narwhals frame."""
    # The names of pandas columns may be anything; those of the contract are text.
    names = [name for name in frame.collect_schema().names() if isinstance(name, str)]
    return lay_out(names, columns, table=table)


def _types(con: duckdb.DuckDBPyConnection, scan: str) -> dict[str, str]:
    return {row[0]: row[1] for row in con.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()}


def _parts(pattern: str) -> list[tuple[str, str, str]]:
    """The folders above a file, each cut at its first equals sign."""
    return [folder.partition("=") for folder in pattern.split("/")[:-1]]


def _literal_path(path: Path) -> str:
    return text(glob.escape(str(path)))


def _pointer(key: str) -> str:
    """The JSON pointer (RFC 6901) of a key."""
    return "/" + key.replace("~", "~0").replace("/", "~1")
