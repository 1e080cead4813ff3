"""The tables that leave a run, and completions read again under another parser."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from judgelaw.acquire.readings import Patience, read_again
from judgelaw.duck import one_file
from judgelaw.errors import InputError, IntegrityError
from judgelaw.ledger import LEDGER_NAME, Judged, LedgerView, RunLock, SqliteLedger, SqliteView
from judgelaw.study import LABELS, FrozenRun, PlannedCall, reading, write_sums
from judgelaw.tables import write_calls
from judgelaw.wire import FORMS, JudgeSpec, ParserSpec, parser_name, parser_rule

CALLS = "calls.parquet"
TIMING = "timing.parquet"

CALLS_COLUMNS = (
    "judge",
    "layer",
    "item",
    "stratum",
    "prompt",
    "order",
    "repeat",
    "verdict",
    "gold",
)
TIMING_COLUMNS = (
    *("judge", "layer", "item", "prompt", "order", "repeat", "position", "attempts"),
    *("started_s", "latency_s"),
    *("finish_reason", "input_tokens", "output_tokens", "cached_tokens"),
)
"""In the groups in which `timing_rows` writes them."""
_BLOCK = 50_000

Row = tuple[Any, ...]


def write_tables(frozen: FrozenRun, view: LedgerView) -> None:
    """Write both tables from the rows of the ledger, under each judge's frozen parser."""
    write_results(frozen.path / CALLS, frozen, view)
    columns = with_date(TIMING_COLUMNS, frozen)
    write_calls(frozen.path / TIMING, _blocks(columns, timing_rows(frozen, view)))


def with_date(columns: tuple[str, ...], frozen: FrozenRun) -> tuple[str, ...]:
    """Return the columns of a table, the date among them where a run has waves."""
    return (*columns, "date") if frozen.record.dates else columns


def write_results(
    path: Path, frozen: FrozenRun, view: LedgerView, parsers: Mapping[str, str] | None = None
) -> None:
    """Write a calls table, under each judge's frozen parser or under the versions named."""
    rows = map(calls_row, results(frozen, view, parsers))
    write_calls(path, _blocks(with_date(CALLS_COLUMNS, frozen), rows))


def results(
    frozen: FrozenRun, view: LedgerView, parsers: Mapping[str, str] | None = None
) -> Iterator[Judged]:
    """Yield the verdicts of a run with hidden labels in the place of slots.

    The sequence is judge, layer, date, item, order, repeat, prompt, whatever was acquired first.
    `parsers` is the parser version to take for each judge; by default the frozen ones.
    """
    if parsers is None:
        parsers = {name: parser_name(spec) for name, spec in frozen.readers.items()}
    wanted = (j for j in view.judged() if j.verdict.parser == parsers[j.call.judge])
    controls = {layer.name for layer in frozen.study.streams if layer.role == "control"}
    if not controls:
        yield from wanted
        return
    labels = read_labels(frozen)
    for layer, rows in groupby(wanted, key=lambda j: j.call.layer):
        if layer in controls:
            yield from _labelled(rows, labels)
        else:
            yield from rows


def read_labels(frozen: FrozenRun) -> dict[str, str]:
    """Read the sealed labels of control calls; only what is written after acquisition does."""
    path = frozen.path / LABELS
    if not path.exists():
        return {}
    with reading() as connection:
        query = f"SELECT call_id, label FROM {one_file(path)}"  # noqa: S608 - the path is quoted
        return dict(connection.execute(query).fetchall())


def calls_row(judged: Judged) -> Row:
    """Return the row of the calls table: no ids, no times, no accounts."""
    c = judged.call
    where = (c.judge, c.layer, c.item, c.stratum, c.prompt, c.order, c.repeat)
    return (*where, judged.verdict.verdict, c.gold, *_date(c))


def timing_rows(frozen: FrozenRun, view: LedgerView) -> Iterator[Row]:
    """Yield the rows of the timing table; time counts from the first request of the run."""
    start = min((a.sent_at for a in view.attempts() if a.sent_at is not None), default=0.0)
    for j in results(frozen, view):
        c = j.call
        yield (
            *(c.judge, c.layer, c.item, c.prompt, c.order, c.repeat, c.position, j.attempts),
            *(round(j.sent_at - start, 6), round(j.ended_at - j.sent_at, 6)),
            *(j.finish_reason, j.input_tokens, j.output_tokens, j.cached_tokens, *_date(c)),
        )


