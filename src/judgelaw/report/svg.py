"""From a chart to an SVG that is safe inside a page, small, and walkable by keyboard.

vl-convert draws it; here everything that is not on a short list of elements and attributes is
dropped, so that whatever a label holds, nothing in a chart can run or fetch.
"""

import itertools
import re
from dataclasses import dataclass
from xml.etree import ElementTree as ET

from judgelaw.report.figures.theme import Spec

_SVG = "http://www.w3.org/2000/svg"
_ELEMENTS = {"svg", "g", "path", "line", "rect", "text", "tspan", "circle", "clipPath", "defs"}
_ATTRIBUTES = {
    "viewBox",
    "width",
    "height",
    "x",
    "y",
    "x1",
    "y1",
    "x2",
    "y2",
    "d",
    "r",
    "cx",
    "cy",
    "transform",
    "fill",
    "stroke",
    "opacity",
    "fill-opacity",
    "stroke-opacity",
    "stroke-width",
    "stroke-dasharray",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-miterlimit",
    "text-anchor",
    "font-family",
    "font-size",
    "font-weight",
    "font-style",
    "dx",
    "dy",
    "role",
    "aria-label",
    "aria-hidden",
    "class",
    "clip-path",
    "id",
}  # fmt: skip - read as families
_LONG_FRACTION = re.compile(r"(-?\d+\.\d{2})\d+")
_charts = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Svg:
    """A drawing.

    Attributes:
        markup: the `<svg>` element, clean.
        marks: how many marks carry a label of their own.
        width, height: its natural size in pixels.
    """

    markup: str
    marks: int
    width: float
    height: float


def draw(chart: Spec, *, label: str) -> Svg:
    """Draw a chart for a page; `label` says in one line what it shows."""
    import vl_convert as vlc  # noqa: PLC0415 - loads 30 MB, only where something is drawn

    return clean(vlc.vegalite_to_svg(chart), label=label)


def clean(markup: str, *, label: str) -> Svg:
    """Keep what a static drawing needs: known elements, known attributes, labelled marks."""
    root = ET.fromstring(markup)  # noqa: S314 - written by vl-convert a moment ago
    scope = f"c{next(_charts)}-"
    _tidy(root, scope)
    marks = 0
    for element in root.iter():
        if "aria-label" in element.attrib and element.tag != "svg":
            element.set("class", "mark")
            element.set("role", "img")
            marks += 1
    width, height = (float(root.get(side, "0")) for side in ("width", "height"))
    root.set("class", "chart")
    root.set("role", "group" if marks else "img")
    root.set("aria-label", label)
    text = ET.tostring(root, encoding="unicode", short_empty_elements=True)
    return Svg(
        markup=text.replace("<svg", f'<svg xmlns="{_SVG}"', 1),
        marks=marks,
        width=width,
        height=height,
    )


def _tidy(element: ET.Element, scope: str) -> None:
    """Drop foreign parts, empty scaffolding and axis descriptions; shorten coordinates."""
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
    """Tell scaffolding that paints nothing: hidden labels, unpainted backgrounds."""
    if element.get("opacity") == "0" or element.get("display") == "none":
        return True
    kind = element.get("class", "").split(" ")[0]
    painted = element.get("fill") not in {None, "none"} or element.get("stroke") not in {
        None,
        "none",
        "transparent",
    }
    return kind in {"background", "foreground"} and not painted
