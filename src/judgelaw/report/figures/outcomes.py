"""What the judge answered: verdict shares in every prompt and order."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from judgelaw.report import palette
from judgelaw.report.figures import theme
from judgelaw.report.figures.theme import Spec, n, names, painted, q


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Share of one verdict among the calls of one row of the chart."""

    row: str
    verdict: str
    share: float
    label: str


def outcome_bars(outcomes: Sequence[Outcome], verdicts: Sequence[str], *, width: int) -> Spec:
    """Draw one bar a row, split into verdicts in the order of the alphabet."""
    rows = list(dict.fromkeys(o.row for o in outcomes))
    bars = [bar for row in rows for bar in _stacked(outcomes, row, verdicts)]
    axis = {"title": None, "format": "%", "grid": False, "tickCount": 4}
    encoding = {
        "x": q("start", scale={"domain": [0, 1], "nice": False}, axis=axis),
        "x2": {"field": "end"},
        "y": names("row", rows),
        "color": painted(),
        "description": n("label"),
    }
    style = {"stroke": palette.PAPER.light, "strokeWidth": 1}
    plot = width - theme.room_for(rows) - 14
    layers = [theme.marks("bar", bars, encoding, **style)]
    return theme.chart(theme.layer(layers, width=plot, height={"step": 20}))


def _stacked(
    outcomes: Sequence[Outcome], row: str, verdicts: Sequence[str]
) -> list[dict[str, Any]]:
    colours = palette.verdict_colours(verdicts)
    by_verdict = {o.verdict: o for o in outcomes if o.row == row}
    start = 0.0
    bars: list[dict[str, Any]] = []
    for verdict in verdicts:
        found = by_verdict[verdict]
        if found.share == 0:
            continue
        bars.append(
            {
                "row": row,
                "start": start,
                "end": start + found.share,
                "label": found.label,
                "colour": colours[verdict],
            }
        )
        start += found.share
    return bars
