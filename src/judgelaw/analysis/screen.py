"""What is read first, as values: one judge, or several in a row each. Terminal and page draw it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import TYPE_CHECKING, Final, Protocol, cast

from judgelaw.analysis.answer import SIMPLEST, STEADY, Action, Answer, Change, Rate, Right, Word
from judgelaw.analysis.answer_words import (
    AVERAGES,
    WHEN,
    changed,
    effects,
    outlook,
    points_down,
    points_up,
    share,
    tried,
)
from judgelaw.arrays import PAIR
from judgelaw.vocabulary import CHANGES
from judgelaw.words import joined, judge_of, visible

if TYPE_CHECKING:
    from judgelaw.analysis.answer import Best
    from judgelaw.analysis.values import Analysis

_LABELS: Final[Mapping[str, str]] = {name: term.title for name, term in CHANGES.items()}
_ALIKE: Final = 0.01
_LOUD: Final = 0.05
"""Replies without a verdict are spoken of from so many on."""
_MOST_CLASSES: Final = 3
_MOST_ROWS: Final = 8
_TIMES: Final = {1: "once", 2: "twice"}


class _Judged(Protocol):
    """A judge with its answer, and how it was asked."""

    @property
    def name(self) -> str: ...
    @property
    def answer(self) -> Answer: ...
    @property
    def items(self) -> int: ...
    @property
    def prompts(self) -> int: ...
    @property
    def orders(self) -> int: ...
    @property
    def repeats(self) -> int | tuple[int, int]: ...
    @property
    def calls(self) -> int: ...


@dataclass(frozen=True, kw_only=True)
class Row:
    """One bar: measured, at least, at most, each as a share of the axis.

    Attributes:
        label: what is counted.
        text: the number measured.
        at, low, high: where on the axis; None where not known.
        ends: the range, in words.
        values: estimate and ends as they are in the JSON of the judge.
        key: where they are there.
        unknown: why nothing is known.
    """

    label: str
    text: str = "?"
    at: float | None = None
    low: float | None = None
    high: float | None = None
    ends: str = ""
    key: tuple[str, ...] = ()
    values: tuple[float | None, float | None, float | None] = (None, None, None)
    unknown: str = ""


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A line on the axis with its meaning."""

    at: float
    text: str
    dashed: bool = False


@dataclass(frozen=True, kw_only=True)
class Panel:
    """A question, its answer in words, and bars on one axis.

    Attributes:
        name: `right` or `changes`.
        question, found: in words.
        counted: what the numbers count.
        rows: bars.
        ticks: lines on the axis.
        enough: the part of the axis that is good.
        notes: what else counts.
        command: what would tell more, with RUN for the place.
    """

    name: str
    question: str
    found: str
    counted: str
    rows: tuple[Row, ...] = ()
    ticks: tuple[Tick, ...] = ()
    enough: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class Card:
    """One thing to do: what, how, before and after, what it comes to, what to type."""

    text: str
    how: str = ""
    effects: tuple[str, ...] = ()
    outlook: str = ""
    command: str = ""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """One judge, or one criterion, among several."""

    name: str
    word: Word
    title: str
    right: Row
    changes: Row


@dataclass(frozen=True, kw_only=True)
class Screen:
    """What is read first.

    Attributes:
        who: the judge, or how many.
        asked: who was asked, how often.
        word, title, says: the answer; `known` is False where a finding makes it worthless.
        cards: what to do.
        panels: is it right, does its verdict change; of one judge.
        standings: one row each, best first; of several.
        more: how many are not shown.
        listed: those that need nothing done, in words; of criteria.
        key: what bars and bars' lines mean.
    """

    who: str
    asked: str
    word: Word
    title: str
    says: str
    cards: tuple[Card, ...] = ()
    panels: tuple[Panel, ...] = ()
    standings: tuple[Standing, ...] = ()
    more: int = 0
    listed: str = ""
    key: str = ""


