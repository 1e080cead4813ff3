"""Records of files: one reader of JSON lines, JSON documents, CSV and Parquet.

Items of studies, logs of other tools and calls tables are all read here, so that every file meets
the same limits, the same encoding and the same words. DuckDB scans the large tables; for those
this module opens and unpacks the file, and is asked again when a line has to be named.
"""

import csv
import errno
import gzip
import io
import json
import os
import re
import stat
import sys
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO, Any

from judgelaw.duck import one_file
from judgelaw.errors import InputError, JudgelawError, TableError
from judgelaw.steps import Advance, unheard
from judgelaw.systems import AT_ONCE, PRIVATE

Record = tuple[str, dict[str, Any]]
"""Where a record stands (`file:line`) and its fields under the file's own names."""

Kind = type[InputError]
"""The error that a caller's user expects: of a table, or of a study."""

LARGEST_PIECE = 64 * 2**20
"""Bytes of one line, or of one entry of an archive, when unpacked."""
MOST_MARKS = 2_000_000
"""Commas and opening brackets in one piece: each may become an object of a hundred bytes."""
_MOST_IN_DOCUMENT = 5_000_000

MOST_UNPACKED = 8 * 2**30
RAISED_BY = "JUDGELAW_MOST_UNPACKED"
"""The variable of the environment that states another limit, `20GB` or a number of bytes."""
_RATIO, ALWAYS = 500, 64 * 2**20
"""How much smaller than its content a file may be; small content may be as small as it likes."""
_UNITS = {"": 1, "kb": 2**10, "mb": 2**20, "gb": 2**30, "tb": 2**40}

_STARTS = (
    (b"version https://git-lfs.github.com/spec/", "a Git LFS pointer, not the file it stands for"),
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"PK\x03\x04", "a zip or Excel workbook"),
    (b"\x28\xb5\x2f\xfd", "packed by zstd"),
    (b"BZh", "packed by bzip2"),
    (b"\xfd7zXZ\x00", "packed by xz"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"ARROW1", "an Arrow or Feather file"),
    (b"%PDF-", "a PDF"),
    (b"\x89HDF\r\n", "an HDF5 file"),
    (b"\xd0\xcf\x11\xe0", "an old Excel workbook"),
)
_REMEDIES = {
    "a Git LFS pointer, not the file it stands for": "fetch the file, git lfs pull",
    "UTF-16": "save it as plain text in UTF-8",
    "a zip or Excel workbook": "unpack it, or save the sheet as plain text in UTF-8 (CSV)",
    "a web page (HTML)": "the address led to a page, not to the file: download the raw file",
}
_PAGE = re.compile(rb"\s*<(!doctype html|html|head|\?xml)", re.IGNORECASE)


def check_regular(path: Path, kind: Kind = TableError) -> None:
    """Refuse what is no regular file: a pipe would be waited for without end.

    A name that is not UTF-8 is refused too, since neither DuckDB nor JSON can write it.
    """
    try:
        str(path).encode()
    except UnicodeEncodeError:
        shown = os.fsencode(path).decode(errors="backslashreplace")
        raise kind(f"{shown}: the name of the file is not UTF-8: rename it") from None
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise kind(f"{path}: there is no such file: check the path") from None
    except (OSError, ValueError) as error:
        words = getattr(error, "strerror", None) or error
        raise kind(f"{path}: {words}: check the path") from None
    if stat.S_ISREG(mode):
        return
    if stat.S_ISDIR(mode):
        raise kind(f"{path} is a folder: name the files in it")
    what = "a named pipe" if stat.S_ISFIFO(mode) else "a device or socket"
    raise kind(f"{path} is {what}, no regular file: write the content to a file, and name that")


MOST_READ = 2**28
"""Bytes of a file that is read whole: studies, prompts, what was frozen."""


