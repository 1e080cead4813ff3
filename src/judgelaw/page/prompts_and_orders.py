"""The order effect with its direction, and the map of prompts: sections and figures."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.analysis import (
    JudgeAnalysis,
    OrderDirection,
    PromptDistances,
    PromptLean,
    position_choices,
)
from judgelaw.decide import PromptRow
from judgelaw.page import drawing
from judgelaw.page.component_figure import interval_text, short_label, unique_labels
from judgelaw.page.document import (
    Block,
    Folded,
    Inline,
    Part,
    Prose,
    Section,
    TableView,
    decimal,
    figure,
    finite,
    note,
    paragraph,
)
from judgelaw.page.drawing import Spec, n, names, q
from judgelaw.page.slots_and_factors import factor_blocks, slots
from judgelaw.tensor import VerdictTensor
from judgelaw.words import prompt_factors, visible

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
    ]
    if lettered:
        text = {"x": x, "y": y, "text": n("text")}
        layers.append(drawing.marks("text", rows, text, fontSize=9 if small else 11))
    height = plot * (0.5 if lettered else 1)
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
_HEIGHT = 120


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
        drawing.dots([asdict(mean)], dot, 90, color=green),
        *_ends(plot),
    ]
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
    ]


_REJECTED = 0.05


def distances(found: PromptDistances) -> list[Distance]:
    """Return the squared distance of every pair of prompts."""
    names, squared = unique_labels(_short(found.prompts)), found.squared.tolist()
    return [
        Distance(
            one=one,
            other=other,
            value=squared[i][j],
            text=decimal(squared[i][j], 3).text,
            label=f"{one} and {other}: squared distance {decimal(squared[i][j]).text}",
        )
        for i, one in enumerate(names)
        for j, other in enumerate(names)
    ]


def _short(prompts: Sequence[str]) -> list[str]:
    """Name prompts that cross factors by their levels alone."""
    if not prompt_factors(prompts):
        return [*prompts]
    return [", ".join(part.partition("=")[2] for part in prompt.split(",")) for prompt in prompts]


def told_apart(judge: JudgeAnalysis) -> bool:
    """Whether the shuffling test tells prompts apart, or was not made and so denies nothing."""
    test = judge.permutation.get("prompt")
    return test is None or finite(test.p) is None or test.p <= _REJECTED


def mean_lean(found: OrderDirection) -> Lean:
    """Return the mean lean to a displayed position."""
    low, high = found.band or (None, None)
    label = f"mean lean {decimal(found.lean, 3).text} {interval_text(found.band, 3)}"
    return Lean(value=found.lean, low=low, high=high, label=label.strip())


def item_leans(tensor: VerdictTensor) -> NDArray[np.float64] | None:
    """Return each item's share of first-shown minus second-shown choices; None if not known."""
    choices = position_choices(tensor)
    return None if choices is None else choices[:, 0] - choices[:, 1]


_LISTED = 12


def order(judge: Part[JudgeAnalysis], tensor: VerdictTensor, *, prefix: str = "") -> Section | None:
    """Return which displayed position is favoured; None where positions are not known."""
    found = judge.known(lambda j: j.order_direction)
    items = item_leans(tensor)
    if found is None or items is None:
        return slots(judge, prefix=prefix)
    mean = mean_lean(found.value)
    drawn = figure(
        "order",
        lambda width: leans(items, mean, width=width),
        label=f"Items by their lean to the first or second shown answer; {mean.label}",
        caption=(
            "Items by lean: the share of calls for the answer shown first minus that for the "
            "one shown second, over both orders. The dot above is the mean with its interval "
            "for items like these."
        ),
    )
    return Section(
        id=f"{prefix}order",
        title="Does the position decide?",
        blocks=(
            paragraph(*_direction(found)),
            drawn,
            *_prompt_leans(judge),
            note(
                "The order component counts every dependence on order. The lean is its part that "
                "goes one way; an item can depend on order with no lean on average."
            ),
        ),
    )


def _direction(found: Part[OrderDirection]) -> Inline:
    words = {
        "first": "The answer shown first is favoured",
        "second": "The answer shown second is favoured",
    }.get(found.value.favoured, "Neither position is shown to be favoured")
    return (
        f"{words}: ",
        found.percent(lambda x: x.first, 1),
        " of calls chose the first, ",
        found.percent(lambda x: x.second, 1),
        " the second, a lean of ",
        found.decimal(lambda x: x.lean, 3),
        " ",
        *found.interval(lambda x: x.band, 3),
        " for items like these.",
    )


def _prompt_leans(judge: Part[JudgeAnalysis]) -> tuple[Block, ...]:
    """Show how far each prompt leans to a position, many of them closed; nothing for one prompt."""
    found = judge.at(lambda j: j.prompt_leans).entries()
    if len(found) <= 1:
        return ()
    table = TableView(
        columns=("Prompt", "Lean", "All prompts together", "Shown to lean to"),
        rows=tuple(map(_lean_row, found)),
        caption=(
            "Lean of each prompt on these items: above 0 to the answer shown first. The intervals "
            "hold for all prompts together"
        ),
        name="prompt_leans",
        beside=len(found) <= _LISTED,
    )
    return _folded(table, f"The lean of each of {len(found)} prompts")


