"""From the analysis to what charts draw: pure, shared by page, notebooks and paper figures."""

from collections.abc import Mapping, Sequence
from math import ceil, floor

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
from judgelaw.report.figures.reference import Discrepancy, Floor
from judgelaw.report.source import Source, plain
from judgelaw.report.text import shortened, visible
from judgelaw.tensor import VerdictTensor

PARTS = tuple(name for name in COMPONENTS if name != "total")
_NAME_LENGTH = 26
_ROWS_AT_MOST = 24
_REJECTED = 0.05
_ROUNDING = 1e-9


def present(components: Source, names: Sequence[str] = COMPONENTS) -> list[str]:
    """Return the components that the design can speak of."""
    return [name for name in names if components.at(name).known]


def component_marks(judge: Source, names: Sequence[str] = COMPONENTS) -> list[Mark]:
    """Return the components of one judge at its full depth."""
    components = judge.at("components")
    return [_mark(components.at(name), name) for name in present(components, names)]


def _mark(found: Source, name: str, judge: str = "") -> Mark:
    low, high = found.value("interval") or (None, None)
    call_low, call_high = found.value("call_interval") or (None, None)
    estimate = found.decimal("estimate")
    who = f"{judge}, " if judge else ""
    plugin = found.decimal("plugin").text
    return Mark(
        component=name,
        estimate=found.value("estimate"),
        plugin=found.value("plugin"),
        low=low,
        high=high,
        call_low=call_low,
        call_high=call_high,
        text=f"{estimate.text}  {_interval(found)}".strip(),
        label=f"{who}{LABELS[name]}: corrected {_with_intervals(found)}, plug-in {plugin}",
        judge=judge,
    )


def _interval(found: Source, key: str = "interval", digits: int = 4) -> str:
    """Write an interval, or nothing where there is none."""
    return plain(found.interval(key, digits=digits)) if found.at(key).known else ""


def _with_intervals(found: Source) -> str:
    """Write an estimate with its interval for items like these, then for these items."""
    parts = [found.decimal("estimate").text]
    for key, words in (("interval", "items like these"), ("call_interval", "these items")):
        interval = _interval(found, key)
        parts.append(f"{words} {interval}" if interval else f"no interval for {words}")
    return ", ".join(parts)


def judge_marks(judges: Mapping[str, Source], component: str) -> list[Mark]:
    """Return one component of every judge that has it."""
    return [
        _mark(judge.at("components", component), component, name)
        for name, judge in zip(unique_labels(list(judges)), judges.values(), strict=True)
        if judge.at("components", component).known
    ]


def shares(judges: Mapping[str, Source]) -> list[Share]:
    """Return the parts of every judge's disagreement, with the range of each share.

    A part whose estimate is not above zero has no width, and the widths add up to 1. A judge whose
    calls do not tell any share from any other has no bar.
    """
    found = []
    for name, judge in zip(unique_labels(list(judges)), judges.values(), strict=True):
        components = judge.at("components")
        parts = present(components, PARTS)
        widths = {c: max(0.0, components.value(c, "estimate")) for c in parts}
        whole = sum(widths.values())
        if whole <= 0 or not any(_tells(components.at(c)) for c in parts):
            continue
        for component, width in widths.items():
            text = share_range(components.at(component))
            said = f"{text} of the disagreement" if text else "its share cannot be told"
            found.append(
                Share(
                    judge=name,
                    component=component,
                    width=width / whole,
                    text=text,
                    label=f"{name}, {LABELS[component]}: {said}".removeprefix(", "),
                )
            )
    return found


def _tells(component: Source) -> bool:
    """Whether the range of a share leaves out anything at all."""
    low, high = component.value("share_interval") or (0, 1)
    return bool(low > 0 or high < 1)


def share_range(component: Source) -> str:
    """Write the shares that the calls allow on these items, nothing where none can be told.

    Whole percents, rounded outwards: a range is never narrower than it is.
    """
    low, high = component.value("share_interval") or (None, None)
    if low is None or high is None:
        return ""
    return f"{floor(100 * low + _ROUNDING)}–{ceil(100 * high - _ROUNDING)}%"


def depth_points(judge: Source) -> list[DepthPoint]:
    """Return plug-in and corrected prompt, order and interaction at every nested depth."""
    depths = judge.at("depths")
    points = []
    for name in ("prompt", "order", "interaction"):
        for depth in sorted(map(int, depths.document or {})):
            found = depths.at(str(depth), name)
            if not found.known:
                continue
            low, high = found.value("interval") or (None, None)
            at = f"{LABELS[name]} at R = {depth}"
            points.append(
                DepthPoint(
                    component=name,
                    repeats=depth,
                    estimate=found.value("estimate"),
                    plugin=found.value("plugin"),
                    low=low,
                    high=high,
                    label=f"{at}: corrected {_with_intervals(found)}",
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


def told_apart(judge: Source) -> bool:
    """Whether the shuffling test tells prompts apart, or was not made and so denies nothing."""
    p = judge.value("permutation", "prompt", "p")
    return p is None or p <= _REJECTED


def mean_lean(judge: Source) -> Lean:
    """Return the mean lean to a displayed position."""
    found = judge.at("order_direction")
    low, high = found.value("band") or (None, None)
    lean = found.decimal("lean", digits=3)
    return Lean(
        value=found.value("lean"),
        low=low,
        high=high,
        label=f"mean lean {lean.text} {_interval(found, 'band', 3)}".strip(),
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


def gaps(finding: Source, words: str) -> tuple[Gap, ...]:
    """Return agreement by gap from the rows of a drift diagnostic."""
    columns = finding.value("columns") or []
    if not {"gap_from", "gap_to", "agreement"} <= set(columns):
        return ()
    at = {name: columns.index(name) for name in columns}
    found = []
    rows = finding.at("rows")
    for i in range(len(rows.document)):
        row = rows.at(i)
        if row.value(at["agreement"]) is None:
            continue
        middle = (row.value(at["gap_from"]) + row.value(at["gap_to"])) / 2
        agreement = row.decimal(at["agreement"])
        found.append(
            Gap(
                gap=middle,
                agreement=row.value(at["agreement"]),
                low=row.value(at["agreement_low"]),
                high=row.value(at["agreement_high"]),
                label=f"{words} {middle:.3g}: agreement {agreement.text}",
            )
        )
    return tuple(found)


def discrepancies(source: Source, judge: str) -> list[Discrepancy]:
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
