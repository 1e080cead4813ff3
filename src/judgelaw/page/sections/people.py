"""A judge against people, and a judge over dates: sections, figures and pages of their own."""

from collections.abc import Sequence
from math import isnan
from typing import TYPE_CHECKING

from judgelaw.analysis import Table as MachineTable
from judgelaw.blocks import Block, Cell, Figure, Span, Spec, Table, Value, paragraph
from judgelaw.page import drawing
from judgelaw.page.drawing import n, q
from judgelaw.page.forest import Mark, forest
from judgelaw.page.subject import Kind, Report
from judgelaw.page.whole_page import page
from judgelaw.words import visible

if TYPE_CHECKING:
    from judgelaw.labels import Look, Validation, Watch
    from judgelaw.quantities import Estimate

_HEIGHT = 190
_AXIS = 60
_ENDS = ("estimate", "low", "high")


def validation_page(v: "Validation", *, title: str) -> str:
    """Return the page of a validation: sentence, figures, confusion, groups, items to look at."""
    return page(title, v.sentence, _tables(v), _figures(v))


def people(report: Report) -> Sequence[Block] | None:
    """Return what holds each judge against the labels of its items; None without labels."""
    blocks: list[Block] = []
    found = report.people()
    for v in found:
        if len(found) > 1:
            blocks.append(paragraph(visible(v.judge or "")))
        said = (f"Judge: {visible(name)}" for name in v.opinions.verdicts)
        rows: list[tuple[Cell, ...]] = [
            (
                visible(label),
                *(Value(calls, ",d") for calls in counts),
                *_found(v.recall.get(label)),
            )
            for label, counts in zip(v.classes, v.confusion.tolist(), strict=True)
        ]
        columns = ("People say", *said, "Found", "95%")
        table = Table(columns=columns, rows=tuple(rows), name="confusion")
        blocks += [*_figures(v), table]
    return blocks or None


def _found(e: "Estimate | None") -> tuple[Cell, Cell]:
    if e is None or e.absent:
        return "-", "-"
    low, high = (Value(None if x != x else x, ".0%") for x in (e.low, e.high))  # noqa: PLR0124 - nan
    return Value(e.estimate, ".0%"), Span(low, high, to=True)


def watch_page(w: "Watch", *, title: str) -> str:
    """Return the page of a watch: sentence, the chart over dates, what moved."""
    columns = ("date", "change", "change_low", "change_high", "shift", "shift_low", "shift_high")
    rows = tuple(
        (one.date, *_cells(one.change), *_cells(one.shift), *(one.p or (None, None)), *one.chart)
        for one in w.dates
    )
    tables = [
        MachineTable(
            name="dates",
            title=f"Every date, held against {w.first}",
            columns=(*columns, "p_change", "p_shift", "chart_change", "chart_shift"),
            rows=rows,
        ),
        MachineTable(
            name="moved",
            title="Items that moved most",
            columns=("item", "change", "shift"),
            rows=tuple((one.item, one.change, one.shift) for one in w.moved),
        ),
        MachineTable(
            name="tested", title="What was tested", columns=("what", "answer"), rows=_tested(w)
        ),
    ]
    shown = [_over_dates(w), _chart(w)] if w.dates else []
    return page(title, w.sentence, [t for t in tables if t.rows], shown)


def _tested(w: "Watch") -> tuple[tuple[str, str], ...]:
    """Return which null was tested, how often it alarms falsely, and what else to know."""
    from judgelaw.labels import FALSE_ALARMS  # noqa: PLC0415 - loads when a page is made

    rows = [
        ("null hypothesis", w.tested),
        ("false alarms", f"{FALSE_ALARMS:.0%} is the stated rate, over {w.looks} declared looks"),
    ]
    if (b := w.baseline) is not None:
        between = (
            f"{b.between:.2g} between {len(b.dates)} dates beyond chance, {b.dice:.2g} by chance"
        )
        rows.append(("variance of the mean score", between))
    if (s := w.system) is not None:
        e = s.corrected
        point = "no point" if isnan(e.estimate) else f"{e.estimate:+.3f}"
        moved = e.reason if isnan(e.low) else f"{point} ({e.low:+.3f} to {e.high:+.3f})"
        rows.append((f"shift of the share of {s.of!r} on the system's own items", moved))
    return (*rows, *(("note", note) for note in w.notes))


def _cells(e: "Estimate") -> tuple[float | None, ...]:
    return tuple(_known(getattr(e, end)) for end in _ENDS)


def _known(x: float) -> float | None:
    return None if isnan(x) else x