def read_regular(path: Path, most: int = MOST_READ) -> bytes:
    """Read a regular file whole.

    Raises:
        OSError: it is a pipe, which would be waited for without end, a device, which has none, or
            larger than `most` bytes.
    """
    with open(path, "rb", opener=_without_waiting) as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            what = "a named pipe" if stat.S_ISFIFO(found.st_mode) else "a device or socket"
            raise OSError(errno.EINVAL, f"it is {what}, no regular file", str(path))
        if found.st_size > most:
            words = f"{found.st_size:,} bytes, where {most:,} may be"
            raise OSError(errno.EFBIG, words, str(path))
        return file.read()


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | AT_ONCE | PRIVATE)


def foreign(start: bytes) -> str | None:
    """Say what a file is that holds no records, and the remedy, by its first bytes."""
    what = next((words for mark, words in _STARTS if start.startswith(mark)), None)
    if what is None and _PAGE.match(start):
        what = "a web page (HTML)"
    if what is None:
        return None
    remedy = _REMEDIES.get(what, "unpack or export it as CSV, JSON lines or Parquet")
    return f"is {what}: {remedy}"


def most_unpacked(packed: int) -> int:
    """Return how many bytes a file of so many may unpack to."""
    told = os.environ.get(RAISED_BY)
    if told is None:
        return min(MOST_UNPACKED, max(ALWAYS, _RATIO * packed))
    found = re.fullmatch(r"\s*(\d{1,15})\s*([kmgt]b)?\s*", told, re.IGNORECASE)
    if found is None:
        raise InputError(f"{RAISED_BY}={told!r} is no size: write bytes, or 20GB")
    return int(found[1]) * _UNITS[(found[2] or "").lower()]


def check_unpacked(place: object, packed: int, plain: int, kind: Kind = TableError) -> None:
    """Refuse content that is too large, or far too large for what it was packed into."""
    if plain > (most := most_unpacked(packed)):
        raise kind(
            f"{place}: {packed} bytes unpack to more than {most} ({most // max(packed, 1)} times "
            f"as much): if you trust it, unpack it yourself, or set {RAISED_BY}=20GB"
        )


