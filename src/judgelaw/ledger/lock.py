"""Who holds a run: an operating-system lock, so that a killed holder lets go by dying."""

import fcntl
import json
import os
import socket
import time
from pathlib import Path
from typing import Self

from judgelaw.errors import RunLockedError, writing

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
            fd = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = os.pread(fd, 4096, 0)
                os.close(fd)
                raise RunLockedError(_held(self._path.parent, holder)) from None
            # A holder removes the file before it lets go: a lock on a removed file holds nothing.
            if _is_file(self._path, fd):
                return fd
            os.close(fd)

    def _sign(self) -> None:
        who = {"pid": os.getpid(), "host": socket.gethostname(), "since": time.time()}
        os.ftruncate(self._fd, 0)
        os.pwrite(self._fd, json.dumps(who).encode(), 0)

    def release(self) -> None:
        """Let go of the run."""
        if self._fd < 0:
            return
        self._path.unlink(missing_ok=True)
        os.close(self._fd)
        self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.release()


def _is_file(path: Path, fd: int) -> bool:
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    return os.path.samestat(there, os.fstat(fd))


def _held(run: Path, holder: bytes) -> str:
    try:
        who = json.loads(holder)
        since = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime(who["since"]))
        by = f"process {who['pid']} on {who['host']}, since {since}"
    except (ValueError, KeyError, TypeError):  # the holder is between its lock and its signature
        by = "another process, which has just started"
    return (
        f"{run} is held by {by}: one process writes a run at a time; "
        "wait for it, or stop it and start again"
    )
