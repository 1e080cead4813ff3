"""What came back: verdicts by prompt and order, invalid outputs, agreement with gold labels."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from judgelaw.analysis import Analysis, catalogued
from judgelaw.arrays import PAIR
from judgelaw.blocks import (
    Block,
    Cell,
    Figure,
    Paragraph,
    Run,
    Spec,
    Table,
    Value,
    paragraph,
)
from judgelaw.page import drawing
from judgelaw.page.drawing import n, names, painted, q
from judgelaw.page.quantity_table import quantity_cell
from judgelaw.page.subject import Judge, Kind, Report, unique_labels
from judgelaw.page.table_forms import records, table_block
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


def outcomes(judge: Judge) -> Sequence[Block]:
    """Return verdict counts, the share of invalid outputs, and what else is measured of them."""
    tensor = judge.tensor
    rows = outcome_rows(tensor)
    verdicts = [visible(v) for v in tensor.verdicts]
    roles = drawing.verdict_roles(verdicts)
    drawn = Figure(
        name="outcomes",
        chart=lambda width: outcome_bars(rows, verdicts, width=width),
        label="Shares of verdicts by prompt" + ("" if tensor.single else " and order"),
        caption=_caption(len(tensor.orders)),
        key=tuple((f"swatch r-{role}", v) for role, v in zip(roles, verdicts, strict=True)),
    )
    return (paragraph(*_said(judge)), drawn, _counts(judge), *_figures(judge))


def _figures(judge: Judge) -> Sequence[Block]:
    """Show every quantity of the catalogue that these calls have."""
    place, found = judge.place, judge.found.figures
    rows: list[tuple[Cell, ...]] = []
    for name, entry in catalogued().items():
        if found[name].absent:
            continue
        at, cells = place.at(name), found[name]
        bare = cells.interval is None and cells.call_interval is None
        value = at.value(form=entry.form) if bare else at.value("estimate", form=entry.form)
        ends = () if bare else quantity_cell(at, "interval", entry.form)
        rows.append((entry.title, value, ends, entry.meaning))
    if not rows:
        return ()
    columns = ("Of the calls", "Value", "Items like these", "What it is")
    kept = [i for i in range(len(columns)) if any(row[i] for row in rows)]
    return (
        Table(
            columns=tuple(columns[i] for i in kept),
            rows=tuple(tuple(row[i] for i in kept) for row in rows),
            name="figures",
        ),
    )


def _caption(orders: int) -> str:
    if orders == 1:
        return "Shares of verdicts under every prompt."
    text = "Candidates are restored before counting: without order effects both orders look alike."
    return text if orders == PAIR else text.replace("both", "all")


def _said(judge: Judge) -> Run:
    place, found = judge.place, judge.found
    invalid = found.outcomes.get(INVALID)
    parts: Run = ("Of ", place.value("calls", form=",d"), " calls, ")
    if invalid is None:
        return (
            *parts,
            "none could be invalid: the alphabet of these verdicts has no such outcome.",
        )
    if invalid == 0:
        return (*parts, "none gave an invalid output.")
    return (
        *parts,
        place.value("outcomes", INVALID, form=",d"),
        " gave an invalid output. They stay in the count as an outcome of their own: ",
        "dropping them would change both the law and the items.",
    )


def _counts(judge: Judge) -> Table:
    place, calls = judge.place.at("outcomes"), judge.found.calls
    rows: list[tuple[Cell, ...]] = [
        (
            visible(verdict),
            place.value(verdict, form=",d"),
            Value(n / calls if calls else None, ".1%"),
        )
        for verdict, n in judge.found.outcomes.items()
    ]
    return Table(columns=("Verdict", "Calls", "Share"), rows=tuple(rows), name="outcomes")


_TREATED = ("invalid_sensitivity", "complete_case")


_UNREAD_AT_MOST = 10
_UNREAD_CUT = 160


def invalid(report: Report) -> Sequence[Block] | None:
    """Return replies that gave no verdict, and what other treatments of them would have said."""
    tables, place = report.analysis.tables, report.document.at("tables")
    shown = [name for name in _TREATED if name in tables and tables[name].rows]
    if not shown:
        return None
    if _nothing_invalid(report.analysis):
        return (
            paragraph(
                "No output was invalid and no item is lost, so every treatment of invalid outputs "
                "gives the same estimates."
            ),
        )
    captioned = [
        table_block(tables[name], place.at(name), name=name, caption=tables[name].title)
        for name in shown
    ]
    return (*_listed(unread(report)), _treatments(single=report.single), *captioned)


def unread(report: Report) -> list[tuple[str, int]]:
    """Return the replies that gave no verdict, the most frequent first, with how often each came.

    Replies count as the same where they differ in blanks alone.
    """
    found: Counter[str] = Counter()
    for judge in report.judges:
        replies, tensor = (report.completions or {}).get(judge.name), judge.tensor
        if replies and tensor.ranked is not None and INVALID in tensor.verdicts:
            code = tensor.verdicts.index(INVALID)
            for i, k, o, repeat in np.argwhere(tensor.ranked == code).tolist():
                place = (tensor.items[i], tensor.prompts[k], tensor.orders[o], repeat)
                if (text := replies.get(place)) is not None:
                    found[" ".join(text.split())] += 1
    return found.most_common()


def _listed(found: Sequence[tuple[str, int]]) -> Sequence[Block]:
    """List the most frequent replies that could not be read."""
    if not found:
        return ()
    rows = tuple(
        (visible(shortened(text, _UNREAD_CUT)) or "(empty)", Value(times, ",d"))
        for text, times in found[:_UNREAD_AT_MOST]
    )
    more = len(found) - len(rows)
    rest = f"; {more:,} other texts came less often" if more > 0 else ""
    caption = f"The most frequent replies that gave no verdict{rest}"
    return (Table(columns=("Reply", "Times"), rows=rows, caption=caption, name="unread"),)


def _nothing_invalid(analysis: Analysis) -> bool:
    """Whether no table has an invalid output or an item that would be lost to one."""
    sensitivity, complete = (records(analysis.tables.get(name)) for name in _TREATED)
    rates = [row["invalid_rate"] for row in sensitivity]
    lost = [row["lost"] for row in complete]
    return bool(rates) and all(figure == 0 for figure in (*rates, *lost))


def _treatments(*, single: bool) -> Paragraph:
    if single:
        return paragraph(
            "How many items would survive if only items with two valid calls in every cell were "
            "kept, and what the estimates would be then."
        )
    return paragraph(
        "What the estimates would be if invalid outputs were merged into ties, and how many items "
        "would survive if only items with two valid calls in every cell were kept."
    )


SECTIONS = (
    Kind(id="outcomes", title="What came back", order=180, make=outcomes),
    Kind(id="invalid", title="Invalid outputs", order=240, make=invalid, of="report"),
)
