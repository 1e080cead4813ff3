"""How charts look and are drawn: one theme, one palette, SVG that is safe in a page.

Charts are Vega-Lite specifications as plain values, drawn by vl-convert in the light colours of
the Okabe-Ito set, which stays apart under every common colour blindness. The page repaints them by
attribute (`[fill="#0072b2"]`) from CSS variables, so that one SVG serves light, dark and print,
and stands alone in a paper.

Everything in a drawing that is not on a short list of elements and attributes is dropped, so that
whatever a label holds, nothing in a chart can run or fetch.
"""

import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from xml.etree import ElementTree as ET

from judgelaw.blocks import Spec
from judgelaw.processes import begin, shared


@dataclass(frozen=True, kw_only=True)
class Colour:
    """The colour of one role on a white page and on a dark one."""

    role: str
    light: str
    dark: str


INK = Colour(role="ink", light="#1d1f21", dark="#e9e7e3")
MUTED = Colour(role="muted", light="#666a6f", dark="#a3a7ad")
FAINT = Colour(role="faint", light="#a4a8ad", dark="#6c7178")
LINE = Colour(role="line", light="#dcdfe3", dark="#363b42")
PAPER = Colour(role="paper", light="#ffffff", dark="#15181c")
CALL = Colour(role="call", light="#0072b2", dark="#56a8e0")
PROMPT = Colour(role="prompt", light="#d55e00", dark="#f38b4a")
ORDER = Colour(role="order", light="#009e73", dark="#35c79b")
INTERACTION = Colour(role="interaction", light="#cc79a7", dark="#e39cc4")
FIRST = Colour(role="first", light="#56b4e9", dark="#6fc3f2")
SECOND = Colour(role="second", light="#e69f00", dark="#f0b52e")
TIE = Colour(role="tie", light="#b3b7bc", dark="#8b9097")
INVALID = Colour(role="invalid", light="#4a4e54", dark="#d6d3cd")

SCORES = (
    Colour(role="score-1", light="#b35806", dark="#d9772b"),
    Colour(role="score-2", light="#e08214", dark="#eea24a"),
    Colour(role="score-3", light="#fdb863", dark="#f9cc8f"),
    Colour(role="score-4", light="#c9ccd1", dark="#848a91"),
    Colour(role="score-5", light="#92c5de", dark="#a9d3e8"),
    Colour(role="score-6", light="#4393c3", dark="#67add6"),
    Colour(role="score-7", light="#2166ac", dark="#4a8fd0"),
)
"""Scores from low to high, told apart by who sees no red or green."""

COLOURS = (
    INK, MUTED, FAINT, LINE, PAPER,
    CALL, PROMPT, ORDER, INTERACTION,
    FIRST, SECOND, TIE, INVALID,
    *SCORES,
)  # fmt: skip
COMPONENT = {
    "call": CALL.light,
    "prompt": PROMPT.light,
    "order": ORDER.light,
    "interaction": INTERACTION.light,
    "total": INK.light,
}
_VERDICT = {"candidate_1": FIRST, "candidate_2": SECOND, "tie": TIE, "invalid": INVALID}
# other alphabets take these in turn, after the colours that the usual verdicts own
_OTHER = (FIRST, SECOND, ORDER, INTERACTION, CALL, PROMPT, TIE, FAINT)
SERIES = (CALL, PROMPT, ORDER, INTERACTION, FIRST, SECOND)


def verdict_colours(verdicts: Sequence[str]) -> dict[str, str]:
    """Give each verdict of an alphabet its colour; `invalid` is dark in all of them."""
    return {v: colour.light for v, colour in zip(verdicts, _of_verdicts(verdicts), strict=True)}


def verdict_roles(verdicts: Sequence[str]) -> list[str]:
    """Give each verdict of an alphabet the name of its colour."""
    return [colour.role for colour in _of_verdicts(verdicts)]


def series(size: int) -> list[Colour]:
    """Return colours of lines or dots of several kinds, in turn where there are many."""
    return [SERIES[i % len(SERIES)] for i in range(size)]