def screen_of(judge: _Judged, where: str = "") -> Screen:
    """Return the first screen of one judge."""
    a = judge.answer
    panels = () if a.problem else (_right_panel(a), _changes_panel(judge))
    return Screen(
        who=visible(judge.name),
        asked=_asked(judge, where),
        word=a.word,
        title=visible(a.title),
        says=visible(a.says),
        cards=_cards(judge),
        panels=tuple(
            replace(panel, rows=tuple(_under(judge.name, row) for row in panel.rows))
            for panel in panels
        ),
        key=_key(a),
    )


def _under(name: str, row: Row) -> Row:
    return replace(row, key=("judges", name, *row.key)) if row.key else row


def _asked(judge: _Judged, where: str) -> str:
    on = f"on {visible(where)}: " if where else ""
    parts = [_many(judge.items, "item")]
    if judge.answer.clusters is not None:
        parts = [f"{parts[0]} in {_many(judge.answer.clusters, 'cluster')}"]
    if judge.prompts > 1:
        parts.append(_many(judge.prompts, "prompt"))
    if judge.orders > 1:
        parts.append(f"{judge.orders} orders")
    R = judge.repeats
    times = f"{R[0]} to {R[1]} times" if isinstance(R, tuple) else _TIMES.get(R, f"{R} times")
    return f"{on}{', '.join(parts)}, {times}: {judge.calls:,} calls"


def _asked_of_several(judges: Sequence[_Judged], where: str) -> str:
    """Say who was asked; where judges were asked unequally, from the least to the most."""
    said = {_asked(judge, where) for judge in judges}
    if len(said) == 1:
        return f"{said.pop()} each"
    ends = sorted((judge.items, judge.calls) for judge in judges)
    on = f"on {visible(where)}: " if where else ""
    return f"{on}{ends[0][0]:,} to {ends[-1][0]:,} items, asked unequally often"


def _many(n: int, noun: str) -> str:
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def _key(a: Answer) -> str:
    if a.problem:
        return ""
    level = 2 * (a.right.level if a.right else 0.975) - 1
    return f"{100 * level:.3g}% sure, items like these"


# Cards ----------------------------------------------------------------------------------------


def _cards(judge: _Judged) -> tuple[Card, ...]:
    a = judge.answer
    if a.problem:
        return (Card(text=visible(a.remedy), how=visible(a.problem)),)
    found = [
        Card(
            text=visible(x.text),
            how=visible(x.why),
            effects=tuple(effects(x, a)),
            outlook=outlook(x, a),
            command=x.command or "",
        )
        for x in a.actions
    ]
    if not found and a.word == "use":
        found.append(_as_asked(judge))
    return tuple(found)


def _as_asked(judge: _Judged) -> Card:
    """Say to go on, where nothing is shown to help."""
    a = judge.answer
    ways = []
    if judge.prompts > 1:
        ways.append(f"the {judge.prompts} prompts in turn")
    if judge.orders > 1:
        ways.append("the answers in either order")
    how = ", ".join([*ways, "one call an item (repeats: 1 in the study)"])
    how = f"{how[:1].upper()}{how[1:]}."
    if a.title == "Use it":
        return Card(
            text="Go on asking it as in this audit.",
            how=f"{how} Nothing that was tried is shown to make it better.",
        )
    many = ""
    if a.right is not None and a.span is None:
        p = a.right.estimate
        n = max(20, ceil(p * (1 - p) * (1.96 / 0.05) ** 2))
        many = f" Over {n:,} items the average is known to 5 of 100."
    return Card(
        text="Average its verdicts over many items.",
        how=f"{how}{many} Nothing that was tried is shown to make it steadier.",
    )


# Is it right? ---------------------------------------------------------------------------------


