"""What a disk holds after a power loss: only what was synced is sure.

A write is sure once its file was synced, a name once its folder was. Everything else may be there
or not, in any combination, and a write may be there in part. A sync that failed leaves its writes
in doubt, even if a later one succeeds: the kernel drops them from its list. What is written once
more in their place, and synced, is sure.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Literal

SECTOR = 512

Keep = Literal["synced", "everything", "some"]


@dataclass(frozen=True, slots=True)
class Op:
    """One thing done to a disk; `data` is what was written or a new name, `number` a place."""

    kind: Literal[
        "create",
        "write",
        "truncate",
        "sync",
        "failed sync",
        "delete",
        "delete synced",
        "rename",
        "sync names",
    ]
    name: str
    number: int = 0
    data: bytes = b""


@dataclass(slots=True)
class _File:
    """What of one file is sure, and what is not."""

    sure: bytearray = field(default_factory=bytearray)
    unsure: list[Op] = field(default_factory=list)
    lost: list[Op] = field(default_factory=list)
    new: bool = True

    def sync(self) -> None:
        for op in self.unsure:
            _do(self.sure, op)
            self.lost = [rest for old in self.lost for rest in _beside(old, op)]
        self.unsure.clear()

    def fail_to_sync(self) -> None:
        self.lost += self.unsure
        self.unsure.clear()

    def content(self, keep: Keep, dice: random.Random) -> bytes:
        content = bytearray(self.sure)
        if keep == "synced":
            return bytes(content)
        for op in [*self.lost, *self.unsure]:
            if keep == "everything":
                _do(content, op)
            elif (part := _part(op, dice)) is not None:
                _do(content, part)
        return bytes(content)


class Shadow:
    """Follows what is done to one folder, and says what a power loss would leave of it."""

    def __init__(self) -> None:
        self._names: dict[str, _File] = {}
        self._sure_names: dict[str, _File] = {}
        self._unsure_names: list[tuple[str, _File | None]] = []

    def start(self, files: dict[str, bytes]) -> None:
        """Begin with files that are sure."""
        for name, content in files.items():
            file = _File(sure=bytearray(content), new=False)
            self._names[name] = self._sure_names[name] = file

    def follow(self, op: Op) -> None:
        """Take in what was done."""
        match op.kind:
            case "create":
                self._rename(op.name, _File())
            case "write" | "truncate":
                self._names[op.name].unsure.append(op)
            case "failed sync":
                self._names[op.name].fail_to_sync()
            case "sync":
                self._sync(op.name)
            case "delete" | "delete synced":
                self._rename(op.name, None)
                if op.kind == "delete synced":
                    self._sync_names()
            case "rename":
                file = self._names[op.name]
                self._rename(op.data.decode(), file)
                self._rename(op.name, None)
            case "sync names":
                self._sync_names()

    def image(self, keep: Keep, dice: random.Random) -> dict[str, bytes]:
        """Return the files that a power loss leaves."""
        names = dict(self._sure_names)
        # The journal of a file system keeps changes of names in their sequence.
        last = {"synced": 0, "everything": len(self._unsure_names)}.get(keep)
        if last is None:
            last = dice.randint(0, len(self._unsure_names))
        for name, file in self._unsure_names[:last]:
            _name(names, name, file)
        return {name: file.content(keep, dice) for name, file in names.items()}

    def _sync(self, name: str) -> None:
        file = self._names[name]
        file.sync()
        # SQLite syncs the folder with the first sync of a journal or a log that it made.
        if file.new and name.endswith(("-wal", "-journal")):
            self._sync_names()
        file.new = False

    def _rename(self, name: str, file: _File | None) -> None:
        _name(self._names, name, file)
        self._unsure_names.append((name, file))

    def _sync_names(self) -> None:
        for name, file in self._unsure_names:
            _name(self._sure_names, name, file)
        self._unsure_names.clear()


def _name(names: dict[str, _File], name: str, file: _File | None) -> None:
    if file is None:
        names.pop(name, None)
    else:
        names[name] = file


def _do(content: bytearray, op: Op) -> None:
    if op.kind == "truncate":
        del content[op.number :]
        content.extend(bytes(op.number - len(content)))
        return
    content.extend(bytes(max(0, op.number - len(content))))
    content[op.number : op.number + len(op.data)] = op.data


def _beside(old: Op, new: Op) -> Iterator[Op]:
    """Yield what of an earlier operation a later one leaves as it is."""
    if old.kind == "truncate":
        return  # how long the file is goes to the disk with every sync
    end = old.number + len(old.data)
    over = math.inf if new.kind == "truncate" else new.number + len(new.data)
    if old.number < new.number:
        yield replace(old, data=old.data[: new.number - old.number])
    if end > over:
        start = max(old.number, int(over))
        yield replace(old, number=start, data=old.data[start - old.number :])


def _part(op: Op, dice: random.Random) -> Op | None:
    """Return what of an operation took place: all, nothing, or some first sectors."""
    fate = dice.random()
    if fate < 0.4:
        return None
    if fate < 0.8 or op.kind == "truncate":
        return op
    sectors = dice.randint(0, -(-len(op.data) // SECTOR))
    return Op(op.kind, op.name, op.number, op.data[: sectors * SECTOR])
