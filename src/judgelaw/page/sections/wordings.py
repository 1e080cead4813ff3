"""The rewordings that judges were asked with: how they came about, and each of them."""

from collections.abc import Sequence

from judgelaw.blocks import Block, Table, paragraph
from judgelaw.page.subject import Kind, Report
from judgelaw.words import visible


def rewordings(report: Report) -> Sequence[Block] | None:
    """Return what is said of rewordings, and the list of them."""
    if report.wordings is None:
        return None
    told, columns, rows = report.wordings
    shown = tuple(tuple(map(visible, row)) for row in rows)
    said = tuple(paragraph(visible(text)) for text in told)
    return (*said, Table(columns=tuple(columns), rows=shown, name="rewordings"))


SECTIONS = (
    Kind(id="rewordings", title="Prompts like these", order=228, make=rewordings, of="report"),
)
