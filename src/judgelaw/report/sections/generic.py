"""Any table of the analysis, shown as it is exported."""

from collections.abc import Callable
from typing import Any

from judgelaw.report import numbers
from judgelaw.report.document import Inline, TableView
from judgelaw.report.source import Source
from judgelaw.report.tables import column_groups, heading
from judgelaw.report.text import visible

Shape = Callable[..., numbers.Number]
"""How a figure of a column is written: one of the methods of a source."""
_FIXED_FROM = 0.001


def table_view(found: Source, *, name: str = "", caption: str = "") -> TableView:
    """Show `{columns, rows}`; an estimate and the ends of its interval share a cell."""
    columns = found.value("columns") or []
    groups = list(column_groups(columns))
    rows = found.at("rows")
    shapes = [_shape(rows.document or [], group) for group in groups]
    return TableView(
        columns=tuple(heading(columns[group[0]]) for group in groups),
        rows=tuple(
            tuple(_cell(rows.at(i), g, shape) for g, shape in zip(groups, shapes, strict=True))
            for i in range(len(rows.document or []))
        ),
        caption=caption,
        name=name,
    )


def _shape(rows: list[list[Any]], group: tuple[int, ...]) -> Shape:
    """Choose one format for the whole column, so that its figures can be compared."""
    values = [row[i] for row in rows for i in group if _is_figure(row[i])]
    if all(float(value).is_integer() for value in values):
        return Source.measured
    fixed = max(abs(value) for value in values) >= _FIXED_FROM
    return Source.decimal if fixed and max(abs(v) for v in values) < 1 else Source.measured


def _is_figure(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(row: Source, group: tuple[int, ...], shape: Shape) -> Inline:
    first = row.value(group[0])
    if isinstance(first, bool):
        return ("yes" if first else "no",)
    if isinstance(first, str):
        return (visible(first),)
    value = shape(row, group[0])
    band = group[1:]
    if not band or any(row.value(i) is None for i in band):
        return (value,)
    low, high = (shape(row, i) for i in band)
    return (value, " [", low, ", ", high, "]")


def is_number(cell: Inline) -> bool:
    """Tell whether a cell reads as a figure, so that it is set flush right."""
    return bool(cell) and (isinstance(cell[0], numbers.Number) or cell[0] == "[")