def _of_verdicts(verdicts: Sequence[str]) -> list[Colour]:
    if (scores := _scores(verdicts)) is not None:
        steps = max(1, len(scores) - 1)
        rank = {v: SCORES[round(i * (len(SCORES) - 1) / steps)] for i, v in enumerate(scores)}
        return [rank.get(v, INVALID) for v in verdicts]
    spare = iter([c for c in _OTHER if c not in {_VERDICT[v] for v in verdicts if v in _VERDICT}])
    return [_VERDICT[v] if v in _VERDICT else next(spare, FAINT) for v in verdicts]


def _scores(verdicts: Sequence[str]) -> list[str] | None:
    """Return verdicts that are numbers from low to high, None where one is none."""
    try:
        return sorted((v for v in verdicts if v != INVALID.role), key=float) or None
    except ValueError:
        return None


def stylesheet() -> str:
    """Declare every colour for light, dark and print, and repaint charts with them."""
    light = _variables("light")
    dark = _variables("dark")
    paint = "".join(
        f'svg.chart [{what}="{c.light}"]{{{what}:var(--{c.role})}}'
        for c in COLOURS
        for what in ("fill", "stroke")
    )
    roles = "".join(
        f".r-{c.role}{{background:var(--{c.role});fill:var(--{c.role})}}" for c in COLOURS
    )
    return (
        f":root{{color-scheme:light dark;{light}}}"
        f"@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}"
        f"{paint}{roles}"
    )


def _variables(scheme: str) -> str:
    return "".join(f"--{c.role}:{getattr(c, scheme)};" for c in COLOURS)


"""A Vega-Lite specification, or a part of one."""

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Liberation Sans', Helvetica, sans-serif"
WIDE = 680
NARROW = 330
COLUMN = 252
"""Width of one column of a two-column paper, in points."""

_LETTER = 7.1
"""Widest mean width of a letter at 11 px among system fonts: labels keep this much room."""
_INK, _MUTED, _LINE = INK.light, MUTED.light, LINE.light
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
    # Numbers are never cut short, so none is measured for that: a sixth of the time of drawing.
    "axisQuantitative": {"labelLimit": 0},
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
    """Return a finished chart in the look that all charts share."""
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


def dots(
    rows: Iterable[Mapping[str, Any]], encoding: Mapping[str, Any], size: float, **style: Any
) -> Spec:
    """Return estimates as full points."""
    return marks("point", rows, encoding, filled=True, opacity=1, size=size, **style)


def rings(rows: Iterable[Mapping[str, Any]], encoding: Mapping[str, Any]) -> Spec:
    """Return plug-in estimates as points that are empty inside."""
    style = {"strokeWidth": 1.5, "stroke": MUTED.light, "color": PAPER.light}
    return dots(rows, encoding, 46, **style)


def by_repeats(depths: Sequence[int], padding: int) -> Spec:
    """Return the channel of repeats per cell, by powers of two."""
    title = "repeats per cell, R"
    axis = {"title": title, "values": list(depths), "grid": False, "format": "d"}
    scale = {"type": "log", "base": 2, "nice": False, "padding": padding}
    return q("repeats", axis=axis, scale=scale)


def stacked(parts: Iterable[tuple[float, Mapping[str, Any]]]) -> list[Spec]:
    """Lay parts of a bar end to end, given their widths; one without a width is not drawn."""
    bars: list[Spec] = []
    start = 0.0
    for width, row in parts:
        if width > 0:
            end = start + width
            bars.append({**row, "start": start, "end": end, "middle": (start + end) / 2})
            start = end
    return bars


def layer(layers: Sequence[Spec], **size: Any) -> Spec:
    """Return layers of marks, drawn one over the other."""
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
    return marks("rule", [{"zero": 0}], {channel: q("zero")}, color=FAINT.light)


def band(encoding: Mapping[str, Any], rows: Iterable[Mapping[str, Any]], **style: Any) -> Spec:
    """Return intervals as soft thick strokes from `low` to `high`."""
    look = {"strokeWidth": 7, "opacity": 0.28, "strokeCap": "round", **style}
    return marks("rule", rows, encoding, **look)


