"""Who holds a run, and marks that outlive a killed process: what was sent, how much was durable.

Attempts are reserved ahead of the wire, so after a kill some open attempts were never sent.
A mark in a shared file mapping survives the death of the process (the pages belong to the
kernel), costs no system call, and is lost only with the machine. Hence the rule at start-up: the
same boot of the same machine, and no mark, means never sent; anything else means orphaned.

Behind the marks stand two counts, written after each commit: a ledger that has less than them has
lost what was on the disk, on whatever boot.
"""

import json
import mmap
import os
import socket
import struct
import sys
import time
import zlib
from pathlib import Path
from typing import NamedTuple, Self

from judgelaw.errors import RunLockedError, writing
from judgelaw.record_files import json_of
from judgelaw.systems import LOCKED_BYTES, PRIVATE, read_behind_lock, remove_open, try_lock

LOCK_NAME = ".lock"


class RunLock:
    """Exclusive hold of a run folder until released, or until the process ends in any way."""

    def __init__(self, run: Path) -> None:
        self._path = run / LOCK_NAME
        with writing(run):
            self._fd = self._take()
            try:
                self._sign()
            except OSError:
                self.release()
                raise

    def _take(self) -> int:
        while True:
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | PRIVATE, 0o644)
            try:
                free = try_lock(fd)
            except BaseException:
                os.close(fd)
                raise
            if not free:
                os.close(fd)
                raise RunLockedError(_held(self._path.parent, _signature(self._path)))
            # A holder removes the file before it lets go: a lock on a removed file holds nothing.
            if _is_file(self._path, fd):
                return fd
            os.close(fd)

    def _sign(self) -> None:
        who = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        os.ftruncate(self._fd, 0)
        os.lseek(self._fd, 0, os.SEEK_SET)
        os.write(self._fd, b" " * LOCKED_BYTES + json.dumps(who).encode())

    def release(self) -> None:
        """Release the lock of the run."""
        if self._fd < 0:
            return
        remove_open(self._path)
        os.close(self._fd)
        self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


class Holder(NamedTuple):
    """Who has signed the lock of a run.

    Attributes:
        pid, host, since: as it signed.
        alive: whether that process is there; None where it is of another machine, or on Windows.
    """

    pid: int
    host: str
    since: float
    alive: bool | None


