"""Does the judge drift: agreement of two calls of one cell, by how far apart they were made."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from judgelaw.report import palette
from judgelaw.report.figures import theme
from judgelaw.report.figures.theme import Spec, n, q

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
    return theme.chart({"concat": panels, "columns": columns, "spacing": 26})


def _panel(stream: Stream, width: int, title: str) -> Spec:
    rows = [asdict(g) for g in stream.gaps]
    blue = palette.CALL.light
    axis = {"title": title, "grid": False, "tickCount": min(8, len(rows)), "format": "~g"}
    x = q("gap", axis=axis, scale={"nice": False, "padding": 14, "zero": False})
    level = {"zero": False}
    dot = {
        "x": x,
        "y": q("agreement", title="agreement", axis={"tickCount": 4, "minExtent": 30}, scale=level),
        "description": n("label"),
    }
    layers = [
        theme.band(
            {"x": x, "y": q("low", scale=level), "y2": {"field": "high"}},
            rows,
            color=blue,
            strokeWidth=6,
        ),
        theme.marks("line", rows, {"x": x, "y": q("agreement")}, strokeWidth=1.4, color=blue),
        theme.marks("point", rows, dot, filled=True, size=50, opacity=1, color=blue),
    ]  # fmt: skip - one layer an entry
    name: Spec = {"title": {"text": stream.name, "limit": width}} if stream.name else {}
    return theme.layer(layers, width=width, height=130, **name)
