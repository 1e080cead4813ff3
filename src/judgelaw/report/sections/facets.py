"""The order effect with its direction, and the map of prompts."""

from collections.abc import Mapping

from judgelaw.report import prepare
from judgelaw.report.document import (
    Block,
    FigureView,
    Folded,
    Inline,
    Prose,
    Section,
    TableView,
    note,
    paragraph,
)
from judgelaw.report.figures import theme
from judgelaw.report.figures.distance import distance_map
from judgelaw.report.figures.order import leans
from judgelaw.report.source import Source
from judgelaw.report.svg import draw
from judgelaw.report.text import visible
from judgelaw.tensor import VerdictTensor

_LISTED = 12


def order(judge: Source, tensor: VerdictTensor, *, prefix: str = "") -> Section | None:
    """Return which displayed position is favoured; None where positions are not known."""
    found = judge.at("order_direction")
    items = prepare.item_leans(tensor)
    if not found.known or items is None:
        return None
    mean = prepare.mean_lean(judge)
    label = f"Items by their lean to the first or second shown answer; {mean.label}"
    wide, narrow = (
        draw(leans(items, mean, width=w), label=label) for w in (theme.WIDE, theme.NARROW)
    )
    figure = FigureView(
        name="order",
        caption=(
            (
                "Items by lean: the share of calls for the answer shown first minus that for the "
                "one shown second, over both orders. The dot above is the mean with its interval "
                "for items like these."
            ),
        ),
        wide=wide,
        narrow=narrow,
    )
    return Section(
        id=f"{prefix}order",
        title="Does the position decide?",
        blocks=(
            paragraph(*_direction(found)),
            figure,
            *_prompt_leans(judge),
            note(
                "The order component counts every dependence on order. The lean is its part that "
                "goes one way; an item can depend on order with no lean on average."
            ),
        ),
    )


def _direction(found: Source) -> Inline:
    favoured = found.text("favoured")
    words = {
        "first": "The answer shown first is favoured",
        "second": "The answer shown second is favoured",
    }.get(favoured, "Neither position is shown to be favoured")
    return (
        f"{words}: ",
        found.percent("first", digits=1),
        " of calls chose the first, ",
        found.percent("second", digits=1),
        " the second, a lean of ",
        found.decimal("lean", digits=3),
        " ",
        *found.interval("band", digits=3),
        " for items like these.",
    )


def _prompt_leans(judge: Source) -> tuple[Block, ...]:
    """Show how far each prompt leans to a position, many of them closed; nothing for one prompt."""
    found = judge.at("prompt_leans")
    names = [x["prompt"] for x in found.document or ()]
    if len(names) <= 1:
        return ()
    rows = tuple(
        (
            (visible(name),),
            (found.decimal(k, "lean", digits=3),),
            found.interval(k, "interval", digits=3),
            (_side(found.at(k)),),
        )
        for k, name in enumerate(names)
    )
    table = TableView(
        columns=("Prompt", "Lean", "All prompts together", "Shown to lean to"),
        rows=rows,
        caption=(
            "Lean of each prompt on these items: above 0 to the answer shown first. The intervals "
            "hold for all prompts together"
        ),
        name="prompt_leans",
    )
    if len(rows) <= _LISTED:
        return (table,)
    return (Folded(summary=f"The lean of each of {len(rows)} prompts", blocks=(table,)),)


def _side(lean: Source) -> str:
    if not lean.value("shown"):
        return "neither"
    return "first" if lean.value("lean") > 0 else "second"


def prompts(
    judge: Source, openings: Mapping[str, str] | None = None, *, prefix: str = ""
) -> Section | None:
    """Return which prompts answer alike, and how each begins; None with one prompt."""
    if not judge.at("prompt_distances").known:
        return None
    found = prepare.distances(judge)
    names = {d.one for d in found}
    label = f"Squared distances between the laws of {len(names)} prompts"
    pale = not prepare.told_apart(judge)
    wide, narrow = (
        draw(distance_map(found, width=w, pale=pale), label=label)
        for w in (theme.WIDE, theme.NARROW)
    )
    figure = FigureView(
        name="prompts",
        caption=(
            (
                "Unbiased squared distance between the verdict laws of two prompts, mean over "
                "items. Half their weighted mean is the prompt component. Negative: too near to "
                "tell."
            ),
        ),
        wide=wide,
        narrow=narrow,
    )
    said = _not_told_apart(judge) if pale else _furthest(judge)
    return Section(
        id=f"{prefix}prompts",
        title="Which prompts answer alike",
        blocks=(said, figure, *_wording(judge, openings or {})),
    )


def _not_told_apart(judge: Source) -> Prose:
    return paragraph(
        "No pair is told apart from the others by these calls: shuffling calls between prompts "
        "gives distances as large as these by chance (p = ",
        judge.p_value("permutation", "prompt", "p"),
        "). Do not read a pattern into the map.",
    )


def _wording(judge: Source, openings: Mapping[str, str]) -> tuple[Block, ...]:
    """Show how each prompt begins, where the study is known; many of them closed."""
    names = [n for n in judge.value("prompt_distances", "prompts") if n in openings]
    if not names:
        return ()
    rows = tuple(((visible(name),), (visible(openings[name]),)) for name in names)
    table = TableView(columns=("Prompt", "First words"), rows=rows, name="prompts")
    if len(rows) <= _LISTED:
        return (table,)
    return (Folded(summary=f"How {len(rows)} prompts begin", blocks=(table,)),)


def _furthest(judge: Source) -> Prose:
    found = judge.at("prompt_distances")
    names = found.value("prompts")
    squared = found.value("squared")
    pairs = [(i, j) for i in range(len(names)) for j in range(i)]
    i, j = max(pairs, key=lambda pair: squared[pair[0]][pair[1]])
    return paragraph(
        f"Furthest apart are {prepare.label(names[j])} and {prepare.label(names[i])}, at ",
        found.decimal("squared", i, j),
        ".",
    )