def _date(call: PlannedCall) -> tuple[str, ...]:
    return () if call.date is None else (call.date,)


def _labelled(rows: Iterable[Judged], labels: Mapping[str, str]) -> Iterator[Judged]:
    """Put labels in the place of slots, and sort each block by them."""

    def block(j: Judged) -> tuple[str, str | None, str, str, int]:
        return (j.call.judge, j.call.date, j.call.item, j.call.order, j.call.repeat)

    for _, slots in groupby(rows, key=block):
        shown = [replace(j, call=replace(j.call, prompt=_label(j, labels))) for j in slots]
        yield from sorted(shown, key=lambda j: j.call.prompt)


def _label(judged: Judged, labels: Mapping[str, str]) -> str:
    try:
        return labels[judged.call.call_id]
    except KeyError:
        raise IntegrityError(
            f"control call {judged.call.call_id} has no sealed label: {LABELS} was changed; "
            "restore it from a copy"
        ) from None


def _blocks(columns: tuple[str, ...], rows: Iterable[Row]) -> Iterator[dict[str, list[Any]]]:
    """Turn rows into blocks of columns; a table without rows still has its columns."""
    rows = iter(rows)
    chunk = list(islice(rows, _BLOCK))
    while True:
        values = zip(*chunk, strict=True) if chunk else ([] for _ in columns)
        yield {name: list(column) for name, column in zip(columns, values, strict=True)}
        chunk = list(islice(rows, _BLOCK))
        if not chunk:
            return


@dataclass(frozen=True, kw_only=True)
class Reparse:
    """What a parser version reads differently for one judge.

    Attributes:
        judge: whose completions.
        before, after: the frozen parser version, and the new one.
        changes: how often `(before, after)` verdicts differ.
        read: completions that both have read.
    """

    judge: str
    before: str
    after: str
    changes: dict[tuple[str, str], int]
    read: int


def with_parser(spec: JudgeSpec, parser: Any) -> JudgeSpec:
    """Return a judge that reads with another parser, given as a study file would give it."""
    try:
        chosen: Any = TypeAdapter(ParserSpec).validate_python(parser_rule(parser))
    except ValidationError as error:
        raise InputError(f"{parser!r} is no parser: write {FORMS}") from error
    return spec.model_copy(update={"parser": chosen})


def reparse(frozen: FrozenRun, specs: dict[str, JudgeSpec]) -> tuple[Reparse, ...]:
    """Read every completion under the parsers of `specs`, beside the verdicts that are there.

    Nothing is sent, nothing is overwritten; the calls table stays with the frozen parser.

    Raises:
        InputError: a parser runs out of time too often.
    """
    with RunLock(frozen.path) as lock:
        with SqliteLedger(frozen.path, lock=lock) as ledger:
            for spec in specs.values():
                ledger.add_verdicts(read_again(ledger, spec))
                if (patience := Patience.starting_from(ledger, spec)).over:
                    raise InputError(f"{patience.words}: write a rule that does not backtrack")
        write_sums(frozen.path, [LEDGER_NAME])
        with SqliteView(frozen.path / LEDGER_NAME) as view:
            return tuple(_compare(view, frozen.readers[name], spec) for name, spec in specs.items())


def _compare(view: LedgerView, old: JudgeSpec, new: JudgeSpec) -> Reparse:
    before, after = parser_name(old), parser_name(new)
    changes: Counter[tuple[str, str]] = Counter()
    read = 0
    mine = (j for j in view.judged() if j.call.judge == old.name)
    for _, versions in groupby(mine, key=lambda j: j.call.call_id):
        said = {j.verdict.parser: j.verdict.verdict for j in versions}
        if before in said and after in said:
            read += 1
            if said[before] != said[after]:
                changes[said[before], said[after]] += 1
    return Reparse(judge=old.name, before=before, after=after, changes=dict(changes), read=read)
