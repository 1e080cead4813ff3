"""Where verdict laws sit: the simplex with its barycentre, over all items and for a few of them."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from judgelaw.report import prepare
from judgelaw.report.document import FigureView, Prose, Section, note, paragraph
from judgelaw.report.figures import theme
from judgelaw.report.figures.simplex import Corners, LawPoint, corners_of, gallery, simplex
from judgelaw.report.figures.theme import Spec
from judgelaw.report.source import Source
from judgelaw.report.svg import draw
from judgelaw.report.text import visible
from judgelaw.tensor import VerdictTensor

_SHOWN = 6
_PICTURE = {3: 190, 2: 148}
"""Width of a small picture: three beside each other on a wide page, two on a phone."""
_GRID = 40
"""Laws are drawn on a grid of this many steps, so that thousands of items stay a small drawing."""
_SMALLEST, _LARGEST, _CROWD = 26.0, 420.0, 16


def laws(judge: Source, tensor: VerdictTensor, *, prefix: str = "") -> Section:
    """Return the simplex of item laws and the small pictures of the most dispersed items."""
    verdicts = tuple(visible(v) for v in tensor.verdicts)
    corners = corners_of(verdicts, tensor.counts.sum(axis=(0, 1, 2)).astype(float))
    label = f"Mean verdict law of each of {len(tensor.items)} items"
    every = FigureView(
        name="laws",
        title="Every item",
        caption=(_every_caption(corners),),
        wide=draw(theme.chart(overview(tensor, corners, width=_width(corners))), label=label),
    )
    chosen = _most_dispersed(judge)
    few = FigureView(
        name="laws-items",
        title="The items that move most",
        caption=(_few_caption(tensor),),
        wide=draw(_gallery(tensor, corners, chosen, columns=3), label=_few_label(tensor, chosen)),
        narrow=draw(_gallery(tensor, corners, chosen, columns=2), label=_few_label(tensor, chosen)),
    )
    said = paragraph(
        "Every cell (item, prompt, order) has its own verdict law. In the first figure a point is "
        "one item, the mean of the laws of its cells; in the small ones a point is one cell. "
        "Call noise is how far the law of a cell lies from a corner; prompt and order effects are "
        "how far the cells of one item lie from each other."
    )
    return Section(
        id=f"{prefix}laws",
        title="Where the verdict laws sit",
        blocks=(said, every, few, _caution()),
    )


def _caution() -> Prose:
    return note(
        "Drawn points are relative frequencies, so they scatter more than the laws behind them. "
        "The corrected components do not contain that scatter."
    )


def _width(corners: Corners) -> int:
    """A triangle fits a phone; the line of two verdicts may be as wide."""
    return 312 if corners.top else 318


def overview(tensor: VerdictTensor, corners: Corners, *, width: int) -> Spec:
    """Draw the mean law of every item; items that nearly coincide share a larger point."""
    laws_ = _laws(tensor).mean(axis=(1, 2))
    verdicts = [visible(v) for v in tensor.verdicts]
    places = np.round(corners.gather(laws_, verdicts, _GRID), 6)
    tally = Counter(map(tuple, places.tolist()))
    most = max(tally.values())
    points = [
        LawPoint(
            x=x,
            y=y,
            size=_SMALLEST + (_LARGEST - _SMALLEST) * (n - 1) / max(most, _CROWD),
            label=f"{n} item{'s' if n > 1 else ''} near this law",
        )
        for (x, y), n in sorted(tally.items())
    ]
    return simplex(points, _barycentre(laws_, corners, verdicts, "all items"), corners, width=width)


def _gallery(tensor: VerdictTensor, corners: Corners, chosen: Sequence[int], columns: int) -> Spec:
    width = _PICTURE[columns]
    return gallery([_one(tensor, corners, i, width) for i in chosen], columns=columns)


def _one(tensor: VerdictTensor, corners: Corners, item: int, width: int) -> Spec:
    verdicts = [visible(v) for v in tensor.verdicts]
    cells = _laws(tensor)[item]
    places = corners.place(cells, verdicts)
    points = [
        LawPoint(
            x=float(places[k, o, 0]),
            y=float(places[k, o, 1]),
            size=60,
            label=_cell_label(tensor, item, k, o),
            kind=visible(order),
        )
        for k in range(len(tensor.prompts))
        for o, order in enumerate(tensor.orders)
    ]
    centre = _barycentre(cells.reshape(-1, len(verdicts)), corners, verdicts, "barycentre")
    name = prepare.label(tensor.items[item])
    return simplex(points, centre, corners, width=width, title=name)


def _cell_label(tensor: VerdictTensor, item: int, k: int, o: int) -> str:
    counts = ", ".join(
        f"{visible(v)} {n}" for v, n in zip(tensor.verdicts, tensor.counts[item, k, o], strict=True)
    )
    where = f"{visible(tensor.prompts[k])}, {visible(tensor.orders[o])}"
    return f"{prepare.label(tensor.items[item])}, {where}: {counts}"


def _barycentre(
    laws_: NDArray[np.float64], corners: Corners, verdicts: Sequence[str], who: str
) -> LawPoint:
    mean = laws_.mean(axis=0)
    x, y = corners.place(mean, list(verdicts)).tolist()
    text = ", ".join(f"{v} {p:.3f}" for v, p in zip(verdicts, mean, strict=True))
    return LawPoint(x=x, y=y, size=90, label=f"barycentre of {who}: {text}")


def _laws(tensor: VerdictTensor) -> NDArray[np.float64]:
    return np.asarray(tensor.counts / tensor.repeats[..., None])


def _most_dispersed(judge: Source) -> list[int]:
    """Choose the items whose cells differ most: largest total less call, corrected."""
    values = judge.at("item_values", "estimates")
    total, call = (np.array(values.value(name), dtype=float) for name in ("total", "call"))
    spread = np.nan_to_num(total - call, nan=-np.inf)
    return [int(i) for i in np.argsort(-spread, kind="stable")[:_SHOWN]]


def _every_caption(corners: Corners) -> str:
    said = "One point an item, averaged over its prompts and orders; larger points hold several "
    said += "items. The diamond is the barycentre of all, the ordinary verdict rate. "
    if len(corners.top) > 1:
        said += f"The upper corner pools {' and '.join(corners.top)}."
    return said


def _few_caption(tensor: VerdictTensor) -> str:
    marks = ["circles", "squares", "triangles"]
    orders = sorted(visible(o) for o in tensor.orders)
    shapes = ", ".join(f"{m} {o}" for m, o in zip(marks, orders, strict=False))
    which = f" ({shapes})" if len(orders) > 1 else ""
    return (
        f"Each cell of one item{which} with a line to the item's barycentre. "
        "Chosen by the largest corrected prompt, order and interaction together: a choice made "
        "after seeing the data, so expect them to look worse than they are."
    )


def _few_label(tensor: VerdictTensor, chosen: Sequence[int]) -> str:
    names = ", ".join(prepare.label(tensor.items[i]) for i in chosen)
    return f"Cell laws of the items that move most: {names}"
