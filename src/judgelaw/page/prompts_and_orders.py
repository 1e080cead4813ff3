"""The order effect with its direction, and the map of prompts: sections and figures."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.analysis import position_choices
from judgelaw.page import drawing
from judgelaw.page.component_figure import _interval, short_label, unique_labels
from judgelaw.page.document import (
    Block,
    FigureView,
    Folded,
    Inline,
    Prose,
    Section,
    Source,
    TableView,
    note,
    paragraph,
)
from judgelaw.page.drawing import Spec, draw, n, names, q
from judgelaw.tensor import VerdictTensor
from judgelaw.words import visible

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
    plot = min(width - drawing.room_for(prompts) - 4, _SQUARE * len(prompts))
    square = plot / len(prompts)
    small = square < _SQUARE * 0.75
    upright = max(len(p) for p in prompts) * _LETTER > square
    top = {
        "labelColor": drawing.INK.light,
        "grid": False,
        "orient": "top",
        "labelAngle": -90 if upright else 0,
        "labelLimit": 130,
        **({"minExtent": drawing.room_for(prompts)} if upright else {}),
        "labelFontSize": 11 if lettered else 8,
    }
    x = n("other", sort=prompts, title=None, axis=top)
    y = names("one", prompts, labelFontSize=11 if lettered else 8)
    shade = {"fillOpacity": q("strength", scale=None), "description": n("label")}
    layers = [
        drawing.marks(
            "rect",
            rows,
            {"x": x, "y": y, **shade},
            color=drawing.PROMPT.light,
            stroke=drawing.LINE.light,
            strokeWidth=0.5,
            cornerRadius=2,
        ),
    ]  # fmt: skip - one layer an entry
    if lettered:
        text = {"x": x, "y": y, "text": n("text")}
        layers.append(drawing.marks("text", rows, text, fontSize=9 if small else 11))
    height = plot * (0.75 if lettered else 1)
    return drawing.chart(drawing.layer(layers, width=plot, height=height))


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
    green = drawing.ORDER.light
    layers = [
        drawing.zero("x"),
        drawing.marks("bar", _bars(items), bars, color=green, opacity=0.55, binSpacing=1),
        drawing.band(
            {"x": q("low", scale=scale), "x2": {"field": "high"}, "y": above},
            [asdict(mean)],
            color=green,
            strokeWidth=6,
        ),
        drawing.marks("point", [asdict(mean)], dot, filled=True, size=90, opacity=1, color=green),
        *_ends(plot),
    ]  # fmt: skip - one layer an entry
    return drawing.chart(drawing.layer(layers, width=plot, height=_HEIGHT))


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
    muted = drawing.MUTED.light
    tail = " is favoured" if width > drawing.NARROW else ""
    ends = [(f"← second shown{tail}", "left", 0), (f"first shown{tail} →", "right", width)]
    return [
        drawing.marks(
            "text",
            [{"text": text}],
            {"text": n("text"), "x": {"value": x}, "y": {"value": _HEIGHT + 34}},
            align=align,
            color=muted,
        )
        for text, align, x in ends
    ]  # fmt: skip - one layer an entry


_REJECTED = 0.05


def distances(judge: Source) -> list[Distance]:
    """Return the squared distance of every pair of prompts."""
    found = judge.at("prompt_distances")
    names = unique_labels(found.value("prompts"))
    return [
        Distance(
            one=one,
            other=other,
            value=found.value("squared", i, j),
            text=found.decimal("squared", i, j, digits=3).text,
            label=f"{one} and {other}: squared distance {found.decimal('squared', i, j).text}",
        )
        for i, one in enumerate(names)
        for j, other in enumerate(names)
    ]


def told_apart(judge: Source) -> bool:
    """Whether the shuffling test tells prompts apart, or was not made and so denies nothing."""
    p = judge.value("permutation", "prompt", "p")
    return p is None or p <= _REJECTED


def mean_lean(judge: Source) -> Lean:
    """Return the mean lean to a displayed position."""
    found = judge.at("order_direction")
    low, high = found.value("band") or (None, None)
    lean = found.decimal("lean", digits=3)
    return Lean(
        value=found.value("lean"),
        low=low,
        high=high,
        label=f"mean lean {lean.text} {_interval(found, 'band', 3)}".strip(),
    )


def item_leans(tensor: VerdictTensor) -> NDArray[np.float64] | None:
    """Return each item's share of first-shown minus second-shown choices; None if not known."""
    choices = position_choices(tensor)
    return None if choices is None else choices[:, 0] - choices[:, 1]


_LISTED = 12