def _right_panel(a: Answer) -> Panel:
    right = a.right
    question = "Is it right?"
    if right is None:
        return Panel(
            name="right",
            question=question,
            found="Not known: you gave no right answers",
            counted="Of 100 items like these, so many are right",
            notes=("A steady judge can be wrong in the same way each time.",),
        )
    scored = a.span is not None
    rows = [_right_row("now", right, a, ("answer", "right"))]
    rows += _after_rows(a)
    if len(right.by) > 1:
        rows[0] = _right_row(
            "both alike" if len(right.by) == PAIR else "all alike", right, a, ("answer", "right")
        )
        order = sorted(range(len(right.by)), key=lambda i: right.by[i].estimate)
        shown = order if len(order) <= _MOST_CLASSES - 1 else order[:1]
        for i in shown:
            c = right.by[i]
            key = ("answer", "right", "by", str(i))
            rows.append(_right_row(f"on {c.of:,} “{visible(c.name)}”", c, a, key))
    ticks = _right_ticks(right, a)
    bar = _on_axis(right.rely if right.asked is None else right.asked, a)
    return Panel(
        name="right",
        question=question,
        found=_found_right(right, a),
        counted="Points off on average, on items like these"
        if scored
        else "Of 100 items like these, so many are right",
        rows=tuple(rows),
        ticks=ticks,
        enough=(0.0, bar) if scored else (bar, 1.0),
        notes=tuple(_right_notes(right, a)),
    )


def _on_axis(x: float, a: Answer) -> float:
    """Return where a share that is right stands: from the left; of scores the points off."""
    return x if a.span is None else 1 - x


def _right_row(label: str, rate: Rate, a: Answer, key: tuple[str, ...]) -> Row:
    values = (rate.estimate, rate.low, rate.high)
    if a.span is None:
        return Row(
            label=label,
            text=share(rate.estimate),
            at=rate.estimate,
            low=rate.low,
            high=rate.high,
            ends=_range(rate, a.right.bars if a.right else ()),
            key=key,
            values=values,
        )
    known = rate.low is not None and rate.high is not None
    low = 1 - rate.high if known and rate.high is not None else None
    high = 1 - rate.low if known and rate.low is not None else None
    return Row(
        label=label,
        text=f"{a.span * (1 - rate.estimate):.2f}",
        at=1 - rate.estimate,
        low=low,
        high=high,
        ends=""
        if low is None or high is None
        else f"{points_down(a.span * low)} to {points_up(a.span * high)}",
        key=key,
        values=values,
    )


def _after_rows(a: Answer) -> Sequence[Row]:
    for i, x in enumerate(a.actions):
        if (
            x.after is not None
            and x.after.right is not None
            and a.word in {"change", "early", "weak"}
        ):
            key = ("answer", "actions", str(i), "after", "right")
            return [_right_row("then", x.after.right, a, key)]
    return []


def _range(rate: Rate, bars: Sequence[float] = ()) -> str:
    if rate.low is None or rate.high is None:
        return ""
    return f"{share(rate.low, up=False, bars=bars)} to {share(rate.high, up=True, bars=bars)}"


def _right_ticks(right: Right, a: Answer) -> tuple[Tick, ...]:
    b = _on_axis(right.baseline, a)
    if a.span is not None:
        fixed = Tick(at=b, text=f"always the same score {a.span * b:.2f}", dashed=True)
        bar = right.rely if right.asked is None else right.asked
        said = "enough" if right.asked is None else "you allow"
        return (Tick(at=1 - bar, text=f"{a.span * (1 - bar):.2f} {said}"), fixed)
    fixed = Tick(at=b, text=f"always the same answer {share(b)}", dashed=True)
    if right.asked is not None:
        return (fixed, Tick(at=right.asked, text=f"{share(right.asked)} you ask"))
    return (fixed, Tick(at=right.rely, text=f"{share(right.rely)} enough"))


def _found_right(right: Right, a: Answer) -> str:
    if a.span is None:
        number = f"{share(right.estimate)} of 100"
    else:
        number = f"{a.span * (1 - right.estimate):.2f} points off"
    return f"{number}: {_enough(right, a)}"


