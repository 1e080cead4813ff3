"""One look for every chart, and the few words in which charts are written.

Charts are Vega-Lite specifications as plain values: altair takes and checks each of them
(`alt.Chart.from_dict`), but building them through its objects cost more than drawing them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from judgelaw.report import palette

Spec = dict[str, Any]
"""A Vega-Lite specification, or a part of one."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Helvetica, sans-serif"
WIDE = 680
NARROW = 330
COLUMN = 252
"""Width of one column of a two-column paper, in points."""

_LETTER = 7.1
"""Widest mean width of a letter at 11 px among system fonts: labels keep this much room."""
_INK, _MUTED, _LINE = palette.INK.light, palette.MUTED.light, palette.LINE.light
_SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"
_CONFIG: Spec = {
    "font": FONT,
    "view": {"stroke": None},
    "axis": {
        "domain": False,
        "ticks": False,
        "gridColor": _LINE,
        "labelColor": _MUTED,
        "titleColor": _MUTED,
        "labelFontSize": 11,
        "titleFontSize": 11,
        "titleFontWeight": "normal",
        "labelPadding": 6,
        "titlePadding": 8,
        "labelLimit": 220,
    },
    "title": {
        "color": _INK,
        "fontSize": 12,
        "fontWeight": 600,
        "anchor": "start",
        "frame": "group",
    },
    "text": {"color": _INK, "fontSize": 11},
    "concat": {"spacing": 28},
}


def chart(body: Mapping[str, Any]) -> Spec:
    """Dress a finished chart."""
    return {
        "$schema": _SCHEMA,
        "background": "transparent",
        "padding": 1,
        "config": _CONFIG,
        **body,
    }


def marks(
    kind: str, rows: Iterable[Mapping[str, Any]], encoding: Mapping[str, Any], **style: Any
) -> Spec:
    """Return one layer. Marks say nothing to a screen reader unless they have a description."""
    return {
        "data": {"values": list(rows)},
        "mark": {"type": kind, "aria": "description" in encoding, **style},
        "encoding": dict(encoding),
    }


def layer(layers: Sequence[Spec], **size: Any) -> Spec:
    """Lay marks over each other."""
    return {"layer": list(layers), **size}


def q(field: str, **options: Any) -> Spec:
    """Return a quantitative channel."""
    return {"field": field, "type": "quantitative", **options}


def n(field: str, **options: Any) -> Spec:
    """Return a nominal channel."""
    return {"field": field, "type": "nominal", **options}


def names(field: str, order: Sequence[str], **axis: Any) -> Spec:
    """Return a y channel of names, in the given order, with room for the longest."""
    room = room_for(order) - 8
    style: Spec = {"grid": False, "labelColor": _INK, "minExtent": room, "labelLimit": room, **axis}
    return n(field, sort=list(order), title=None, axis=style)


def room_for(labels: Iterable[str]) -> int:
    """Return the width that names at the left of a chart take."""
    return int(min(178.0, _LETTER * max((len(text) for text in labels), default=1) + 16))


def painted(field: str = "colour") -> Spec:
    """Return a colour channel whose values are colours."""
    return n(field, scale=None, legend=None)


def zero(channel: str) -> Spec:
    """Return the line at zero, which negative estimates cross."""
    return marks("rule", [{"zero": 0}], {channel: q("zero")}, color=palette.FAINT.light)


def band(encoding: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], **style: Any) -> Spec:
    """Return intervals as soft thick strokes from `low` to `high`."""
    look = {"strokeWidth": 7, "opacity": 0.28, "strokeCap": "round", **style}
    return marks("rule", rows, encoding, **look)
