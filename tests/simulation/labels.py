"""One seed of a label book: a person labels, the disk fails, power is lost, others edit the file.

The book runs on real files, through calls of the system that are asked about first: the `Disk` on
which SQLite's files lie decides what is refused and follows what was done, so that a power loss
leaves what `Shadow` says. In the folder `tests`, `python -m simulation.labels SEED` replays one.
"""

import csv
import io
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from errno import EIO, ENOSPC
from pathlib import Path
from unittest.mock import patch

from judgelaw.errors import JudgelawError, StorageError
from judgelaw.live import LabelBook
from simulation.disk import FULL, IO_ERROR_FSYNC, IO_ERROR_WRITE, OK, Disk
from simulation.shadow import Keep, Op

ITEMS = tuple(f"i{n}" for n in range(8))
PEOPLE = ("ann", "bob")
LABELS = ("pass", "fail", "")
CSV, JOURNAL = "labels.csv", "labels.csv.journal"
NAMES = ("open", "close", "write", "fsync", "ftruncate", "replace", "unlink")
_CODES = {
    "full": ("write", FULL, ENOSPC),
    "write": ("write", IO_ERROR_WRITE, EIO),
    "sync": ("sync", IO_ERROR_FSYNC, EIO),
}
_RETRIES = 3
_START = 1_700_000_000.0


class Death(SystemExit):
    """The process is killed: nothing in it catches this."""


class Calls:
    """The calls of the system that change something, for the files of one folder."""

    def __init__(self, disk: Disk, dice: random.Random, before: Callable[[], None]) -> None:
        self._disk, self._dice, self._before = disk, dice, before
        self._open: set[int] = set()
        self._real = {name: getattr(os, name) for name in NAMES}

    def end(self) -> None:
        """Close what a killed process had open."""
        for fd in list(self._open):
            self.close(fd)

    def open(self, path, flags, mode=0o777, **more):
        name = self._name(path)
        if name and flags & os.O_CREAT:
            self._before()
        if name and flags & os.O_CREAT and not os.path.lexists(path):
            self._ask(Op("create", name))
        fd = self._real["open"](path, flags, mode, **more)
        if name:
            self._open.add(fd)
        return fd

    def close(self, fd):
        self._open.discard(fd)
        self._real["close"](fd)

    def write(self, fd, content):
        content = bytes(content)
        if fd in self._open:
            if self._dice.random() < 0.2:  # a disk may take less than it was given
                content = content[: self._dice.randint(1, len(content))]
            self._ask_of(fd, "write", data=content)
        return self._real["write"](fd, content)

    def fsync(self, fd):
        if fd in self._open:
            self._ask_of(fd, "sync")
        else:
            self._real["fsync"](fd)

    def ftruncate(self, fd, size):
        if fd in self._open:
            self._ask_of(fd, "truncate", size)
        self._real["ftruncate"](fd, size)

    def replace(self, source, target, **more):
        if name := self._name(source):
            self._before()
            self._ask(Op("rename", name, data=self._name(target).encode()))
        self._real["replace"](source, target, **more)

    def unlink(self, path, **more):
        if (name := self._name(path)) and os.path.lexists(path):
            self._before()
            self._ask(Op("delete", name))
        self._real["unlink"](path, **more)

    def _name(self, path) -> str | None:
        path = Path(path)
        if path == self._disk.folder:
            return "."
        return path.name if path.parent == self._disk.folder else None

    def _ask_of(self, fd: int, kind: str, number: int = 0, data: bytes = b"") -> None:
        """Ask about an open file by the name that it has now; without one nothing is left of it."""
        self._before()
        there = os.fstat(fd)
        if kind == "write":
            number = there.st_size  # the book only ever writes behind what is there
        if os.path.samestat(there, self._disk.folder.stat()):
            self._ask(Op("sync names", "."))
            return
        names = [p.name for p in self._disk.folder.iterdir() if os.path.samestat(there, p.lstat())]
        for name in names:
            self._ask(Op(kind, name, number, data))

    def _ask(self, op: Op) -> None:
        code = self._disk.ask(op)
        if code != OK:
            number = ENOSPC if code == FULL else EIO
            raise OSError(number, os.strerror(number))