def order(judge: Source, tensor: VerdictTensor, *, prefix: str = "") -> Section | None:
    """Return which displayed position is favoured; None where positions are not known."""
    found = judge.at("order_direction")
    items = item_leans(tensor)
    if not found.known or items is None:
        return None
    mean = mean_lean(judge)
    label = f"Items by their lean to the first or second shown answer; {mean.label}"
    wide, narrow = (
        draw(leans(items, mean, width=w), label=label) for w in (drawing.WIDE, drawing.NARROW)
    )
    figure = FigureView(
        name="order",
        caption=(
            (
                "Items by lean: the share of calls for the answer shown first minus that for the "
                "one shown second, over both orders. The dot above is the mean with its interval "
                "for items like these."
            ),
        ),
        wide=wide,
        narrow=narrow,
    )
    return Section(
        id=f"{prefix}order",
        title="Does the position decide?",
        blocks=(
            paragraph(*_direction(found)),
            figure,
            *_prompt_leans(judge),
            note(
                "The order component counts every dependence on order. The lean is its part that "
                "goes one way; an item can depend on order with no lean on average."
            ),
        ),
    )


def _direction(found: Source) -> Inline:
    favoured = found.text("favoured")
    words = {
        "first": "The answer shown first is favoured",
        "second": "The answer shown second is favoured",
    }.get(favoured, "Neither position is shown to be favoured")
    return (
        f"{words}: ",
        found.percent("first", digits=1),
        " of calls chose the first, ",
        found.percent("second", digits=1),
        " the second, a lean of ",
        found.decimal("lean", digits=3),
        " ",
        *found.interval("band", digits=3),
        " for items like these.",
    )


def _prompt_leans(judge: Source) -> tuple[Block, ...]:
    """Show how far each prompt leans to a position, many of them closed; nothing for one prompt."""
    found = judge.at("prompt_leans")
    names = [x["prompt"] for x in found.document or ()]
    if len(names) <= 1:
        return ()
    rows = tuple(
        (
            (visible(name),),
            (found.decimal(k, "lean", digits=3),),
            found.interval(k, "interval", digits=3),
            (_side(found.at(k)),),
        )
        for k, name in enumerate(names)
    )
    table = TableView(
        columns=("Prompt", "Lean", "All prompts together", "Shown to lean to"),
        rows=rows,
        caption=(
            "Lean of each prompt on these items: above 0 to the answer shown first. The intervals "
            "hold for all prompts together"
        ),
        name="prompt_leans",
    )
    if len(rows) <= _LISTED:
        return (table,)
    return (Folded(summary=f"The lean of each of {len(rows)} prompts", blocks=(table,)),)


def _side(lean: Source) -> str:
    if not lean.value("shown"):
        return "neither"
    return "first" if lean.value("lean") > 0 else "second"


def prompts(
    judge: Source, openings: Mapping[str, str] | None = None, *, prefix: str = ""
) -> Section | None:
    """Return which prompts answer alike, and how each begins; None with one prompt."""
    if not judge.at("prompt_distances").known:
        return None
    found = distances(judge)
    names = {d.one for d in found}
    label = f"Squared distances between the laws of {len(names)} prompts"
    pale = not told_apart(judge)
    wide, narrow = (
        draw(distance_map(found, width=w, pale=pale), label=label)
        for w in (drawing.WIDE, drawing.NARROW)
    )
    figure = FigureView(
        name="prompts",
        caption=(
            (
                "Unbiased squared distance between the verdict laws of two prompts, mean over "
                "items. Half their weighted mean is the prompt component. Negative: too near to "
                "tell."
            ),
        ),
        wide=wide,
        narrow=narrow,
    )
    said = _not_told_apart(judge) if pale else _furthest(judge)
    return Section(
        id=f"{prefix}prompts",
        title="Which prompts answer alike",
        blocks=(said, figure, *_wording(judge, openings or {})),
    )


def _not_told_apart(judge: Source) -> Prose:
    return paragraph(
        "No pair is told apart from the others by these calls: shuffling calls between prompts "
        "gives distances as large as these by chance (p = ",
        judge.p_value("permutation", "prompt", "p"),
        "). Do not read a pattern into the map.",
    )


def _wording(judge: Source, openings: Mapping[str, str]) -> tuple[Block, ...]:
    """Show how each prompt begins, where the study is known; many of them closed."""
    names = [n for n in judge.value("prompt_distances", "prompts") if n in openings]
    if not names:
        return ()
    rows = tuple(((visible(name),), (visible(openings[name]),)) for name in names)
    table = TableView(columns=("Prompt", "First words"), rows=rows, name="prompts")
    if len(rows) <= _LISTED:
        return (table,)
    return (Folded(summary=f"How {len(rows)} prompts begin", blocks=(table,)),)


def _furthest(judge: Source) -> Prose:
    found = judge.at("prompt_distances")
    names = found.value("prompts")
    squared = found.value("squared")
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    i, j = max(pairs, key=lambda pair: squared[pair[0]][pair[1]])
    return paragraph(
        f"Furthest apart are {short_label(names[j])} and {short_label(names[i])}, at ",
        found.decimal("squared", i, j),
        ".",
    )
