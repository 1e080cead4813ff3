"""Files of a run folder: several at once or none, and the hash of each."""

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from time import monotonic, sleep

from judgelaw.errors import InputError, IntegrityError, RunLockedError, writing
from judgelaw.record_files import json_of, read_regular
from judgelaw.systems import NO_LINKS, PRIVATE, is_own, sync_folder, try_lock, user_mask

SUMS = "SHA256SUMS"
PENDING = ".pending"
SEALED = "sealed"
"""The folder of what nobody should look at while calls come in: its owner alone may read it."""

_COMMIT = "COMMIT"
_SCRATCH = ".scratch"
_LOCK = ".freeze.lock"
_CHUNK = 1 << 20
_LINKS = 40
_PRIVATE = 0o700
PATIENCE_S = 60.0
"""How long who only adds a file waits for another process that does."""
_ASK_AGAIN_S = 0.05


@contextmanager
def scratch(run: Path) -> Iterator[Path]:
    """Yield a folder for files that are needed only while freezing."""
    folder = run / _SCRATCH
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=_PRIVATE)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def exclusive(run: Path, *, patience_s: float = 0.0) -> Iterator[None]:
    """Hold the folder while several of its files change together; the lock dies with its process.

    Args:
        run: the folder; it is made where it is missing.
        patience_s: how long to wait for another process that holds it.

    Raises:
        RunLockedError: another process held it all that time.
    """
    with writing(run):
        run.mkdir(parents=True, exist_ok=True)
        own_folder(run)
        flags = os.O_WRONLY | os.O_CREAT | NO_LINKS | PRIVATE
        lock = os.open(run / _LOCK, flags, 0o600)
        try:
            _lock(run, lock, monotonic() + patience_s)
            yield
        finally:
            os.close(lock)


def _lock(run: Path, lock: int, until: float) -> None:
    while not try_lock(lock):
        if monotonic() >= until:
            raise RunLockedError(
                f"{run}: another process is freezing this run or writing into it; wait for it, or "
                "use another folder"
            )
        sleep(_ASK_AGAIN_S)


@contextmanager
def staged(run: Path) -> Iterator[Path]:
    """Yield a folder to write into; at the end all its files move into the run, or none does.

    A list of the files is made durable before the first of them moves. A process that dies
    before the list leaves nothing; one that dies after it leaves work that `recover` finishes.
    """
    recover(run)
    pending = run / PENDING
    pending.mkdir(mode=_PRIVATE)
    try:
        yield pending
        found = (path.relative_to(pending) for path in pending.rglob("*") if path.is_file())
        names = sorted(path.as_posix() for path in found)
        _write_sums(run, pending, names)
        for name in names:
            _sync(pending / name)
        durable(pending / _COMMIT, json.dumps([*names, SUMS]).encode())
    except BaseException:
        if not (pending / _COMMIT).exists():
            shutil.rmtree(pending)
        raise
    recover(run)


@contextmanager
def placed(run: Path | None, *targets: Path) -> Iterator[tuple[Path, ...]]:
    """Lead what is written inside a run folder to a place of its own until all of it is there.

    At the end it moves in together with its sums, or nothing does. Yields where to write each
    target, a file or a folder: one outside the run, or without a run, where it is.
    """
    inside = {} if run is None else {t: _below(run, t) for t in targets}
    if run is None or not any(inside.values()):
        yield targets
        return
    with exclusive(run, patience_s=PATIENCE_S), staged(run) as stage:
        there = {target: stage / name for target, name in inside.items() if name is not None}
        for path in there.values():
            path.parent.mkdir(parents=True, exist_ok=True)
        yield tuple(there.get(target, target) for target in targets)


def _below(run: Path, target: Path) -> Path | None:
    """Return the name of a target in a folder; None where it lies outside."""
    root, name = run.resolve(), target.parent.resolve() / target.name
    return name.relative_to(root) if name.is_relative_to(root) and name != root else None


def settle(run: Path) -> None:
    """Finish or undo what a process that died left half done, unless one is at it."""
    if (run / PENDING).exists():
        with suppress(RunLockedError), exclusive(run):
            recover(run)


def recover(run: Path) -> None:
    """Finish the moves of a process that died between its list and its last file."""
    pending = run / PENDING
    if not pending.exists():
        return
    commit = pending / _COMMIT
    if commit.exists():
        for name in _moves(run, commit):
            if (pending / name).exists():
                folder, sealed = (run / name).parent, name.startswith(f"{SEALED}/")
                folder.mkdir(parents=True, exist_ok=True)
                if sealed:
                    folder.chmod(_PRIVATE)
                    (pending / name).chmod(0o600)
                (pending / name).replace(run / name)
        sync_folder(run)
        commit.unlink()
    shutil.rmtree(pending)


