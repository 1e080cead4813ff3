"""Strata, other metrics, layers: what else the same calls say."""

from judgelaw.estimate import COMPONENTS
from judgelaw.report import prepare
from judgelaw.report.document import Inline, Section, TableView, note, paragraph
from judgelaw.report.figures.components import LABELS
from judgelaw.report.source import Source
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
                "and the same cell would show anyway. Higher repeats do not remove it from a "
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
    return Section(id="layers", title="Layers", blocks=(said, table))


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
