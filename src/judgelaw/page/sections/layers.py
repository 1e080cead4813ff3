"""Strata, other metrics, and layers held against a deeper reference."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from math import isnan

from judgelaw.analysis import Analysis, JudgeAnalysis
from judgelaw.blocks import Block, Cell, Figure, Place, Run, Spec, Table, note, paragraph
from judgelaw.estimate import COMPONENTS
from judgelaw.page import drawing
from judgelaw.page.drawing import n, q
from judgelaw.page.sections.depth import DepthPoint, depth_points, over_depth
from judgelaw.page.sections.parts import label
from judgelaw.page.subject import Judge, Kind, Report, short_label
from judgelaw.page.table_forms import records
from judgelaw.vocabulary import components_of
from judgelaw.words import visible

_WIDTHS = (drawing.NARROW + 60, drawing.NARROW)


@dataclass(frozen=True, kw_only=True)
class Discrepancy:
    """Mean absolute distance of item estimates from the reference at one depth."""

    repeats: int
    plugin: float
    corrected: float
    label: str
    plugin_label: str


@dataclass(frozen=True, kw_only=True)
class SplitHalfDistance:
    """How far two halves of the reference lie from each other: nothing can be closer for long."""

    value: float
    low: float | None
    high: float | None


def discrepancies(
    found: Sequence[Discrepancy], floor: SplitHalfDistance | None, *, width: int
) -> Spec:
    """Draw both distances over depth, with the disagreement of the reference's own halves."""
    rows = [asdict(d) for d in found]
    x = drawing.by_repeats([d.repeats for d in found], 20)
    title = "mean distance from the reference"
    y = q("corrected", title=title, axis={"tickCount": 4, "minExtent": 30}, scale={"zero": True})
    orange, ghost = drawing.PROMPT.light, drawing.MUTED.light
    layers = [
        *(_floor(floor) if floor else ()),
        drawing.marks(
            "line",
            rows,
            {"x": x, "y": q("plugin")},
            color=ghost,
            strokeWidth=1.4,
            strokeDash=[3, 3],
        ),
        drawing.marks("line", rows, {"x": x, "y": q("corrected")}, color=orange, strokeWidth=1.6),
        drawing.dots(rows, {"x": x, "y": y, "description": n("label")}, 62, color=orange),
        drawing.rings(rows, {"x": x, "y": q("plugin"), "description": n("plugin_label")}),
    ]
    return drawing.chart(drawing.layer(layers, width=width - 60, height=170))


def _floor(floor: SplitHalfDistance) -> list[Spec]:
    rows = [asdict(floor)]
    layers = [drawing.marks("rule", rows, {"y": q("value")}, color=drawing.FAINT.light)]
    if floor.low is not None:
        band = {"y": q("low"), "y2": {"field": "high"}}
        layers.insert(0, drawing.marks("rect", rows, band, color=drawing.LINE.light, opacity=0.5))
    return layers


def discrepancies_of(analysis: Analysis, judge: str) -> list[Discrepancy]:
    """Return how far both estimates of a judge lie from its reference layer, by depth."""
    found = []
    for row in records(analysis.tables.get("matched_reference")):
        if row["judge"] != judge:
            continue
        found.append(
            Discrepancy(
                repeats=row["R"],
                plugin=row["plug_in"],
                corrected=row["debiased"],
                label=f"R = {row['R']}: corrected {row['debiased']:.4f} from the reference",
                plugin_label=f"R = {row['R']}: plug-in {row['plug_in']:.4f} from the reference",
            )
        )
    return found


def reference_floor(analysis: Analysis, judge: str) -> SplitHalfDistance | None:
    """Return how far the two interleaved halves of the reference lie from each other."""
    for row in records(analysis.tables.get("reference_split_half")):
        if (row["judge"], row["split"]) == (judge, "interleaved"):
            return SplitHalfDistance(
                value=row["half_to_half_mae"],
                low=row["half_to_half_mae_low"],
                high=row["half_to_half_mae_high"],
            )
    return None


def referenced(analysis: Analysis) -> list[str]:
    """Return the judges that have a reference layer to be held against."""
    rows = records(analysis.tables.get("matched_reference"))
    return list(dict.fromkeys(row["judge"] for row in rows))


def control_points(analysis: Analysis) -> dict[tuple[str, str], list[DepthPoint]]:
    """Return the prompt component over depth in control layers, by layer and judge."""
    found = {
        (layer, judge): [p for p in depth_points(streams) if p.component == "prompt"]
        for layer, role in analysis.roles.items()
        if role == "control"
        for judge, streams in analysis.layers[layer].items()
    }
    return {key: points for key, points in found.items() if points}


