"""Which displayed position the judge leans to, item by item."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.report import palette
from judgelaw.report.figures import theme
from judgelaw.report.figures.theme import Spec, n, q

_BINS = 21
_EDGE = 1.05
"""An odd number of bins has one centred on no lean."""
_HEIGHT = 170


@dataclass(frozen=True, kw_only=True)
class Lean:
    """Mean lean over items, first minus second position, with its interval for items like these."""

    value: float
    low: float | None
    high: float | None
    label: str


def leans(items: NDArray[np.float64], mean: Lean, *, width: int) -> Spec:
    """Draw how many items lean how far to the answer shown first (right) or second (left)."""
    plot = width - 44
    scale = {"domain": [-_EDGE, _EDGE], "nice": False}
    axis = {
        "title": None,
        "values": [-1, -0.5, 0, 0.5, 1],
        "labelExpr": "datum.value ? format(datum.value, '+.1f') : '0'",
        "grid": False,
    }
    bars = {
        "x": q("start", scale=scale, axis=axis, bin="binned"),
        "x2": {"field": "end"},
        "y": q("items", title="items", axis={"tickCount": 4, "minExtent": 20}),
        "description": n("label"),
    }
    above: Spec = {"value": -12}
    dot = {"x": q("value", scale=scale), "y": above, "description": n("label")}
    green = palette.ORDER.light
    layers = [
        theme.zero("x"),
        theme.marks("bar", _bars(items), bars, color=green, opacity=0.55, binSpacing=1),
        theme.band(
            {"x": q("low", scale=scale), "x2": {"field": "high"}, "y": above},
            [asdict(mean)],
            color=green,
            strokeWidth=6,
        ),
        theme.marks("point", [asdict(mean)], dot, filled=True, size=90, opacity=1, color=green),
        *_ends(plot),
    ]  # fmt: skip - one layer an entry
    return theme.chart(theme.layer(layers, width=plot, height=_HEIGHT))


def _bars(items: NDArray[np.float64]) -> list[dict[str, Any]]:
    counts, edges = np.histogram(items, bins=_BINS, range=(-_EDGE, _EDGE))
    return [
        {
            "start": round(float(edges[i]), 6),
            "end": round(float(edges[i + 1]), 6),
            "items": int(count),
            "label": f"{count} item{'s' if count > 1 else ''} lean "
            f"{edges[i]:+.2f} to {edges[i + 1]:+.2f}",
        }
        for i, count in enumerate(counts)
        if count
    ]


def _ends(width: int) -> list[Spec]:
    """Say at either end which position it stands for."""
    muted = palette.MUTED.light
    tail = " is favoured" if width > theme.NARROW else ""
    ends = [(f"← second shown{tail}", "left", 0), (f"first shown{tail} →", "right", width)]
    return [
        theme.marks(
            "text",
            [{"text": text}],
            {"text": n("text"), "x": {"value": x}, "y": {"value": _HEIGHT + 34}},
            align=align,
            color=muted,
        )
        for text, align, x in ends
    ]  # fmt: skip - one layer an entry
