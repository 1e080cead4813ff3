"""Where a table lies, what it is written in, and on which line of it something is wrong.

The name of a file says what it should be, its first bytes what it is; where the two differ, the
bytes are believed and the reader is told. DuckDB reads the content; this module is asked again only
when a line has to be named.
"""

import csv
import glob
import json
import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from judgelaw.duck import foreign_errors
from judgelaw.errors import InputError, MissingExtraError, TableError
from judgelaw.record_files import (
    LARGEST_PIECE,
    CsvForm,
    check_header,
    check_regular,
    check_utf8,
    csv_form,
    csv_records,
    file_errors,
    foreign,
    json_array,
    json_lines,
    json_value,
    open_plain,
    text_lines,
    width_fault,
)
from judgelaw.words import did_you_mean

Format = Literal["csv", "jsonl", "array", "document", "parquet"]
"""`array` is one JSON list of records, `document` one JSON object that holds them."""

_SUFFIXES: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".tab": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "document",
    ".parquet": "parquet",
}
ENDINGS = ", ".join((*_SUFFIXES, "each text also .gz"))

_RUN_FILES = ("study.yaml", "manifest.parquet", "manifest.json")
_MOST_FILES = 20_000
_SNIFFED = 1 << 16


@dataclass(frozen=True, kw_only=True)
class FileSource:
    """A table in one file, or in Parquet files that are scanned as one.

    Attributes:
        table: as the user named it.
        pattern: what is opened, a path or glob or address.
        format: how it is written, as far as the name says.
        store: the file system of an object store, None for this machine's own.
        single: whether the pattern names one file.
    """

    table: str
    pattern: str
    format: Format | None
    store: Any = None
    single: bool = True


def locate(source: str | os.PathLike[str]) -> list[FileSource]:
    """Find out which files a path, glob or address names."""
    place = os.fspath(source)
    if not isinstance(place, str):
        raise InputError(f"{place!r} is bytes: pass the path as text")
    if "://" in place:
        return [_in_store(place)]
    path = Path(place).expanduser()
    with foreign_errors(place):
        if path.is_dir():
            return _in_folder(place, path)
        if path.exists():
            return [_file(place, path)]
    if glob.has_magic(place):
        return _matching(place, str(path))
    if not place.isprintable():
        check_regular(path)
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


def _in_folder(place: str, path: Path) -> list[FileSource]:
    calls = path / "calls.parquet"
    if calls.exists():
        return [_file(place, calls)]
    if any((path / name).exists() for name in _RUN_FILES):
        raise TableError(
            f"{place} is a run without a calls table: acquire it with `judgelaw run` first"
        )
    if any(path.rglob("*.parquet")):
        pattern = glob.escape(str(path)) + "/**/*.parquet"
        return [FileSource(table=place, pattern=pattern, format="parquet", single=False)]
    found = sorted(
        each
        for each in islice(path.rglob("*"), 10 * _MOST_FILES)
        if ending(each.name) is not None and not each.name.startswith(".") and each.is_file()
    )
    if not found:
        raise TableError(
            f"{place} holds neither calls.parquet nor any other file of records: name a file, "
            f"{ENDINGS}"
        )
    return _several(place, found)


def _matching(place: str, pattern: str) -> list[FileSource]:
    found = glob.glob(pattern, recursive=True)  # noqa: PTH207 - the pattern may be absolute
    if not found:
        raise TableError(f"{place}: no file matches: check the path")
    if all(name.lower().endswith(".parquet") for name in found):
        return [FileSource(table=place, pattern=pattern, format="parquet", single=False)]
    return _several(place, sorted(Path(name) for name in found if not Path(name).is_dir()))


def _several(place: str, paths: Sequence[Path]) -> list[FileSource]:
    if len(paths) > _MOST_FILES:
        raise TableError(
            f"{place}: more than {_MOST_FILES} files: join them into one, a record a line"
        )
    return [_file(str(path), path) for path in paths]


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
    found = ending(place)
    if found is None:
        pattern = f"{place.rstrip('/')}/**/*.parquet"
        return FileSource(table=place, pattern=pattern, format="parquet", store=store, single=False)
    single = not glob.has_magic(place)
    return FileSource(
        table=place, pattern=place, format=_SUFFIXES[found], store=store, single=single
    )


def _file(place: str, path: Path) -> FileSource:
    check_regular(path)
    found = ending(path.name)
    return FileSource(
        table=place, pattern=str(path), format=None if found is None else _SUFFIXES[found]
    )


def ending(name: str) -> str | None:
    """Return the ending that says how a file is written, without the `.gz` of a packed one."""
    plain = name.lower()
    if plain.endswith(".gz") and not plain.endswith(".parquet.gz"):
        plain = plain.removesuffix(".gz")
    return next((suffix for suffix in _SUFFIXES if plain.endswith(suffix)), None)


def _neighbour(path: Path) -> str:
    """Name the file beside it that the user may have meant."""
    if not path.parent.is_dir():
        return ""
    return did_you_mean(path.name, (entry.name for entry in islice(path.parent.iterdir(), 1000)))


