"""Zip archives of logs, with the place of every fault."""

import io
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from judgelaw.errors import MissingExtraError, TableError
from judgelaw.record_files import (
    check_piece,
    check_regular,
    check_unpacked,
    file_errors,
    json_value,
)
from judgelaw.steps import Advance

_ZSTD, _ENCRYPTED, _UTF8 = 93, 0x1, 0x800
_LOCAL_HEADER = struct.Struct("<26xHH")
"""The fixed part of a local file header ends in the lengths of the name and of the extra field."""


@contextmanager
def _zip_errors(path: Path) -> Iterator[None]:
    """Turn every error of an archive into one of ours."""
    with file_errors(path):
        try:
            yield
        except (EOFError, zlib.error, zipfile.BadZipFile) as error:
            raise TableError(
                f"{path}: damaged or cut ({error}): copy or export it again"
            ) from error
        except NotImplementedError as error:  # a version, a method or a lock that nobody knows
            raise TableError(f"{path}: cannot be unpacked ({error}): export it anew") from error


class Archive:
    """A zip archive whose entries may be compressed by Zstandard, which `zipfile` cannot read."""

    def __init__(self, path: Path) -> None:
        self._path = path
        check_regular(path)
        with _zip_errors(path), zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
        self._entries = {entry.filename: entry for entry in entries}
        if len(self._entries) < len(entries):
            twice = Counter(entry.filename for entry in entries).most_common(1)[0][0]
            raise TableError(
                f"{path}: damaged: two entries are called {twice!r}: copy or export it again"
            )

    @property
    def names(self) -> list[str]:
        """The names of the entries, in the order in which they were written."""
        return list(self._entries)

    def read_json(self, name: str, tick: Advance) -> Any:
        """Read one entry as a JSON document."""
        place = f"{self._path}!{name}"
        content = self._bytes(self._entries[name], place)
        try:
            value = json_value(content.decode(), place)
        except UnicodeDecodeError as error:
            raise TableError(f"{place}: no JSON ({error}): copy the log again") from error
        tick(self._entries[name].compress_size)
        return value

    def _bytes(self, entry: zipfile.ZipInfo, place: str) -> bytes:
        """Unpack one entry; the size that the directory states is also the most that is read."""
        check_piece(entry.file_size, place)
        check_unpacked(place, entry.compress_size, entry.file_size)
        with _zip_errors(self._path):
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
            name, extra = _LOCAL_HEADER.unpack(head)
            if file.read(name) != entry.orig_filename.encode(_encoding(entry)):
                raise zipfile.BadZipFile(
                    f"the entry {entry.filename!r} has another name in the archive's directory"
                )
            file.seek(extra, io.SEEK_CUR)
            return file.read(entry.compress_size)


def _encoding(entry: zipfile.ZipInfo) -> str:
    return "utf-8" if entry.flag_bits & _UTF8 else "cp437"


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
