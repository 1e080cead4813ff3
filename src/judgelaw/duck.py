"""The edge to DuckDB: connections, quoting, errors turned into ours, numbers brought home.

DuckDB hands out a result in pieces only through the Arrow C stream interface, and NumPy does not
read that. Columns of numbers without nulls need five fields of one struct, which is less than
pyarrow, a hundred megabytes that nothing else here asks for.
"""

import ctypes
import glob
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import DTypeLike, NDArray

from judgelaw.errors import JudgelawError, RunError, TableError, storage_error


def one_file(path: str | PathLike[str]) -> str:
    """Return the SQL that scans one file.

    DuckDB would take brackets in a path for a pattern, and a folder `judge=x` for a column.
    """
    literal = glob.escape(str(path)).replace("'", "''")
    return f"read_parquet('{literal}', hive_partitioning=false)"


def column_types(con: duckdb.DuckDBPyConnection, scan: str) -> dict[str, str]:
    """Return DuckDB's type of every column of what is scanned."""
    described = con.execute(f"DESCRIBE SELECT * FROM {scan}").fetchall()  # noqa: S608 - our own SQL
    return {row[0]: row[1] for row in described}


class _Array(ctypes.Structure):
    """`struct ArrowArray` of the Arrow C data interface."""


_ArrayPointer = ctypes.POINTER(_Array)
_Array._fields_ = [
    ("length", ctypes.c_int64),
    ("null_count", ctypes.c_int64),
    ("offset", ctypes.c_int64),
    ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.POINTER(_ArrayPointer)),
    ("dictionary", _ArrayPointer),
    ("release", ctypes.CFUNCTYPE(None, _ArrayPointer)),
    ("private_data", ctypes.c_void_p),
]


class _Stream(ctypes.Structure):
    """`struct ArrowArrayStream` of the Arrow C stream interface."""


_StreamPointer = ctypes.POINTER(_Stream)
_Stream._fields_ = [
    ("get_schema", ctypes.c_void_p),
    ("get_next", ctypes.CFUNCTYPE(ctypes.c_int, _StreamPointer, _ArrayPointer)),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_char_p, _StreamPointer)),
    ("release", ctypes.c_void_p),
    ("private_data", ctypes.c_void_p),
]

_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype = ctypes.c_void_p
_pointer_in.argtypes = [ctypes.py_object, ctypes.c_char_p]


def batches(
    relation: duckdb.DuckDBPyRelation, types: Sequence[DTypeLike]
) -> Iterator[tuple[NDArray[Any], ...]]:
    """Run a query whose columns are numbers of these types without nulls, and yield its pieces.

    The arrays lie in the engine's memory and are gone with the next step.
    """
    capsule = relation.__arrow_c_stream__()
    stream = ctypes.cast(_pointer_in(capsule, b"arrow_array_stream"), _StreamPointer)
    while True:
        piece = _Array()
        if stream.contents.get_next(stream, ctypes.byref(piece)):
            words = stream.contents.get_last_error(stream) or b"the stream broke off"
            raise duckdb.Error(words.decode(errors="replace"))
        if not piece.release:
            return
        try:
            yield tuple(
                _values(piece.children[i].contents, np.dtype(of)) for i, of in enumerate(types)
            )
        finally:
            piece.release(ctypes.byref(piece))


def _values(column: _Array, of: np.dtype[Any]) -> NDArray[Any]:
    if column.null_count > 0 or not column.length:
        if column.length:
            raise duckdb.Error("a column of numbers holds nulls")
        return np.empty(0, of)
    start = column.buffers[1] + column.offset * of.itemsize
    memory = (ctypes.c_char * (column.length * of.itemsize)).from_address(start)
    return np.frombuffer(memory, of)


MEMORY_LIMIT = "1200MB"
"""What DuckDB may hold before it spills to disk; the arrays that come home are on top of it."""

_MOST_THREADS = 8
"""More threads share the memory limit into parts too small for a group-by."""


@contextmanager
def private_connection(*, threads: int | None = None) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a database of our own, with a spill folder that goes when it closes.

    The default connection of the process belongs to the user: it is never touched.
    """
    with tempfile.TemporaryDirectory(prefix="judgelaw-") as spill:
        config: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY_LIMIT,
            "temp_directory": str(Path(spill) / "duckdb"),
            # An extension would be fetched from the network in the middle of an analysis.
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        con = duckdb.connect(":memory:", config=config)
        try:
            con.execute(f"SET threads = {threads or min(_cores(con), _MOST_THREADS)}")
            yield con
        finally:
            con.close()


def without_bar(con: duckdb.DuckDBPyConnection) -> None:
    """Keep the progress bar of DuckDB off stdout, which belongs to data.

    In a notebook without ipywidgets DuckDB has no bar, and takes no word about one.
    """
    with suppress(duckdb.InvalidInputException):
        con.execute("SET enable_progress_bar = false")


@contextmanager
def foreign_errors(what: str) -> Iterator[None]:
    """Turn every error of DuckDB and of the file system into one of ours, about `what`."""
    try:
        yield
    except JudgelawError:
        raise
    except duckdb.InterruptException as error:
        raise KeyboardInterrupt from error
    except duckdb.OutOfMemoryException as error:
        raise RunError(
            f"{what}: the memory limit of {MEMORY_LIMIT} or the disk for spilling is used up "
            f"({_first_line(error)}): free space in {tempfile.gettempdir()}, or split the table"
        ) from error
    except FileNotFoundError as error:
        raise TableError(f"{what}: there is no such file or folder: check the path") from error
    except (OSError, duckdb.Error) as error:
        if (full := storage_error(what, error)) is not None:
            raise full from error
        if isinstance(error, OSError):
            words = error.strerror or error
            raise TableError(f"{what}: {words}: check the path and its rights") from error
        raise TableError(f"{what} cannot be read or written: {_first_line(error)}") from error


def _cores(con: duckdb.DuckDBPyConnection) -> int:
    """What DuckDB takes this process to have, limits of a container included."""
    found = con.execute("SELECT current_setting('threads')").fetchone()
    return int(found[0]) if found else 1


def name(identifier: str) -> str:
    """Quote a column name for SQL."""
    return '"' + identifier.replace('"', '""') + '"'


def text(value: str) -> str:
    """Quote a string for SQL."""
    return "'" + value.replace("'", "''") + "'"


def _first_line(error: BaseException) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
