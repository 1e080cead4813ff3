"""The order effect with its direction, and the map of prompts."""

from judgelaw.report import prepare
from judgelaw.report.document import FigureView, Inline, Prose, Section, note, paragraph
from judgelaw.report.figures import theme
from judgelaw.report.figures.distance import distance_map
from judgelaw.report.figures.order import leans
from judgelaw.report.source import Source
from judgelaw.report.svg import draw
from judgelaw.tensor import VerdictTensor


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
                "one shown second, over both orders. The dot above is the mean with its band."
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
    }.get(favoured, "Neither position is favoured beyond what redrawn items would show")
    return (
        f"{words}: ",
        found.percent("first", digits=1),
        " of calls chose the first, ",
        found.percent("second", digits=1),
        " the second, a lean of ",
        found.decimal("lean", digits=3),
        " ",
        *found.interval("band", digits=3),
        ".",
    )


def prompts(judge: Source, *, prefix: str = "") -> Section | None:
    """Return which prompts answer alike; None with one prompt."""
    if not judge.at("prompt_distances").known:
        return None
    found = prepare.distances(judge)
    names = {d.one for d in found}
    label = f"Squared distances between the laws of {len(names)} prompts"
    figure = FigureView(
        name="prompts",
        caption=(
            (
                "Unbiased squared distance between the verdict laws of two prompts, mean over "
                "items. Half their weighted mean is the prompt component. Negative: too near to "
                "tell."
            ),
        ),
        wide=draw(distance_map(found, width=theme.WIDE), label=label),
        narrow=draw(distance_map(found, width=theme.NARROW), label=label),
    )
    return Section(
        id=f"{prefix}prompts",
        title="Which prompts answer alike",
        blocks=(_furthest(judge), figure),
    )


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
