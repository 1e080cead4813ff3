"""What is read first, as values: one judge, or several in a row each. Terminal and page draw it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import TYPE_CHECKING, Final

from judgelaw.analysis.answer import SIMPLEST, STEADY, Answer, Change, Rate, Right, Word
from judgelaw.analysis.answer_words import (
    AVERAGES,
    WHEN,
    effects,
    outlook,
    share,
    tried,
)
from judgelaw.arrays import PAIR
from judgelaw.vocabulary import CHANGES
from judgelaw.words import judge_of, visible

if TYPE_CHECKING:
    from judgelaw.analysis.values import Analysis, JudgeAnalysis

_LABELS: Final[Mapping[str, str]] = {name: term.title for name, term in CHANGES.items()}
_ALIKE: Final = 0.01
_LOUD: Final = 0.05
"""Replies without a verdict are spoken of from so many on."""
_MOST_CLASSES: Final = 3
_MOST_ROWS: Final = 8
_TIMES: Final = {1: "once", 2: "twice"}


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
    """

    name: str
    question: str
    found: str
    counted: str
    rows: tuple[Row, ...] = ()
    ticks: tuple[Tick, ...] = ()
    enough: tuple[float, float] | None = None
    notes: tuple[str, ...] = ()


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
    key: str = ""
    rows_title: tuple[str, str] = field(default=("right", "changes at worst"))


def screen_of(judge: "JudgeAnalysis", where: str = "") -> Screen:
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


def _asked(judge: "JudgeAnalysis", where: str) -> str:
    on = f"on {visible(where)}: " if where else ""
    parts = [_many(judge.items, "item")]
    if judge.prompts > 1:
        parts.append(_many(judge.prompts, "prompt"))
    if judge.orders > 1:
        parts.append(f"{judge.orders} orders")
    R = judge.repeats
    times = f"{R[0]} to {R[1]} times" if isinstance(R, tuple) else _TIMES.get(R, f"{R} times")
    return f"{on}{', '.join(parts)}, {times}: {judge.calls:,} calls"


def _asked_of_several(judges: Sequence["JudgeAnalysis"], where: str) -> str:
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


def _cards(judge: "JudgeAnalysis") -> tuple[Card, ...]:
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


def _as_asked(judge: "JudgeAnalysis") -> Card:
    """Say to go on, where nothing is shown to help."""
    a = judge.answer
    ways = []
    if judge.prompts > 1:
        ways.append(f"the {judge.prompts} prompts in turn")
    if judge.orders > 1:
        ways.append("the answers in either order")
    how = ", ".join([*ways, "one call an item"])
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
            ends=_range(rate, (a.right.rely,) if a.right else ()),
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
        ends="" if low is None or high is None else f"{a.span * low:.2f} to {a.span * high:.2f}",
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


def _enough(right: Right, a: Answer) -> str:  # noqa: PLR0911 - one return a word
    low, high = right.low, right.high
    if low is None or high is None:
        return "not known yet"
    if right.asked is not None:
        if a.word == "use" or low >= right.asked:
            return "as often as you ask"
        return "less than you ask" if high < right.asked else "perhaps less than you ask"
    same = "always the same answer" if a.span is None else "always the same score"
    if low >= right.rely:
        return "enough to rely on"
    if low >= right.better:
        return "not enough" if high < right.rely else "perhaps not enough"
    if high < right.baseline:
        return f"worse than {same}"
    if high < right.better:
        return f"hardly better than {same}" if low > right.baseline else f"no better than {same}"
    return "not enough" if high < right.rely else "not known yet"


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
    return said


# Does its verdict change? ---------------------------------------------------------------------


def _changes_panel(judge: "JudgeAnalysis") -> Panel:
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
    )


def _change_rows(a: Answer, unit: float) -> Sequence[Row]:
    kinds: list[Change] = [c for c in SIMPLEST if c != "both"]
    if a.simplest == "both":
        kinds.append("both")
    known = {c: rate for c in kinds if (rate := a.changes.get(c)) is not None}
    rows: list[Row] = []
    if a.one_call:
        rows.append(Row(label=_LABELS["ask_again"], unknown="not known: one call each"))
    if not known:
        return rows
    estimates = [rate.estimate for rate in known.values()]
    alike = len(known) > 1 and max(estimates) - min(estimates) < _ALIKE * unit
    if alike and a.steady is not False:
        widest = max(known, key=lambda c: known[c].high or known[c].estimate)
        return [*rows, _change_row(_together(known), widest, known[widest], unit)]
    return [*rows, *(_change_row(_LABELS[c], c, rate, unit) for c, rate in known.items())]


