"""Whether the figures can be trusted: diagnostics with advice, drift, warnings."""

from judgelaw.report import prepare
from judgelaw.report.document import (
    Block,
    FigureView,
    Findings,
    FindingView,
    Folded,
    Prose,
    Section,
    note,
    paragraph,
)
from judgelaw.report.figures import theme
from judgelaw.report.figures.agreement import Stream, by_gap
from judgelaw.report.sections.generic import table_view
from judgelaw.report.source import Source
from judgelaw.report.svg import draw
from judgelaw.report.tables import heading
from judgelaw.report.text import visible

DRIFT = {
    "rank_gap": "repeat ranks apart",
    "elapsed_time": "log(1 + seconds) apart",
}
_PANELS = 8
_SHOWN = ("problem", "notice")
_WORD = {
    "problem": "problem",
    "notice": "to read before quoting",
    "unknown": "not testable here",
    "ok": "found nothing",
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
        blocks += [paragraph(_tally(views)), *_listed(views)]
    return Section(id="diagnostics", title="Can it be trusted?", blocks=tuple(blocks))


def _listed(views: tuple[FindingView, ...]) -> list[Block]:
    """Show what needs reading; fold what found nothing or could not be tested."""
    blocks: list[Block] = []
    loud = tuple(v for v in views if v.verdict in _SHOWN)
    if loud:
        blocks.append(Findings(findings=loud))
    for verdict, title in (("unknown", "Not testable with these calls"), ("ok", "Nothing found")):
        quiet = tuple(v for v in views if v.verdict == verdict)
        if quiet:
            summary = f"{title}: {len(quiet)}"
            blocks.append(Folded(summary=summary, blocks=(Findings(findings=quiet),)))
    return blocks


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
    figures = _drift_figures(source)
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


def streams(source: Source, name: str) -> list[Stream]:
    """Return the agreement by gap of every stream that a drift diagnostic examined."""
    found = source.at("diagnostics")
    parts = [found.at(i) for i in range(len(found.document or []))]
    drawn = [
        Stream(name=prepare.label(part.text("subject")), gaps=gaps)
        for part in parts
        if part.value("name") == name
        and len(gaps := prepare.gaps(part, DRIFT[name])) > 1  # one gap shows no drift
    ]
    return drawn[:_PANELS]


def _drift_figures(source: Source) -> list[FigureView]:
    figures = []
    for name, words in DRIFT.items():
        found = streams(source, name)
        if not found:
            continue
        label = f"Agreement of two calls of one cell by {words}"
        wide, narrow = (
            draw(by_gap(found, width=w, columns=c, title=words), label=label)
            for w, c in ((theme.WIDE, min(2, len(found))), (theme.NARROW, 1))
        )
        figures.append(FigureView(name=f"drift-{name}", caption=(), wide=wide, narrow=narrow))
    return figures
