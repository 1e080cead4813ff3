"""What operating systems differ in about files and processes: locks, flags, owners, positions.

Linux and macOS have all of it. Where a system lacks a protection (who owns a file, not following a
link), there is nothing to check; where it locks files in another way, filelock knows it.
"""

import errno
import os
import sys
import warnings
from functools import cache
from pathlib import Path

NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
"""A link in the place of a file is refused."""
AT_ONCE = getattr(os, "O_NONBLOCK", 0)
"""Opening a pipe does not wait for somebody at its other end."""
PRIVATE = getattr(os, "O_CLOEXEC", getattr(os, "O_NOINHERIT", 0)) | getattr(os, "O_BINARY", 0)
"""Programs that are started do not get the file; its bytes stay as they are."""

LOCKED_BYTES = 1
"""Windows lets nobody else read what is locked: what others may read comes behind it."""


def try_lock(fd: int) -> bool:
    """Take the lock of an open file, which ends with the file or the process; False if it is held.

    Raises:
        OSError: the file system refuses.
    """
    from filelock import lock_descriptor  # noqa: PLC0415 - 13 ms, where something is written

    try:
        return lock_descriptor(fd, blocking=False)
    except OSError as error:
        if error.errno != errno.ENOSYS:
            raise
    _warn_of_no_locks()
    return True


@cache
def _warn_of_no_locks() -> None:
    message = "this Python has no file locks: see to it that one process at a time writes a run"
    warnings.warn(message, stacklevel=3)


def is_own(owner: int) -> bool:
    """Whether a user number is that of this process; a system without numbers has one user."""
    return not hasattr(os, "geteuid") or owner == os.geteuid()


def user_mask(fd: int, mode: int) -> None:
    """Set the permissions of an open file, where the system has them."""
    if hasattr(os, "fchmod"):
        os.fchmod(fd, mode)


def sync_folder(path: Path) -> None:
    """Make the names in a folder durable; Windows opens no folder, and does so by itself."""
    if sys.platform == "win32":
        return
    descriptor = os.open(path, os.O_RDONLY | PRIVATE)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def read_behind_lock(path: Path) -> bytes:
    """Return what the holder of a lock has written into the locked file."""
    with path.open("rb", buffering=0) as file:
        file.seek(LOCKED_BYTES if sys.platform == "win32" else 0)
        return file.read(4096)


def remove_open(path: Path) -> None:
    """Remove the name of a file that is open; Windows keeps it until the file is closed."""
    try:
        path.unlink(missing_ok=True)
    except PermissionError:
        if sys.platform != "win32":
            raise