@contextmanager
def file_errors(path: Path, kind: Kind = TableError) -> Iterator[None]:
    """Turn every error of the file system and of a decoder into one of ours."""
    try:
        yield
    except JudgelawError:
        raise
    except FileNotFoundError as error:
        raise kind(f"{path}: there is no such file: check the path") from error
    except EOFError as error:
        raise kind(
            f"{path}: damaged or cut: the gzip stream ends in the middle, so rows are missing: "
            "copy or export the file again"
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise kind(f"{path}: damaged, no sound gzip file ({error}): copy it again") from error
    except UnicodeDecodeError as error:
        raise kind(
            f"{path}: not UTF-8 (byte 0x{error.object[error.start]:02x}): save the file as plain "
            "text in UTF-8"
        ) from error
    except OSError as error:
        raise kind(f"{path}: {error.strerror or error}: check the path") from error


class _Unpacked(io.RawIOBase):
    """Unpacked bytes that refuse to grow without measure."""

    def __init__(self, file: IO[bytes], size: int, path: object, kind: Kind) -> None:
        self._plain = gzip.GzipFile(fileobj=file)
        self._given = 0
        self._check = partial(check_unpacked, path, size, kind=kind)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._plain.read(len(buffer))
        buffer[: len(found)] = found
        self._given += len(found)
        self._check(plain=self._given)
        return len(found)


@contextmanager
def unpacked(
    file: IO[bytes], size: int, path: object, kind: Kind = TableError
) -> Iterator[IO[bytes]]:
    """Show an open file of `size` bytes as plain bytes, gzipped or not."""
    packed = file.read(2) == b"\x1f\x8b"
    file.seek(0)
    if packed or str(path).lower().endswith(".gz"):
        yield io.BufferedReader(_Unpacked(file, size, path, kind), 1 << 16)
    else:
        yield file


@contextmanager
def open_plain(path: Path, kind: Kind = TableError) -> Iterator[IO[bytes]]:
    """Open a regular file, unpacked."""
    check_regular(path, kind)
    with (
        file_errors(path, kind),
        path.open("rb") as file,
        unpacked(file, path.stat().st_size, path, kind) as plain,
    ):
        yield plain


@contextmanager
def open_text(path: Path, kind: Kind = TableError) -> Iterator[IO[str]]:
    """Open a text in UTF-8, unpacked, its line ends as they are."""
    with open_plain(path, kind) as plain:
        # What is not UTF-8 is told with its line, by whoever reads that line.
        yield io.TextIOWrapper(plain, "utf-8-sig", errors="surrogateescape", newline="\n")


def text_lines(path: Path, kind: Kind = TableError) -> Iterator[tuple[int, str]]:
    """Yield the lines that are not blank with their numbers; only line feeds end a line."""
    with open_text(path, kind) as file:
        number = 0
        while line := file.readline(LARGEST_PIECE + 1):
            number += 1
            place = f"{path}:{number}"
            check_piece(len(line), place, kind)
            check_utf8(line, place, kind)
            if line.strip():
                yield number, line


def json_lines(path: Path, tick: Advance = unheard, kind: Kind = TableError) -> Iterator[Record]:
    """Yield every object of a file of JSON lines."""
    for number, line in text_lines(path, kind):
        place = f"{path}:{number}"
        tick(len(line))
        yield (
            place,
            an_object(json_value(line.strip(), place, kind), place, kind, "write one a line"),
        )


def json_document(path: Path, tick: Advance = unheard, kind: Kind = TableError) -> Any:
    """Read one JSON document."""
    with open_plain(path, kind) as plain:
        content = plain.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _not_utf8(f"{path}:{line}", content[error.start], kind) from None
    if _marks(text) > _MOST_IN_DOCUMENT:
        raise kind(
            f"{path}: more than {_MOST_IN_DOCUMENT} values in one document: write one record a "
            "line (.jsonl), which is read piece by piece"
        )
    value = json_value(text, str(path), kind, most=_MOST_IN_DOCUMENT)
    tick(path.stat().st_size)
    return value


def json_array(path: Path, kind: Kind = TableError) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON array with the line on which each starts."""
    with open_plain(path, kind) as plain:
        content = plain.read()
    text = content.decode("utf-8-sig", errors="surrogateescape")
    decoder = json.JSONDecoder(object_pairs_hook=_fields)
    place, line = _skip(text, 0, "["), 1
    if place is None:
        raise kind(f"{path}:1: no JSON array: write a list of objects")
    before = 0
    while (start := _skip(text, place, "")) is not None and text[start : start + 1] != "]":
        line, before = line + text.count("\n", before, start), start
        where = f"{path}:{line}"
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            raise kind(f"{where}: no JSON ({error}): mend the file, or export it again") from None
        check_utf8(text[start:end], where, kind)
        yield line, an_object(value, where, kind, "write a list of objects")
        after = _skip(text, end, "")
        if after is not None and text[after] not in ",]":
            raise kind(f"{where}: no comma after this record: mend the file, or export it again")
        place = _skip(text, end, ",") or end
    if start is None:
        raise kind(f"{path}: the list is not closed: the file is cut, fetch it again")


def _skip(text: str, place: int, mark: str) -> int | None:
    """Step over blanks and one mark; None where the mark is missing or the text ends."""
    while place < len(text) and text[place] in " \t\r\n":
        place += 1
    if place == len(text) or not text.startswith(mark, place):
        return None
    return place + len(mark)


def json_value(text: str, place: str, kind: Kind = TableError, *, most: int | None = None) -> Any:
    """Read one piece of JSON; two fields of one name in an object are refused."""
    most = MOST_MARKS if most is None else most
    if len(text) > most and _marks(text) > most:
        raise kind(f"{place}: more than {most} values in one piece: no log of a judge has so many")
    try:
        return json.loads(text, object_pairs_hook=_fields)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", 1)
        where = place if line == 1 else f"{place}:{line}"
        raise kind(
            f"{where}: no JSON ({error}): write one object a line, or export the log again"
        ) from None


def json_of(text: str | bytes) -> Any:
    """Read JSON as it is; what is nested too deep to be read is no JSON either.

    Raises:
        ValueError: it is none.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def _marks(text: str) -> int:
    return sum(map(text.count, ",[{"))


def _fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"two fields are called {twice!r}")
    return fields


