"""Which estimate comes closer to a deeper, independent reference, item by item."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from judgelaw.report import palette
from judgelaw.report.figures import theme
from judgelaw.report.figures.theme import Spec, n, q


@dataclass(frozen=True, kw_only=True)
class Discrepancy:
    """Mean absolute distance of item estimates from the reference at one depth."""

    repeats: int
    plugin: float
    corrected: float
    label: str
    plugin_label: str


@dataclass(frozen=True, kw_only=True)
class Floor:
    """How far two halves of the reference lie from each other: nothing can be closer for long."""

    value: float
    low: float | None
    high: float | None


def discrepancies(found: Sequence[Discrepancy], floor: Floor | None, *, width: int) -> Spec:
    """Draw both distances over depth, with the disagreement of the reference's own halves."""
    rows = [asdict(d) for d in found]
    axis = {
        "title": "repeats per cell, R",
        "values": [d.repeats for d in found],
        "grid": False,
        "format": "d",
    }
    x = q("repeats", axis=axis, scale={"type": "log", "base": 2, "nice": False, "padding": 20})
    title = "mean distance from the reference"
    y = q("corrected", title=title, axis={"tickCount": 4, "minExtent": 30}, scale={"zero": True})
    orange, ghost = palette.PROMPT.light, palette.MUTED.light
    layers = [
        *(_floor(floor) if floor else ()),
        theme.marks(
            "line",
            rows,
            {"x": x, "y": q("plugin")},
            color=ghost,
            strokeWidth=1.4,
            strokeDash=[3, 3],
        ),
        theme.marks("line", rows, {"x": x, "y": q("corrected")}, color=orange, strokeWidth=1.6),
        theme.marks(
            "point",
            rows,
            {"x": x, "y": y, "description": n("label")},
            filled=True,
            size=62,
            opacity=1,
            color=orange,
        ),
        theme.marks(
            "point",
            rows,
            {"x": x, "y": q("plugin"), "description": n("plugin_label")},
            filled=True,
            size=46,
            opacity=1,
            strokeWidth=1.5,
            stroke=ghost,
            color=palette.PAPER.light,
        ),
    ]  # fmt: skip - one layer an entry
    return theme.chart(theme.layer(layers, width=width - 60, height=170))


def _floor(floor: Floor) -> list[Spec]:
    rows = [asdict(floor)]
    layers = [theme.marks("rule", rows, {"y": q("value")}, color=palette.FAINT.light)]
    if floor.low is not None:
        band = {"y": q("low"), "y2": {"field": "high"}}
        layers.insert(0, theme.marks("rect", rows, band, color=palette.LINE.light, opacity=0.5))
    return layers
