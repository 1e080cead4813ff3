"""The manifest on disk: one Parquet file in schedule order, written and read in blocks."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import duckdb
import numpy as np
from numpy.typing import NDArray

from judgelaw.parquet import one_file

Columns = Mapping[str, NDArray[Any]]

COLUMNS = {
    "call_id": "VARCHAR",
    "judge": "VARCHAR",
    "layer": "VARCHAR",
    "item": "VARCHAR",
    "stratum": "VARCHAR",
    "prompt": "VARCHAR",
    "order": "VARCHAR",
    "repeat": "INTEGER",
    "seed": "BIGINT",
    "position": "BIGINT",
    "request_sha256": "VARCHAR",
    "payload_sha256": "VARCHAR",
    "judge_sha256": "VARCHAR",
    "gold": "VARCHAR",
}
NO_SEED = 0
"""Stands for an absent seed in a block; no call has this seed."""

PAGE = 20_480

_FORMAT = f"(FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {PAGE})"
_QUOTED = ", ".join(f'"{name}"' for name in COLUMNS)


class TableWriter:
    """Collects blocks of rows outside memory and writes them as one Parquet file."""

    def __init__(self, scratch: Path, columns: Mapping[str, str]) -> None:
        """Open a table of these columns in the scratch folder."""
        self._columns = columns
        self._connection = duckdb.connect(str(scratch / "rows.duckdb"))
        # One thread keeps the rows in sequence; the object columns hold text only.
        # The progress bar would go to stdout, which belongs to data.
        self._connection.execute(
            "SET threads = 1; SET memory_limit = '256MB'; SET pandas_analyze_sample = 0; "
            "SET enable_progress_bar = false"
        )
        declared = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        self._connection.execute(f"CREATE TABLE rows ({declared})")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._connection.close()

    def add(self, block: Columns) -> None:
        """Append a block of rows."""
        chosen = ", ".join(
            f'nullif("{name}", {NO_SEED})' if name == "seed" else f'"{name}"'
            for name in self._columns
        )
        self._connection.register("block", dict(block))
        self._connection.execute(f"INSERT INTO rows SELECT {chosen} FROM block")  # noqa: S608 - column names are ours
        self._connection.unregister("block")

    def add_file(self, path: Path) -> None:
        """Append the rows of a file as they are."""
        chosen = ", ".join(f'"{name}"' for name in self._columns)
        self._connection.execute(
            f"INSERT INTO rows SELECT {chosen} FROM {one_file(path)}"  # noqa: S608 - column names are ours
        )

    def write(self, path: Path, *, sort: str | None = None) -> None:
        """Write everything, in the sequence in which it came or sorted by one column."""
        path.parent.mkdir(parents=True, exist_ok=True)
        order = f' ORDER BY "{sort}"' if sort else ""
        query = f"COPY (SELECT * FROM rows{order}) TO $path {_FORMAT}"  # noqa: S608 - the column name is ours
        self._connection.execute(query, {"path": str(path)})


@contextmanager
def reading() -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a small connection for reading."""
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1; SET enable_progress_bar = false")
        yield connection


def pages(path: Path, *, after: int, judge: str | None = None) -> Iterator[list[tuple[Any, ...]]]:
    """Yield rows behind a position, in sequence, one row group at a time."""
    condition = "" if judge is None else " AND judge = $judge"
    query = (
        f"SELECT {_QUOTED} FROM {one_file(path)} "  # noqa: S608 - column names are ours
        f"WHERE position > $after AND position <= $until{condition} ORDER BY position"
    )
    with reading() as connection:
        last = connection.execute(
            f"SELECT max(position) FROM {one_file(path)}"  # noqa: S608 - the path is quoted
        ).fetchall()[0][0]
        while last is not None and after < last:
            # Pages end where row groups end, so that each is read once.
            until = (after + 1) // PAGE * PAGE + PAGE - 1
            values: dict[str, Any] = {"after": after, "until": until}
            if judge is not None:
                values["judge"] = judge
            yield connection.execute(query, values).fetchall()
            after = until


def hex_strings(digests: NDArray[np.uint8]) -> NDArray[np.object_]:
    """Turn rows of digest bytes into an array of hexadecimal texts."""
    width = 2 * digests.shape[1]
    text = digests.tobytes().hex()
    strings = np.empty(len(digests), dtype=object)
    strings[:] = [text[place : place + width] for place in range(0, len(text), width)]
    return strings
