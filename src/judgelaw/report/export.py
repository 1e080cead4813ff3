"""The figures of a report as files for a paper: SVG, PDF and PNG at column width."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from judgelaw.analysis import Analysis, Key
from judgelaw.errors import InputError, writing
from judgelaw.report import prepare
from judgelaw.report.figures import theme
from judgelaw.report.figures.agreement import by_gap
from judgelaw.report.figures.components import by_judge, estimates, shares
from judgelaw.report.figures.depth import over_depth
from judgelaw.report.figures.distance import distance_map
from judgelaw.report.figures.order import leans
from judgelaw.report.figures.outcomes import outcome_bars
from judgelaw.report.figures.reference import discrepancies
from judgelaw.report.figures.simplex import corners_of
from judgelaw.report.figures.theme import Spec
from judgelaw.report.sections.drift import DRIFT, streams
from judgelaw.report.sections.laws import overview
from judgelaw.report.source import Source
from judgelaw.report.text import visible
from judgelaw.tensor import VerdictTensor

FORMATS = ("svg", "pdf", "png")
_PNG_PPI = 300


def figures(
    analysis: Analysis,
    tensors: Mapping[Key, VerdictTensor],
    *,
    width: int = theme.COLUMN,
) -> dict[str, Spec]:
    """Return every figure that these calls give, by name, as Vega-Lite at the given width.

    Altair takes each: `alt.Chart.from_dict(figures(...)["components"])`.
    """
    source = Source.of(analysis.to_json())
    judges = {name: source.at("judges", name) for name in analysis.judges}
    found: dict[str, Spec] = {}
    if len(judges) > 1:
        found |= _compared(judges, width)
    for j, (name, judge) in enumerate(judges.items()):
        suffix = f"-{j + 1}" if len(judges) > 1 else ""
        drawn = _of_judge(judge, tensors[analysis.main_layer, name], width)
        found |= {f"{figure}{suffix}": spec for figure, spec in drawn.items()}
    return found | _of_layers(source, width)


def _compared(judges: Mapping[str, Source], width: int) -> dict[str, Spec]:
    found: dict[str, Spec] = {}
    if parts := prepare.shares(judges):
        found["judges-shares"] = shares(parts, width=width)
    for component in ("prompt", "order"):
        if marks := prepare.judge_marks(judges, component):
            found[f"judges-{component}"] = by_judge(marks, width=width)
    return found


def _of_judge(judge: Source, tensor: VerdictTensor, width: int) -> dict[str, Spec]:
    verdicts = [visible(v) for v in tensor.verdicts]
    corners = corners_of(verdicts, tensor.counts.sum(axis=(0, 1, 2)).astype(float))
    found: dict[str, Spec] = {
        "components": estimates(prepare.component_marks(judge), width=width),
        "laws": theme.chart(overview(tensor, corners, width=width - 20)),
        "outcomes": outcome_bars(prepare.outcome_rows(tensor), verdicts, width=width),
    }
    if parts := prepare.shares({"": judge}):
        found["shares"] = shares(parts, width=width)
    if points := prepare.depth_points(judge):
        found["depth"] = over_depth(points, width=width, columns=1)
    items = prepare.item_leans(tensor)
    if items is not None and judge.at("order_direction").known:
        found["order"] = leans(items, prepare.mean_lean(judge), width=width)
    if judge.at("prompt_distances").known:
        found["prompts"] = distance_map(
            prepare.distances(judge), width=width, pale=not prepare.told_apart(judge)
        )
    return found


def _of_layers(source: Source, width: int) -> dict[str, Spec]:
    found: dict[str, Spec] = {}
    for name, words in DRIFT.items():
        if drawn := streams(source, name):
            found[f"drift-{name}"] = by_gap(drawn, width=width, columns=1, title=words)
    for layer, role in (source.value("roles") or {}).items():
        for judge in source.value("layers", layer) if role == "control" else ():
            points = prepare.depth_points(source.at("layers", layer, judge))
            if prompt := [p for p in points if p.component == "prompt"]:
                found[f"control-{layer}-{judge}"] = over_depth(prompt, width=width, columns=1)
    rows = source.value("tables", "matched_reference", "rows") or []
    for judge in dict.fromkeys(row[0] for row in rows):
        near = prepare.discrepancies(source, judge)
        floor = prepare.reference_floor(source, judge)
        found[f"reference-{judge}"] = discrepancies(near, floor, width=width)
    return found


def write_figures(
    found: Mapping[str, Spec], folder: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write each figure in each format as `folder/NAME.EXT`; return the files."""
    if unknown := [f for f in formats if f not in FORMATS]:
        raise InputError(f"unknown format {unknown[0]!r}: figures are written as {list(FORMATS)}")
    written = []
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        for name, spec in found.items():
            for extension in formats:
                file = folder / f"{_file_name(name)}.{extension}"
                file.write_bytes(_drawn(spec, extension))
                written.append(file)
    return written


def _drawn(spec: Spec, extension: str) -> bytes:
    import vl_convert as vlc  # noqa: PLC0415 - loads 30 MB, only where something is drawn

    on_paper: dict[str, Any] = {**spec, "background": "white"}
    if extension == "svg":
        text: str = vlc.vegalite_to_svg(on_paper)
        return text.encode()
    data: bytes = (
        vlc.vegalite_to_pdf(on_paper)
        if extension == "pdf"
        else vlc.vegalite_to_png(on_paper, ppi=_PNG_PPI)
    )
    return data


def _file_name(name: str) -> str:
    """Keep letters, digits, dots and dashes of a name that may hold a judge's or a layer's."""
    return "".join(c if c.isalnum() or c in "-._" else "_" for c in name)
