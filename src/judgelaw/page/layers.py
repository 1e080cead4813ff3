"""Strata, other metrics, and layers held against a deeper reference."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from judgelaw.estimate import COMPONENTS
from judgelaw.page import drawing
from judgelaw.page.component_figure import LABELS, present, short_label
from judgelaw.page.depth import depth_points, over_depth
from judgelaw.page.document import FigureView, Inline, Section, Source, TableView, note, paragraph
from judgelaw.page.drawing import Spec, draw, n, q
from judgelaw.words import visible


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
    axis = {
        "title": "repeats per cell, R",
        "values": [d.repeats for d in found],
        "grid": False,
        "format": "d",
    }
    x = q("repeats", axis=axis, scale={"type": "log", "base": 2, "nice": False, "padding": 20})
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
        drawing.marks(
            "point",
            rows,
            {"x": x, "y": y, "description": n("label")},
            filled=True,
            size=62,
            opacity=1,
            color=orange,
        ),
        drawing.marks(
            "point",
            rows,
            {"x": x, "y": q("plugin"), "description": n("plugin_label")},
            filled=True,
            size=46,
            opacity=1,
            strokeWidth=1.5,
            stroke=ghost,
            color=drawing.PAPER.light,
        ),
    ]  # fmt: skip - one layer an entry
    return drawing.chart(drawing.layer(layers, width=width - 60, height=170))


def _floor(floor: Floor) -> list[Spec]:
    rows = [asdict(floor)]
    layers = [drawing.marks("rule", rows, {"y": q("value")}, color=drawing.FAINT.light)]
    if floor.low is not None:
        band = {"y": q("low"), "y2": {"field": "high"}}
        layers.insert(0, drawing.marks("rect", rows, band, color=drawing.LINE.light, opacity=0.5))
    return layers


def discrepancies_of(source: Source, judge: str) -> list[Discrepancy]:
    """Return how far both estimates of a judge lie from its reference layer, by depth."""
    table = source.at("tables", "matched_reference")
    found = []
    for row in _rows_of(table, judge):
        plugin, corrected = row.decimal("plug_in"), row.decimal("debiased")
        depth = row.value("R")
        found.append(
            Discrepancy(
                repeats=depth,
                plugin=row.value("plug_in"),
                corrected=row.value("debiased"),
                label=f"R = {depth}: corrected {corrected.text} from the reference",
                plugin_label=f"R = {depth}: plug-in {plugin.text} from the reference",
            )
        )
    return found


def reference_floor(source: Source, judge: str) -> Floor | None:
    """Return how far the two interleaved halves of the reference lie from each other."""
    for row in _rows_of(source.at("tables", "reference_split_half"), judge):
        if row.value("split") == "interleaved":
            return Floor(
                value=row.value("half_to_half_mae"),
                low=row.value("half_to_half_mae_low"),
                high=row.value("half_to_half_mae_high"),
            )
    return None


def _rows_of(table: Source, judge: str) -> list[Source]:
    """Return the rows of one judge as parts with named cells."""
    columns = table.value("columns") or []
    return [
        Source(document=named, where=())
        for row in table.value("rows") or []
        if (named := dict(zip(columns, row, strict=True)))["judge"] == judge
    ]


def strata(judge: Source, *, prefix: str = "") -> Section | None:
    """Return the components of each stratum; None with fewer than two."""
    found = judge.at("strata")
    if len(found.document or {}) <= 1:
        return None
    names = present(judge.at("components"))
    rows: tuple[tuple[Inline, ...], ...] = tuple(
        (
            (visible(stratum),),
            *((found.decimal(stratum, name, "estimate"),) for name in names),
        )
        for stratum in found.document
    )
    table = TableView(columns=("Stratum", *(LABELS[n] for n in names)), rows=rows, name="strata")
    return Section(id=f"{prefix}strata", title="By stratum", blocks=(table,))


def metrics(judge: Source, *, prefix: str = "") -> Section | None:
    """Return what other metrics say of the same calls, and how much of it is call noise."""
    found = judge.at("other_metrics")
    keys = list(found.document or {})
    if not keys:
        return None
    rows: tuple[tuple[Inline, ...], ...] = tuple(
        (
            (found.text(key, "label"),),
            (found.decimal(key, "value", digits=3),),
            (found.percent(key, "call_noise"),),
            (found.text(key, "note"),),
        )
        for key in keys
        if found.value(key, "value") is not None
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


def layers(source: Source, main: str | None) -> Section | None:
    """Return every layer beside the main one; None where the data has one or none."""
    found = source.value("layers") or {}
    if len(found) <= 1:
        return None
    rows = []
    for layer, judges in found.items():
        for name in judges:
            judge = source.at("layers", layer, name)
            components = judge.at("components")
            cells: list[Inline] = [
                (components.decimal(c, "estimate"),) if components.at(c).known else ("not varied",)
                for c in COMPONENTS
            ]
            role = source.value("roles", layer) or ""
            rows.append(((visible(layer),), (role,), (visible(name),), _design(judge), *cells))
    columns = ("Layer", "Role", "Judge", "Design", *(LABELS[c] for c in COMPONENTS))
    said = paragraph(
        f"This page shows the layer {visible(main or '')!r}; here are all of them. A control layer "
        "sends identical requests under different hidden labels, so its true prompt component is "
        "zero: what it shows is what the estimator makes of pure chance."
    )
    table = TableView(columns=columns, rows=tuple(rows), name="layers")
    figures = [*_controls(source), *_references(source)]
    return Section(id="layers", title="Layers", blocks=(said, table, *figures))


def _controls(source: Source) -> list[FigureView]:
    """Show what both estimators make of identical requests, whose prompt component is zero."""
    figures = []
    for layer, role in (source.value("roles") or {}).items():
        if role != "control":
            continue
        for name in source.value("layers", layer):
            points = [
                p for p in depth_points(source.at("layers", layer, name)) if p.component == "prompt"
            ]
            if points:
                label = f"Prompt component of identical requests, {short_label(name)}"
                spec = over_depth(points, width=drawing.NARROW + 60, columns=1)
                caption = ("Identical requests under hidden labels: the truth is exactly zero.",)
                figures.append(
                    FigureView(
                        name="control",
                        title=f"Control, {visible(name)}",
                        caption=caption,
                        wide=draw(spec, label=label),
                        narrow=draw(
                            over_depth(points, width=drawing.NARROW, columns=1), label=label
                        ),
                    )
                )
    return figures


def _references(source: Source) -> list[FigureView]:
    """Show how far both estimates lie from the reference layer, item by item."""
    rows = source.value("tables", "matched_reference", "rows") or []
    figures = []
    for name in dict.fromkeys(row[0] for row in rows):
        found = discrepancies_of(source, name)
        floor = reference_floor(source, name)
        wide, narrow = (
            draw(discrepancies(found, floor, width=w), label=f"Distance from the reference, {name}")
            for w in (drawing.NARROW + 60, drawing.NARROW)
        )
        caption = (
            "Mean distance of single-item prompt estimates from the reference layer: rings "
            "plug-in, dots corrected. The grey line and its band are the distance between the "
            "reference's own halves."
        )
        figures.append(
            FigureView(
                name="reference",
                title=f"Against the reference, {visible(name)}",
                caption=(caption,),
                wide=wide,
                narrow=narrow,
            )
        )
    return figures


def _design(judge: Source) -> Inline:
    """Write items × prompts × orders × repeats."""
    parts: Inline = ()
    for key in ("items", "prompts", "orders"):
        parts += (judge.count(key), " × ")
    return (*parts, *repeats(judge))


def repeats(judge: Source) -> Inline:
    """Write the repeats of a cell, or their range."""
    if isinstance(judge.value("repeats"), list):
        return (judge.count("repeats", 0), " to ", judge.count("repeats", 1))
    return (judge.count("repeats"),)
