"""Which prompts answer alike: unbiased squared distances between their laws."""

from collections.abc import Sequence
from dataclasses import dataclass

from judgelaw.report import palette
from judgelaw.report.figures import theme
from judgelaw.report.figures.theme import Spec, n, names, q

_LETTERED = 9
"""Up to so many prompts the figures fit into their squares."""
_SQUARE = 60
_LETTER = 6.4
_STRONG, _PALE = 0.8, 0.14
"""Opacity of the largest distance."""


@dataclass(frozen=True, kw_only=True)
class Distance:
    """Squared distance between the laws of two prompts; raw, so that it may be negative."""

    one: str
    other: str
    value: float
    text: str
    label: str


def distance_map(distances: Sequence[Distance], *, width: int, pale: bool = False) -> Spec:
    """Draw a map of prompts: the darker a square, the further apart the two laws.

    Distances that may all be noise are drawn pale: the eye must not find a pattern in them.
    """
    prompts = list(dict.fromkeys(d.one for d in distances))
    rows = _rows(distances, _PALE if pale else _STRONG)
    lettered = len(prompts) <= _LETTERED
    plot = min(width - theme.room_for(prompts) - 4, _SQUARE * len(prompts))
    square = plot / len(prompts)
    small = square < _SQUARE * 0.75
    upright = max(len(p) for p in prompts) * _LETTER > square
    top = {
        "labelColor": palette.INK.light,
        "grid": False,
        "orient": "top",
        "labelAngle": -90 if upright else 0,
        "labelLimit": 130,
        **({"minExtent": theme.room_for(prompts)} if upright else {}),
        "labelFontSize": 11 if lettered else 8,
    }
    x = n("other", sort=prompts, title=None, axis=top)
    y = names("one", prompts, labelFontSize=11 if lettered else 8)
    shade = {"fillOpacity": q("strength", scale=None), "description": n("label")}
    layers = [
        theme.marks(
            "rect",
            rows,
            {"x": x, "y": y, **shade},
            color=palette.PROMPT.light,
            stroke=palette.LINE.light,
            strokeWidth=0.5,
            cornerRadius=2,
        ),
    ]  # fmt: skip - one layer an entry
    if lettered:
        text = {"x": x, "y": y, "text": n("text")}
        layers.append(theme.marks("text", rows, text, fontSize=9 if small else 11))
    height = plot * (0.75 if lettered else 1)
    return theme.chart(theme.layer(layers, width=plot, height=height))


def _rows(distances: Sequence[Distance], strongest: float) -> list[Spec]:
    largest = max((d.value for d in distances), default=0.0)
    return [
        {
            "one": d.one,
            "other": d.other,
            "text": d.text,
            "label": d.label,
            "strength": 0.0 if largest <= 0 else max(0.0, d.value) / largest * strongest,
        }
        for d in distances
        if d.one != d.other
    ]