def _together(known: Mapping[Change, Rate]) -> str:
    if len(known) == PAIR:
        return "or ".join(f"{_LABELS[c]} " for c in known).strip()
    return "in any of these ways"


def _change_row(label: str, change: Change, rate: Rate, unit: float) -> Row:
    scored = unit != 1.0
    ends = ""
    if rate.low is not None and rate.high is not None:
        ends = f"{rate.low:.2f} to {rate.high:.2f}" if scored else _range(rate, (STEADY,))
    return Row(
        label=label,
        text=f"{rate.estimate:.2f}" if scored else share(max(0.0, rate.estimate)),
        at=max(0.0, rate.estimate) / unit,
        low=None if rate.low is None else rate.low / unit,
        high=None if rate.high is None else rate.high / unit,
        ends=ends,
        key=("answer", "changes", change),
        values=(rate.estimate, rate.low, rate.high),
    )


def _found_changes(a: Answer) -> str:
    of = "of 100" if a.span is None else "points"
    known = [r for r in a.changes.values() if r is not None and r.high is not None]
    highs = [r.high for r in known if r.high is not None]
    write = (lambda x, up: share(x, up=up, bars=(STEADY,))) if a.span is None else _points
    if not known:
        return "Not known from these calls"
    if a.steady:
        return f"Steady: at most {write(max(highs), True)} {of}, {tried(a)}"
    if a.steady is False and a.simplest is not None:
        rate = a.changes[a.simplest]
        if rate is not None:
            text = share(rate.estimate) if a.span is None else f"{rate.estimate:.2f}"
            return f"Unsteady: {text} {of} {WHEN[a.simplest]}"
    widest = None if a.widest is None else a.changes[a.widest]
    if widest is None or widest.low is None or widest.high is None:
        return "Not known yet"
    return (
        f"Not known yet: {write(widest.low, False)} to {write(widest.high, True)} {of}, {tried(a)}"
    )


def _points(x: float, up: bool) -> str:  # noqa: FBT001 - which way to round
    del up
    return f"{x:.2f}"


def _change_notes(judge: "JudgeAnalysis") -> Sequence[str]:
    a = judge.answer
    said = []
    if a.one_call:
        said.append(
            "Each number has chance in it; two calls each would tell it apart: judgelaw extend RUN "
            "--repeats 2"
        )
    if a.invalid >= _LOUD:
        said.append("A reply without a verdict counts as one more verdict here.")
    if a.word == "use" and a.steady is False and a.right is not None:
        what = f"{share(a.right.estimate)} of 100" if a.span is None else "points off"
        count = "counts" if a.span is None else "count"
        said.append(f"The {what} already {count} this; {AVERAGES.split('; ')[1]}.")
    return said


# Several --------------------------------------------------------------------------------------


def screen_of_several(
    judges: Mapping[str, "JudgeAnalysis"],
    where: str = "",
    *,
    noun: str = "judge",
    best: str | None = None,
    lead: str = "",
) -> Screen:
    """Return the first screen of several judges, or of several criteria of one judge.

    Args:
        judges: by name.
        where: what they judged.
        noun: `judge` or `criterion`.
        best: the one that is shown to be right more often than every other.
        lead: by how much, in words.
    """
    found = sorted(judges.items(), key=lambda pair: _rank(pair[1].answer))
    usable = [name for name, j in found if j.answer.word == "use"]
    total = len(found)
    plural = "criteria" if noun == "criterion" else f"{noun}s"
    word, title = _title_of_several(found, usable, total, plural, noun)
    says = _says_of_several(found, usable, total, plural, lead if best else "")
    return Screen(
        who=f"{total} {plural}",
        asked=_asked_of_several([j for _, j in found], where),
        word=word,
        title=title,
        says=says,
        cards=tuple(_cards_of_several(found)),
        standings=tuple(_standing(name, j) for name, j in found[:_MOST_ROWS]),
        more=max(0, total - _MOST_ROWS),
    )


