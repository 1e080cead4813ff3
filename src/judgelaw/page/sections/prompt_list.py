"""Prompts side by side: how often each is right, invalid and unsteady, and what to do with it."""

from collections.abc import Sequence

from judgelaw.blocks import (
    Bar,
    Block,
    Cell,
    Details,
    Facts,
    Paragraph,
    Run,
    Span,
    Table,
    paragraph,
)
from judgelaw.page.subject import Judge, Kind, Report
from judgelaw.vocabulary import COMPONENTS, title
from judgelaw.words import visible

_LISTED = 12
_TAGS = {"drop_prompts": "leave out", "keep_prompt": "use alone", "repair": "repair"}


def prompts(report: Report) -> Sequence[Block] | None:
    """Return the prompts of every judge; None where each has one, or nothing is known of them."""
    several = [judge for judge in report.judges if judge.found.prompts > 1 and _known(judge)]
    if not several:
        return None
    blocks: list[Block] = []
    for judge in several:
        own = _of_judge(judge)
        if len(report.judges) > 1:
            blocks.append(Details(summary=visible(judge.name), blocks=tuple(own), brief=True))
        else:
            blocks += own
    return [*blocks, *_texts(report)]


def _known(judge: Judge) -> bool:
    return bool(judge.found.by_prompt or judge.found.right_by_prompt)


def _of_judge(judge: Judge) -> list[Block]:
    table = _table(judge)
    long = len(table.rows) > _LISTED
    summary = f"All {len(table.rows)} prompts"
    return [_lead(judge), Details(summary=summary, blocks=(table,)) if long else table]


def _lead(judge: Judge) -> Paragraph:
    if not judge.found.right_by_prompt:
        return paragraph("No right answers are known, so prompts are told apart by the rest alone.")
    what = "Right of 100" if judge.found.answer.span is None else "Points off on average"
    return paragraph(
        f"{what} under each prompt, the least right first. Each range is for its own prompt alone."
    )


def _table(judge: Judge) -> Table:
    found, openings = judge.found, judge.report.openings
    right, own = found.right_by_prompt, {row.prompt: i for i, row in enumerate(found.by_prompt)}
    listed = list(judge.tensor.prompts)
    if right:
        listed.sort(key=lambda prompt: right[prompt].estimate)
    worded = any(prompt in openings for prompt in listed)
    nominal = found.scores is None or found.scores.dissimilarity == "nominal"
    made: list[tuple[Cell, ...]] = []
    for prompt in listed:
        cells: list[Cell] = [_named(judge, prompt)]
        if right:
            cells += _right(judge, prompt)
        if own:
            each = judge.place.at("by_prompt", own[prompt])
            cells.append(each.value("invalid", form="100"))
            cells.append(each.value("call", form="100" if nominal else ".4f"))
        if worded:
            cells.append(visible(openings.get(prompt, "")))
        made.append(tuple(cells))
    told = "Right of 100" if found.answer.span is None else "Points off"
    again = "Change when asked again, of 100" if nominal else COMPONENTS["call"].title
    columns = (
        "Prompt",
        *((told, "", title("interval", judge.report.level)) if right else ()),
        *(("Invalid of 100", again) if own else ()),
        *(("First words",) if worded else ()),
    )
    return Table(columns=columns, rows=tuple(made), name="by_prompt")


def _right(judge: Judge, prompt: str) -> tuple[Cell, Cell, Cell]:
    """Return how often a prompt is right, or how far off it is, with its range as bar and text."""
    found, place = judge.found.right_by_prompt[prompt], judge.place.at("right_by_prompt", prompt)
    low, high = found.interval or (None, None)
    span = judge.found.answer.span
    if span is None:
        bar = Bar(found.estimate, low, high)
        return place.value("estimate", form="100"), bar, place.span("interval", form="100", to=True)
    off = place.at("estimate").said(f"{span * (1 - found.estimate):.2f}")
    if low is None or high is None:
        return off, Bar(1 - found.estimate), "-"
    least, most = (
        place.at("interval", i).said(f"{span * (1 - end):.2f}") for i, end in ((1, high), (0, low))
    )
    return off, Bar(1 - found.estimate, 1 - high, 1 - low), Span(least, most, to=True)


def _named(judge: Judge, prompt: str) -> Run:
    """Return the name of a prompt, with what the answer says to do with it."""
    tags = [
        _TAGS[action.kind]
        for action in judge.found.answer.actions
        if action.kind in _TAGS and prompt in action.prompts
    ]
    return (visible(prompt), *(f" ({tag})" for tag in tags))


def _texts(report: Report) -> Sequence[Block]:
    known = report.prompt_texts
    if not known:
        return ()
    pairs = tuple((visible(name), visible(text)) for name, text in known.items())
    return (Details(summary="Full texts of the prompts", blocks=(Facts(pairs=pairs, code=True),)),)


SECTIONS = (
    Kind(
        id="prompts",
        title="Prompts side by side",
        order=30,
        make=prompts,
        of="report",
        open=True,
    ),
)
