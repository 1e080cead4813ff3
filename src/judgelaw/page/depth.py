"""Plug-in against corrected estimates over repeat depth: section and figure."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from judgelaw.analysis import JudgeAnalysis
from judgelaw.page import drawing
from judgelaw.page.component_figure import LABELS, present, with_intervals
from judgelaw.page.document import (
    Block,
    Inline,
    Part,
    Section,
    TableView,
    count,
    figure,
    note,
    paragraph,
)
from judgelaw.page.drawing import Spec, n, q
from judgelaw.words import visible

_FACETS = ("prompt", "order", "interaction")
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
    x = drawing.by_repeats([p.repeats for p in points], 16)
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
        drawing.dots(rows, dot, 62, color=colour),
        drawing.rings(rows, ring),
        *(_names(points, colour, ghost, x) if named else ()),
    ]
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
    ]


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


def depth_points(judge: JudgeAnalysis) -> list[DepthPoint]:
    """Return plug-in and corrected prompt, order and interaction at every nested depth."""
    points = []
    for name, depth in _at_depths(judge):
        found = judge.depths[depth][name]
        low, high = found.interval or (None, None)
        at = f"{LABELS[name]} at R = {depth}"
        plugin = Part(found).decimal(lambda c: c.plugin).text
        points.append(
            DepthPoint(
                component=name,
                repeats=depth,
                estimate=found.estimate,
                plugin=found.plugin,
                low=low,
                high=high,
                label=f"{at}: corrected {with_intervals(found)}",
                plugin_label=f"{at}: plug-in {plugin}",
            )
        )
    return points


def _at_depths(judge: JudgeAnalysis) -> list[tuple[str, int]]:
    """Return every component with the depths at which the design can speak of it."""
    depths = sorted(judge.depths)
    return [(name, d) for name in _FACETS for d in depths if present(judge.depths[d], [name])]


def depth(judge: Part[JudgeAnalysis], *, prefix: str = "") -> Section | None:
    """Return how both estimates move as repeats are added; None without a facet to show."""
    points = depth_points(judge.value)
    if not points:
        return None
    title = "Why raw flip rates mislead"
    if judge.value.near_deterministic:
        said = paragraph(
            "All calls of every cell agree, so the plug-in and the corrected estimate coincide "
            "here, and there is no excess to remove."
        )
        return Section(id=f"{prefix}depth", title=title, blocks=(said, _table(judge)))
    panels = len({p.component for p in points})
    drawn = figure(
        "depth",
        lambda width: over_depth(
            points, width=width, columns=panels if width > drawing.NARROW else 1
        ),
        label="Plug-in and corrected estimates by repeats per cell",
        caption=(
            "Rings: plug-in. Dots: corrected, with the interval for items like these. Dashed: "
            "the course that the plug-in takes on average, the corrected value plus a "
            "constant over R."
        ),
    )
    blocks: list[Block] = [
        paragraph(
            "Counting relative frequencies as if they were the judge's true law (the plug-in) "
            "takes part of the dice for an effect. The excess falls as one over the repeats, and "
            "never reaches zero."
        ),
        drawn,
        _table(judge),
        *_identity(judge),
    ]
    return Section(id=f"{prefix}depth", title=title, blocks=tuple(blocks))


def _table(judge: Part[JudgeAnalysis]) -> TableView:
    rows = tuple(_row(judge, name, depth) for name, depth in _at_depths(judge.value))
    columns = ("Component", "R", "Plug-in", "Corrected", "Items like these")
    return TableView(columns=columns, rows=rows, name="depths")


def _row(judge: Part[JudgeAnalysis], name: str, depth: int) -> tuple[Inline, ...]:
    found = judge.at(lambda j: j.depths[depth][name])
    return (
        (LABELS[name],),
        (count(depth),),
        (found.decimal(lambda c: c.plugin),),
        (found.decimal(lambda c: c.estimate),),
        found.interval(lambda c: c.interval),
    )


def _identity(judge: Part[JudgeAnalysis]) -> list[Block]:
    """Show the check that holds in every sample: R times the excess is a multiple of call."""
    checks = judge.at(lambda j: j.identity).entries()
    if not checks:
        return []
    check = checks[-1]
    return [
        note(
            "Checked on these very calls: R × (plug-in − corrected) prompt = ",
            check.decimal(lambda c: c.scaled_excess, 5),
            ", and ",
            check.decimal(lambda c: c.factor),
            " × the call component = ",
            check.decimal(lambda c: c.rescaled_call, 5),
            ". They agree in every sample; the largest gap over items is ",
            check.measured(lambda c: c.largest_gap),
            ".",
        )
    ]


def looks_section(text: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Section:
    """Return the looks that were taken while the calls grew, and what followed from each."""
    table = TableView(
        columns=tuple(columns),
        rows=tuple(tuple((visible(cell),) for cell in row) for row in rows),
        name="looks",
    )
    return Section(id="looks", title="When it stopped", blocks=(paragraph(text), table))