def strata(judge: Judge) -> Sequence[Block] | None:
    """Return the components of each stratum; None with fewer than two."""
    if len(judge.found.strata) <= 1:
        return None
    place, shown = judge.place.at("strata"), judge.present
    rows: list[tuple[Cell, ...]] = [
        (visible(stratum), *(place.value(stratum, name, "estimate") for name in shown))
        for stratum in judge.found.strata
    ]
    return (Table(columns=("Stratum", *map(label, shown)), rows=tuple(rows), name="strata"),)


def metrics(judge: Judge) -> Sequence[Block] | None:
    """Return what other metrics say of the same calls, and how much of it is chance."""
    known = [m for m in judge.found.other_metrics if not isnan(m.value)]
    if not known:
        return None
    place = judge.place.at("other_metrics")
    rows: list[tuple[Cell, ...]] = [
        (
            m.label,
            place.value(m.name, "value", form=".3f"),
            place.value(m.name, "call_noise", form=".0%"),
            m.note,
        )
        for m in known
    ]
    return (
        Table(
            columns=("Metric", "Value", "Of it chance", "What it compares"),
            rows=tuple(rows),
            name="other_metrics",
        ),
        note(
            "Chance is the part of the disagreement a metric counts that two calls of one "
            "and the same cell would show anyway. More repeats do not remove it from a "
            "metric that compares single calls."
        ),
    )


def layers(report: Report) -> Sequence[Block] | None:
    """Return every layer beside the main one; None where the data has one or none."""
    analysis = report.analysis
    if len(analysis.layers) <= 1:
        return None
    shown = components_of(
        COMPONENTS, single=all(found.single for found in analysis.streams().values())
    )
    rows: list[tuple[Cell, ...]] = []
    for layer, judges in analysis.layers.items():
        for name, judge in judges.items():
            place = report.document.at("layers", layer, name)
            found = place.at("components")
            cells: list[Cell] = [
                "not varied" if found.at(c).found is None else found.value(c, "estimate")
                for c in shown
            ]
            role = analysis.roles.get(layer, "")
            rows.append((visible(layer), role, visible(name), _design(judge, place), *cells))
    return (
        paragraph(
            f"This page shows the layer {visible(analysis.main_layer or '')!r}; here are all of "
            "them. A control layer sends identical requests under different hidden labels, so its "
            "true prompt component is zero: what it shows is what the estimator makes of chance."
        ),
        Table(
            columns=("Layer", "Role", "Judge", "Design", *map(label, shown)),
            rows=tuple(rows),
            name="layers",
        ),
        *_controls(analysis),
        *_references(analysis),
    )


def _controls(analysis: Analysis) -> list[Figure]:
    """Show what both estimators make of identical requests, whose prompt component is zero."""
    return [
        Figure(
            name=f"control-{layer}-{name}",
            chart=partial(_over_depth, points),
            label=f"Prompt component of identical requests, {short_label(name)}",
            title=f"Control, {visible(name)}",
            caption=("Identical requests under hidden labels: the truth is exactly zero."),
            widths=_WIDTHS,
        )
        for (layer, name), points in control_points(analysis).items()
    ]


def _over_depth(points: Sequence[DepthPoint], width: int) -> Spec:
    return over_depth(points, width=width, columns=1)


def _references(analysis: Analysis) -> list[Figure]:
    """Show how far both estimates lie from the reference layer, item by item."""
    return [_reference(analysis, name) for name in referenced(analysis)]


def _reference(analysis: Analysis, name: str) -> Figure:
    found, floor = discrepancies_of(analysis, name), reference_floor(analysis, name)
    return Figure(
        name=f"reference-{name}",
        chart=lambda width: discrepancies(found, floor, width=width),
        label=f"Distance from the reference, {visible(name)}",
        title=f"Against the reference, {visible(name)}",
        caption=(
            "Mean distance of single-item prompt estimates from the reference layer: rings "
            "plug-in, dots corrected. The grey line and its band are the distance between the "
            "reference's own halves."
        ),
        widths=_WIDTHS,
    )


def _design(judge: JudgeAnalysis, place: Place) -> Run:
    """Write items × prompts × orders × repeats."""
    axes = ("items", "prompts") if judge.single else ("items", "prompts", "orders")
    counts: Run = ()
    for name in axes:
        counts += (place.value(name, form=",d"), " × ")
    if isinstance(judge.repeats, int):
        return (*counts, place.value("repeats", form="d"))
    return (*counts, place.span("repeats", form="d", to=True))


SECTIONS = (
    Kind(id="strata", title="By stratum", order=200, make=strata),
    Kind(id="metrics", title="What other metrics would say", order=210, make=metrics),
    Kind(id="layers", title="Layers", order=250, make=layers, of="report"),
)
