"""Sampled verdicts and token probabilities side by side."""

from collections.abc import Iterator, Sequence

from judgelaw.analysis import SoftEvidence, soft_sentence
from judgelaw.blocks import Block, Cell, Figure, Table, note, paragraph
from judgelaw.page import drawing
from judgelaw.page.forest import Mark, forest
from judgelaw.page.sections.parts import label
from judgelaw.page.subject import Judge, Kind
from judgelaw.vocabulary import title


def probabilities(judge: Judge) -> Sequence[Block] | None:
    """Return what token probabilities say beside sampled verdicts; None where there are none."""
    found = judge.found.soft
    if found is None:
        return None
    marks = list(_marks(found))
    depths = f"{max(found.depths)} calls a cell, token probabilities with {found.half}"
    drawn = Figure(
        name="soft",
        chart=lambda width: forest(
            marks, width=width, title="component, with its interval for these items", step=24
        ),
        label=f"Sampled verdicts with {depths}",
        caption=(f"Sampled verdicts with {depths}: the narrower interval with fewer calls."),
    )
    return (
        paragraph(*soft_sentence(found, judge.place.at("soft"))),
        *([drawn] if marks else []),
        _table(judge, found),
        note(
            "Each call's probabilities are a verdict of their own. They are averaged over "
            "repeats and never taken for the law from one call, since they move, with the "
            "reasoning before the verdict and with the provider's machines. What they lack is "
            "not divided out: the last but one column shows how far it could move an estimate. "
            "A call is worth as many sampled calls as the squared errors say."
        ),
    )


def _marks(found: SoftEvidence) -> Iterator[Mark]:
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
            name = f"{label(component)}, {kind}"
            yield Mark(
                name=name,
                value=c.estimate,
                band=(low, high),
                colour=colour.light,
                label=f"{name}: {c.estimate:.4f} ({low:.4f} to {high:.4f})",
            )


def _table(judge: Judge, found: SoftEvidence) -> Table:
    full, half = max(found.depths), found.half
    place, ends = judge.place.at("soft"), title("call_interval", judge.report.level)
    rows: list[tuple[Cell, ...]] = [
        (
            label(name),
            place.value("sampled", name, "estimate"),
            place.span("sampled", name, "call_interval"),
            place.value("depths", str(half), name, "estimate"),
            place.span("depths", str(half), name, "call_interval"),
            place.value("components", name, "estimate"),
            place.span("bounds", name),
            place.value("worth", name, form=".1f"),
        )
        for name, sampled in found.sampled.items()
        if not sampled.absent
    ]
    return Table(
        columns=(
            "Component",
            f"Sampled, R = {full}",
            ends,
            f"Soft, R = {half}",
            ends,
            f"Soft, R = {full}",
            title("bounds"),
            "A call is worth",
        ),
        rows=tuple(rows),
        caption="Sampled verdicts and token probabilities, with intervals for the items asked",
        name="soft",
    )


SECTIONS = (Kind(id="soft", title="Token probabilities", order=170, make=probabilities),)
