"""Which reader reads which log, and the whole way from files to a table."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from os import PathLike
from pathlib import Path

from judgelaw.doors import offered
from judgelaw.errors import InputError, TableError
from judgelaw.steps import Advance, Progress, unheard, unseen
from judgelaw.tables.importers.assembly import Imported, assemble
from judgelaw.tables.importers.entries import Entry, Format, ImportedCall, Rules, interpret

_FOUND: list[Format] = offered("judgelaw.tables.importers", "OFFERED")
FORMATS = {f.name: f for f in sorted(_FOUND, key=lambda f: (f.place, f.name))}


def import_log(
    source: str,
    paths: Sequence[str | PathLike[str]],
    *,
    rules: Rules | None = None,
    custom_id: str | None = None,
    drop_copies: bool = False,
    progress: Progress = unseen,
) -> Imported:
    """Read logs of one tool into the columns of a calls table.

    Args:
        source: a key of `FORMATS`.
        paths: the files; calls of one cell in several files are repeats.
        rules: what the fields mean.
        custom_id: for batch results, how `custom_id` is made up, with groups named by part.
        drop_copies: keep one of each response that was copied, instead of refusing.
        progress: opens what shows how many bytes were read.

    Raises:
        DuplicateCallsError: copies of one response would be counted as repeats.
        TableError: a file is damaged, or lacks what the rules name; the message gives the place.
    """
    size = sum(Path(path).stat().st_size for path in paths if Path(path).is_file())
    with progress("reading", max(size, 1)) as tick:
        calls, left_out = read_calls(
            source, paths, rules or Rules(), custom_id=custom_id, tick=tick
        )
    return assemble(
        calls, advice=FORMATS[source].advice, drop_copies=drop_copies, left_out=left_out
    )


def read_calls(
    source: str,
    paths: Sequence[str | PathLike[str]],
    rules: Rules,
    *,
    custom_id: str | None = None,
    tick: Advance = unheard,
) -> tuple[list[ImportedCall], list[str]]:
    """Read the calls of the files, and say which entries hold an error in place of a completion."""
    read = _reader(source, custom_id)
    calls: list[ImportedCall] = []
    left_out: list[str] = []
    for path in _distinct(paths):
        try:
            for entry in read(path, tick):
                if not rules.keeps(entry):
                    continue
                if entry.error is not None:
                    left_out.append(f"{entry.place}: {entry.error}")
                else:
                    calls.append(interpret(entry, rules))
        except RecursionError as error:
            raise TableError(f"{path}: nested too deep to be a log: is it the right file?") from (
                error
            )
    if rules.where and not calls and not left_out:
        asked = ", ".join(f"{path}={value}" for path, value in rules.where.items())
        raise TableError(f"no entry has {asked}: check --where")
    return calls, left_out


def _reader(source: str, custom_id: str | None) -> Callable[[Path, Advance], Iterator[Entry]]:
    if source not in FORMATS:
        raise InputError(f"no format {source!r}: there are {', '.join(FORMATS)}")
    if custom_id is None:
        return FORMATS[source].read
    if not FORMATS[source].by_custom_id:
        raise InputError(f"{source} logs have no custom_id: name fields instead, --item FIELD")
    return partial(FORMATS[source].read, pattern=custom_id)


def _distinct(paths: Sequence[str | PathLike[str]]) -> list[Path]:
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if found.setdefault(path.resolve(), path) is not path:
            raise InputError(f"{path} is named twice: its calls would be their own repeats")
    if not found:
        raise InputError("no log is named")
    return list(found.values())
