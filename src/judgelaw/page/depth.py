"""Plug-in against corrected estimates over repeat depth: section and figure."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from judgelaw.page import drawing
from judgelaw.page.component_figure import LABELS, _with_intervals
from judgelaw.page.document import (
    Block,
    FigureView,
    Section,
    Source,
    TableView,
    count,
    note,
    paragraph,
)
from judgelaw.page.drawing import Spec, draw, n, q

_CURVE_POINTS = 40
_AXIS, _GAP = 46, 28


@dataclass(frozen=True, kw_only=True)
class DepthPoint:
    """Plug-in and corrected estimate of one component at one repeat depth."""

    component: str
    repeats: int
    estimate: float
    plugin: float
    low: float | None
    high: float | None
    label: str
    plugin_label: str


def over_depth(points: Sequence[DepthPoint], *, width: int, columns: int) -> Spec:
    """Draw each component's plug-in and corrected estimate against repeats per cell."""
    shown = list(dict.fromkeys(p.component for p in points))
    plot = min(360, (width - _GAP * (columns - 1)) // columns - _AXIS)
    panels = [
        _panel([p for p in points if p.component == name], name, plot, named=i == 0)
        for i, name in enumerate(shown)
    ]
    return drawing.chart({"vconcat" if columns == 1 else "hconcat": panels})


def _panel(points: Sequence[DepthPoint], name: str, width: int, *, named: bool) -> Spec:
    colour, ghost = drawing.COMPONENT[name], drawing.MUTED.light
    rows = [asdict(p) for p in points]
    axis = {
        "title": "repeats per cell, R",
        "values": [p.repeats for p in points],
        "grid": False,
        "format": "d",
    }
    scale = {"type": "log", "base": 2, "nice": False, "padding": 16}
    x = q("repeats", scale=scale, axis=axis)
    y_axis = {"tickCount": 5, "minExtent": 30}
    dot = {"x": x, "y": q("estimate", axis=y_axis, title=None), "description": n("label")}
    ring = {"x": x, "y": q("plugin"), "description": n("plugin_label")}
    layers = [
        drawing.zero("y"),
        drawing.marks(
            "line",
            _curve(points),
            {"x": x, "y": q("value")},
            strokeDash=[3, 3],
            strokeWidth=1.2,
            color=ghost,
        ),
        drawing.band(
            {"x": x, "y": q("low"), "y2": {"field": "high"}}, rows, color=colour, strokeWidth=6
        ),
        drawing.marks("line", rows, {"x": x, "y": q("estimate")}, strokeWidth=1.6, color=colour),
        drawing.marks("point", rows, dot, filled=True, size=62, opacity=1, color=colour),
        drawing.marks(
            "point",
            rows,
            ring,
            filled=True,
            size=46,
            opacity=1,
            strokeWidth=1.5,
            color=drawing.PAPER.light,
            stroke=ghost,
        ),
        *(_names(points, colour, ghost, x) if named else ()),
    ]  # fmt: skip - one layer an entry
    return drawing.layer(layers, width=width, height=170, title=LABELS[name])


def _names(points: Sequence[DepthPoint], colour: str, ghost: str, x: Spec) -> list[Spec]:
    """Name the two lines where they start, instead of a legend."""
    first = min(points, key=lambda p: p.repeats)
    encoding = {"x": x, "y": q("value"), "text": n("text")}
    named = [("plug-in", first.plugin, ghost, -9), ("corrected", first.estimate, colour, 13)]
    return [
        drawing.marks(
            "text",
            [{"repeats": first.repeats, "value": value, "text": text}],
            encoding,
            align="left",
            dx=8,
            dy=dy,
            color=paint,
        )
        for text, value, paint, dy in named
    ]  # fmt: skip - one layer an entry


def _curve(points: Sequence[DepthPoint]) -> list[dict[str, float]]:
    """Return corrected + c/R with c from the deepest point: where the plug-in has to lie."""
    deepest = max(points, key=lambda p: p.repeats)
    least = min(p.repeats for p in points)
    scaled = deepest.repeats * (deepest.plugin - deepest.estimate)
    if least == deepest.repeats:
        return []
    ratio = deepest.repeats / least
    depths = [least * ratio ** (i / _CURVE_POINTS) for i in range(_CURVE_POINTS + 1)]
    return [{"repeats": r, "value": deepest.estimate + scaled / r} for r in depths]


def depth_points(judge: Source) -> list[DepthPoint]:
    """Return plug-in and corrected prompt, order and interaction at every nested depth."""
    depths = judge.at("depths")
    points = []
    for name in ("prompt", "order", "interaction"):
        for depth in sorted(map(int, depths.document or {})):
            found = depths.at(str(depth), name)
            if not found.known:
                continue
            low, high = found.value("interval") or (None, None)
            at = f"{LABELS[name]} at R = {depth}"
            points.append(
                DepthPoint(
                    component=name,
                    repeats=depth,
                    estimate=found.value("estimate"),
                    plugin=found.value("plugin"),
                    low=low,
                    high=high,
                    label=f"{at}: corrected {_with_intervals(found)}",
                    plugin_label=f"{at}: plug-in {found.decimal('plugin').text}",
                )
            )
    return points


def depth(judge: Source, *, prefix: str = "") -> Section | None:
    """Return how both estimates move as repeats are added; None without a facet to show."""
    points = depth_points(judge)
    if not points:
        return None
    title = "Why raw flip rates mislead"
    if judge.value("near_deterministic"):
        said = paragraph(
            "All calls of every cell agree, so the plug-in and the corrected estimate coincide "
            "here, and there is no excess to remove."
        )
        return Section(id=f"{prefix}depth", title=title, blocks=(said, _table(judge)))
    panels = len({p.component for p in points})
    label = "Plug-in and corrected estimates by repeats per cell"
    figure = FigureView(
        name="depth",
        caption=(
            (
                "Rings: plug-in. Dots: corrected, with the interval for items like these. Dashed: "
                "the course that the plug-in takes on average, the corrected value plus a "
                "constant over R."
            ),
        ),
        wide=draw(over_depth(points, width=drawing.WIDE, columns=panels), label=label),
        narrow=draw(over_depth(points, width=drawing.NARROW, columns=1), label=label),
    )
    blocks: list[Block] = [
        paragraph(
            "Counting relative frequencies as if they were the judge's true law (the plug-in) "
            "takes part of the dice for an effect. The excess falls as one over the repeats, and "
            "never reaches zero."
        ),
        figure,
        _table(judge),
        *_identity(judge),
    ]
    return Section(id=f"{prefix}depth", title=title, blocks=tuple(blocks))


def _table(judge: Source) -> TableView:
    depths = judge.at("depths")
    rows = [
        (
            (LABELS[name],),
            (count(depth_),),
            (found.decimal("plugin"),),
            (found.decimal("estimate"),),
            found.interval("interval"),
        )
        for name in ("prompt", "order", "interaction")
        for depth_ in sorted(map(int, depths.document))
        if (found := depths.at(str(depth_), name)).known
    ]
    columns = ("Component", "R", "Plug-in", "Corrected", "Items like these")
    return TableView(columns=columns, rows=tuple(rows), name="depths")


def _identity(judge: Source) -> list[Block]:
    """Show the check that holds in every sample: R times the excess is a multiple of call."""
    found = judge.at("identity")
    if not found.document:
        return []
    last = len(found.document) - 1
    check = found.at(last)
    return [
        note(
            "Checked on these very calls: R × (plug-in − corrected) prompt = ",
            check.decimal("scaled_excess", digits=5),
            ", and ",
            check.decimal("factor", digits=4),
            " × the call component = ",
            check.decimal("rescaled_call", digits=5),
            ". They agree in every sample; the largest gap over items is ",
            check.measured("largest_gap"),
            ".",
        )
    ]
