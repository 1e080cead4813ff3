"""Whether the figures can be trusted: diagnostics with advice, warnings, drift."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from judgelaw.analysis import Analysis
from judgelaw.blocks import (
    Block,
    Cell,
    Details,
    Figure,
    Finding,
    Findings,
    Paragraph,
    Place,
    Spec,
    Table,
    note,
    paragraph,
    text_of,
)
from judgelaw.diagnose import NOTICE, PROBLEM, Finding as Found
from judgelaw.page import drawing
from judgelaw.page.drawing import n, q
from judgelaw.page.subject import Kind, Report, short_label
from judgelaw.page.table_forms import heading, records, table_block
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


def by_gap(found: Sequence[Stream], *, width: int, columns: int, title: str) -> Spec:
    """Draw agreement against the gap, one panel a stream; without drift a line is level."""
    plot = min(300, width // columns - _AXIS)
    panels = [_panel(stream, plot, title) for stream in found]
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


def gaps_of(finding: Found, words: str) -> tuple[Gap, ...]:
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
                label=f"{words} {middle:.3g}: agreement {row['agreement']:.4f}",
            )
        )
    return tuple(found)


_SHOWN = ("problem", "notice")
_WORD = {
    "problem": "found a problem",
    "notice": "to read before quoting",
    "unknown": "could not be run",
    "ok": "passed",
}
_RATE = (
    "The tests share one error rate, however many they are: of clean audits at most 1 in "
    f"{1 / PROBLEM:.0f} shows any problem, and at most 1 in {1 / NOTICE:.0f} anything to read. "
    "What is counted (seeds used twice, invalid outputs) is no test and has no error rate. "
    "Passing does not prove independence: that stays an assumption."
)


def diagnostics(report: Report) -> Sequence[Block] | None:
    """Return every diagnostic, problems first; None where none was run."""
    found = [finding(x, place) for x, place in _findings(report)]
    warnings = report.analysis.warnings
    if not found and not warnings:
        return None
    blocks: list[Block] = [paragraph(visible(w)) for w in warnings]
    others = [name for name in report.analysis.layers if name != report.analysis.main_layer]
    if others:
        blocks.append(
            paragraph(f"Other layers ({', '.join(map(visible, others))}) have their own section.")
        )
    if found:
        blocks += [paragraph(_tally(found)), note(_RATE), *_listed(found)]
    return blocks


def _findings(report: Report) -> list[tuple[Found, Place]]:
    place = report.document.at("diagnostics")
    return [(x, place.at(i)) for i, x in enumerate(report.analysis.diagnostics)]


def alarms(report: Report) -> tuple[Finding, ...]:
    """Return the problems that were found, one of each kind: no answer is read without them.

    Where streams share a kind, the first speaks and the others are counted, so that no kind is
    crowded off the first screen by another.
    """
    by_kind: dict[str, list[tuple[Found, Place]]] = {}
    for found, place in _findings(report):
        if found.verdict == "problem":
            by_kind.setdefault(found.name, []).append((found, place))
    return tuple(_alarm(*first, more=len(rest)) for first, *rest in by_kind.values())


def _alarm(found: Found, place: Place, *, more: int) -> Finding:
    view = finding(found, place, evidence=False)
    return replace(view, subject=f"{view.subject} (and {more} more)") if more else view


def _listed(found: Sequence[Finding]) -> list[Block]:
    """Show what needs reading; fold what passed or could not be run."""
    blocks: list[Block] = []
    loud = _together([x for x in found if x.verdict in _SHOWN])
    if loud:
        blocks.append(Findings(findings=loud))
    for verdict, title in (("unknown", "Could not be run with these calls"), ("ok", "Passed")):
        quiet = tuple(x for x in found if x.verdict == verdict)
        if quiet:
            summary = f"{title}: {len(quiet)}"
            # Silence about what could not be run would pass for a clean bill.
            told = Findings(findings=quiet)
            blocks.append(Details(summary=summary, blocks=(told,), brief=verdict == "unknown"))
    return blocks


def _together(found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Say once what was found in the same words and figures of several subjects."""
    alike: dict[tuple[str, ...], list[Finding]] = {}
    for x in found:
        figures = [
            f"{text_of(row[0])} {text_of(row[1])}"
            for block in x.evidence
            if isinstance(block, Table) and block.name == "evidence"
            for row in block.rows
        ]
        alike.setdefault((x.name, x.verdict, x.headline, x.advice, *figures), []).append(x)
    return tuple(
        replace(same[0], subject=", ".join(x.subject for x in same)) for same in alike.values()
    )


