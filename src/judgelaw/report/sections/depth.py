"""Plug-in against corrected over repeat depth, with the identity that ties them together."""

from judgelaw.report import prepare
from judgelaw.report.document import Block, FigureView, Section, TableView, note, paragraph
from judgelaw.report.figures import theme
from judgelaw.report.figures.components import LABELS
from judgelaw.report.figures.depth import over_depth
from judgelaw.report.numbers import count
from judgelaw.report.source import Source
from judgelaw.report.svg import draw


def depth(judge: Source, *, prefix: str = "") -> Section | None:
    """Return how both estimates move as repeats are added; None without a facet to show."""
    points = prepare.depth_points(judge)
    if not points:
        return None
    title = "Why raw flip rates mislead"
    if judge.value("near_deterministic"):
        said = paragraph(
            "All calls of every cell agree, so the plug-in and the corrected estimate coincide "
            "here, and there is no excess to remove."
        )
        return Section(id=f"{prefix}depth", title=title, blocks=(said, _table(judge)))
    panels = len({p.component for p in points})
    label = "Plug-in and corrected estimates by repeats per cell"
    figure = FigureView(
        name="depth",
        caption=(
            (
                "Rings: plug-in. Dots: corrected, with the interval for items like these. Dashed: "
                "the course that the plug-in takes on average, the corrected value plus a "
                "constant over R."
            ),
        ),
        wide=draw(over_depth(points, width=theme.WIDE, columns=panels), label=label),
        narrow=draw(over_depth(points, width=theme.NARROW, columns=1), label=label),
    )
    blocks: list[Block] = [
        paragraph(
            "Counting relative frequencies as if they were the judge's true law (the plug-in) "
            "takes part of the dice for an effect. The excess falls as one over the repeats, and "
            "never reaches zero."
        ),
        figure,
        _table(judge),
        *_identity(judge),
    ]
    return Section(id=f"{prefix}depth", title=title, blocks=tuple(blocks))


def _table(judge: Source) -> TableView:
    depths = judge.at("depths")
    rows = [
        (
            (LABELS[name],),
            (count(depth_),),
            (found.decimal("plugin"),),
            (found.decimal("estimate"),),
            found.interval("interval"),
        )
        for name in ("prompt", "order", "interaction")
        for depth_ in sorted(map(int, depths.document))
        if (found := depths.at(str(depth_), name)).known
    ]
    columns = ("Component", "R", "Plug-in", "Corrected", "Items like these")
    return TableView(columns=columns, rows=tuple(rows), name="depths")


def _identity(judge: Source) -> list[Block]:
    """Show the check that holds in every sample: R times the excess is a multiple of call."""
    found = judge.at("identity")
    if not found.document:
        return []
    last = len(found.document) - 1
    check = found.at(last)
    return [
        note(
            "Checked on these very calls: R × (plug-in − corrected) prompt = ",
            check.decimal("scaled_excess", digits=5),
            ", and ",
            check.decimal("factor", digits=4),
            " × the call component = ",
            check.decimal("rescaled_call", digits=5),
            ". They agree in every sample; the largest gap over items is ",
            check.measured("largest_gap"),
            ".",
        )
    ]
