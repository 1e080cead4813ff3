"""The words of an answer: title, sentence, and each action. Low ends round down, high ends up.

A whole number that would stand on the wrong side of a bar is written with one decimal.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor
from typing import Final

from judgelaw.analysis.answer import (
    BEST_QUALITY,
    STEADY,
    Action,
    After,
    Answer,
    Change,
    Rate,
    Right,
    decide,
)
from judgelaw.diagnose import Finding, worthless
from judgelaw.estimate import Estimand
from judgelaw.tensor import VerdictTensor
from judgelaw.words import joined

WHEN: Final[dict[Change, str]] = {
    "ask_again": "when just asked again",
    "swap": "when the answers are swapped",
    "reword": "with another prompt",
    "both": "with another prompt and the answers swapped",
}
AVERAGES: Final = "for averages; a single verdict may change"
_PERCENT: Final = 100
_NEAR: Final = 1e-9
_MOST_NAMED: Final = 3


@dataclass(frozen=True, kw_only=True)
class Design:
    """How the judge was asked, as far as words need it."""

    items: int
    prompts: int
    orders: int
    repeats: int


def share(
    x: float,
    *,
    bars: Sequence[float] = (),
    limits: Sequence[float] = (),
    up: bool | None = None,
) -> str:
    """Write a share as so many of 100: to the nearest, or rounded `up` (True) or down (False).

    A digit more is written where the number would stand on the wrong side of a bar, which is
    reached from below, or of a limit, which is kept up to itself.

    >>> share(0.7484, up=True, bars=(0.75,)), share(0.7484, up=False), share(0.5)
    ('74.9', '74', '50')
    >>> share(0.0996, up=True, limits=(0.1,)), share(0.1003, up=False, limits=(0.1,))
    ('10', '10.03')
    """
    value = _PERCENT * x
    for digits in (0, 1, 2):
        scale = 10**digits
        wanted = value * scale
        near = round(wanted, 6)
        whole = round(wanted) if up is None else ceil(near) if up else floor(near)
        written = whole / scale
        if all((written >= _PERCENT * bar - _NEAR) == (x >= bar) for bar in bars) and all(
            (written <= _PERCENT * limit + _NEAR) == (x <= limit) for limit in limits
        ):
            break
    return f"{written:.{digits}f}"


def spoken(answer: Answer, design: Design, findings: Sequence[Finding] = ()) -> Answer:
    """Return the answer with its words; a finding that makes it worthless takes the first place."""
    said = worthless()
    found = next((f for f in findings if f.verdict == "problem" and f.name in said), None)
    if found is not None:
        says = f"{said[found.name]}, so nothing can be told about the next one."
        return replace(
            answer,
            word="early",
            title="Not known",
            says=says,
            headline=f"Not known: {_lower(says)}",
            problem=found.headline,
            remedy=found.advice,
            actions=(),
        )
    words = _Words(answer=answer, design=design)
    title, says = words.title(), words.says()
    return replace(
        answer,
        title=title,
        says=says,
        headline=words.headline(title, says, actions := tuple(map(words.action, answer.actions))),
        actions=actions,
    )


def answer_of(
    tensor: VerdictTensor,
    estimand: Estimand,
    *,
    judges: int = 1,
    seed: int = 0,
    at_least: float | None = None,
) -> Answer:
    """Return the answer of one judge with its words, as `decide`; diagnostics are left out."""
    N, K, O, _ = tensor.counts.shape
    design = Design(items=N, prompts=K, orders=O, repeats=tensor.depth[0])
    found = decide(tensor, estimand, judges=judges, seed=seed, at_least=at_least)
    return spoken(found, design)


def _lower(text: str) -> str:
    return text[0].lower() + text[1:] if text[:2].istitle() else text


def named(prompts: Sequence[str]) -> str:
    """Name prompts, the first ones where there are many.

    >>> named(["a"]), named(["a", "b"])
    ('prompt “a”', 'prompts “a” and “b”')
    """
    quoted = [f"“{name}”" for name in prompts[:_MOST_NAMED]]
    more = len(prompts) - _MOST_NAMED
    if more > 0:
        quoted.append(f"{more} more")
    return f"prompt{'s' * (len(quoted) > 1)} {joined(quoted)}"


@dataclass(frozen=True, kw_only=True)
class _Words:
    answer: Answer
    design: Design

    # Numbers ----------------------------------------------------------------------------------

    @property
    def right(self) -> Right:
        right = self.answer.right
        if right is None:
            raise ValueError("no right answers: callers look first")
        return right

    def _low(self, x: float) -> str:
        return share(x, up=False, bars=self._bars)

    def _high(self, x: float) -> str:
        return share(x, up=True, bars=self._bars)

    @property
    def _bars(self) -> tuple[float, ...]:
        right = self.answer.right
        return () if right is None else right.bars

    @property
    def needed(self) -> str:
        """Say which bar there is."""
        right = self.right
        if right.asked is not None:
            return f"you ask for {share(right.asked)}"
        return f"{share(right.rely)} are needed"

    @property
    def fixed(self) -> str:
        """Say what is compared with."""
        if self.right.asked is not None:
            return f"you ask for {share(self.right.asked)}"
        return f"always the same answer gets {share(self.right.baseline)}"

    @property
    def of(self) -> str:
        """Say what is counted."""
        if self.right.by and self.answer.span is None:
            if {c.name for c in self.right.by} == {"pass", "fail"}:
                return "of 100, passes and fails alike"
            return "of 100, all right answers alike"
        return "of 100 items like these"

    def changing(self, x: float) -> str:
        """Write a change: of 100, or in points of a score."""
        return share(x) if self.answer.span is None else f"{x:.2f}"

    # The word and its sentence ----------------------------------------------------------------

    def title(self) -> str:
        """Return the word with its condition."""
        a = self.answer
        if a.right is None:
            return "Not checked against right answers yet"
        if a.word == "use":
            return self._use_title()
        if a.word == "early" and a.right.beats:
            return "Too early to rely on it"
        return {
            "change": "Change it first",
            "weak": "Do not rely on it",
            "avoid": "Do not use it",
            "early": "Too early to tell",
        }[a.word]

    def _use_title(self) -> str:
        advice = next((x for x in self.answer.actions if x.kind in _ADVICE), None)
        steady = advice.after.steady if advice is not None and advice.after is not None else None
        if steady is False or (self.answer.steady is False and not steady):
            return "Use it for averages"
        if advice is not None:
            many = len(advice.prompts) > 1
            said = {
                "repair": "Use it, once its replies are repaired",
                "drop_prompts": f"Use it, without {'some prompts' if many else 'one prompt'}",
                "keep_prompt": "Use it, with one prompt alone",
                "both_orders": "Use it, asked in both orders",
                "vote": "Use it, asked three times",
            }
            return said[advice.kind]
        return "Use it"

    def says(self) -> str:
        """Return the sentence."""
        a = self.answer
        if a.right is None:
            return self._unchecked()
        if a.right.low is None or a.right.high is None:
            return self._no_interval()
        if a.span is not None:
            return self._says_points()
        says = {
            "use": self._use,
            "change": self._change,
            "weak": self._weak,
            "avoid": self._avoid,
            "early": self._early,
        }
        return says[a.word]()

    def headline(self, title: str, says: str, actions: Sequence[Action]) -> str:
        """Return the answer in a line; of a change what it is, and right before and after."""
        reached = [a for a in actions if a.right and a.after is not None and a.after.enough]
        if self.answer.word != "change" or not reached:
            return f"{title}: {_lower(says)}"
        (before, then), span = reached[0].right or (0.0, 0.0), self.answer.span
        if span is not None:
            found = f"{span * (1 - before):.2f} points off on average, then {span * (1 - then):.2f}"
        else:
            valid = " of those with a verdict" if reached[0].kind == "repair" else ""
            found = f"right on {share(before)} {self.of}, then {share(then)}{valid}"
        return f"{title}: {_lower(reached[0].text.removesuffix('.'))}; {found}."

    def _no_interval(self) -> str:
        if self.right.only is not None:
            only = self.right.only
            return f"All right answers here are “{only}”: add items that should get another one."
        return f"{_items(self.right.items)} with a right answer cannot tell: add items."

    def _ends(self) -> tuple[float, float]:
        right = self.right
        return (
            right.low if right.low is not None else 0.0,
            right.high if right.high is not None else 1.0,
        )

    def _use(self) -> str:
        low, _ = self._ends()
        first = f"Right on {share(self.right.estimate)} {self.of}, at least {self._low(low)}"
        if self.title() == "Use it for averages" and self.answer.simplest:
            return f"{first}. A single verdict may change {WHEN[self.answer.simplest]}."
        return f"{first}; {self.fixed}."

    def _change(self) -> str:
        low, _ = self._ends()
        first = f"Right on {share(self.right.estimate)} {self.of}"
        if self.right.enough:
            return f"{first}, at least {self._low(low)}; one change is shown to make it better."
        if self.answer.actions and self.answer.actions[0].kind == "repair":
            none = share(self.answer.invalid)
            return f"{first}, because {none} of 100 replies hold no verdict; {self.needed}."
        return f"{first}, perhaps only {self._low(low)}; {self.needed}."

    def _weak(self) -> str:
        _, high = self._ends()
        most = f"right on at most {self._high(high)} {self.of}"
        if self.right.beats and self.right.asked is None:
            fixed = share(self.right.baseline)
            return f"Better than always the same answer ({fixed}), but wrong too often: {most}."
        after = [x.after.right for x in self.answer.actions if x.after and x.after.right]
        ends = [r.high for r in after if r.high is not None]
        then = f", after the change below at most {self._high(max(ends))}" if ends else ""
        return f"Wrong too often: {most}{then}."

    def _avoid(self) -> str:
        _, high = self._ends()
        return f"Right on at most {self._high(high)} {self.of}; {self.fixed}."

    def _early(self) -> str:
        low, high = self._ends()
        right = self.right
        between = f"right on {self._low(low)} to {self._high(high)}"
        if right.beats and right.asked is None:
            fixed, bar = share(right.baseline), share(right.rely)
            return (
                f"R{between[1:]} {self.of}: better than always the same answer ({fixed}), but "
                f"perhaps below {bar}."
            )
        act = next((x for x in self.answer.actions if x.kind in _ADVICE), None)
        if right.enough is False and act is not None:
            return (
                f"As it is, do not rely on it: {between} of 100; too early to say whether "
                f"{_DOING[act.kind]} is enough."
            )
        return (
            f"{_items(right.items)} leave it open: {between} of 100 items like them; {self.needed}."
        )

    def _says_points(self) -> str:
        a, right = self.answer, self.right
        span = a.span or 1.0
        low, high = self._ends()
        off = f"{span * (1 - right.estimate):.2f} points off on average"
        most, least = f"{points_up(span * (1 - low))}", f"{points_down(span * (1 - high))}"
        fixed = (
            f"you allow {span * (1 - right.asked):.2f}"
            if right.asked is not None
            else f"always the same score is {span * (1 - right.baseline):.2f} off"
        )
        if a.word == "use" and self.title() == "Use it for averages" and a.simplest:
            return f"{off}, at most {most}. A single score may change {WHEN[a.simplest]}."
        if a.word == "use":
            return f"{off}, at most {most}; {fixed}."
        if a.word == "change":
            return f"{off}, perhaps {most}; one change is shown to make it better."
        if a.word in {"weak", "avoid"}:
            return f"At least {least} points off on average; {fixed}."
        return f"{_items(right.items)} leave it open: {least} to {most} points off; {fixed}."

    def _unchecked(self) -> str:
        first = "How often it is right is not known."
        a = self.answer
        of = "of 100" if a.span is None else "points"
        if a.word == "steady":
            ends = [r.high for r in a.changes.values() if r is not None and r.high is not None]
            return f"{first} At most {self._changed(max(ends), up=True)} {of} change {self.tried}."
        if a.word == "unsteady" and a.simplest is not None:
            rate = a.changes[a.simplest]
            low = 0.0 if rate is None or rate.low is None else rate.low
            at_least = f"At least {self._changed(low, up=False)} {of} change"
            return f"{first} {at_least} {WHEN[a.simplest]}."
        widest = None if a.widest is None else a.changes[a.widest]
        if widest is None or widest.low is None or widest.high is None:
            return f"{first} How often they change is not known either."
        least, most = self._changed(widest.low, up=False), self._changed(widest.high, up=True)
        return f"{first} Between {least} and {most} {of} change {self.tried}."

    @property
    def tried(self) -> str:
        """Say in which ways verdicts were seen to change."""
        return tried(self.answer)

    def _changed(self, x: float, *, up: bool) -> str:
        return changed(x, self.answer, up=up)

    # Actions ----------------------------------------------------------------------------------

    def action(self, a: Action) -> Action:
        """Return an action with its words."""
        ways: dict[str, Callable[[Action], tuple[str, str, str | None]]] = {
            "repair": self._repair,
            "drop_prompts": self._drop,
            "keep_prompt": self._keep,
            "both_orders": self._both_orders,
            "vote": lambda _: _VOTE,
            "people": self._people,
            "label": self._label,
            "more_items": self._more,
            "other_judge": lambda _: self._other(),
        }
        text, why, command = ways[a.kind](a)
        return replace(a, text=text, why=why, command=command)

    def _repair(self, a: Action) -> tuple[str, str, str | None]:
        of = "their replies" if len(a.prompts) > 1 else "its replies"
        text = f"Repair or leave out {named(a.prompts)}." if a.prompts else "Repair its replies."
        why = (
            f"{share(a.invalid or 0)} of 100 of {of} hold no verdict; each counts as wrong, and as "
            "a change. Read some; then mend the parser, the prompt or max_tokens."
        )
        return text, why, "judgelaw reparse RUN"

    def _drop(self, a: Action) -> tuple[str, str, str | None]:
        if a.prompt_right is None:
            why = "Its verdicts are unlike those of the others; which are right is not known."
        else:
            bad, good = a.prompt_right
            one = "It is" if len(a.prompts) == 1 else "They are"
            why = f"{one} right on {share(bad)} of 100, the others on {share(good)}."
        return f"Leave out {named(a.prompts)}.", f"{why} {_STUDY_PROMPTS}", None

    def _keep(self, a: Action) -> tuple[str, str, str | None]:
        good, others = a.prompt_right or (0.0, 0.0)
        why = f"It is right on {share(good)} of 100, the others on {share(others)}."
        return f"Use {named(a.prompts)} alone.", f"{why} {_STUDY_PROMPTS}", None

    def _both_orders(self, a: Action) -> tuple[str, str, str | None]:
        why = (
            f"{share(a.ties or 0)} of 100 items become ties, counted half. Two calls an item: "
            "orders: {AB: 0.5, BA: 0.5} and repeats: 1 in the study."
        )
        return "Ask in both orders; where they differ, call it a tie.", why, None

    def _people(self, a: Action) -> tuple[str, str, str | None]:
        k = a.items or 0
        text = f"Let a person decide the {_items(k)} that change{'s' if k == 1 else ''} often."
        return text, "They are listed with their texts in the report.", "judgelaw label RUN"

    def _label(self, a: Action) -> tuple[str, str, str | None]:
        n, q = a.items or 0, share(a.quality or 0)
        key = "The command shows the items one by one, one key each."
        enough = f"{n} are enough if it is right on {q} of 100"
        if a.more is not None:
            enough += f", {a.more} if on {share(BEST_QUALITY)}"
        if n > (here := self.design.items):
            why = f"{key} These are {here}: add some. {enough}."
            return f"Give the right answer for all {_items(here)}.", why, "judgelaw label RUN"
        return f"Give the right answer for {n} items.", f"{key} {enough}.", "judgelaw label RUN"

    def _more(self, a: Action) -> tuple[str, str, str | None]:
        if a.why == "one class":
            only = self.right.only
            return (
                "Add items whose right answer is another one.",
                f"All right answers here are “{only}”, so a judge that always says it looks right.",
                None,
            )
        if a.more is None:
            return "Audit more items.", "These are too few to say how many.", None
        command = "judgelaw audit STUDY"
        of = ""
        if a.prompts and self.answer.right is not None and self.answer.right.by:
            of = f" Best those whose right answer is “{a.prompts[0]}”."
        if a.quality is not None:
            q = share(a.quality)
            why = f"If it is right on {q} of 100, {a.more} items will show it.{of}"
            if self.answer.right is None:
                why = "So many will show whether it is steady."
            return f"Audit more items: about {a.more} in all.", why, command
        right = self.answer.right
        text = f"Audit {a.items} more items: {a.more} in all."
        if right is None:
            return text, "If it stays so, they will show whether it is steady.", command
        if right.estimate >= right.rely:
            return text, f"They will show that it is enough, if it stays as good.{of}", command
        why = (
            "If it stays so, they will show that it is not enough. Or try a better prompt or judge."
        )
        return text, why + of, command

    def _other(self) -> tuple[str, str, str | None]:
        answer = self.answer
        right = answer.right
        never = [c for c in right.by if c.estimate == 0] if right else []
        if never and answer.span is None:
            which = " and ".join(f"“{c.name}”" for c in never[:_MOST_NAMED])
            why = (
                f"This one is never right where the right answer is {which} ({never[0].of} items)."
            )
        elif right is not None and right.high is not None and right.high < 1 - right.better:
            why = (
                "It is right less often than always the same answer: check whether gold or "
                "candidates are swapped."
            )
        elif answer.word == "avoid":
            what = "what you ask" if right and right.asked is not None else None
            why = (
                f"No change that was tried is shown to bring it to {what}."
                if what
                else "Always the same answer would do about as well."
            )
        else:
            why = "No change that was tried is shown to make this one good enough."
        return "Try a better prompt or another judge.", why, None


_ADVICE: Final = ("repair", "drop_prompts", "keep_prompt", "both_orders", "vote")
_THREE_CALLS: Final = (
    "Three calls an item with the same prompt and order: repeats: 3 in the study. Of three "
    "different verdicts take any."
)
_VOTE: Final = ("Ask three times and take the majority.", _THREE_CALLS, None)
_DOING: Final = {
    "repair": "repairing its replies",
    "drop_prompts": "leaving prompts out",
    "keep_prompt": "one prompt alone",
    "both_orders": "asking in both orders",
    "vote": "asking three times",
}
_STUDY_PROMPTS: Final = "Prompts are listed under prompts: in the study."


def tried(answer: Answer) -> str:
    """Say in which ways verdicts were seen to change."""
    names = {"ask_again": "asked again", "swap": "swapped", "reword": "with another prompt"}
    known = [said for c, said in names.items() if answer.changes.get(c) is not None]
    if not known:
        return ""
    return joined(known, "or")


def effects(action: Action, answer: Answer) -> Iterator[str]:
    """Yield what an action changes, before and after."""
    after, span = action.after, answer.span
    if action.right is not None:
        before, then = action.right
        bars = answer.right.bars if answer.right else ()
        ends = _between(after.right if after else None, span, off=True, bars=bars)
        if span is not None:
            yield f"{span * (1 - before):.2f} → {span * (1 - then):.2f} points off{ends}"
        elif action.kind == "repair":
            said = f"{share(then)} right of 100 that hold a verdict{ends}"
            yield f"{said}; now {share(before)} of all"
        elif share(before) == share(then):
            yield f"{share(then)} right of 100, as before{ends}"
        else:
            yield f"{share(before)} → {share(then)} right of 100{ends}"
    if action.changes is not None and action.change is not None:
        before, then = action.changes
        most = "at most " if action.kind == "vote" else ""
        rate = after.changes.get(action.change) if after else None
        ends = _between(rate, span)
        if span is None:
            said = f"{share(before)} → {most}{share(max(0.0, then))} of 100 change"
        else:
            said = f"{before:.2f} → {most}{max(0.0, then):.2f} points apart"
        yield f"{said} {WHEN[action.change]}{ends}"


def in_a_line(action: Action, answer: Answer) -> str:
    """Say what to do and what it changes, in one sentence."""
    changes = "; ".join(effects(action, answer))
    return f"{action.text.removesuffix('.')}: {changes}." if changes else action.text


def outlook(action: Action, answer: Answer) -> str:
    """Say what the judge is good for once this is done; empty where that is not known."""
    after = action.after
    if after is None or answer.right is None or action.kind not in _ADVICE:
        return ""
    if not after.enough:
        known = after.enough is False
        return "Then it is still not enough." if known else "Then it may be enough: not known yet."
    still = "still " if answer.word == "use" else ""
    if after.steady is False:
        return f"Then you may {still}use it {AVERAGES}{_still(after, answer)}."
    if after.steady:
        return f"Then you may {still}use it, and its verdicts are steady."
    if answer.steady is False:
        single = "whether a single verdict holds is not known"
        return f"Then you may {still}use it for averages; {single}."
    return f"Then you may {still}use it."


def _still(after: After, answer: Answer) -> str:
    if after.simplest is None:
        return ""
    rate, when = after.changes[after.simplest], WHEN[after.simplest]
    if answer.span is not None:
        return f" by {rate.estimate:.2f} points {when}"
    return f" ({share(rate.estimate)} of 100 {when})"


def changed(x: float, answer: Answer, *, up: bool) -> str:
    """Write an end of a change: low ends round down, high ones up; of scores in points."""
    if answer.span is not None:
        return points_up(x) if up else points_down(x)
    return share(x, up=up, limits=(STEADY,))


def _between(
    rate: Rate | None, span: float | None, *, off: bool = False, bars: Sequence[float] = ()
) -> str:
    if rate is None or rate.low is None or rate.high is None:
        return ""
    if span is None:
        least, most = share(rate.low, up=False, bars=bars), share(rate.high, up=True, bars=bars)
        return f" ({least} to {most})"
    if off:
        return f" ({points_down(span * (1 - rate.high))} to {points_up(span * (1 - rate.low))})"
    return f" ({points_down(rate.low)} to {points_up(rate.high)})"


def _items(n: int) -> str:
    return f"{n:,} item" if n == 1 else f"{n:,} items"


def points_up(x: float) -> str:
    """Write points of a score, rounded up."""
    return f"{ceil(round(100 * x, 6)) / 100:.2f}"


def points_down(x: float) -> str:
    """Write points of a score, rounded down."""
    return f"{floor(round(100 * x, 6)) / 100:.2f}"