class LabelWorld:
    """People who label, sessions that die, and what was acknowledged to whom."""

    def __init__(self, seed: int, scratch: Path) -> None:
        self.dice = random.Random(f"labels {seed}")
        self._scratch = scratch
        self._files: dict[str, bytes] = {}
        self._copies: list[bytes] = []
        self._edited: str | None = None
        self._forgot = False
        self._flipped: dict[tuple[str, str], str] = {}
        self._now = _START
        self._others = 0
        self.violations: list[str] = []
        # What may be there, by person and item: one label that was acknowledged, or several
        # (None for no label) where an answer is missing.
        self._may: dict[tuple[str, str], set[str | None]] = {}
        self.acknowledged = self.edits = self.refusals = 0

    def run(self) -> list[str]:
        """Live through a few sessions; the last one is in good weather."""
        for last in [*[False] * self.dice.randint(1, 4), True]:
            self._session(good=last)
            if self.violations:
                break
        return self.violations

    def _session(self, *, good: bool) -> None:
        folder = self._scratch / "labels"
        folder.mkdir()
        for name, content in self._files.items():
            (folder / name).write_bytes(content)
        disk = Disk(folder, self._decide)
        self._begin(disk, good=good)
        calls = Calls(disk, self.dice, self._before)
        try:
            with ExitStack() as stack:
                stack.callback(calls.end)
                for name in NAMES:
                    stack.enter_context(patch.object(os, name, getattr(calls, name)))
                self._live(folder / CSV, good=good)
        except Death:
            pass
        finally:
            power = self._end == "power"
            left = disk.shadow.image(self._keep, self.dice) if power else disk.files()
            self._files = left
            shutil.rmtree(folder)

    def _begin(self, disk: Disk, *, good: bool) -> None:
        dice = self.dice
        self._disk, self._moment = disk, 0
        self._end = None if good else dice.choice(("kill", "kill", "power", "power", None))
        self._dies_at = dice.randint(1, dice.choice((5, 30, 150)))
        self._keep: Keep = dice.choice(("synced", "everything", "some", "some"))
        self._fault = dice.choice(tuple(_CODES)) if not good and dice.random() < 0.5 else None
        self._from, self._times = dice.randint(1, 60), dice.choice((1, 3, 10**6))
        self._edits_at = {dice.randint(1, 150) for _ in range(dice.choice((0, 1, 2, 4)))}
        if good:
            self._edits_at = set()

    def _before(self) -> None:
        """Let others edit the files before any change of the book."""
        self._moment += 1
        if self._moment in self._edits_at and not self._disk.dead:
            self._edit()

    def _decide(self, op: Op) -> int:
        """Decide for the disk; death comes before a change too."""
        if self._end is not None and self._moment >= self._dies_at:
            self._disk.dead = True
            raise Death
        kind, code, _ = _CODES.get(self._fault, (None, OK, 0))
        asked = "sync" if op.kind == "sync names" else op.kind
        if asked == kind and self._moment >= self._from and self._times > 0:
            self._times -= 1
            return code
        return OK

    def _live(self, path: Path, *, good: bool) -> None:
        book = self._try(lambda: LabelBook(path, now=self._clock))
        if book is None:
            return
        with book:
            self._resolve(book)
            for _ in range(self.dice.randint(3, 12)):
                self._step(book)
                if self.violations:
                    return
            if good:
                self._hold(path, "after a session in good weather")

    def _step(self, book: LabelBook) -> None:
        who, item = self.dice.choice(PEOPLE), self.dice.choice(ITEMS)
        given, self._flipped = book.of(who).get(item), {}
        label = self.dice.choice(LABELS)
        key, before = (who, item), self._may.get((who, item), {None})
        if given is None:
            self._may[key] = before | {label}
            row = self._try(lambda: book.add(item=item, label=label, labeller=who, note="=a, b"))
        elif self.dice.random() < 0.5:
            label = None
            self._may[key] = before | {None}
            row = self._try(lambda: book.undo(who, item))
        else:
            label = given.label  # the page heard no answer, and sends it again
            row = self._try(lambda: book.add(item=item, label=label, labeller=who, note=given.note))
        if row is not None:
            # Who changes a label while it is on its way has the last word.
            self._may[key] = {label, self._flipped.get(key, label)}
            self.acknowledged += 1
            self._edited = None
            self._hold(book.path, "when it is acknowledged")
            self._copies.append(book.path.read_bytes())

    def _try(self, act):
        """Do something, again where the disk refuses it, as the page does; None if it never did."""
        for _ in range(_RETRIES):
            try:
                return act()
            except JudgelawError as error:
                self.refusals += 1
                if self._fault is None or not isinstance(error, StorageError):
                    self.violations.append(f"{type(error).__name__}: {error}")
                    break
        return None

    def _clock(self) -> float:
        self._now += self.dice.choice((0.0, 0.4, 5.0))
        return self._now

    def _resolve(self, book: LabelBook) -> None:
        """Hold what a book has when it is opened against what may be there."""
        found = {(row.labeller, row.item): row.label for row in book.labels}
        for key in found.keys() | self._may.keys():
            allowed = self._may.get(key, {None})
            if found.get(key) not in allowed and not (self._forgot and key in found):
                self.violations.append(f"{key}: {found.get(key)!r} when opened, not in {allowed}")
            self._may[key] = {found.get(key)}
        if len(book.labels) != len(found):
            self.violations.append("an item has two labels of one person")
        self._edited = None
        self._hold(book.path, "when it is opened")

    def _hold(self, path: Path, when: str) -> None:
        """Compare the file, and what a power loss would leave of it, with what was promised."""
        sure = self._disk.shadow.image("synced", self.dice).get(CSV, b"")
        for what, content in (("the file", path.read_bytes()), ("the disk", sure)):
            text = content.decode("utf-8-sig", errors="replace")
            rows = list(csv.DictReader(io.StringIO(text, newline="")))
            found = {(row.get("labeller"), row.get("item")): row.get("label") for row in rows}
            for key, allowed in self._may.items():
                if found.get(key) not in allowed and not (self._forgot and key in found):
                    words = f"{key}: {found.get(key)!r} in {what} {when}, not in {allowed}"
                    self.violations.append(words)

    def _edit(self) -> None:
        """Let somebody else change a file, in one of the ways in which people do."""
        dice, folder = self.dice, self._disk.folder
        name = dice.choice((CSV, CSV, CSV, JOURNAL))
        path = folder / name
        # What both files have lost before the book could look is lost.
        if not path.exists() or self._edited not in (None, name):
            return
        self._edited = name
        self.edits += 1
        content = path.read_bytes()
        kind = dice.choice(("delete", "cut", "copy", "drop", "add", "flip", "crlf", "garbage"))
        if name == JOURNAL:
            kind = dice.choice(("delete", "cut"))
            self._forgot = True
        if kind == "delete":
            self._follow(Op("delete", name))
            _UNLINK(path)
            return
        if kind == "copy" and self._copies:
            content = dice.choice(self._copies[-6:])
        elif kind == "cut":
            content = content[: dice.randint(0, len(content))]
        elif kind == "garbage":
            content += dice.choice((b'i1,"pas', b"\0" * 30, b"a,b\n", b"\xff\n"))
        else:
            content = self._rewritten(content, kind)
        self._put(path, content, in_place=dice.random() < 0.3)

    def _rewritten(self, content: bytes, kind: str) -> bytes:
        try:
            head, *rows = content.decode().splitlines()
        except ValueError:
            return content
        if kind == "drop" and rows:
            rows.pop(self.dice.randrange(len(rows)))
        elif kind == "add":
            self._others += 1
            rows.append(f"c{self._others},pass,carl,,")
            self._may["carl", f"c{self._others}"] = {"pass", None}
        elif kind == "flip" and rows:
            place = self.dice.randrange(len(rows))
            item, label, who, *rest = (*rows[place].split(",", 3), "", "")[:4]
            if (who, item) in self._may and rest[0]:
                other = "fail" if label == "pass" else "pass"
                rows[place] = ",".join((item, other, who, *rest))
                self._may[who, item] = self._may[who, item] | {other}
                self._flipped = {(who, item): other}
        end = "\r\n" if kind == "crlf" else "\n"
        return "".join(f"{row}{end}" for row in [head, *rows]).encode()

    def _put(self, path: Path, content: bytes, *, in_place: bool) -> None:
        """Write a file as other programs do: nothing of it is synced."""
        if in_place:
            self._follow(Op("truncate", path.name, 0))
            self._follow(Op("write", path.name, 0, content))
            path.write_bytes(content)
            return
        other = path.with_name("saving")
        for op in (Op("create", other.name), Op("write", other.name, 0, content)):
            self._follow(op)
        self._follow(Op("rename", other.name, data=path.name.encode()))
        other.write_bytes(content)
        _RENAME(other, path)

    def _follow(self, op: Op) -> None:
        self._disk.shadow.follow(op)


_RENAME, _UNLINK = os.replace, os.unlink


def play_labels(seeds: Iterable[int]) -> dict[int, list[str]]:
    """Run seeds; return the broken promises of those that broke some, and print how to replay."""
    broken = {}
    for seed, world in label_worlds(seeds):
        if violations := world.run():
            broken[seed] = violations
            print(f"seed {seed}: {violations[0]}")
            print(f"    replay: cd tests && python -m simulation.labels {seed}")
    return broken


def label_worlds(seeds: Iterable[int]) -> Iterator[tuple[int, LabelWorld]]:
    """Yield the worlds of seeds."""
    memory = "/dev/shm"  # noqa: S108 - a folder of its own in it
    within = memory if Path(memory).is_dir() else None
    with tempfile.TemporaryDirectory(prefix="judgelaw-labels-", dir=within) as folder:
        for seed in seeds:
            yield seed, LabelWorld(seed, Path(folder).resolve())


if __name__ == "__main__":
    sys.exit(len(play_labels(map(int, sys.argv[1:]))))
