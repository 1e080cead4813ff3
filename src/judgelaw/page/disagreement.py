"""What the disagreement is made of: components, shares, errors, and judges side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judgelaw.analysis import JudgeAnalysis, LargestComponent, Settings
from judgelaw.page.component_figure import (
    LABELS,
    Share,
    by_judge,
    component_marks,
    components_of,
    estimates,
    judge_marks,
    present,
    shares,
    shares_of,
)
from judgelaw.page.document import (
    Block,
    FigureView,
    Folded,
    Inline,
    Part,
    Prose,
    Section,
    TableView,
    figure,
    finite,
    note,
    paragraph,
)
from judgelaw.quantities import Quantity
from judgelaw.uncertainty import ErrorSplit
from judgelaw.words import judge_of, visible

Judge = Part[JudgeAnalysis]

_FACETS = {"prompt": "prompt", "order": "answer order"}
_TIE = 1e-12


@dataclass(frozen=True, kw_only=True)
class About:
    """What a judge's section has to know of the whole.

    Attributes:
        settings: how the analysis was made.
        frozen: whether the calls come from a run, whose design was frozen beforehand.
        explain_negative: whether this is the first judge with a negative estimate.
        openings: first words of the prompts, by id, where the study is known.
    """

    settings: Part[Settings]
    frozen: bool
    explain_negative: bool
    openings: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[tuple[str, str], ...]:
        """The symbols of a chart with intervals."""
        return symbols(self.settings)


def symbols(settings: Part[Settings]) -> tuple[tuple[str, str], ...]:
    """Return what dots, rings, bars and lines mean."""
    level = _level(settings)
    return (
        ("dot", "corrected"),
        ("ring", "counted without correction (plug-in)"),
        ("bar", f"{level}, items like these"),
        ("line", f"{level}, these items asked again"),
    )


def _level(settings: Part[Settings]) -> str:
    return settings.percent(lambda s: s.level).text


def answer(judge: Judge, about: About, *, prefix: str = "") -> Section:
    """Return the components of one judge."""
    blocks: list[Block] = [
        *_share_figure(judge, shares_caption(about.settings)),
        _estimates(judge, about.key),
    ]
    if about.explain_negative:
        blocks.append(_negative(judge))
    blocks += [_fixed(about, single=judge.value.single), _warnings(judge)]
    more = [
        _table(judge),
        _lead(judge),
        _drawn(judge, about.settings),
        _permutation(judge),
        *_split(judge),
    ]
    said = tuple(block for block in more if not _is_void(block))
    summary = "In full: all figures, what can be said, how sure it is, and why"
    blocks.append(Folded(summary=summary, blocks=said))
    return Section(
        id=f"{prefix}components",
        title="What the disagreement is made of",
        blocks=tuple(block for block in blocks if not _is_void(block)),
    )


def _is_void(block: Block) -> bool:
    return isinstance(block, Prose) and not block.paragraphs


def shares_caption(settings: Part[Settings]) -> Inline:
    """Say what bars and percentages of shares mean."""
    said = (
        "Widths are estimated parts of the total; a part whose estimate is not above 0 has none. "
        f"Percentages are {_level(settings)} ranges of the shares, on these items."
    )
    return (said,)


def _share_figure(judge: Judge, caption: Inline) -> Sequence[Block]:
    found = shares_of({"": judge.value})
    if not found:
        return ()
    label = "Parts of the disagreement: " + "; ".join(s.label for s in found)
    key = tuple((f"swatch {s.component}", f"{LABELS[s.component]} {s.text}") for s in found)
    return (_bars("shares", found, label, caption, key),)


def _bars(
    name: str, found: Sequence[Share], label: str, caption: Inline, key: tuple[tuple[str, str], ...]
) -> FigureView:
    return figure(
        name, lambda width: shares(found, width=width), label=label, caption=caption, key=key
    )


def _estimates(judge: Judge, key: tuple[tuple[str, str], ...]) -> FigureView:
    marks = component_marks(judge.value)
    return figure(
        "components",
        lambda width: estimates(marks, width=width, title=_axis(judge.value)),
        label="Components of disagreement with intervals; " + "; ".join(m.label for m in marks),
        caption=_unit(judge.value),
        key=key,
    )


def _unit(judge: JudgeAnalysis) -> str:
    """Say what the number of a component means, and what adds up to the total."""
    if judge.single:
        parts = "Repeat calls and prompt add up to the total."
    else:
        parts = "Repeat calls, prompt, answer order and their interaction add up to the total."
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


def _table(judge: Judge) -> TableView:
    columns = (
        "Component",
        "Corrected",
        "Items like these",
        "These items",
        "Uncorrected (plug-in)",
        "Share, items like these",
        "Share, these items",
    )
    components = judge.at(lambda j: j.components)
    shown = components_of([judge.value])
    rows = tuple(_row(name, components.item(name), len(columns)) for name in shown)
    return TableView(columns=columns, rows=rows, name="components")


def _row(name: str, found: Part[Quantity], width: int) -> tuple[Inline, ...]:
    if found.value.absent:
        return ((LABELS[name],), ("not varied",), *[("",)] * (width - 2))
    return (
        (LABELS[name],),
        (found.decimal(lambda c: c.estimate),),
        found.interval(lambda c: c.interval),
        found.interval(lambda c: c.call_interval),
        (found.decimal(lambda c: c.plugin),),
        _share(found.known(lambda c: c.share_item_interval)),
        _share(found.known(lambda c: c.share_interval)),
    )


def _share(found: Part[tuple[float, float]] | None) -> Inline:
    """Write the range of a share; nothing where there is none, as for the total."""
    if found is None:
        return ("",)
    low, high = (found.percent(lambda x: x[0], 1), found.percent(lambda x: x[1], 1))
    return (low, " to ", high)


def _warnings(judge: Judge) -> Prose:
    """Say what to know before quoting: absent facets, missing intervals, items left out."""
    return Prose(paragraphs=tuple((_sentence(warning),) for warning in judge.value.warnings))


def _sentence(words: str) -> str:
    shown = visible(words)
    return shown[:1].upper() + shown[1:] + ("" if shown.endswith((".", "!", "?")) else ".")


def negative(judge: JudgeAnalysis) -> list[str]:
    """Return the components that came out below zero."""
    return [n for n in present(judge.components) if judge.components[n].estimate < 0]


def _negative(judge: Judge) -> Prose:
    names = " and ".join(LABELS[name].lower() for name in negative(judge.value))
    return note(
        f"Why is {names} negative? The estimates are unbiased and printed raw. Where the true "
        "component is near zero, half of all samples fall below it. Read a negative value as "
        "“too small for these calls to see”; setting it to zero would bias every average."
    )


def _fixed(about: About, *, single: bool) -> Prose:
    """Say what was fixed before any verdict was seen, and what each interval is for."""
    settings = about.settings
    prompts = (
        "The prompts are taken as the whole declared set (a census)."
        if settings.value.design == "census"
        else "The prompts are taken as a sample from their generator."
    )
    axes = "prompts and repeats" if single else "prompts, orders and repeats"
    beforehand = (
        f"Items, {axes} were frozen before the first request."
        if about.frozen
        else "What was fixed before the first request is not known: these calls come as a table."
    )
    targets: Inline = (
        "Two intervals, each at ",
        settings.percent(lambda s: s.level),
        (
            ". “Items like these” is for other items of the same kind: it covers the choice of "
            "items and the dice, and allows for a kind of item that is rare and was not drawn. "
            "“These items” is for the same items asked again: it covers the dice alone. Shares "
            "are ranges for the same two targets. Below four repeats the second interval misses "
            "more often than it says."
        ),
    )
    return Prose(note=True, paragraphs=((f"{beforehand} {prompts}",), targets))


def _lead(judge: Judge) -> Prose:
    lead = judge.known(lambda j: j.lead)
    if lead is None or lead.value.call_interval is None or lead.value.by <= _TIE:
        return Prose(paragraphs=())
    largest, second = (LABELS[name].lower() for name in (lead.value.largest, lead.value.second))
    said: Inline = (
        f"The largest estimate is {largest}, ahead of {second} by ",
        lead.decimal(lambda x: x.by),
        ": ",
        *lead.interval(lambda x: x.call_interval),
        " on these items",
    )
    if lead.value.interval is not None:
        said += (", ", *lead.interval(lambda x: x.interval), " for items like these")
    return paragraph(*said, _settled(lead.value))


def _settled(lead: LargestComponent) -> str:
    """Say for which items the lead over every other component is shown."""
    if lead.settled:
        return ". It is shown to lead every other component, for other items like these too."
    if lead.settled_here:
        return (
            ". It is shown to lead every other component on these items; for other items that is "
            "open."
        )
    return ". Which component leads is open."


def _drawn(judge: Judge, settings: Part[Settings]) -> Prose:
    """Say what drawing other prompts from the generator would do; sampled designs only."""
    found = judge.at(lambda j: j.components["prompt"])
    ends = found.known(lambda c: c.call_interval)
    if settings.value.design != "sampled" or ends is None:
        return Prose(paragraphs=())
    return paragraph(
        "For the generator behind these prompts the prompt component is ",
        found.decimal(lambda c: c.estimate),
        ", between ",
        ends.decimal(lambda x: x[0]),
        " and ",
        ends.decimal(lambda x: x[1]),
        " on these items: the intervals cover the drawing of other prompts as well.",
    )


def _permutation(judge: Judge) -> Prose:
    said: list[Inline] = []
    for facet, test in judge.at(lambda j: j.permutation).items():
        found = test.known(lambda t: t)
        if found is not None and finite(found.value.p) is not None:
            said.append((f"under every {_FACETS[facet]}, p = ", found.p_value(lambda t: t.p)))
    if not said:
        return Prose(paragraphs=())
    parts = [part for i, test in enumerate(said) for part in ("; " if i else "", *test)]
    return paragraph("Shuffling test of one and the same verdict law ", *parts, ".")


def _split(judge: Judge) -> Sequence[Block]:
    """Say how much of the error more repeats would remove, and how much only more items."""
    split = judge.at(lambda j: j.split)
    names = [n for n in present(judge.value.components) if n in split.value]
    rows = tuple(
        _split_row(name, split.item(name))
        for name in names
        if finite(split.value[name].call) is not None
    )
    if not rows:
        return ()
    columns = ("Component", "From calls", "From items", "Sum", "Reliability of an item")
    table = TableView(
        columns=columns, rows=rows, caption="Variance of each average, by where it comes from"
    )
    said = (
        "More repeats shrink the part from calls, more items the part from items. The "
        "reliability of single items is the share of true differences in the spread of "
        "item estimates: near 0, a ranking of items is noise."
    )
    if any(split.value[name].reliability < 0 for name in names):
        said += (
            " It is negative where item estimates spread less than their call errors alone would "
            "make them: printed raw, it says that no difference between items was seen."
        )
    return (table, note(said))


def _split_row(name: str, split: Part[ErrorSplit]) -> tuple[Inline, ...]:
    return (
        (LABELS[name],),
        (split.measured(lambda s: s.call),),
        (split.measured(lambda s: s.item),),
        (split.measured(lambda s: s.total),),
        (split.decimal(lambda s: s.reliability, 2),),
    )


def comparison(judges: Mapping[str, Judge], settings: Part[Settings]) -> Section:
    """Return shares, prompt components and all figures of the judges side by side."""
    blocks: list[Block] = [*_shares(judges, shares_caption(settings))]
    for component in ("prompt", "order"):
        blocks += _dumbbells(judges, component, symbols(settings))
    blocks += [_table_of_judges(judges), _caution()]
    one = len({*map(judge_of, judges)}) == 1
    title = "The criteria side by side" if one else "The judges side by side"
    return Section(id="comparison", title=title, blocks=tuple(blocks))


def _shares(judges: Mapping[str, Judge], caption: Inline) -> list[Block]:
    found = shares_of(_values(judges))
    if not found:
        return []
    used = dict.fromkeys(s.component for s in found)
    key = tuple((f"swatch {name}", LABELS[name]) for name in used)
    if len({s.judge for s in found}) < len(judges):
        caption += (" A judge with too little disagreement to split has no bar.",)
    return [_bars("judges-shares", found, "Shares of disagreement by judge", caption, key)]


def _values(judges: Mapping[str, Judge]) -> dict[str, JudgeAnalysis]:
    return {name: judge.value for name, judge in judges.items()}


def _dumbbells(
    judges: Mapping[str, Judge], component: str, key: tuple[tuple[str, str], ...]
) -> list[Block]:
    marks = judge_marks(_values(judges), component)
    if not marks:
        return []
    title = f"{LABELS[component]} component"
    return [
        figure(
            f"judges-{component}",
            lambda width: by_judge(marks, width=width),
            label=f"{title} by judge; " + "; ".join(m.label for m in marks),
            title=title,
            key=key,
        )
    ]


def _table_of_judges(judges: Mapping[str, Judge]) -> TableView:
    shown = components_of(judge.value for judge in judges.values())
    rows = tuple(
        ((visible(name),), *component_cells(judge, shown), (judge.count(lambda j: j.items),))
        for name, judge in judges.items()
    )
    columns = ("Judge", *(LABELS[c] for c in shown), "Items")
    return TableView(columns=columns, rows=rows, name="judges")


def component_cells(judge: Judge, names: Sequence[str]) -> list[Inline]:
    """Return the corrected estimates of these components, as the cells of a row."""
    components = judge.at(lambda j: j.components)
    return [
        ("not varied",) if found.value.absent else (found.decimal(lambda c: c.estimate),)
        for found in map(components.item, names)
    ]


def _caution() -> Block:
    return note(
        "Overlapping intervals do not show that two judges are equal, and each interval is for its "
        "own figure alone. The items are shared, so compare judges by the paired differences that "
        "“judgelaw compare” gives, adjusted for all that it prints."
    )
