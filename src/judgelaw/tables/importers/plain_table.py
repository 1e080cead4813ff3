"""Plain tables of calls: columns under any name, read as every question reads them."""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from judgelaw.duck import foreign_errors, name, private_connection, text
from judgelaw.errors import DuplicateCallsError, InputError, TableError
from judgelaw.tables.calls import Calls, place_of
from judgelaw.tables.columns import MISSING, is_empty, is_soft
from judgelaw.tables.importers.assembly import (
    ENOUGH,
    CellCounts,
    Imported,
    JudgeSurvey,
    Survey,
    survey_counts,
)
from judgelaw.tables.importers.entries import Advice, Format, Rules
from judgelaw.tables.importers.known import LogFile
from judgelaw.tables.reading import TableReading
from judgelaw.tables.reading_of import read_table
from judgelaw.tables.relation import as_calls
from judgelaw.tables.said import Wishes, wishes
from judgelaw.tables.write import write_query
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID

LAST = 1_000
"""Where lists show it: what a format knows, nobody needs to read as a plain table."""
PLAIN = "csv"
_STREAM = ("judge", "criterion", "layer")
_CELL = ("item", "prompt", "order")
_PARTS = (
    *("judge", "criterion", "layer", "date", "item", "stratum", "prompt", "order", "repeat"),
    *("verdict", "gold", "human", "rater", "cluster", "answer"),
)
_NEEDED = ("judge", "item", "prompt", "repeat", "verdict")
_ADVICE = Advice(
    fresh="leave the copied rows out where the table is made",
    repeat="several rows for each cell",
)
_ENDINGS = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet", ".tsv", ".tsv.gz")


def said_by(rules: Rules) -> Wishes:
    """Return what rules of an import say of the columns of a table."""
    fields = dict(rules.fields)
    column = fields.pop("text", None)
    if rules.parser is not None:
        if column is None:
            raise InputError(
                "a parser reads a column of texts: name it, --text COLUMN (or --columns "
                "verdict=COLUMN)"
            )
        fields["verdict"] = column
    return wishes(
        columns=fields,
        where=rules.where,
        label=rules.labels,
        map_order=rules.orders,
        positions=rules.positions or None,
        parser=rules.parser,
        blank=rules.blank,
    )


@contextmanager
def opened_plain(
    paths: Sequence[str | PathLike[str]], said: Wishes
) -> Iterator[tuple[Calls, TableReading]]:
    """Open plain tables as one, and read what each column is."""
    source: Any = [fspath(path) for path in paths]
    with tempfile.TemporaryDirectory(prefix="judgelaw-") as folder, private_connection() as con:
        reading = read_table(
            con,
            source[0] if len(source) == 1 else source,
            said,
            folder=Path(folder),
            plain=True,
            question="rows",
        )
        calls = as_calls(reading, people=_people(reading))
        _check(calls)
        yield calls, reading


def _people(reading: TableReading) -> bool:
    """Whether rows are kept that differ in what people said: where the table says who they are."""
    return "rater" in reading.roles or not reading.people_only


def import_plain(paths: Sequence[str | PathLike[str]], said: Wishes) -> Imported:
    """Read plain tables into the columns of a calls table."""
    with opened_plain(paths, said) as (calls, reading):
        parts = _written(calls)
        with foreign_errors(calls.table):
            rows = calls.con.execute(_selected(calls, parts)).fetchall()
        values = zip(*rows, strict=True) if rows else [()] * len(parts)
        columns = {part: list(column) for part, column in zip(parts, values, strict=True)}
        return Imported(columns=columns, survey=_survey(calls, reading))


def write_plain(
    target: Path | None, paths: Sequence[str | PathLike[str]], said: Wishes
) -> tuple[int, Survey, TableReading]:
    """Write plain tables as one calls table, none where there is no target; say what it holds."""
    with opened_plain(paths, said) as (calls, reading):
        survey = _survey(calls, reading)
        rows = sum(judge.calls for judge in survey.judges)
        if target is not None:
            rows = write_query(target, calls.con, _selected(calls, _written(calls)))
        return rows, survey, reading


def _written(calls: Calls) -> list[str]:
    """Return the parts that have a value somewhere."""
    parts = [part for part in _PARTS if calls.layout.has(part)]
    parts += [part for part in calls.layout.columns if is_soft(part) or part == MISSING]
    tests = ", ".join(f"count({calls.label(part)})" for part in parts)
    with foreign_errors(calls.table):
        (found,) = calls.con.execute(f"SELECT {tests} FROM {calls.source}").fetchall()
    return [part for part, n in zip(parts, found, strict=True) if n or part in _NEEDED]


def _selected(calls: Calls, parts: Sequence[str]) -> str:
    columns = []
    for part in parts:
        sql = calls.rank() if part == "repeat" else calls.label(part)
        if is_soft(part) or part == MISSING:
            sql = f"TRY_CAST({name(calls.layout.columns[part])} AS DOUBLE)"
        columns.append(f"{sql} AS {name(part)}")
    places = ", ".join(calls.locator.columns)
    order = f" ORDER BY {places}" if places else ""
    return f"SELECT {', '.join(columns)} FROM {calls.source}{order}"


