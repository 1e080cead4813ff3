"""The edge to the disk: JSON, JSON lines and zip archives, with the place of every fault."""

import gzip
import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from judgelaw.errors import JudgelawError, MissingExtraError, TableError
from judgelaw.importers.values import Tick

_ZSTD = 93
_LOCAL_HEADER = struct.Struct("<26xHH")
"""The fixed part of a local file header ends in the lengths of the name and of the extra field."""


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Let no error of the file system or of a decoder out."""
    try:
        yield
    except JudgelawError:
        raise
    except FileNotFoundError as error:
        raise TableError(f"{path}: there is no such file: check the path") from error
    except IsADirectoryError as error:
        raise TableError(f"{path} is a folder: name the log files in it") from error
    except (EOFError, gzip.BadGzipFile, zlib.error, zipfile.BadZipFile) as error:
        raise TableError(f"{path}: damaged or cut ({error}): copy or export it again") from error
    except UnicodeDecodeError as error:
        raise TableError(f"{path}: not UTF-8 ({error}): is it the right file?") from error
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or error}: check the path") from error


def read_json(path: Path, tick: Tick) -> Any:
    """Read one JSON document, gzipped or not."""
    with file_errors(path), _text(path) as file:
        try:
            value = json.load(file)
        except (json.JSONDecodeError, RecursionError) as error:
            line = getattr(error, "lineno", 1)
            raise TableError(f"{path}:{line}: no JSON ({error}): export the log again") from error
    tick(path.stat().st_size)
    return value


def read_json_lines(path: Path, tick: Tick) -> Iterator[tuple[str, dict[str, Any]]]:
    """Give every object of a file of JSON lines, with its place."""
    with file_errors(path), _text(path) as file:
        for number, line in enumerate(file, 1):
            tick(len(line))
            if not line.strip():
                continue
            place = f"{path}:{number}"
            try:
                value = json.loads(line)
            except (json.JSONDecodeError, RecursionError) as error:
                raise TableError(f"{place}: no JSON ({error}): export the log again") from error
            if not isinstance(value, dict):
                raise TableError(f"{place}: no JSON object: the file has one object a line")
            yield place, value


class Archive:
    """A zip archive whose entries may be compressed by Zstandard, which `zipfile` cannot read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        with file_errors(path), zipfile.ZipFile(path) as archive:
            self._entries = {entry.filename: entry for entry in archive.infolist()}

    @property
    def names(self) -> list[str]:
        """The names of the entries, in the order in which they were written."""
        return list(self._entries)

    def read_json(self, name: str, tick: Tick) -> Any:
        """Read one entry as a JSON document."""
        place = f"{self._path}!{name}"
        try:
            value = json.loads(self._bytes(self._entries[name]))
        except (ValueError, RecursionError) as error:
            if isinstance(error, JudgelawError):
                raise
            raise TableError(f"{place}: no JSON ({error}): copy the log again") from error
        tick(self._entries[name].compress_size)
        return value

    def _bytes(self, entry: zipfile.ZipInfo) -> bytes:
        with file_errors(self._path):
            if entry.compress_type != _ZSTD:
                with zipfile.ZipFile(self._path) as archive:
                    return archive.read(entry)
            plain = _unzstd(self._raw(entry), entry.file_size, self._path)
            if len(plain) != entry.file_size or zlib.crc32(plain) != entry.CRC:
                raise TableError(
                    f"{self._path}!{entry.filename}: length or checksum differs from the "
                    "archive's directory: copy the log again"
                )
            return plain

    def _raw(self, entry: zipfile.ZipInfo) -> bytes:
        """Read the compressed bytes: they follow the local header, whose length varies."""
        with self._path.open("rb") as file:
            file.seek(entry.header_offset)
            head = file.read(_LOCAL_HEADER.size)
            if len(head) < _LOCAL_HEADER.size:
                raise EOFError("an entry starts behind the end of the file")
            file.seek(sum(_LOCAL_HEADER.unpack(head)), io.SEEK_CUR)
            return file.read(entry.compress_size)


def _unzstd(raw: bytes, size: int, path: Path) -> bytes:
    try:
        import zstandard  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise MissingExtraError(
            f"{path} is compressed by Zstandard: pip install 'judgelaw[import]'"
        ) from error
    try:
        with zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as stream:
            # One byte more than the directory says: enough to see that an entry is longer.
            plain: bytes = stream.read(size + 1)
            return plain
    except zstandard.ZstdError as error:
        raise zlib.error(str(error)) from error


@contextmanager
def _text(path: Path) -> Iterator[IO[str]]:
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8-sig") as file:
        yield file
