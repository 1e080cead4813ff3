"""Where a calls table lies, and on which line of it something is wrong.

Text files the slow and certain way: which line is at fault, on which line a row stands.

DuckDB reads the file; this module is asked only when something is wrong, or once for a header.
"""

import csv
import glob
import gzip
import json
import os
import shutil
import sys
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

from judgelaw.duck import foreign_errors
from judgelaw.errors import InputError, MissingExtraError, TableError
from judgelaw.tables.columns import PEEKED
from judgelaw.words import did_you_mean

Format = Literal["csv", "jsonl", "parquet"]

FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".csv.gz": "csv",
    ".jsonl": "jsonl",
    ".jsonl.gz": "jsonl",
    ".parquet": "parquet",
}

_RUN_FILES = ("study.yaml", "manifest.parquet", "manifest.json")


@dataclass(frozen=True, kw_only=True)
class FileSource:
    """A calls table in one or more files.

    Attributes:
        table: as the user named it.
        pattern: what DuckDB opens, a path or glob or address.
        format: how it is written.
        gzipped: whether text is compressed.
        store: the file system of an object store, None for this machine's own.
        single: whether the pattern names one file.
    """

    table: str
    pattern: str
    format: Format
    gzipped: bool = False
    store: Any = None
    single: bool = False

    def local_text(self, folder: Path) -> Path:
        """Return the path of uncompressed text on this machine, made in `folder` if need be."""
        if self.store is None and not self.gzipped:
            return Path(self.pattern)
        target = folder / f"calls.{self.format}"
        with store_errors(self.table), self._open() as plain, target.open("wb") as file:
            try:
                shutil.copyfileobj(plain, file, 1 << 20)
            except EOFError as error:
                raise TableError(
                    f"{self.table}: the gzip stream ends in the middle, so rows are missing: "
                    "copy or export the file again"
                ) from error
            except (gzip.BadGzipFile, zlib.error) as error:
                raise TableError(f"{self.table}: no sound gzip file ({error})") from error
        return target

    @contextmanager
    def _open(self) -> "Iterator[IO[bytes] | gzip.GzipFile]":
        """Open the text, unpacked."""
        place = self.pattern
        with Path(place).open("rb") if self.store is None else self.store.open(place, "rb") as file:
            if not self.gzipped:
                yield file
                return
            with gzip.open(file) as plain:
                yield plain


def locate(source: str | os.PathLike[str]) -> FileSource:
    """Find out what a path, glob or address names."""
    place = os.fspath(source)
    if not isinstance(place, str):
        raise InputError(f"{place!r} is bytes: pass the path as text")
    if "://" in place:
        return _in_store(place)
    path = Path(place).expanduser()
    with foreign_errors(place):
        if path.is_dir():
            return _in_folder(place, path)
        if path.exists():
            return _file(place, str(path), None)
    if glob.has_magic(place):
        return _matching(place, str(path))
    raise TableError(f"{place}: there is no such file or folder{_neighbour(path)}: check the path")


@contextmanager
def store_errors(table: str) -> Iterator[None]:
    """Turn every error of a store's client into one of ours; each client has its own classes."""
    with foreign_errors(table):
        try:
            yield
        except (OSError, InputError, MissingExtraError):
            raise
        except Exception as error:
            if type(error).__module__.startswith(("botocore", "aiobotocore", "s3fs", "aiohttp")):
                raise TableError(
                    f"{table}: the object store answered {error}: check the address, the "
                    "credentials (AWS_PROFILE, AWS_ACCESS_KEY_ID) and AWS_ENDPOINT_URL"
                ) from error
            raise


def _in_folder(place: str, path: Path) -> FileSource:
    calls = path / "calls.parquet"
    if calls.exists():
        return _file(place, str(calls), None)
    if any((path / name).exists() for name in _RUN_FILES):
        raise TableError(
            f"{place} is a run without a calls table: acquire it with `judgelaw run` first"
        )
    if not any(path.rglob("*.parquet")):
        raise TableError(
            f"{place} holds neither calls.parquet nor any Parquet file: name a file, "
            f"{', '.join(FORMATS)}"
        )
    return FileSource(
        table=place, pattern=glob.escape(str(path)) + "/**/*.parquet", format="parquet"
    )


def _matching(place: str, pattern: str) -> FileSource:
    found = glob.glob(pattern, recursive=True)  # noqa: PTH207 - the pattern may be absolute
    if not found:
        raise TableError(f"{place}: no file matches: check the path")
    if any(not name.lower().endswith(".parquet") for name in found):
        raise TableError(
            f"{place} matches {min(found)!r}: several files are read together as Parquet only: "
            "name one file, or convert them"
        )
    return FileSource(table=place, pattern=pattern, format="parquet")


def _in_store(place: str) -> FileSource:
    scheme = place.partition("://")[0]
    if scheme != "s3":
        raise InputError(
            f"{place}: no way to read {scheme}:// addresses: copy it here, or use s3://"
        )
    try:
        import s3fs  # noqa: PLC0415 - an extra, and slow to import
    except ImportError as error:
        raise MissingExtraError(
            f"{place} lies in an object store: pip install 'judgelaw[s3]'"
        ) from error
    with store_errors(place):
        store = s3fs.S3FileSystem()
    if _suffix(place) is None:
        return FileSource(
            table=place, pattern=f"{place.rstrip('/')}/**/*.parquet", format="parquet", store=store
        )
    return _file(place, place, store)


def _file(place: str, path: str, store: Any) -> FileSource:
    suffix = _suffix(path)
    if suffix is None:
        raise TableError(
            f"{place}: a calls table ends in {', '.join(FORMATS)}: rename or convert the file"
        )
    form = FORMATS[suffix]
    pattern = glob.escape(path) if form == "parquet" and store is None else path
    return FileSource(
        table=place,
        pattern=pattern,
        format=form,
        gzipped=suffix.endswith(".gz"),
        store=store,
        single=store is None or not glob.has_magic(path),
    )


def _suffix(path: str) -> str | None:
    ends = [suffix for suffix in FORMATS if path.lower().endswith(suffix)]
    return max(ends, key=len, default=None)


def _neighbour(path: Path) -> str:
    """Name the file beside it that the user may have meant."""
    if not path.parent.is_dir():
        return ""
    return did_you_mean(path.name, (entry.name for entry in path.parent.iterdir()))


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

    def first(self, columns: list[str]) -> Iterator[list[Any]]:
        """Yield these fields of the first rows, as far as they can be read."""
        if self.format == "csv":
            places = [self.header().index(column) for column in columns]
            for _, record in islice(self._csv_rows(), PEEKED):
                yield [record[place] if place < len(record) else "" for place in places]
            return
        for _, line in islice(self._json_lines(), PEEKED):
            record = json.loads(line)
            yield [record.get(column, "") for column in columns]

    def fault(self, width: int) -> str | None:
        """Describe the first line that is no record of `width` fields, or no JSON object."""
        return self._csv_fault(width) if self.format == "csv" else self._json_fault()

    def lines(self, rows: Collection[int]) -> dict[int, int]:
        """Return the line on which each of the rows (counted from 0 after a header) starts."""
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
        """Yield each record that is not blank, with the line on which it starts."""
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
    """Remove the length limit of the csv module, which is the process's, while we read."""
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
