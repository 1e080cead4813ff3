"""Whether the figures can be trusted: diagnostics with advice, warnings, drift."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from judgelaw.diagnose import NOTICE, PROBLEM
from judgelaw.page import drawing
from judgelaw.page.component_figure import short_label
from judgelaw.page.document import (
    Block,
    FigureView,
    Findings,
    FindingView,
    Folded,
    Prose,
    Section,
    Source,
    note,
    paragraph,
)
from judgelaw.page.drawing import Spec, draw, n, q
from judgelaw.page.table_forms import heading, table_view
from judgelaw.words import visible

_AXIS = 64


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Agreement of call pairs that lie one gap apart."""

    gap: float
    agreement: float
    low: float | None
    high: float | None
    label: str


@dataclass(frozen=True, kw_only=True)
class Stream:
    """The gaps of one stream of calls."""

    name: str
    gaps: tuple[Gap, ...]


def by_gap(streams: Sequence[Stream], *, width: int, columns: int, title: str) -> Spec:
    """Draw agreement against the gap, one panel a stream; without drift a line is level."""
    plot = min(300, width // columns - _AXIS)
    panels = [_panel(stream, plot, title) for stream in streams]
    return drawing.chart({"concat": panels, "columns": columns, "spacing": 26})


def _panel(stream: Stream, width: int, title: str) -> Spec:
    rows = [asdict(g) for g in stream.gaps]
    blue = drawing.CALL.light
    axis = {"title": title, "grid": False, "tickCount": min(8, len(rows)), "format": "~g"}
    x = q("gap", axis=axis, scale={"nice": False, "padding": 14, "zero": False})
    level = {"zero": False}
    dot = {
        "x": x,
        "y": q("agreement", title="agreement", axis={"tickCount": 4, "minExtent": 30}, scale=level),
        "description": n("label"),
    }
    layers = [
        drawing.band(
            {"x": x, "y": q("low", scale=level), "y2": {"field": "high"}},
            rows,
            color=blue,
            strokeWidth=6,
        ),
        drawing.marks("line", rows, {"x": x, "y": q("agreement")}, strokeWidth=1.4, color=blue),
        drawing.marks("point", rows, dot, filled=True, size=50, opacity=1, color=blue),
    ]  # fmt: skip - one layer an entry
    name: Spec = {"title": {"text": stream.name, "limit": width}} if stream.name else {}
    return drawing.layer(layers, width=width, height=130, **name)


def gaps_of(finding: Source, words: str) -> tuple[Gap, ...]:
    """Return agreement by gap from the rows of a drift diagnostic."""
    columns = finding.value("columns") or []
    if not {"gap_from", "gap_to", "agreement"} <= set(columns):
        return ()
    at = {name: columns.index(name) for name in columns}
    found = []
    rows = finding.at("rows")
    for i in range(len(rows.document)):
        row = rows.at(i)
        if row.value(at["agreement"]) is None:
            continue
        middle = (row.value(at["gap_from"]) + row.value(at["gap_to"])) / 2
        agreement = row.decimal(at["agreement"])
        found.append(
            Gap(
                gap=middle,
                agreement=row.value(at["agreement"]),
                low=row.value(at["agreement_low"]),
                high=row.value(at["agreement_high"]),
                label=f"{words} {middle:.3g}: agreement {agreement.text}",
            )
        )
    return tuple(found)


_SHOWN = ("problem", "notice")
_WORD = {
    "problem": "problem",
    "notice": "to read before quoting",
    "unknown": "not testable here",
    "ok": "found nothing",
}
_RATE = (
    "The tests share one error rate, however many they are: of clean audits at most 1 in "
    f"{1 / PROBLEM:.0f} shows any problem, and at most 1 in {1 / NOTICE:.0f} anything to read. "
    "What is counted (seeds used twice, invalid outputs) is no test and has no error rate. Finding "
    "nothing proves nothing: that calls are independent stays an assumption."
)


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
        views = tuple(finding_view(found.at(i)) for i in range(count))
        blocks += [paragraph(_tally(views)), note(_RATE), *_listed(views)]
    return Section(id="diagnostics", title="Can it be trusted?", blocks=tuple(blocks))


def alarms(source: Source) -> tuple[FindingView, ...]:
    """Return the problems that were found, one of each kind: no answer is read without them.

    Where streams share a kind, the first speaks and the others are counted, so that no kind is
    crowded off the first screen by another.
    """
    found = source.at("diagnostics")
    parts = [found.at(i) for i in range(len(found.document or []))]
    kinds: dict[str, list[Source]] = {}
    for part in parts:
        if part.value("verdict") == "problem":
            kinds.setdefault(part.text("name"), []).append(part)
    return tuple(_alarm(first, more=len(rest)) for first, *rest in kinds.values())


def _alarm(first: Source, *, more: int) -> FindingView:
    view = finding_view(first, evidence=False)
    return replace(view, subject=f"{view.subject} (and {more} more)") if more else view


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


def finding_view(found: Source, *, evidence: bool = True) -> FindingView:
    """Return one diagnostic as the page shows it, with the figures behind it or without."""
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
        figures=figures if evidence else (),
        table=table_view(found) if has_rows and evidence else None,
    )


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
        Stream(name=short_label(part.text("subject")), gaps=gaps)
        for part in _checks(source, name)
        if part.value("verdict") != _UNTESTABLE
        and len(gaps := gaps_of(part, DRIFT[name])) > 1  # one gap shows no drift
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
            for w, c in ((drawing.WIDE, min(2, len(found))), (drawing.NARROW, 1))
        )
        figures.append(FigureView(name=f"drift-{name}", caption=(), wide=wide, narrow=narrow))
    return figures
