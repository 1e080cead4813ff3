"""Pieces for notebooks: a judge's answer as a drawing, or as a sentence with its drawing."""

from html import escape

from judgelaw.analysis import Analysis
from judgelaw.errors import InputError
from judgelaw.report import prepare
from judgelaw.report.figures import theme
from judgelaw.report.figures.components import LABELS, estimates
from judgelaw.report.source import Source
from judgelaw.report.svg import draw
from judgelaw.report.text import visible


def components_svg(analysis: Analysis, judge: str | None = None, *, width: int = theme.WIDE) -> str:
    """Return the components of one judge with their intervals as a standalone SVG."""
    found = _judge(analysis, judge)
    marks = prepare.component_marks(found)
    label = "; ".join(f"{LABELS[mark.component]} {mark.text}" for mark in marks)
    return draw(estimates(marks, width=width), label=label).markup


def answer_html(analysis: Analysis, judge: str | None = None) -> str:
    """Return the sentence of one judge and its components: what `_repr_html_` can show."""
    sentence = escape(visible(_judge(analysis, judge).text("sentence")))
    # A notebook's font may be wider than the one that the drawing was measured with.
    drawing = components_svg(analysis, judge).replace("<svg ", '<svg overflow="visible" ', 1)
    return f"<div><p>{sentence}</p>{drawing}</div>"


def _judge(analysis: Analysis, judge: str | None) -> Source:
    names = list(analysis.judges)
    chosen = names[0] if judge is None and len(names) == 1 else judge
    if chosen is None or chosen not in analysis.judges:
        raise InputError(f"judge = {judge!r}: name one of {names}")
    return Source.of(analysis.to_json()).at("judges", chosen)
