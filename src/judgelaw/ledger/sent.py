"""Which reserved attempts were sent: marks that outlive a killed process at no cost.

Attempts are reserved ahead of the wire, so after a kill some open attempts were never sent.
A mark in a shared file mapping survives the death of the process (the pages belong to the
kernel), costs no system call, and is lost only with the machine. Hence the rule at start-up: the
same boot of the same machine, and no mark, means never sent; anything else means orphaned.
"""

import mmap
import struct
from pathlib import Path
from typing import Self

from judgelaw.errors import writing

SENT_NAME = "ledger.sent"

_SLOTS = 1 << 14
_ID = struct.Struct("<q")
_BOOT_BYTES = 64
_SIZE = _BOOT_BYTES + _SLOTS * _ID.size


class SentMarks:
    """A ring of attempt ids, each written just before its request."""

    def __init__(self, path: Path) -> None:
        self._path = path
        boot = _boot_id().ljust(_BOOT_BYTES, b"\0")
        # Written out in full, since a sparse page met on a full disk would end the process.
        with writing(path):
            path.write_bytes(boot + bytes(_SIZE - _BOOT_BYTES))
            with path.open("r+b") as file:
                self._map = mmap.mmap(file.fileno(), _SIZE)

    def mark(self, attempt: int) -> None:
        """Say that this attempt is about to be sent."""
        _ID.pack_into(self._map, _BOOT_BYTES + (attempt % _SLOTS) * _ID.size, attempt)

    def never_sent(self, attempt: int) -> bool:
        """Whether this attempt has not been marked."""
        return _never_sent(memoryview(self._map)[_BOOT_BYTES:], attempt)

    def close(self) -> None:
        """Drop the marks: every attempt has ended."""
        self._map.close()
        self._path.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


class LeftMarks:
    """The marks that an earlier process left behind, if they can be trusted."""

    def __init__(self, path: Path) -> None:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            content = b""
        boot = content[:_BOOT_BYTES].rstrip(b"\0")
        trusted = len(content) == _SIZE and boot != b"" and boot == _boot_id()
        self._ring = content[_BOOT_BYTES:] if trusted else None

    def never_sent(self, attempt: int) -> bool:
        """Whether this open attempt is known not to have been sent."""
        return self._ring is not None and _never_sent(self._ring, attempt)


def _never_sent(ring: bytes | memoryview, attempt: int) -> bool:
    (last,) = _ID.unpack_from(ring, (attempt % _SLOTS) * _ID.size)
    # A later attempt in the slot means that the mark, if any, was written over.
    return bool(last < attempt)


def _boot_id() -> bytes:
    """Return what changes when the machine starts anew, empty where that cannot be known."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()[:_BOOT_BYTES]
    except OSError:
        return b""
