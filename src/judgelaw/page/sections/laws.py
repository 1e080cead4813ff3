"""Where verdict laws sit: the simplex with its barycentre, section and figure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.analysis import ItemValues
from judgelaw.blocks import Block, Figure, Paragraph, Spec, note, paragraph
from judgelaw.page import drawing
from judgelaw.page.drawing import n, q
from judgelaw.page.sections.verdicts import Outcome, outcome_bars
from judgelaw.page.subject import Judge, Kind, short_label
from judgelaw.tensor import VerdictTensor
from judgelaw.words import visible

_HEIGHT = sqrt(3) / 2
_LINE_HEIGHT = 46
_SHAPES = ("circle", "square", "triangle-up")
_COLOURS = (drawing.CALL.light, drawing.SECOND.light, drawing.ORDER.light)


@dataclass(frozen=True, kw_only=True)
class Corners:
    """How an alphabet is laid on a triangle: two corners of one verdict, the third of the rest.

    Attributes:
        left, right: verdicts at the base.
        top: verdicts that share the upper corner; empty for two verdicts (a line).
    """

    left: str
    right: str
    top: tuple[str, ...]

    def place(
        self, laws: NDArray[np.float64], verdicts: Sequence[str], steps: int | None = None
    ) -> NDArray[np.float64]:
        """Return (..., 2) coordinates of laws (..., verdicts); linear, so means stay means.

        With `steps` they are rounded to a grid along the edges, so that near laws coincide.
        """
        right = laws[..., verdicts.index(self.right)]
        top = sum((laws[..., verdicts.index(v)] for v in self.top), start=np.zeros_like(right))
        if steps is not None:
            right, top = np.round(right * steps) / steps, np.round(top * steps) / steps
        return np.stack([right + top / 2, top * _HEIGHT], axis=-1)

    @property
    def scales(self) -> tuple[Spec, Spec]:
        """Options of the two channels of the plane."""
        low, high = (-0.02, _HEIGHT + 0.02) if self.top else (-1.0, 1.0)
        return (
            {"scale": {"domain": [-0.02, 1.02], "nice": False}, "axis": None},
            {"scale": {"domain": [low, high], "nice": False}, "axis": None},
        )


def corners_of(verdicts: Sequence[str], totals: NDArray[np.float64]) -> Corners:
    """Choose the base: the two candidates where there are, else the two commonest verdicts."""
    usual = ("candidate_1", "candidate_2")
    if set(usual) <= set(verdicts):
        left, right = usual
    else:
        commonest = [verdicts[i] for i in np.argsort(-totals, kind="stable")[:2]]
        left, right = sorted(commonest, key=list(verdicts).index)
    return Corners(left=left, right=right, top=tuple(v for v in verdicts if v not in {left, right}))


@dataclass(frozen=True, kw_only=True)
class LawPoint:
    """A law, or several that coincide, in the plane."""

    x: float
    y: float
    size: float
    label: str
    kind: str = ""


def simplex(
    points: Sequence[LawPoint],
    barycentre: LawPoint,
    corners: Corners,
    *,
    width: int,
    title: str | None = None,
) -> Spec:
    """Draw laws in their triangle (a line for two verdicts) with the barycentre as a diamond.

    A picture with a title is a small one: no names at its corners, and a line from every law to
    the barycentre, whose mean squared length is the dispersion.
    """
    across, up = corners.scales
    x, y = q("x", **across), q("y", **up)
    rows = [{**asdict(p), "bx": barycentre.x, "by": barycentre.y} for p in points]
    dots = {"x": x, "y": y, **_by_kind(points)}
    centre = {"x": x, "y": y, "description": n("label")}
    diamond = {"color": drawing.PROMPT.light, "stroke": drawing.PAPER.light}
    layers = [_edges(corners, x, y)]
    if title is None:
        layers += _corner_names(corners, x, y)
    else:
        spokes = {"x": x, "y": y, "x2": {"field": "bx"}, "y2": {"field": "by"}}
        layers.append(drawing.marks("rule", rows, spokes, color=drawing.LINE.light))
    layers += [
        drawing.marks("point", rows, dots, filled=True, opacity=0.55),
        drawing.dots([asdict(barycentre)], centre, 110, shape="diamond", **diamond),
    ]
    height = width * _HEIGHT if corners.top else _LINE_HEIGHT
    named: Spec = {} if title is None else {"title": {"text": title, "limit": width}}
    return drawing.layer(layers, width=width, height=height, **named)


def _by_kind(points: Sequence[LawPoint]) -> Spec:
    """Return how points look: shape and colour both tell their kind."""
    kinds = sorted({p.kind for p in points})
    shapes = {"domain": kinds, "range": [*_SHAPES[: len(kinds)]]}
    colours = {"domain": kinds, "range": [*_COLOURS[: len(kinds)]]}
    return {
        "size": q("size", scale=None, legend=None),
        "shape": n("kind", scale=shapes, legend=None),
        "color": n("kind", scale=colours, legend=None),
        "description": n("label"),
    }


def _edges(corners: Corners, x: Spec, y: Spec) -> Spec:
    outline: list[dict[str, Any]] = [{"x": 0, "y": 0, "i": 0}, {"x": 1, "y": 0, "i": 1}]
    if corners.top:
        outline += [{"x": 0.5, "y": _HEIGHT, "i": 2}, {"x": 0, "y": 0, "i": 3}]
    encoding = {"x": x, "y": y, "order": q("i")}
    return drawing.marks("line", outline, encoding, color=drawing.FAINT.light, strokeWidth=1)


def _corner_names(corners: Corners, x: Spec, y: Spec) -> list[Spec]:
    placed = [
        (corners.left, 0.0, 0.0, {"dy": 16, "align": "left"}),
        (corners.right, 1.0, 0.0, {"dy": 16, "align": "right"}),
    ]
    if corners.top:
        placed.append((" or ".join(corners.top), 0.5, _HEIGHT, {"dy": -10, "align": "center"}))
    encoding = {"x": x, "y": y, "text": n("text")}
    return [
        drawing.marks(
            "text",
            [{"x": at, "y": high, "text": text}],
            encoding,
            color=drawing.MUTED.light,
            **style,
        )
        for text, at, high, style in placed
    ]


def gallery(pictures: Sequence[Spec], *, columns: int) -> Spec:
    """Return small pictures side by side, in rows."""
    return drawing.chart({"concat": list(pictures), "columns": columns, "spacing": 22})


_SHOWN = 6
MOST_CORNERS = 3
_BARS = 24
_PICTURE = {3: 190, 2: 148}
"""Width of a small picture: three beside each other on a wide page, two on a phone."""
_GRID = 40
"""Laws are drawn on a grid of this many steps, so that thousands of items stay a small drawing."""
_SMALLEST, _LARGEST, _CROWD = 26.0, 420.0, 16


def laws(judge: Judge) -> Sequence[Block] | None:
    """Return the simplex of item laws and the small pictures of the most dispersed items.

    None for scores, which lie on a line and have their own section, and for more labels than a
    triangle has corners.
    """
    tensor = judge.tensor
    if judge.found.one_call:
        return None
    if is_of_several(tensor):
        return _of_several(judge)
    given = given_verdicts(tensor)
    if tensor.scale is not None or (tensor.single and len(given) > MOST_CORNERS):
        return None
    if tensor.single and len(given) > 1:
        tensor = _only(tensor, given)
    verdicts = tuple(visible(v) for v in tensor.verdicts)
    corners = corners_of(verdicts, tensor.counts.sum(axis=(0, 1, 2)).astype(float))
    every = Figure(
        name="laws",
        title="Every item",
        caption=_every_caption(corners, single=tensor.single),
        chart=lambda width: drawing.chart(
            overview(tensor, corners, width=min(width - 12, _width(corners)))
        ),
        widths=(drawing.NARROW,),
        label=f"Mean verdict law of each of {len(tensor.items)} items",
    )
    chosen = _most_dispersed(judge.found.item_values)
    few = Figure(
        name="laws-items",
        chart=lambda width: _gallery(
            tensor, corners, chosen, columns=3 if width > drawing.NARROW else 2
        ),
        label=_few_label(tensor, chosen),
        title="The items that move most",
        caption=_few_caption(tensor),
    )
    cell, effects = ("item, prompt, order", "prompt and order effects are")
    if tensor.single:
        cell, effects = "item, prompt", "prompt effects are"
    said = paragraph(
        f"Every cell ({cell}) has its own verdict law. In the first figure a point is one item, "
        "the mean of the laws of its cells; in the small ones a point is one cell. Chance is how "
        f"far the law of a cell lies from a corner; {effects} how far the cells of one item lie "
        "from each other."
    )
    return (said, every, few, _caution())


def laws_title(judge: Judge) -> str:
    """Return what is shown: a law of verdicts, or which candidate is chosen."""
    return "Which candidate is chosen" if is_of_several(judge.tensor) else "Verdict distributions"


def given_verdicts(tensor: VerdictTensor) -> tuple[str, ...]:
    """Return the verdicts that some call gave, in the order of the alphabet."""
    totals = tensor.counts.sum(axis=(0, 1, 2)).tolist()
    return tuple(v for v, n in zip(tensor.verdicts, totals, strict=True) if n)


def is_of_several(tensor: VerdictTensor) -> bool:
    """Whether one of three candidates or more is chosen: no triangle can show that."""
    return "candidate_3" in tensor.verdicts


def item_bars(tensor: VerdictTensor, chosen: Sequence[int], *, width: int) -> Spec:
    """Draw the verdict shares of some items, over their prompts and orders."""
    mean = _laws(tensor).mean(axis=(1, 2))
    rows = [(short_label(tensor.items[i]), mean[i]) for i in chosen]
    return _bars(tensor, rows, width)


def _order_bars(tensor: VerdictTensor, chosen: Sequence[int], *, width: int) -> Spec:
    """Draw the verdict shares of some items in each order, over their prompts."""
    mean = _laws(tensor).mean(axis=1)
    rows = [
        (f"{short_label(tensor.items[i])} {visible(order)}", mean[i, o])
        for i in chosen
        for o, order in enumerate(tensor.orders)
    ]
    return _bars(tensor, rows, width)


def _bars(
    tensor: VerdictTensor, rows: Sequence[tuple[str, NDArray[np.float64]]], width: int
) -> Spec:
    verdicts = [visible(v) for v in tensor.verdicts]
    shares = [
        Outcome(row=row, verdict=verdict, share=float(p), label=f"{row}: {verdict} {p:.0%}")
        for row, law in rows
        for verdict, p in zip(verdicts, law, strict=True)
    ]
    return outcome_bars(shares, verdicts, width=width)


def _of_several(judge: Judge) -> Sequence[Block]:
    """Return which candidate is chosen how often, item by item and order by order."""
    tensor, values = judge.tensor, judge.found.item_values
    most = max(1, min(_SHOWN // 2, _BARS // len(tensor.orders)))
    moving = _most_dispersed(values, most)
    chosen = some_items(tensor, values)
    some = "Every item" if len(chosen) == len(tensor.items) else "The items that move most"
    roles = drawing.verdict_roles(tensor.verdicts)
    seen = tensor.counts.sum(axis=(0, 1, 2)).tolist()
    key = tuple(
        (f"swatch r-{role}", visible(v))
        for role, v, there in zip(roles, tensor.verdicts, seen, strict=True)
        if there
    )
    every = Figure(
        name="laws",
        chart=lambda width: item_bars(tensor, chosen, width=width),
        label=f"Shares of verdicts of {len(chosen)} items",
        title=some,
        caption=(
            "Shares of verdicts on each item, over all its prompts and orders." + _sharing(roles)
        ),
        key=key,
    )
    few = Figure(
        name="laws-items",
        chart=lambda width: _order_bars(tensor, moving, width=width),
        label=_few_label(tensor, moving),
        title="Order by order",
        caption=(
            "The items whose cells differ most, in each order: a choice made after seeing the "
            "data, so expect them to look worse than they are. The letters of an order say which "
            "candidate stood in the first slot, in the second, and so on."
        ),
        key=key,
    )
    said = paragraph(
        "Every cell (item, prompt, order) has its own verdict law: a share for each candidate. "
        "Candidates are restored before counting, so without order effects the bars of one item "
        "look alike."
    )
    return (said, every, few, _caution())


def _sharing(roles: Sequence[str]) -> str:
    """Say so where there are more candidates than colours."""
    if len(set(roles)) == len(roles):
        return ""
    return " Candidates without a colour of their own are grey; the bars name them."


def some_items(tensor: VerdictTensor, values: ItemValues) -> list[int]:
    """Return all items where they are few, else those whose cells differ most."""
    few = len(tensor.items) <= _BARS
    return [*range(len(tensor.items))] if few else _most_dispersed(values, _BARS)


def _only(tensor: VerdictTensor, given: Sequence[str]) -> VerdictTensor:
    """Leave out verdicts that no call gave: two labels make a line, not a triangle."""
    keep = [tensor.verdicts.index(v) for v in given]
    return replace(
        tensor, counts=tensor.counts[..., keep], verdicts=tuple(given), ranked=None, soft=None
    )


def _caution() -> Paragraph:
    return note(
        "What is drawn are relative frequencies, so they scatter more than the laws behind them. "
        "The corrected components do not contain that scatter."
    )


def _width(corners: Corners) -> int:
    """Return a width that fits a phone, for the triangle or for the line of two verdicts."""
    return 312 if corners.top else 318


def overview(tensor: VerdictTensor, corners: Corners, *, width: int) -> Spec:
    """Draw the mean law of every item; items that nearly coincide share a larger point."""
    laws_ = _laws(tensor).mean(axis=(1, 2))
    verdicts = [visible(v) for v in tensor.verdicts]
    places = np.round(corners.place(laws_, verdicts, _GRID), 6)
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
    name = short_label(tensor.items[item])
    return simplex(points, centre, corners, width=width, title=name)


def _cell_label(tensor: VerdictTensor, item: int, k: int, o: int) -> str:
    counts = ", ".join(
        f"{visible(v)} {n}" for v, n in zip(tensor.verdicts, tensor.counts[item, k, o], strict=True)
    )
    where = visible(tensor.prompts[k])
    where += "" if tensor.single else f", {visible(tensor.orders[o])}"
    return f"{short_label(tensor.items[item])}, {where}: {counts}"


def _barycentre(
    laws_: NDArray[np.float64], corners: Corners, verdicts: Sequence[str], who: str
) -> LawPoint:
    mean = laws_.mean(axis=0)
    x, y = corners.place(mean, list(verdicts)).tolist()
    text = ", ".join(f"{v} {p:.3f}" for v, p in zip(verdicts, mean, strict=True))
    return LawPoint(x=x, y=y, size=90, label=f"barycentre of {who}: {text}")


def _laws(tensor: VerdictTensor) -> NDArray[np.float64]:
    return np.asarray(tensor.counts / tensor.repeats[..., None])


def _most_dispersed(values: ItemValues, shown: int = _SHOWN) -> list[int]:
    """Choose the items whose cells differ most: largest total less call, corrected."""
    spread = np.nan_to_num(values.of("total") - values.of("call"), nan=-np.inf)
    return [int(i) for i in np.argsort(-spread, kind="stable")[:shown]]


def _every_caption(corners: Corners, *, single: bool) -> str:
    over = "prompts" if single else "prompts and orders"
    said = f"One point an item, averaged over its {over}; larger points hold several "
    said += "items. The diamond is the barycentre of all, the ordinary verdict rate. "
    if len(corners.top) > 1:
        said += f"The upper corner pools {' and '.join(corners.top)}."
    return said


def _few_caption(tensor: VerdictTensor) -> str:
    marks = ["circles", "squares", "triangles"]
    orders = sorted(visible(o) for o in tensor.orders)
    shapes = ", ".join(f"{m} {o}" for m, o in zip(marks, orders, strict=False))
    which = f" ({shapes})" if len(orders) > 1 else ""
    parts = "prompt component" if tensor.single else "prompt, order and interaction together"
    return (
        f"Each cell of one item{which} with a line to the item's barycentre. "
        f"Chosen by the largest corrected {parts}: a choice made "
        "after seeing the data, so expect them to look worse than they are."
    )


def _few_label(tensor: VerdictTensor, chosen: Sequence[int]) -> str:
    names = ", ".join(short_label(tensor.items[i]) for i in chosen)
    return f"Cell laws of the items that move most: {names}"


SECTIONS = (Kind(id="laws", title=laws_title, order=190, make=laws, brief=False),)
