"""Which reader reads which log, and the whole way from files to a table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from functools import partial
from os import PathLike
from pathlib import Path

from judgelaw.doors import offered
from judgelaw.errors import InputError, TableError
from judgelaw.steps import Advance, Progress, unheard, unseen
from judgelaw.tables.importers.assembly import Imported, assemble
from judgelaw.tables.importers.entries import (
    Entry,
    Format,
    ImportedCall,
    Rules,
    interpret,
    is_blank,
)
from judgelaw.tables.importers.log_files import file_errors, open_text
from judgelaw.tables.positions import are_positions, refuse_in_log
from judgelaw.tensor import DEFAULT_VERDICTS
from judgelaw.wire import DISPLAYED
from judgelaw.words import bare

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
    rules = rules or Rules()
    files = [path for given in paths for path in _files(source, Path(given))]
    size = sum(path.stat().st_size for path in files if path.is_file())
    with progress("reading", max(size, 1)) as tick:
        calls, left_out = read_calls(source, files, rules, custom_id=custom_id, tick=tick)
    if rules.parser is None:
        calls = _as_displayed(calls, rules, plain=source == "csv")
    imported = assemble(
        calls, advice=FORMATS[source].advice, drop_copies=drop_copies, left_out=left_out
    )
    _check_gold(calls, imported)
    return imported


def _as_displayed(calls: list[ImportedCall], rules: Rules, *, plain: bool) -> list[ImportedCall]:
    """Write positions as A, B and TIE where somebody says which they are; refuse a guess.

    A label that becomes A or B says it too, since labels are what was displayed; so does a map of
    display orders. The log of a tool holds what the model wrote, which is what it was shown; a
    `plain` table may hold either.
    """
    if rules.positions:
        words = dict(zip(map(bare, rules.positions), DISPLAYED, strict=False))
        return [
            replace(call, verdict=words.get(bare(call.verdict), call.verdict)) for call in calls
        ]
    shown = {call.verdict for call in calls if call.displayed and call.order is not None}
    orders = {call.order for call in calls if call.order is not None}
    declared = not plain or rules.orders or set(rules.labels.values()) & set(DISPLAYED[:2])
    if len(orders) > 1 and not declared and are_positions(shown):
        raise refuse_in_log(shown, calls[0].place)
    return calls


def _check_gold(calls: Sequence[ImportedCall], imported: Imported) -> None:
    """Refuse gold labels that no verdict could match, at the line where the first stands."""
    verdicts = {str(word).strip().casefold() for word in imported.columns["verdict"]}
    if not verdicts <= set(DEFAULT_VERDICTS):
        return  # an alphabet of its own takes in the gold labels
    named = {*DEFAULT_VERDICTS, "1", "2"}
    for place, gold in enumerate(imported.columns.get("gold", ())):
        if gold is not None and str(gold).strip().casefold() not in named:
            line = next((c.place for c in calls if c.gold == gold), f"row {place}")
            raise TableError(
                f"{line}: gold {gold!r} is no verdict of {list(DEFAULT_VERDICTS)}, so no call "
                "could match it: name the field that holds it, --gold FIELD, or write gold "
                "labels as verdicts"
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
    paths = [path for given in paths for path in _files(source, Path(given))]
    read = _reader(source, custom_id)
    calls: list[ImportedCall] = []
    left_out: list[str] = []
    for path in _distinct(paths):
        try:
            for entry in read(path, tick):
                if not rules.keeps(entry):
                    continue
                if rules.blank == "drop" and is_blank(entry, rules):
                    left_out.append(f"{entry.place}: the verdict is blank")
                elif entry.error is not None:
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


def detect(path: str | PathLike[str]) -> str:
    """Say which tool wrote a log, or the logs of a folder, by the names and the first entries.

    Raises:
        InputError: nothing tells.
    """
    place = Path(path)
    if place.is_dir():
        found = {_written_by(file) for file in sorted(place.rglob("*")) if file.is_file()}
        tools = sorted(tool for tool in found if tool is not None)
        if len(tools) != 1:
            held = f"logs of {' and '.join(tools)}" if tools else "no log that is known"
            raise InputError(f"{place} holds {held}: say which to read, --from {_NAMES}")
        return tools[0]
    tool = _written_by(place)
    if tool is None:
        raise InputError(f"{place}: nothing tells what wrote it: say it, --from {_NAMES}")
    return tool


def _written_by(path: Path) -> str | None:
    name = path.name.lower().removesuffix(".gz")
    by_name = [f.name for f in FORMATS.values() if any(fnmatch(name, n) for n in f.names)]
    if by_name or not name.endswith((".json", ".jsonl")):
        return by_name[0] if by_name else None
    with file_errors(path), open_text(path) as file:
        start = file.read(_ENOUGH)
    telling = (f for f in FORMATS.values() if f.marks and all(f'"{m}"' in start for m in f.marks))
    return next((found.name for found in telling), None)


_ENOUGH = 100_000
"""Characters of a log in which it shows what it is."""
_NAMES = "|".join(FORMATS)


def _files(source: str, path: Path) -> list[Path]:
    """Return a file, or those of a folder that the tool wrote."""
    if not path.is_dir():
        return [path]
    found = [f for f in sorted(path.rglob("*")) if f.is_file() and _written_by(f) == source]
    if not found:
        raise TableError(f"{path}: no log of {source} is in this folder: name the files")
    return found


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