def _enough(right: Right, a: Answer) -> str:
    low, high = right.low, right.high
    if low is None or high is None:
        return "not known yet"
    if right.asked is not None:
        return _ASKED[right.enough]
    if right.beats is not False:
        return _ENOUGH[right.beats, right.enough]
    same = "always the same answer" if a.span is None else "always the same score"
    if high < right.baseline:
        return f"worse than {same}"
    return f"hardly better than {same}" if low > right.baseline else f"no better than {same}"


_ASKED: Final = {
    True: "as often as you ask",
    False: "less than you ask",
    None: "perhaps less than you ask",
}
_ENOUGH: Final = {
    (True, True): "enough to rely on",
    (True, None): "perhaps not enough",
    (True, False): "not enough",
    (None, True): "enough to rely on",
    (None, None): "not known yet",
    (None, False): "not enough",
}
"""By whether it is shown to be better than a fixed reply, and to be enough."""


def _right_notes(right: Right, a: Answer) -> Sequence[str]:
    said = []
    if a.invalid >= _LOUD:
        line = f"{share(a.invalid)} of 100 replies hold no verdict and count as wrong."
        if a.answered_right is not None:
            line += f" Of the others {share(a.answered_right)} of 100 are right."
        said.append(line)
    two = len(right.by) == PAIR
    if two and a.span is None and right.calls_right is not None:
        first, second = right.by
        said.append(
            f"({share(first.estimate)} + {share(second.estimate)}) / 2 = {share(right.estimate)}. "
            f"Counted item by item it is right on {share(right.calls_right)} of 100: {first.of:,} "
            f"of {right.items:,} are “{visible(first.name)}”."
        )
    if right.gold_ties is not None:
        items, credit = right.gold_ties
        said.append(
            f"Where a tie is right ({_many(items, 'item')}) it gets {share(credit)} of 100; these "
            "items do not count here."
        )
    return said


# Does its verdict change? ---------------------------------------------------------------------


def _changes_panel(judge: _Judged) -> Panel:
    a = judge.answer
    unit = 1.0 if a.span is None else a.span
    rows = tuple(_change_rows(a, unit))
    steady = STEADY * unit
    limit = f"steady: up to {share(STEADY) if a.span is None else f'{steady:.2f}'}"
    return Panel(
        name="changes",
        question="Does its verdict change?",
        found=_found_changes(a),
        counted="Two scores of one item are so many points apart"
        if a.span is not None
        else "Of 100 verdicts, so many change",
        rows=rows,
        ticks=(Tick(at=STEADY, text=limit),),
        enough=(0.0, STEADY),
        notes=tuple(_change_notes(judge)),
        command="judgelaw extend RUN --repeats 2" if a.one_call else "",
    )


def _change_rows(a: Answer, unit: float) -> Sequence[Row]:
    known: dict[Change, Rate] = {c: r for c in SIMPLEST if (r := a.changes.get(c)) is not None}
    rows: list[Row] = []
    if a.one_call:
        rows.append(Row(label=_LABELS["ask_again"], unknown="not known: one call each"))
    if not known:
        return rows
    worst, rate = _worst(known)
    estimates = [each.estimate for name, each in known.items() if name != "both"]
    alike = len(estimates) > 1 and max(estimates) - min(estimates) < _ALIKE * unit
    if alike and a.steady is not False:
        return [*rows, _change_row("in any of these ways", worst, rate, a)]
    told = {a.simplest} if a.steady is False else {worst}
    shown = {c: each for c, each in known.items() if c != "both" or c in told}
    return [*rows, *(_change_row(_LABELS[c], c, each, a) for c, each in shown.items())]


def _worst(known: Mapping[Change, Rate]) -> tuple[Change, Rate]:
    """Return the change that may be the most common."""
    return max(known.items(), key=lambda pair: pair[1].high or pair[1].estimate)


