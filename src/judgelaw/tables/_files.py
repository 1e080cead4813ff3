"""Where a calls table lies: a file, a folder or glob of Parquet, a run, an object store."""

import glob
import gzip
import os
import shutil
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal

from judgelaw.errors import InputError, MissingExtraError, TableError
from judgelaw.tables._edge import foreign_errors
from judgelaw.tables._words import did_you_mean

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
        """Give the path of uncompressed text on this machine, in `folder` if it has to be made."""
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
    """Let no error of a store's client out; each client has a tree of its own."""
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
