"""Which reader reads which log, and the whole way from files to a table."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Any

from judgelaw.doors import offered
from judgelaw.errors import InputError, TableError
from judgelaw.steps import Advance, Progress, unheard, unseen
from judgelaw.tables.importers.assembly import Imported, assemble
from judgelaw.tables.importers.copies import find_copies
from judgelaw.tables.importers.entries import (
    ORDERS,
    Entry,
    Format,
    Grading,
    ImportedCall,
    Rules,
    interpret,
    is_blank,
)
from judgelaw.tables.importers.known import (
    CACHED,
    PLACE,
    RESPONSE,
    ROW,
    KnownLog,
    LogFile,
    Row,
    finished,
)
from judgelaw.tables.importers.plain_table import PLAIN, import_plain, said_by
from judgelaw.tables.positions import far, label_options
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID
from judgelaw.words import DISPLAYED, bare, listed

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
    format_ = FORMATS.get(source)
    if source == PLAIN and custom_id is None:
        return import_plain(_distinct(paths), said_by(rules or Rules()))
    if (rules is None or rules.nothing_said) and custom_id is None and format_ and format_.known:
        return _import_known(format_, paths, progress=progress)
    rules = rules or Rules()
    files = [path for given in paths for path in _files(source, Path(given))]
    size = sum(path.stat().st_size for path in files if path.is_file())
    with progress("reading", max(size, 1)) as tick:
        calls, left_out = read_calls(source, files, rules, custom_id=custom_id, tick=tick)
    if rules.parser is None:
        calls = _as_displayed(calls, rules)
    imported = assemble(
        calls, advice=FORMATS[source].advice, drop_copies=drop_copies, left_out=left_out
    )
    _check_gold(calls, imported)
    if rules.positions:
        _refuse_turned_twice(imported, rules)
    return imported


def _import_known(
    format_: Format,
    paths: Sequence[str | PathLike[str]],
    *,
    progress: Progress,
) -> Imported:
    """Read a log whose format says what everything means."""
    size = sum(Path(path).stat().st_size for path in paths if Path(path).is_file())
    with progress("reading", max(size, 1)) as tick:
        log = known_log(paths, like=format_.name, tick=tick)
    if log is None:
        raise TableError(f"{paths[0]}: there is no such file: check the path")
    return assemble(
        [_call(number, row) for number, row in enumerate(log.rows)],
        advice=format_.grading or format_.advice,
        says=log.says,
        not_calls=log.left_out,
        scale=log.scale,
    )


def _call(number: int, row: Row) -> ImportedCall:
    parts = {part: row.get(part) for part in ROW if part != "repeat"}
    return ImportedCall(
        place=row.get(PLACE) or f"row {number}",
        response_id=row.get(RESPONSE),
        cached=row.get(CACHED) is not None,
        said=row.get("reply"),
        reason="invalid" if row["verdict"] == INVALID else "stored",
        **parts,  # type: ignore[arg-type] # a row has a judge, an item, a prompt and a verdict
    )


def _as_displayed(calls: list[ImportedCall], rules: Rules) -> list[ImportedCall]:
    """Write positions as A, B and TIE where somebody says which they are.

    The log of a tool holds what the model wrote, which is what it was shown.
    """
    if not rules.positions:
        return calls
    words = dict(zip(map(bare, rules.positions), DISPLAYED, strict=False))
    return [replace(call, verdict=words.get(bare(call.verdict), call.verdict)) for call in calls]


def _refuse_turned_twice(imported: Imported, rules: Rules) -> None:
    """Refuse positions where gold shows that the verdicts of the file were candidates already.

    A judge that agrees with gold in one order and disagrees as clearly in the other, and only
    after its verdicts were turned, was restored by whoever wrote the file.
    """
    columns = imported.columns
    right: dict[Any, list[bool]] = {}
    for order, verdict, gold in zip(
        *(columns.get(part, ()) for part in ("order", "verdict", "gold")), strict=False
    ):
        if {verdict, gold} <= set(DEFAULT_VERDICTS[:2]):
            right.setdefault(order, []).append(verdict == gold)
    kept, turned = (right.get(order, []) for order in ORDERS)
    if not (far(kept, above=True) and far(turned, above=False)):
        return
    first, second = rules.positions[:2]
    raise TableError(
        f"with --positions {','.join(rules.positions)} the verdicts agree with gold in "
        f"{sum(kept)} of {len(kept)} calls in the order AB, and in {sum(turned)} of {len(turned)} "
        "in the order BA: they were turned into candidates before. Leave --positions out and say "
        "that they name the answers:"
        + label_options({first: DEFAULT_VERDICTS[0], second: DEFAULT_VERDICTS[1]})
    )


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
    with rules.reading() as reader:
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
                        calls.append(interpret(entry, rules, reader))
            except RecursionError as error:
                raise TableError(
                    f"{path}: nested too deep to be a log: is it the right file?"
                ) from error
    if rules.where and not calls and not left_out:
        asked = ", ".join(f"{path}={value}" for path, value in rules.where.items())
        raise TableError(f"no entry has {asked}: check --where")
    return calls, left_out


def known_log(
    paths: Sequence[str | PathLike[str]], *, like: str | None = None, tick: Advance = unheard
) -> KnownLog | None:
    """Read files whose format says what everything means; None where they are no such log.

    Args:
        paths: files, or folders of them; what is at no path of this machine is no known log.
        like: what `--from` says; absent, the content of the files tells.
        tick: told how many bytes were read.

    Raises:
        TableError: the files are logs of several tools, or of one and other files, or hold no
            call of a judge.
    """
    places = [Path(path) for path in paths]
    if like is not None and like not in FORMATS:
        raise InputError(f"no format {like!r}: there are {', '.join(FORMATS)}")
    if not places or not all(place.exists() for place in places):
        return None
    files = [file for place in places for file in _log_files(place)]
    found = {like} if like else {_format_of(file) for file in files}
    format_ = FORMATS.get(next(iter(found)) or "") if len(found) == 1 else None
    if format_ is None:
        _refuse_mixture(files, found)
        return None
    if format_.known is None:
        if like is None:
            raise _needs_rules(format_, files[0].path)
        return None
    _distinct([file.path for file in files])
    return _without_copies(format_.known(files, tick))


def _without_copies(log: KnownLog) -> KnownLog:
    """Leave out replies that stand in the log twice, or that a cache gave again, and say so."""
    copies = find_copies([_call(number, row) for number, row in enumerate(log.rows)]).found
    places = {copy.call.place for copy in copies}
    kept = [row for n, row in enumerate(log.rows) if (row.get(PLACE) or f"row {n}") not in places]
    left = (f"copies of replies that are there already, no repeats: {len(copies)}",)
    return replace(log, rows=finished(kept), left_out=(*log.left_out, *left[: len(copies)]))


def _needs_rules(format_: Format, path: Path) -> TableError:
    return TableError(
        f"{path}: {format_.title}: the verdicts stand in the completions; read them with judgelaw "
        f"import --from {format_.name} {quote(str(path))} --parser first-line (or "
        "regex:PATTERN, json:FIELD, score:MIN..MAX)"
    )


def _log_files(place: Path) -> list[LogFile]:
    """Return a file, or those of a folder that are logs of some tool."""
    if not place.is_dir():
        return [LogFile(place)]
    inside = (LogFile(path) for path in sorted(place.rglob("*")) if path.is_file())
    return [file for file in inside if _format_of(file) is not None]


def _format_of(file: LogFile) -> str | None:
    """Say which tool wrote a file, by its content; None for a table that is no log of a tool."""
    found = _written_by(file)
    return None if found == PLAIN else found


def _refuse_mixture(files: Sequence[LogFile], found: Collection[str | None]) -> None:
    named = [(file, name) for file in files if (name := _format_of(file)) is not None]
    if len(found) > 1 and named:
        one, name = named[0]
        other = next(file for file in files if _format_of(file) != name)
        what = FORMATS[_format_of(other) or PLAIN].title
        raise TableError(
            f"{one.path}: {FORMATS[name].title}; {other.path}: {what}: read them one at a time"
        )


def gradings_of(path: str | PathLike[str], progress: Advance = unheard) -> list[Grading]:
    """Return what the graders of a log were asked, and what they said.

    Raises:
        InputError: the log does not hold the prompts of its graders.
    """
    tool = detect(path)
    read = FORMATS[tool].gradings
    holds = ", ".join(name for name, each in FORMATS.items() if each.gradings is not None)
    if read is None:
        raise InputError(
            f"{path}: logs of {tool} do not hold the prompts of their graders, as those of {holds} "
            "do; `judgelaw import` reads their verdicts, and jl.audit(rows, judge=metric) asks the "
            "metric itself again about the answers"
        )
    found = list(read(Path(path), progress))
    if not found:
        raise InputError(f"{path}: no scorer recorded what it asked a grader; nothing to ask again")
    return found


def detect(path: str | PathLike[str]) -> str:
    """Say which tool wrote a log, or the logs of a folder, by their content.

    Raises:
        InputError: nothing tells; the message names the fields that are there.
    """
    place = Path(path)
    if place.is_dir():
        inside = (LogFile(file) for file in sorted(place.rglob("*")) if file.is_file())
        tools = sorted({tool for file in inside if (tool := _written_by(file)) is not None})
        if len(tools) != 1:
            held = f"logs of {' and '.join(tools)}" if tools else "no log that is known"
            raise InputError(f"{place} holds {held}: say which to read, --from {_NAMES}")
        return tools[0]
    file = LogFile(place)
    tool = _written_by(file)
    if tool is None:
        raise InputError(
            f"{place}: nothing tells what wrote it; it has {_seen(file)}. As a plain table it is "
            f"read with --from {PLAIN} --verdict FIELD; else say what it is, --from {_NAMES}"
        )
    return tool


def _seen(file: LogFile) -> str:
    """Name the fields of the first record."""
    return f"the fields {listed(file.columns)}" if file.columns else "no fields"


def _written_by(file: LogFile) -> str | None:
    try:
        return next((f.name for f in FORMATS.values() if f.tells and f.tells(file)), None)
    except TableError:
        return None  # the reader that is asked to read it says what is wrong with it


_NAMES = "|".join(FORMATS)


def _files(source: str, path: Path) -> list[Path]:
    """Return a file, or those of a folder that the tool wrote."""
    if not path.is_dir():
        return [path]
    inside = [file for file in sorted(path.rglob("*")) if file.is_file()]
    found = [file for file in inside if _written_by(LogFile(file)) == source]
    if not found:
        raise TableError(f"{path}: no log of {source} is in this folder: name the files")
    return found


def _reader(source: str, custom_id: str | None) -> Callable[[Path, Advance], Iterator[Entry]]:
    if source not in FORMATS:
        raise InputError(f"no format {source!r}: there are {', '.join(FORMATS)}")
    read = FORMATS[source].read
    if read is None:
        raise InputError(
            f"{source}: this format says itself what everything means: leave the parser and the "
            "fields out"
        )
    if custom_id is None:
        return read
    if not FORMATS[source].by_custom_id:
        raise InputError(f"{source} logs have no custom_id: name fields instead, --item FIELD")
    return partial(read, pattern=custom_id)


def _distinct(paths: Sequence[str | PathLike[str]]) -> list[Path]:
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if found.setdefault(path.resolve(), path) is not path:
            raise InputError(f"{path} is named twice: its calls would be their own repeats")
    if not found:
        raise InputError("no log is named")
    return list(found.values())
