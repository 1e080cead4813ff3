"""The first screen: a word, four numbers of 100, one short sentence, what to do, accuracy."""

from dataclasses import dataclass, replace
from typing import Final

from judgelaw.analysis import (
    Analysis,
    ChangeRate,
    JudgeAnalysis,
    ScoreAnswers,
    in_points,
)
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


_SWAPPED: Final = ("swap", "both")
"""Changes that single answers do not have."""
_SINGLE_MEANING: Final = {"ask_again": "same prompt", "reword": "another prompt"}
_SINGLE_HOW: Final = {
    "ask_again": "two calls with the same prompt",
    "reword": "two calls with different prompts",
}
_VERDICTS_TITLE: Final = "How many of 100 verdicts change between two calls"
_POINTS_TITLE: Final = "How many points two scores of an item are apart, on average"


@dataclass(frozen=True, kw_only=True)
class ChangeTile:
    """How many of 100 verdicts change between two calls of one kind, or by how many points.

    Attributes:
        label, meaning: a word, and what differs between the two calls.
        number: of 100, or points; None where the design does not vary it.
        unit: what the number counts.
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
    unit: str = "of 100 verdicts change"


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
        any_two: the disagreement of any two calls alone; None for scores.
        checks: what the checks found, in a line.
        title: what the tiles show.
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
    any_two: Number | None
    gold: Inline
    checks: str
    title: str


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
    trust, any_two = judge.value.trust, _any_two(judge)
    return FirstView(
        who=who,
        word=trust.word if trust else "",
        reason=visible(trust.reason) if trust else "",
        rules=tuple((r.word, r.when, r.holds) for r in trust.rules) if trust else (),
        short=judge.value.short,
        path=judge.at(lambda j: j.short).path,
        tiles=tuple(
            _tile(name, rate, _Way(level=level, judge=judge.value))
            for name, rate in judge.at(lambda j: j.changes).items()
            if not (judge.value.single and name in _SWAPPED)
        ),
        title=_POINTS_TITLE if judge.value.scores else _VERDICTS_TITLE,
        to_do=to_do(judge),
        total=_total(judge, any_two),
        any_two=any_two,
        gold=_gold(judge),
        checks=checks,
    )


@dataclass(frozen=True, kw_only=True)
class _Way:
    """How the changes of a judge are written: of 100 verdicts, or in points of a score."""

    level: float
    judge: JudgeAnalysis

    @property
    def scored(self) -> bool:
        return self.judge.scores is not None

    @property
    def unit(self) -> str:
        """Say what is counted."""
        scores = self.judge.scores
        if scores is None:
            return "of 100 verdicts change"
        low, high = scores.scale[0], scores.scale[-1]
        return f"points between two scores, on a scale of {low:g} to {high:g}"

    def number(self, value: float | None, where: str | None = None) -> Number:
        """Write a change."""
        if not self.scored:
            return of_100(value, where=where)
        known = finite(value)
        shown = None if known is None else max(known, 0.0)
        text = ABSENT if shown is None else in_points(shown)
        return Number(value=known, text=text, path=where)

    def range(self, found: Part[tuple[float, float]] | None) -> Inline:
        """Write the ends of an interval."""
        if not self.scored or found is None:
            return _range(found)
        low, high = found.entries()
        return (self.number(low.value, low.path), " to ", self.number(high.value, high.path))

    def calls(self, change: str) -> tuple[str, str]:
        """Say what differs between two calls: in short, and in full."""
        if self.judge.single:
            return _SINGLE_MEANING[change], _SINGLE_HOW[change]
        return _MEANING[change], _HOW[change]

    def how(self, calls: str) -> str:
        """Say how the number comes about."""
        said = f"Of all pairs of {calls} on the same item, so many gave different verdicts."
        if self.scored:
            said = (
                f"All pairs of {calls} on the same item: so many points lie between their scores "
                "on average. A reply without a score counts as far as the ends of the scale."
            )
        return (
            f"{said} No call is compared with itself, so that few repeats do not make the number "
            f"too small. The ranges hold it in {100 * self.level:g} of 100 audits."
        )


def _tile(name: str, rate: Part[ChangeRate | None], way: _Way) -> ChangeTile:
    found = rate.known(lambda r: r)
    label, (meaning, calls) = LABELS[name], way.calls(name)
    if found is None:
        how = f"Not known: these calls do not hold {calls}."
        return ChangeTile(label=label, meaning=meaning, number=None, here=(), new=(), how=how)
    return ChangeTile(
        label=label,
        meaning=meaning,
        number=way.number(found.value.estimate, found.at(lambda r: r.estimate).path),
        here=way.range(found.known(lambda r: r.call_interval)),
        new=way.range(found.known(lambda r: r.interval)),
        more=_more(found, way),
        how=way.how(calls),
        unit=way.unit,
    )


def _more(rate: Part[ChangeRate], way: _Way) -> Inline:
    """Say how much more often than when just asked again, where that is shown."""
    ends = rate.known(lambda r: r.more_interval)
    if rate.value.more is None or ends is None:
        return ()
    low, high = ends.value
    if low <= 0 <= high:
        return ("not shown to differ from asking again",)
    sign = "more" if low > 0 else "less"
    most = way.number(abs(rate.value.more))
    return (Number(value=most.value, text=most.text), f" {sign} than when you just ask again")


def of_100(value: float | None, *, where: str | None = None, fine: bool = False) -> Number:
    """Show a chance as points of 100, with one digit more where it is small, or to be `fine`."""
    known = finite(value)
    if known is None:
        return Number(value=None, text=ABSENT, path=where)
    points = 100 * max(known, 0.0)
    digits = 0 if points >= _WHOLE and not fine else 1
    text = f"{points:.{digits}f}"
    return Number(value=known, text="0" if float(text) == 0 else text, path=where, of_100=True)


def _range(found: Part[tuple[float, float]] | None) -> Inline:
    """Write the ends of an interval; a chance is never shown below none or above all.

    Ends that would read alike have a digit more: no interval is shown without width.
    """
    if found is None:
        return ()
    low, high = found.entries()
    for fine in (False, True):
        least = of_100(low.value, where=low.path, fine=fine)
        most = _at_most_all(of_100(high.value, where=high.path, fine=fine))
        if least.text != most.text:
            break
    return (least, " to ", most)


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


def _any_two(judge: Judge) -> Number | None:
    found = judge.at(lambda j: j.components["total"])
    if found.value.absent or judge.value.scores is not None:
        return None
    return of_100(found.value.estimate, where=found.at(lambda c: c.estimate).path)


def _total(judge: Judge, any_two: Number | None) -> Inline:
    if any_two is None:
        return ()
    under = "any prompt" if judge.value.single else "any prompt and order"
    said = f"Two calls on one item, each under {under}: "
    return (said, any_two, " of 100 disagree (the total).")


def _gold(judge: Judge) -> Inline:
    if (scores := judge.known(lambda j: j.scores)) is not None:
        return _scores(scores)
    if judge.value.gold_match is None:
        return ("Accuracy is not known: these items have no gold verdict.",)
    return (
        "Accuracy: ",
        of_100(judge.value.gold_match, where=judge.at(lambda j: j.gold_match).path),
        " of 100 calls give the right (gold) verdict.",
    )


def _scores(scores: Part[ScoreAnswers]) -> Inline:
    """Say the mean score, and how far scores are from gold."""
    mean = scores.at(lambda s: s.mean)
    said: Inline = ("Mean score ", mean.decimal(lambda m: m.estimate, 2))
    if mean.value.call_interval is not None:
        said += (" ", *mean.interval(lambda m: m.call_interval, 2), " on these items")
    gold = scores.known(lambda s: s.gold)
    if gold is None:
        return (*said, ". How right it is is not known: these items have no gold score.")
    return (
        *said,
        ". Against gold: ",
        of_100(gold.value.exact, where=gold.at(lambda g: g.exact).path),
        " of 100 calls are exact; they are off by ",
        gold.decimal(lambda g: g.mae.estimate, 2),
        " points on average.",
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
        said.append(f"{open_} of the {len(found)} could not be made with these calls")
    return ", ".join(said) + "."


def _checks_word(count: int) -> str:
    return f"{count} check{'s' if count > 1 else ''}"
