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
from judgelaw.steps import Advance

LARGEST_ENTRY = 64 * 2**20
"""Bytes of one entry of an archive, or of one line, when unpacked."""

_MOST_MARKS = 2_000_000
"""Commas and opening brackets in one entry: each may become an object of a hundred bytes."""
_RATIO, _ALWAYS = 500, 2**20
"""How much smaller than its content a file may be; small content may be as small as it likes."""

_ZSTD, _ENCRYPTED = 93, 0x1
_LOCAL_HEADER = struct.Struct("<26xHH")
"""The fixed part of a local file header ends in the lengths of the name and of the extra field."""


@contextmanager
def file_errors(path: Path) -> Iterator[None]:
    """Turn every error of the file system and of a decoder into one of ours."""
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
    except NotImplementedError as error:  # a version, a method or a lock that nobody here knows
        raise TableError(f"{path}: cannot be unpacked ({error}): export it anew") from error
    except UnicodeDecodeError as error:
        raise TableError(f"{path}: not UTF-8 ({error}): is it the right file?") from error
    except OSError as error:
        raise TableError(f"{path}: {error.strerror or error}: check the path") from error


def read_json(path: Path, tick: Advance) -> Any:
    """Read one JSON document, gzipped or not."""
    with file_errors(path), open_text(path) as file:
        try:
            value = json.load(file)
        except UnicodeDecodeError:
            raise
        except (ValueError, RecursionError) as error:
            line = getattr(error, "lineno", 1)
            raise TableError(f"{path}:{line}: no JSON ({error}): export the log again") from error
    tick(path.stat().st_size)
    return value


def read_json_lines(path: Path, tick: Advance) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every object of a file of JSON lines, with its place."""
    with file_errors(path), open_text(path) as file:
        number = 0
        while line := file.readline(LARGEST_ENTRY + 1):
            number += 1
            place = f"{path}:{number}"
            if len(line) > LARGEST_ENTRY:
                raise _too_large(place)
            tick(len(line))
            if not line.strip():
                continue
            value = _read_value(line, place)
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

    def read_json(self, name: str, tick: Advance) -> Any:
        """Read one entry as a JSON document."""
        place = f"{self._path}!{name}"
        content = self._bytes(self._entries[name], place)
        try:
            value = _read_value(content.decode(), place)
        except UnicodeDecodeError as error:
            raise TableError(f"{place}: no JSON ({error}): copy the log again") from error
        tick(self._entries[name].compress_size)
        return value

    def _bytes(self, entry: zipfile.ZipInfo, place: str) -> bytes:
        """Unpack one entry; the size that the directory states is also the most that is read."""
        _refuse_bombs(place, entry.compress_size, entry.file_size)
        with file_errors(self._path):
            if entry.compress_type != _ZSTD:
                return self._unzipped(entry)
            plain = _unzstd(self._raw(entry), entry.file_size, self._path)
            if len(plain) != entry.file_size or zlib.crc32(plain) != entry.CRC:
                raise TableError(
                    f"{place}: length or checksum differs from the archive's directory: "
                    "copy the log again"
                )
            return plain

    def _unzipped(self, entry: zipfile.ZipInfo) -> bytes:
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # The other methods unpack all they are given, however much that is.
            raise NotImplementedError(f"compression method {entry.compress_type}")
        if entry.flag_bits & _ENCRYPTED:
            raise NotImplementedError("it is encrypted")
        with zipfile.ZipFile(self._path) as archive, archive.open(entry) as file:
            return file.read(entry.file_size + 1)

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


def _read_value(text: str, place: str) -> Any:
    """Read one entry of a log as JSON."""
    if sum(map(text.count, ",[{")) > _MOST_MARKS:
        raise TableError(
            f"{place}: more than {_MOST_MARKS} values in one piece: no log of a judge has so many"
        )
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise TableError(f"{place}: no JSON ({error}): export the log again") from error


def _refuse_bombs(place: str, packed: int, plain: int) -> None:
    """Refuse content that is large, or much larger than what it was packed into."""
    if plain > LARGEST_ENTRY:
        raise _too_large(place)
    if plain > max(_ALWAYS, _RATIO * packed):
        raise TableError(
            f"{place}: {packed} bytes unpack to {plain}: no log packs so small; unpack it "
            "yourself if you trust it"
        )


def _too_large(place: str) -> TableError:
    return TableError(
        f"{place}: more than {LARGEST_ENTRY} bytes in one piece: is it the right file?"
    )


@contextmanager
def open_text(path: Path, *, newline: str | None = None) -> Iterator[IO[str]]:
    """Open a text, gzipped or not."""
    if path.suffix != ".gz":
        with path.open(encoding="utf-8-sig", newline=newline) as file:
            yield file
        return
    with (
        _Gunzip(path) as plain,
        io.TextIOWrapper(io.BufferedReader(plain), "utf-8-sig", newline=newline) as file,
    ):
        yield file


class _Gunzip(io.RawIOBase):
    """A gzip file that refuses to grow without measure."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = gzip.open(path)  # noqa: SIM115 - closed with this one
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = self._file.read(len(buffer))
        buffer[: len(found)] = found
        self._given += len(found)
        packed = self._path.stat().st_size
        if self._given > max(_ALWAYS, _RATIO * packed):
            raise TableError(
                f"{self._path}: {packed} bytes unpack to more than {_RATIO} times as much: no log "
                "packs so small; unpack it yourself if you trust it"
            )
        return len(found)

    def close(self) -> None:
        self._file.close()
        super().close()
