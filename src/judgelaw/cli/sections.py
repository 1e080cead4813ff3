"""Sections on a terminal: the same values as on the page, as text and tables."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from judgelaw.blocks import (
    Block,
    Cell,
    Details,
    Explorer,
    Facts,
    Figure,
    Findings,
    Paragraph,
    Table,
    text_of,
)
from judgelaw.cli.terminal import echo, say, show_table
from judgelaw.words import shortened

if TYPE_CHECKING:
    from judgelaw.blocks import Finding, Section

_MARKS = {"problem": "PROBLEM", "notice": "notice", "unknown": "could not be run", "ok": "passed"}
_ITEMS = 10
_SHORT = 40


def show_sections(sections: "Iterable[Section]") -> None:
    """Print sections one below the other; charts and what is closed stay on the page."""
    for section in sections:
        if not section.brief or not any(map(_has_words, section.blocks)):
            continue
        echo(f"{section.title}", colour="cyan")
        for block in section.blocks:
            show_block(block)
        echo()


def _has_words(block: Block) -> bool:
    return not isinstance(block, Figure)


def show_block(block: Block) -> None:
    """Print one block."""
    if isinstance(block, Table):
        show_table(block.columns, block.rows, title=block.caption)
    elif isinstance(block, Explorer):
        _show_items(block)
    elif isinstance(block, Details) and block.brief:
        echo(f"{block.summary}:")
        for inner in block.blocks:
            show_block(inner)
    else:
        for line in _lines(block):
            say(f"  {line}")


def _lines(block: Block) -> Iterator[str]:
    """Yield what is nothing but words."""
    if isinstance(block, Paragraph):
        if block.brief and (words := text_of(block.run)):
            yield words
    elif isinstance(block, Findings):
        yield from map(_finding, block.findings)
    elif isinstance(block, Facts):
        yield from (f"{term}: {text_of(value)}" for term, value in block.pairs)
    elif isinstance(block, Details):
        yield f"{block.summary} (on the page)"


def _finding(finding: "Finding") -> str:
    about = f" ({finding.subject})" if finding.subject else ""
    return f"{_MARKS[finding.verdict]}{about}: {finding.headline} {finding.advice}"


def _show_items(explorer: Explorer) -> None:
    """Print the first items; all of them, with every reply, are on the page."""
    rows: list[tuple[Cell, ...]] = [
        (
            shortened(card.item, _SHORT),
            ", ".join(card.tags),
            card.told,
            shortened(" ".join(card.question.split()), _SHORT),
        )
        for card in explorer.items[:_ITEMS]
    ]
    columns, rows = _without_empty(("Item", "", "What came out", "Asked"), rows)
    show_table(columns, rows, title="")
    more = explorer.total - len(rows)
    if more > 0:
        say(f"  and {more:,} more on the page")


def _without_empty(
    columns: Sequence[str], rows: Sequence[tuple[Cell, ...]]
) -> tuple[list[str], list[tuple[Cell, ...]]]:
    kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    return [columns[i] for i in kept], [tuple(row[i] for i in kept) for row in rows]
