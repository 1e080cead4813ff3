"""From the analysis to what charts draw: pure, shared by page, notebooks and paper figures."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from judgelaw.analysis.outcomes import position_choices
from judgelaw.estimate import COMPONENTS
from judgelaw.report.figures.agreement import Gap
from judgelaw.report.figures.components import LABELS, Mark, Share
from judgelaw.report.figures.depth import DepthPoint
from judgelaw.report.figures.distance import Distance
from judgelaw.report.figures.order import Lean
from judgelaw.report.figures.outcomes import Outcome
from judgelaw.report.source import Source, plain
from judgelaw.report.text import shortened, visible
from judgelaw.tensor import VerdictTensor

PARTS = tuple(name for name in COMPONENTS if name != "total")
_NAME_LENGTH = 26
_ROWS_AT_MOST = 24


def present(components: Source, names: Sequence[str] = COMPONENTS) -> list[str]:
    """Return the components that the design can speak of."""
    return [name for name in names if components.at(name).known]


def component_marks(judge: Source, names: Sequence[str] = COMPONENTS) -> list[Mark]:
    """Return the components of one judge at its full depth."""
    components = judge.at("components")
    return [_mark(components.at(name), name) for name in present(components, names)]


def _mark(found: Source, name: str, judge: str = "") -> Mark:
    low, high = found.value("band") or (None, None)
    estimate = found.decimal("estimate")
    band = plain(found.interval("band"))
    who = f"{judge}, " if judge else ""
    return Mark(
        component=name,
        estimate=found.value("estimate"),
        plugin=found.value("plugin"),
        low=low,
        high=high,
        text=f"{estimate.text}  {band}",
        label=f"{who}{LABELS[name]}: corrected {estimate.text}, band {band}, "
        f"plug-in {found.decimal('plugin').text}",
        judge=judge,
    )


def judge_marks(judges: Mapping[str, Source], component: str) -> list[Mark]:
    """Return one component of every judge that has it."""
    return [
        _mark(judge.at("components", component), component, name)
        for name, judge in zip(unique_labels(list(judges)), judges.values(), strict=True)
        if judge.at("components", component).known
    ]


def shares(judges: Mapping[str, Source]) -> list[Share]:
    """Return the shares of the total of every judge that has them."""
    found = []
    for name, judge in zip(unique_labels(list(judges)), judges.values(), strict=True):
        components = judge.at("components")
        for component in present(components, PARTS):
            share = components.at(component).percent("share")
            if share.value is None:
                continue
            found.append(
                Share(
                    judge=name,
                    component=component,
                    share=share.value,
                    text=share.text,
                    label=f"{name}, {LABELS[component]}: {share.text} of the disagreement",
                )
            )
    return found


def depth_points(judge: Source) -> list[DepthPoint]:
    """Return plug-in and corrected prompt, order and interaction at every nested depth."""
    depths = judge.at("depths")
    points = []
    for name in ("prompt", "order", "interaction"):
        for depth in sorted(map(int, depths.document or {})):
            found = depths.at(str(depth), name)
            if not found.known:
                continue
            low, high = found.value("band") or (None, None)
            at = f"{LABELS[name]} at R = {depth}"
            band = plain(found.interval("band"))
            points.append(
                DepthPoint(
                    component=name,
                    repeats=depth,
                    estimate=found.value("estimate"),
                    plugin=found.value("plugin"),
                    low=low,
                    high=high,
                    label=f"{at}: corrected {found.decimal('estimate').text}, band {band}",
                    plugin_label=f"{at}: plug-in {found.decimal('plugin').text}",
                )
            )
    return points


def distances(judge: Source) -> list[Distance]:
    """Return the squared distance of every pair of prompts."""
    found = judge.at("prompt_distances")
    names = unique_labels(found.value("prompts"))
    return [
        Distance(
            one=one,
            other=other,
            value=found.value("squared", i, j),
            text=found.decimal("squared", i, j, digits=3).text,
            label=f"{one} and {other}: squared distance {found.decimal('squared', i, j).text}",
        )
        for i, one in enumerate(names)
        for j, other in enumerate(names)
    ]


def mean_lean(judge: Source) -> Lean:
    """Return the mean lean to a displayed position."""
    found = judge.at("order_direction")
    low, high = found.value("band") or (None, None)
    lean = found.decimal("lean", digits=3)
    return Lean(
        value=found.value("lean"),
        low=low,
        high=high,
        label=f"mean lean {lean.text}, band {plain(found.interval('band', digits=3))}",
    )


def item_leans(tensor: VerdictTensor) -> NDArray[np.float64] | None:
    """Return each item's share of first-shown minus second-shown choices; None if not known."""
    choices = position_choices(tensor)
    return None if choices is None else choices[:, 0] - choices[:, 1]


def outcome_rows(tensor: VerdictTensor) -> list[Outcome]:
    """Return verdict shares by prompt and order, or by one of them where there are many."""
    counts = tensor.counts.sum(axis=0)
    prompts, orders = unique_labels(tensor.prompts), unique_labels(tensor.orders)
    if len(prompts) * len(orders) <= _ROWS_AT_MOST:
        table = {
            _both(p, o, len(orders)): counts[k, j]
            for k, p in enumerate(prompts)
            for j, o in enumerate(orders)
        }
    elif len(prompts) <= _ROWS_AT_MOST:
        table = {p: counts[k].sum(axis=0) for k, p in enumerate(prompts)}
    else:
        table = {o: counts[:, j].sum(axis=0) for j, o in enumerate(orders)}
    return [
        Outcome(
            row=row,
            verdict=visible(verdict),
            share=float(n[c] / n.sum()),
            label=f"{row}: {visible(verdict)} {n[c]:,} of {n.sum():,} calls",
        )
        for row, n in table.items()
        for c, verdict in enumerate(tensor.verdicts)
        if n.sum()
    ]


def _both(prompt: str, order: str, orders: int) -> str:
    return prompt if orders == 1 else f"{prompt} {order}"


def gaps(rows: Sequence[Mapping[str, float]], what: str) -> list[Gap]:
    """Return agreement by gap from the rows of a drift diagnostic."""
    return [
        Gap(
            gap=row["gap"],
            agreement=row["agreement"],
            low=row.get("low"),
            high=row.get("high"),
            label=f"{what} {row['gap']:g}: agreement {row['agreement']:.4f}",
        )
        for row in rows
    ]


def label(name: str) -> str:
    """Return a name as a chart can hold it."""
    return shortened(visible(name).replace("\n", " "), _NAME_LENGTH)


def unique_labels(names: Sequence[str]) -> list[str]:
    """Shorten names for a chart and keep them apart: a cut that makes two equal is numbered."""
    cut = [label(name) for name in names]
    return [
        text if cut.count(text) == 1 else f"{shortened(text, _NAME_LENGTH - 5)} ({i + 1})"
        for i, text in enumerate(cut)
    ]
