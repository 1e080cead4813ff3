"""Components with their bands, and their shares of the total, as figures."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil, floor

from judgelaw.analysis import JudgeAnalysis
from judgelaw.estimate import COMPONENTS
from judgelaw.page import drawing
from judgelaw.page.document import Part, plain
from judgelaw.page.drawing import Spec, names, painted, q
from judgelaw.quantities import Components, Quantity
from judgelaw.words import shortened, visible

LABELS = {
    "call": "Repeat calls",
    "prompt": "Prompt",
    "order": "Answer order",
    "interaction": "Prompt × order",
    "total": "Total",
}
_FIGURES = 190
"""Room for the figures at the right of the plot."""
_LABEL_LEAST = 0.1
"""A part below this part of a wide bar has no room for a range inside."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One component of one judge in a chart; None where it cannot be had.

    `low` and `high` are for items like these, `call_low` and `call_high` for these items.
    """

    component: str
    estimate: float
    plugin: float
    low: float | None
    high: float | None
    call_low: float | None
    call_high: float | None
    text: str
    label: str
    judge: str = ""


def estimates(
    found: Sequence[Mark], *, width: int, title: str = "probability that two calls disagree"
) -> Spec:
    """Draw corrected estimates with intervals, and the plug-in as a ghost beside each.

    Where there is room the figures stand at the right edge.
    """
    direct = width > drawing.NARROW
    rows = [_row(mark) for mark in found]
    order = [row["name"] for row in rows]
    plot = width - drawing.room_for(order) - (_FIGURES if direct else 8)
    y = names("name", order, labelFontSize=12)
    layers = [*dumbbell(rows, y, title, painted())]
    if direct:
        encoding = {"x": {"value": plot}, "y": y, "text": drawing.n("text")}
        layers.append(drawing.marks("text", rows, encoding, align="left", dx=12, fontSize=12))
    return drawing.chart(drawing.layer(layers, width=plot, height={"step": 38}))


def by_judge(found: Sequence[Mark], *, width: int) -> Spec:
    """Draw one component of several judges."""
    rows = [{**_row(mark), "name": mark.judge} for mark in found]
    order = [row["name"] for row in rows]
    y = names("name", order, labelFontSize=12)
    layers = dumbbell(rows, y, None, painted())
    plot = width - drawing.room_for(order) - 8
    return drawing.chart(drawing.layer(layers, width=plot, height={"step": 34}))


def dumbbell(rows: Sequence[Spec], y: Spec, title: str | None, colour: Spec) -> list[Spec]:
    """Return layers that join each plug-in (ring) to its corrected value (dot) with intervals."""
    axis = {"title": title, "tickCount": 5}
    scale = {"zero": True, "nice": True}
    joined = {"x": q("plugin"), "x2": {"field": "estimate"}, "y": y}
    dot = {"x": q("estimate", axis=axis, scale=scale), "y": y, "color": colour}
    asked = {"x": q("call_low"), "x2": {"field": "call_high"}, "y": y, "color": colour}
    ring = drawing.MUTED.light
    return [
        drawing.zero("x"),
        drawing.band({"x": q("low"), "x2": {"field": "high"}, "y": y, "color": colour}, rows),
        drawing.marks("rule", rows, asked, strokeWidth=1.6),
        drawing.marks("rule", rows, joined, color=drawing.FAINT.light, strokeDash=[2, 2]),
        drawing.marks(
            "point", rows, {"x": q("plugin"), "y": y}, size=52, strokeWidth=1.4, color=ring
        ),
        drawing.dots(rows, {**dot, "description": drawing.n("label")}, 96),
    ]


def _row(mark: Mark) -> Spec:
    colour = drawing.COMPONENT[mark.component]
    return {**asdict(mark), "name": LABELS[mark.component], "colour": colour}


@dataclass(frozen=True, kw_only=True)
class Share:
    """One component's part of a judge's disagreement.

    Attributes:
        judge, component: whose.
        width: of its bar, from 0 to 1; those of a judge add up to 1.
        text: the range of its share.
        label: for who cannot see it.
    """

    judge: str
    component: str
    width: float
    text: str
    label: str


def shares(found: Sequence[Share], *, width: int) -> Spec:
    """Draw the parts of the total as one bar a judge, with the range of each share."""
    judges = list(dict.fromkeys(s.judge for s in found))
    bars = [
        {**bar, "end": min(1.0, bar["end"])}
        for judge in judges
        for bar in drawing.stacked((s.width, _bar(s)) for s in found if s.judge == judge)
    ]
    several = len(judges) > 1
    plot = width - (drawing.room_for(judges) + 8 if several else 2)
    y = names("judge", judges, labelFontSize=12)
    if not several:
        y["axis"] = None
    axis = {"title": None, "format": "%", "grid": False, "tickCount": 4} if several else None
    scale = {"domain": [0, 1], "nice": False}
    bar_at = {"x": q("start", scale=scale, axis=axis), "x2": {"field": "end"}, "y": y}
    room = _LABEL_LEAST * drawing.WIDE / plot
    inside = [b for b in bars if b["end"] - b["start"] >= room]
    text_at = {"x": q("middle", scale=scale), "y": y, "text": drawing.n("text")}
    layers = [
        drawing.marks(
            "bar",
            bars,
            {**bar_at, "color": painted(), "description": drawing.n("label")},
            height={"band": 0.8},
            stroke=drawing.PAPER.light,
            strokeWidth=1.5,
        ),
        drawing.marks(
            "text", inside, text_at, color=drawing.PAPER.light, fontWeight=600, fontSize=12
        ),
    ]
    return drawing.chart(drawing.layer(layers, width=plot, height={"step": 34}))


def _bar(share: Share) -> Spec:
    return {**asdict(share), "colour": drawing.COMPONENT[share.component]}


ORDERED = ("order", "interaction")
"""Components that single answers do not have."""
PARTS = tuple(name for name in COMPONENTS if name != "total")
_NAME_LENGTH = 26
_ROUNDING = 1e-9


def components_of(judges: Iterable[JudgeAnalysis]) -> list[str]:
    """Return the components of these judges; single answers have none of an order."""
    single = all(judge.single for judge in judges)
    return [name for name in COMPONENTS if not (single and name in ORDERED)]


def present(components: Components, names: Sequence[str] = COMPONENTS) -> list[str]:
    """Return the components that the design can speak of."""
    return [name for name in names if name in components and not components[name].absent]


def component_marks(judge: JudgeAnalysis) -> list[Mark]:
    """Return the components of one judge at its full depth."""
    return [_mark(judge.components[name], name) for name in present(judge.components)]


def _mark(found: Quantity, name: str, judge: str = "") -> Mark:
    low, high = found.interval or (None, None)
    call_low, call_high = found.call_interval or (None, None)
    who = f"{judge}, " if judge else ""
    plugin = Part(found).decimal(lambda c: c.plugin).text
    return Mark(
        component=name,
        estimate=found.estimate,
        plugin=found.plugin,
        low=low,
        high=high,
        call_low=call_low,
        call_high=call_high,
        text=f"{_estimate(found)}  {interval_text(found.interval)}".strip(),
        label=f"{who}{LABELS[name]}: corrected {with_intervals(found)}, plug-in {plugin}",
        judge=judge,
    )


def _estimate(found: Quantity) -> str:
    return Part(found).decimal(lambda c: c.estimate).text


def interval_text(found: tuple[float, float] | None, digits: int = 4) -> str:
    """Write an interval, or nothing where there is none."""
    return "" if found is None else plain(Part(found).interval(lambda pair: pair, digits))


def with_intervals(found: Quantity) -> str:
    """Write an estimate with its interval for items like these, then for these items."""
    parts = [_estimate(found)]
    intervals = {"items like these": found.interval, "these items": found.call_interval}
    for words, interval in intervals.items():
        text = interval_text(interval)
        parts.append(f"{words} {text}" if text else f"no interval for {words}")
    return ", ".join(parts)


def judge_marks(judges: Mapping[str, JudgeAnalysis], component: str) -> list[Mark]:
    """Return one component of every judge that has it."""
    return [
        _mark(judge.components[component], component, name)
        for name, judge in zip(unique_labels(list(judges)), judges.values(), strict=True)
        if component in present(judge.components)
    ]


def shares_of(judges: Mapping[str, JudgeAnalysis]) -> list[Share]:
    """Return the parts of every judge's disagreement, with the range of each share.

    A part whose estimate is not above zero has no width, and the widths add up to 1. A judge whose
    calls do not tell any share from any other has no bar.
    """
    found = []
    for name, judge in zip(unique_labels(list(judges)), judges.values(), strict=True):
        parts = {c: judge.components[c] for c in present(judge.components, PARTS)}
        whole = sum(max(0.0, part.estimate) for part in parts.values())
        if whole <= 0 or not any(_tells(part) for part in parts.values()):
            continue
        for component, part in parts.items():
            text = share_range(part)
            said = f"{text} of the disagreement" if text else "its share cannot be told"
            found.append(
                Share(
                    judge=name,
                    component=component,
                    width=max(0.0, part.estimate) / whole,
                    text=text,
                    label=f"{name}, {LABELS[component]}: {said}".removeprefix(", "),
                )
            )
    return found


def _tells(component: Quantity) -> bool:
    """Whether the range of a share leaves out anything at all."""
    low, high = component.share_interval or (0, 1)
    return low > 0 or high < 1


def share_range(component: Quantity) -> str:
    """Write the shares that the calls allow on these items, nothing where none can be told.

    Whole percents, rounded outwards: a range is never narrower than it is.
    """
    if component.share_interval is None:
        return ""
    low, high = component.share_interval
    return f"{floor(100 * low + _ROUNDING)}–{ceil(100 * high - _ROUNDING)}%"


def short_label(name: str) -> str:
    """Return a name as a chart can hold it."""
    return shortened(visible(name).replace("\n", " "), _NAME_LENGTH)


def unique_labels(names: Sequence[str]) -> list[str]:
    """Shorten names for a chart and keep them apart: a cut that makes two equal is numbered."""
    cut = [short_label(name) for name in names]
    return [
        text if cut.count(text) == 1 else f"{shortened(text, _NAME_LENGTH - 5)} ({i + 1})"
        for i, text in enumerate(cut)
    ]