def an_object(value: Any, place: str, kind: Kind, remedy: str) -> dict[str, Any]:
    """Return a record if it is one."""
    if isinstance(value, dict):
        return value
    raise kind(f"{place}: a JSON {type(value).__name__} is no object: {remedy}")


def csv_records(
    path: Path, kind: Kind = TableError, *, delimiter: str = ","
) -> Iterator[tuple[int, list[str]]]:
    """Yield each record that is not blank, the header too, with the line on which it starts."""
    with open_text(path, kind) as file:
        reader = csv.reader(file, strict=True, delimiter=delimiter)
        line = 1
        try:
            while (record := _next_of_any_length(reader)) is not None:
                if record:
                    yield line, record
                line = reader.line_num + 1
        except csv.Error as error:
            words = "close the quotes or double inner ones"
            raise kind(f"{path}:{line}: no CSV ({error}): {words}") from error


def _next_of_any_length(reader: Iterator[list[str]]) -> list[str] | None:
    """Take the next record without the length limit of the csv module, which is the process's."""
    limit = csv.field_size_limit(sys.maxsize)
    try:
        return next(reader, None)
    finally:
        csv.field_size_limit(limit)


@dataclass(frozen=True, kw_only=True)
class CsvForm:
    """How a CSV file is laid out.

    Attributes:
        separator: between fields.
        skipped: records before the header.
        told: sentences on what is not as the name of the file says.
    """

    separator: str = ","
    skipped: int = 0
    told: tuple[str, ...] = ()


_SEPARATORS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}
_LOOKED_AT = 20


def csv_form(path: Path) -> CsvForm:
    """Find what separates the fields, and what stands before the header."""
    usual = "\t" if path.name.lower().removesuffix(".gz").endswith((".tsv", ".tab")) else ","
    sequence = (usual, *(each for each in _SEPARATORS if each != usual))
    tried = {separator: _widths(path, separator) for separator in sequence}
    # A comma may stand in every number of a file that is separated by semicolons.
    even = [each for each, (widths, _) in tried.items() if len({*widths}) == 1 and widths[0] > 1]
    some = [each for each, (widths, _) in tried.items() if max(widths, default=0) > 1]
    if not some:
        return CsvForm(separator=usual)
    separator = (even or some)[0]
    widths, first = tried[separator]
    told = []
    if separator != usual:
        told.append(f"{path} is separated by {_SEPARATORS[separator]}, and was read so")
    before = widths[:3]
    skipped = int(len(before) > 2 and before[0] == 1 and before[1] == before[2] > 1)  # noqa: PLR2004 - two alike
    if skipped:
        told.append(f"{path}:1: {first[:60]!r} stands before the header, and was left out")
    return CsvForm(separator=separator, skipped=skipped, told=tuple(told))


def _widths(path: Path, separator: str) -> tuple[list[int], str]:
    """Count the fields of the first records, as far as they can be read."""
    widths, first = [], ""
    with suppress(TableError):
        for _, record in islice(csv_records(path, delimiter=separator), _LOOKED_AT):
            first = first or record[0]
            widths.append(len(record))
    return widths, first


def csv_rows(path: Path, tick: Advance = unheard, kind: Kind = TableError) -> Iterator[Record]:
    """Yield every row of a CSV file under the names in its header."""
    form = csv_form(path)
    records = islice(csv_records(path, kind, delimiter=form.separator), form.skipped, None)
    line, header = next(records, (1, []))
    check_header(header, f"{path}:{line}", kind)
    for line, record in records:
        place = f"{path}:{line}"
        if (fault := width_fault(record, len(header))) is not None:
            raise kind(f"{place}: {fault}")
        for field in record:
            check_utf8(field, place, kind)
        tick(sum(map(len, record)) + len(record))
        yield place, dict(zip(header, record, strict=True))


