"""Strata, other metrics, layers: what else the same calls say."""

from judgelaw.estimate import COMPONENTS
from judgelaw.report import prepare
from judgelaw.report.document import FigureView, Inline, Section, TableView, note, paragraph
from judgelaw.report.figures import theme
from judgelaw.report.figures.components import LABELS
from judgelaw.report.figures.depth import over_depth
from judgelaw.report.figures.reference import discrepancies
from judgelaw.report.source import Source
from judgelaw.report.svg import draw
from judgelaw.report.text import visible


def strata(judge: Source, *, prefix: str = "") -> Section | None:
    """Return the components of each stratum; None with fewer than two."""
    found = judge.at("strata")
    if len(found.document or {}) <= 1:
        return None
    names = prepare.present(judge.at("components"))
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
                p
                for p in prepare.depth_points(source.at("layers", layer, name))
                if p.component == "prompt"
            ]
            if points:
                label = f"Prompt component of identical requests, {prepare.label(name)}"
                spec = over_depth(points, width=theme.NARROW + 60, columns=1)
                caption = ("Identical requests under hidden labels: the truth is exactly zero.",)
                figures.append(
                    FigureView(
                        name="control",
                        title=f"Control, {visible(name)}",
                        caption=caption,
                        wide=draw(spec, label=label),
                        narrow=draw(over_depth(points, width=theme.NARROW, columns=1), label=label),
                    )
                )
    return figures


def _references(source: Source) -> list[FigureView]:
    """Show how far both estimates lie from the reference layer, item by item."""
    rows = source.value("tables", "matched_reference", "rows") or []
    figures = []
    for name in dict.fromkeys(row[0] for row in rows):
        found = prepare.discrepancies(source, name)
        floor = prepare.reference_floor(source, name)
        wide, narrow = (
            draw(discrepancies(found, floor, width=w), label=f"Distance from the reference, {name}")
            for w in (theme.NARROW + 60, theme.NARROW)
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