_SVG = "http://www.w3.org/2000/svg"
_ELEMENTS = {"svg", "g", "path", "line", "rect", "text", "tspan", "circle", "clipPath", "defs"}
_ATTRIBUTES = {
    "viewBox", "width", "height", "x", "y", "x1", "y1", "x2", "y2", "dx", "dy", "cx", "cy",
    "d", "r", "transform", "id", "class", "clip-path", "role", "aria-label", "aria-hidden",
    "fill", "fill-opacity", "opacity", "stroke", "stroke-opacity", "stroke-width",
    "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "stroke-miterlimit",
    "text-anchor", "font-family", "font-size", "font-weight", "font-style",
}  # fmt: skip
_LONG_FRACTION = re.compile(r"(-?\d+\.\d{2})\d+")
_charts = itertools.count(1)


@dataclass(frozen=True, kw_only=True, eq=False)
class Svg:
    """A drawing that may still be under way: whoever reads its markup waits for it.

    Attributes:
        drawn: gives what the drawing engine wrote.
        label: says in one line what the chart shows.
        scope: tells the names in this drawing from those in others.
    """

    drawn: Callable[[], str]
    label: str
    scope: str

    @cached_property
    def markup(self) -> str:
        """The `<svg>` element, clean."""
        return clean(self.drawn(), label=self.label, scope=self.scope)


def start_drawing() -> None:
    """Start the drawing engine in every process that waits for work: that takes half a second."""
    for _ in range(shared()):
        begin(_drawn, chart(marks("point", [], {})))


def draw(chart: Spec, *, label: str) -> Svg:
    """Draw a chart for a page; `label` says in one line what it shows."""
    return Svg(drawn=begin(_drawn, chart), label=label, scope=f"c{next(_charts)}-")


def _drawn(chart: Spec) -> str:
    import vl_convert as vlc  # noqa: PLC0415 - loads 30 MB, only where something is drawn

    markup: str = vlc.vegalite_to_svg(chart)
    return markup


def clean(markup: str, *, label: str, scope: str) -> str:
    """Keep what a static drawing needs: known elements, known attributes, labelled marks."""
    root = ET.fromstring(markup)  # noqa: S314 - written by vl-convert a moment ago
    _tidy(root, scope)
    marks = [e for e in root.iter() if "aria-label" in e.attrib and e.tag != "svg"]
    for mark in marks:
        mark.set("class", "mark")
        mark.set("role", "img")
    root.set("class", "chart")
    root.set("role", "group" if marks else "img")
    root.set("aria-label", label)
    text = ET.tostring(root, encoding="unicode", short_empty_elements=True)
    return text.replace("<svg", f'<svg xmlns="{_SVG}"', 1)


def _tidy(element: ET.Element, scope: str) -> None:
    """Drop foreign elements, those that paint nothing, and names of axes; shorten coordinates."""
    element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
    is_data = element.get("aria-roledescription") not in {"axis", "legend", "group mark container"}
    for name in list(element.attrib):
        if name not in _ATTRIBUTES or _is_noise(name, element):
            del element.attrib[name]
    if not is_data or element.get("role") == "graphics-object":
        element.attrib.pop("aria-label", None)
        element.attrib.pop("role", None)
    for name, value in element.attrib.items():
        element.set(name, _rewritten(name, value, scope))
    for child in list(element):
        if child.tag.removeprefix(f"{{{_SVG}}}") not in _ELEMENTS or _is_empty(child):
            element.remove(child)
        else:
            _tidy(child, scope)
            if child.tag == "g" and len(child) == 0:
                element.remove(child)


def _rewritten(name: str, value: str, scope: str) -> str:
    if name in {"d", "transform", "x", "y", "x2", "y2"}:
        return _LONG_FRACTION.sub(r"\1", value)
    if name == "id":
        return scope + value
    if name == "clip-path":
        return value.replace("url(#", f"url(#{scope}")
    return value


def _is_noise(name: str, element: ET.Element) -> bool:
    defaults = {"opacity": "1", "fill-opacity": "1", "font-weight": "normal", "aria-hidden": "true"}
    return name == "class" or element.get(name) == defaults.get(name)


def _is_empty(element: ET.Element) -> bool:
    """Whether an element paints nothing: a hidden label, or a background without a colour."""
    if element.get("opacity") == "0" or element.get("display") == "none":
        return True
    kind = element.get("class", "").split(" ")[0]
    unpainted = {None, "none", "transparent"}
    painted = not unpainted >= {element.get("fill"), element.get("stroke")}
    return kind in {"background", "foreground"} and not painted
