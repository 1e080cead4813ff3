"""Figures as files for a paper, and as pieces for a notebook."""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from judgelaw.analysis import Analysis, JudgeAnalysis, Key
from judgelaw.arrays import PAIR
from judgelaw.errors import InputError, writing
from judgelaw.page import drawing
from judgelaw.page.component_figure import (
    LABELS,
    by_judge,
    component_marks,
    estimates,
    judge_marks,
    shares,
    shares_of,
)
from judgelaw.page.depth import depth_points, over_depth
from judgelaw.page.drawing import Spec, draw
from judgelaw.page.laws import corners_of, is_of_several, item_bars, overview, some_items
from judgelaw.page.layers import (
    control_points,
    discrepancies,
    discrepancies_of,
    reference_floor,
    referenced,
)
from judgelaw.page.prompts_and_orders import (
    distance_map,
    distances,
    item_leans,
    leans,
    mean_lean,
    told_apart,
)
from judgelaw.page.slots_and_factors import factor_figure, slot_figure
from judgelaw.page.trust import DRIFT, by_gap, streams
from judgelaw.page.verdicts import outcome_bars, outcome_rows
from judgelaw.tensor import VerdictTensor
from judgelaw.words import visible

FORMATS = ("svg", "pdf", "png")
_PNG_PPI = 300


def figures(
    analysis: Analysis,
    tensors: Mapping[Key, VerdictTensor],
    *,
    width: int = drawing.COLUMN,
) -> dict[str, Spec]:
    """Return every figure that these calls give, by name, as Vega-Lite at the given width."""
    judges = analysis.judges
    found: dict[str, Spec] = {}
    if len(judges) > 1:
        found |= _compared(judges, width)
    for j, (name, judge) in enumerate(judges.items()):
        suffix = f"-{j + 1}" if len(judges) > 1 else ""
        drawn = _of_judge(judge, tensors[analysis.main_layer, name], width)
        found |= {f"{figure}{suffix}": spec for figure, spec in drawn.items()}
    return found | _of_layers(analysis, width)


def _compared(judges: Mapping[str, JudgeAnalysis], width: int) -> dict[str, Spec]:
    found: dict[str, Spec] = {}
    if parts := shares_of(judges):
        found["judges-shares"] = shares(parts, width=width)
    for component in ("prompt", "order"):
        if marks := judge_marks(judges, component):
            found[f"judges-{component}"] = by_judge(marks, width=width)
    return found


def _of_judge(judge: JudgeAnalysis, tensor: VerdictTensor, width: int) -> dict[str, Spec]:
    verdicts = [visible(v) for v in tensor.verdicts]
    found: dict[str, Spec] = {
        "components": estimates(component_marks(judge), width=width),
        "laws": _laws(judge, tensor, width),
        "outcomes": outcome_bars(outcome_rows(tensor), verdicts, width=width),
    }
    if parts := shares_of({"": judge}):
        found["shares"] = shares(parts, width=width)
    if points := depth_points(judge):
        found["depth"] = over_depth(points, width=width, columns=1)
    items = item_leans(tensor)
    if items is not None and judge.order_direction is not None:
        found["order"] = leans(items, mean_lean(judge.order_direction), width=width)
    if len(judge.slots) > PAIR:
        found["slots"] = slot_figure(judge.slots, width=width)
    if judge.factors:
        found["factors"] = factor_figure(judge, width=width)
    if judge.prompt_distances is not None:
        pairs = distances(judge.prompt_distances)
        found["prompts"] = distance_map(pairs, width=width, pale=not told_apart(judge))
    return found


def _laws(judge: JudgeAnalysis, tensor: VerdictTensor, width: int) -> Spec:
    if is_of_several(tensor):
        return item_bars(tensor, some_items(tensor, judge.item_values), width=width)
    verdicts = [visible(v) for v in tensor.verdicts]
    corners = corners_of(verdicts, tensor.counts.sum(axis=(0, 1, 2)).astype(float))
    return drawing.chart(overview(tensor, corners, width=width - 20))


def _of_layers(analysis: Analysis, width: int) -> dict[str, Spec]:
    found: dict[str, Spec] = {}
    for name, words in DRIFT.items():
        if drawn := streams(analysis, name):
            found[f"drift-{name}"] = by_gap(drawn, width=width, columns=1, title=words)
    for (layer, judge), points in control_points(analysis).items():
        found[f"control-{layer}-{judge}"] = over_depth(points, width=width, columns=1)
    for judge in referenced(analysis):
        near, floor = discrepancies_of(analysis, judge), reference_floor(analysis, judge)
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
                file.write_bytes(drawn(spec, extension))
                written.append(file)
    return written


def drawn(spec: Spec, extension: str) -> bytes:
    """Draw a figure on white, as the bytes of a file of this format."""
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


def components_svg(
    analysis: Analysis, judge: str | None = None, *, width: int = drawing.WIDE
) -> str:
    """Return the components of one judge with their intervals as a standalone SVG."""
    found = _judge(analysis, judge)
    marks = component_marks(found)
    label = "; ".join(f"{LABELS[mark.component]} {mark.text}" for mark in marks)
    return draw(estimates(marks, width=width), label=label).markup


def answer_html(analysis: Analysis, judge: str | None = None) -> str:
    """Return the sentence of one judge and its components: what `_repr_html_` can show."""
    sentence = escape(visible(_judge(analysis, judge).answer.headline))
    # A notebook's font may be wider than the one that the drawing was measured with.
    figure = components_svg(analysis, judge).replace("<svg ", '<svg overflow="visible" ', 1)
    return f"<div><p>{sentence}</p>{figure}</div>"


def _judge(analysis: Analysis, judge: str | None) -> JudgeAnalysis:
    names = list(analysis.judges)
    chosen = names[0] if judge is None and len(names) == 1 else judge
    if chosen is None or chosen not in analysis.judges:
        raise InputError(f"judge = {judge!r}: name one of {names}")
    return analysis.judges[chosen]
