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

from judgelaw.duck import foreign_errors, name, private_connection
from judgelaw.errors import TableError
from judgelaw.tables.calls import Calls
from judgelaw.tables.columns import is_empty
from judgelaw.tables.reading import AS_GIVEN, UNNAMED, TableReading
from judgelaw.tables.reading_of import read_table
from judgelaw.tables.relation import as_calls, item_sql
from judgelaw.tables.said import Wishes, wishes

HUMAN, RATER = "human", "rater"
GOLD = "gold"


@dataclass(frozen=True, kw_only=True)
class LabelledRows:
    """The rows of a table, column by column under the names of the contract.

    Attributes:
        table: how to call it in a message.
        human: the table's own name of the column of labels; None where it has none.
        columns: text by column, None for an empty field; absent columns are not there.
        rows: how many rows there are.
        reading: how the table was read, None where no table was.
    """

    table: str
    human: str | None
    columns: Mapping[str, Sequence[str | None]]
    rows: int
    reading: TableReading | None = None

    def column(self, part: str) -> Sequence[str | None]:
        """Return one column, all empty where the table does not have it."""
        return self.columns.get(part) or [None] * self.rows

    def names(self, part: str) -> list[str]:
        """Return the values that a column holds."""
        return sorted({found for found in self.column(part) if found is not None})

    def only(self, part: str, chosen: Sequence[str]) -> "LabelledRows":
        """Keep the rows whose column holds one of these values."""
        keep = [i for i, found in enumerate(self.column(part)) if found in chosen]
        columns = {name: [values[i] for i in keep] for name, values in self.columns.items()}
        return replace(self, columns=columns, rows=len(keep))


def read_rows(
    source: Any,
    *,
    human: str | Sequence[str] | None = None,
    columns: Mapping[str, Any] | None = None,
    said: Wishes | None = None,
) -> LabelledRows:
    """Read the rows of a table.

    Args:
        source: a file, a run folder, a frame, or whatever else `read_tensors` takes.
        human: the column of people's labels, or several, one for each person; by default `human`,
            or `gold` where there is none.
        columns: the table's own names of columns by contract name.
        said: what else was said about the table.

    Raises:
        TableError: item, verdict or the named column of labels is not there.
    """
    wish = (said or Wishes()).and_also(wishes(columns=columns))
    if human is not None:
        wish = wish.and_also(wishes(columns={HUMAN: human}))
    with tempfile.TemporaryDirectory(prefix="judgelaw-") as folder, private_connection() as con:
        try:
            reading = read_table(con, source, wish, folder=Path(folder), question="people")
        except TableError as error:
            raise _named(error) from error
        calls = as_calls(reading, people=True, ranked=False)
        found = _fetched(calls, reading)
    if not found["verdict"]:
        raise TableError(f"{reading.table} holds no row: there is nothing to read")
    return _of(reading, found)


@dataclass(frozen=True, kw_only=True)
class ItemRows:
    """The rows of a table or item file as they stand, and which column names the item.

    Attributes:
        rows: every row under the file's own names.
        item: the column that names the item; one is added where several name it together.
        verdict: the column of verdicts, None where nobody judged the items yet.
        reading: how the table was read.
    """

    rows: list[dict[str, Any]]
    item: str
    verdict: str | None
    reading: TableReading


def read_items(source: Any, said: Wishes | None = None, *, most: int) -> ItemRows:
    """Read what was judged, or is to be: every row of a table, with or without verdicts.

    Raises:
        TableError: nothing tells which column names the item, or more than `most` rows.
    """
    wish = said or Wishes()
    with tempfile.TemporaryDirectory(prefix="judgelaw-") as folder, private_connection() as con:
        reading = read_table(con, source, wish, folder=Path(folder), question="items")
        opened, role = reading.opened, reading.roles["item"]
        label = item_sql(reading)
        own = len(role.columns) == 1 and label == name(role.columns[0])
        added = [] if own else [f"{label} AS item"]
        kept = [name(c) for c in opened.columns if own or c != "item"]
        order = ", ".join(opened.locator.columns)
        with foreign_errors(opened.table):
            found = con.execute(
                f"SELECT {', '.join([*added, *kept])} FROM {opened.source}"
                + (f" ORDER BY {order}" if order else "")
                + f" LIMIT {most + 1}"
            )
            names = [column[0] for column in found.description or ()]
            rows = [dict(zip(names, row, strict=True)) for row in found.fetchall()]
    if len(rows) > most:
        raise TableError(
            f"{opened.table}: more than {most:,} rows, which no people label; make a file with the "
            "items to label, one row each"
        )
    verdict = reading.roles.get("verdict")
    return ItemRows(
        rows=rows,
        item=role.columns[0] if own else "item",
        verdict=verdict.columns[0] if verdict is not None and verdict.columns else None,
        reading=reading,
    )


def _fetched(calls: Calls, reading: TableReading) -> dict[str, Sequence[str | None]]:
    """Return the columns of all rows, in their sequence; a row for each person who said something.

    What was assumed because the table does not tell it is left out.
    """
    assumed = {"judge": UNNAMED, "prompt": AS_GIVEN}
    parts = [
        part
        for part in calls.layout.columns
        if part not in assumed
        or reading.roles[part].columns
        or reading.roles[part].constant != assumed[part]
    ]
    selected = [calls.label(part) for part in parts]
    order = ", ".join(calls.locator.columns)
    with foreign_errors(calls.table):
        rows = calls.con.execute(
            f"SELECT {', '.join(selected)} FROM {calls.source}"
            + (f" ORDER BY {order}" if order else "")
        ).fetchall()
    values = list(zip(*rows, strict=True)) if rows else [()] * len(parts)
    return dict(zip(parts, values, strict=True))


def _of(reading: TableReading, values: dict[str, Any]) -> LabelledRows:
    cleaned: dict[str, Sequence[str | None]] = {
        part: [None if is_empty(word) else word for word in column]
        for part, column in values.items()
    }
    label = reading.roles[HUMAN].columns[0].removeprefix("@") if HUMAN in cleaned else None
    if HUMAN not in cleaned and GOLD in cleaned:
        cleaned[HUMAN], label = cleaned[GOLD], GOLD
    for i, item in enumerate(cleaned["item"]):
        if item is None:
            raise TableError(f"{reading.table}: row {i + 1} names no item: fill the column")
    return LabelledRows(
        table=reading.table,
        human=label,
        columns=cleaned,
        rows=len(cleaned["item"]),
        reading=reading,
    )


def _named(error: TableError) -> TableError:
    """Say which option names the column of labels, where that is what is missing."""
    if f"columns maps {HUMAN!r} to" not in str(error):
        return error
    words = (
        str(error)
        .replace(f"columns maps {HUMAN!r} to", "no column")
        .replace(", which the table does not have", "")
    )
    return TableError(f"{words}: name the column of people's labels, human=... (--human COLUMN)")