def _tables(v: "Validation") -> list[MachineTable]:
    groups = {"by_prompt": ("prompt", v.by_prompt), "by_stratum": ("stratum", v.by_stratum)}
    figures = [(r["figure"], *(_known(r[x]) for x in _ENDS)) for r in v.records()]
    tables = [
        MachineTable(
            name="figures",
            title="Agreement, recall and errors, with 95% intervals",
            columns=("figure", "estimate", "estimate_low", "estimate_high"),
            rows=tuple(figures),
        ),
        MachineTable(
            name="confusion",
            title="What the judge says, by what people say",
            columns=("people", *v.opinions.verdicts),
            rows=tuple(
                (label, *counts)
                for label, counts in zip(v.classes, v.confusion.tolist(), strict=True)
            ),
        ),
        *(
            MachineTable(
                name=name,
                title=f"Agreement by {by}",
                columns=(by, "labelled", "agreement", "agreement_low", "agreement_high"),
                rows=tuple((g, a.labelled, *_cells(a.agreement)) for g, a in found.items()),
            )
            for name, (by, found) in groups.items()
        ),
        MachineTable(
            name="look_first",
            title="Items to look at first",
            columns=("item", "people", "votes", "judge", "calls", "why"),
            rows=tuple((s.item, s.label, s.votes, s.verdict, s.calls, s.why) for s in v.look_first),
        ),
        MachineTable(
            name="notes",
            title="What to know",
            columns=("note",),
            rows=tuple((note,) for note in v.notes),
        ),
    ]
    return [table for table in tables if table.rows]


def _figures(v: "Validation") -> list[Figure]:
    found = []
    recall = [(name, e) for name, e in v.recall.items() if not isnan(e.estimate)]
    if recall:
        found.append(
            Figure(
                name="recall",
                chart=lambda width: _shares(recall, width),
                label="How often the judge says each class where people do, with 95% intervals",
                caption="Dots: share of a class that the judge finds. Bands: 95% intervals.",
            )
        )
    errors = v.overall.errors
    if errors is not None and len(errors.votes) > 1:
        curve = [(m, e) for m, e in errors.votes.items()]
        found.append(
            Figure(
                name="votes",
                chart=lambda width: _curve(curve, width),
                label="Error of a majority vote by the number of calls",
                caption="What asking m times and taking the majority leaves of the errors.",
            )
        )
    if v.opinions.values is not None and v.opinions.human_scores is not None:
        points = _score_points(v)
        found.append(
            Figure(
                name="scores",
                chart=lambda width: _scatter(points, width),
                label="The judge's mean score of each item against the people's",
                caption="One dot an item; on the line judge and people say the same.",
            )
        )
    return found


def _shares(rows: "Sequence[tuple[str, Estimate]]", width: int) -> Spec:
    marks = [
        Mark(
            name=visible(name),
            value=e.estimate,
            band=e.interval,
            label=f"{visible(name)}: {e.estimate:.2f}, {e.low:.2f} to {e.high:.2f}",
        )
        for name, e in rows
    ]
    scale: Spec = {"domain": [0, 1]}
    return forest(marks, width=width, title="share found", step=34, scale=scale)


def _curve(rows: "Sequence[tuple[int, Estimate]]", width: int) -> Spec:
    values = [
        {"m": m, "value": e.estimate, "low": e.low, "high": e.high}
        | {"label": f"{m} calls: error {e.estimate:.3f}, {e.low:.3f} to {e.high:.3f}"}
        for m, e in rows
    ]
    x = q("m", title="calls in a vote", axis={"values": [m for m, _ in rows], "format": "d"})
    y = q("value", title="error", scale={"zero": True})
    layers = [
        drawing.band(
            {"x": x, "y": q("low"), "y2": {"field": "high"}}, values, color=drawing.CALL.light
        ),
        drawing.marks("line", values, {"x": x, "y": y}, strokeWidth=1.6, color=drawing.CALL.light),
        drawing.marks(
            "point",
            values,
            {"x": x, "y": y, "description": n("label")},
            filled=True,
            size=60,
            opacity=1,
            color=drawing.CALL.light,
        ),
    ]
    return drawing.chart(drawing.layer(layers, width=min(420, width - _AXIS), height=_HEIGHT))


