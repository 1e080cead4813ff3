"""What the report is made of, in reading order: a change of it is a change on purpose."""

from pathlib import Path
from unittest.mock import patch

from judgelaw.page import compose
from judgelaw.page.document import Document, FigureView, Folded, Prose, TableView, plain
from support.reports import analysed, tensor

GOLDEN = Path(__file__).with_name("report_outline.txt")
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def outline(document: Document) -> str:
    lines = [document.title, plain(document.facts)]
    first = document.first
    lines += [f"{first.who}: {first.title}. {first.says}", *(card.text for card in first.cards)]
    lines += [f"{x.name}: {x.title}" for x in first.standings]
    for section in document.sections:
        closed = " (closed)" if section.folded else ""
        lines += ["", f"{'#' * section.level} {section.title}{closed}"]
        if section.id != "tables":  # their names belong to the analysis
            lines += [line for block in section.blocks for line in _block(block)]
    return "\n".join(lines) + "\n"


def _block(block) -> list[str]:
    if isinstance(block, TableView):
        return [f"table {block.name or block.caption}: {' | '.join(block.columns)}"]
    if isinstance(block, FigureView):
        return [f"figure {block.name}: {plain(block.caption)}".rstrip(": ")]
    if isinstance(block, Folded):
        return [f"folded {block.summary.split(':')[0]}"]
    if isinstance(block, Prose):
        return [f"{'note' if block.note else 'text'}, {len(block.paragraphs)}"]
    return [block.kind]


def test_the_outline_is_as_agreed():
    tensors = {
        ("evaluation", "qwen"): tensor(items=8, repeats=8),
        ("reference", "qwen"): tensor(items=8, repeats=16, seed=2),
        ("control", "qwen"): tensor(items=8, seed=3, lean=0),
        ("evaluation", "gemma"): tensor(items=8, seed=4, repeats=8),
    }
    with patch("vl_convert.vegalite_to_svg", return_value=EMPTY):
        found = outline(compose(analysed(tensors), title="A study", tensors=tensors))
    assert found == GOLDEN.read_text(encoding="utf-8")
