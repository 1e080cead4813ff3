"""Plain tables of calls that are not yet a calls table: other columns, raw texts, no ranks."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judgelaw.errors import TableError
from judgelaw.record_files import csv_rows, json_lines, parquet_rows
from judgelaw.steps import Advance
from judgelaw.tables.columns import ALIASES, FURTHER, SHOWN, folded
from judgelaw.tables.importers.entries import PARTS, Advice, Entry, Format, scalars
from judgelaw.tables.importers.known import LogFile

LAST = 1_000
"""Where lists show it: what a format knows, nobody needs to read as a plain table."""
_SUFFIXES = (".csv", ".csv.gz", ".jsonl", ".jsonl.gz", ".parquet")


def read(path: Path, tick: Advance) -> Iterator[Entry]:
    """Yield every row of a CSV, JSON lines or Parquet file."""
    suffix = max((s for s in _SUFFIXES if path.name.lower().endswith(s)), key=len, default=None)
    if suffix is None:
        raise TableError(f"{path}: a table ends in {', '.join(_SUFFIXES)}: rename or convert it")
    rows = {".csv": csv_rows, ".jsonl": json_lines, ".parquet": parquet_rows}
    for place, row in rows[suffix.removesuffix(".gz")](path, tick):
        yield Entry(place=place, record=row, known=_known(row))


def _known(row: dict[str, Any]) -> dict[str, str]:
    """Take a part from the column of its name, else from one of its usual other names."""
    names = {folded(column): column for column in row}
    columns = {}
    for part in PARTS:
        # Repeats are counted where no column has them: a guess would do harm.
        more = FURTHER.get(part, ()) if part != "repeat" else ()
        known = (part, *ALIASES[part], *more)
        found = next((names[name] for name in known if name in names), None)
        if found is not None:
            columns[part] = found
    if "order" not in columns:
        others = [column for column in row if column not in columns.values()]
        shown = [column for column in others if str(row[column]).strip().casefold() in SHOWN]
        if len(shown) == 1:  # AB and BA have one meaning, whatever their column is called
            columns["order"] = shown[0]
    values = scalars(row, columns.values())
    # A blank in the column of verdicts is told from a table without one.
    blank = {"verdict": ""} if "verdict" in columns else {}
    return blank | {part: values[column] for part, column in columns.items() if column in values}


def tells(file: LogFile) -> bool:
    """Whether a file has columns, or records with a verdict; asked after all others."""
    if file.kind in {"table", "parquet"}:
        return file.path.name.lower().endswith((*_SUFFIXES, ".tsv"))
    return file.kind == "records" and "verdict" in file.columns


OFFERED = (
    Format(
        name="csv",
        title="plain table",
        place=LAST,
        tells=tells,
        read=read,
        advice=Advice(
            fresh="leave the copied rows out where the table is made",
            repeat="several rows for each cell",
        ),
    ),
)
