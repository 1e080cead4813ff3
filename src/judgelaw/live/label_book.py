"""The labels that people gave, in a CSV file that survives whatever happens to it or to the page.

Columns: item, label, labeller, note, time. An empty label is "cannot tell": the item was seen, and
nobody is asked to make a label up. A text that a spreadsheet would run stands behind an apostrophe,
which is taken off when the file is read here.

    labels.csv           what people and programs read; anybody may sort it, mend it or replace it
    labels.csv.journal   what was acknowledged: a line with a checksum for each label that was given
                         or taken back, only ever appended to

A label is in the journal first, then in the CSV file, both synced. Before it is acknowledged the
file is read back: at its path must lie what this book wrote. Where that is something else (an
editor, `sed -i`, `git checkout`, a deletion), both sides are kept:

    a row that the journal does not know     is a label, and is entered in the journal
    a label that the file does not have      is put back
    a label that the file has otherwise      is what the file says; the journal has both
    a row that was taken back before         is of an old copy of the file, and stays taken back
"""

import csv
import hashlib
import io
import json
import os
import re
import stat
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Self

from judgelaw.errors import InputError, RunLockedError, StorageError, writing
from judgelaw.study import durable, own_link, write_all
from judgelaw.systems import AT_ONCE, NO_LINKS, PRIVATE, sync_folder, try_lock
from judgelaw.words import active, counted, inert, storable, visible


@dataclass(frozen=True, kw_only=True)
class Label:
    """One label of one person; empty where they could not tell."""

    item: str
    label: str
    labeller: str
    note: str
    time: str


COLUMNS = tuple(field.name for field in fields(Label))
_TIME_IN_PART = re.compile(r"[0-9T:-]{1,19}")
_QUOTE = '"'
_QUOTED = re.compile(r'[",\r\n]')
_TRIES = 20
"""How often others may change the file while one label is written."""
_LARGEST = 1 << 28
_DIGITS = 16
_HOLE = bytes(8)
_GIVEN, _TAKEN = "given", "taken"

_Change = tuple[str, Label]


