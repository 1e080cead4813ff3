"""Strata, other metrics, and layers held against a deeper reference."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import cast

from judgelaw.analysis import Analysis, JudgeAnalysis, OtherMetric
from judgelaw.page import drawing
from judgelaw.page.component_figure import LABELS, components_of, present, short_label
from judgelaw.page.depth import DepthPoint, depth_points, over_depth
from judgelaw.page.disagreement import component_cells
from judgelaw.page.document import (
    FigureView,
    Inline,
    Part,
    Section,
    TableView,
    decimal,
    figure,
    finite,
    note,
    paragraph,
)
from judgelaw.page.drawing import Spec, n, q
from judgelaw.page.table_forms import records
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
class Floor:
    """How far two halves of the reference lie from each other: nothing can be closer for long."""

    value: float
    low: float | None
    high: float | None


def discrepancies(found: Sequence[Discrepancy], floor: Floor | None, *, width: int) -> Spec:
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


def _floor(floor: Floor) -> list[Spec]:
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
        plugin, corrected = decimal(row["plug_in"]).text, decimal(row["debiased"]).text
        found.append(
            Discrepancy(
                repeats=row["R"],
                plugin=row["plug_in"],
                corrected=row["debiased"],
                label=f"R = {row['R']}: corrected {corrected} from the reference",
                plugin_label=f"R = {row['R']}: plug-in {plugin} from the reference",
            )
        )
    return found


def reference_floor(analysis: Analysis, judge: str) -> Floor | None:
    """Return how far the two interleaved halves of the reference lie from each other."""
    for row in records(analysis.tables.get("reference_split_half")):
        if (row["judge"], row["split"]) == (judge, "interleaved"):
            return Floor(
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


def strata(judge: Part[JudgeAnalysis], *, prefix: str = "") -> Section | None:
    """Return the components of each stratum; None with fewer than two."""
    found = judge.at(lambda j: j.strata)
    if len(found.value) <= 1:
        return None
    names = present(judge.value.components)
    rows: tuple[tuple[Inline, ...], ...] = tuple(
        (
            (visible(stratum),),
            *((part.item(name).decimal(lambda c: c.estimate),) for name in names),
        )
        for stratum, part in found.items()
    )
    table = TableView(columns=("Stratum", *(LABELS[n] for n in names)), rows=rows, name="strata")
    return Section(id=f"{prefix}strata", title="By stratum", blocks=(table,))


def metrics(judge: Part[JudgeAnalysis], *, prefix: str = "") -> Section | None:
    """Return what other metrics say of the same calls, and how much of it is call noise."""
    named = Part({m.name: m for m in judge.value.other_metrics}, (*judge.where, "other_metrics"))
    if not named.value:
        return None
    rows = tuple(
        _metric(found) for _, found in named.items() if finite(found.value.value) is not None
    )
    columns = ("Metric", "Value", "Of it call noise", "What it compares")
    return Section(
        id=f"{prefix}metrics",
        title="What other metrics would say",
        blocks=(
            TableView(columns=columns, rows=rows, name="other_metrics"),
            note(
                "Call noise is the part of the disagreement a metric counts that two calls of one "
                "and the same cell would show anyway. More repeats do not remove it from a "
                "metric that compares single calls."
            ),
        ),
    )


def _metric(found: Part[OtherMetric]) -> tuple[Inline, ...]:
    return (
        (found.value.label,),
        (found.decimal(lambda m: m.value, 3),),
        (found.percent(lambda m: m.call_noise),),
        (found.value.note,),
    )


def layers(analysis: Part[Analysis]) -> Section | None:
    """Return every layer beside the main one; None where the data has one or none."""
    found = analysis.at(lambda a: a.layers)
    if len(found.value) <= 1:
        return None
    roles, main = analysis.value.roles, analysis.value.main_layer
    shown = components_of(analysis.value.streams().values())
    rows: list[tuple[Inline, ...]] = [
        (
            (visible(layer),),
            (roles.get(layer, ""),),
            (visible(name),),
            _design(judge),
            *component_cells(judge, shown),
        )
        for layer, judges in found.items()
        for name, judge in judges.items()
    ]
    columns = ("Layer", "Role", "Judge", "Design", *(LABELS[c] for c in shown))
    said = paragraph(
        f"This page shows the layer {visible(main or '')!r}; here are all of them. A control layer "
        "sends identical requests under different hidden labels, so its true prompt component is "
        "zero: what it shows is what the estimator makes of pure chance."
    )
    table = TableView(columns=columns, rows=tuple(rows), name="layers")
    figures = [*_controls(analysis.value), *_references(analysis.value)]
    return Section(id="layers", title="Layers", blocks=(said, table, *figures))


def _controls(analysis: Analysis) -> list[FigureView]:
    """Show what both estimators make of identical requests, whose prompt component is zero."""
    return [_control(name, points) for (_, name), points in control_points(analysis).items()]


def _control(name: str, points: Sequence[DepthPoint]) -> FigureView:
    return figure(
        "control",
        lambda width: over_depth(points, width=width, columns=1),
        label=f"Prompt component of identical requests, {short_label(name)}",
        title=f"Control, {visible(name)}",
        caption="Identical requests under hidden labels: the truth is exactly zero.",
        widths=_WIDTHS,
    )


def _references(analysis: Analysis) -> list[FigureView]:
    """Show how far both estimates lie from the reference layer, item by item."""
    return [_reference(analysis, name) for name in referenced(analysis)]


def _reference(analysis: Analysis, name: str) -> FigureView:
    found, floor = discrepancies_of(analysis, name), reference_floor(analysis, name)
    return figure(
        "reference",
        lambda width: discrepancies(found, floor, width=width),
        label=f"Distance from the reference, {name}",
        title=f"Against the reference, {visible(name)}",
        caption=(
            "Mean distance of single-item prompt estimates from the reference layer: rings "
            "plug-in, dots corrected. The grey line and its band are the distance between the "
            "reference's own halves."
        ),
        widths=_WIDTHS,
    )


def _design(judge: Part[JudgeAnalysis]) -> Inline:
    """Write items × prompts × orders × repeats."""
    counts = [judge.count(lambda j: j.items), judge.count(lambda j: j.prompts)]
    if not judge.value.single:
        counts.append(judge.count(lambda j: j.orders))
    return (*(part for number in counts for part in (number, " × ")), *repeats(judge))


def repeats(judge: Part[JudgeAnalysis]) -> Inline:
    """Write the repeats of a cell, or their range."""
    if isinstance(judge.value.repeats, int):
        return (judge.count(lambda j: cast("int", j.repeats)),)
    ends = judge.at(lambda j: cast("tuple[int, int]", j.repeats))
    return (ends.count(lambda r: r[0]), " to ", ends.count(lambda r: r[1]))