def screen_of_analysis(analysis: "Analysis", where: str = "") -> Screen:
    """Return the first screen of an analysis: one judge, several, or the criteria of one."""
    judges = analysis.judges
    if len(judges) == 1:
        return screen_of(next(iter(judges.values())), where)
    owners = {judge_of(name) for name in judges}
    if len(owners) == 1:
        of = {getattr(name, "criterion", name): judge for name, judge in judges.items()}
        found = screen_of_several(of, where, noun="criterion")
        return replace(found, who=f"{visible(next(iter(owners)))}, {found.who}")
    best = analysis.best
    lead = ""
    if best is not None:
        low, high = (
            min(low for low, _ in best.behind.values()),
            max(high for _, high in best.behind.values()),
        )
        if len(best.behind) == 1:
            (other,) = best.behind
            lead = (
                f"As asked now it is right on {share(low, up=False)} to {share(high, up=True)} "
                f"more of 100 than {visible(other)}."
            )
        else:
            lead = f"As asked now {visible(best.name)} is right more often than each other one."
    return screen_of_several(judges, where, best=best.name if best else None, lead=lead)


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


def _title_of_several(  # noqa: PLR0911 - one return a word
    found: Sequence[tuple[str, "JudgeAnalysis"]],
    usable: Sequence[str],
    total: int,
    plural: str,
    noun: str,
) -> tuple[Word, str]:
    words = [j.answer.word for _, j in found]
    if noun == "criterion":
        if len(usable) == total:
            return "use", f"Use it for all {total} {plural}"
        if usable:
            return "change", f"Use it for {len(usable)} of {total} {plural}"
        return words[-1], found[-1][1].answer.title
    if usable:
        names = [visible(name) for name in usable[:2]]
        more = f" or {len(usable) - 1} others" if len(usable) > PAIR else ""
        return "use", f"Use {names[0]}{more}" if more else f"Use {' or '.join(names)}"
    if words[0] == "change":
        return "change", f"Change {visible(found[0][0])} first"
    if all(j.answer.right is None for _, j in found):
        return words[0], "Not checked against right answers yet"
    if set(words) <= {"weak", "avoid"}:
        return words[0], f"Use none of these {plural}"
    return "early", "None is shown good enough"


def _says_of_several(
    found: Sequence[tuple[str, "JudgeAnalysis"]],
    usable: Sequence[str],
    total: int,
    plural: str,
    lead: str,
) -> str:
    best = found[0][1].answer
    if best.right is None:
        return f"How many verdicts of these {total} {plural} are right is not known."
    if best.span is not None or best.right.low is None or best.right.high is None:
        return f"{visible(found[0][0])} comes first: {best.says[:1].lower()}{best.says[1:]}"
    fixed = f"always the same answer gets {share(best.right.baseline)}"
    if usable:
        lows = [dict(found)[name].answer.right for name in usable]
        least = min(r.low for r in lows if r is not None and r.low is not None)
        start = "R" if len(usable) == 1 else "Each is r"
        first = (
            f"{start}ight on at least {share(least, up=False)} of 100 items like these; {fixed}."
        )
        return f"{first} {lead}".strip()
    low, high = best.right.low, best.right.high
    return (
        f"{visible(found[0][0])} comes nearest: right on {share(low, up=False)} to "
        f"{share(high, up=True)} of 100 items like these; {share(best.right.rely)} are needed."
    )


def _standing(name: str, judge: "JudgeAnalysis") -> Standing:
    a = judge.answer
    right = Row(label="right", unknown="not known")
    if a.right is not None:
        right = _right_row("right", a.right, a, ("answer", "right"))
    unit = 1.0 if a.span is None else a.span
    known = [(c, r) for c, r in a.changes.items() if r is not None]
    changes = Row(label="changes", unknown="not known")
    if known:
        worst, rate = max(known, key=lambda pair: pair[1].high or pair[1].estimate)
        changes = _change_row("changes", worst, rate, unit)  # type: ignore[arg-type]  # a kind
    return Standing(
        name=visible(name),
        word=a.word,
        title=visible(a.title),
        right=_under(judge.name, right),
        changes=_under(judge.name, changes),
    )


def _cards_of_several(found: Sequence[tuple[str, "JudgeAnalysis"]]) -> Sequence[Card]:
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
