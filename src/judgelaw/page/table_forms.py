"""Tables of an analysis: in the page, and as CSV, LaTeX and JSON for a paper or a spreadsheet.

CSV and JSON hold every digit. A text that a spreadsheet would run as a formula stands behind an
apostrophe in CSV, as spreadsheets themselves write it: names of judges and items are foreign text.
Calls tables are data, which programs read back: they hold every text as it is.
LaTeX is for reading: `booktabs` rules, rounded figures, and the columns `X`, `X_low`, `X_high`
written as one, `X [low, high]`.
"""

import csv
import io
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judgelaw.analysis import Table
from judgelaw.blocks import Cell as ShownCell, Place, Table as Shown
from judgelaw.diagnose import Cell, Finding
from judgelaw.errors import InputError, writing
from judgelaw.words import inert, visible

FORMATS = ("csv", "tex", "json")
_ESCAPED = str.maketrans(
    {
        **{char: rf"\{char}" for char in "&%$#_{}"},
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "\n": " ",
        "×": r"$\times$",
        "→": r"$\to$",
        "⊥": r"$\bot$",
        "−": "$-$",
    }
)
_WHOLE = 1e15


@dataclass(frozen=True, kw_only=True)
class Sheet:
    """A table as its files hold it: what is written is decided, how a format looks is not.

    Attributes:
        name: of its files.
        label, caption: in LaTeX.
        header, records: of CSV.
        heads, body: cells of LaTeX, made safe.
        align: of the LaTeX columns.
        above: lines of LaTeX over the header.
        document: what JSON holds.
        wide: whether it spans both columns of a paper.
    """

    name: str
    label: str
    caption: str
    header: tuple[str, ...]
    records: tuple[tuple[str, ...], ...]
    heads: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    align: str
    document: Any
    above: tuple[str, ...] = ()
    wide: bool = False


def to_csv(sheet: Sheet) -> str:
    """Write a header and every row."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(inert(column) for column in sheet.header)
    writer.writerows(sheet.records)
    return out.getvalue()


def to_json_text(sheet: Sheet) -> str:
    """Write the document."""
    return json.dumps(sheet.document, indent=1, ensure_ascii=False) + "\n"


def to_latex(sheet: Sheet) -> str:
    """Write a `table` environment with booktabs rules, a caption and a label."""
    kind = "table*" if sheet.wide else "table"
    rows = [" & ".join(cells) + r" \\" for cells in (sheet.heads, *sheet.body)]
    lines = [
        rf"\begin{{{kind}}}[t]",
        r"\centering",
        r"\small",
        rf"\begin{{tabular}}{{{sheet.align}}}",
        r"\toprule",
        *sheet.above,
        rows[0],
        r"\midrule",
        *rows[1:],
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{escape(sheet.caption)}}}",
        rf"\label{{{sheet.label}}}",
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


_WRITERS = {"csv": to_csv, "tex": to_latex, "json": to_json_text}


def write_sheets(
    sheets: Mapping[str, Sheet], folder: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write each table in each format as `folder/NAME.EXT`; return the files."""
    if unknown := [f for f in formats if f not in _WRITERS]:
        raise InputError(f"unknown format {unknown[0]!r}: tables are written as {list(FORMATS)}")
    written = []
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, sheet in sheets.items():
            for extension in formats:
                file = folder / f"{name}.{extension}"
                file.write_text(_WRITERS[extension](sheet), encoding="utf-8", newline="")
                written.append(file)
    return written


