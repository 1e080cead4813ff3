"""Whether the figures can be trusted: diagnostics with advice, warnings, drift."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from judgelaw.analysis import Analysis, Table
from judgelaw.diagnose import NOTICE, PROBLEM, Finding
from judgelaw.page import drawing
from judgelaw.page.component_figure import short_label
from judgelaw.page.document import (
    Block,
    FigureView,
    Findings,
    FindingView,
    Folded,
    Part,
    Prose,
    Section,
    decimal,
    figure,
    measured,
    note,
    paragraph,
)
from judgelaw.page.drawing import Spec, n, q
from judgelaw.page.table_forms import heading, records, table_view
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
        drawing.dots(rows, dot, 50, color=blue),
    ]
    name: Spec = {"title": {"text": stream.name, "limit": width}} if stream.name else {}
    return drawing.layer(layers, width=width, height=130, **name)


def gaps_of(finding: Finding, words: str) -> tuple[Gap, ...]:
    """Return agreement by gap from the rows of a drift diagnostic."""
    if not {"gap_from", "gap_to", "agreement"} <= set(finding.columns):
        return ()
    found = []
    for row in records(finding):
        if row["agreement"] is None:
            continue
        middle = (row["gap_from"] + row["gap_to"]) / 2
        found.append(
            Gap(
                gap=middle,
                agreement=row["agreement"],
                low=row["agreement_low"],
                high=row["agreement_high"],
                label=f"{words} {middle:.3g}: agreement {decimal(row['agreement']).text}",
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


def diagnostics(analysis: Part[Analysis]) -> Section | None:
    """Return every diagnostic, problems first; None where none was run."""
    views = tuple(map(finding_view, _findings(analysis)))
    warnings = analysis.value.warnings
    if not views and not warnings:
        return None
    blocks: list[Block] = []
    if warnings:
        blocks.append(Prose(paragraphs=tuple((visible(w),) for w in warnings)))
    if views:
        blocks += [paragraph(_tally(views)), note(_RATE), *_listed(views)]
    return Section(id="diagnostics", title="Can it be trusted?", blocks=tuple(blocks))


def _findings(analysis: Part[Analysis]) -> list[Part[Finding]]:
    return analysis.at(lambda a: a.diagnostics).entries()


def alarms(analysis: Part[Analysis]) -> tuple[FindingView, ...]:
    """Return the problems that were found, one of each kind: no answer is read without them.

    Where streams share a kind, the first speaks and the others are counted, so that no kind is
    crowded off the first screen by another.
    """
    kinds: dict[str, list[Part[Finding]]] = {}
    for part in _findings(analysis):
        if part.value.verdict == "problem":
            kinds.setdefault(part.value.name, []).append(part)
    return tuple(_alarm(first, more=len(rest)) for first, *rest in kinds.values())


def _alarm(first: Part[Finding], *, more: int) -> FindingView:
    view = finding_view(first, evidence=False)
    return replace(view, subject=f"{view.subject} (and {more} more)") if more else view


def _listed(views: tuple[FindingView, ...]) -> list[Block]:
    """Show what needs reading; fold what found nothing or could not be tested."""
    blocks: list[Block] = []
    loud = _together([v for v in views if v.verdict in _SHOWN])
    if loud:
        blocks.append(Findings(findings=loud))
    for verdict, title in (("unknown", "Not testable with these calls"), ("ok", "Nothing found")):
        quiet = tuple(v for v in views if v.verdict == verdict)
        if quiet:
            summary = f"{title}: {len(quiet)}"
            blocks.append(Folded(summary=summary, blocks=(Findings(findings=quiet),)))
    return blocks


def _together(views: Sequence[FindingView]) -> tuple[FindingView, ...]:
    """Say once what was found in the same words and figures of several subjects."""
    alike: dict[tuple[str, ...], list[FindingView]] = {}
    for v in views:
        figures = tuple(f"{name} {number.text}" for name, number in v.figures)
        alike.setdefault((v.name, v.verdict, v.headline, v.advice, *figures), []).append(v)
    return tuple(
        replace(same[0], subject=", ".join(v.subject for v in same)) for same in alike.values()
    )


def _tally(views: tuple[FindingView, ...]) -> str:
    counts = {word: sum(_WORD[v.verdict] == word for v in views) for word in _WORD.values()}
    return (
        f"{len(views)} checks: " + ", ".join(f"{n} {word}" for word, n in counts.items() if n) + "."
    )


def finding_view(part: Part[Finding], *, evidence: bool = True) -> FindingView:
    """Return one diagnostic as the page shows it, with the figures behind it or without."""
    found = part.value
    figures = part.at(lambda f: f.figures).items() if evidence else []
    return FindingView(
        name=heading(found.name),
        verdict=found.verdict,
        subject=visible(found.subject),
        headline=visible(found.headline),
        advice=visible(found.advice),
        figures=tuple((heading(name), measured(x.value, where=x.path)) for name, x in figures),
        table=table_view(part) if found.rows and evidence else None,
    )


DRIFT = {
    "rank_gap": "repeat ranks apart",
    "elapsed_time": "log(1 + seconds) apart",
}
_TESTED = {"rank_gap": "repeat rank", "elapsed_time": "elapsed time"}
_PANELS = 8
_UNTESTABLE = "unknown"


def drift(analysis: Part[Analysis]) -> Section | None:
    """Return what the drift checks say, what they cannot, and agreement by distance in time.

    A slope that is no test is named as such before anything else, and is not drawn.
    """
    found = [part for name in DRIFT for part in _findings(analysis) if part.value.name == name]
    slopes = analysis.at(lambda a: a.tables).find("time_drift")
    has_slopes = slopes is not None and bool(slopes.value.rows)
    if not found and not has_slopes:
        return None
    untestable = [part.value for part in found if part.value.verdict == _UNTESTABLE]
    tested = [part for part in found if part.value.verdict != _UNTESTABLE]
    blocks: list[Block] = [*_cannot(untestable), *_said(tested), *_drift_figures(analysis.value)]
    if slopes is not None and has_slopes:
        blocks.append(_slopes(slopes, untestable=bool(untestable)))
    if tested:
        blocks.append(
            note(
                "A level line does not prove that calls are independent: that stays an assumption."
            )
        )
    return Section(id="drift", title="Does it drift?", blocks=tuple(blocks))


def _cannot(untestable: list[Finding]) -> list[Prose]:
    """Say which tests cannot be made and why, one paragraph for each reason."""
    grouped: dict[tuple[str, str], list[str]] = {}
    for found in untestable:
        grouped.setdefault((found.name, found.advice), []).append(visible(found.subject))
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


def _said(tested: list[Part[Finding]]) -> list[Block]:
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


def _slopes(slopes: Part[Table], *, untestable: bool) -> Block:
    """Show the slopes; closed until asked for where some of them test nothing."""
    table = table_view(slopes, name="time_drift", caption=slopes.value.title)
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


def streams(analysis: Analysis, name: str) -> list[Stream]:
    """Return the agreement by gap of every stream that a drift diagnostic could test."""
    drawn = [
        Stream(name=short_label(found.subject), gaps=gaps)
        for found in analysis.diagnostics
        if found.name == name
        and found.verdict != _UNTESTABLE
        and len(gaps := gaps_of(found, DRIFT[name])) > 1  # one gap shows no drift
    ]
    return drawn[:_PANELS]


def _drift_figures(analysis: Analysis) -> list[FigureView]:
    found = {name: streams(analysis, name) for name in DRIFT}
    return [_drift_figure(name, drawn) for name, drawn in found.items() if drawn]


def _drift_figure(name: str, found: list[Stream]) -> FigureView:
    words = DRIFT[name]

    def panels(width: int) -> Spec:
        columns = min(2, len(found)) if width > drawing.NARROW else 1
        return by_gap(found, width=width, columns=columns, title=words)

    label = f"Agreement of two calls of one cell by {words}"
    return figure(f"drift-{name}", panels, label=label)