def _score_points(v: "Validation") -> list[dict[str, float | str]]:
    import numpy as np  # noqa: PLC0415 - a page without scores needs none

    o = v.opinions
    if o.values is None or o.human_scores is None:
        return []
    known = ~np.isnan(o.values)
    calls = o.calls[:, known]
    spoke = (calls.sum(axis=1) > 0) & o.voted
    mean = (calls * o.values[known]).sum(axis=1)[spoke] / calls.sum(axis=1)[spoke]
    names = [item for item, there in zip(o.items, spoke, strict=True) if there]
    return [
        {
            "people": float(h),
            "judge": float(j),
            "label": f"{visible(name)}: judge {j:.2f}, people {h:.2f}",
        }
        for name, j, h in zip(names, mean, o.human_scores[spoke], strict=True)
    ]


def _scatter(points: Sequence[dict[str, float | str]], width: int) -> Spec:
    ends = [float(p[side]) for p in points for side in ("people", "judge")]
    domain = {"domain": [min(ends), max(ends)], "nice": False, "padding": 8}
    x, y = q("people", scale=domain, title="people"), q("judge", scale=domain, title="judge")
    line = [{"people": end, "judge": end} for end in (min(ends), max(ends))]
    layers = [
        drawing.marks("line", line, {"x": x, "y": y}, color=drawing.FAINT.light),
        drawing.marks(
            "point",
            points,
            {"x": x, "y": y, "description": n("label")},
            filled=True,
            opacity=0.35,
            size=36,
            color=drawing.CALL.light,
        ),
    ]
    size = min(360, width - _AXIS)
    return drawing.chart(drawing.layer(layers, width=size, height=size))


def _over_dates(w: "Watch") -> Figure:
    """Draw change and shift over dates, each with its interval."""
    panels = (("change", "change of the law"), ("shift", f"shift of the {w.scored}"))

    def drawn(width: int) -> Spec:
        plots = [_dated(w.dates, name, title, width) for name, title in panels]
        return drawing.chart({"vconcat": plots})

    return Figure(
        name="dates",
        chart=drawn,
        label=f"Change of the judge and shift of its score since {w.first}",
        caption=f"Everything is held against {w.first}. Bands: 95% intervals, these items.",
    )


def _dated(dates: "Sequence[Look]", name: str, title: str, width: int) -> Spec:
    known = [(one.date, getattr(one, name)) for one in dates]
    rows = [
        {"date": date, "value": e.estimate, "low": e.low, "high": e.high}
        | {"label": f"{date}: {e.estimate:+.3f}, {e.low:+.3f} to {e.high:+.3f}"}
        for date, e in known
        if not isnan(e.estimate)
    ]
    x = n("date", sort=[date for date, _ in known], title=None)
    y = q("value", title=title)
    layers = [
        drawing.zero("y"),
        drawing.band(
            {"x": x, "y": q("low"), "y2": {"field": "high"}}, rows, color=drawing.CALL.light
        ),
        drawing.marks(
            "point",
            rows,
            {"x": x, "y": y, "description": n("label")},
            filled=True,
            size=54,
            opacity=1,
            color=drawing.CALL.light,
        ),
    ]
    return drawing.layer(layers, width=width - _AXIS, height=_HEIGHT)


def _chart(w: "Watch") -> Figure:
    """Draw the two charts, and where they alarm."""
    rows = [
        {"date": one.date, "value": value, "kind": kind, "colour": colour}
        | {"label": f"{one.date}: {kind} {value:.2f}"}
        for one in w.dates
        for kind, value, colour in zip(
            ("any change", "shift"),
            one.chart,
            (drawing.CALL.light, drawing.PROMPT.light),
            strict=True,
        )
    ]

    def drawn(width: int) -> Spec:
        x = n("date", sort=[one.date for one in w.dates], title=None)
        y = q("value", title="chart")
        channels = {"x": x, "y": y, "color": drawing.painted(), "detail": n("kind")}
        limit = {"y": q("limit")}
        layers = [
            drawing.marks("rule", [{"limit": w.threshold}], limit, strokeDash=[4, 4]),
            drawing.marks("line", rows, channels, strokeWidth=1.6),
            drawing.marks("point", rows, {**channels, "description": n("label")}, filled=True),
        ]
        return drawing.chart(drawing.layer(layers, width=width - _AXIS, height=_HEIGHT))

    return Figure(
        name="chart",
        chart=drawn,
        label=f"Two charts over dates, which alarm at {w.threshold:g}",
        caption=(
            "Blue: any change. Orange: a shift of the score. Dashed: the alarm, at "
            f"{w.threshold:g} for {w.looks} declared looks; one look alarms by itself from p "
            f"{w.single:.2g} on."
        ),
    )


SECTIONS = (Kind(id="people", title="Against the labels", order=215, make=people, of="report"),)