def _change_row(label: str, change: Change, rate: Rate, a: Answer) -> Row:
    unit = 1.0 if a.span is None else a.span
    ends = ""
    if rate.low is not None and rate.high is not None:
        ends = f"{changed(rate.low, a, up=False)} to {changed(rate.high, a, up=True)}"
    estimate = max(0.0, rate.estimate)
    return Row(
        label=label,
        text=share(estimate) if a.span is None else f"{estimate:.2f}",
        at=estimate / unit,
        low=None if rate.low is None else rate.low / unit,
        high=None if rate.high is None else rate.high / unit,
        ends=ends,
        key=("answer", "changes", change),
        values=(rate.estimate, rate.low, rate.high),
    )


def _found_changes(a: Answer) -> str:
    of = "of 100" if a.span is None else "points"
    known = {c: r for c in SIMPLEST if (r := a.changes.get(c)) is not None and r.high is not None}
    if not known:
        return "Not known from these calls"
    _, rate = _worst(known)
    low, high = rate.low or 0.0, rate.high or 0.0
    if a.steady:
        return f"Steady: at most {changed(high, a, up=True)} {of}, {tried(a)}"
    if a.simplest is not None:
        shown = known[a.simplest]
        text = share(shown.estimate) if a.span is None else f"{shown.estimate:.2f}"
        return f"Unsteady: {text} {of} {WHEN[a.simplest]}"
    least, most = changed(low, a, up=False), changed(high, a, up=True)
    return f"Not known yet: {least} to {most} {of}, {tried(a)}"


def _change_notes(judge: _Judged) -> Sequence[str]:
    a = judge.answer
    said = []
    if a.one_call:
        said.append("Each number has chance in it; two calls each would tell that apart.")
    if a.invalid >= _LOUD:
        said.append("A reply without a verdict counts as one more verdict here.")
    again = a.changes.get("ask_again")
    if a.span is not None and a.right is not None and again is not None:
        off = f"{a.span * (1 - a.right.estimate):.2f}"
        said.append(f"Two calls differ by {max(0.0, again.estimate):.2f} points; one is {off} off.")
    if a.word == "use" and a.steady is False and a.right is not None:
        what = f"{share(a.right.estimate)} of 100" if a.span is None else "points off"
        count = "counts" if a.span is None else "count"
        said.append(f"The {what} already {count} this; {AVERAGES.split('; ')[1]}.")
    return said


# Several --------------------------------------------------------------------------------------


def screen_of_several(
    judges: Mapping[str, _Judged],
    where: str = "",
    *,
    best: "Best | None" = None,
    noun: str = "judge",
) -> Screen:
    """Return the first screen of several judges, or of the prompts of one.

    Args:
        judges: by name.
        where: what they judged.
        best: the one that is shown to be right more often than every other.
        noun: `judge` or `prompt`.
    """
    found = sorted(judges.items(), key=lambda pair: _rank(pair[1].answer))
    usable = {name: j.answer for name, j in found if j.answer.word == "use"}
    word, title = _title_of_several(found, usable, noun)
    return Screen(
        who=f"{len(found)} {noun}s",
        asked=_asked_of_several([j for _, j in found], where),
        word=word,
        title=title,
        says=_says_of_several(found, usable, best, noun),
        cards=tuple(_cards_of_several(found)),
        standings=tuple(_standing(name, j) for name, j in found[:_MOST_ROWS]),
        more=max(0, len(found) - _MOST_ROWS),
    )


