"""What came back: verdicts by prompt and order, invalid outputs, agreement with gold labels."""

from judgelaw.report import palette, prepare
from judgelaw.report.document import (
    Block,
    FigureView,
    Inline,
    Prose,
    Section,
    TableView,
    paragraph,
)
from judgelaw.report.figures import theme
from judgelaw.report.figures.outcomes import outcome_bars
from judgelaw.report.numbers import percent
from judgelaw.report.sections.generic import table_view
from judgelaw.report.source import Source
from judgelaw.report.svg import draw
from judgelaw.report.text import visible
from judgelaw.tensor import INVALID, VerdictTensor


def outcomes(judge: Source, tensor: VerdictTensor, *, prefix: str = "") -> Section:
    """Return verdict counts, the share of invalid outputs, and the match with gold."""
    rows = prepare.outcome_rows(tensor)
    verdicts = [visible(v) for v in tensor.verdicts]
    label = "Shares of verdicts by prompt and order"
    wide, narrow = (
        draw(outcome_bars(rows, verdicts, width=w), label=label) for w in (theme.WIDE, theme.NARROW)
    )
    figure = FigureView(
        name="outcomes",
        caption=(_caption(len(tensor.orders)),),
        wide=wide,
        narrow=narrow,
        key=tuple(
            (f"swatch r-{role}", verdict)
            for role, verdict in zip(palette.verdict_roles(verdicts), verdicts, strict=True)
        ),
    )
    blocks: tuple[Block, ...] = (paragraph(*_said(judge)), figure, _counts(judge))
    return Section(id=f"{prefix}outcomes", title="What came back", blocks=blocks)


def _caption(orders: int) -> str:
    if orders == 1:
        return "Shares of verdicts under every prompt."
    return "Candidates are restored before counting: without order effects both orders look alike."


def _said(judge: Source) -> Inline:
    invalid = judge.at("outcomes", INVALID)
    parts: Inline = ("Of ", judge.count("calls"), " calls, ")
    if not invalid.known:
        parts += ("none could be invalid: the alphabet of these verdicts has no such outcome",)
    elif invalid.document == 0:
        parts += ("none gave an invalid output",)
    else:
        parts += (
            judge.count("outcomes", INVALID),
            (
                " gave an invalid output. They stay in the count as an outcome of their own: "
                "dropping them would change both the law and the items"
            ),
        )
    if judge.value("gold_match") is not None:
        parts += (". ", judge.percent("gold_match", digits=1), " match the gold label")
    return (*parts, ".")


def _counts(judge: Source) -> TableView:
    found = judge.at("outcomes")
    calls = judge.value("calls")
    rows = tuple(
        ((visible(v),), (found.count(v),), (percent(n / calls if calls else None, 1),))
        for v, n in found.document.items()
    )
    return TableView(columns=("Verdict", "Calls", "Share"), rows=rows, name="outcomes")


def invalid_section(source: Source) -> Section | None:
    """Return what other treatments of invalid outputs would have said; one line if none is."""
    names = [
        name
        for name in ("invalid_sensitivity", "complete_case")
        if (source.value("tables", name) or {}).get("rows")
    ]
    if not names:
        return None
    blocks: tuple[Block, ...]
    if _nothing_invalid(source):
        blocks = (
            paragraph(
                "No output was invalid and no item is lost, so every treatment of invalid outputs "
                "gives the same estimates."
            ),
        )
    else:
        blocks = (_treatments(), *(_captioned(source, name) for name in names))
    return Section(id="invalid", title="Invalid outputs", blocks=blocks)


def _nothing_invalid(source: Source) -> bool:
    """Whether no table has an invalid output or an item that would be lost to one."""
    rates = _column(source, "invalid_sensitivity", "invalid_rate")
    lost = _column(source, "complete_case", "lost")
    return bool(rates) and all(figure == 0 for figure in (*rates, *lost))


def _column(source: Source, table: str, name: str) -> list[float]:
    found = source.value("tables", table) or {"columns": [name], "rows": []}
    at = found["columns"].index(name)
    return [row[at] for row in found["rows"]]


def _treatments() -> Prose:
    return paragraph(
        "What the estimates would be if invalid outputs were merged into ties, and how many items "
        "would survive if only items with two valid calls in every cell were kept."
    )


def _captioned(source: Source, name: str) -> TableView:
    found = source.at("tables", name)
    return table_view(found, name=name, caption=found.text("title"))
