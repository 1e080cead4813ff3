"""How alike prompts answer: the map of their distances, and the factors that they cross."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan

from judgelaw.analysis import JudgeAnalysis, PromptDistances, factor_sentence
from judgelaw.blocks import Block, Figure, Paragraph, Spec, note, paragraph
from judgelaw.page import drawing
from judgelaw.page.drawing import n, names, q
from judgelaw.page.forest import Mark, forest
from judgelaw.page.quantity_table import quantity_table
from judgelaw.page.subject import Judge, Kind, short_label, unique_labels
from judgelaw.quantities import Components
from judgelaw.words import prompt_factors, visible

_LETTERED = 9
"""Up to so many prompts the figures fit into their squares."""
_SQUARE = 60
_LETTER = 6.4
_STRONG, _PALE = 0.8, 0.14
"""Opacity of the largest distance."""
_REJECTED = 0.05


@dataclass(frozen=True, kw_only=True)
class Distance:
    """Squared distance between the laws of two prompts; raw, so that it may be negative."""

    one: str
    other: str
    value: float
    text: str
    label: str


def similarity(judge: Judge) -> Sequence[Block] | None:
    """Return which prompts answer alike; None with one prompt."""
    found = judge.found.prompt_distances
    if found is None:
        return None
    pairs = distances(found)
    pale = not prompts_differ(judge.found)
    return (
        *_factors(judge),
        _not_told_apart(judge) if pale else _furthest(judge, found),
        Figure(
            name="prompts",
            chart=lambda width: distance_map(pairs, width=width, pale=pale),
            label=f"Squared distances between the laws of {len({d.one for d in pairs})} prompts",
            caption=(
                "Unbiased squared distance between the verdict laws of two prompts, mean over "
                "items. Half their weighted mean is the prompt component. Negative: too near to "
                "tell."
            ),
        ),
        *_keep(judge),
    )


def _keep(judge: Judge) -> Sequence[Block]:
    rows = judge.found.by_prompt
    kept = [visible(row.prompt) for row in rows if row.keep]
    if not 0 < len(kept) < len(rows):
        return ()
    listed = ", ".join(kept)
    return (
        note(f"No other prompt is shown to be better than these, on items like these: {listed}."),
    )


def prompts_differ(judge: JudgeAnalysis) -> bool:
    """Whether the permutation test tells prompts apart, or was not made and so denies nothing."""
    test = judge.permutation.get("prompt")
    return test is None or isnan(test.p) or test.p <= _REJECTED


def distances(found: PromptDistances) -> list[Distance]:
    """Return the squared distance of every pair of prompts."""
    labels, squared = unique_labels(_short(found.prompts)), found.squared.tolist()
    return [
        Distance(
            one=one,
            other=other,
            value=squared[i][j],
            text=f"{squared[i][j] + 0.0:.3f}",
            label=f"{one} and {other}: squared distance {squared[i][j]:.4f}",
        )
        for i, one in enumerate(labels)
        for j, other in enumerate(labels)
    ]


def _short(prompts: Sequence[str]) -> list[str]:
    """Name prompts that cross factors by their levels alone."""
    if not prompt_factors(prompts):
        return [*prompts]
    return [", ".join(part.partition("=")[2] for part in prompt.split(",")) for prompt in prompts]


def distance_map(found: Sequence[Distance], *, width: int, pale: bool = False) -> Spec:
    """Draw a map of prompts: the darker a square, the further apart the two laws.

    Distances that may all be noise are drawn pale: the eye must not find a pattern in them.
    """
    prompts = list(dict.fromkeys(d.one for d in found))
    rows = _rows(found, _PALE if pale else _STRONG)
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


def _rows(found: Sequence[Distance], strongest: float) -> list[Spec]:
    largest = max((d.value for d in found), default=0.0)
    return [
        {
            "one": d.one,
            "other": d.other,
            "text": d.text,
            "label": d.label,
            "strength": 0.0 if largest <= 0 else max(0.0, d.value) / largest * strongest,
        }
        for d in found
        if d.one != d.other
    ]


def _not_told_apart(judge: Judge) -> Paragraph:
    return paragraph(
        "No pair is told apart from the others by these calls: shuffling calls between prompts "
        "gives distances as large as these by chance (p = ",
        judge.place.value("permutation", "prompt", "p", form="p"),
        "). Do not read a pattern into the map.",
    )


def _furthest(judge: Judge, found: PromptDistances) -> Paragraph:
    prompts, squared = found.prompts, found.squared
    pairs = [(i, j) for i in range(len(prompts)) for j in range(i)]
    i, j = max(pairs, key=lambda pair: float(squared[pair]))
    return paragraph(
        f"Furthest apart are {short_label(prompts[j])} and {short_label(prompts[i])}, at ",
        judge.place.value("prompt_distances", "squared", i, j),
        ".",
    )


def _factors(judge: Judge) -> Sequence[Block]:
    """Show how the prompt component splits over factors; nothing where prompts cross none."""
    found, levels = judge.found.factors, judge.found.factor_levels
    if not found:
        return ()
    marks = factor_marks(found)
    place = judge.place.at("factors")
    rows = [
        ((visible(name), ", ".join(map(visible, levels.get(name, ())))), place.at(name))
        for name in found
    ]
    level = judge.report.level
    return (
        paragraph(*factor_sentence(judge.found, place)),
        Figure(
            name="factors",
            chart=lambda width: forest(marks, width=width, title="part of the prompt component"),
            label=f"The prompt component split into {len(found)} parts, with intervals",
            caption=(
                f"Corrected parts with their {100 * level:g}% intervals for these items; they add "
                "up to the prompt component. Grey: not distinguishable from zero."
            ),
        ),
        quantity_table(
            rows,
            ("estimate", "call_interval", "interval", "plugin"),
            first=("Part of prompt", "Levels"),
            level=level,
            caption=(
                "A factor's part is what its levels do on average over the others; an interaction "
                "is what two or more do together beyond that"
            ),
            name="factors",
        ),
    )


def factor_marks(found: Components) -> list[Mark]:
    """Return the parts of the prompt component, with their intervals for the items asked."""
    return [
        Mark(
            name=visible(name),
            value=part.estimate,
            band=part.call_interval,
            colour=(drawing.PROMPT if part.call_interval[0] > 0 else drawing.MUTED).light,
            label=f"{visible(name)}: {part.estimate:.4g} "
            f"({part.call_interval[0]:.4g} to {part.call_interval[1]:.4g})",
        )
        for name, part in found.items()
        if part.call_interval is not None
    ]


SECTIONS = (Kind(id="similarity", title="Similarity of prompts", order=130, make=similarity),)