def _check(calls: Calls) -> None:
    """Refuse ranks that are none, a call that stands there twice, gold that is no verdict."""
    rank = calls.rank()
    keys = [calls.label(p) for p in (*_STREAM, "date", *_CELL) if calls.layout.has(p)]
    with foreign_errors(calls.table):
        ((strange, rows),) = calls.con.execute(
            f"SELECT count(*) FILTER ({rank} IS NULL), count(*) FROM {calls.source}"
        ).fetchall()
        if not rows:
            raise TableError(f"{calls.table} holds no call: there is nothing to read")
        if strange:
            row = calls.find({"repeat": None}, at_most=1)[0]
            raise TableError(
                f"{row.place}: repeat {row.values['repeat'] or ''!r} is no whole number; map "
                "another column"
            )
        twice = calls.con.execute(
            f"SELECT {', '.join([*keys, rank])} FROM {calls.source} "
            f"GROUP BY {', '.join([*keys, rank])} HAVING count(*) > 1 LIMIT 1"
            if not calls.layout.has("rater")
            else "SELECT 1 LIMIT 0"
        ).fetchone()
    if twice is not None:
        parts = [p for p in (*_STREAM, "date", *_CELL) if calls.layout.has(p)]
        where = dict(zip((*parts, "repeat"), twice, strict=True))
        one, other = calls.find(where, at_most=2)
        cell = ", ".join(f"{p} {where[p]!r}" for p in _CELL if p in where)
        raise DuplicateCallsError(
            f"{other.place} and {one.place} are the same call, {cell}, repeat {twice[-1]}: leave "
            "one of them out"
        )
    _check_gold(calls)


def _check_gold(calls: Calls) -> None:
    """Refuse gold labels that no verdict could match, at the line where the first stands."""
    if not calls.layout.has("gold"):
        return
    verdicts = {str(word or "").strip().casefold() for word in calls.distinct("verdict")}
    if not verdicts <= set(DEFAULT_VERDICTS):
        return  # an alphabet of its own takes in the gold labels
    named = {*DEFAULT_VERDICTS, "1", "2"}
    for gold in calls.distinct("gold"):
        if gold is not None and not is_empty(gold) and gold.strip().casefold() not in named:
            raise TableError(
                f"{place_of(calls, {'gold': gold})}: gold {gold!r} is no verdict of "
                f"{list(DEFAULT_VERDICTS)}, so no call could match it: name the column that holds "
                "it, --gold COLUMN, or say what it stands for, --label VALUE=candidate_1"
            )


def _survey(calls: Calls, reading: TableReading) -> Survey:
    """Count cells where the calls lie."""
    labels = {part: calls.label(part) for part in (*_STREAM, *_CELL)}
    stream = ", ".join(f"{labels[part]} AS {name(part)}" for part in _STREAM)
    cell = ", ".join(f"{labels[part]} AS {name(part)}" for part in _CELL)
    by = "judge, criterion, layer"
    with foreign_errors(calls.table):
        calls.con.execute(
            f"CREATE OR REPLACE TEMP TABLE filled AS SELECT {stream}, {cell}, "
            f"count(DISTINCT {calls.rank()}) AS n FROM {calls.source} GROUP BY ALL"
        )
        cells = calls.con.execute(
            f"SELECT {by}, count(*), count(*) FILTER (n = 1), min(n), max(n), count(DISTINCT item) "
            f"FROM filled GROUP BY ALL ORDER BY {by}"
        ).fetchall()
        levels = calls.con.execute(f'SELECT DISTINCT {by}, prompt, "order" FROM filled').fetchall()
        full = calls.con.execute(
            f"SELECT {by}, f, count(*) FROM (SELECT {by}, item, count(*) FILTER (n >= {ENOUGH}) "
            f"AS f FROM filled GROUP BY ALL) GROUP BY ALL"
        ).fetchall()
        said = calls.con.execute(
            f"SELECT {stream}, {calls.label('verdict')} AS verdict, count(*) FROM {calls.source} "
            "GROUP BY ALL ORDER BY verdict"
        ).fetchall()
        calls.con.execute("DROP TABLE filled")
    found: list[JudgeSurvey] = []
    prompts: defaultdict[Any, set[str]] = defaultdict(set)
    orders: defaultdict[Any, set[str]] = defaultdict(set)
    for *stream_of, prompt, order in levels:
        prompts[tuple(stream_of)].add(prompt)
        orders[tuple(stream_of)] |= {order} if calls.layout.has("order") else set()
    outcomes: defaultdict[Any, Counter[str]] = defaultdict(Counter)
    for *stream_of, verdict, n in said:
        outcomes[tuple(stream_of)][verdict] += n
    for judge, criterion, layer, there, single, low, high, items in cells:
        key = (judge, criterion, layer)
        wanted = len(prompts[key]) * max(len(orders[key]), 1)
        complete = sum(n for *of, f, n in full if (*of,) == key and f == wanted)
        invalid = outcomes[key].get(INVALID, 0)
        found.append(
            survey_counts(
                judge,
                layer,
                criterion,
                items=items,
                prompts=tuple(sorted(prompts[key])),
                orders=tuple(sorted(orders[key])),
                cells=CellCounts(there=there, single=single, low=low, high=high, complete=complete),
                outcomes=dict(outcomes[key]),
                unread={"stored": invalid} if invalid else {},
                how_to_repeat=_ADVICE.repeat,
            )
        )
    dropped = reading.blanks if reading.wishes.blank == "drop" else 0
    left = (f"rows without a verdict: {dropped}",) if dropped else ()
    return Survey(judges=tuple(found), notes=(*reading.words.notes, *reading.notes), not_calls=left)


def tells(file: LogFile) -> bool:
    """Whether a file has columns, or records with a verdict; asked after all others."""
    if file.kind in {"table", "parquet"}:
        return file.path.name.lower().endswith(_ENDINGS)
    return file.kind == "records"


OFFERED = (Format(name=PLAIN, title="plain table", place=LAST, tells=tells, advice=_ADVICE),)

__all__ = ["PLAIN", "import_plain", "said_by", "text", "write_plain"]
