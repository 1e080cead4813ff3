"""Several judges: the comparison that stands at the top."""

from collections.abc import Mapping

from judgelaw.estimate import COMPONENTS
from judgelaw.report import prepare
from judgelaw.report.document import Block, FigureView, Inline, Section, TableView, note
from judgelaw.report.figures import theme
from judgelaw.report.figures.components import LABELS, by_judge, shares
from judgelaw.report.sections.answer import shares_caption, symbols
from judgelaw.report.source import Source
from judgelaw.report.svg import draw
from judgelaw.report.text import visible


def comparison(judges: Mapping[str, Source], settings: Source) -> Section:
    """Return shares, prompt components and all figures of the judges side by side."""
    blocks: list[Block] = [*_shares(judges, shares_caption(settings))]
    for component in ("prompt", "order"):
        blocks += _dumbbells(judges, component, symbols(settings))
    blocks += [_table(judges), _caution()]
    return Section(id="comparison", title="The judges side by side", blocks=tuple(blocks))


def _shares(judges: Mapping[str, Source], caption: Inline) -> list[Block]:
    found = prepare.shares(judges)
    if not found:
        return []
    label = "Shares of disagreement by judge"
    wide, narrow = (draw(shares(found, width=w), label=label) for w in (theme.WIDE, theme.NARROW))
    used = dict.fromkeys(s.component for s in found)
    key = tuple((f"swatch {name}", LABELS[name]) for name in used)
    if len({s.judge for s in found}) < len(judges):
        caption += (" A judge with too little disagreement to split has no bar.",)
    return [FigureView(name="judges-shares", caption=caption, wide=wide, narrow=narrow, key=key)]


def _dumbbells(
    judges: Mapping[str, Source], component: str, key: tuple[tuple[str, str], ...]
) -> list[Block]:
    marks = prepare.judge_marks(judges, component)
    if not marks:
        return []
    label = f"{LABELS[component]} component by judge; " + "; ".join(m.label for m in marks)
    wide, narrow = (draw(by_judge(marks, width=w), label=label) for w in (theme.WIDE, theme.NARROW))
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


def _table(judges: Mapping[str, Source]) -> TableView:
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
