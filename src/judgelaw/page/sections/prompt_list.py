"""Prompts side by side: how often each is right, invalid and unsteady, and what to do with it."""

from collections.abc import Sequence
from math import isnan

from judgelaw.blocks import Bar, Block, Cell, Details, Facts, Paragraph, Run, Table, paragraph
from judgelaw.page.subject import Judge, Kind, Report
from judgelaw.vocabulary import COMPONENTS, title
from judgelaw.words import visible

_LISTED = 12
_TAGS = {"drop_prompts": "leave out", "keep_prompt": "use alone", "repair": "repair"}


def prompts(report: Report) -> Sequence[Block] | None:
    """Return the prompts of every judge; None where each has one."""
    several = [
        judge for judge in report.judges if judge.found.by_prompt and judge.found.prompts > 1
    ]
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


def _of_judge(judge: Judge) -> list[Block]:
    table = _table(judge)
    long = len(table.rows) > _LISTED
    summary = f"All {len(table.rows)} prompts"
    return [_lead(judge), Details(summary=summary, blocks=(table,)) if long else table]


def _lead(judge: Judge) -> Paragraph:
    if not judge.found.right_by_prompt:
        return paragraph("No right answers are known, so prompts are told apart by the rest alone.")
    if judge.found.answer.span is not None:
        return paragraph(
            "How near to right the scores under each prompt are, of 100 points of the scale; the "
            "least right first. Each range is for its own prompt alone."
        )
    return paragraph(
        "Right of 100 under each prompt, the least right first. Each range is for its own prompt "
        "alone."
    )


def _table(judge: Judge) -> Table:
    found, place, level = judge.found, judge.place, judge.report.level
    right, openings = found.right_by_prompt, judge.report.openings
    rows = list(enumerate(found.by_prompt))
    if right:
        rows.sort(key=lambda row: right[row[1].prompt].estimate)
    worded = any(row.prompt in openings for _, row in rows)
    leaning = any(not isnan(row.lean) for _, row in rows)
    nominal = found.scores is None or found.scores.dissimilarity == "nominal"
    made: list[tuple[Cell, ...]] = []
    for at, row in rows:
        each, of = place.at("by_prompt", at), place.at("right_by_prompt", row.prompt)
        cells: list[Cell] = [_named(judge, row.prompt)]
        if worded:
            cells.append(visible(openings.get(row.prompt, "")))
        if right:
            ends = right[row.prompt].interval
            low, high = ends or (None, None)
            cells += [
                of.value("estimate", form="100"),
                Bar(right[row.prompt].estimate, low, high),
                of.span("interval", form="100", to=True),
            ]
        cells += [
            each.value("invalid", form="100"),
            each.value("call", form="100" if nominal else ".4f"),
        ]
        if leaning:
            cells.append(each.value("lean", form="+.1f"))
        made.append(tuple(cells))
    columns = (
        "Prompt",
        *(("First words",) if worded else ()),
        *(("Right of 100", "", title("interval", level)) if right else ()),
        "Invalid of 100",
        "Change when asked again, of 100" if nominal else COMPONENTS["call"].title,
        *(("Lean to the first shown",) if leaning else ()),
    )
    caption = (
        "" if not leaning else "Lean: calls for the answer shown first less the second, of 100"
    )
    return Table(columns=columns, rows=tuple(made), caption=caption, name="by_prompt")


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