@dataclass(frozen=True, kw_only=True)
class TextFile:
    """A text file of records.

    Attributes:
        table: the name under which the user gave it.
        path: the file as it is, which messages name.
        plain: the same unpacked, which DuckDB reads.
        form: how a CSV file is laid out.
        told: sentences on what was not as its name says.
    """

    table: str
    path: Path
    plain: Path
    format: Format
    form: CsvForm = field(default_factory=CsvForm)
    told: tuple[str, ...] = field(default=())

    def header(self) -> tuple[int, list[str]]:
        """Read the line of the header, and the names in it."""
        for line, record in islice(self._csv_records(), self.form.skipped, None):
            check_header(record, f"{self.table}:{line}")
            return line, record
        raise TableError(f"{self.table}:1: no header: the first line names the columns")

    def fault(self, width: int) -> str | None:
        """Describe the first line that is no record of `width` fields, or no JSON object."""
        try:
            if self.format != "csv":
                for _ in self.objects():
                    pass
                return None
            for line, record in islice(self._csv_records(), self.form.skipped, None):
                place = f"{self.table}:{line}"
                check_utf8("".join(record), place)
                if (words := width_fault(record, width)) is not None:
                    return f"{place}: {words}"
        except TableError as error:
            return str(error)
        return None

    def objects(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every JSON object, with its place."""
        if self.format == "array":
            return ((f"{self.table}:{line}", value) for line, value in json_array(self.path))
        return json_lines(self.path)

    def lines(self, rows: Collection[int]) -> dict[int, int]:
        """Return the line on which each of the rows (counted from 0 after a header) starts."""
        wanted, found = set(rows), {}
        records: Iterator[tuple[int, Any]]
        if self.format == "csv":
            records = islice(self._csv_records(), self.form.skipped + 1, None)
        elif self.format == "array":
            records = json_array(self.path)
        else:
            records = text_lines(self.path)
        for row, (line, _) in enumerate(records):
            if row in wanted:
                found[row] = line
            if len(found) == len(wanted):
                break
        return found

    def rewrite(self, target: Path) -> None:
        """Copy the records in one plain form, for what DuckDB alone cannot read."""
        with target.open("w", encoding="utf-8", errors="replace", newline="") as file:
            if self.format == "csv":
                writer = csv.writer(file, lineterminator="\n")
                for _, record in islice(self._csv_records(), self.form.skipped, None):
                    writer.writerow(record)
                return
            for _, value in self.objects():
                json.dump(value, file, ensure_ascii=False)
                file.write("\n")

    def _csv_records(self) -> Iterator[tuple[int, list[str]]]:
        return csv_records(self.path, delimiter=self.form.separator)


def text_file(found: FileSource, folder: Path) -> TextFile | None:
    """Say how a file is written, unpacked into `folder` if need be; None for a Parquet file."""
    path = plain = Path(found.pattern)
    if found.store is not None:
        path = plain = folder / Path(found.pattern).name
        with (
            store_errors(found.table),
            found.store.open(found.pattern, "rb") as remote,
            path.open("wb") as file,
        ):
            shutil.copyfileobj(remote, file, 1 << 20)
    with open_plain(path) as start:
        head = start.read(_SNIFFED)
    if head.startswith(b"PAR1"):
        return None
    with path.open("rb") as file:
        packed = file.read(2) == b"\x1f\x8b"
    if packed:
        plain = folder / f"{path.name}.plain"
        with open_plain(path) as content, plain.open("wb") as file:
            shutil.copyfileobj(content, file, 1 << 20)
    _refuse_foreign(found, head)
    how, told = _written_in(found, head, plain)
    text = TextFile(table=found.table, path=path, plain=plain, format=how, told=told)
    if how != "csv":
        return text
    form = csv_form(path)
    return replace(text, form=form, told=(*told, *form.told))


def _refuse_foreign(found: FileSource, head: bytes) -> None:
    if (words := foreign(head)) is not None:
        raise TableError(f"{found.table} {words}")
    if not head.strip():
        raise TableError(f"{found.table}:1: no header: the file is empty and holds no call")
    if b"\x00" in head:
        line = head.count(b"\n", 0, head.index(b"\x00")) + 1
        raise TableError(
            f"{found.table}:{line}: a NUL byte, so this is no text: name a file of records, "
            f"{ENDINGS}"
        )


def _written_in(found: FileSource, head: bytes, plain: Path) -> tuple[Format, tuple[str, ...]]:
    """Decide by the first character; between lines and a document by the first line."""
    named = found.format
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:2].decode("latin-1")
    if start[:1] in ("{", "[") and named != "parquet":
        whole = _first_line_is_whole(plain)
        if named == "csv" and not whole and _OBJECT.match(head) is None:
            return "csv", ()
        if start[0] == "{":
            lines = named == "jsonl" or (whole and _has_more_lines(plain))
            how: Format = "jsonl" if lines else "document"
        else:
            how = "jsonl" if named == "jsonl" and whole and _has_more_lines(plain) else "array"
        if named in ("document", None) or how == named:
            return how, ()
        what = "one JSON list" if how == "array" else "JSON"
        return how, (f"{found.table} holds {what}, whatever its name says, and was read so",)
    if named == "parquet":
        raise TableError(f"{found.table} cannot be read: no Parquet file: rename or fetch it anew")
    if named is None:
        raise TableError(
            f"{found.table}: a file of records ends in {ENDINGS}: rename or convert the file"
        )
    return ("csv" if named == "csv" else "jsonl"), ()


_OBJECT = re.compile(rb"(\xef\xbb\xbf)?\s*(\[\s*)?\{\s*\"")


def _first_line_is_whole(plain: Path) -> bool:
    """Say whether the first line that is not blank is JSON by itself."""
    with file_errors(plain), plain.open("rb") as file:
        lines = (line for line in iter(lambda: file.readline(LARGEST_PIECE), b"") if line.strip())
        line = next(lines, b"").decode("utf-8-sig", errors="surrogateescape")
    try:
        return isinstance(json_value(line, str(plain)), dict | list)
    except TableError:
        return False


def _has_more_lines(plain: Path) -> bool:
    return next(islice(text_lines(plain), 1, None), None) is not None
