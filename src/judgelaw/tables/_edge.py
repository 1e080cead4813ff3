"""The edge to DuckDB: one private connection a job, and the map of its errors to ours."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb

from judgelaw.errors import JudgelawError, RunError, TableError, storage_error

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


@contextmanager
def foreign_errors(what: str) -> Iterator[None]:
    """Let no error of DuckDB or of the file system out: each becomes one of ours, about `what`."""
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
