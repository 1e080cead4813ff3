"""Any table of the analysis, shown as it is exported."""

from judgelaw.report import numbers
from judgelaw.report.document import Inline, TableView
from judgelaw.report.source import Source
from judgelaw.report.tables import column_groups, heading
from judgelaw.report.text import visible


def table_view(found: Source, *, name: str = "", caption: str = "") -> TableView:
    """Show `{columns, rows}`; an estimate and the ends of its band share a cell."""
    columns = found.value("columns") or []
    groups = list(column_groups(columns))
    rows = found.at("rows")
    return TableView(
        columns=tuple(heading(columns[group[0]]) for group in groups),
        rows=tuple(
            tuple(_cell(rows.at(i), group) for group in groups)
            for i in range(len(rows.document or []))
        ),
        caption=caption,
        name=name,
    )


def _cell(row: Source, group: tuple[int, ...]) -> Inline:
    first = row.value(group[0])
    if isinstance(first, bool):
        return ("yes" if first else "no",)
    if isinstance(first, str):
        return (visible(first),)
    value = row.measured(group[0])
    band = group[1:]
    if not band or any(row.value(i) is None for i in band):
        return (value,)
    low, high = (row.measured(i) for i in band)
    return (value, " [", low, ", ", high, "]")


def is_number(cell: Inline) -> bool:
    """Tell whether a cell reads as a figure, so that it is set flush right."""
    return bool(cell) and (isinstance(cell[0], numbers.Number) or cell[0] == "[")