class LabelBook:
    """An open file of labels; one process writes it at a time.

    Args:
        path: the CSV file; made with its header where there is none.
        now: seconds since 1970, for the time of a label.

    Attributes:
        said: what was found otherwise than it was left, and what was done about it.

    Raises:
        InputError: the file is no file of labels.
        RunLockedError: another process writes it.
    """

    def __init__(self, path: Path, *, now: Callable[[], float] = time.time) -> None:
        self.path = path
        self._now = now
        self.said: list[str] = []
        self._file = _Held(own_link(path))
        self._journal = _Journal(self._file.path.with_name(f"{self._file.path.name}.journal"))
        self._rows: dict[Label, None] = {}
        self._written = -1
        self._in_doubt = False
        try:
            self._open()
        except BaseException:
            self.close()
            raise

    def add(self, *, item: str, label: str, labeller: str, note: str = "") -> Label:
        """Write a label down; it is durable, and in the file at the path, when this returns.

        The same label once more changes nothing: a page that heard no answer sends it again.

        Raises:
            InputError: this person has given the item another label; take that back first.
            StorageError: the disk does not take it.
        """
        item, label, labeller, note = map(stored, (item, label, labeller, note))
        self._settle()
        given = self.of(labeller).get(item)
        if given is not None:
            if (given.label, given.note) == (label, note):
                return given
            raise InputError(f"item {item!r} has a label by {labeller}: undo it to change it")
        when = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._now()))
        row = Label(item=item, label=label, labeller=labeller, note=note, time=when)
        self._journal.write([(_GIVEN, row)])
        self._settle()
        return row

    def undo(self, labeller: str, item: str | None = None) -> Label | None:
        """Take the last label of a person back; None where there is none.

        Args:
            labeller: the person.
            item: the item of the label, by default that of the last one; a page names it, so that
                what it sends twice is done once.
        """
        self._settle()
        last = next(
            (
                row
                for row in reversed(self._journal.rows)
                if row.labeller == labeller and item in (None, row.item)
            ),
            None,
        )
        if last is None:
            return None
        self._journal.write([(_TAKEN, last)])
        self._settle()
        return last

    @property
    def labels(self) -> list[Label]:
        """All labels, in the sequence in which they were given."""
        return list(self._journal.rows)

    def of(self, labeller: str) -> dict[str, Label]:
        """Return the labels of a person, by item."""
        return {row.item: row for row in self._journal.rows if row.labeller == labeller}

    def close(self) -> None:
        """Let go of the files."""
        self._file.close()
        self._journal.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _open(self) -> None:
        there = self._file.read()
        if there is not None and not self._journal.path.exists():
            self._parsed(there)  # a file of another kind is left alone, with nothing beside it
        self._journal.open(mode=self._file.mode)
        if self._journal.damaged:
            self.said.append(
                f"{self._journal.path}: {counted(self._journal.damaged, 'line')} cannot be read; "
                f"the labels of {self.path} count"
            )
        self._rows = dict(self._journal.rows)
        self._settle()

    def _settle(self) -> None:
        """Make the file hold the labels of the journal, and the journal what others wrote."""
        for _ in range(_TRIES):
            self._journal.look()
            content = self._file.read()
            as_left = content is not None and content == self._file.content and not self._in_doubt
            if as_left and self._written == self._journal.changes:
                return
            rows, torn = list(self._rows), None
            if not as_left:
                rows, torn = ([], None) if content is None else self._understood(content)
            self._bring_together(content, rows, torn)
        raise StorageError(
            f"{self.path} is changed all the time by another program; end that program: the same "
            "label is taken then"
        )

    def _bring_together(
        self, content: bytes | None, rows: Sequence[Label], torn: bytes | None
    ) -> None:
        """Enter in the journal what the file has, then write into the file what it lacks."""
        book = self._journal
        there = dict.fromkeys(rows)
        new = [row for row in there if row not in book.rows and row not in book.known]
        instead = {(row.item, row.labeller) for row in new}
        missing = [row for row in book.rows if row not in there]
        changed = [row for row in missing if (row.item, row.labeller) in instead]
        lost = [row for row in missing if row in self._rows and row not in changed]
        self._say(lost=len(lost), changed=len(changed), new=len(new))
        if torn and torn != content:
            words = visible(torn.decode(errors="replace"))
            self.said.append(f"{self.path}: its last line was cut off and is dropped: {words}")
        if new:
            book.write([*((_TAKEN, row) for row in changed), *((_GIVEN, row) for row in new)])
        stays = [row for row in there if row in book.rows]
        missing = [row for row in book.rows if row not in there]
        after = dict.fromkeys([*stays, *missing])
        if content is None or torn is not None or self._in_doubt or len(stays) < len(there):
            self._file.replace(b"".join(map(_line, [COLUMNS, *map(_cells, after)])))
            self._in_doubt = False
        else:
            end = b"" if content.endswith(b"\n") or not missing else b"\n"
            try:
                self._file.append(content, end + b"".join(_line(_cells(row)) for row in missing))
            except BaseException:
                self._in_doubt = True
                raise
        self._rows, self._written = after, book.changes

    def _say(self, *, lost: int, changed: int, new: int) -> None:
        """Say what was done to the file elsewhere, and what became of it."""
        journal = self._journal.path
        if lost:
            self.said.append(
                f"{self.path}: put back {counted(lost, 'label')} that it no longer had; undo takes "
                f"labels back, and to begin anew move {journal} away too"
            )
        if changed:
            self.said.append(
                f"{self.path}: {counted(changed, 'label')} changed by another program: the file "
                f"counts, and {journal} keeps what was before"
            )
        if new > changed and self._journal.known:
            added = counted(new - changed, "label")
            self.said.append(f"{self.path}: took over {added} that another program wrote there")

    def _understood(self, content: bytes) -> tuple[list[Label], bytes | None]:
        """Return what `_parsed` does; a file that others broke is kept under another name."""
        try:
            return self._parsed(content)
        except InputError as error:
            if not self._journal.is_open:
                raise
            aside = f"{self._file.path.name}.unreadable-{_checksum(content)[:8].decode()}"
            durable(self._file.path.with_name(aside), content, mode=self._file.mode)
            self.said.append(f"{error}; it is kept as {aside}, and the labels are written anew")
            return [], content

    def _parsed(self, content: bytes) -> tuple[list[Label], bytes | None]:
        """Return the labels in a file, and what there is of a last row if one was cut off."""
        header = _line(COLUMNS)
        if self._journal.is_open and content != header and header.startswith(content):
            return [], content
        if _HOLE in content:
            raise InputError(
                f"{self.path}: it has a hole, as a power loss leaves them; restore it, or name "
                "another file with --out"
            )
        end = _end_of_rows(content)
        rows, tail = self._records(content[:end]), content[end:]
        if tail:
            with suppress(InputError):
                more = self._records(tail)
                if not self._is_cut(tail, more[-1]):
                    rows, tail = [*rows, *more], b""
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
        return [_label(map(active, row)) for row in rows[1:]], tail or None

    def _records(self, content: bytes) -> list[list[str]]:
        try:
            text = content.decode("utf-8-sig")
            return [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
        except (UnicodeDecodeError, csv.Error) as error:
            raise InputError(
                f"{self.path}: no CSV in UTF-8 ({error}); save it so, or name another file with "
                "--out"
            ) from None

    def _is_cut(self, tail: bytes, row: Sequence[str]) -> bool:
        """Whether a last row without its end lacks more than its end."""
        if tuple(row) == COLUMNS:
            return False
        lines = (_line(_cells(known)) for known in self._journal.known)
        return (
            len(row) != len(COLUMNS)
            or _TIME_IN_PART.fullmatch(row[-1]) is not None
            or any(line.startswith(tail) and len(line) > len(tail) + 1 for line in lines)
        )


class _Journal:
    """What was acknowledged: a line for each label that was given or taken back.

    Attributes:
        path: of the file.
        rows: the labels that stand.
        known: all that were ever given.
        damaged: how many lines cannot be read.
        is_open: whether there is one: then the file beside it is one of labels.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.rows: dict[Label, None] = {}
        self.known: set[Label] = set()
        self.damaged = 0
        self.is_open = False
        self._file = _Held(path)
        self._lines: list[bytes] = []
        self._in_doubt = False

    @property
    def changes(self) -> int:
        """How many changes there were."""
        return len(self._lines)

    def open(self, *, mode: int | None) -> None:
        """Read the journal; make it where there is none."""
        if not self.path.exists():
            durable(self.path, b"", mode=mode)
        self.look()
        self.is_open = True

    def look(self) -> None:
        """Take in what lies at the path; write it whole where that is not what was written."""
        content = self._file.read()
        if content is not None and content == self._file.content and not self._in_doubt:
            return
        self._take_in(content or b"")
        whole = b"".join(self._lines)
        if content == whole and not self._in_doubt:
            self._file.append(whole, b"")
        else:
            self._file.replace(whole)
            self._in_doubt = False

    def write(self, changes: Sequence[_Change]) -> None:
        """Enter changes; they are durable when this returns, and not there when it fails."""
        lines = [_entry(*change) for change in changes]
        before = b"".join(self._lines)
        try:
            if self._in_doubt or self._file.content is None:
                self._file.replace(before + b"".join(lines))
            else:
                self._file.append(before, b"".join(lines))
        except BaseException:
            self._in_doubt = True
            raise
        self._in_doubt = False
        for line in lines:
            self._apply(line)

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def _take_in(self, content: bytes) -> None:
        """Apply the lines that are not known yet; a last one that was cut off counts as nothing."""
        *lines, last = [line.rstrip(b"\r") + b"\n" for line in content.split(b"\n")]
        if _change(last) is not None:
            lines.append(last)
        more = Counter(lines) - Counter(self._lines)
        for line in lines:
            if more[line] > 0:
                more[line] -= 1
                self._apply(line)

    def _apply(self, line: bytes) -> None:
        self._lines.append(line)
        change = _change(line)
        if change is None:
            self.damaged += 1
            return
        what, row = change
        self.known.add(row)
        self.rows.pop(row, None)
        if what == _GIVEN:
            self.rows[row] = None


class _Held:
    """A file that one process holds: read, appended to, or replaced as a whole.

    Attributes:
        path: where it is; what lies there may become another file at any time.
        content: what was written last; None where that is not sure to be on the disk.
        mode: the permissions of the file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.content: bytes | None = None
        self.mode: int | None = None
        self._fd = -1

    def read(self) -> bytes | None:
        """Hold and read the file that lies at the path now; None where there is none."""
        with writing(self.path):
            if not self._is_at_path():
                self.close()
                try:
                    self._fd = self._hold()
                except FileNotFoundError:
                    return None
            there = os.fstat(self._fd)
            self.mode = stat.S_IMODE(there.st_mode)
            return os.pread(self._fd, there.st_size, 0) if there.st_size else b""

    def append(self, before: bytes, more: bytes) -> None:
        """Write behind what is there, and sync; where that fails the length is what it was."""
        with writing(self.path):
            fresh, self.content = self.content is None, None
            try:
                write_all(self._fd, more)
                os.fsync(self._fd)
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(self._fd, len(before))
                raise
            if fresh:
                sync_folder(self.path.parent)
            self.content = before + more

    def replace(self, content: bytes) -> None:
        """Write another file in its place, and hold that."""
        self.content = None
        durable(self.path, content, mode=self.mode)
        if self.read() == content:
            self.content = content

    def close(self) -> None:
        """Let go of the file."""
        if self._fd >= 0:
            os.close(self._fd)
        self._fd, self.content = -1, None

    def _is_at_path(self) -> bool:
        if self._fd < 0:
            return False
        with suppress(FileNotFoundError):
            return os.path.samestat(os.fstat(self._fd), self.path.lstat())
        return False

    def _hold(self) -> int:
        flags = os.O_RDWR | os.O_APPEND | PRIVATE | NO_LINKS | AT_ONCE
        fd = os.open(self.path, flags)
        try:
            self._check(fd)
        except BaseException:
            os.close(fd)
            raise
        return fd

    def _check(self, fd: int) -> None:
        """Lock a file; refuse what is none, and what another process holds."""
        there = os.fstat(fd)
        if not stat.S_ISREG(there.st_mode) or there.st_size > _LARGEST:
            raise InputError(
                f"{self.path}: no file, or one of more than {_LARGEST >> 20} MiB; name another "
                "with --out"
            )
        if not try_lock(fd):
            raise RunLockedError(
                f"{self.path} is written by another `judgelaw label`: use its page, or name "
                "another file with --out"
            )


def write_table(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write rows as CSV, whole or not at all; every text as it is, since programs read it back."""
    names = tuple(rows[0])
    lines = [names, *(tuple(row[name] for name in names) for row in rows)]
    durable(path, b"".join(map(_line, lines)))


def stored(text: str) -> str:
    """Return a text as a file in UTF-8 holds it."""
    return storable(text) or ""


def _cells(row: Label) -> tuple[str, ...]:
    return tuple(inert(value, reversible=True) for value in astuple(row))


def _label(values: Iterable[str]) -> Label:
    return Label(**dict(zip(COLUMNS, values, strict=True)))


def _line(values: Iterable[str]) -> bytes:
    """Write a row of CSV; Python's own writer leaves a carriage return without its quotes."""
    quoted = (f'"{v.replace(_QUOTE, 2 * _QUOTE)}"' if _QUOTED.search(v) else v for v in values)
    return (",".join(quoted) + "\n").encode()


def _end_of_rows(content: bytes) -> int:
    """Return where the last whole row ends: behind the last line end that is in no quotes."""
    end = len(content)
    parts = content.split(b'"')
    for place in reversed(range(len(parts))):
        end -= len(parts[place])
        last = parts[place].rfind(b"\n")
        if place % 2 == 0 and last >= 0:
            return end + last + 1
        end -= 1  # the quote before it
    return 0


def _entry(what: str, row: Label) -> bytes:
    text = json.dumps([what, *astuple(row)]).encode()
    return _checksum(text) + b" " + text + b"\n"


def _change(line: bytes) -> _Change | None:
    """Read a line of a journal; None where it is not what was written."""
    checksum, _, text = line.rstrip(b"\n").partition(b" ")
    if checksum != _checksum(text):
        return None
    what, *values = json.loads(text)
    return str(what), _label(values)


def _checksum(text: bytes) -> bytes:
    return hashlib.sha256(text).hexdigest()[:_DIGITS].encode()
