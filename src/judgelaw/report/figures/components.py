"""The answer as a picture: components with their intervals, and their shares of the total."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from judgelaw.report import palette
from judgelaw.report.figures import theme
from judgelaw.report.figures.theme import Spec, names, painted, q

LABELS = {
    "call": "Repeat calls",
    "prompt": "Prompt",
    "order": "Answer order",
    "interaction": "Prompt × order",
    "total": "Total",
}
_FIGURES = 190
"""Room for the figures at the right of the plot."""
_LABEL_LEAST = 0.1
"""A part below this part of a wide bar has no room for a range inside."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One component of one judge in a chart; None where it cannot be had.

    `low` and `high` are for items like these, `call_low` and `call_high` for these items.
    """

    component: str
    estimate: float
    plugin: float
    low: float | None
    high: float | None
    call_low: float | None
    call_high: float | None
    text: str
    label: str
    judge: str = ""


def estimates(found: Sequence[Mark], *, width: int) -> Spec:
    """Draw corrected estimates with intervals, and the plug-in as a ghost beside each.

    Where there is room the figures stand at the right edge.
    """
    direct = width > theme.NARROW
    rows = [_row(mark) for mark in found]
    order = [row["name"] for row in rows]
    plot = width - theme.room_for(order) - (_FIGURES if direct else 8)
    y = names("name", order, labelFontSize=12)
    layers = [*dumbbell(rows, y, "probability that two calls disagree", painted())]
    if direct:
        encoding = {"x": {"value": plot}, "y": y, "text": theme.n("text")}
        layers.append(theme.marks("text", rows, encoding, align="left", dx=12, fontSize=12))
    return theme.chart(theme.layer(layers, width=plot, height={"step": 38}))


def by_judge(found: Sequence[Mark], *, width: int) -> Spec:
    """Draw one component of several judges."""
    rows = [{**_row(mark), "name": mark.judge} for mark in found]
    order = [row["name"] for row in rows]
    y = names("name", order, labelFontSize=12)
    layers = dumbbell(rows, y, None, painted())
    plot = width - theme.room_for(order) - 8
    return theme.chart(theme.layer(layers, width=plot, height={"step": 34}))


def dumbbell(rows: Sequence[Spec], y: Spec, title: str | None, colour: Spec) -> list[Spec]:
    """Return layers that join each plug-in (ring) to its corrected value (dot) with intervals."""
    axis = {"title": title, "tickCount": 5}
    scale = {"zero": True, "nice": True}
    joined = {"x": q("plugin"), "x2": {"field": "estimate"}, "y": y}
    dot = {"x": q("estimate", axis=axis, scale=scale), "y": y, "color": colour}
    asked = {"x": q("call_low"), "x2": {"field": "call_high"}, "y": y, "color": colour}
    ring = palette.MUTED.light
    return [
        theme.zero("x"),
        theme.band({"x": q("low"), "x2": {"field": "high"}, "y": y, "color": colour}, rows),
        theme.marks("rule", rows, asked, strokeWidth=1.6),
        theme.marks("rule", rows, joined, color=palette.FAINT.light, strokeDash=[2, 2]),
        theme.marks(
            "point",
            rows,
            {"x": q("plugin"), "y": y},
            size=52,
            strokeWidth=1.4,
            color=ring,
            filled=False,
        ),
        theme.marks(
            "point", rows, {**dot, "description": theme.n("label")}, filled=True, size=96, opacity=1
        ),
    ]  # fmt: skip - one layer an entry


def _row(mark: Mark) -> dict[str, Any]:
    return {
        "name": LABELS[mark.component],
        "estimate": mark.estimate,
        "plugin": mark.plugin,
        "low": mark.low,
        "high": mark.high,
        "call_low": mark.call_low,
        "call_high": mark.call_high,
        "text": mark.text,
        "label": mark.label,
        "colour": palette.COMPONENT[mark.component],
    }


@dataclass(frozen=True, kw_only=True)
class Share:
    """One component's part of a judge's disagreement.

    Attributes:
        judge, component: whose.
        width: of its bar, from 0 to 1; those of a judge add up to 1.
        text: the range of its share.
        label: for who cannot see it.
    """

    judge: str
    component: str
    width: float
    text: str
    label: str


def shares(found: Sequence[Share], *, width: int) -> Spec:
    """Draw the parts of the total as one bar a judge, with the range of each share."""
    judges = list(dict.fromkeys(s.judge for s in found))
    bars = [bar for judge in judges for bar in _stack(found, judge)]
    several = len(judges) > 1
    plot = width - (theme.room_for(judges) + 8 if several else 2)
    y = names("judge", judges, labelFontSize=12)
    if not several:
        y["axis"] = None
    axis = {"title": None, "format": "%", "grid": False, "tickCount": 4} if several else None
    scale = {"domain": [0, 1], "nice": False}
    bar_at = {"x": q("start", scale=scale, axis=axis), "x2": {"field": "end"}, "y": y}
    room = _LABEL_LEAST * theme.WIDE / plot
    inside = [b for b in bars if b["end"] - b["start"] >= room]
    text_at = {"x": q("middle", scale=scale), "y": y, "text": theme.n("text")}
    layers = [
        theme.marks(
            "bar",
            bars,
            {**bar_at, "color": painted(), "description": theme.n("label")},
            height={"band": 0.8},
            stroke=palette.PAPER.light,
            strokeWidth=1.5,
        ),
        theme.marks(
            "text", inside, text_at, color=palette.PAPER.light, fontWeight=600, fontSize=12
        ),
    ]  # fmt: skip - one layer an entry
    return theme.chart(theme.layer(layers, width=plot, height={"step": 34}))


def _stack(found: Sequence[Share], judge: str) -> list[dict[str, Any]]:
    """Lay the parts end to end; one without a width is not drawn."""
    start = 0.0
    bars = []
    for share in (s for s in found if s.judge == judge and s.width > 0):
        end = min(1.0, start + share.width)
        bars.append(
            {
                "judge": judge,
                "start": start,
                "end": end,
                "middle": (start + end) / 2,
                "text": share.text,
                "label": share.label,
                "colour": palette.COMPONENT[share.component],
            }
        )
        start = end
    return bars
