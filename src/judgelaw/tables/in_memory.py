"""Calls that are in memory already: frames, lists of dicts, Hugging Face datasets."""

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import numpy as np

from judgelaw.duck import column_types, foreign_errors
from judgelaw.errors import InputError, TableError
from judgelaw.tables.columns import PEEKED, Calls, Mapped, lay_out
from judgelaw.tables.engines import DuckCalls, Locator, laid_out

FRAME = "the frame"
ROWS = "the list"
_ROW = "row_in_list"
_ANY = (
    "pass the path of a run or table, a frame of pandas, polars, pyarrow, DuckDB or Spark, a list "
    "of dicts, a Hugging Face dataset, or a tensor (counts: VerdictTensor.from_counts)"
)


def open_in_memory(con: duckdb.DuckDBPyConnection, source: Any, columns: Mapped) -> Calls:
    """Open whatever holds calls and is no path."""
    if isinstance(source, (list, tuple)):
        return _open_rows(con, source, columns)
    if type(source).__module__.partition(".")[0] == "datasets":
        return _open_frame(con, _of_hugging_face(source), columns)
    return _open_frame(con, source, columns)


def _open_rows(con: duckdb.DuckDBPyConnection, rows: Sequence[Any], columns: Mapped) -> Calls:
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
    layout = lay_out(
        present,
        columns,
        table=ROWS,
        peek=lambda some: [[row.get(column) for column in some] for row in rows[:PEEKED]],
    )
    needed = sorted(set(layout.columns.values()))
    with foreign_errors(ROWS):
        con.register(
            "rows",
            {
                **{name: _column([row.get(name) for row in rows]) for name in needed},
                _ROW: np.arange(len(rows)),
            },
        )
        types = column_types(con, "rows")
    return DuckCalls(
        con=con,
        table=ROWS,
        source="rows",
        layout=layout,
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


def _open_frame(con: duckdb.DuckDBPyConnection, source: Any, columns: Mapped) -> Calls:
    import narwhals as nw  # noqa: PLC0415 - files need no frame library

    from judgelaw.tables.engines import LazyCalls, engine_errors, registered  # noqa: PLC0415 - same

    with engine_errors(FRAME):
        try:
            frame = nw.from_native(source)
        except TypeError as error:
            raise InputError(f"a {type(source).__name__} is no calls table: {_ANY}") from error
        layout = laid_out(frame, columns, FRAME)
    if isinstance(frame, nw.LazyFrame):
        return LazyCalls(frame=frame, table=FRAME, layout=layout)
    needed: Sequence[str] = sorted(set(layout.columns.values()))
    with engine_errors(FRAME):
        registered(con, "frame", frame.select(needed))
        types = column_types(con, "frame")
    return DuckCalls(
        con=con,
        table=FRAME,
        source="frame",
        layout=layout,
        types=types,
        locator=Locator(places=lambda rows: [FRAME] * len(rows)),
    )
