"""Sampled verdicts and token probabilities side by side: a forest of dots, and a table."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass

from judgelaw.analysis import JudgeAnalysis, SoftEvidence, soft_sentence
from judgelaw.page import drawing
from judgelaw.page.component_figure import short_label
from judgelaw.page.document import Inline, Part, Section, TableView, figure, note, paragraph
from judgelaw.page.drawing import Spec, n, names, q

_ROW = 24


@dataclass(frozen=True, kw_only=True)
class Dot:
    """One component from one kind of evidence, with its interval for the items asked."""

    name: str
    value: float
    low: float
    high: float
    colour: str
    label: str


def both_kinds(dots: list[Dot], *, width: int) -> Spec:
    """Draw two rows a component: sampled verdicts, and token probabilities with fewer calls."""
    order = [dot.name for dot in dots]
    rows = [asdict(dot) for dot in dots]
    y = names("name", order)
    ends = {"x": q("low"), "x2": {"field": "high"}, "y": y, "color": drawing.painted()}
    x = q("value", title="component, with its interval for these items")
    dot = {"x": x, "y": y, "color": drawing.painted(), "description": n("label")}
    layers = [drawing.zero("x"), drawing.band(ends, rows), drawing.dots(rows, dot, 70)]
    plot = width - drawing.room_for(order)
    return drawing.chart(drawing.layer(layers, width=plot, height=_ROW * len(rows)))


def soft_section(judge: Part[JudgeAnalysis], *, prefix: str = "") -> Section | None:
    """Return what token probabilities say beside sampled verdicts; None where there are none."""
    soft = judge.known(lambda j: j.soft)
    if soft is None:
        return None
    found = soft.value
    dots = [*_dots(found)]
    depths = f"{max(found.depths)} calls a cell, token probabilities with {found.half}"
    drawn = figure(
        "soft",
        lambda width: both_kinds(dots, width=width),
        label=f"Sampled verdicts with {depths}",
        caption=f"Sampled verdicts with {depths}: the narrower interval with fewer calls.",
    )
    return Section(
        id=f"{prefix}soft",
        title="Token probabilities",
        blocks=(
            paragraph(soft_sentence(found)),
            *([drawn] if dots else []),
            _table(soft),
            note(
                "Each call's probabilities are a verdict of their own. They are averaged over "
                "repeats and never taken for the law from one call, since they move, with the "
                "reasoning before the verdict and with the provider's machines. What they lack is "
                "not divided out: the last but one column shows how far it could move an estimate. "
                "A call is worth as many sampled calls as the squared errors say."
            ),
        ),
    )


def _dots(found: SoftEvidence) -> Iterator[Dot]:
    kinds = (
        ("sampled", found.sampled, drawing.MUTED),
        ("soft", found.depths[found.half], drawing.PROMPT),
    )
    for component, sampled in found.sampled.items():
        if sampled.absent:
            continue
        for kind, values, colour in kinds:
            c = values[component]
            low, high = c.call_interval or (c.estimate, c.estimate)
            name = f"{short_label(component)}, {kind}"
            yield Dot(
                name=name,
                value=c.estimate,
                low=low,
                high=high,
                colour=colour.light,
                label=f"{name}: {c.estimate:.4f} ({low:.4f} to {high:.4f})",
            )


def _table(soft: Part[SoftEvidence]) -> TableView:
    found = soft.value
    full, half = max(found.depths), found.half
    level = "95%, these items"
    return TableView(
        columns=(
            "Component",
            f"Sampled, R = {full}",
            level,
            f"Soft, R = {half}",
            level,
            f"Soft, R = {full}",
            "Missing mass allows",
            "A call is worth",
        ),
        rows=tuple(
            _row(soft, name) for name, component in found.sampled.items() if not component.absent
        ),
        caption="Sampled verdicts and token probabilities, with intervals for the items asked",
        name="soft",
    )


def _row(soft: Part[SoftEvidence], name: str) -> tuple[Inline, ...]:
    sampled = soft.at(lambda s: s.sampled).item(name)
    half = soft.at(lambda s: s.depths).item(soft.value.half).item(name)
    full = soft.at(lambda s: s.components).item(name)
    bounds = soft.at(lambda s: s.bounds).item(name)
    worth = soft.at(lambda s: s.worth).item(name)
    return (
        (short_label(name),),
        (sampled.decimal(lambda c: c.estimate),),
        sampled.interval(lambda c: c.call_interval),
        (half.decimal(lambda c: c.estimate),),
        half.interval(lambda c: c.call_interval),
        (full.decimal(lambda c: c.estimate),),
        bounds.interval(lambda pair: pair),
        (worth.decimal(lambda x: x, 1),),
    )
