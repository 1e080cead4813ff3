"""The first screen: a word, four numbers of 100, one short sentence, what to do, accuracy."""

from dataclasses import dataclass, replace
from typing import Final

from judgelaw.analysis import Analysis, ChangeRate, JudgeAnalysis
from judgelaw.page.document import (
    ABSENT,
    Inline,
    Number,
    Part,
    finite,
)
from judgelaw.words import visible

Judge = Part[JudgeAnalysis]

LABELS: Final = {
    "ask_again": "Ask again",
    "reword": "Reword",
    "swap": "Swap",
    "both": "Both",
}
_MEANING: Final = {
    "ask_again": "same prompt, same order",
    "reword": "another prompt",
    "swap": "other answer order",
    "both": "another prompt and order",
}
_HOW: Final = {
    "ask_again": "two calls with the same prompt and the same answer order",
    "reword": "two calls with different prompts and the same answer order",
    "swap": "two calls with the same prompt and different answer orders",
    "both": "two calls that differ in prompt and in answer order",
}


@dataclass(frozen=True, kw_only=True)
class ChangeTile:
    """How many of 100 verdicts change between two calls of one kind.

    Attributes:
        label, meaning: a word, and what differs between the two calls.
        number: of 100; None where the design does not vary it.
        here, new: range on these items, and on items like them; empty where there is none.
        how: how the number comes about, for who asks.
        more: how it compares with asking again.
    """

    label: str
    meaning: str
    number: Number | None
    here: Inline
    new: Inline
    how: str
    more: Inline = ()


@dataclass(frozen=True, kw_only=True)
class ToDoView:
    """One thing that is worth doing, and why."""

    do: str
    because: str


@dataclass(frozen=True, kw_only=True)
class FirstView:
    """What is read first of one judge.

    Attributes:
        who: the judge; empty for the only one.
        word, reason: whether it may be relied on, and the one reason.
        rules: behind the word: which word, when, whether it holds.
        short, path: one sentence of at most twenty words, and where the JSON holds it.
        tiles: how often verdicts change.
        to_do: up to three things that are worth doing.
        total, gold: disagreement of any two calls, and accuracy, each in a line.
        checks: what the checks found, in a line.
    """

    who: str
    word: str
    reason: str
    rules: tuple[tuple[str, str, bool], ...]
    short: str
    path: str
    tiles: tuple[ChangeTile, ...]
    to_do: tuple[ToDoView, ...]
    total: Inline
    gold: Inline
    checks: str


_WHOLE = 10.0
"""Points of 100 from which no digit behind the point is shown."""


def first_views(analysis: Part[Analysis]) -> tuple[FirstView, ...]:
    """Return what is read first of every judge."""
    judges = analysis.at(lambda a: a.judges).items()
    several = len(judges) > 1
    checks = _checks(analysis.value)
    return tuple(
        _first(judge, visible(name) if several else "", checks, analysis.value.settings.level)
        for name, judge in judges
    )


def _first(judge: Judge, who: str, checks: str, level: float) -> FirstView:
    trust = judge.value.trust
    return FirstView(
        who=who,
        word=trust.word if trust else "",
        reason=visible(trust.reason) if trust else "",
        rules=tuple((r.word, r.when, r.holds) for r in trust.rules) if trust else (),
        short=judge.value.short,
        path=judge.at(lambda j: j.short).path,
        tiles=tuple(
            _tile(name, rate, level) for name, rate in judge.at(lambda j: j.changes).items()
        ),
        to_do=to_do(judge),
        total=_total(judge),
        gold=_gold(judge),
        checks=checks,
    )


def _tile(name: str, rate: Part[ChangeRate | None], level: float) -> ChangeTile:
    found = rate.known(lambda r: r)
    label, meaning = LABELS[name], _MEANING[name]
    if found is None:
        how = f"Not known: these calls do not hold {_HOW[name]}."
        return ChangeTile(label=label, meaning=meaning, number=None, here=(), new=(), how=how)
    return ChangeTile(
        label=label,
        meaning=meaning,
        number=of_100(found.value.estimate, where=found.at(lambda r: r.estimate).path),
        here=_range(found.known(lambda r: r.call_interval)),
        new=_range(found.known(lambda r: r.interval)),
        more=_more(found),
        how=(
            f"Of all pairs of {_HOW[name]} on the same item, so many gave different verdicts. No "
            "call is compared with itself, so that few repeats do not make the number too small. "
            f"The ranges hold it in {100 * level:g} of 100 audits."
        ),
    )


def _more(rate: Part[ChangeRate]) -> Inline:
    """Say how much more often than when just asked again, where that is shown."""
    ends = rate.known(lambda r: r.more_interval)
    if rate.value.more is None or ends is None:
        return ()
    low, high = ends.value
    if low <= 0 <= high:
        return ("not shown to differ from asking again",)
    sign = "more" if low > 0 else "less"
    most = of_100(abs(rate.value.more))
    return (Number(value=most.value, text=most.text), f" {sign} than when you just ask again")


def of_100(value: float | None, *, where: str | None = None) -> Number:
    """Show a chance as points of 100, with one digit more where it is small."""
    known = finite(value)
    if known is None:
        return Number(value=None, text=ABSENT, path=where)
    points = 100 * max(known, 0.0)
    digits = 0 if points >= _WHOLE else 1
    text = f"{points:.{digits}f}"
    return Number(value=known, text="0" if float(text) == 0 else text, path=where, of_100=True)


def _range(found: Part[tuple[float, float]] | None) -> Inline:
    """Write the ends of an interval; a chance is never shown below none or above all."""
    if found is None:
        return ()
    low, high = found.entries()
    return (
        of_100(low.value, where=low.path),
        " to ",
        _at_most_all(of_100(high.value, where=high.path)),
    )


def _at_most_all(number: Number) -> Number:
    if number.value is None or number.value <= 1:
        return number
    return replace(number, text="100")


def to_do(judge: Judge) -> tuple[ToDoView, ...]:
    """Return what is worth doing, as the first screen and the section below show it."""
    return tuple(
        ToDoView(do=visible(x.value.do), because=visible(x.value.because))
        for x in judge.at(lambda j: j.to_do).entries()
    )


def _total(judge: Judge) -> Inline:
    found = judge.at(lambda j: j.components["total"])
    if found.value.absent:
        return ()
    return (
        "Any two calls, prompt and order drawn anew: ",
        of_100(found.value.estimate, where=found.at(lambda c: c.estimate).path),
        " of 100 disagree (the total).",
    )


def _gold(judge: Judge) -> Inline:
    if judge.value.gold_match is None:
        return ("Accuracy is not known: these items have no gold verdict.",)
    return (
        "Accuracy: ",
        of_100(judge.value.gold_match, where=judge.at(lambda j: j.gold_match).path),
        " of 100 calls give the gold verdict.",
    )


def _checks(analysis: Analysis) -> str:
    """Say in one line what the checks of these calls found."""
    found = [f.verdict for f in analysis.diagnostics]
    if not found:
        return "No check could be made."
    problems, notices, open_ = (found.count(v) for v in ("problem", "notice", "unknown"))
    who = _checks_word(problems) if problems else "No check"
    said = [f"{who} of {len(found)} found a problem"]
    if notices:
        said.append(f"{notices} found something to mention")
    if open_:
        said.append(f"{open_} could not be made with these calls")
    return ", ".join(said) + "."


def _checks_word(count: int) -> str:
    return f"{count} check{'s' if count > 1 else ''}"
