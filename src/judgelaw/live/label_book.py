"""The labels that people gave, in a CSV file that survives whatever happens to the page.

Columns: item, label, labeller, note, time. A label is on the disk before the page hears of it. An
empty label is "cannot tell": the item was seen, and nobody is asked to make a label up.
"""

import csv
import fcntl
import io
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Self

from judgelaw.errors import InputError, RunLockedError, writing
from judgelaw.study import durable
from judgelaw.words import storable


@dataclass(frozen=True, kw_only=True)
class Label:
    """One label of one person; empty where they could not tell."""

    item: str
    label: str
    labeller: str
    note: str
    time: str


COLUMNS = tuple(field.name for field in fields(Label))


class LabelBook:
    """An open file of labels; one process writes it at a time.

    Args:
        path: the CSV file; made with its header where there is none.
        now: seconds since 1970, for the time of a label.

    Raises:
        InputError: the file is no file of labels.
        RunLockedError: another process writes it.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        self.path = path
        self._now = now
        if not path.exists():
            durable(path, _line(COLUMNS))
        self._fd = _held(path)
        try:
            self.torn = self._drop_torn_line()
            self.labels = self._read()
        except BaseException:
            self.close()
            raise

    def add(self, *, item: str, label: str, labeller: str, note: str = "") -> Label:
        """Write a label down; it is durable when this returns.

        Raises:
            InputError: this person has labelled the item before; take that back first.
        """
        if item in self.of(labeller):
            raise InputError(f"item {item!r} has a label by {labeller}: undo it to change it")
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._now()))
        parts = (item, label, labeller, note, when)
        row = Label(**dict(zip(COLUMNS, (storable(part) or "" for part in parts), strict=True)))
        with writing(self.path):
            os.write(self._fd, _line(astuple(row)))
            os.fsync(self._fd)
        self.labels.append(row)
        return row

    def undo(self, labeller: str) -> Label | None:
        """Take the last label of a person back; None where there is none."""
        place = next(
            (n for n in reversed(range(len(self.labels))) if self.labels[n].labeller == labeller),
            None,
        )
        if place is None:
            return None
        rest = self.labels[:place] + self.labels[place + 1 :]
        durable(self.path, b"".join(map(_line, [COLUMNS, *map(astuple, rest)])))
        # The file is another one now: hold that, then let go of the one before.
        before, self._fd = self._fd, _held(self.path)
        os.close(before)
        self.labels[:], taken = rest, self.labels[place]
        return taken

    def of(self, labeller: str) -> dict[str, Label]:
        """Return the labels of a person, by item."""
        return {row.item: row for row in self.labels if row.labeller == labeller}

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _drop_torn_line(self) -> bool:
        """Cut off a last line without its end: a power loss left it, and no page heard of it."""
        content = self.path.read_bytes()
        if not content or content.endswith(b"\n"):
            return False
        with writing(self.path):
            os.ftruncate(self._fd, content.rfind(b"\n") + 1)
            os.fsync(self._fd)
        return True

    def _read(self) -> list[Label]:
        text = self.path.read_text(encoding="utf-8")
        rows = list(csv.reader(io.StringIO(text, newline=""), strict=True))
        if not rows or tuple(rows[0]) != COLUMNS:
            there = ", ".join(rows[0]) if rows else "nothing"
            raise InputError(
                f"{self.path}: its first line is {there}, a file of labels has "
                f"{', '.join(COLUMNS)}; name another file with --out"
            )
        for number, row in enumerate(rows[1:], 2):
            if len(row) != len(COLUMNS):
                raise InputError(
                    f"{self.path}: row {number} has {len(row)} fields in place of "
                    f"{len(COLUMNS)}; repair it, or name another file with --out"
                )
        return [Label(**dict(zip(COLUMNS, row, strict=True))) for row in rows[1:]]


def write_table(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write rows as CSV, whole or not at all."""
    buffer = io.StringIO(newline="")
    writer = csv.DictWriter(buffer, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    durable(path, buffer.getvalue().encode())


def _held(path: Path) -> int:
    with writing(path):
        fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC)
    with suppress(BlockingIOError):
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return fd
    os.close(fd)
    raise RunLockedError(
        f"{path} is written by another `judgelaw label`: use its page, or name another file "
        "with --out"
    )


def _line(values: tuple[str, ...]) -> bytes:
    buffer = io.StringIO(newline="")
    csv.writer(buffer, lineterminator="\n").writerow(values)
    return buffer.getvalue().encode()