def screen_of_criteria(judge: str, criteria: Mapping[str, _Judged], where: str = "") -> Screen:
    """Return the first screen of one judge that judges by several criteria: those to mend first."""
    found = sorted(criteria.items(), key=lambda pair: _rank(pair[1].answer))
    usable = [(name, j.answer) for name, j in found if j.answer.word == "use"]
    others = [(name, j) for name, j in found if j.answer.word != "use"]
    total, many = len(found), len(usable)
    last = found[-1][1].answer
    if not others:
        word, title = "use", f"Use it for all {total} criteria"
    elif usable:
        word, title = "change", f"Use it for {many} of {total} criteria"
    else:
        word, title = last.word, f"{last.title}: all {total} criteria"
        if len({j.answer.title for _, j in found}) > 1:
            title = f"Use it for none of {total} criteria"
    listed = ", ".join(f"{visible(name)} {_ends_of(a)}" for name, a in usable)
    return Screen(
        who=f"{visible(judge)}, {total} criteria",
        asked=_asked_of_several([j for _, j in found], where),
        word=cast("Word", word),
        title=title,
        says=_says_of_criteria(usable, others),
        listed=f"{'Right of 100: ' if usable else ''}{listed}",
        cards=tuple(_cards_of_criteria(others)),
        standings=tuple(_standing(name, j) for name, j in others[:_MOST_ROWS]),
        more=max(0, len(others) - _MOST_ROWS),
    )


def _ends_of(a: Answer) -> str:
    return "" if a.right is None else _right_row("", a.right, a, ()).ends


def _says_of_criteria(
    usable: Sequence[tuple[str, Answer]], others: Sequence[tuple[str, _Judged]]
) -> str:
    rights = [a.right for _, a in usable if a.right is not None and a.right.low is not None]
    said = []
    if rights and all(a.span is None for _, a in usable):
        least = min(right.low for right in rights if right.low is not None)
        each = "it" if len(usable) == 1 else f"each of the {len(usable)}"
        said.append(f"Right on at least {share(least, up=False)} of 100 in {each}.")
    counts = Counter(_short_title(j.answer) for _, j in others)
    if counts:
        start = "The others" if usable else "These"
        said.append(f"{start}: {joined([f'{title} ({n})' for title, n in counts.items()])}.")
    return " ".join(said)


def _cards_of_criteria(others: Sequence[tuple[str, _Judged]]) -> Sequence[Card]:
    """Return the first action of each criterion, those that say the same together."""
    wanted: dict[str, tuple[list[str], Action]] = {}
    for name, judge in others:
        for action in judge.answer.actions[:1]:
            text = "Audit more items." if action.kind == "more_items" else action.text
            wanted.setdefault(text, ([], action))[0].append(visible(name))
    return [
        Card(text=f"For {joined(names)}: {_lower(visible(text))}", command=action.command or "")
        for text, (names, action) in wanted.items()
    ]


def screen_of_analysis(analysis: "Analysis", where: str = "") -> Screen:
    """Return the first screen of an analysis: one judge, several, or the criteria of one."""
    judges = analysis.judges
    if len(judges) == 1:
        return screen_of(next(iter(judges.values())), where)
    owners = {judge_of(name) for name in judges}
    if len(owners) == 1:
        of = {getattr(name, "criterion", name): judge for name, judge in judges.items()}
        return screen_of_criteria(next(iter(owners)), of, where)
    return screen_of_several(judges, where, best=analysis.best)


_RANKS: Final = {
    "use": 0,
    "change": 1,
    "steady": 1,
    "early": 2,
    "unsteady": 3,
    "weak": 3,
    "avoid": 4,
}


def _rank(a: Answer) -> tuple[int, float]:
    low = a.right.low if a.right is not None and a.right.low is not None else 0.0
    worst = max((r.high or 0.0 for r in a.changes.values() if r is not None), default=0.0)
    return _RANKS[a.word], -low if a.right is not None else worst


