"""Whether the figures can be trusted: diagnostics with advice, drift, warnings."""

from judgelaw.report import prepare
from judgelaw.report.document import (
    Block,
    FigureView,
    Findings,
    FindingView,
    Prose,
    Section,
    note,
    paragraph,
)
from judgelaw.report.figures import theme
from judgelaw.report.figures.agreement import by_gap
from judgelaw.report.sections.generic import table_view
from judgelaw.report.source import Source
from judgelaw.report.svg import draw
from judgelaw.report.tables import heading
from judgelaw.report.text import visible

_DRIFT = {"rank_gap": "repeat ranks apart", "elapsed_time": "seconds apart"}
_WORD = {
    "problem": "problem",
    "notice": "read before quoting",
    "unknown": "could not be tested",
    "ok": "nothing found",
}


def diagnostics(source: Source) -> Section | None:
    """Return every diagnostic, problems first; None where none was run."""
    found = source.at("diagnostics")
    count = len(found.document or [])
    warnings = source.value("warnings") or []
    if not count and not warnings:
        return None
    blocks: list[Block] = []
    if warnings:
        blocks.append(Prose(paragraphs=tuple((visible(w),) for w in warnings)))
    if count:
        views = tuple(_finding(found.at(i)) for i in range(count))
        blocks += [paragraph(_tally(views)), Findings(findings=views)]
    return Section(id="diagnostics", title="Can it be trusted?", blocks=tuple(blocks))


def _tally(views: tuple[FindingView, ...]) -> str:
    counts = {word: sum(_WORD[v.verdict] == word for v in views) for word in _WORD.values()}
    return (
        f"{len(views)} checks: " + ", ".join(f"{n} {word}" for word, n in counts.items() if n) + "."
    )


def _finding(found: Source) -> FindingView:
    figures = tuple(
        (heading(name), found.measured("figures", name)) for name in found.value("figures") or {}
    )
    has_rows = bool(found.value("rows"))
    return FindingView(
        name=heading(found.text("name")),
        verdict=found.text("verdict"),
        subject=visible(found.text("subject")),
        headline=visible(found.text("headline")),
        advice=visible(found.text("advice")),
        figures=figures,
        table=table_view(found) if has_rows else None,
    )


def drift(source: Source) -> Section | None:
    """Return agreement by distance between calls; None where no stream was examined."""
    found = source.at("diagnostics")
    figures = [
        figure
        for i in range(len(found.document or []))
        if (figure := _drift_figure(found.at(i))) is not None
    ]
    slopes = source.at("tables", "time_drift")
    if not figures and not slopes.value("rows"):
        return None
    blocks: list[Block] = [
        paragraph(
            "Two calls of one cell should agree as often whether they were made close together or "
            "far apart. A slope means that the judge, or the service behind it, changed meanwhile."
        ),
        *figures,
    ]
    if slopes.value("rows"):
        blocks.append(table_view(slopes, name="time_drift", caption=slopes.text("title")))
    blocks.append(
        note("A level line does not prove that calls are independent: that stays an assumption.")
    )
    return Section(id="drift", title="Does it drift?", blocks=tuple(blocks))


def _drift_figure(found: Source) -> FigureView | None:
    name = found.text("name")
    columns = found.value("columns") or []
    if name not in _DRIFT or not {"gap", "agreement"} <= set(columns):
        return None
    rows = [dict(zip(columns, row, strict=True)) for row in found.value("rows")]
    rows = [row for row in rows if row["agreement"] is not None]
    if len(rows) <= 1:  # one gap shows no drift
        return None
    marks = prepare.gaps(rows, _DRIFT[name])
    label = f"Agreement of two calls by {_DRIFT[name]}, {visible(found.text('subject'))}"
    wide, narrow = (
        draw(by_gap(marks, width=w, title=_DRIFT[name]), label=label) for w in (460, theme.NARROW)
    )
    title = visible(found.text("subject"))
    return FigureView(name=name, title=title, caption=(), wide=wide, narrow=narrow)
