"""What the report is made of, in reading order: a change of it is a change on purpose."""

from pathlib import Path
from unittest.mock import patch

from judgelaw.blocks import Details, Facts, Figure, Findings, Paragraph, Table, text_of
from judgelaw.page import compose
from judgelaw.page.html import Page
from support.reports import report, tensor

GOLDEN = Path(__file__).with_name("report_outline.txt")
EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="1" height="1"/>'


def outline(page: Page) -> str:
    first = page.first
    lines = [page.title, "", f"{first.who}: {first.title}. {first.says}"]
    lines += [card.text for card in first.cards]
    lines += [f"{x.name}: {x.title}" for x in first.standings]
    for section in page.sections:
        closed = " (closed)" if section.folded else ""
        lines += ["", f"## {section.title}{closed}"]
        if section.id != "tables":  # their names belong to the analysis
            lines += [line for block in section.blocks for line in _block(block)]
    return "\n".join(lines) + "\n"


def _block(block) -> list[str]:
    if isinstance(block, Table):
        return [f"table {block.name or block.caption}: {' | '.join(block.columns)}"]
    if isinstance(block, Figure):
        return [f"figure {block.name}: {text_of(block.caption)}".rstrip(": ")]
    if isinstance(block, Details):
        inside = [line for inner in block.blocks for line in _block(inner)] if block.brief else []
        return [f"details {block.summary.split(':')[0]}", *(f"  {line}" for line in inside)]
    if isinstance(block, Paragraph):
        return ["note" if block.note else "text"]
    return [{Findings: "findings", Facts: "facts"}.get(type(block), "items")]


def test_the_outline_is_as_agreed():
    tensors = {
        ("evaluation", "qwen"): tensor(items=8, repeats=8),
        ("reference", "qwen"): tensor(items=8, repeats=16, seed=2),
        ("control", "qwen"): tensor(items=8, seed=3, lean=0),
        ("evaluation", "gemma"): tensor(items=8, seed=4, repeats=8),
    }
    with patch("vl_convert.vegalite_to_svg", return_value=EMPTY):
        found = outline(compose(report(tensors), title="A study"))
    assert found == GOLDEN.read_text(encoding="utf-8")
