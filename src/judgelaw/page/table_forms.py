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
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from judgelaw.analysis import Table
from judgelaw.diagnose import Cell, Finding
from judgelaw.errors import InputError, writing
from judgelaw.page.document import Inline, Number, Part, TableView, decimal, measured
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


def to_csv(table: Table) -> str:
    """Write a header and every row; what is not available is empty, figures keep every digit."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(inert(column) for column in table.columns)
    writer.writerows([_exact(cell) for cell in row] for row in table.rows)
    return out.getvalue()


def to_json_text(table: Table) -> str:
    """Write name, title and one object a row; what is not available is null."""
    rows = [
        {column: _or_null(cell) for column, cell in zip(table.columns, row, strict=True)}
        for row in table.rows
    ]
    document = {"name": table.name, "title": table.title, "rows": rows}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def to_latex(table: Table) -> str:
    """Write a `table` environment with booktabs rules, a caption and a label."""
    groups = list(column_groups(table.columns))
    numeric = [all(_is_number(row[g[0]]) for row in table.rows) for g in groups]
    lines = [
        r"\begin{table}[t]",
        r"\centering",
        r"\small",
        r"\begin{tabular}{" + "".join("r" if n else "l" for n in numeric) + "}",
        r"\toprule",
        " & ".join(escape(heading(table.columns[g[0]])) for g in groups) + r" \\",
        r"\midrule",
    ]
    lines += [" & ".join(_latex_cell(row, g) for g in groups) + r" \\" for row in table.rows]
    lines += [
        r"\bottomrule",
        r"\end{tabular}",
        rf"\caption{{{escape(table.title)}}}",
        rf"\label{{tab:{table.name}}}",
        r"\end{table}",
    ]
    return "\n".join(lines) + "\n"


_WRITERS = {"csv": to_csv, "tex": to_latex, "json": to_json_text}


def write_tables(
    tables: Mapping[str, Table], folder: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write each table in each format as `folder/NAME.EXT`; return the files."""
    if unknown := [f for f in formats if f not in _WRITERS]:
        raise InputError(f"unknown format {unknown[0]!r}: tables are written as {list(FORMATS)}")
    written = []
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in tables.items():
            for extension in formats:
                file = folder / f"{name}.{extension}"
                file.write_text(_WRITERS[extension](table), encoding="utf-8")
                written.append(file)
    return written


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


Shape = Callable[..., Number]
"""How the figures of a column are written."""
_FIXED_FROM = 0.001


def records(table: Table | Finding | None) -> list[dict[str, Any]]:
    """Return the rows of a table by the names of its columns; none where there is no table."""
    if table is None:
        return []
    return [dict(zip(table.columns, map(_or_null, row), strict=True)) for row in table.rows]


def table_view(
    found: Part[Table] | Part[Finding], *, name: str = "", caption: str = ""
) -> TableView:
    """Show columns and rows; an estimate and the ends of its interval share a cell."""
    columns, rows = found.value.columns, found.value.rows
    groups = list(column_groups(columns))
    shapes = [_shape(rows, group) for group in groups]
    return TableView(
        columns=tuple(heading(columns[group[0]]) for group in groups),
        rows=tuple(
            tuple(
                _cell(Part(row, (*found.where, "rows", i)), group, shape)
                for group, shape in zip(groups, shapes, strict=True)
            )
            for i, row in enumerate(rows)
        ),
        caption=caption,
        name=name,
    )


def _shape(rows: Sequence[Sequence[Cell]], group: tuple[int, ...]) -> Shape:
    """Choose one format for the whole column, so that its figures can be compared."""
    values = [abs(x) for row in rows for i in group if (x := _figure(row[i])) is not None]
    if all(float(value).is_integer() for value in values):
        return measured
    return decimal if _FIXED_FROM <= max(values) < 1 else measured


def _figure(cell: Cell) -> float | None:
    """Return a cell that is a figure; None for words, and where there is none."""
    return None if isinstance(cell, str | bool) or not _finite(cell) else cell


def _cell(row: Part[tuple[Cell, ...]], group: tuple[int, ...], shape: Shape) -> Inline:
    first = row.value[group[0]]
    if isinstance(first, bool):
        return ("yes" if first else "no",)
    if isinstance(first, str):
        return (visible(first),)
    value, *band = (
        shape(_figure(cell.value), where=cell.path) for cell in (row.entries()[i] for i in group)
    )
    if not band or any(end.value is None for end in band):
        return (value,)
    low, high = band
    return (value, " [", low, ", ", high, "]")


def is_number(cell: Inline) -> bool:
    """Tell whether a cell reads as a figure, so that it is set flush right."""
    return bool(cell) and (isinstance(cell[0], Number) or cell[0] == "[")
