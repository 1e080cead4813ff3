"""Rows of a table as they stand: one verdict a row, with a person's label or a date beside it.

A table of labels needs item and verdict only. Nothing is counted here and no design is asked for:
a row is what one call said, and what one person said of its item.
"""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from judgelaw.duck import column_types, foreign_errors, private_connection
from judgelaw.errors import TableError
from judgelaw.tables.census import is_empty
from judgelaw.tables.columns import ALIASES, CONTRACT, Need, Wish
from judgelaw.tables.engines import (
    DuckCalls,
    LazyCalls,
    Locator,
    engine_errors,
    registered,
)
from judgelaw.tables.positions import are_positions, refuse_in_log
from judgelaw.tables.read import open_calls

HUMAN, RATER, TEXT = "human", "rater", "text"
GOLD = "gold"
_RATERS = ("rater_id", "annotator", "annotator_id", "labeler", "labeller", "labelled_by")
_TEXTS = ("content", "instruction", "input", "question")
_NEED = Need(
    parts=(*CONTRACT, HUMAN, RATER, TEXT),
    required=("item", "verdict"),
    aliases={
        **ALIASES,
        # A column `model` of a table of labels is the system that was judged as often as not.
        "judge": ("judge_id", "judge_name", "judge_model"),
        RATER: _RATERS,
        TEXT: _TEXTS,
    },
    # `label` and `rater` are people's here, not the judge's.
    further={"item": ("id", "example", "sample", "qid", "uid", "idx")},
)


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """The rows of a table, column by column under the names of the contract.

    Attributes:
        table: how to call it in a message.
        human: the table's own name of the column of labels; None where it has none.
        columns: text by column, None for an empty field; absent columns are not there.
        rows: how many rows there are.
    """

    table: str
    human: str | None
    columns: Mapping[str, Sequence[str | None]]
    rows: int

    def column(self, part: str) -> Sequence[str | None]:
        """Return one column, all empty where the table does not have it."""
        return self.columns.get(part) or [None] * self.rows

    def where(self, part: str, value: str | None) -> "LabelledRows":
        """Keep the rows whose column holds this value."""
        keep = [i for i, found in enumerate(self.column(part)) if found == value]
        columns = {name: [values[i] for i in keep] for name, values in self.columns.items()}
        return replace(self, columns=columns, rows=len(keep))


def read_rows(
    source: Any,
    *,
    human: str | None = None,
    columns: Mapping[str, str | None] | None = None,
) -> LabelledRows:
    """Read the rows of a table.

    Args:
        source: a file, a run folder, a frame, or whatever else `read_tensors` takes.
        human: the column of people's labels; by default `human`, or `gold` where there is none.
        columns: the table's own names of columns by contract name.

    Raises:
        TableError: item, verdict or the named column of labels is not there.
    """
    mapped = dict(columns or {})
    if human is not None:
        mapped[HUMAN] = human
    with tempfile.TemporaryDirectory(prefix="judgelaw-") as folder, private_connection() as con:
        try:
            calls = open_calls(con, source, Wish(mapped, _NEED), folder=Path(folder))
        except TableError as error:
            raise _named(error, human) from error
        duck = _scanned(con, calls)
        # Not every aggregate: rows keep the sequence in which they stand.
        parts = tuple(duck.layout.columns)
        with foreign_errors(duck.table):
            query = f"SELECT {', '.join(duck.label(part) for part in parts)} FROM {duck.source}"
            found = con.execute(query).fetchall()
    if not found:
        raise TableError(f"{duck.table} holds no row: there is nothing to read")
    values = dict(zip(parts, zip(*found, strict=True), strict=True))
    return _of(duck.table, values, human, len(found))


def _of(table: str, values: dict[str, Any], human: str | None, rows: int) -> LabelledRows:
    cleaned: dict[str, Sequence[str | None]] = {
        part: [None if is_empty(word) else word for word in column]
        for part, column in values.items()
    }
    name = human if HUMAN in cleaned else None
    if HUMAN not in cleaned and GOLD in cleaned:
        cleaned[HUMAN], name = cleaned[GOLD], GOLD
    elif HUMAN in cleaned and name is None:
        name = HUMAN
    for i, item in enumerate(cleaned["item"]):
        if item is None:
            raise TableError(f"{table}: row {i + 1} names no item: fill the column")
    verdicts = {word for word in cleaned["verdict"] if word is not None}
    if len({*cleaned.get("order", ())} - {None}) > 1 and are_positions(verdicts):
        raise refuse_in_log(verdicts, table, command="judgelaw import TABLE ")
    return LabelledRows(table=table, human=name, columns=cleaned, rows=rows)


def _named(error: TableError, human: str | None) -> TableError:
    """Say which option names the column of labels, where that is what is missing."""
    if f"columns maps {HUMAN!r} to" not in str(error):
        return error
    words = str(error).replace(
        f"columns maps {HUMAN!r} to {human!r}, which the table does not have",
        f"no column {human!r}",
    )
    return TableError(f"{words}: name the column of people's labels, human=... (--human COLUMN)")


def _scanned(con: duckdb.DuckDBPyConnection, calls: Any) -> DuckCalls:
    """Return a source that DuckDB can scan; a lazy frame comes home whole."""
    if not isinstance(calls, LazyCalls):
        found: DuckCalls = calls
        return found
    names = sorted(set(calls.layout.columns.values()))
    with engine_errors(calls.table):
        registered(con, "frame", calls.frame.select(names).collect())
        types = column_types(con, "frame")
    return DuckCalls(
        con=con,
        table=calls.table,
        source="frame",
        layout=calls.layout,
        types=types,
        locator=Locator(places=lambda rows: [calls.table] * len(rows)),
    )
