"""Figure `simulation`: plug-in bias against theory, and two unbiased estimators, at the null."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from judgelaw.replication.point_study import PointRow, PointStudy

if TYPE_CHECKING:
    import altair as alt


_Z = 1.96
_SCALE = 1e4
"""Panels c and d are drawn in units of 10^-4."""

_INK, _ACCENT, _SECOND = "#333333", "#c44e00", "#0061a8"


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
            marks += _bias_marks(first, row) + _estimator_marks(second, row)
    return tuple(marks)


def figure(study: PointStudy) -> "alt.VConcatChart":
    """Return the figure as an Altair chart; whoever calls it writes or embeds it."""
    import altair as alt  # noqa: PLC0415 - loads when a figure is drawn

    marks = figure_marks(study)
    letters = sorted({mark.panel for mark in marks})
    half = len(letters) // 2
    upper = [_bias_panel(alt, marks, letter) for letter in letters[:half]]
    lower = [_estimator_panel(alt, marks, letter) for letter in letters[half:]]
    rows = [alt.hconcat(*panels, spacing=28).resolve_scale(y="shared") for panels in (upper, lower)]
    whole: alt.VConcatChart = (
        alt.vconcat(*rows, spacing=24)
        .resolve_scale(color="independent", shape="independent", y="independent")
        .configure_view(stroke=None)
        .configure_axis(labelColor=_INK, titleColor=_INK, gridColor="#e6e6e6")
        .configure(font="Helvetica, Arial, sans-serif")
    )
    return whole


def _bias_marks(panel: str, row: PointRow) -> list[Mark]:
    simulated = _mark(panel, row, "simulated", row.plugin_bias, row.plugin_se)
    return [simulated, _mark(panel, row, "exact", row.analytic_bias, 0.0)]


def _estimator_marks(panel: str, row: PointRow) -> list[Mark]:
    pairs = (
        ("two-repeat panels", row.panel_bias, row.panel_se),
        ("complete", row.debiased_bias, row.debiased_se),
    )
    return [_mark(panel, row, name, x * _SCALE, se * _SCALE) for name, x, se in pairs]


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


def _bias_panel(alt: Any, marks: Sequence[Mark], letter: str) -> Any:
    """Draw the exact bias as a line and the simulated one as points upon it."""
    base, chosen = _base(alt, marks, letter)
    title = "Bias of the plug-in"
    exact = base.transform_filter("datum.series === 'exact'")
    line = exact.mark_line().encode(y=alt.Y("value:Q", title=title))
    simulated = base.transform_filter("datum.series === 'simulated'")
    points = _points(alt, simulated, chosen, title)
    return _framed(alt, [line, _bars(alt, simulated), points], chosen)


def _estimator_panel(alt: Any, marks: Sequence[Mark], letter: str) -> Any:
    """Draw the two unbiased estimators side by side around zero."""
    base, chosen = _base(alt, marks, letter)
    series = list(dict.fromkeys(mark.series for mark in chosen))
    offset = alt.XOffset("series:N", sort=series, scale=alt.Scale(paddingOuter=1))
    beside = base.encode(xOffset=offset)
    points = _points(alt, beside, chosen, "Bias, in units of 0.0001")
    zero = (
        alt.Chart(alt.Data(values=[{"zero": 0}]))
        .mark_rule(color=_INK, strokeDash=[3, 3])
        .encode(y="zero:Q")
    )
    return _framed(alt, [zero, _bars(alt, beside), points], chosen)


def _base(alt: Any, marks: Sequence[Mark], letter: str) -> tuple[Any, list[Mark]]:
    chosen = [mark for mark in marks if mark.panel == letter]
    series = list(dict.fromkeys(mark.series for mark in chosen))
    base = alt.Chart(alt.Data(values=[asdict(mark) for mark in chosen])).encode(
        x=alt.X("repeats:O", title="Repeats R", axis=alt.Axis(labelAngle=0)),
        color=alt.Color(
            "series:N",
            title=None,
            scale=alt.Scale(domain=series, range=[_ACCENT, _SECOND]),
            legend=alt.Legend(orient="top", symbolOpacity=1),
        ),
    )
    return base, chosen


def _points(alt: Any, base: Any, chosen: list[Mark], title: str) -> Any:
    series = list(dict.fromkeys(mark.series for mark in chosen))
    # Colour and shape say the same, so that grey print tells the series apart too.
    shape = alt.Shape(
        "series:N",
        title=None,
        scale=alt.Scale(domain=series, range=["circle", "square"]),
        legend=alt.Legend(orient="top", symbolOpacity=1),
    )
    return base.mark_point(filled=True, size=60, opacity=1).encode(
        y=alt.Y("value:Q", title=title), shape=shape
    )


def _bars(alt: Any, base: Any) -> Any:
    return base.mark_rule(strokeWidth=1.5).encode(y=alt.Y("low:Q"), y2=alt.Y2("high:Q"))


def _framed(alt: Any, layers: list[Any], chosen: list[Mark]) -> Any:
    heading = f"({chosen[0].panel}) K = {chosen[0].prompts}"
    return alt.layer(*layers).properties(
        width=230, height=170, title=alt.TitleParams(heading, anchor="start", fontSize=12)
    )
