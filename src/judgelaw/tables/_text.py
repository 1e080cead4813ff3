"""Text files the slow and certain way: which line is at fault, on which line a row stands.

DuckDB reads the file; this module is asked only when something is wrong, or once for a header.
"""

import csv
import json
import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from judgelaw.errors import TableError

_MARKS = {b"\xff\xfe": "UTF-16", b"\xfe\xff": "UTF-16", b"PK\x03\x04": "a zip or Excel workbook"}


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """A local, uncompressed text file; `table` is the name under which the user gave it."""

    table: str
    path: Path
    format: Literal["csv", "jsonl", "parquet"]

    def refuse_other_encodings(self) -> None:
        """Refuse what cannot be UTF-8 text."""
        with self.path.open("rb") as file:
            start = file.read(4)
        for mark, what in _MARKS.items():
            if start.startswith(mark):
                raise TableError(f"{self.table} is {what}: save it as plain text in UTF-8")

    def header(self) -> list[str]:
        """Read the names in the first line of a CSV file."""
        for line, record in self._csv_records():
            if line > 1:
                break
            if len(set(record)) < len(record):
                twice = next(name for name in record if record.count(name) > 1)
                raise TableError(f"{self.table}:1: two columns are called {twice!r}: rename one")
            return record
        raise TableError(f"{self.table}:1: no header: the first line names the columns")

    def fault(self, width: int) -> str | None:
        """Describe the first line that is no record of `width` fields, or no JSON object."""
        return self._csv_fault(width) if self.format == "csv" else self._json_fault()

    def lines(self, rows: Collection[int]) -> dict[int, int]:
        """Give the line on which each of the rows (counted from 0 after a header) starts."""
        wanted, found = set(rows), {}
        records = self._csv_rows() if self.format == "csv" else self._json_lines()
        for row, (line, _) in enumerate(records):
            if row in wanted:
                found[row] = line
            if len(found) == len(wanted):
                break
        return found

    def rewrite(self, target: Path, positions: Sequence[int]) -> None:
        """Copy the named fields with one kind of line end, for what DuckDB alone cannot read."""
        with target.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            for _, record in self._csv_records():
                writer.writerow([record[i] for i in positions])

    def _csv_fault(self, width: int) -> str | None:
        for line, record in self._csv_records():
            if not _is_utf8("".join(record)):
                return f"{self.table}:{line}: not UTF-8: save the file as plain text in UTF-8"
            if len(record) != width:
                return (
                    f"{self.table}:{line}: {len(record)} fields where the header has {width} "
                    f"({_shortened(','.join(record))}): complete the line, or quote its commas"
                )
        return None

    def _json_fault(self) -> str | None:
        for line, text in self._json_lines():
            if not _is_utf8(text):
                return f"{self.table}:{line}: not UTF-8: save the file as plain text in UTF-8"
            try:
                record = json.loads(text)
            except (ValueError, RecursionError) as error:
                return f"{self.table}:{line}: no JSON ({error}): write one object a line"
            if not isinstance(record, dict):
                return f"{self.table}:{line}: {_shortened(text)} is no object: write one a line"
        return None

    def _csv_rows(self) -> Iterator[tuple[int, list[str]]]:
        records = self._csv_records()
        next(records, None)
        return records

    def _csv_records(self) -> Iterator[tuple[int, list[str]]]:
        """Give each record that is not blank with the line on which it starts."""
        with (
            _fields_of_any_length(),
            self.path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file,
        ):
            reader = csv.reader(file, strict=True)
            line = 1
            try:
                for record in reader:
                    if record:
                        yield line, record
                    line = reader.line_num + 1
            except csv.Error as error:
                words = "close the quotes or double inner ones"
                raise TableError(f"{self.table}:{line}: {error}: {words}") from error

    def _json_lines(self) -> Iterator[tuple[int, str]]:
        with self.path.open(encoding="utf-8", errors="surrogateescape", newline="\n") as file:
            for line, text in enumerate(file, 1):
                if text.strip():
                    yield line, text


@contextmanager
def _fields_of_any_length() -> Iterator[None]:
    """Lift the limit of the csv module, which belongs to the process, for as long as we read."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shortened(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")  # noqa: PLR2004 - fits a terminal