def check_header(header: list[str], place: str, kind: Kind = TableError) -> None:
    """Refuse a table without names, or with two columns of one name."""
    if not header:
        raise kind(f"{place}: no header: the first line names the columns")
    for name in islice(header, 100):
        check_utf8(name, place, kind)
    if len(set(header)) < len(header):
        twice = next(name for name, times in Counter(header).items() if times > 1)
        raise kind(f"{place}: two columns are called {twice!r}: rename one")


def width_fault(record: list[str], width: int) -> str | None:
    """Say what is wrong with a record that does not have as many fields as the header."""
    if len(record) == width:
        return None
    return (
        f"{len(record)} fields where the header has {width} "
        f"({_shortened(','.join(islice(record, 20)))}): complete the line, or quote its commas"
    )


def parquet_rows(path: Path, tick: Advance = unheard, kind: Kind = TableError) -> Iterator[Record]:
    """Yield every row of a Parquet file."""
    import duckdb  # noqa: PLC0415 - other formats do not need it

    check_regular(path, kind)
    with duckdb.connect() as connection:
        try:
            check_parquet(connection, path, kind)
            found = connection.execute(f"SELECT * FROM {one_file(path)}")  # noqa: S608 - the path is quoted
            names = [column[0] for column in found.description or ()]
            for number, row in enumerate(iter(found.fetchone, None), 1):
                yield f"{path} row {number}", dict(zip(names, row, strict=True))
        except duckdb.Error as error:
            raise kind(f"{path}: no sound Parquet file ({error}): copy it again") from None
    tick(path.stat().st_size)


def check_parquet(connection: Any, path: Path, kind: Kind = TableError) -> None:
    """Refuse a Parquet file that would fill the memory: a run of equal values takes no room."""
    scan = (
        one_file(path)
        .replace("read_parquet(", "parquet_metadata(")
        .replace(", hive_partitioning=false", "")
    )
    (plain, values), *_ = connection.execute(
        f"SELECT sum(total_uncompressed_size), sum(num_values) FROM {scan}"  # noqa: S608 - quoted
    ).fetchall()
    check_unpacked(path, path.stat().st_size, max(plain or 0, values or 0), kind)


def check_utf8(text: str, place: str, kind: Kind = TableError) -> None:
    """Refuse text that was read with bytes that are no UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise _not_utf8(place, ord(text[error.start]) & 0xFF, kind) from None


def _not_utf8(place: str, byte: int, kind: Kind) -> InputError:
    return kind(f"{place}: not UTF-8 (byte 0x{byte:02x}): save the file as plain text in UTF-8")


def check_piece(size: int, place: str, kind: Kind = TableError) -> None:
    """Refuse a line or entry that is larger than any log has it."""
    if size > LARGEST_PIECE:
        raise kind(f"{place}: more than {LARGEST_PIECE} bytes in one piece: is it the right file?")


def _shortened(text: str) -> str:
    text = text.strip()
    return repr(text if len(text) <= 60 else text[:57] + "...")  # noqa: PLR2004 - fits a terminal


_NUMBER = r"[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d{1,3})?"
_WHOLE = 9e15
"""A double holds every whole number below 2^53."""


def number_text(text: str) -> str:
    """Return the one spelling of a number, any other text as it is.

    >>> number_text("1.0"), number_text(" 0.50 "), number_text("1e0"), number_text("007")
    ('1', '0.5', '1', '007')
    """
    if re.fullmatch(_NUMBER, text.strip(), re.ASCII) is None:
        return text
    value = float(text)
    if abs(value) >= _WHOLE:
        return text
    return str(int(value)) if value == int(value) else repr(value)


def number_sql(column: str) -> str:
    """Return the SQL of the one spelling of a number in a column of text, as `number_text`."""
    number = f"TRY_CAST({column} AS DOUBLE)"
    return (
        f"CASE WHEN regexp_full_match(trim({column}, ' \t\n\r'), '{_NUMBER}') "
        f"AND abs({number}) < {_WHOLE} THEN "
        f"CASE WHEN {number} = trunc({number}) THEN {number}::BIGINT::VARCHAR "
        f"ELSE {number}::VARCHAR END ELSE {column} END"
    )
