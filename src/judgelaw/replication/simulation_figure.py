"""Figure `simulation`: plug-in bias against theory, and two unbiased estimators, at the null."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from judgelaw.blocks import Spec
from judgelaw.page import drawing
from judgelaw.replication.paper_figures import told
from judgelaw.replication.point_study import PointRow, PointStudy

_Z = 1.96
_SCALE = 1e4
"""Panels c and d are drawn in units of 10^-4."""

_COLOURS = (drawing.PROMPT.light, drawing.CALL.light)
_SHAPES = ("circle", "square")


@dataclass(frozen=True, kw_only=True)
class Mark:
    """One point of a panel with its Monte Carlo error bar (mean -/+ 1.96 standard errors)."""

    panel: str
    prompts: int
    repeats: int
    series: str
    value: float
    low: float
    high: float


def figure_marks(study: PointStudy) -> tuple[Mark, ...]:
    """Prepare every point of panels a to d from the rows at truth zero.

    Panels a, b: bias of the plug-in, simulated and exact, K = 5 and 6. Panels c, d: bias of the
    consecutive-two-repeat and of the complete all-R estimator, in units of 10^-4.
    """
    null = [row for row in study.rows if row.truth == 0]
    counts = sorted({row.prompts for row in null})
    marks: list[Mark] = []
    for index, prompts in enumerate(counts):
        rows = [row for row in null if row.prompts == prompts]
        first, second = chr(ord("a") + index), chr(ord("a") + len(counts) + index)
        for row in rows:
            panel, debiased = row.panel_bias * _SCALE, row.debiased_bias * _SCALE
            marks += [
                _mark(first, row, "simulated", row.plugin_bias, row.plugin_se),
                _mark(first, row, "exact", row.analytic_bias, 0.0),
                _mark(second, row, "two-repeat panels", panel, row.panel_se * _SCALE),
                _mark(second, row, "complete", debiased, row.debiased_se * _SCALE),
            ]
    return tuple(marks)


def figure(study: PointStudy) -> Spec:
    """Return the figure as a Vega-Lite specification; whoever calls it writes or embeds it."""
    marks = figure_marks(study)
    letters = sorted({mark.panel for mark in marks})
    half = len(letters) // 2
    upper = [_bias_panel(marks, letter) for letter in letters[:half]]
    lower = [_estimator_panel(marks, letter) for letter in letters[half:]]
    rows = [{"hconcat": panels, "resolve": {"scale": {"y": "shared"}}} for panels in (upper, lower)]
    apart = {"color": "independent", "shape": "independent", "y": "independent"}
    return drawing.chart({"vconcat": rows, "spacing": 24, "resolve": {"scale": apart}})


def _mark(panel: str, row: PointRow, series: str, value: float, se: float) -> Mark:
    return Mark(
        panel=panel,
        prompts=row.prompts,
        repeats=row.repeats,
        series=series,
        value=value,
        low=value - _Z * se,
        high=value + _Z * se,
    )


def _bias_panel(marks: Sequence[Mark], letter: str) -> Spec:
    """Draw the exact bias as a line and the simulated one as points upon it."""
    chosen = [mark for mark in marks if mark.panel == letter]
    title = "Bias of the plug-in"
    exact = [mark for mark in chosen if mark.series == "exact"]
    simulated = [mark for mark in chosen if mark.series == "simulated"]
    shared = _shared(chosen)
    line = drawing.marks(
        "line", map(asdict, exact), {**shared, "y": drawing.q("value", title=title)}
    )
    return _framed([line, *_points(simulated, shared, _series(chosen), title)], chosen)


def _estimator_panel(marks: Sequence[Mark], letter: str) -> Spec:
    """Draw the two unbiased estimators side by side around zero."""
    chosen = [mark for mark in marks if mark.panel == letter]
    series = _series(chosen)
    beside = {
        **_shared(chosen),
        "xOffset": drawing.n("series", sort=series, scale={"paddingOuter": 1}),
    }
    points = _points(chosen, beside, series, "Bias, in units of 0.0001")
    return _framed([drawing.zero("y"), *points], chosen)


def _series(chosen: Sequence[Mark]) -> list[str]:
    return list(dict.fromkeys(mark.series for mark in chosen))


def _shared(chosen: Sequence[Mark]) -> Spec:
    """Return the channels that all marks of a panel have."""
    x = {"field": "repeats", "type": "ordinal", "title": "Repeats R", "axis": {"labelAngle": 0}}
    return {"x": x, "color": told(_series(chosen), _COLOURS, "top")}


def _points(
    chosen: Sequence[Mark], shared: Spec, series: Sequence[str], title: str
) -> tuple[Spec, Spec]:
    """Return the points of a panel and, below them, their error bars."""
    rows = [asdict(mark) for mark in chosen]
    ends = {"y": drawing.q("low", title=title), "y2": {"field": "high"}}
    bars = drawing.marks("rule", rows, {**shared, **ends}, strokeWidth=1.5)
    # Colour and shape say the same, so that grey print tells the series apart too.
    look = {"y": drawing.q("value", title=title), "shape": told(series, _SHAPES, "top")}
    points = drawing.marks("point", rows, {**shared, **look}, filled=True, size=60, opacity=1)
    return bars, points


def _framed(layers: Sequence[Spec], chosen: Sequence[Mark]) -> Spec:
    heading = f"({chosen[0].panel}) K = {chosen[0].prompts}"
    return drawing.layer(layers, width=230, height=170, title=heading)