def _title_of_several(
    found: Sequence[tuple[str, _Judged]], usable: Mapping[str, Answer], noun: str
) -> tuple[Word, str]:
    words = {j.answer.word for _, j in found}
    first, judge = found[0]
    if usable:
        names = [visible(name) for name in usable]
        more = [f"{len(names) - PAIR} more"] if len(names) > PAIR else []
        return "use", f"Use {joined([*names[:PAIR], *more], last='or')}"
    if judge.answer.word == "change":
        return "change", f"Change {visible(first)} first"
    if all(j.answer.right is None for _, j in found):
        return judge.answer.word, "Not checked against right answers yet"
    if words <= {"weak", "avoid"}:
        return judge.answer.word, f"Use none of these {noun}s"
    return "early", "None is shown good enough"


def _says_of_several(
    found: Sequence[tuple[str, _Judged]],
    usable: Mapping[str, Answer],
    best: "Best | None",
    noun: str,
) -> str:
    name, judge = found[0]
    a = judge.answer
    if a.right is None:
        return f"How many verdicts of these {len(found)} {noun}s are right is not known."
    if a.span is not None or a.right.low is None or a.right.high is None:
        return f"{visible(name)} comes first: {_lower(a.says)}"
    fixed = f"always the same answer gets {share(a.right.baseline)}"
    if not usable:
        ends = f"{share(a.right.low, up=False)} to {share(a.right.high, up=True)}"
        needed = share(a.right.rely)
        comes = f"{visible(name)} comes nearest"
        return f"{comes}: right on {ends} of 100 items like these; {needed} are needed."
    lows = [
        share(each.right.low, up=False)
        for each in usable.values()
        if each.right is not None and each.right.low is not None
    ]
    least = joined(lows) if len(lows) <= PAIR else min(lows, key=float)
    lead = _lead(best, len(found)) if best is not None and best.name == name else ""
    return f"Right on at least {least} of 100 items like these; {fixed}. {lead}".strip()


def _lead(best: "Best", judges: int) -> str:
    """Say by how much the best one leads, as it was asked."""
    if judges > PAIR:
        return f"As asked now it is right more often than each of the other {judges - 1}."
    ((other, (low, high)),) = best.behind.items()
    ends = f"{share(low, up=False)} to {share(high, up=True)}"
    return f"As asked now it is right on {ends} more of 100 than {visible(other)}."


def _standing(name: str, judge: _Judged) -> Standing:
    a = judge.answer
    right = Row(label="right", unknown="not known")
    if a.right is not None:
        right = _right_row("right", a.right, a, ("answer", "right"))
    known: dict[Change, Rate] = {c: r for c in SIMPLEST if (r := a.changes.get(c)) is not None}
    changes = Row(label="changes", unknown="not known")
    if known:
        worst, rate = _worst(known)
        changes = _change_row("changes", worst, rate, a)
    return Standing(
        name=visible(name),
        word=a.word,
        title=visible(_short_title(a)),
        right=_under(judge.name, right),
        changes=_under(judge.name, changes),
    )


def _short_title(a: Answer) -> str:
    """Return the word of a row: that nothing was checked stands above all rows."""
    if a.right is not None or a.problem:
        return a.title
    known = {"steady": "Steady", "unsteady": "Unsteady"}
    return known.get(a.word, "Too early to tell")


def _cards_of_several(found: Sequence[tuple[str, _Judged]]) -> Sequence[Card]:
    """Return the actions of the first, then a line for two others that an action helps."""
    name, first = found[0]
    cards = [
        Card(
            text=f"{visible(name)}: {_lower(card.text)}",
            how=card.how,
            effects=card.effects,
            outlook=card.outlook,
            command=card.command,
        )
        for card in _cards(first)[:1]
    ]
    for other, judge in found[1:]:
        helped = [x for x in judge.answer.actions if x.right is not None or x.changes is not None]
        if helped and not judge.answer.problem and len(cards) < 3:  # noqa: PLR2004 - a line each
            x = helped[0]
            cards.append(
                Card(
                    text=f"{visible(other)}: {_lower(visible(x.text))}",
                    effects=tuple(effects(x, judge.answer)),
                )
            )
    return cards


def _lower(text: str) -> str:
    return text[:1].lower() + text[1:]
