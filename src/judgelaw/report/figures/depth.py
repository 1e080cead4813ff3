"""Why the plug-in cannot be believed: what it says falls with the depth, the truth does not."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from judgelaw.report import palette
from judgelaw.report.figures import theme
from judgelaw.report.figures.components import LABELS
from judgelaw.report.figures.theme import Spec, n, q

_CURVE_POINTS = 40
_AXIS, _GAP = 46, 28


@dataclass(frozen=True, kw_only=True)
class DepthPoint:
    """Plug-in and corrected estimate of one component at one repeat depth."""

    component: str
    repeats: int
    estimate: float
    plugin: float
    low: float | None
    high: float | None
    label: str
    plugin_label: str


def over_depth(points: Sequence[DepthPoint], *, width: int, columns: int) -> Spec:
    """Draw each component's plug-in and corrected estimate against repeats per cell."""
    shown = list(dict.fromkeys(p.component for p in points))
    plot = min(360, (width - _GAP * (columns - 1)) // columns - _AXIS)
    panels = [
        _panel([p for p in points if p.component == name], name, plot, named=i == 0)
        for i, name in enumerate(shown)
    ]
    return theme.chart({"vconcat" if columns == 1 else "hconcat": panels})


def _panel(points: Sequence[DepthPoint], name: str, width: int, *, named: bool) -> Spec:
    colour, ghost = palette.COMPONENT[name], palette.MUTED.light
    rows = [asdict(p) for p in points]
    axis = {
        "title": "repeats per cell, R",
        "values": [p.repeats for p in points],
        "grid": False,
        "format": "d",
    }
    scale = {"type": "log", "base": 2, "nice": False, "padding": 16}
    x = q("repeats", scale=scale, axis=axis)
    y_axis = {"tickCount": 5, "minExtent": 30}
    dot = {"x": x, "y": q("estimate", axis=y_axis, title=None), "description": n("label")}
    ring = {"x": x, "y": q("plugin"), "description": n("plugin_label")}
    layers = [
        theme.zero("y"),
        theme.marks(
            "line",
            _curve(points),
            {"x": x, "y": q("value")},
            strokeDash=[3, 3],
            strokeWidth=1.2,
            color=ghost,
        ),
        theme.band(
            {"x": x, "y": q("low"), "y2": {"field": "high"}}, rows, color=colour, strokeWidth=6
        ),
        theme.marks("line", rows, {"x": x, "y": q("estimate")}, strokeWidth=1.6, color=colour),
        theme.marks("point", rows, dot, filled=True, size=62, opacity=1, color=colour),
        theme.marks(
            "point",
            rows,
            ring,
            filled=True,
            size=46,
            opacity=1,
            strokeWidth=1.5,
            color=palette.PAPER.light,
            stroke=ghost,
        ),
        *(_names(points, colour, ghost, x) if named else ()),
    ]  # fmt: skip - one layer an entry
    return theme.layer(layers, width=width, height=170, title=LABELS[name])


def _names(points: Sequence[DepthPoint], colour: str, ghost: str, x: Spec) -> list[Spec]:
    """Name the two lines where they start, instead of a legend."""
    first = min(points, key=lambda p: p.repeats)
    encoding = {"x": x, "y": q("value"), "text": n("text")}
    named = [("plug-in", first.plugin, ghost, -9), ("corrected", first.estimate, colour, 13)]
    return [
        theme.marks(
            "text",
            [{"repeats": first.repeats, "value": value, "text": text}],
            encoding,
            align="left",
            dx=8,
            dy=dy,
            color=paint,
        )
        for text, value, paint, dy in named
    ]  # fmt: skip - one layer an entry


def _curve(points: Sequence[DepthPoint]) -> list[dict[str, float]]:
    """Return corrected + c/R with c from the deepest point: where the plug-in has to lie."""
    deepest = max(points, key=lambda p: p.repeats)
    least = min(p.repeats for p in points)
    scaled = deepest.repeats * (deepest.plugin - deepest.estimate)
    if least == deepest.repeats:
        return []
    ratio = deepest.repeats / least
    depths = [least * ratio ** (i / _CURVE_POINTS) for i in range(_CURVE_POINTS + 1)]
    return [{"repeats": r, "value": deepest.estimate + scaled / r} for r in depths]
