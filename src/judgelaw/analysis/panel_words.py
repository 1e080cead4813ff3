"""The words of a panel: title, sentence, what to do, and the first screen."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from judgelaw.analysis.answer import STEADY, Rate, Word
from judgelaw.analysis.answer_words import share
from judgelaw.analysis.panels import PanelAction, Panels, PanelWord, Tried
from judgelaw.analysis.screen import Card, Panel, Row, Screen, Tick
from judgelaw.arrays import PAIR
from judgelaw.vocabulary import CHANGES, PANEL_CHANGES
from judgelaw.words import counted, joined, visible

_MARK: Final[dict[PanelWord, Word]] = {
    "combine": "use",
    "keep_one": "use",
    "alone": "use",
    "early": "early",
    "unchecked": "steady",
}
_NAMED: Final = 3
_LONG: Final = 34
_NUMBERS: Final = {3: "three", 5: "five"}
_SHORT: Final = 12


def together(judges: Sequence[str], last: str = "and") -> str:
    """Name a panel: its judges where they are few and short, else how many.

    >>> together(["a", "b", "c"]), together(["a", "b", "c", "d", "e"])
    ('a, b and c', '5 judges')
    """
    said = joined([visible(j) for j in judges], last)
    if len(judges) <= _NAMED and len(said) <= _LONG:
        return said
    return f"{len(judges)} judges"


def times(calls: int, judge: str) -> str:
    """Say `three calls of A`."""
    return f"{_NUMBERS.get(calls, str(calls))} calls of {visible(judge)}"


@dataclass(frozen=True, kw_only=True)
class PanelWords:
    """What is said about a panel."""

    found: Panels

    # The word and its sentence ----------------------------------------------------------------

    def title(self) -> str:
        """Return the decision with its condition."""
        f = self.found
        if f.word == "combine" and f.panel is not None:
            return f"Combine {together(f.panel.judges)}"
        if f.word == "alone":
            return f"Ask {visible(f.actions[0].judges[0])} alone"
        if f.word == "early" and f.reason == "two judges":
            return "Two judges have no majority"
        return {
            "keep_one": "Keep one judge",
            "early": "Too early to tell whether a panel helps",
            "unchecked": "Not checked against right answers yet",
        }[f.word]

    def says(self) -> str:
        """Return the sentence."""
        f = self.found
        if f.best is None or f.best.right is None:
            return self._unchecked()
        if f.word == "combine":
            return self._combine()
        if f.word == "alone" and f.of_all is not None:
            right = f.actions[0].right or (0.0, 0.0)
            return (
                f"Right on {share(right[1])} of 100 items like these; the majority of all on "
                f"{share(right[0])}."
            )
        if f.word == "keep_one":
            return f"{self._none()} gains 5 of 100 over the best alone."
        return self._early()

    def _none(self) -> str:
        f = self.found
        tried = sum(S.combine is not None for S in f.panels)
        if tried < f.possible:
            return f"None of the {tried} majorities tried, of {f.possible},"
        return "No majority of these"

    def _combine(self) -> str:
        f = self.found
        S, best = f.panel, f.best
        assert S is not None and S.right is not None and best is not None and best.right  # noqa: S101, PT018
        least = "" if S.right.low is None else f", at least {share(S.right.low, up=False)}"
        many = next((x for x in f.as_many if x.calls == S.calls), None)
        calls = (
            ""
            if many is None or many.right is None
            else (f", {times(many.calls, many.judge)} {share(many.right.estimate)}")
        )
        return (
            f"By majority right on {share(S.right.estimate)} of 100 items like these{least}; "
            f"{visible(best.judge)} alone {share(best.right.estimate)}{calls}."
        )

    def _early(self) -> str:
        f = self.found
        best, S = f.best, f.panel
        assert best is not None and best.right is not None  # noqa: S101, PT018 - with right answers
        alone = f"{visible(best.judge)} alone on {share(best.right.estimate)}"
        if f.reason == "two judges":
            both = "" if f.of_all is None else f", either of the two on {share(f.of_all.estimate)}"
            return (
                f"{alone[:1].upper()}{alone[1:]} of 100{both}. Where they differ a third judge, or "
                "a person, has to decide."
            )
        if S is None or S.right is None:
            return f"{alone[:1].upper()}{alone[1:]} of 100; no panel was tried."
        first = f"The majority of {together(S.judges)} is right on {share(S.right.estimate)} of 100"
        if f.reason == "calls":
            return f"{first}, {alone}; whether as many calls of one judge do as well is not known."
        if S.gain is None or S.gain.low is None or S.gain.high is None:
            return f"{first}, {alone}."
        return f"{first}, {alone}: between {_signed(S.gain.low)} and {_signed(S.gain.high)} more."

    def _unchecked(self) -> str:
        rate = self.found.at_most
        if rate is None or rate.high is None:
            return "How often any of these judges is right is not known."
        most = share(rate.high, up=True)
        return (
            f"Whatever the right answers, these judges are right on at most {most} of 100 on "
            "average, since they differ so often."
        )

    # Actions ----------------------------------------------------------------------------------

    def action(self, a: PanelAction) -> PanelAction:
        """Return an action with its words."""
        ways = {
            "combine": self._combining,
            "keep_one": self._keeping,
            "alone": self._alone,
            "more_items": self._more,
        }
        text, why = ways[a.kind](a)
        command = None
        if a.kind == "more_items" and self.found.reason == "calls":
            command = "judgelaw extend RUN --repeats 3"
        elif a.kind == "more_items" and a.more is not None:
            command = "judgelaw audit STUDY"
        return replace(a, text=text, why=why, command=command)

    def _combining(self, a: PanelAction) -> tuple[str, str]:
        why = "One call of each; the commonest verdict counts."
        return f"Combine {joined([visible(j) for j in a.judges])} by majority.", why

    def in_turn(self) -> str:
        """Say how many calls are needed if the third judge is asked only where it matters."""
        S = self.found.panel
        if S is None or S.calls_in_turn is None:
            return ""
        third = next(j for j in S.judges if j not in S.first)
        return (
            f"Ask {visible(third)} only where {together(S.first)} differ: same verdicts, "
            f"{S.calls_in_turn:.1f} calls an item for {S.calls}"
        )

    def _keeping(self, a: PanelAction) -> tuple[str, str]:
        S = self.found.panel
        panel = "" if S is None else together(S.judges)
        before, after = a.right or (0.0, 0.0)
        name = visible(a.judges[0])
        if self.found.word == "alone":
            none = self._none()
            return f"Keep one judge: {none[:1].lower()}{none[1:]} gains 5 of 100.", ""
        why = f"It is right on {share(after)} of 100, {panel} by majority on {share(before)}."
        return f"Keep one judge: {name} looks best.", why

    def _alone(self, a: PanelAction) -> tuple[str, str]:
        why = f"The majority of all {len(self.found.judges)} outvotes it where it is right."
        return f"Ask {visible(a.judges[0])} alone.", why

    def _more(self, a: PanelAction) -> tuple[str, str]:
        f = self.found
        if f.reason == "two judges":
            return (
                "Add a third judge, or let a person decide where the two differ.",
                self.person() or "Two votes are no majority.",
            )
        if f.reason == "calls":
            return (
                "Ask the same items again: three calls of each judge and item.",
                "A panel is worth it only if as many calls of its best judge do less.",
            )
        if f.reason == "weights":
            return (
                "Weigh prompts and orders alike.",
                "A panel is held against calls that are spread evenly over prompts and orders.",
            )
        panel = together(a.judges)
        if a.more is None:
            return (
                "Do not pay for more items to settle this.",
                f"The gain of {panel} is near 5 of 100, or as many calls of one judge do as well.",
            )
        return (
            f"Audit {a.items} more items: {a.more} in all.",
            f"If it stays so, they will show whether {panel} is worth its calls.",
        )

    def effects(self, a: PanelAction) -> Iterator[str]:
        """Yield what an action changes, before and after, and what it costs."""
        f = self.found
        S, best = f.panel, f.best
        if a.kind == "combine" and a.right is not None and S is not None:
            least = ""
            if S.gain is not None and S.gain.low is not None:
                least = f" (at least {_whole(S.gain.low, up=False)} more)"
            yield f"{share(a.right[0])} → {share(a.right[1])} right of 100{least}"
            if a.changes is not None:
                yield (
                    f"{share(a.changes[0])} → {share(a.changes[1])} of 100 change when asked again"
                )
            yield f"1 → {S.calls} calls an item{self._money(S, best.price if best else None)}"
            if in_turn := self.in_turn():
                yield in_turn
        elif a.kind == "keep_one" and S is not None and f.word == "keep_one":
            yield f"{S.calls} → 1 calls an item{self._money_back(S, best.price if best else None)}"
            if a.loses is not None:
                most = f"gives up at most {_whole(a.loses, up=True)} right of 100"
                yield most if a.loses > 0 else "gives up nothing: the majority is right less often"
        elif a.kind == "alone" and a.right is not None:
            yield f"{share(a.right[0])} → {share(a.right[1])} right of 100"
            yield f"{len(f.judges)} → 1 calls an item"

    def _money(self, S: Tried, before: float | None) -> str:
        if S.price is None or before is None:
            return ""
        return f"; ${1000 * before:.2f} → ${1000 * S.price:.2f} for 1,000 items"

    def _money_back(self, S: Tried, after: float | None) -> str:
        if S.price is None or after is None:
            return ""
        return f"; ${1000 * S.price:.2f} → ${1000 * after:.2f} for 1,000 items"

    def person(self) -> str:
        """Say what two calls and a person come to: the way that gains most for each item sent."""
        ways = [way for way in self.found.people if way.gained is not None]
        if not ways:
            return ""
        way = max(ways, key=lambda each: each.gained or 0.0)
        a, b = (visible(j) for j in way.judges)
        who = f"{a} twice" if a == b else f"{a} and {b}"
        return (
            f"Ask {who} and a person where the two differ: right on {share(way.right.estimate)} of "
            f"100, {share(way.sent.estimate)} of 100 sent."
        )

    # The first screen -------------------------------------------------------------------------

    def cards(self) -> tuple[Card, ...]:
        """Return what to do."""
        return tuple(
            Card(text=a.text, how=a.why, effects=tuple(self.effects(a)), command=a.command or "")
            for a in self.found.actions
        )

    def screen(self, title: str, says: str, asked: str) -> Screen:
        """Return what is read first."""
        f = self.found
        panels = [self._changes()] if f.best is None else [self._right(), self._changes()]
        return Screen(
            who=counted(len(f.judges), "judge"),
            asked=asked,
            word=_MARK[f.word],
            title=title,
            says=says,
            cards=self.cards(),
            panels=tuple(panels),
            key="95% sure, items like these",
        )

    def _right(self) -> Panel:
        f = self.found
        best, S = f.best, f.panel
        assert best is not None and best.right is not None  # noqa: S101, PT018 - with right answers
        name = visible(best.judge)
        rows = [_row(_fit(f"{name} alone", "best alone"), best.right, ("panel", "best", "right"))]
        for i, x in enumerate(f.as_many):
            if x.right is not None and S is not None and x.calls == S.calls:
                label = _fit(f"{x.calls} calls of {name}", f"{x.calls} calls of it")
                rows.append(_row(label, x.right, ("panel", "as_many", str(i), "right")))
        found = f"{name} looks best: {share(best.right.estimate)} of 100"
        if S is not None and S.right is not None and f.shown is not None:
            label = _fit(together(S.judges), f"majority of {len(S.judges)}")
            rows.append(_row(label, S.right, ("panel", "panels", str(f.shown), "right")))
            found = (
                f"Majority {share(S.right.estimate)} of 100, {name} alone "
                f"{share(best.right.estimate)}"
            )
        if f.of_all is not None and (S is None or len(S.judges) < len(f.judges)):
            label = f"all {len(f.judges)}" if len(f.judges) > PAIR else "either of the two"
            rows.append(_row(label, f.of_all, ("panel", "of_all")))
        return Panel(
            name="panel",
            question="Is a panel right more often?",
            found=found,
            counted="Of 100 items like these, so many are right",
            rows=tuple(rows),
            notes=tuple(self._notes()),
        )

    def _notes(self) -> Iterator[str]:
        f = self.found
        if f.together is not None and f.together.rate.high is not None:
            high = share(f.together.rate.high, up=True)
            number = "Both" if len(f.judges) == PAIR else f"All {len(f.judges)}"
            yield f"{number} wrong together on at most {high} of 100: no vote mends these."
        if f.reason != "two judges" and (person := self.person()):
            yield person

    def _changes(self) -> Panel:
        f = self.found
        rows = []
        own = [name for name in CHANGES if f.changes.get(name) is not None]
        for name in [*own[:1], "another_judge"]:
            rate = f.changes[name]
            if rate is not None:
                term = PANEL_CHANGES[name]
                rows.append(_row(term.title, rate, ("panel", "changes", name)))
        S = f.panel
        if S is not None and S.changes is not None:
            label = f"majority of {len(S.judges)}"
            key = ("panel", "panels", str(f.shown), "changes")
            rows.append(_row(label, S.changes, key))
        other = f.changes["another_judge"]
        assert other is not None  # noqa: S101 - one call of each judge tells
        notes = []
        if f.best is None:
            notes.append(
                "Judges that agree may be wrong together: only right answers tell whether a panel "
                "helps."
            )
        return Panel(
            name="changes",
            question="Does the verdict hang on whom you ask?",
            found=f"Another judge says otherwise on {share(max(0.0, other.estimate))} of 100",
            counted="Of 100 verdicts, so many change",
            rows=tuple(rows),
            ticks=(Tick(at=STEADY, text=f"steady: up to {share(STEADY)}"),),
            enough=(0.0, STEADY),
            notes=tuple(notes),
            command="" if f.best is not None else "judgelaw label RUN",
        )


def _fit(label: str, short: str) -> str:
    return label if len(label) <= len(short) + _SHORT and len(label) <= 21 else short  # noqa: PLR2004 - the column


def _row(label: str, rate: Rate, key: tuple[str, ...]) -> Row:
    ends = ""
    if rate.low is not None and rate.high is not None:
        ends = f"{share(rate.low, up=False)} to {share(rate.high, up=True)}"
    estimate = max(0.0, rate.estimate)
    return Row(
        label=label,
        text=share(estimate),
        at=estimate,
        low=rate.low,
        high=rate.high,
        ends=ends,
        key=key,
        values=(rate.estimate, rate.low, rate.high),
    )


def _signed(x: float) -> str:
    return f"{100 * x:.0f}".replace("-0", "0")


def _whole(x: float, *, up: bool) -> str:
    return share(x, up=up)
