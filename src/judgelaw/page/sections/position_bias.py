"""Whether a displayed position is favoured: the lean of pairs, the slots of several candidates."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.analysis import OrderDirection, position_choices, slot_sentence
from judgelaw.arrays import PAIR
from judgelaw.blocks import Block, Cell, Details, Figure, Run, Spec, Table, note, paragraph
from judgelaw.page import drawing
from judgelaw.page.drawing import n, q
from judgelaw.page.forest import Mark, forest
from judgelaw.page.sections.parts import interval_text
from judgelaw.page.subject import Judge, Kind
from judgelaw.tensor import VerdictTensor
from judgelaw.vocabulary import title
from judgelaw.words import visible

_BINS = 21
_EDGE = 1.05
"""An odd number of bins has one centred on no lean."""
_HEIGHT = 120
_LISTED = 12


@dataclass(frozen=True, kw_only=True)
class Lean:
    """Mean lean over items, first minus second position, with its interval for items like these."""

    value: float
    low: float | None
    high: float | None
    label: str


def position(judge: Judge) -> Sequence[Block] | None:
    """Return which displayed position is favoured; None where positions are not known."""
    found = judge.found.order_direction
    items = item_leans(judge.tensor)
    if found is None or items is None:
        return _slots(judge)
    mean = mean_lean(found)
    return (
        paragraph(*_direction(judge, found)),
        Figure(
            name="order",
            chart=lambda width: leans(items, mean, width=width),
            label=f"Items by their lean to the first or second shown answer; {mean.label}",
            caption=(
                "Items by lean: the share of calls for the answer shown first minus that for the "
                "one shown second, over both orders. The dot above is the mean with its interval "
                "for items like these."
            ),
        ),
        *_prompt_leans(judge),
        note(
            "The order component counts every dependence on order. The lean is its part that "
            "goes one way; an item can depend on order with no lean on average."
        ),
    )


def _direction(judge: Judge, found: OrderDirection) -> Run:
    words = {
        "first": "The answer shown first is favoured",
        "second": "The answer shown second is favoured",
    }.get(found.favoured, "Neither position is shown to be favoured")
    place = judge.place.at("order_direction")
    return (
        f"{words}: ",
        place.value("first", form=".1%"),
        " of calls chose the first, ",
        place.value("second", form=".1%"),
        " the second, a lean of ",
        place.value("lean", form=".3f"),
        " ",
        place.span("band", form=".3f"),
        " for items like these.",
    )


def _prompt_leans(judge: Judge) -> Sequence[Block]:
    """Show how far each prompt leans to a position, many of them closed; nothing for one prompt."""
    found, places = judge.found.prompt_leans, judge.place.at("prompt_leans")
    if len(found) <= 1:
        return ()
    rows: list[tuple[Cell, ...]] = [
        (
            visible(lean.prompt),
            places.value(i, "lean", form=".3f"),
            places.span(i, "interval", form=".3f"),
            ("first" if lean.lean > 0 else "second") if lean.shown else "neither",
        )
        for i, lean in enumerate(found)
    ]
    table = Table(
        columns=("Prompt", "Lean", "All prompts together", "Shown to lean to"),
        rows=tuple(rows),
        caption=(
            "Lean of each prompt on these items: above 0 to the answer shown first. The intervals "
            "hold for all prompts together"
        ),
        name="prompt_leans",
        beside=len(found) <= _LISTED,
    )
    summary = f"The lean of each of {len(found)} prompts"
    return (table,) if table.beside else (Details(summary=summary, blocks=(table,)),)


def _slots(judge: Judge) -> Sequence[Block] | None:
    """Return which displayed slot is favoured, of three or more; None where it is not known."""
    found, places = judge.found.slots, judge.place.at("slots")
    if len(found) <= PAIR:
        return None
    level = judge.report.level
    marks = slot_marks(judge)
    rows: list[tuple[Cell, ...]] = [
        (
            each.slot,
            places.value(i, "share", form=".1%"),
            places.value(i, "lean", form=".3f"),
            places.span(i, "call_interval", form=".3f"),
            places.span(i, "interval", form=".3f"),
        )
        for i, each in enumerate(found)
    ]
    return (
        paragraph(*slot_sentence(found, judge.found.items, places)),
        Figure(
            name="slots",
            chart=lambda width: forest(
                marks, width=width, title="points of 100, from an even share"
            ),
            label=f"How far each of {len(found)} slots is from an even share, with intervals",
            caption=(
                "Share of calls for the answer in a slot, whichever candidate stands there, less "
                f"the mean share of all slots; {100 * level:g}% intervals for these items, all "
                "slots together. Grey: no preference is shown."
            ),
        ),
        Table(
            columns=(
                "Slot",
                "Chosen",
                "From an even share",
                title("call_interval", level),
                title("interval", level),
            ),
            rows=tuple(rows),
            name="slots",
        ),
        note(
            "Every candidate stands equally often in every slot, so the better answer favours "
            "none. The order component counts every dependence on order; a preference for a "
            "slot is its part that goes one way."
        ),
    )


def slot_marks(judge: Judge) -> list[Mark]:
    """Return how far each slot is from an even share, with its interval for the items asked."""
    return [
        Mark(
            name=f"slot {x.slot}",
            value=100 * x.lean,
            band=(100 * x.call_interval[0], 100 * x.call_interval[1]),
            colour=(drawing.PROMPT if x.shown else drawing.MUTED).light,
            label=f"slot {x.slot}: {100 * x.lean:+.1f} points of 100 "
            f"({100 * x.call_interval[0]:+.1f} to {100 * x.call_interval[1]:+.1f})",
        )
        for x in judge.found.slots
    ]


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


def mean_lean(found: OrderDirection) -> Lean:
    """Return the mean lean to a displayed position."""
    low, high = found.band or (None, None)
    label = f"mean lean {found.lean:.3f} {interval_text(found.band, 3)}"
    return Lean(value=found.lean, low=low, high=high, label=label.strip())


def item_leans(tensor: VerdictTensor) -> NDArray[np.float64] | None:
    """Return each item's share of first-shown minus second-shown choices; None if not known."""
    choices = position_choices(tensor)
    return None if choices is None else choices[:, 0] - choices[:, 1]


SECTIONS = (Kind(id="order", title="Position bias", order=140, make=position),)
