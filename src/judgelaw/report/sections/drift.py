"""Whether calls of one cell agree less, the further apart they were made."""

from judgelaw.report import prepare
from judgelaw.report.document import (
    Block,
    FigureView,
    Findings,
    Folded,
    Prose,
    Section,
    note,
    paragraph,
)
from judgelaw.report.figures import theme
from judgelaw.report.figures.agreement import Stream, by_gap
from judgelaw.report.sections.diagnostics import finding_view
from judgelaw.report.sections.generic import table_view
from judgelaw.report.source import Source
from judgelaw.report.svg import draw
from judgelaw.report.text import visible

DRIFT = {
    "rank_gap": "repeat ranks apart",
    "elapsed_time": "log(1 + seconds) apart",
}
_TESTED = {"rank_gap": "repeat rank", "elapsed_time": "elapsed time"}
_PANELS = 8
_UNTESTABLE = "unknown"


def drift(source: Source) -> Section | None:
    """Return what the drift checks say, what they cannot, and agreement by distance in time.

    A slope that is no test is named as such before anything else, and is not drawn.
    """
    found = [part for name in DRIFT for part in _checks(source, name)]
    slopes = source.at("tables", "time_drift")
    if not found and not slopes.value("rows"):
        return None
    untestable = [part for part in found if part.value("verdict") == _UNTESTABLE]
    tested = [part for part in found if part.value("verdict") != _UNTESTABLE]
    blocks: list[Block] = [*_cannot(untestable), *_said(tested), *_drift_figures(source)]
    if slopes.value("rows"):
        blocks.append(_slopes(slopes, untestable=bool(untestable)))
    if tested:
        blocks.append(
            note(
                "A level line does not prove that calls are independent: that stays an assumption."
            )
        )
    return Section(id="drift", title="Does it drift?", blocks=tuple(blocks))


def _checks(source: Source, name: str) -> list[Source]:
    found = source.at("diagnostics")
    parts = [found.at(i) for i in range(len(found.document or []))]
    return [part for part in parts if part.value("name") == name]


def _cannot(untestable: list[Source]) -> list[Prose]:
    """Say which test cannot be made and why; streams that share a reason share a paragraph."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for part in untestable:
        reason = (part.text("name"), part.text("advice"))
        grouped.setdefault(reason, []).append(visible(part.text("subject")))
    return [
        paragraph(
            f"Drift by {_TESTED[name]} is not testable with these calls"
            f"{_of(subjects)}. {visible(advice)}"
        )
        for (name, advice), subjects in grouped.items()
    ]


def _of(subjects: list[str]) -> str:
    named = ", ".join(subject for subject in subjects if subject)
    return f" ({named})" if named else ""


def _said(tested: list[Source]) -> list[Block]:
    if not tested:
        return []
    return [
        paragraph(
            "Two calls of one cell should agree as often whether they were made close together or "
            "far apart. A slope beyond chance would mean that the judge, or the service behind it, "
            "changed meanwhile. The checks say:"
        ),
        _why_not_the_band(),
        Findings(findings=tuple(finding_view(part, evidence=False) for part in tested)),
    ]


def _slopes(slopes: Source, *, untestable: bool) -> Block:
    """Show the slopes; folded away where some of them are no test."""
    table = table_view(slopes, name="time_drift", caption=slopes.text("title"))
    if not untestable:
        return table
    return Folded(summary="Slopes as computed, also where they test nothing", blocks=(table,))


def _why_not_the_band() -> Prose:
    return note(
        "Why can a 95% band leave out 0 and the check find nothing? One in twenty such bands "
        "misses 0 by chance, and many slopes are looked at. A check therefore speaks only where "
        "shuffling the calls within their cells hardly ever makes such a slope, all checks of the "
        "audit taken together."
    )


def streams(source: Source, name: str) -> list[Stream]:
    """Return the agreement by gap of every stream that a drift diagnostic could test."""
    drawn = [
        Stream(name=prepare.label(part.text("subject")), gaps=gaps)
        for part in _checks(source, name)
        if part.value("verdict") != _UNTESTABLE
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
