"""A disk between SQLite and its files that fails on demand: a VFS over the system's own.

Python's SQLite opens files through the default VFS. This one is a copy of it whose calls that
change something come here first, to be refused, cut short or followed. Reading and locking stay
with the system's functions. A sync is not passed on: what it would make sure is what `Shadow` says.
"""

import _sqlite3
import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from pathlib import Path

from simulation.shadow import Op, Shadow

OK, IO_ERROR, FULL = 0, 10, 13
IO_ERROR_WRITE, IO_ERROR_FSYNC = IO_ERROR | 3 << 8, IO_ERROR | 4 << 8
_CREATE = 0x4

Decide = Callable[[Op], int]
"""Gives OK, or the code of the error with which SQLite is refused."""

_Write = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_Truncate = CFUNCTYPE(c_int, c_void_p, c_int64)
_Sync = CFUNCTYPE(c_int, c_void_p, c_int)
_Close = CFUNCTYPE(c_int, c_void_p)
_Open = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_int, POINTER(c_int))
_Delete = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)

_METHODS = "xClose xRead xWrite xTruncate xSync xFileSize xLock xUnlock xCheckReservedLock "
_METHODS += "xFileControl xSectorSize xDeviceCharacteristics xShmMap xShmLock xShmBarrier "
_METHODS += "xShmUnmap xFetch xUnfetch"
_CALLS = "xOpen xDelete xAccess xFullPathname xDlOpen xDlError xDlSym xDlClose xRandomness xSleep "
_CALLS += "xCurrentTime xGetLastError xCurrentTimeInt64 xSetSystemCall xGetSystemCall "
_CALLS += "xNextSystemCall"


class _Methods(Structure):
    """`sqlite3_io_methods`."""

    _fields_ = (("iVersion", c_int), *((name, c_void_p) for name in _METHODS.split()))


class _Vfs(Structure):
    """`sqlite3_vfs`."""

    _fields_ = (
        ("iVersion", c_int),
        ("szOsFile", c_int),
        ("mxPathname", c_int),
        ("pNext", c_void_p),
        ("zName", c_char_p),
        ("pAppData", c_void_p),
        *((name, c_void_p) for name in _CALLS.split()),
    )


class Disk:
    """One folder on the disk; `decide` is asked before anything in it changes."""

    def __init__(self, folder: Path, decide: Decide) -> None:
        self.folder = folder.resolve()
        self.shadow = Shadow()
        self.shadow.start({path.name: path.read_bytes() for path in self.folder.iterdir()})
        self._decide = decide
        self.dead = False

    def files(self) -> dict[str, bytes]:
        """Return what the kernel has, which a killed process leaves behind."""
        kept = (p for p in self.folder.iterdir() if not p.name.endswith(("-shm", ".lock")))
        return {path.name: path.read_bytes() for path in kept}

    def ask(self, op: Op) -> int:
        """Say whether an operation may take place, and follow it if so."""
        code = IO_ERROR if self.dead else self._decide(op)
        if code == OK:
            self.shadow.follow(op)
        elif op.kind == "sync" and not self.dead:
            self.shadow.follow(Op("failed sync", op.name))
        return code


class _Shim:
    """The VFS itself: one for the process, with one disk in it at a time."""

    def __init__(self) -> None:
        library = ctypes.CDLL(getattr(_sqlite3, "__file__", None))
        library.sqlite3_vfs_find.restype = c_void_p
        library.sqlite3_vfs_find.argtypes = [c_char_p]
        library.sqlite3_vfs_register.argtypes = [c_void_p, c_int]
        self._library = library
        self._system = _Vfs.from_address(library.sqlite3_vfs_find(None))
        self._mine = _Vfs.from_buffer_copy(self._system)
        self._mine.pNext, self._mine.zName = None, b"judgelaw-simulation"
        # Callbacks live as long as the shim: SQLite keeps bare addresses.
        self._open, self._delete = _Open(self._on_open), _Delete(self._on_delete)
        self._write, self._truncate = _Write(self._on_write), _Truncate(self._on_truncate)
        self._sync, self._close = _Sync(self._on_sync), _Close(self._on_close)
        self._mine.xOpen = ctypes.cast(self._open, c_void_p).value
        self._mine.xDelete = ctypes.cast(self._delete, c_void_p).value
        self._system_open = _Open(self._system.xOpen)
        self._system_delete = _Delete(self._system.xDelete)
        self._tables: dict[int, _Methods] = {}
        self._opened: dict[int, tuple[Disk, str, int]] = {}
        self.disk: Disk | None = None

    def use(self) -> None:
        self._library.sqlite3_vfs_register(ctypes.addressof(self._mine), 1)

    def leave(self) -> None:
        self._library.sqlite3_vfs_register(ctypes.addressof(self._system), 1)

    def _mine_is(self, path: Path) -> bool:
        return self.disk is not None and path.parent == self.disk.folder

    def _on_open(self, vfs, name, file, flags, out):
        path = Path(ctypes.string_at(name).decode()) if name else None
        if path is None or not self._mine_is(path):
            return self._system_open(vfs, name, file, flags, out)
        disk = self.disk
        if flags & _CREATE and not path.exists():
            code = disk.ask(Op("create", path.name))
            if code != OK:
                c_void_p.from_address(file).value = None
                return code
        code = self._system_open(vfs, name, file, flags, out)
        if code == OK:
            methods = c_void_p.from_address(file)
            self._opened[file] = (disk, path.name, methods.value)
            methods.value = ctypes.addressof(self._table(methods.value))
        return code

    def _table(self, system: int) -> _Methods:
        if system not in self._tables:
            table = _Methods.from_buffer_copy(_Methods.from_address(system))
            for name, callback in (
                ("xWrite", self._write),
                ("xTruncate", self._truncate),
                ("xSync", self._sync),
                ("xClose", self._close),
            ):
                setattr(table, name, ctypes.cast(callback, c_void_p).value)
            self._tables[system] = table
        return self._tables[system]

    def _on_close(self, file):
        _, _, system = self._opened.pop(file)
        return _Close(_Methods.from_address(system).xClose)(file)

    def _on_write(self, file, buffer, count, offset):
        disk, name, system = self._opened[file]
        code = disk.ask(Op("write", name, offset, ctypes.string_at(buffer, count)))
        if code != OK:
            return code
        return _Write(_Methods.from_address(system).xWrite)(file, buffer, count, offset)

    def _on_truncate(self, file, size):
        disk, name, system = self._opened[file]
        code = disk.ask(Op("truncate", name, size))
        if code != OK:
            return code
        return _Truncate(_Methods.from_address(system).xTruncate)(file, size)

    def _on_sync(self, file, _flags):
        disk, name, _ = self._opened[file]
        return disk.ask(Op("sync", name))

    def _on_delete(self, vfs, name, synced):
        path = Path(ctypes.string_at(name).decode())
        if self._mine_is(path) and path.exists():
            code = self.disk.ask(Op("delete synced" if synced else "delete", path.name))
            if code != OK:
                return code
        return self._system_delete(vfs, name, 0)


_shim: _Shim | None = None


@contextmanager
def mounted(disk: Disk) -> Iterator[Disk]:
    """Send what SQLite does in a disk's folder through the disk."""
    global _shim  # noqa: PLW0603 - SQLite's list of VFS is one for the process
    _shim = _shim or _Shim()
    _shim.disk = disk
    _shim.use()
    try:
        yield disk
    finally:
        _shim.leave()
        _shim.disk = None
