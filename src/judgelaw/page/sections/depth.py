"""Plug-in against corrected estimates over repeat depth: why raw flip rates mislead."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from judgelaw.analysis import JudgeAnalysis
from judgelaw.blocks import Block, Figure, Spec, Table, Value, note, paragraph
from judgelaw.page import drawing
from judgelaw.page.drawing import n, q
from judgelaw.page.quantity_table import quantity_table
from judgelaw.page.sections.parts import label, with_intervals
from judgelaw.page.subject import Judge, Kind, present

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
    return drawing.layer(layers, width=width, height=170, title=label(name))


def _names(points: Sequence[DepthPoint], colour: str, ghost: str, x: Spec) -> list[Spec]:
    """Name the two lines where they start, instead of a legend."""
    first = min(points, key=lambda p: p.repeats)
    encoding = {"x": x, "y": q("value"), "text": n("text")}
    named = [("plug-in", first.plugin, ghost, -9), ("estimate", first.estimate, colour, 13)]
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
        at = f"{label(name)} at R = {depth}"
        points.append(
            DepthPoint(
                component=name,
                repeats=depth,
                estimate=found.estimate,
                plugin=found.plugin,
                low=low,
                high=high,
                label=f"{at}: {with_intervals(found)}",
                plugin_label=f"{at}: plug-in {found.plugin:.4f}",
            )
        )
    return points


def _at_depths(judge: JudgeAnalysis) -> list[tuple[str, int]]:
    """Return every component with the depths at which the design can speak of it."""
    depths = sorted(judge.depths)
    return [(name, d) for name in _FACETS for d in depths if present(judge.depths[d], [name])]


def depth(judge: Judge) -> Sequence[Block] | None:
    """Return how both estimates move as repeats are added; None without a facet to show."""
    points = depth_points(judge.found)
    if not points:
        return None
    if judge.found.near_deterministic:
        return (
            paragraph(
                "All calls of every cell agree, so the plug-in and the corrected estimate coincide "
                "here, and there is no excess to remove."
            ),
            _table(judge),
        )
    panels = len({p.component for p in points})
    return (
        paragraph(
            "Counting relative frequencies as if they were the judge's true law (the plug-in) "
            "takes part of chance for an effect. The excess falls as one over the repeats, and "
            "never reaches zero."
        ),
        Figure(
            name="depth",
            chart=lambda width: over_depth(
                points, width=width, columns=panels if width > drawing.NARROW else 1
            ),
            label="Plug-in and corrected estimates by repeats per cell",
            caption=(
                "Rings: plug-in. Dots: corrected, with the interval for items like these. Dashed: "
                "the course that the plug-in takes on average, the corrected value plus a "
                "constant over R."
            ),
        ),
        _table(judge),
        *_identity(judge),
    )


def _table(judge: Judge) -> Table:
    place = judge.place.at("depths")
    return quantity_table(
        [
            ((label(name), Value(depth, ",d")), place.at(str(depth), name))
            for name, depth in _at_depths(judge.found)
        ],
        ("plugin", "estimate", "interval"),
        first=("Component", "R"),
        level=judge.report.level,
        name="depths",
    )


def _identity(judge: Judge) -> Sequence[Block]:
    """Show the check that holds in every sample: R times the excess is a multiple of call."""
    checks = judge.found.identity
    if not checks:
        return ()
    check = judge.place.at("identity", len(checks) - 1)
    return (
        note(
            "Checked on these very calls: R × (plug-in − corrected) prompt = ",
            check.value("scaled_excess", form=".5f"),
            ", and ",
            check.value("factor"),
            f" × {label('call').lower()} = ",
            check.value("rescaled_call", form=".5f"),
            ". They agree in every sample; the largest gap over items is ",
            check.value("largest_gap", form="any"),
            ".",
        ),
    )


SECTIONS = (Kind(id="depth", title="Why raw flip rates mislead", order=150, make=depth),)