def _lean_row(lean: Part[PromptLean]) -> tuple[Inline, ...]:
    side = "first" if lean.value.lean > 0 else "second"
    return (
        (visible(lean.value.prompt),),
        (lean.decimal(lambda x: x.lean, 3),),
        lean.interval(lambda x: x.interval, 3),
        (side if lean.value.shown else "neither",),
    )


def _folded(table: TableView, summary: str) -> tuple[Block, ...]:
    """Show a table, closed until asked for where it is long."""
    long = len(table.rows) > _LISTED
    return (Folded(summary=summary, blocks=(table,)) if long else table,)


def prompts(
    judge: Part[JudgeAnalysis], openings: Mapping[str, str] | None = None, *, prefix: str = ""
) -> Section | None:
    """Return which prompts answer alike, and how each begins; None with one prompt."""
    found = judge.known(lambda j: j.prompt_distances)
    if found is None:
        return None
    pairs = distances(found.value)
    pale = not told_apart(judge.value)
    drawn = figure(
        "prompts",
        lambda width: distance_map(pairs, width=width, pale=pale),
        label=f"Squared distances between the laws of {len({d.one for d in pairs})} prompts",
        caption=(
            "Unbiased squared distance between the verdict laws of two prompts, mean over "
            "items. Half their weighted mean is the prompt component. Negative: too near to "
            "tell."
        ),
    )
    return Section(
        id=f"{prefix}prompts",
        title="Which prompts answer alike",
        blocks=(
            *factor_blocks(judge),
            _not_told_apart(judge) if pale else _furthest(found),
            drawn,
            *_each_prompt(judge, openings or {}),
        ),
    )


def _not_told_apart(judge: Part[JudgeAnalysis]) -> Prose:
    test = judge.known(lambda j: j.permutation["prompt"])
    return paragraph(
        "No pair is told apart from the others by these calls: shuffling calls between prompts "
        "gives distances as large as these by chance (p = ",
        *((test.p_value(lambda t: t.p),) if test else ()),
        "). Do not read a pattern into the map.",
    )


_FIGURES: tuple[tuple[str, Callable[[PromptRow], float], int], ...] = (
    ("Noise", lambda row: row.call, 3),
    ("Invalid", lambda row: row.invalid, 3),
    ("Lean", lambda row: row.lean, 1),
    ("Accuracy", lambda row: row.accuracy, 3),
    ("Distance", lambda row: row.distance, 3),
)


def _each_prompt(judge: Part[JudgeAnalysis], openings: Mapping[str, str]) -> tuple[Block, ...]:
    """Show what each prompt is like, how it begins, and whether to keep it; many of them closed."""
    found = judge.at(lambda j: j.by_prompt).entries()
    worded = any(row.value.prompt in openings for row in found)
    figures = [
        (heading, get, digits)
        for heading, get, digits in _FIGURES
        if any(finite(get(row.value)) is not None for row in found)
    ]
    rows = tuple(
        (
            (visible(row.value.prompt),),
            *(((visible(openings.get(row.value.prompt, "")),),) if worded else ()),
            *((row.decimal(get, digits),) for _, get, digits in figures),
            ("yes" if row.value.keep else "no",),
        )
        for row in found
    )
    table = TableView(
        columns=(
            "Prompt",
            *(("First words",) if worded else ()),
            *(heading for heading, _, _ in figures),
            "Keep",
        ),
        rows=rows,
        caption=_meaning([heading for heading, _, _ in figures], judge.value),
        name="by_prompt",
    )
    return _folded(table, f"What each of {len(rows)} prompts is like")


_MEANINGS = {
    "Noise": "how often two of its calls differ",
    "Lean": "to the answer shown first, points of 100",
    "Distance": "from the mean of all prompts",
    "Keep": "no other is shown to be better, on items like these",
}


def _meaning(headings: Sequence[str], judge: JudgeAnalysis) -> str:
    """Say what the columns that are there mean; noise of scores is in the unit of components."""
    meanings = dict(_MEANINGS)
    if judge.scores is not None and judge.scores.dissimilarity != "nominal":
        meanings["Noise"] = "how far two of its calls are apart, in the unit of the components"
    shown = [heading for heading in (*headings, "Keep") if heading in meanings]
    return ". ".join(f"{heading}: {meanings[heading]}" for heading in shown)


def _furthest(found: Part[PromptDistances]) -> Prose:
    names, squared = found.value.prompts, found.value.squared
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    i, j = max(pairs, key=lambda pair: float(squared[pair]))
    distance = found.at(lambda d: d.squared).cell(i, j)
    return paragraph(
        f"Furthest apart are {short_label(names[j])} and {short_label(names[i])}, at ",
        decimal(distance.value, where=distance.path),
        ".",
    )
