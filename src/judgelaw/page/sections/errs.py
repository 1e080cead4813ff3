"""Why verdicts are wrong: chance, order, prompt, or the judge itself; each counted once."""

from collections.abc import Sequence

from judgelaw.blocks import Bar, Block, Cell, Place, Run, Table, Value, note, paragraph
from judgelaw.page.subject import Judge, Kind, Report
from judgelaw.vocabulary import REASONS
from judgelaw.words import visible


def errors(report: Report) -> Sequence[Block] | None:
    """Return how many verdicts are wrong and why; None without right answers."""
    known = [judge for judge in report.judges if judge.found.errors]
    if not known:
        return None
    if len(report.judges) == 1:
        return _of_one(known[0])
    reasons = [r for r in REASONS if any(not judge.found.errors[r].absent for judge in known)]
    rows: list[tuple[Cell, ...]] = [
        (
            visible(judge.name),
            _hundredths(judge, "wrong"),
            *(_hundredths(judge, reason) for reason in reasons),
        )
        for judge in known
    ]
    return (
        paragraph(
            "Of 100 verdicts of each, so many are wrong, counted once each under the first reason "
            "that explains them."
        ),
        Table(
            columns=("", "Wrong", *(REASONS[reason].title for reason in reasons)),
            rows=tuple(rows),
            caption="Of 100 verdicts",
            name="errors",
        ),
        note(_meanings(reasons)),
    )


def _of_one(judge: Judge) -> Sequence[Block]:
    found, place = judge.found, judge.place
    reasons = [reason for reason in REASONS if not found.errors[reason].absent]
    wrong = found.errors["wrong"].estimate
    ranked = sorted(reasons, key=lambda reason: -found.errors[reason].estimate)
    rows: list[tuple[Cell, ...]] = [
        (
            REASONS[reason].title,
            _hundredths(judge, reason),
            Bar(found.errors[reason].estimate / wrong if wrong > 0 else 0.0),
            REASONS[reason].meaning,
        )
        for reason in ranked
    ]
    scored = found.answer.span is not None
    off = "of 100 points of the scale" if scored else "of 100"
    table = Table(
        columns=(
            "Points off because of" if scored else "Wrong because of",
            off,
            "",
            "which means",
        ),
        rows=tuple(rows),
        caption=f"What is wrong, by reason, {off}",
        name="errors",
    )
    return (paragraph(*_lead(place, judge)), table, *_missing(judge))


def _lead(place: Place, judge: Judge) -> Run:
    right = judge.found.answer.right
    wrong = place.value("errors", "wrong", form="100")
    once = "Each wrong one is counted once, under the first reason that explains it."
    if judge.found.answer.span is not None:
        return ("Scores are off by ", wrong, f" of 100 points of the scale on average. {once}")
    on: Run = ()
    if right is not None and right.items:
        on = (" Counted on the ", place.value("answer", "right", "items", form=",d"))
        on += (" items that have a right answer.",)
    return (
        "Of 100 verdicts ",
        place.value("answer", "right", "estimate", form="100"),
        " are right and ",
        wrong,
        f" wrong. {once}",
        *on,
    )


def _missing(judge: Judge) -> Sequence[Block]:
    if not judge.found.one_call:
        return ()
    return (
        note(
            "With one call in each cell chance cannot be told from the other reasons, which hold "
            "its part here."
        ),
    )


def _hundredths(judge: Judge, name: str) -> Value | str:
    absent = judge.found.errors[name].absent
    return "not varied" if absent else judge.place.value("errors", name, form="100")


def _meanings(reasons: Sequence[str]) -> str:
    return " ".join(f"{REASONS[r].title}: {REASONS[r].meaning}." for r in reasons)


SECTIONS = (Kind(id="why", title="Why it errs", order=10, make=errors, of="report", open=True),)