def holder_of(run: Path) -> Holder | None:
    """Return who holds a run, or held it when it was killed; None where nobody does.

    Reads only: taking the lock to try it would be in the way of who starts at that moment.
    """
    try:
        who = json_of(read_behind_lock(run / LOCK_NAME))
        pid, host, since = int(who["pid"]), str(who["host"]), float(who["since"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    here = host == socket.gethostname() and sys.platform != "win32"  # there a signal 0 ends it
    alive = _is_process(pid, since) if here else None
    return Holder(pid=pid, host=host, since=since, alive=alive)


def _is_process(pid: int, since: float) -> bool:
    """Whether the process that signed is there, and not another one of its number."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # it is there, and somebody else's
    try:
        told = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ended, ticks = told[0] in "ZX", int(told[19])
        up = float(Path("/proc/uptime").read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return True  # a system without /proc: the number is all that is known
    started = time.time() - up + ticks / os.sysconf("SC_CLK_TCK")
    return not ended and started <= since + _CLOCKS_S


_CLOCKS_S = 5.0
"""How far the clock of the signature and that of the kernel may be apart."""


def _is_file(path: Path, fd: int) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(fd))


def _signature(path: Path) -> bytes:
    try:
        return read_behind_lock(path)
    except OSError:  # it has just been released
        return b""


def _held(run: Path, holder: bytes) -> str:
    try:
        who = json_of(holder)
        since = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(who["since"]))
        by = f"process {who['pid']} on {who['host']}, since {since}"
    except (ValueError, KeyError, TypeError):  # the holder is between its lock and its signature
        by = "another process, which has just started"
    return (
        f"{run} is held by {by}: one process writes a run at a time; "
        "wait for it, or stop it and start again"
    )


SENT_NAME = "ledger.sent"

_SLOTS = 1 << 14
_ID = struct.Struct("<q")
_BOOT_BYTES = 64
_RING_END = _BOOT_BYTES + _SLOTS * _ID.size
_COUNTS = struct.Struct("<qq")
_SUM = struct.Struct("<I")
_PLACE_BYTES = _COUNTS.size + _SUM.size
_PLACES = 2
_SIZE = _RING_END + _PLACES * _PLACE_BYTES


class Counts(NamedTuple):
    """What was durable: the last attempt that was reserved, and how many were completed."""

    attempt: int = 0
    completed: int = 0


class SentMarks:
    """A ring of attempt ids, each written just before its request; behind it the counts."""

    def __init__(self, path: Path, counts: Counts = Counts()) -> None:  # noqa: B008 - a constant
        self._path = path
        self._turn = 0
        boot = boot_id().ljust(_BOOT_BYTES, b"\0")
        # Written out in full, since a sparse page met on a full disk would end the process.
        with writing(path):
            path.write_bytes(boot + bytes(_SIZE - _BOOT_BYTES))
            with path.open("r+b") as file:
                self._map = mmap.mmap(file.fileno(), _SIZE)
        self.durable(counts)

    def mark(self, attempt: int) -> None:
        """Say that this attempt is about to be sent."""
        _ID.pack_into(self._map, _BOOT_BYTES + (attempt % _SLOTS) * _ID.size, attempt)

    def durable(self, counts: Counts) -> None:
        """Say how much is on the disk; in two places by turns, so that a kill leaves one whole."""
        content = _COUNTS.pack(*counts)
        place = _RING_END + self._turn * _PLACE_BYTES
        self._map[place : place + _PLACE_BYTES] = content + _SUM.pack(zlib.crc32(content))
        self._turn = (self._turn + 1) % _PLACES

    def never_sent(self, attempt: int) -> bool:
        """Whether this attempt has not been marked."""
        return _never_sent(memoryview(self._map)[_BOOT_BYTES:], attempt)

    def close(self) -> None:
        """Drop the marks: every attempt has ended."""
        self._map.close()
        self._path.unlink(missing_ok=True)


class LeftMarks:
    """The marks that an earlier process left behind, as far as they can be trusted.

    Attributes:
        counts: what was durable; nothing where no count is whole, as in files without counts.
    """

    def __init__(self, path: Path) -> None:
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            content = b""
        boot = content[:_BOOT_BYTES].rstrip(b"\0")
        trusted = len(content) in (_RING_END, _SIZE) and boot != b"" and boot == boot_id()
        self._ring = content[_BOOT_BYTES:_RING_END] if trusted else None
        self._marks = content[_BOOT_BYTES:_RING_END] if len(content) == _SIZE else b""
        self.counts = max(_whole_counts(content[_RING_END:_SIZE]), default=Counts())

    def never_sent(self, attempt: int) -> bool:
        """Whether this open attempt is known not to have been sent."""
        return self._ring is not None and _never_sent(self._ring, attempt)

    def sent_after(self, attempt: int) -> int:
        """Count the marks of attempts behind this one: of any boot, since none is made up."""
        return sum(mark > attempt for (mark,) in _ID.iter_unpack(self._marks))


def _whole_counts(content: bytes) -> list[Counts]:
    whole = []
    for place in range(0, len(content), _PLACE_BYTES):
        counts = content[place : place + _COUNTS.size]
        said = content[place + _COUNTS.size : place + _PLACE_BYTES]
        if said == _SUM.pack(zlib.crc32(counts)) and any(counts):
            whole.append(Counts(*_COUNTS.unpack(counts)))
    return whole


def _never_sent(ring: bytes | memoryview, attempt: int) -> bool:
    (last,) = _ID.unpack_from(ring, (attempt % _SLOTS) * _ID.size)
    # A later attempt in the slot means that the mark, if any, was written over.
    return bool(last < attempt)


def boot_id() -> bytes:
    """Return what changes when the machine starts anew, empty where that cannot be known."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_bytes().strip()[:_BOOT_BYTES]
    except OSError:
        return b""
