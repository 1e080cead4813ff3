import re
from xml.etree import ElementTree as ET

import pytest

from judgelaw.page import drawing
from judgelaw.page.drawing import clean, draw
from judgelaw.page.forest import Mark, forest
from judgelaw.page.sections.parts import Share, shares
from judgelaw.words import visible
from support.reports import HOSTILE

FORBIDDEN = re.compile(r"<script|<image|<foreignObject|\son\w+=|\shref|style=", re.IGNORECASE)


def mark(component: str = "prompt", **changes) -> Mark:
    values = {
        "name": component,
        "value": 0.01,
        "ring": 0.03,
        "band": (-0.01, 0.02),
        "line": (0.005, 0.015),
        "text": "0.0100",
        "label": f"{component}: 0.0100",
    }
    return Mark(**{**values, **changes})


def estimates(marks, width):
    return forest(marks, width=width, title="estimate")


def test_every_estimate_is_one_mark_that_says_its_value():
    drawn = draw(estimates([mark("call"), mark("prompt")], width=680), label="two components")
    labels = re.findall(r'class="mark"[^>]*', drawn.markup)
    assert len(labels) == 2
    assert 'aria-label="prompt: 0.0100"' in drawn.markup
    assert 'aria-label="two components"' in drawn.markup


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_labels_stay_text(text):
    drawn = draw(estimates([mark(label=visible(text), text=visible(text))], width=680), label="l")
    root = ET.fromstring(drawn.markup)  # noqa: S314 - what we drew ourselves
    labels = {element.get("aria-label") for element in root.iter()}
    assert visible(text) in labels
    assert {element.tag.split("}")[1] for element in root.iter()} <= {
        "svg", "g", "path", "line", "rect", "text",
    }  # fmt: skip
    stripped = re.sub(r'aria-label="[^"]*"|>[^<]*<', "", drawn.markup)
    assert not FORBIDDEN.search(stripped)


def test_elements_and_attributes_off_the_list_are_dropped():
    markup = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="4" height="4" onload="x()">'
        '<script>x()</script><foreignObject/><rect fill="#0072b2" style="fill:red" onclick="x()"/>'
        '<a href="javascript:x()"><text>t</text></a></svg>'
    )
    drawn = clean(markup, label="l", scope="c1-")
    assert not FORBIDDEN.search(drawn)
    assert '<rect fill="#0072b2" />' in drawn


def test_every_colour_of_a_chart_has_a_dark_counterpart():
    """A colour that is not in the palette would stay light on a dark page."""
    drawn = draw(
        shares(
            [
                Share(judge="j", component=c, width=w, text="t")
                for c, w in (("call", 0.8), ("prompt", 0.0), ("order", 0.2))
            ],
            width=680,
        ),
        label="l",
    )
    used = set(re.findall(r'(?:fill|stroke)="([^"]+)"', drawn.markup)) - {"none", "transparent"}
    assert used <= {colour.light for colour in drawing.COLOURS}


def test_drawings_in_one_page_share_no_id():
    one, other = (draw(estimates([mark()], width=680), label="x") for _ in range(2))
    ids = [set(re.findall(r'id="([^"]+)"', d.markup)) for d in (one, other)]
    assert not ids[0] & ids[1]
