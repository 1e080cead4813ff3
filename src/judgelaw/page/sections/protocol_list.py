"""Ways to ask: stability against calls, with the figure."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from judgelaw.blocks import Block, Cell, Figure, Place, Spec, Table, note
from judgelaw.decide import JudgeAdvice, ProtocolRow, in_words
from judgelaw.page import drawing
from judgelaw.page.drawing import n, q
from judgelaw.page.subject import ADVICE, Judge, Kind
from judgelaw.vocabulary import title
from judgelaw.words import visible

_KINDS = (
    ("one prompt, fixed", drawing.CALL),
    ("one prompt, drawn", drawing.PROMPT),
    ("several prompts, drawn", drawing.ORDER),
    ("all prompts", drawing.INTERACTION),
)
_ORDERS = {"one": "one", "both": "both", "consistent": "both, else a tie"}


@dataclass(frozen=True, kw_only=True)
class StabilityPoint:
    """One protocol in the figure."""

    calls: int
    low: float
    high: float
    estimate: float | None
    kind: int
    label: str


def stability_points(advice: JudgeAdvice) -> list[StabilityPoint]:
    """Return every protocol that has an interval or a forecast worth drawing."""
    points = []
    for _, row in advice.worth_showing():
        s = row.stability
        known = not s.absent
        if isnan(s.low) or (not known and (s.low, s.high) == (0.0, 1.0)):
            continue
        said = f"{s.estimate:.3f}, " if known else "forecast, "
        points.append(
            StabilityPoint(
                calls=row.calls,
                low=s.low,
                high=s.high,
                estimate=s.estimate if known else None,
                kind=_kind(row),
                label=f"{visible(in_words(row))}: {said}{s.low:.3f} to {s.high:.3f}",
            )
        )
    return points


def _kind(row: ProtocolRow) -> int:
    p = row.protocol
    if p.fixed is not None:
        return 0
    if p.drawn is None:
        return 3
    return 1 if p.drawn == 1 else 2


def stability_figure(points: Sequence[StabilityPoint], *, width: int) -> Spec:
    """Draw stability against calls of an item, with intervals; forecasts have no point."""
    most = max(p.calls for p in points)
    axis = {
        "title": "calls of an item",
        "values": sorted({p.calls for p in points}),
        "grid": False,
        "format": "d",
    }
    scale = {"type": "log", "base": 2, "nice": False, "padding": 16, "domain": [1, max(2, most)]}
    x = q("calls", scale=scale, axis=axis)
    y = {"zero": False, "domainMax": 1}
    rows = [
        {
            "calls": p.calls * (1 + 0.03 * (p.kind - 1)),  # side by side, so that none is hidden
            "low": p.low,
            "high": p.high,
            "estimate": p.estimate,
            "colour": _KINDS[p.kind][1].light,
            "label": p.label,
        }
        for p in points
    ]
    seen = [row for row in rows if row["estimate"] is not None]
    ends = {"x": x, "y": q("low", scale=y, title="same verdict again"), "y2": {"field": "high"}}
    dot = {"x": x, "y": q("estimate"), "color": drawing.painted(), "description": n("label")}
    layers = [
        drawing.band({**ends, "color": drawing.painted()}, rows, strokeWidth=4),
        drawing.marks("point", seen, dot, filled=True, size=42, opacity=1),
    ]
    return drawing.chart(drawing.layer(layers, width=width - 60, height=180))


def ways_to_ask(judge: Judge) -> Sequence[Block] | None:
    """Return what each way to ask comes to; the answer says what is worth doing."""
    advice = judge.report.advice
    found = None if advice is None else advice.judges.get(judge.name)
    if found is None:
        return None
    points = stability_points(found)
    drawn = () if not points else (_drawn(points),)
    place = judge.report.document.at(ADVICE, "judges", judge.name, "protocols")
    notes = [note(visible(text)) for text in found.notes]
    return (*drawn, _table(found, place), *notes)


def _drawn(points: Sequence[StabilityPoint]) -> Figure:
    used = sorted({p.kind for p in points})
    return Figure(
        name="stability",
        chart=lambda width: stability_figure(points, width=width),
        label="Stability of protocols against calls of an item",
        caption=(
            "Stability: how often the same final verdict comes out when the whole protocol is run "
            "again, with 95% intervals for items like these. A band without a dot is a forecast."
        ),
        key=tuple((f"swatch r-{_KINDS[k][1].role}", _KINDS[k][0]) for k in used),
    )


def _table(advice: JudgeAdvice, place: Place) -> Table:
    shown = advice.worth_showing()
    ordered = any(row.protocol.orders != "one" for _, row in shown)
    right = any(row.accuracy is not None for _, row in shown)
    return Table(
        columns=(
            "Prompts",
            *(("Orders",) if ordered else ()),
            "Calls",
            "Stability",
            title("interval"),
            *(("Accuracy",) if right else ()),
        ),
        rows=tuple(_row(row, place.at(i), ordered=ordered, right=right) for i, row in shown),
        caption="Ways to ask, by calls of an item",
        name="protocols",
    )


def _row(row: ProtocolRow, place: Place, *, ordered: bool, right: bool) -> tuple[Cell, ...]:
    p, s = row.protocol, place.at("stability")
    if row.stability.absent:
        known: tuple[Cell, Cell] = ("forecast", s.span("forecast", form=".2f", to=True))
    elif isnan(row.stability.low):
        known = (s.value("estimate"), "not known")
    else:
        known = (s.value("estimate"), s.span(to=True, ends=("low", "high")))
    return (
        visible(p.prompts),
        *((_ORDERS[p.orders],) if ordered else ()),
        place.value("calls", form=",d"),
        *known,
        *((place.value("accuracy", "estimate"),) if right else ()),
    )


SECTIONS = (Kind(id="do", title="Ways to ask", order=220, make=ways_to_ask),)
