"""Why verdicts are wrong: chance, order, prompt, or the judge itself; each counted once."""

from collections.abc import Sequence

from judgelaw.blocks import Bar, Block, Cell, Run, Table, Value, note, paragraph
from judgelaw.page.subject import Judge, Kind, Report
from judgelaw.vocabulary import REASONS, REASONS_OF_SCORES
from judgelaw.words import visible


def errors(report: Report) -> Sequence[Block] | None:
    """Return how many verdicts are wrong and why; None without right answers."""
    known = [judge for judge in report.judges if judge.found.errors]
    if not known:
        return None
    if len(report.judges) == 1:
        return _of_one(known[0])
    known.sort(key=lambda judge: judge.found.errors["wrong"].estimate)
    reasons = [r for r in REASONS if any(not judge.found.errors[r].absent for judge in known)]
    rows: list[tuple[Cell, ...]] = [
        (visible(judge.name), _part(judge, "wrong"), *(_part(judge, r) for r in reasons))
        for judge in known
    ]
    scored = known[0].found.answer.span is not None
    return (
        paragraph(_OF_SCORES if scored else _OF_SEVERAL),
        Table(
            columns=("", "Wrong", *(REASONS[reason].title for reason in reasons)),
            rows=tuple(rows),
            caption="Points off, on average" if scored else "Of 100 verdicts",
            name="errors",
        ),
        note(*(f"{REASONS[r].title}: {_meaning(r, scored=scored)}. " for r in reasons)),
    )


_OF_SEVERAL = (
    "Of 100 verdicts of each, so many are wrong, counted once each under the first reason that "
    "explains them."
)
_OF_SCORES = "How far scores are off, each part counted once, under the first reason for it."


def _of_one(judge: Judge) -> Sequence[Block]:
    found = judge.found
    scored = found.answer.span is not None
    reasons = [reason for reason in REASONS if not found.errors[reason].absent]
    wrong = found.errors["wrong"].estimate
    ranked = sorted(reasons, key=lambda reason: -found.errors[reason].estimate)
    rows: list[tuple[Cell, ...]] = [
        (
            REASONS[reason].title,
            _part(judge, reason),
            Bar(found.errors[reason].estimate / wrong if wrong > 0 else 0.0),
            _meaning(reason, scored=scored),
        )
        for reason in ranked
    ]
    columns = ("Off because of", "points") if scored else ("Wrong because of", "of 100")
    table = Table(
        columns=(*columns, "", "which means"),
        rows=tuple(rows),
        caption="How far scores are off, by reason" if scored else "Wrong verdicts by reason",
        name="errors",
    )
    return (paragraph(*_lead(judge)), table, *_missing(judge))


def _lead(judge: Judge) -> Run:
    right, place = judge.found.answer.right, judge.place
    wrong = _part(judge, "wrong")
    if judge.found.answer.span is not None:
        return ("Scores are off by ", wrong, f" points on average. {_ONCE}")
    on: Run = ()
    if right is not None and right.items:
        on = (" Counted on the ", place.value("answer", "right", "items", form=",d"))
        on += (" items that have a right answer.",)
    return (
        "Of 100 verdicts ",
        place.value("answer", "right", "estimate", form="100"),
        " are right and ",
        wrong,
        " wrong. Each wrong one is counted once, under the first reason that explains it.",
        *on,
    )


_ONCE = "Each part is counted once, under the first reason for it."


def _missing(judge: Judge) -> Sequence[Block]:
    if not judge.found.one_call:
        return ()
    return (
        note(
            "With one call in each cell chance cannot be told from the other reasons, which hold "
            "its part here."
        ),
    )


def _part(judge: Judge, name: str) -> Value | str:
    """Return a part of what is wrong: of 100 verdicts, or in points of the scale."""
    found, place = judge.found.errors[name], judge.place.at("errors", name)
    if found.absent:
        return "not varied"
    span = judge.found.answer.span
    return place.value(form="100") if span is None else place.said(f"{span * found.estimate:.2f}")


def _meaning(reason: str, *, scored: bool) -> str:
    return REASONS_OF_SCORES[reason] if scored else REASONS[reason].meaning


SECTIONS = (Kind(id="why", title="Why it errs", order=10, make=errors, of="report", open=True),)
