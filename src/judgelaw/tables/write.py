"""Write a calls table (or any table of columns): whole or not at all, the same bytes each time."""

import os
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from judgelaw.duck import foreign_errors, name, private_connection, text
from judgelaw.errors import InputError
from judgelaw.systems import try_lock
from judgelaw.tables.columns import CONTRACT

Column = Sequence[Any] | NDArray[Any]
Block = Mapping[str, Column]

_COPY = {
    ".parquet": "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 122880",
    ".csv": "FORMAT csv, HEADER true, DELIMITER ','",
    ".csv.gz": "FORMAT csv, HEADER true, DELIMITER ',', COMPRESSION gzip",
    ".jsonl": "FORMAT json",
}

_SQL_TYPE = {bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", str: "VARCHAR"}
_KIND = {"b": bool, "i": int, "u": int, "f": float, "U": str, "T": str}


def write_calls(path: str | os.PathLike[str], columns: Block | Iterable[Block]) -> int:
    """Write columns, or a stream of blocks of columns, and return the number of rows.

    The columns of the contract come first, in its order; others follow as given. Rows keep their
    order, and the same rows give the same bytes. The file appears under its name when it is
    complete. A stream of blocks is written with bounded memory.

    Args:
        path: ends in `.parquet`, `.csv`, `.csv.gz` or `.jsonl`.
        columns: arrays or lists by column name, of text, whole numbers, numbers or truth values;
            None is a missing value. Every block has the columns of the first one.
    """
    target = Path(path)
    options = _COPY[_suffix(target)]
    blocks = iter([columns] if isinstance(columns, Mapping) else columns)
    with foreign_errors(str(target)):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _draft_folder(target) as folder:
            draft = folder / f"draft{_suffix(target)}"
            # One thread: the split into row groups must not depend on the machine.
            with private_connection(threads=1) as con:
                rows = _collect(con, blocks)
                con.execute(f"COPY calls TO {text(str(draft))} ({options})")
            _sync(draft)
            draft.replace(target)
    return rows


_ASK_AGAIN_S = 0.02


def write_query(path: str | os.PathLike[str], con: duckdb.DuckDBPyConnection, query: str) -> int:
    """Write what a query gives, as `write_calls` writes columns; return the number of rows."""
    target = Path(path)
    options = _COPY[_suffix(target)]
    with foreign_errors(str(target)):
        target.parent.mkdir(parents=True, exist_ok=True)
        with _draft_folder(target) as folder:
            draft = folder / f"draft{_suffix(target)}"
            (before,) = con.execute("SELECT current_setting('threads')").fetchone() or (1,)
            con.execute("SET threads = 1")
            try:
                found = con.execute(f"COPY ({query}) TO {text(str(draft))} ({options})").fetchone()
            finally:
                con.execute(f"SET threads = {before}")
            _sync(draft)
            draft.replace(target)
    return int(found[0]) if found else 0


@contextmanager
def _draft_folder(target: Path) -> Iterator[Path]:
    """Yield a folder beside a table to write its draft in, one writer at a time.

    The name is always the same: what a killed writer left goes with the next one.
    """
    folder = target.with_name(f".{target.name}.draft")
    with _hold(folder):
        try:
            yield folder
        finally:
            # Disks of a network keep an open file, and its folder, until it is closed.
            shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.rmdir()


def _hold(folder: Path) -> IO[str]:
    """Make a folder and wait until nobody else writes in it; the hold ends with the file's."""
    lock = folder / "lock"
    while True:
        folder.mkdir(exist_ok=True)
        with suppress(FileNotFoundError), ExitStack() as stack:
            held = stack.enter_context(lock.open("w"))
            while not try_lock(held.fileno()):
                time.sleep(_ASK_AGAIN_S)
            if os.path.samestat(os.fstat(held.fileno()), lock.stat()):
                stack.pop_all()
                return held
        # Whoever was waited for has removed its folder: make it anew.


def _suffix(target: Path) -> str:
    for suffix in sorted(_COPY, key=len, reverse=True):
        if target.name.lower().endswith(suffix):
            return suffix
    raise InputError(
        f"{target.name!r} names no format: a calls table is written as {', '.join(_COPY)}"
    )


def _collect(con: duckdb.DuckDBPyConnection, blocks: Iterable[Block]) -> int:
    """Append every block to the table `calls`, which spills to disk when memory is short."""
    kinds: dict[str, type | None] = {}
    rows = 0
    for number, block in enumerate(blocks):
        if not block:
            break
        if number == 0:
            kinds = dict.fromkeys(_in_order(block))
            con.execute(f"CREATE TABLE calls ({', '.join(f'{name(c)} VARCHAR' for c in kinds)})")
        if set(block) != set(kinds):
            raise InputError(
                f"block {number} has columns {sorted(block)}; the first has {sorted(kinds)}: "
                "every block of a table has the same columns"
            )
        lengths = {c: len(block[c]) for c in kinds}
        if len(set(lengths.values())) > 1:
            raise InputError(f"columns of block {number} differ in length: {lengths}")
        _settle(con, kinds, block)
        con.register("block", {c: _array(block[c], kinds[c]) for c in kinds})
        con.execute("INSERT INTO calls SELECT * FROM block")
        con.unregister("block")
        rows += next(iter(lengths.values()))
    if not kinds:
        raise InputError("there is no column to write: pass at least one block, empty if need be")
    return rows


def _in_order(block: Block) -> list[str]:
    return [c for c in CONTRACT if c in block] + [c for c in block if c not in CONTRACT]


def _settle(con: duckdb.DuckDBPyConnection, kinds: dict[str, type | None], block: Block) -> None:
    """Give each column the type of its first value; a column that never has one stays text.

    Nothing is held back to find it: until then the column is all missing, and changes type freely.
    Whole numbers become numbers when the first broken one comes.
    """
    for column, before in kinds.items():
        found = _kind(column, block[column])
        if found in (None, before) or (found, before) == (int, float):
            continue
        if before is not None and (before, found) != (int, float):
            raise InputError(
                f"column {column!r} holds {before.__name__} in one block and {found.__name__} in "
                "another: a column has one type"
            )
        kinds[column] = found
        con.execute(f"ALTER TABLE calls ALTER {name(column)} TYPE {_SQL_TYPE[found]}")


def _kind(column: str, values: Column) -> type | None:
    if isinstance(values, np.ndarray) and values.dtype.kind in _KIND:
        return _KIND[values.dtype.kind]
    kinds = {type(v.item() if isinstance(v, np.generic) else v) for v in values if v is not None}
    if kinds == {int, float}:
        return float
    if len(kinds) > 1 or not kinds <= set(_SQL_TYPE):
        found = ", ".join(sorted(kind.__name__ for kind in kinds))
        raise InputError(
            f"column {column!r} holds {found}: a column is all text, whole numbers, numbers or "
            "truth values, with None for a missing value"
        )
    return kinds.pop() if kinds else None


_SMALL = 2**31


def _array(values: Column, kind: type | None) -> NDArray[Any]:
    """Return an array for DuckDB; None is kept in arrays of objects.

    It takes the first whole numbers for the largest, so that larger ones have to come as text.
    """
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        return values
    array = np.empty(len(values), dtype=object)
    array[:] = values.tolist() if isinstance(values, np.ndarray) else list(values)
    if kind is int and any(v is not None and not -_SMALL <= v < _SMALL for v in array):
        array[:] = [None if v is None else str(v) for v in array]
    return array


def _sync(path: Path) -> None:
    """Flush the bytes to the disk before the file gets its name."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())
