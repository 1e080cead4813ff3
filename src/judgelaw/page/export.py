"""Figures as files for a paper, and as pieces for a notebook."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from judgelaw.analysis import Analysis, JudgeAnalysis
from judgelaw.blocks import Spec, figures_in
from judgelaw.errors import InputError, writing
from judgelaw.page import drawing
from judgelaw.page.drawing import draw
from judgelaw.page.forest import forest
from judgelaw.page.sections.parts import component_marks
from judgelaw.page.subject import Report, kinds
from judgelaw.words import visible

FORMATS = ("svg", "pdf", "png")
_PNG_PPI = 300


def figures(report: Report, *, width: int = drawing.COLUMN) -> dict[str, Spec]:
    """Return every figure of the report, by name, as Vega-Lite at the given width.

    A figure of one judge of several has the judge's number.
    """
    return {
        f"{figure.name}{subject.suffix}": figure.chart(width)
        for kind in kinds()
        for subject, blocks in kind.made(report)
        for figure in figures_in(blocks)
    }


def write_figures(
    found: Mapping[str, Spec], folder: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write each figure in each format as `folder/NAME.EXT`; return the files."""
    if unknown := [f for f in formats if f not in FORMATS]:
        raise InputError(f"unknown format {unknown[0]!r}: figures are written as {list(FORMATS)}")
    written = []
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, spec in found.items():
            for extension in formats:
                file = folder / f"{_file_name(name)}.{extension}"
                file.write_bytes(drawn(spec, extension))
                written.append(file)
    return written


def drawn(spec: Spec, extension: str) -> bytes:
    """Draw a figure on white, as the bytes of a file of this format."""
    import vl_convert as vlc  # noqa: PLC0415 - loads 30 MB, only where something is drawn

    on_paper: dict[str, Any] = {**spec, "background": "white"}
    if extension == "svg":
        text: str = vlc.vegalite_to_svg(on_paper)
        return text.encode()
    data: bytes = (
        vlc.vegalite_to_pdf(on_paper)
        if extension == "pdf"
        else vlc.vegalite_to_png(on_paper, ppi=_PNG_PPI)
    )
    return data


def _file_name(name: str) -> str:
    """Keep letters, digits, dots and dashes of a name that may hold a judge's or a layer's."""
    return "".join(c if c.isalnum() or c in "-._" else "_" for c in name)


def components_svg(
    analysis: Analysis, judge: str | None = None, *, width: int = drawing.WIDE
) -> str:
    """Return the components of one judge with their intervals as a standalone SVG."""
    marks = component_marks(_judge(analysis, judge))
    label = "; ".join(f"{mark.name} {mark.text}" for mark in marks)
    chart = forest(marks, width=width, title="probability that two calls disagree", step=38)
    return draw(chart, label=label).markup


def answer_html(analysis: Analysis, judge: str | None = None) -> str:
    """Return the sentence of one judge and its components: what `_repr_html_` can show."""
    sentence = escape(visible(_judge(analysis, judge).answer.headline))
    # A notebook's font may be wider than the one that the drawing was measured with.
    figure = components_svg(analysis, judge).replace("<svg ", '<svg overflow="visible" ', 1)
    return f"<div><p>{sentence}</p>{figure}</div>"


def _judge(analysis: Analysis, judge: str | None) -> JudgeAnalysis:
    names = list(analysis.judges)
    chosen = names[0] if judge is None and len(names) == 1 else judge
    if chosen is None or chosen not in analysis.judges:
        raise InputError(f"judge = {judge!r}: name one of {names}")
    return analysis.judges[chosen]
