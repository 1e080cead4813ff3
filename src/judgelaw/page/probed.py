"""What pulls the verdict: the shift by every probe, with its interval, as a forest of dots."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isnan

from judgelaw.analysis import JudgeAnalysis, probe_sentence, where_largest
from judgelaw.diagnose import ProbeEffect
from judgelaw.page import drawing
from judgelaw.page.document import (
    Inline,
    Part,
    Section,
    TableView,
    figure,
    note,
    paragraph,
)
from judgelaw.page.drawing import Spec, n, names, q
from judgelaw.words import visible

_ROW = 26
_TICKS = 6
_TOWARD = "points of 100, toward the changed answer"


@dataclass(frozen=True, kw_only=True)
class Shift:
    """The shift of one probe in points of 100, with its interval for the items asked."""

    probe: str
    value: float
    low: float
    high: float
    colour: str
    label: str


def forest(shifts: Sequence[Shift], *, width: int, title: str = _TOWARD) -> Spec:
    """Draw one row a probe: a dot, its interval, and the line of no shift."""
    order = [shift.probe for shift in shifts]
    rows = [asdict(shift) for shift in shifts]
    y = names("probe", order)
    x = q("value", title=title, axis={"tickCount": _TICKS})
    ends = {"x": q("low"), "x2": {"field": "high"}, "y": y, "color": drawing.painted()}
    dot = {"x": x, "y": y, "color": drawing.painted(), "description": n("label")}
    layers = [drawing.zero("x"), drawing.band(ends, rows), drawing.dots(rows, dot, 70)]
    plot = width - drawing.room_for(order)
    return drawing.chart(drawing.layer(layers, width=plot, height=_ROW * len(rows)))


def probes(judge: Part[JudgeAnalysis], *, prefix: str = "") -> Section | None:
    """Return what changes of an answer do to the verdict; None where none was tried."""
    found = judge.value.probes
    if not found:
        return None
    shifts = [_shift(effect) for effect in found.values() if not isnan(effect.shift.estimate)]
    drawn = figure(
        "probes",
        lambda width: forest(shifts, width=width),
        label=f"Shift by {len(shifts)} changes of an answer, with intervals",
        caption=(
            "Points of 100 by which the score of an answer moves when it is changed in this way "
            "and nothing else is. Grey: no effect is shown."
        ),
    )
    return Section(
        id=f"{prefix}probes",
        title="What pulls the verdict",
        blocks=(
            paragraph(probe_sentence(judge.value)),
            *([drawn] if shifts else []),
            *(paragraph(where) for where in map(where_largest, found.values()) if where),
            _table(judge),
            note(
                "Calls about the changed answer are held against calls about the answer as it "
                "was, so dice alone move nothing on average. The p values hold for all changes "
                "together; the intervals for each one."
            ),
        ),
    )


def _shift(effect: ProbeEffect) -> Shift:
    value, low, high = (
        100 * x for x in (effect.shift.estimate, effect.shift_asked.low, effect.shift_asked.high)
    )
    name = visible(effect.probe)
    return Shift(
        probe=name,
        value=value,
        low=low,
        high=high,
        colour=(drawing.PROMPT if effect.real else drawing.MUTED).light,
        label=f"{name}: {value:+.1f} points ({low:+.1f} to {high:+.1f})",
    )


def _table(judge: Part[JudgeAnalysis]) -> TableView:
    found = judge.at(lambda j: j.probes).items()
    return TableView(
        columns=(
            "Change",
            "Shift",
            "These items",
            "Items like these",
            "Change of law",
            "Items like these",
            "p",
            "Items that move",
            "Found from",
        ),
        rows=tuple(_row(effect) for _, effect in found),
        caption=(
            "Shift of the score toward the changed answer, and how much more often two calls "
            "differ if one saw the change, with 95% intervals; at least so many items move, with "
            "95% certainty; a shift of the last column would have been found four times in five"
        ),
        name="probes",
    )


def _row(effect: Part[ProbeEffect]) -> tuple[Inline, ...]:
    return (
        (visible(effect.value.probe),),
        (effect.percent(lambda e: e.shift.estimate, 1),),
        (
            effect.percent(lambda e: e.shift_asked.low, 1),
            " to ",
            effect.percent(lambda e: e.shift_asked.high, 1),
        ),
        (
            effect.percent(lambda e: e.shift.low, 1),
            " to ",
            effect.percent(lambda e: e.shift.high, 1),
        ),
        (effect.decimal(lambda e: e.change.estimate, 4),),
        (
            effect.decimal(lambda e: e.change.low, 2),
            " to ",
            effect.decimal(lambda e: e.change.high, 2),
        ),
        (effect.p_value(lambda e: e.p),),
        (effect.count(lambda e: e.moved), " of ", effect.count(lambda e: e.items)),
        (effect.percent(lambda e: e.smallest, 1),),
    )
