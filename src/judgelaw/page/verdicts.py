"""What came back: verdicts by prompt and order, invalid outputs, agreement with gold labels."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

from judgelaw.analysis import Analysis, JudgeAnalysis
from judgelaw.arrays import PAIR
from judgelaw.page import drawing
from judgelaw.page.component_figure import unique_labels
from judgelaw.page.document import (
    Block,
    Inline,
    Part,
    Prose,
    Section,
    TableView,
    count,
    figure,
    paragraph,
    percent,
)
from judgelaw.page.drawing import Spec, n, names, painted, q
from judgelaw.page.table_forms import records, table_view
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.words import shortened, visible


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
    colours = drawing.verdict_colours(verdicts)
    bars = [
        bar
        for row in rows
        for bar in drawing.stacked(
            (o.share, {**asdict(o), "colour": colours[o.verdict]}) for o in outcomes if o.row == row
        )
    ]
    axis = {"title": None, "format": "%", "grid": False, "tickCount": 4}
    encoding = {
        "x": q("start", scale={"domain": [0, 1], "nice": False}, axis=axis),
        "x2": {"field": "end"},
        "y": names("row", rows),
        "color": painted(),
        "description": n("label"),
    }
    style = {"stroke": drawing.PAPER.light, "strokeWidth": 1}
    plot = width - drawing.room_for(rows) - 14
    layers = [drawing.marks("bar", bars, encoding, **style)]
    return drawing.chart(drawing.layer(layers, width=plot, height={"step": 20}))


_ROWS_AT_MOST = 24


def outcome_rows(tensor: VerdictTensor) -> list[Outcome]:
    """Return verdict shares by prompt and order, or by one of them where there are many."""
    counts = tensor.counts.sum(axis=0)
    prompts, orders = unique_labels(tensor.prompts), unique_labels(tensor.orders)
    if len(prompts) * len(orders) <= _ROWS_AT_MOST:
        table = {
            _both(p, o, len(orders)): counts[k, j]
            for k, p in enumerate(prompts)
            for j, o in enumerate(orders)
        }
    elif len(prompts) <= _ROWS_AT_MOST:
        table = {p: counts[k].sum(axis=0) for k, p in enumerate(prompts)}
    else:
        table = {o: counts[:, j].sum(axis=0) for j, o in enumerate(orders)}
    return [
        Outcome(
            row=row,
            verdict=visible(verdict),
            share=float(n[c] / n.sum()),
            label=f"{row}: {visible(verdict)} {n[c]:,} of {n.sum():,} calls",
        )
        for row, n in table.items()
        for c, verdict in enumerate(tensor.verdicts)
        if n.sum()
    ]


def _both(prompt: str, order: str, orders: int) -> str:
    return prompt if orders == 1 else f"{prompt} {order}"


def outcomes(judge: Part[JudgeAnalysis], tensor: VerdictTensor, *, prefix: str = "") -> Section:
    """Return verdict counts, the share of invalid outputs, and the match with gold."""
    rows = outcome_rows(tensor)
    verdicts = [visible(v) for v in tensor.verdicts]
    roles = drawing.verdict_roles(verdicts)
    drawn = figure(
        "outcomes",
        lambda width: outcome_bars(rows, verdicts, width=width),
        label="Shares of verdicts by prompt" + ("" if tensor.single else " and order"),
        caption=_caption(len(tensor.orders)),
        key=tuple((f"swatch r-{role}", v) for role, v in zip(roles, verdicts, strict=True)),
    )
    blocks: tuple[Block, ...] = (paragraph(*_said(judge)), drawn, _counts(judge))
    return Section(id=f"{prefix}outcomes", title="What came back", blocks=blocks)


def _caption(orders: int) -> str:
    if orders == 1:
        return "Shares of verdicts under every prompt."
    text = "Candidates are restored before counting: without order effects both orders look alike."
    return text if orders == PAIR else text.replace("both", "all")


def _said(judge: Part[JudgeAnalysis]) -> Inline:
    invalid = judge.value.outcomes.get(INVALID)
    parts: Inline = ("Of ", judge.count(lambda j: j.calls), " calls, ")
    if invalid is None:
        parts += ("none could be invalid: the alphabet of these verdicts has no such outcome",)
    elif invalid == 0:
        parts += ("none gave an invalid output",)
    else:
        parts += (
            judge.count(lambda j: j.outcomes[INVALID]),
            (
                " gave an invalid output. They stay in the count as an outcome of their own: "
                "dropping them would change both the law and the items"
            ),
        )
    if judge.value.gold_match is not None:
        parts += (". ", judge.percent(lambda j: j.gold_match, 1), " match the gold label")
    return (*parts, ".")


def _counts(judge: Part[JudgeAnalysis]) -> TableView:
    calls = judge.value.calls
    rows = tuple(
        (
            (visible(verdict),),
            (count(found.value, where=found.path),),
            (percent(found.value / calls if calls else None, 1),),
        )
        for verdict, found in judge.at(lambda j: j.outcomes).items()
    )
    return TableView(columns=("Verdict", "Calls", "Share"), rows=rows, name="outcomes")


_TREATED = ("invalid_sensitivity", "complete_case")


_UNREAD_AT_MOST = 10
_UNREAD_CUT = 160


def invalid_section(
    analysis: Part[Analysis], *, unread: Sequence[tuple[str, int]] = ()
) -> Section | None:
    """Return replies that gave no verdict, and what other treatments of them would have said.

    Args:
        analysis: what is reported.
        unread: replies without a verdict with how often each came, the most frequent first.
    """
    tables = analysis.at(lambda a: a.tables)
    shown = [t for name in _TREATED if (t := tables.find(name)) is not None and t.value.rows]
    if not shown:
        return None
    blocks: tuple[Block, ...]
    if _nothing_invalid(analysis.value):
        blocks = (
            paragraph(
                "No output was invalid and no item is lost, so every treatment of invalid outputs "
                "gives the same estimates."
            ),
        )
    else:
        captioned = (table_view(t, name=t.value.name, caption=t.value.title) for t in shown)
        single = all(judge.single for judge in analysis.value.judges.values())
        blocks = (*_unread(unread), _treatments(single=single), *captioned)
    return Section(id="invalid", title="Invalid outputs", blocks=blocks)


def _unread(found: Sequence[tuple[str, int]]) -> tuple[Block, ...]:
    """List the most frequent replies that could not be read."""
    if not found:
        return ()
    rows = tuple(
        ((visible(shortened(text, _UNREAD_CUT)) or "(empty)",), (count(times),))
        for text, times in found[:_UNREAD_AT_MOST]
    )
    more = len(found) - len(rows)
    rest = f"; {more:,} other texts came less often" if more > 0 else ""
    caption = f"The most frequent replies that gave no verdict{rest}"
    return (TableView(columns=("Reply", "Times"), rows=rows, caption=caption, name="unread"),)


def _nothing_invalid(analysis: Analysis) -> bool:
    """Whether no table has an invalid output or an item that would be lost to one."""
    sensitivity, complete = (records(analysis.tables.get(name)) for name in _TREATED)
    rates = [row["invalid_rate"] for row in sensitivity]
    lost = [row["lost"] for row in complete]
    return bool(rates) and all(figure == 0 for figure in (*rates, *lost))


def _treatments(*, single: bool) -> Prose:
    if single:
        return paragraph(
            "How many items would survive if only items with two valid calls in every cell were "
            "kept, and what the estimates would be then."
        )
    return paragraph(
        "What the estimates would be if invalid outputs were merged into ties, and how many items "
        "would survive if only items with two valid calls in every cell were kept."
    )
