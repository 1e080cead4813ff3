"""Where verdict laws sit: every law is a point of the simplex, their mean is the barycentre."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.report import palette
from judgelaw.report.figures import theme
from judgelaw.report.figures.theme import Spec, n, q

_HEIGHT = sqrt(3) / 2
_LINE_HEIGHT = 46
_SHAPES = ("circle", "square", "triangle-up")
_COLOURS = (palette.CALL.light, palette.SECOND.light, palette.ORDER.light)


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

    def place(self, laws: NDArray[np.float64], verdicts: Sequence[str]) -> NDArray[np.float64]:
        """Return (..., 2) coordinates of laws (..., verdicts); linear, so means stay means."""
        right = laws[..., verdicts.index(self.right)]
        top = sum((laws[..., verdicts.index(v)] for v in self.top), start=np.zeros_like(right))
        return np.stack([right + top / 2, top * _HEIGHT], axis=-1)

    def gather(
        self, laws: NDArray[np.float64], verdicts: Sequence[str], steps: int
    ) -> NDArray[np.float64]:
        """Return coordinates rounded to a grid along the edges, so that near laws coincide."""
        right = laws[..., verdicts.index(self.right)]
        top = sum((laws[..., verdicts.index(v)] for v in self.top), start=np.zeros_like(right))
        right, top = np.round(right * steps) / steps, np.round(top * steps) / steps
        return np.stack([right + top / 2, top * _HEIGHT], axis=-1)

    @property
    def scales(self) -> tuple[Spec, Spec]:
        """Channels options of the plane."""
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
    kinds = sorted({p.kind for p in points})
    dots = {
        "x": x,
        "y": y,
        "size": q("size", scale=None, legend=None),
        "shape": n("kind", scale={"domain": kinds, "range": [*_SHAPES[: len(kinds)]]}, legend=None),
        "color": n(
            "kind", scale={"domain": kinds, "range": [*_COLOURS[: len(kinds)]]}, legend=None
        ),
        "description": n("label"),
    }
    centre = {"x": x, "y": y, "description": n("label")}
    layers = [_edges(corners, x, y)]
    if title is None:
        layers += _corner_names(corners, x, y)
    else:
        spokes = {"x": x, "y": y, "x2": {"field": "bx"}, "y2": {"field": "by"}}
        layers.append(theme.marks("rule", rows, spokes, color=palette.LINE.light))
    layers += [
        theme.marks("point", rows, dots, filled=True, opacity=0.55),
        theme.marks(
            "point",
            [asdict(barycentre)],
            centre,
            filled=True,
            shape="diamond",
            size=110,
            opacity=1,
            color=palette.PROMPT.light,
            stroke=palette.PAPER.light,
        ),
    ]  # fmt: skip - one layer an entry
    height = width * _HEIGHT if corners.top else _LINE_HEIGHT
    named: Spec = {} if title is None else {"title": {"text": title, "limit": width}}
    return theme.layer(layers, width=width, height=height, **named)


def _edges(corners: Corners, x: Spec, y: Spec) -> Spec:
    outline: list[dict[str, Any]] = [{"x": 0, "y": 0, "i": 0}, {"x": 1, "y": 0, "i": 1}]
    if corners.top:
        outline += [{"x": 0.5, "y": _HEIGHT, "i": 2}, {"x": 0, "y": 0, "i": 3}]
    encoding = {"x": x, "y": y, "order": q("i")}
    return theme.marks("line", outline, encoding, color=palette.FAINT.light, strokeWidth=1)


def _corner_names(corners: Corners, x: Spec, y: Spec) -> list[Spec]:
    placed = [
        (corners.left, 0.0, 0.0, {"dy": 16, "align": "left"}),
        (corners.right, 1.0, 0.0, {"dy": 16, "align": "right"}),
    ]
    if corners.top:
        placed.append((" or ".join(corners.top), 0.5, _HEIGHT, {"dy": -10, "align": "center"}))
    encoding = {"x": x, "y": y, "text": n("text")}
    return [
        theme.marks(
            "text",
            [{"x": at, "y": high, "text": text}],
            encoding,
            color=palette.MUTED.light,
            **style,
        )
        for text, at, high, style in placed
    ]  # fmt: skip - one layer an entry


def gallery(pictures: Sequence[Spec], *, columns: int) -> Spec:
    """Lay small pictures side by side."""
    return theme.chart({"concat": list(pictures), "columns": columns, "spacing": 22})