def _moves(run: Path, commit: Path) -> list[str]:
    """Return the names that a commit moves into its run: places in there, and no others."""
    try:
        names = json_of(read_regular(commit))
        inside = all(is_inside(name) and _below(run, run / name) for name in names)
    except (OSError, ValueError, TypeError) as error:
        raise IntegrityError(
            f"{commit}: cannot be read ({type(error).__name__}); the run is damaged, restore it"
        ) from None
    if not inside:
        raise IntegrityError(
            f"{commit}: names a place outside {run}, which no judgelaw writes; nothing was moved"
        )
    return list(names)


def is_inside(name: str) -> bool:
    """Whether a name leads to a place in the folder that it is read in, however it is written."""
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def durable(path: Path, content: bytes, *, mode: int | None = None) -> None:
    """Write a file so that it is there whole or not at all.

    Args:
        path: where; a link there is replaced, not followed.
        content: all of it.
        mode: its permissions; by default what the user's mask leaves of reading and writing.
    """
    temporary = path.with_name(path.name + ".tmp")
    with writing(path):
        temporary.unlink(missing_ok=True)  # of a dead process, or a link that somebody put there
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | PRIVATE, 0o666)
            try:
                if mode is not None:
                    user_mask(fd, mode)
                write_all(fd, content)
                os.fsync(fd)
            finally:
                os.close(fd)
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        sync_folder(path.parent)


def write_all(fd: int, content: bytes) -> None:
    """Write all of it, however little the disk takes at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(fd, rest) :]


def own_link(path: Path) -> Path:
    """Return the path that links of one's own lead to; a link of another user is not followed."""
    for _ in range(_LINKS):
        if not path.is_symlink():
            return path
        refuse_foreign(path)
        path = path.parent / path.readlink()
    raise InputError(f"{path}: too many links, one after the other; give another path")


def own_folder(folder: Path) -> None:
    """Refuse a folder that another user made, or in which one has put a link or a folder."""
    for path in (folder, folder.resolve(), *folder.rglob("*")):
        if path.is_symlink() or path.is_dir():  # one that is not there yet is neither
            refuse_foreign(path)


def refuse_foreign(path: Path) -> None:
    """Refuse what another user made: what is written there goes where that user likes.

    Raises:
        InputError: the owner is somebody else.
    """
    owner = path.lstat().st_uid
    if not is_own(owner):
        kind = "link" if path.is_symlink() else "folder"
        raise InputError(
            f"{path}: a {kind} of another user (number {owner}), who may lead what is written "
            "there elsewhere; give another path, or make it yours (chown)"
        )


def file_sha256(path: Path) -> str:
    """Hash a file without holding it."""
    digest = hashlib.sha256()
    with path.open("rb", buffering=0) as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def read_sums(run: Path) -> dict[str, str]:
    """Read the recorded hashes by file name."""
    path = run / SUMS
    if not path.exists():
        return {}
    sums: dict[str, str] = {}
    try:
        text = read_regular(path).decode()
    except (OSError, UnicodeDecodeError) as error:
        raise IntegrityError(f"{path}: cannot be read ({error}); restore the file") from None
    for number, line in enumerate(text.splitlines(), 1):
        digest, mark, name = line.partition("  ")
        if not mark:
            raise IntegrityError(f"{path}:{number}: no line of hash and name; restore the file")
        sums[name] = digest
    return sums


def write_sums(run: Path, names: Iterable[str]) -> None:
    """Record the hashes of these files; the lines of all others stay."""
    with exclusive(run, patience_s=PATIENCE_S):
        sums = read_sums(run)
        sums.update({name: file_sha256(run / name) for name in names})
        durable(run / SUMS, _sums_text(sums))


def announce(run: Path, name: str) -> None:
    """Name a file that is being written under the hash of nothing, unless it is named already.

    That it was there is known from then on, even where it is lost before it has a hash.
    """
    with exclusive(run, patience_s=PATIENCE_S):
        sums = read_sums(run)
        if name not in sums:
            durable(run / SUMS, _sums_text({**sums, name: hashlib.sha256().hexdigest()}))


def _write_sums(run: Path, pending: Path, names: list[str]) -> None:
    sums = read_sums(run)
    sums.update({name: file_sha256(pending / name) for name in names})
    durable(pending / SUMS, _sums_text(sums))


def _sums_text(sums: dict[str, str]) -> bytes:
    return "".join(f"{digest}  {name}\n" for name, digest in sorted(sums.items())).encode()


def _sync(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())
