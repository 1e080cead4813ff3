"""The rewordings that a judge was asked with: how they came about, and each of them."""

from collections.abc import Sequence

from judgelaw.page.document import Section, TableView, paragraph
from judgelaw.words import visible


def rewordings_section(
    told: Sequence[str], columns: Sequence[str], rows: Sequence[Sequence[str]]
) -> Section:
    """Return what is said of rewordings, and the list of them."""
    table = TableView(
        columns=tuple(columns),
        rows=tuple(tuple((visible(cell),) for cell in row) for row in rows),
        name="rewordings",
    )
    said = tuple(paragraph(visible(text)) for text in told)
    return Section(id="rewordings", title="Prompts like these", blocks=(*said, table))