def _tally(found: Sequence[Finding]) -> str:
    counts = {words: sum(x.verdict == v for x in found) for v, words in _WORD.items()}
    told = ", ".join(f"{n} {words}" for words, n in counts.items() if n)
    return f"{len(found)} checks: {told}."


def finding(found: Found, place: Place, *, evidence: bool = True) -> Finding:
    """Return one diagnostic as it is shown, with the figures behind it or without."""
    behind: list[Block] = []
    if evidence and found.figures:
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (heading(name), place.value("figures", name, form="any")) for name in found.figures
        )
        behind.append(Table(columns=("Figure", "Value"), rows=rows, name="evidence"))
    if evidence and found.rows:
        behind.append(table_block(found, place))
    return Finding(
        name=heading(found.name),
        verdict=found.verdict,
        subject=visible(found.subject),
        headline=visible(found.headline),
        advice=visible(found.advice),
        evidence=tuple(behind),
    )


DRIFT = {
    "rank_gap": "repeat ranks apart",
    "elapsed_time": "log(1 + seconds) apart",
}
_TESTED = {"rank_gap": "repeat rank", "elapsed_time": "elapsed time"}
_PANELS = 8
_UNTESTABLE = "unknown"


def drift(report: Report) -> Sequence[Block] | None:
    """Return what the drift checks say, what they cannot, and agreement by distance in time.

    A slope that is no test is named as such before anything else, and is not drawn.
    """
    found = [each for name in DRIFT for each in _findings(report) if each[0].name == name]
    slopes = report.analysis.tables.get("time_drift")
    has_slopes = slopes is not None and bool(slopes.rows)
    if not found and not has_slopes:
        return None
    untestable = [x for x, _ in found if x.verdict == _UNTESTABLE]
    tested = [each for each in found if each[0].verdict != _UNTESTABLE]
    blocks: list[Block] = [*_cannot(untestable), *_said(tested), *_drift_figures(report.analysis)]
    if slopes is not None and has_slopes:
        place = report.document.at("tables", "time_drift")
        table = table_block(slopes, place, name="time_drift", caption=slopes.title)
        folded = Details(summary="Slopes as computed, even if untestable", blocks=(table,))
        blocks.append(folded if untestable else table)
    if tested:
        blocks.append(
            note(
                "A level line does not prove that calls are independent: that stays an assumption."
            )
        )
    return blocks


def _cannot(untestable: Sequence[Found]) -> list[Paragraph]:
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


def _of(subjects: Sequence[str]) -> str:
    named = ", ".join(subject for subject in subjects if subject)
    return f" ({named})" if named else ""


def _said(tested: Sequence[tuple[Found, Place]]) -> list[Block]:
    if not tested:
        return []
    return [
        paragraph(
            "Two calls of one cell should agree as often whether they were made close together or "
            "far apart. A slope beyond chance would mean that the judge, or the service behind it, "
            "changed meanwhile. The checks say:"
        ),
        note(
            "Why can a 95% band leave out 0 and the check find nothing? One in twenty such bands "
            "misses 0 by chance, and many slopes are looked at. A check therefore speaks only "
            "where shuffling the calls within their cells hardly ever makes such a slope, all "
            "checks of the audit taken together."
        ),
        *(paragraph(visible(f"{x.subject or 'All'}: {x.headline} {x.advice}")) for x, _ in tested),
    ]


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


def _drift_figures(analysis: Analysis) -> list[Figure]:
    found = {name: streams(analysis, name) for name in DRIFT}
    return [_drift_figure(name, drawn) for name, drawn in found.items() if drawn]


def _drift_figure(name: str, found: Sequence[Stream]) -> Figure:
    words = DRIFT[name]

    def panels(width: int) -> Spec:
        columns = min(2, len(found)) if width > drawing.NARROW else 1
        return by_gap(found, width=width, columns=columns, title=words)

    label = f"Agreement of two calls of one cell by {words}"
    return Figure(name=f"drift-{name}", chart=panels, label=label)


SECTIONS = (
    Kind(id="diagnostics", title="Checks", order=230, make=diagnostics, of="report"),
    Kind(id="drift", title="Drift", order=235, make=drift, of="report", brief=False),
)
