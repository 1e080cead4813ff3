"""Calls that are in memory already: frames of any library, lists of dicts, Hugging Face datasets.

A lazy frame (polars, Spark, Dask) comes home whole: one reading looks at all of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import narwhals as nw
import numpy as np
from narwhals.dependencies import get_pyarrow

from judgelaw.duck import column_types, foreign_errors
from judgelaw.errors import InputError, JudgelawError, MissingExtraError, TableError
from judgelaw.tables.calls import Locator
from judgelaw.tables.opening import OpenTable, fresh, nested, open_records, sql_names

FRAME = "the frame"
ROWS = "the list"
_ROW = "row_in_list"
_ANY = (
    "pass the path of a run or table, a frame of pandas, polars, pyarrow, DuckDB, Spark or Dask, a "
    "list of dicts, a Hugging Face dataset, or a tensor (counts: VerdictTensor.from_counts)"
)


def in_memory(
    con: duckdb.DuckDBPyConnection, source: Any, folder: Path, explode: tuple[str, ...] = ()
) -> OpenTable:
    """Open whatever holds records and is no path; a lazy frame comes home whole."""
    source = _whole_table(source)
    if isinstance(source, (list, tuple)):
        return _open_rows(con, source, folder, explode)
    frame = as_frame(source)
    with engine_errors(FRAME):
        if isinstance(frame, nw.LazyFrame):
            frame = frame.collect()
        # The names of pandas columns may be anything; those that can be asked for are text.
        labels: list[Any] = list(frame.columns)
        named = [column for column in labels if isinstance(column, str)]
        return nested(_scanned(con, frame.select(named)), explode)


def as_frame(source: Any) -> nw.DataFrame[Any] | nw.LazyFrame[Any]:
    """Return a frame of any library, or a Hugging Face dataset, as narwhals sees it."""
    if type(source).__module__.partition(".")[0] == "datasets":
        source = _of_hugging_face(source)
    with engine_errors(FRAME):
        try:
            frame: nw.DataFrame[Any] | nw.LazyFrame[Any] = nw.from_native(source)
        except TypeError as error:
            raise InputError(f"a {type(source).__name__} is no calls table: {_ANY}") from error
    return frame


def _whole_table(source: Any) -> Any:
    """Return an Arrow table in place of record batches, or of what reads them; else the source."""
    pa = get_pyarrow()
    if pa is None:
        return source
    batches = source if isinstance(source, list | tuple) and source else [source]
    if all(isinstance(each, pa.RecordBatch) for each in batches):
        return pa.Table.from_batches(batches)
    return source.read_all() if isinstance(source, pa.RecordBatchReader) else source


def _open_rows(
    con: duckdb.DuckDBPyConnection, rows: Sequence[Any], folder: Path, explode: tuple[str, ...]
) -> OpenTable:
    """Let DuckDB scan a list of dicts; a key that a row lacks is an empty field."""
    if not rows:
        raise TableError(f"{ROWS} holds no call: give one dict for each call")
    for number, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise InputError(
                f"{ROWS} is no calls table: row {number} is a {type(row).__name__}; give dicts, "
                "{'judge': ..., 'item': ..., 'prompt': ..., 'repeat': 0, 'verdict': ...}"
            )
    present = [key for key in dict.fromkeys(k for row in rows for k in row) if isinstance(key, str)]
    if explode or any(isinstance(v, dict | list) for row in rows for v in row.values()):
        named = [{key: row[key] for key in present if key in row} for row in rows]
        places = [f"{ROWS}, row {number}" for number in range(len(rows))]
        return open_records(con, named, places, table=ROWS, folder=folder, explode=explode)
    columns = sql_names(present, ROWS)
    with foreign_errors(ROWS):
        con.register(
            "rows",
            {
                **{
                    name: _column([row.get(key) for row in rows])
                    for name, key in zip(columns, present, strict=True)
                },
                _ROW: np.arange(len(rows)),
            },
        )
        types = column_types(con, "rows")
    return OpenTable(
        con=con,
        table=ROWS,
        source="rows",
        columns=tuple(columns),
        types=types,
        locator=Locator(
            columns=(_ROW,), places=lambda found: [f"{ROWS}, row {row}" for (row,) in found]
        ),
    )


def _column(values: list[Any]) -> Any:
    """Return one column: numbers where all are, else text, since DuckDB guesses from a sample."""
    kinds = {type(value) for value in values if value is not None}
    if not kinds <= {int, float} and kinds != {bool}:
        values = [value if value is None else str(value) for value in values]
    elif kinds == {int, float}:
        values = [value if value is None else float(value) for value in values]
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _of_hugging_face(source: Any) -> Any:
    """Return a dataset as a table of pyarrow; which split is the caller's to say."""
    if isinstance(source, Mapping):
        raise InputError(
            f"a {type(source).__name__} holds the splits {', '.join(map(str, source))}: pass one "
            f"of them, dataset[{next(iter(source), 'train')!r}]"
        )
    if not hasattr(source, "__len__"):
        raise InputError(
            f"a {type(source).__name__} streams its rows: load the dataset without "
            "streaming=True, or pass list(dataset)"
        )
    return source.with_format("arrow")[:]


def _scanned(con: duckdb.DuckDBPyConnection, frame: nw.DataFrame[Any]) -> OpenTable:
    """Copy a frame into the database: its rows have a sequence there."""
    made = fresh()
    registered(con, "frame", frame)
    with foreign_errors(FRAME):
        con.execute(f"CREATE TEMP TABLE {made} AS SELECT * FROM frame")  # noqa: S608 - our own name
    con.unregister("frame")
    types = column_types(con, made)
    return OpenTable(
        con=con,
        table=FRAME,
        source=made,
        columns=tuple(types),
        types=types,
        locator=Locator(
            columns=("rowid",), places=lambda rows: [f"{FRAME}, row {row}" for (row,) in rows]
        ),
    )


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
