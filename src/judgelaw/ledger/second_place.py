"""Replies that could not be written to their ledger: a second place, until somebody can.

Raw replies, one a line with a check sum, in a file that only its owner may read. Its name tells the
session that held them, so that whoever opens that session's ledger again finds them.
"""

import base64
import hashlib
import json
import os
import stat
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from judgelaw.ledger.records import Arrived, Row
from judgelaw.systems import AT_ONCE, NO_LINKS, PRIVATE, is_own, sync_folder

PLACE = "JUDGELAW_HELD"
"""The variable that names a directory for replies that a full disk or a lost database left."""


class KeptReplies(NamedTuple):
    """A file of replies: rows of attempt, call, times, status, headers and body.

    Attributes:
        damaged: lines that are not as they were written.
    """

    path: Path
    rows: list[Row]
    damaged: int


def places(beside: Path | None) -> list[Path]:
    """Return the directories to try, the first one first; what is beside the run comes last."""
    named = os.environ.get(PLACE)
    state = os.environ.get("XDG_STATE_HOME") or str(Path("~/.local/state").expanduser())
    found = [Path(named)] if named else []
    found += [Path(state) / "judgelaw", Path(tempfile.gettempdir())]
    return [*found, beside] if beside is not None else found


def keep(session: str, replies: Sequence[Arrived], *, beside: Path | None) -> Path | None:
    """Write replies to the first place that takes them; None where none does."""
    content = b"".join(map(_line, replies))
    for place in places(beside):
        path = place / _name(session)
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            _write(path, content)
        except OSError:
            continue  # the next place; the caller says where none was left
        return path
    return None


def kept(session: str, *, beside: Path | None) -> Iterator[KeptReplies]:
    """Yield the files that a session left, those of this user only."""
    for place in places(beside):
        path = place / _name(session)
        content = _read(path)
        if content is not None:
            rows = [_row(line) for line in content.splitlines()]
            whole = [row for row in rows if row is not None]
            yield KeptReplies(path, whole, len(rows) - len(whole))


_NAMED = 20


def kept_words(replies: Sequence[Arrived], path: Path | None) -> str:
    """Say where replies are that could not be written; if nowhere, which calls they answer."""
    if path is not None:
        return (
            f"{len(replies)} replies that could not be written are kept in {path}: the same "
            "command takes them from there, and asks nothing twice"
        )
    calls = [arrived.reservation.call.call_id for arrived in replies]
    more = f" and {len(calls) - _NAMED} more" if len(calls) > _NAMED else ""
    return (
        f"{len(replies)} replies could not be written anywhere else either (name a directory in "
        f"{PLACE}), so they count as orphans: calls {', '.join(calls[:_NAMED])}{more}"
    )


def _name(session: str) -> str:
    return f"judgelaw-held-{hashlib.sha256(session.encode()).hexdigest()[:32]}.jsonl"


def _line(arrived: Arrived) -> bytes:
    row = (
        arrived.reservation.attempt,
        arrived.reservation.call.call_id,
        arrived.sent_at,
        arrived.ended_at,
        arrived.reply.status,
        json.dumps(dict(arrived.reply.headers)),
        base64.b64encode(arrived.reply.body).decode(),
    )
    content = json.dumps(row).encode()
    return b"%08x %b\n" % (zlib.crc32(content), content)


def _row(line: bytes) -> Row | None:
    said, _, content = line.partition(b" ")
    if said != b"%08x" % zlib.crc32(content):
        return None
    *row, body = json.loads(content)
    return (*row, base64.b64decode(body))


def _write(path: Path, content: bytes) -> None:
    """Write a file that nobody else made or reads, to the disk; leave none behind half written."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS | PRIVATE
    fd = os.open(path, flags, 0o600)
    try:
        left = memoryview(content)
        while left:
            left = left[os.write(fd, left) :]
        os.fsync(fd)
    except OSError:
        with suppress(OSError):
            path.unlink()
        raise
    finally:
        os.close(fd)
    sync_folder(path.parent)


def _read(path: Path) -> bytes | None:
    """Return the content of a file of our own; None where there is none."""
    try:
        fd = os.open(path, os.O_RDONLY | NO_LINKS | AT_ONCE | PRIVATE)
    except OSError:
        return None
    with os.fdopen(fd, "rb") as file:
        found = os.fstat(fd)
        ours = stat.S_ISREG(found.st_mode) and is_own(found.st_uid)
        return file.read() if ours else None
