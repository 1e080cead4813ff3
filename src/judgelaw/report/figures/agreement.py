"""Does the judge drift: agreement of two calls of one cell, by how far apart they were made."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from judgelaw.report import palette
from judgelaw.report.figures import theme
from judgelaw.report.figures.theme import Spec, n, q


@dataclass(frozen=True, kw_only=True)
class Gap:
    """Agreement of call pairs that lie one gap apart."""

    gap: float
    agreement: float
    low: float | None
    high: float | None
    label: str


def by_gap(gaps: Sequence[Gap], *, width: int, title: str) -> Spec:
    """Draw agreement against the gap; a judge that does not drift gives a level line."""
    rows = [asdict(g) for g in gaps]
    blue = palette.CALL.light
    axis = {"title": title, "grid": False, "values": [g.gap for g in gaps]}
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
        theme.marks("point", rows, dot, filled=True, size=60, opacity=1, color=blue),
    ]  # fmt: skip - one layer an entry
    return theme.chart(theme.layer(layers, width=width - 56, height=150))
