"""Ways to ask: stability against calls, with the figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isnan

from judgelaw.analysis import JudgeAnalysis
from judgelaw.decide import Advice, JudgeAdvice, ProtocolRow, in_words
from judgelaw.page import drawing
from judgelaw.page.document import (
    Block,
    Folded,
    Inline,
    Part,
    Section,
    TableView,
    count,
    decimal,
    figure,
    note,
    paragraph,
    path,
)
from judgelaw.page.drawing import Spec, n, q
from judgelaw.words import visible

Judge = Part[JudgeAnalysis]

ADVICE = "advice"
"""Where the JSON in the page holds the advice, beside the analysis."""

_KINDS = (
    ("one prompt, fixed", drawing.CALL),
    ("one prompt, drawn", drawing.PROMPT),
    ("several prompts, drawn", drawing.ORDER),
    ("all prompts", drawing.INTERACTION),
)
_ORDERS = {"one": "one", "both": "both", "consistent": "both, else a tie"}


@dataclass(frozen=True, kw_only=True)
class StabilityPoint:
    """One protocol in the figure."""

    calls: int
    low: float
    high: float
    estimate: float | None
    kind: int
    label: str


def stability_points(advice: JudgeAdvice) -> list[StabilityPoint]:
    """Return every protocol that has an interval or a forecast worth drawing."""
    points = []
    for _, row in advice.worth_showing():
        s = row.stability
        known = not s.absent
        if isnan(s.low) or (not known and (s.low, s.high) == (0.0, 1.0)):
            continue
        said = f"{s.estimate:.3f}, " if known else "forecast, "
        points.append(
            StabilityPoint(
                calls=row.calls,
                low=s.low,
                high=s.high,
                estimate=s.estimate if known else None,
                kind=_kind(row),
                label=f"{visible(in_words(row))}: {said}{s.low:.3f} to {s.high:.3f}",
            )
        )
    return points


def _kind(row: ProtocolRow) -> int:
    p = row.protocol
    if p.fixed is not None:
        return 0
    if p.drawn is None:
        return 3
    return 1 if p.drawn == 1 else 2


def stability_figure(points: Sequence[StabilityPoint], *, width: int) -> Spec:
    """Draw stability against calls of an item, with intervals; forecasts have no point."""
    most = max(p.calls for p in points)
    axis = {
        "title": "calls of an item",
        "values": sorted({p.calls for p in points}),
        "grid": False,
        "format": "d",
    }
    scale = {"type": "log", "base": 2, "nice": False, "padding": 16, "domain": [1, max(2, most)]}
    x = q("calls", scale=scale, axis=axis)
    y = {"zero": False, "domainMax": 1}
    rows = [
        {
            "calls": p.calls * (1 + 0.03 * (p.kind - 1)),  # side by side, so that none is hidden
            "low": p.low,
            "high": p.high,
            "estimate": p.estimate,
            "colour": _KINDS[p.kind][1].light,
            "label": p.label,
        }
        for p in points
    ]
    seen = [row for row in rows if row["estimate"] is not None]
    ends = {"x": x, "y": q("low", scale=y, title="same verdict again"), "y2": {"field": "high"}}
    dot = {"x": x, "y": q("estimate"), "color": drawing.painted(), "description": n("label")}
    layers = [
        drawing.band({**ends, "color": drawing.painted()}, rows, strokeWidth=4),
        drawing.marks("point", seen, dot, filled=True, size=42, opacity=1),
    ]
    return drawing.chart(drawing.layer(layers, width=width - 60, height=180))


def what_to_do(judges: Mapping[str, Judge], advice: Advice | None = None) -> Section | None:
    """Return what each way to ask comes to, of every judge; the answer says what is worth doing."""
    blocks: list[Block] = []
    for name in judges:
        found = None if advice is None else advice.judges.get(name)
        if found is None:
            continue
        who = f"{visible(name)}: " if len(judges) > 1 else ""
        said = () if found.wrong is None else (paragraph(visible(found.wrong.in_words())),)
        ways = (*said, *_ways_to_ask(name, found))
        blocks += [Folded(summary=f"{who}ways to ask", blocks=ways)] if who else ways
    return Section(id="do", title="Ways to ask", blocks=tuple(blocks)) if blocks else None


def _ways_to_ask(name: str, advice: JudgeAdvice) -> list[Block]:
    """Return stability against calls: figure, table of protocols, what to know."""
    points = stability_points(advice)
    drawn = () if not points else (_drawn(points),)
    table = _protocol_table(advice, (ADVICE, "judges", name))
    summary = f"All {len(table.rows)} ways to ask: how steady each is, and what it costs"
    return [
        Folded(summary=summary, blocks=(*drawn, table)),
        *(note(visible(text)) for text in advice.notes),
    ]


def _drawn(points: Sequence[StabilityPoint]) -> Block:
    used = sorted({p.kind for p in points})
    return figure(
        "stability",
        lambda width: stability_figure(points, width=width),
        label="Stability of protocols against calls of an item",
        caption=(
            "Stability: how often the same final verdict comes out when the whole protocol is run "
            "again, with 95% intervals for items like these. A band without a dot is a forecast."
        ),
        key=tuple((f"swatch r-{_KINDS[k][1].role}", _KINDS[k][0]) for k in used),
    )


def _protocol_table(advice: JudgeAdvice, where: tuple[str, ...]) -> TableView:
    shown = advice.worth_showing()
    ordered = any(row.protocol.orders != "one" for _, row in shown)
    rows = tuple(
        _protocol_row(row, (*where, "protocols", at), ordered=ordered) for at, row in shown
    )
    orders = ("Orders",) if ordered else ()
    columns = ("Prompts", *orders, "Calls", "Stability", "95%, items like these", "Accuracy")
    return TableView(
        columns=columns, rows=rows, caption="Ways to ask, by calls of an item", name="protocols"
    )


def _protocol_row(
    row: ProtocolRow, where: tuple[str | int, ...], *, ordered: bool
) -> tuple[Inline, ...]:
    p, s, a = row.protocol, row.stability, row.accuracy
    within = path(*where, "stability")
    if not s.absent:
        point: Inline = (decimal(s.estimate, where=f"{within}.estimate"),)
        interval: Inline = (
            decimal(s.low, where=f"{within}.low"),
            " to ",
            decimal(s.high, where=f"{within}.high"),
        )
        if isnan(s.low):
            interval = ("not known",)
    else:
        point = ("forecast",)
        interval = (
            decimal(s.low, 2, where=f"{within}.forecast[0]"),
            " to ",
            decimal(s.high, 2, where=f"{within}.forecast[1]"),
        )
    accuracy = decimal(
        None if a is None else a.estimate,
        where=None if a is None else path(*where, "accuracy", "estimate"),
    )
    return (
        (visible(p.prompts),),
        *(((_ORDERS[p.orders],),) if ordered else ()),
        (count(row.calls, where=path(*where, "calls")),),
        point,
        interval,
        (accuracy,),
    )
