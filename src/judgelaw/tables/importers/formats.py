"""Which reader reads which log, and the whole way from files to a table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from os import PathLike
from pathlib import Path

from judgelaw.errors import InputError, TableError
from judgelaw.tables.importers import (
    batch_log,
    inspect_log,
    lm_eval_log,
    plain_table,
    promptfoo_log,
)
from judgelaw.tables.importers.assembly import Advice, Imported, assemble
from judgelaw.tables.importers.entries import (
    Entry,
    ImportedCall,
    Rules,
    Tick,
    interpret,
    is_blank,
)
from judgelaw.tables.importers.log_files import file_errors, open_text
from judgelaw.tables.positions import are_positions, refuse_in_log
from judgelaw.tensor import DEFAULT_VERDICTS
from judgelaw.wire import DISPLAYED
from judgelaw.words import bare


@dataclass(frozen=True, kw_only=True)
class Format:
    """How the logs of one tool are read, and how people make it repeat."""

    read: Callable[[Path, Tick], Iterator[Entry]]
    advice: Advice


_BATCHES = {"openai-batch": batch_log.read_openai, "anthropic-batch": batch_log.read_anthropic}
_REQUESTS = Advice(fresh=batch_log.ADVICE, repeat=batch_log.REPEAT)

FORMATS = {
    "inspect": Format(
        read=inspect_log.read, advice=Advice(fresh=inspect_log.ADVICE, repeat=inspect_log.REPEAT)
    ),
    "promptfoo": Format(
        read=promptfoo_log.read,
        advice=Advice(fresh=promptfoo_log.ADVICE, repeat=promptfoo_log.REPEAT),
    ),
    "lm-eval": Format(
        read=lm_eval_log.read, advice=Advice(fresh=lm_eval_log.ADVICE, repeat=lm_eval_log.REPEAT)
    ),
    **{name: Format(read=read, advice=_REQUESTS) for name, read in _BATCHES.items()},
    "csv": Format(
        read=plain_table.read, advice=Advice(fresh=plain_table.ADVICE, repeat=plain_table.REPEAT)
    ),
}


def import_log(
    source: str,
    paths: Sequence[str | PathLike[str]],
    *,
    rules: Rules | None = None,
    custom_id: str | None = None,
    drop_copies: bool = False,
    tick: Tick = lambda _: None,
) -> Imported:
    """Read logs of one tool into the columns of a calls table.

    Args:
        source: a key of `FORMATS`.
        paths: the files; calls of one cell in several files are repeats.
        rules: what the fields mean.
        custom_id: for batch results, how `custom_id` is made up, with groups named by part.
        drop_copies: keep one of each response that was copied, instead of refusing.
        tick: told how many bytes were read since the last time.

    Raises:
        DuplicateCallsError: copies of one response would be counted as repeats.
        TableError: a file is damaged, or lacks what the rules name; the message gives the place.
    """
    rules = rules or Rules()
    calls, left_out = read_calls(source, paths, rules, custom_id=custom_id, tick=tick)
    if rules.parser is None:
        calls = _as_displayed(calls, rules, named=source != "csv" and "verdict" in rules.fields)
    imported = assemble(
        calls, advice=FORMATS[source].advice, drop_copies=drop_copies, left_out=left_out
    )
    _check_gold(calls, imported)
    return imported


def _as_displayed(calls: list[ImportedCall], rules: Rules, *, named: bool) -> list[ImportedCall]:
    """Write positions as A, B and TIE where somebody says which they are; refuse a guess.

    A label that becomes A or B says it too, since labels are what was displayed; so does a map of
    display orders, and a field of a tool's log that was `named`: it holds what the model wrote.
    """
    if rules.positions:
        words = dict(zip(map(bare, rules.positions), DISPLAYED, strict=False))
        return [
            replace(call, verdict=words.get(bare(call.verdict), call.verdict)) for call in calls
        ]
    shown = {call.verdict for call in calls if call.displayed and call.order is not None}
    orders = {call.order for call in calls if call.order is not None}
    declared = named or rules.orders or set(rules.labels.values()) & set(DISPLAYED[:2])
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
    tick: Tick = lambda _: None,
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
    if name.endswith(".eval"):
        return "inspect"
    if name.endswith((".csv", ".parquet", ".tsv")):
        return "csv"
    if name.startswith("samples_") and name.endswith(".jsonl"):
        return "lm-eval"
    if not name.endswith((".json", ".jsonl")):
        return None
    with file_errors(path), open_text(path) as file:
        start = file.read(_ENOUGH)
    marks = {mark for mark in _MARKS if f'"{mark}"' in start}
    return next((tool for tool, wanted in _TELLING if wanted <= marks), None)


_ENOUGH = 100_000
"""Characters of a log in which it shows what it is."""
_TELLING: tuple[tuple[str, frozenset[str]], ...] = (
    ("openai-batch", frozenset({"custom_id", "response"})),
    ("anthropic-batch", frozenset({"custom_id", "result"})),
    ("lm-eval", frozenset({"doc_id", "arguments"})),
    ("promptfoo", frozenset({"provider", "vars", "prompt"})),
    ("inspect", frozenset({"eval", "task"})),
    ("csv", frozenset({"verdict"})),
)
_MARKS = frozenset().union(*(marks for _, marks in _TELLING))
_NAMES = "|".join(FORMATS)


def _files(source: str, path: Path) -> list[Path]:
    """Return a file, or those of a folder that the tool wrote."""
    if not path.is_dir():
        return [path]
    found = [f for f in sorted(path.rglob("*")) if f.is_file() and _written_by(f) == source]
    if not found:
        raise TableError(f"{path}: no log of {source} is in this folder: name the files")
    return found


def _reader(source: str, custom_id: str | None) -> Callable[[Path, Tick], Iterator[Entry]]:
    if source not in FORMATS:
        raise InputError(f"no format {source!r}: there are {', '.join(FORMATS)}")
    if custom_id is None:
        return FORMATS[source].read
    if source not in _BATCHES:
        raise InputError(f"{source} logs have no custom_id: name fields instead, --item FIELD")
    return partial(_BATCHES[source], pattern=custom_id)


def _distinct(paths: Sequence[str | PathLike[str]]) -> list[Path]:
    found: dict[Path, Path] = {}
    for path in map(Path, paths):
        if found.setdefault(path.resolve(), path) is not path:
            raise InputError(f"{path} is named twice: its calls would be their own repeats")
    if not found:
        raise InputError("no log is named")
    return list(found.values())
