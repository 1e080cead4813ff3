"""What the disagreement is made of: components, shares, errors, and judges side by side."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from judgelaw.estimate import COMPONENTS
from judgelaw.page import component_figure as charts, drawing
from judgelaw.page.component_figure import (
    LABELS,
    by_judge,
    component_marks,
    judge_marks,
    present,
    shares,
    shares_of,
)
from judgelaw.page.document import (
    Block,
    FigureView,
    Inline,
    Prose,
    Section,
    Source,
    TableView,
    note,
    paragraph,
)
from judgelaw.page.drawing import draw
from judgelaw.words import visible

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

    settings: Source
    frozen: bool
    explain_negative: bool
    openings: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> tuple[tuple[str, str], ...]:
        """The symbols of a chart with intervals."""
        return symbols(self.settings)


def symbols(settings: Source) -> tuple[tuple[str, str], ...]:
    """Return what dots, rings, bars and lines mean."""
    level = settings.percent("level").text
    return (
        ("dot", "corrected"),
        ("ring", "plug-in"),
        ("bar", f"{level}, items like these"),
        ("line", f"{level}, these items asked again"),
    )


def answer(judge: Source, about: About, *, prefix: str = "") -> Section:
    """Return the components of one judge."""
    blocks: list[Block] = [
        *_share_figure(judge, shares_caption(about.settings)),
        _estimates(judge, about.key),
    ]
    if about.explain_negative:
        blocks.append(_negative(judge))
    blocks += [_table(judge), _fixed(about)]
    blocks += [
        _lead(judge),
        _drawn(judge, about.settings),
        _permutation(judge),
        _warnings(judge),
        *_split(judge),
    ]
    return Section(
        id=f"{prefix}components",
        title="What the disagreement is made of",
        blocks=tuple(block for block in blocks if not _is_void(block)),
    )


def _is_void(block: Block) -> bool:
    return isinstance(block, Prose) and not block.paragraphs


def shares_caption(settings: Source) -> Inline:
    """Say what bars and percentages of shares mean."""
    said = (
        "Widths are estimated parts of the total; a part whose estimate is not above 0 has none. "
        f"Percentages are {settings.percent('level').text} ranges of the shares, on these items."
    )
    return (said,)


def _share_figure(judge: Source, caption: Inline) -> Sequence[Block]:
    found = shares_of({"": judge})
    if not found:
        return ()
    label = "Parts of the disagreement: " + "; ".join(s.label for s in found)
    wide, narrow = (
        draw(charts.shares(found, width=w), label=label) for w in (drawing.WIDE, drawing.NARROW)
    )
    key = tuple((f"swatch {s.component}", f"{LABELS[s.component]} {s.text}") for s in found)
    return (FigureView(name="shares", caption=caption, wide=wide, narrow=narrow, key=key),)


def _estimates(judge: Source, key: tuple[tuple[str, str], ...]) -> FigureView:
    marks = component_marks(judge)
    label = "Components of disagreement with intervals; " + "; ".join(m.label for m in marks)
    wide, narrow = (
        draw(charts.estimates(marks, width=w), label=label) for w in (drawing.WIDE, drawing.NARROW)
    )
    return FigureView(
        name="components",
        caption=(
            (
                "Each component is a probability: how much more often two calls disagree "
                "because of it. Repeat calls, prompt, answer order and their interaction add "
                "up to the total."
            ),
        ),
        wide=wide,
        narrow=narrow,
        key=key,
    )  # fmt: skip - the caption reads as one


def _table(judge: Source) -> TableView:
    components = judge.at("components")
    columns = (
        "Component",
        "Corrected",
        "Items like these",
        "These items",
        "Plug-in",
        "Share, items like these",
        "Share, these items",
    )
    rows = []
    for name in COMPONENTS:
        found = components.at(name)
        row: tuple[Inline, ...] = (
            (LABELS[name],),
            (found.decimal("estimate"),),
            found.interval("interval"),
            found.interval("call_interval"),
            (found.decimal("plugin"),),
            _share(found, "share_item_interval"),
            _share(found, "share_interval"),
        )
        rows.append(row if found.known else _absent_row(name, len(columns)))
    return TableView(columns=columns, rows=tuple(rows), name="components")


def _share(found: Source, key: str) -> Inline:
    """Write the range of a share; nothing where there is none, as for the total."""
    pair = found.at(key)
    if not pair.known:
        return ("",)
    return (pair.percent(0, digits=1), " to ", pair.percent(1, digits=1))


def _absent_row(name: str, width: int) -> tuple[Inline, ...]:
    return ((LABELS[name],), ("not varied",), *[("",)] * (width - 2))


def _warnings(judge: Source) -> Prose:
    """Say what to know before quoting: absent facets, missing intervals, items left out."""
    found = judge.value("warnings") or []
    return Prose(paragraphs=tuple((_sentence(warning),) for warning in found))


def _sentence(words: str) -> str:
    shown = visible(words)
    return shown[:1].upper() + shown[1:] + ("" if shown.endswith((".", "!", "?")) else ".")


def negative(judge: Source) -> list[str]:
    """Return the components that came out below zero."""
    components = judge.at("components")
    return [n for n in present(components) if components.value(n, "estimate") < 0]


def _negative(judge: Source) -> Prose:
    names = " and ".join(LABELS[name].lower() for name in negative(judge))
    return note(
        f"Why is {names} negative? The estimates are unbiased and printed raw. Where the true "
        "component is near zero, half of all samples fall below it. Read a negative value as "
        "“too small for these calls to see”; setting it to zero would bias every average."
    )


def _fixed(about: About) -> Prose:
    """Say what was fixed before any verdict was seen, and what each interval is for."""
    settings = about.settings
    prompts = (
        "The prompts are taken as the whole declared set (a census)."
        if settings.value("design") == "census"
        else "The prompts are taken as a sample from their generator."
    )
    beforehand = (
        "Items, prompts, orders and repeats were frozen before the first request."
        if about.frozen
        else "What was fixed before the first request is not known: these calls come as a table."
    )
    targets: Inline = (
        "Two intervals, each at ",
        settings.percent("level"),
        (
            ". “Items like these” is for other items of the same kind: it covers the choice of "
            "items and the dice, and allows for a kind of item that is rare and was not drawn. "
            "“These items” is for the same items asked again: it covers the dice alone. Shares "
            "are ranges for the same two targets. Below four repeats the second interval misses "
            "more often than it says."
        ),
    )
    return Prose(note=True, paragraphs=((f"{beforehand} {prompts}",), targets))


def _lead(judge: Source) -> Prose:
    lead = judge.at("lead")
    if not lead.at("call_interval").known or lead.value("by") <= _TIE:
        return Prose(paragraphs=())
    largest, second = (LABELS[lead.text(k)].lower() for k in ("largest", "second"))
    said: Inline = (
        f"The largest estimate is {largest}, ahead of {second} by ",
        lead.decimal("by"),
        ": ",
        *lead.interval("call_interval"),
        " on these items",
    )
    if lead.at("interval").known:
        said += (", ", *lead.interval("interval"), " for items like these")
    return paragraph(*said, _settled(lead))


def _settled(lead: Source) -> str:
    """Say for which items the lead over every other component is shown."""
    if lead.value("settled"):
        return ". It is shown to lead every other component, for other items like these too."
    if lead.value("settled_here"):
        return (
            ". It is shown to lead every other component on these items; for other items that is "
            "open."
        )
    return ". Which component leads is open."


def _drawn(judge: Source, settings: Source) -> Prose:
    """Say what drawing other prompts from the generator would do; sampled designs only."""
    found = judge.at("components", "prompt")
    if settings.value("design") != "sampled" or not found.at("call_interval").known:
        return Prose(paragraphs=())
    return paragraph(
        "For the generator behind these prompts the prompt component is ",
        found.decimal("estimate"),
        ", between ",
        found.decimal("call_interval", 0),
        " and ",
        found.decimal("call_interval", 1),
        " on these items: the intervals cover the drawing of other prompts as well.",
    )


def _permutation(judge: Source) -> Prose:
    parts: list[Inline] = []
    for facet, words in _FACETS.items():
        test = judge.at("permutation", facet)
        if test.value("p") is not None:
            parts.append((f"under every {words}, p = ", test.p_value("p")))
    return paragraph(*_join_tests(parts)) if parts else Prose(paragraphs=())


def _join_tests(parts: Sequence[Inline]) -> Inline:
    said: Inline = ("Shuffling test of one and the same verdict law ",)
    for i, part in enumerate(parts):
        said += ("; " if i else "", *part)
    return (*said, ".")


def _split(judge: Source) -> Sequence[Block]:
    """Say how much of the error more repeats would remove, and how much only more items."""
    split = judge.at("split")
    names = [n for n in present(judge.at("components")) if split.at(n).known]
    rows = tuple(
        (
            (LABELS[name],),
            (split.measured(name, "call"),),
            (split.measured(name, "item"),),
            (split.measured(name, "total"),),
            (split.decimal(name, "reliability", digits=2),),
        )
        for name in names
        if split.value(name, "call") is not None
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
    if any((split.value(name, "reliability") or 0) < 0 for name in names):
        said += (
            " It is negative where item estimates spread less than their call errors alone would "
            "make them: printed raw, it says that no difference between items was seen."
        )
    return (table, note(said))


def comparison(judges: Mapping[str, Source], settings: Source) -> Section:
    """Return shares, prompt components and all figures of the judges side by side."""
    blocks: list[Block] = [*_shares(judges, shares_caption(settings))]
    for component in ("prompt", "order"):
        blocks += _dumbbells(judges, component, symbols(settings))
    blocks += [_table_of_judges(judges), _caution()]
    return Section(id="comparison", title="The judges side by side", blocks=tuple(blocks))


def _shares(judges: Mapping[str, Source], caption: Inline) -> list[Block]:
    found = shares_of(judges)
    if not found:
        return []
    label = "Shares of disagreement by judge"
    wide, narrow = (
        draw(shares(found, width=w), label=label) for w in (drawing.WIDE, drawing.NARROW)
    )
    used = dict.fromkeys(s.component for s in found)
    key = tuple((f"swatch {name}", LABELS[name]) for name in used)
    if len({s.judge for s in found}) < len(judges):
        caption += (" A judge with too little disagreement to split has no bar.",)
    return [FigureView(name="judges-shares", caption=caption, wide=wide, narrow=narrow, key=key)]


def _dumbbells(
    judges: Mapping[str, Source], component: str, key: tuple[tuple[str, str], ...]
) -> list[Block]:
    marks = judge_marks(judges, component)
    if not marks:
        return []
    label = f"{LABELS[component]} component by judge; " + "; ".join(m.label for m in marks)
    wide, narrow = (
        draw(by_judge(marks, width=w), label=label) for w in (drawing.WIDE, drawing.NARROW)
    )
    return [
        FigureView(
            name=f"judges-{component}",
            title=f"{LABELS[component]} component",
            caption=(),
            wide=wide,
            narrow=narrow,
            key=key,
        )
    ]


def _table_of_judges(judges: Mapping[str, Source]) -> TableView:
    rows = tuple(
        (
            (visible(name),),
            *(
                (judge.decimal("components", c, "estimate"),)
                if judge.at("components", c).known
                else ("not varied",)
                for c in COMPONENTS
            ),
            (judge.count("items"),),
        )
        for name, judge in judges.items()
    )
    columns = ("Judge", *(LABELS[c] for c in COMPONENTS), "Items")
    return TableView(columns=columns, rows=rows, name="judges")


def _caution() -> Block:
    return note(
        "Overlapping intervals do not show that two judges are equal, and each interval is for its "
        "own figure alone. The items are shared, so compare judges by the paired differences that "
        "“judgelaw compare” gives, adjusted for all that it prints."
    )
