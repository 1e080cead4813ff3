"""From a complete analysis to one self-contained HTML page, and to sections for a terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import judgelaw
from judgelaw.analysis import Table, screen_of_analysis
from judgelaw.blocks import Block, Figure, Place, Section, Spec
from judgelaw.page.html import Page, render
from judgelaw.page.sections.checks import alarms
from judgelaw.page.sections.item_list import pack
from judgelaw.page.subject import Report, kinds
from judgelaw.page.table_forms import table_block
from judgelaw.steps import Progress, unseen
from judgelaw.words import visible


def build(report: Report, *, title: str, progress: Progress = unseen) -> str:
    """Return the report as one HTML file that needs no network, no server and no JavaScript.

    Args:
        report: what is reported.
        title: what was audited.
        progress: opens what shows how far the drawing is.
    """
    return render(compose(report, title=title, progress=progress))


def compose(report: Report, *, title: str, progress: Progress = unseen) -> Page:
    """Return everything that the report shows, as a value."""
    analysis = report.analysis
    told = _told(report)
    return Page(
        title=visible(title),
        sections=tuple(sections_of(report, progress)),
        payload=pack(report.document.found),
        version=analysis.settings.version,
        alarms=tuple(found for found in alarms(report) if found.headline not in told),
        first=screen_of_analysis(analysis, visible(title)),
    )


def sections_of(report: Report, progress: Progress = unseen) -> Iterator[Section]:
    """Make the sections one by one; what does not apply to these calls is left out."""
    every = kinds()
    with progress("drawing", len(every)) as advance:
        for kind in every:
            section = kind.section(report)
            advance(1)
            if section is not None:
                yield section


def _told(report: Report) -> set[str]:
    """Return the findings that the first screen tells already."""
    judges = report.analysis.judges
    return set() if len(judges) > 1 else {visible(j.answer.problem) for j in judges.values()}


def page(
    title: str,
    sentence: str,
    tables: Sequence[Table] = (),
    figures: Sequence[Block] = (),
    *,
    version: str = judgelaw.__version__,
) -> str:
    """Return a page of the same look for any tables and figures, one section each table."""
    sections = [
        Section(
            id=f"table-{table.name}",
            title=visible(table.title),
            blocks=(replace(table_block(table, _nowhere(table)), name=table.name),),
        )
        for table in tables
    ]
    if figures:
        sections.insert(0, Section(id="figures", title="Figures", blocks=tuple(figures)))
    return render(
        Page(
            title=visible(title),
            sentence=visible(sentence),
            sections=tuple(sections),
            version=version,
        )
    )


def _nowhere(table: Table) -> Place:
    """Return where a page of its own would hold a table."""
    return Place({"rows": table.to_json()["rows"]}, ("tables", table.name))


def figure_view(name: str, chart: Spec, *, label: str, caption: str = "") -> Figure:
    """Return a chart as `page` shows it; `label` says what it shows to who cannot see it.

    A chart is a Vega-Lite specification.
    """
    return Figure(name=name, chart=lambda _: chart, label=label, caption=caption, widths=(0,))