def write_tables(
    tables: Mapping[str, Table], folder: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write tables of an analysis, every digit in CSV and JSON, rounded in LaTeX."""
    return write_sheets({n: sheet_of(t) for n, t in tables.items()}, folder, formats)


def sheet_of(table: Table) -> Sheet:
    """Return a table as its files hold it; what is not available is empty or null."""
    groups = list(column_groups(table.columns))
    numeric = [all(_is_number(row[g[0]]) for row in table.rows) for g in groups]
    rows = [
        {column: _or_null(cell) for column, cell in zip(table.columns, row, strict=True)}
        for row in table.rows
    ]
    return Sheet(
        name=table.name,
        label=f"tab:{table.name}",
        caption=table.title,
        header=table.columns,
        records=tuple(tuple(_exact(cell) for cell in row) for row in table.rows),
        heads=tuple(escape(heading(table.columns[g[0]])) for g in groups),
        body=tuple(tuple(_latex_cell(row, g) for g in groups) for row in table.rows),
        align="".join("r" if n else "l" for n in numeric),
        document={"name": table.name, "title": table.title, "rows": rows},
    )


def column_groups(columns: Sequence[str]) -> Iterable[tuple[int, ...]]:
    """Yield positions of columns that belong together: `(X, X_low, X_high)`, or one alone."""
    position = {name: i for i, name in enumerate(columns)}
    for i, name in enumerate(columns):
        base = name.removesuffix("_low").removesuffix("_high")
        if base != name and base in position:
            continue
        low, high = position.get(f"{name}_low"), position.get(f"{name}_high")
        yield (i,) if low is None or high is None else (i, low, high)


def heading(column: str) -> str:
    """Turn a machine name into words."""
    words = column.replace("_", " ").strip()
    return words[:1].upper() + words[1:]


def escape(text: str) -> str:
    """Make text safe for LaTeX."""
    return text.translate(_ESCAPED)


def rounded(value: float, digits: int = 4) -> str:
    """Return a figure rounded for reading; a whole number stays whole."""
    if isinstance(value, int) or (float(value).is_integer() and abs(value) < _WHOLE):
        return f"{int(value):,}"
    return f"{value:.{digits}f}" if abs(value) < 1 else f"{value:,.4g}"


def _latex_cell(row: tuple[Cell, ...], group: tuple[int, ...]) -> str:
    first, *band = (row[i] for i in group)
    text = _latex_value(first)
    if band and all(_finite(b) for b in band):
        text += " [" + ", ".join(_latex_value(b) for b in band) + "]"
    return text


def _latex_value(cell: Cell) -> str:
    if not _finite(cell):
        return "--"
    if isinstance(cell, str):
        return escape(cell)
    text = rounded(cell)  # type: ignore[arg-type]  # finite and no text: a number
    return f"${text}$" if text.startswith("-") else text


def _is_number(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, (int, float)) and not isinstance(cell, bool))


def _finite(cell: Cell) -> bool:
    return cell is not None and not (isinstance(cell, float) and not math.isfinite(cell))


def _or_null(cell: Cell) -> Any:
    return cell if _finite(cell) else None


def _exact(cell: Cell) -> str:
    if not _finite(cell):
        return ""
    return repr(cell) if isinstance(cell, float) else inert(str(cell))


_FIXED_FROM = 0.001


def records(table: Table | Finding | None) -> list[dict[str, Any]]:
    """Return the rows of a table by the names of its columns; none where there is no table."""
    if table is None:
        return []
    return [dict(zip(table.columns, map(_or_null, row), strict=True)) for row in table.rows]


def table_block(
    found: Table | Finding, place: Place, *, name: str = "", caption: str = ""
) -> Shown:
    """Show columns and rows; an estimate and the ends of its interval share a cell.

    `place` is where the document holds the table.
    """
    groups = list(column_groups(found.columns))
    forms = [_form(found.rows, group) for group in groups]
    at = place.at("rows")
    return Shown(
        columns=tuple(heading(found.columns[group[0]]) for group in groups),
        rows=tuple(
            tuple(
                _cell(row, at.at(i), group, form) for group, form in zip(groups, forms, strict=True)
            )
            for i, row in enumerate(found.rows)
        ),
        caption=caption,
        name=name,
    )


def _form(rows: Sequence[Sequence[Cell]], group: tuple[int, ...]) -> str:
    """Choose one form for the whole column, so that its figures can be compared."""
    values = [abs(x) for row in rows for i in group if (x := _figure(row[i])) is not None]
    if all(float(value).is_integer() for value in values):
        return "any"
    return ".4f" if _FIXED_FROM <= max(values) < 1 else "any"


def _figure(cell: Cell) -> float | None:
    """Return a cell that is a figure; None for words, and where there is none."""
    return None if isinstance(cell, str | bool) or not _finite(cell) else cell


def _cell(row: Sequence[Cell], place: Place, group: tuple[int, ...], form: str) -> ShownCell:
    first = row[group[0]]
    if isinstance(first, bool):
        return "yes" if first else "no"
    if isinstance(first, str):
        return visible(first)
    value = place.value(group[0], form=form)
    if len(group) == 1 or any(_figure(row[i]) is None for i in group[1:]):
        return value
    return (value, " ", place.span(form=form, ends=(group[1], group[2])))
