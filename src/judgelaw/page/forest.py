"""The one chart of estimates: a row each, with its intervals, and what it would be uncorrected."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from judgelaw.blocks import Spec
from judgelaw.page import drawing
from judgelaw.page.drawing import n, names, painted, q
from judgelaw.quantities import Pair

_FIGURES = 190
"""Room for the figures at the right of the plot."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One estimate in a chart.

    Attributes:
        name: of its row.
        value: the estimate.
        band: the soft interval: for items like these, or the only one.
        line: the thin interval: for these items.
        ring: the same without correction.
        colour: of the dot and its intervals.
        text: at the right edge, where there is room.
        label: for who cannot see it.
    """

    name: str
    value: float
    band: Pair | None = None
    line: Pair | None = None
    ring: float | None = None
    colour: str = drawing.CALL.light
    text: str = ""
    label: str


def forest(
    found: Sequence[Mark],
    *,
    width: int,
    title: str | None,
    step: int = 28,
    scale: Spec | None = None,
    axis: Spec | None = None,
) -> Spec:
    """Draw a row for each estimate; the line of zero is shown unless a scale of one's own is."""
    rows = [_row(mark) for mark in found]
    order = [mark.name for mark in found]
    direct = width > drawing.NARROW and any(mark.text for mark in found)
    plot = width - drawing.room_for(order) - (_FIGURES if direct else 10)
    y = names("name", order, labelFontSize=12)
    x = q(
        "value",
        axis={"title": title, "tickCount": 5, **(axis or {})},
        scale=scale or {"zero": True, "nice": True},
    )
    colour = painted()
    layers = [] if scale else [drawing.zero("x")]
    ends = {"x": q("low"), "x2": {"field": "high"}, "y": y, "color": colour}
    layers.append(drawing.band(ends, [row for row in rows if row["low"] is not None]))
    if any(mark.line for mark in found):
        asked = {"x": q("line_low"), "x2": {"field": "line_high"}, "y": y, "color": colour}
        layers.append(drawing.marks("rule", rows, asked, strokeWidth=1.6))
    if any(mark.ring is not None for mark in found):
        joined = {"x": q("ring"), "x2": {"field": "value"}, "y": y}
        dashed = {"color": drawing.FAINT.light, "strokeDash": [2, 2]}
        hollow = {"size": 52, "strokeWidth": 1.4, "color": drawing.MUTED.light}
        layers += [
            drawing.marks("rule", rows, joined, **dashed),
            drawing.marks("point", rows, {"x": q("ring"), "y": y}, **hollow),
        ]
    dot = {"x": x, "y": y, "color": colour, "description": n("label")}
    layers.append(drawing.dots(rows, dot, 90))
    if direct:
        text = {"x": {"value": plot}, "y": y, "text": n("text")}
        layers.append(drawing.marks("text", rows, text, align="left", dx=12, fontSize=12))
    return drawing.chart(drawing.layer(layers, width=plot, height={"step": step}))


def _row(mark: Mark) -> Spec:
    low, high = mark.band or (None, None)
    line_low, line_high = mark.line or (None, None)
    return {
        **{k: v for k, v in asdict(mark).items() if k not in {"band", "line"}},
        "low": low,
        "high": high,
        "line_low": line_low,
        "line_high": line_high,
    }
