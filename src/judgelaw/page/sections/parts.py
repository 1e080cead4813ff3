"""What the disagreement is made of: changes, components, shares, errors, judges side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import ceil, floor, isnan

from judgelaw.analysis import JudgeAnalysis, LargestComponent
from judgelaw.blocks import (
    Block,
    Cell,
    Figure,
    Paragraph,
    Run,
    Spec,
    Table,
    note,
    paragraph,
    write,
)
from judgelaw.estimate import COMPONENTS as NAMES
from judgelaw.page import drawing
from judgelaw.page.drawing import names, painted, q
from judgelaw.page.forest import Mark, forest
from judgelaw.page.quantity_table import quantity_table
from judgelaw.page.subject import Judge, Kind, Report, present, unique_labels
from judgelaw.quantities import Quantity
from judgelaw.vocabulary import CHANGES, COMPONENTS, components_of, title
from judgelaw.words import judge_of, visible

_FACETS = {"prompt": "prompt", "order": "answer order"}
_TIE = 1e-12
_ROUNDING = 1e-9
_PARTS = tuple(name for name in NAMES if name != "total")
_LABEL_LEAST = 0.1
"""A part below this part of a wide bar has no room for a range inside."""
_KEYS = (
    "estimate",
    "interval",
    "call_interval",
    "plugin",
    "share_item_interval",
    "share_interval",
)


def label(component: str) -> str:
    """Return what a component is called."""
    return COMPONENTS[component].title


def changes(judge: Judge) -> Sequence[Block] | None:
    """Return how often the verdict changes between two calls, for both targets."""
    scored = judge.found.scores is not None
    said = (
        "How many points two scores of one item are apart, on average."
        if scored
        else "How often the verdict on an item changes between two calls."
    )
    shown = [c for c in CHANGES if not (judge.found.single and c in {"swap", "both"})]
    table = quantity_table(
        [((CHANGES[c].title,), judge.place.at("changes", c)) for c in shown],
        ("estimate", "call_interval", "interval"),
        first=("Between two calls",),
        level=judge.report.level,
        form=".2f" if scored else ".4f",
        name="changes",
    )
    return (paragraph(said), table)


def components(judge: Judge) -> Sequence[Block]:
    """Return the components of one judge with all that is known of them; none from one call."""
    if judge.found.one_call:
        return _warnings(judge)
    return [
        *_share_figure(judge),
        _figure(judge),
        _table(judge),
        *([_negative(judge)] if _first_negative(judge) else []),
        *_fixed(judge),
        *_warnings(judge),
        *_lead(judge),
        *_drawn(judge),
        *_permutation(judge),
        *_split(judge),
    ]


def shares_caption(level: float) -> str:
    """Say what bars and percentages of shares mean."""
    return (
        "Widths are estimated parts of the total; a part whose estimate is not above 0 has none. "
        f"Percentages are {100 * level:g}% ranges of the shares, on these items."
    )


def symbols(level: float) -> tuple[tuple[str, str], ...]:
    """Return what dots, rings, bars and lines mean."""
    return (
        ("dot", title("estimate").lower()),
        ("ring", title("plugin").lower()),
        ("bar", title("interval", level)),
        ("line", title("call_interval", level)),
    )


def _share_figure(judge: Judge) -> Sequence[Block]:
    found = shares_of({"": judge.found})
    if not found:
        return ()
    key = tuple((f"swatch {s.component}", f"{label(s.component)} {s.text}") for s in found)
    return (
        Figure(
            name="shares",
            chart=lambda width: shares(found, width=width),
            label="Parts of the disagreement: " + "; ".join(s.label for s in found),
            caption=shares_caption(judge.report.level),
            key=key,
        ),
    )


def _figure(judge: Judge) -> Figure:
    marks = component_marks(judge.found)
    return Figure(
        name="components",
        chart=lambda width: forest(marks, width=width, title=_axis(judge.found), step=38),
        label="Components of disagreement with intervals; " + "; ".join(m.label for m in marks),
        caption=_unit(judge.found),
        key=symbols(judge.report.level),
    )


def _unit(judge: JudgeAnalysis) -> str:
    """Say what the number of a component means, and what adds up to the total."""
    listed = [label(name) for name in components_of(_PARTS, single=judge.single)]
    *most, last = [listed[0], *(word.lower() for word in listed[1:])]
    parts = f"{', '.join(most)} and {last} add up to the total."
    if judge.scores is not None:
        return f"{judge.scores.meaning} {parts}"
    return (
        "Each component is a probability: how much more often two calls disagree because of it. "
        f"{parts}"
    )


def _axis(judge: JudgeAnalysis) -> str:
    unit = {
        "numeric": "variance, squared points",
        "ordinal": "distance of two calls, share of scale",
    }
    kind = "nominal" if judge.scores is None else judge.scores.dissimilarity
    return unit.get(kind, "probability that two calls disagree")


def _table(judge: Judge) -> Table:
    place, drawn = judge.place, judge.found.projection
    rows = [((label(name),), place.at("components", name)) for name in judge.components]
    table = quantity_table(
        rows, _KEYS, first=("Component",), level=judge.report.level, name="components"
    )
    if drawn is None:
        return table
    # Of drawn prompts, and these items: what other prompts of the generator would have given.
    known = not isnan(drawn.low)
    at = 1 + _KEYS.index("plugin")
    own = place.at("projection").span(ends=("low", "high"))
    return Table(
        columns=(
            *table.columns[:at],
            f"{100 * judge.report.level:g}%, prompts like these",
            *table.columns[at:],
        ),
        rows=tuple(
            (*row[:at], own if name == "prompt" and known else "-", *row[at:])
            for name, row in zip(judge.components, table.rows, strict=True)
        ),
        name=table.name,
    )


def _warnings(judge: Judge) -> list[Paragraph]:
    """Say what to know before quoting: absent facets, missing intervals, items left out."""
    return [paragraph(_sentence(warning)) for warning in judge.found.warnings]


def _sentence(words: str) -> str:
    shown = visible(words)
    return shown[:1].upper() + shown[1:] + ("" if shown.endswith((".", "!", "?")) else ".")


def negative(judge: JudgeAnalysis) -> list[str]:
    """Return the components that came out below zero."""
    return [n for n in present(judge.components) if judge.components[n].estimate < 0]


def _first_negative(judge: Judge) -> bool:
    """Whether this is the first judge with a negative estimate, where they are explained."""
    first = next((each for each in judge.report.judges if negative(each.found)), None)
    return first is judge


def _negative(judge: Judge) -> Paragraph:
    listed = " and ".join(label(name).lower() for name in negative(judge.found))
    return note(
        f"Why is {listed} negative? Negative estimates are printed as they come: the truth is "
        "never below 0, so such a component is too small for these calls to see. Setting it to 0 "
        "would bias every average."
    )


def _fixed(judge: Judge) -> tuple[Paragraph, Paragraph]:
    """Say what was fixed before any verdict was seen, and what each interval is for."""
    report = judge.report
    settings = report.analysis.settings
    prompts = (
        "The prompts are taken as the whole declared set (a census)."
        if settings.design == "census"
        else "The prompts are taken as a sample from their generator."
    )
    axes = "prompts and repeats" if judge.found.single else "prompts, orders and repeats"
    beforehand = (
        f"Items, {axes} were frozen before the first request."
        if report.frozen is not None
        else "What was fixed before the first request is not known: these calls come as a table."
    )
    return (
        note(f"{beforehand} {prompts}"),
        note(
            "Two intervals, each at ",
            report.document.value("settings", "level", form=".0%"),
            ". “Items like these” is for other items of the same kind: it covers the choice of "
            "items and chance, and allows for a kind of item that is rare and was not drawn. "
            "“These items” is for the same items asked again: it covers chance alone. Shares are "
            "ranges for the same two targets. Below four repeats the second interval misses more "
            "often than it says.",
        ),
    )


def _lead(judge: Judge) -> Sequence[Block]:
    lead, place = judge.found.lead, judge.place.at("lead")
    if lead is None or lead.call_interval is None or lead.by <= _TIE:
        return ()
    largest, second = (label(name).lower() for name in (lead.largest, lead.second))
    said: Run = (
        f"The largest estimate is {largest}, ahead of {second} by ",
        place.value("by"),
        ": ",
        place.span("call_interval"),
        " on these items",
    )
    if lead.interval is not None:
        said += (", ", place.span("interval"), " for items like these")
    return (paragraph(*said, _settled(lead, judge.report.level)),)


def _settled(lead: LargestComponent, level: float) -> str:
    """Say for which items the lead over every other component is shown."""
    exceeds = f". It exceeds every other component ({100 * level:g}%)"
    if lead.settled:
        return f"{exceeds}, for other items like these too."
    if lead.settled_here:
        return f"{exceeds} on these items; for other items that is open."
    return ". Which component leads is open."


def _drawn(judge: Judge) -> Sequence[Block]:
    """Say what drawing other prompts from the generator would do; sampled designs only."""
    sampled = judge.report.analysis.settings.design == "sampled"
    found, place = judge.found.components["prompt"], judge.place.at("components", "prompt")
    if not sampled or found.call_interval is None:
        return ()
    return (
        paragraph(
            "For the generator behind these prompts the prompt component is ",
            place.value("estimate"),
            ", between ",
            place.value("call_interval", 0),
            " and ",
            place.value("call_interval", 1),
            " on these items: the intervals cover the drawing of other prompts as well.",
        ),
    )


def _permutation(judge: Judge) -> Sequence[Block]:
    tests = [
        facet
        for facet, test in judge.found.permutation.items()
        if test is not None and not isnan(test.p)
    ]
    said: Run = ()
    for facet in tests:
        p = judge.place.value("permutation", facet, "p", form="p")
        said += ("; " if said else "", f"no {_FACETS[facet]} effect, p = ", p)
    return (paragraph("Permutation test of ", *said, "."),) if tests else ()


def _split(judge: Judge) -> Sequence[Block]:
    """Say how much of the error more repeats would remove, and how much only more items."""
    split, place = judge.found.split, judge.place.at("split")
    shown = [n for n in judge.present if n in split and not isnan(split[n].call)]
    if not shown:
        return ()
    rows: list[tuple[Cell, ...]] = [
        (
            label(name),
            *(place.value(name, key, form="any") for key in ("call", "item", "total")),
            place.value(name, "reliability", form=".2f"),
        )
        for name in shown
    ]
    table = Table(
        columns=("Component", "From calls", "From items", "Sum", "Reliability of an item"),
        rows=tuple(rows),
        caption="Variance of each average, by where it comes from",
        name="split",
    )
    said = (
        "More repeats shrink the part from calls, more items the part from items. The "
        "reliability of single items is the share of true differences in the spread of "
        "item estimates: near 0, a ranking of items is noise."
    )
    if any(split[name].reliability < 0 for name in shown):
        said += (
            " It is negative where item estimates spread less than their call errors alone would "
            "make them: printed raw, it says that no difference between items was seen."
        )
    return (table, note(said))


def comparison(report: Report) -> Sequence[Block] | None:
    """Return shares, prompt components and all figures of several judges side by side."""
    if len(report.judges) == 1:
        return None
    judges = {judge.name: judge.found for judge in report.judges if not judge.found.one_call}
    if not judges:
        return None
    blocks: list[Block] = [*_shares_of_judges(judges, report)]
    for component in ("prompt", "order"):
        blocks += _judges_by(judges, component, report)
    top = [f for f in report.analysis.diagnostics if f.name == "top_judge"]
    said = [paragraph(visible(f"{found.headline} {found.advice}")) for found in top]
    return [*said, *blocks, _table_of_judges(report), _caution()]


def side_by_side(report: Report) -> str:
    """Return what stands side by side: judges, or the criteria of one."""
    one = len({judge_of(judge.name) for judge in report.judges}) == 1
    return "The criteria side by side" if one else "The judges side by side"


def _shares_of_judges(judges: Mapping[str, JudgeAnalysis], report: Report) -> Sequence[Block]:
    found = shares_of(judges)
    if not found:
        return ()
    used = dict.fromkeys(s.component for s in found)
    caption: Run = (shares_caption(report.level),)
    if len({s.judge for s in found}) < len(judges):
        caption += (" A judge with too little disagreement to split has no bar.",)
    return (
        Figure(
            name="judges-shares",
            chart=lambda width: shares(found, width=width),
            label="Shares of disagreement by judge",
            caption=caption,
            key=tuple((f"swatch {name}", label(name)) for name in used),
        ),
    )


def _judges_by(
    judges: Mapping[str, JudgeAnalysis], component: str, report: Report
) -> Sequence[Block]:
    marks = judge_marks(judges, component)
    if not marks:
        return ()
    heading = f"{label(component)} component"
    return (
        Figure(
            name=f"judges-{component}",
            chart=lambda width: forest(marks, width=width, title=None, step=34),
            label=f"{heading} by judge; " + "; ".join(m.label for m in marks),
            title=heading,
            key=symbols(report.level),
        ),
    )


def _table_of_judges(report: Report) -> Table:
    shown = components_of(NAMES, single=report.single)
    rows = tuple(
        (
            visible(judge.name),
            *component_cells(judge, shown),
            judge.place.value("items", form=",d"),
        )
        for judge in report.judges
    )
    return Table(columns=("Judge", *map(label, shown), "Items"), rows=rows, name="judges")


def component_cells(judge: Judge, shown: Sequence[str]) -> list[Cell]:
    """Return the estimates of these components, as the cells of a row."""
    place = judge.place.at("components")
    return [
        "not varied" if place.at(name).found is None else place.value(name, "estimate")
        for name in shown
    ]


def _caution() -> Block:
    return note(
        "Overlapping intervals do not show that two judges are equal, and each interval is for its "
        "own figure alone. The items are shared, so compare judges by the paired differences that "
        "“judgelaw compare” gives, adjusted for all that it prints."
    )


# Charts ---------------------------------------------------------------------------------------


def component_marks(judge: JudgeAnalysis) -> list[Mark]:
    """Return the components of one judge at its full depth."""
    return [_mark(judge.components[name], name, label(name)) for name in present(judge.components)]


def _mark(found: Quantity, component: str, row: str, judge: str = "") -> Mark:
    said = f"{write(found.estimate, '.4f')}  {interval_text(found.interval)}".strip()
    who, plugin = f"{judge}, " if judge else "", write(found.plugin, ".4f")
    return Mark(
        name=row,
        value=found.estimate,
        band=found.interval,
        line=found.call_interval,
        ring=found.plugin,
        colour=drawing.COMPONENT[component],
        text="" if judge else said,
        label=f"{who}{label(component)}: {with_intervals(found)}, plug-in {plugin}",
    )


def interval_text(found: tuple[float, float] | None, digits: int = 4) -> str:
    """Write an interval in a chart, or nothing where there is none."""
    if found is None:
        return ""
    low, high = (write(end, f".{digits}f") for end in found)
    return f"[{low}, {high}]"


def with_intervals(found: Quantity) -> str:
    """Write an estimate with its interval for items like these, then for these items."""
    parts = [write(found.estimate, ".4f")]
    intervals = {"items like these": found.interval, "these items": found.call_interval}
    for words, interval in intervals.items():
        text = interval_text(interval)
        parts.append(f"{words} {text}" if text else f"no interval for {words}")
    return ", ".join(parts)


def judge_marks(judges: Mapping[str, JudgeAnalysis], component: str) -> list[Mark]:
    """Return one component of every judge that has it."""
    return [
        _mark(judge.components[component], component, name, name)
        for name, judge in zip(unique_labels(list(judges)), judges.values(), strict=True)
        if component in present(judge.components)
    ]


@dataclass(frozen=True, kw_only=True)
class Share:
    """One component's part of a judge's disagreement.

    Attributes:
        judge, component: whose.
        width: of its bar, from 0 to 1; those of a judge add up to 1.
        text: the range of its share.
    """

    judge: str
    component: str
    width: float
    text: str

    @property
    def label(self) -> str:
        """What it says to who cannot see it."""
        said = f"{self.text} of the disagreement" if self.text else "its share cannot be told"
        return f"{self.judge}, {label(self.component)}: {said}".removeprefix(", ")


def shares(found: Sequence[Share], *, width: int) -> Spec:
    """Draw the parts of the total as one bar a judge, with the range of each share."""
    judges = list(dict.fromkeys(s.judge for s in found))
    bars = [
        {**bar, "end": min(1.0, bar["end"])}
        for judge in judges
        for bar in drawing.stacked((s.width, _bar(s)) for s in found if s.judge == judge)
    ]
    several = len(judges) > 1
    plot = width - (drawing.room_for(judges) + 8 if several else 2)
    y = names("judge", judges, labelFontSize=12)
    if not several:
        y["axis"] = None
    axis = {"title": None, "format": "%", "grid": False, "tickCount": 4} if several else None
    scale = {"domain": [0, 1], "nice": False}
    bar_at = {"x": q("start", scale=scale, axis=axis), "x2": {"field": "end"}, "y": y}
    room = _LABEL_LEAST * drawing.WIDE / plot
    inside = [b for b in bars if b["end"] - b["start"] >= room]
    text_at = {"x": q("middle", scale=scale), "y": y, "text": drawing.n("text")}
    layers = [
        drawing.marks(
            "bar",
            bars,
            {**bar_at, "color": painted(), "description": drawing.n("label")},
            height={"band": 0.8},
            stroke=drawing.PAPER.light,
            strokeWidth=1.5,
        ),
        drawing.marks(
            "text", inside, text_at, color=drawing.PAPER.light, fontWeight=600, fontSize=12
        ),
    ]
    return drawing.chart(drawing.layer(layers, width=plot, height={"step": 34}))


def _bar(share: Share) -> Spec:
    colour = drawing.COMPONENT[share.component]
    return {**asdict(share), "label": share.label, "colour": colour}


def shares_of(judges: Mapping[str, JudgeAnalysis]) -> list[Share]:
    """Return the parts of every judge's disagreement, with the range of each share.

    A part whose estimate is not above zero has no width, and the widths add up to 1. A judge whose
    calls do not tell any share from any other has no bar.
    """
    found = []
    for name, judge in zip(unique_labels(list(judges)), judges.values(), strict=True):
        parts = {c: judge.components[c] for c in present(judge.components, _PARTS)}
        whole = sum(max(0.0, part.estimate) for part in parts.values())
        if whole > 0 and any(_tells(part) for part in parts.values()):
            found += [
                Share(
                    judge=name,
                    component=component,
                    width=max(0.0, part.estimate) / whole,
                    text=share_range(part),
                )
                for component, part in parts.items()
            ]
    return found


def _tells(component: Quantity) -> bool:
    """Whether the range of a share leaves out anything at all."""
    low, high = component.share_interval or (0, 1)
    return low > 0 or high < 1


def share_range(component: Quantity) -> str:
    """Write the shares that the calls allow on these items, nothing where none can be told.

    Whole percents, rounded outwards: a range is never narrower than it is.
    """
    if component.share_interval is None:
        return ""
    low, high = component.share_interval
    return f"{floor(100 * low + _ROUNDING)}–{ceil(100 * high - _ROUNDING)}%"


SECTIONS = (
    Kind(id="comparison", title=side_by_side, order=100, make=comparison, of="report"),
    Kind(id="changes", title="How often verdicts change", order=110, make=changes),
    Kind(id="components", title="What the disagreement is made of", order=120, make=components),
)
