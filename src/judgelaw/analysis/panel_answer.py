"""Several judges on the same items: is a panel worth its calls, as one value with its words."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import nan
from typing import Any

from judgelaw.analysis.answer import Rate
from judgelaw.analysis.answer_words import answer_of
from judgelaw.analysis.comparison import Standing, standing_of
from judgelaw.analysis.panel_words import PanelWords
from judgelaw.analysis.panels import Panels, decide_panels, matched_judges
from judgelaw.analysis.screen import Screen
from judgelaw.decide import Ties
from judgelaw.estimate import CENSUS, Estimand
from judgelaw.frames import Result, plain
from judgelaw.quantities import Estimate, Quantities, Row
from judgelaw.tensor import VerdictTensor
from judgelaw.words import counted


@dataclass(frozen=True, kw_only=True, repr=False)
class PanelAnswer(Result):
    """Whether a panel of judges is worth its calls, and which.

    Attributes:
        panel: what was decided, with the words of its actions.
        judges: the answer of each judge on the common items, by name.
        title: the decision, for people.
        says: one sentence.
        headline: both.
    """

    panel: Panels
    judges: Mapping[str, Standing] = field(default_factory=dict)
    title: str = ""
    says: str = ""
    headline: str = ""

    schema = "judgelaw.panel/1"
    brief = ("group", "at", "quantity", "estimate", "interval_low", "interval_high")

    @property
    def word(self) -> str:
        """The decision: `combine`, `keep_one`, `alone`, `early` or `unchecked`."""
        return self.panel.word

    @cached_property
    def quantities(self) -> Quantities:
        """All that was estimated, one row each."""
        return Quantities(tuple(_rows(self.panel)))

    def in_words(self) -> str:
        """Give the answer, then what to do."""
        return " ".join([self.headline, *(a.text for a in self.panel.actions)])

    def records(self) -> Sequence[Mapping[str, Any]]:
        """Return one row for each estimate."""
        return self.quantities.records()

    def to_json(self) -> dict[str, Any]:
        """Return the document: every judge as compared, and the panel beside them."""
        found: dict[str, Any] = plain(self.panel)
        for group in ("components", "changes"):
            by_name = self.quantities.of(group)
            found[group] = {
                name: None if each.absent else each.by["estimate"].to_json()
                for name, each in by_name.items()
            }
        said = {"title": self.title, "says": self.says, "headline": self.headline}
        return {"schema": self.schema, "judges": plain(self.judges), "panel": {**said, **found}}

    def screen(self, where: str = "") -> Screen:
        """Return what is read first."""
        calls = sum(standing.calls for standing in self.judges.values())
        on = f"on {where}: " if where else ""
        asked = f"{on}{counted(self.panel.items, 'common item')}, {calls:,} calls in all"
        return PanelWords(found=self.panel).screen(self.title, self.says, asked)


def _rows(f: Panels) -> Iterator[Row]:
    for name, rate in f.components.items():
        yield _row("components", None, name, rate)
    for name, rate in f.changes.items():
        yield _row("changes", None, name, rate)
    for one in [*([f.best] if f.best else []), *f.as_many]:
        at = one.judge if one.calls == 1 else f"{one.calls} calls of {one.judge}"
        yield from _of_way(at, {"right": one.right, "changes": one.changes})
    for S in f.panels:
        found = {"right": S.right, "changes": S.changes, "gain": S.gain, "over_calls": S.over_calls}
        yield from _of_way(", ".join(S.judges), found)
    yield from _of_way("all", {"right": f.of_all})
    if f.together is not None:
        yield _row("together", None, "wrong", f.together.rate)
    for way in f.people:
        for name, rate in (("sent", way.sent), ("right", way.right)):
            yield _row("people", ", ".join(way.judges), name, rate)
    if f.at_most is not None:
        yield _row("together", None, "mean right at most", f.at_most)


def _of_way(at: str, found: Mapping[str, Rate | None]) -> Iterator[Row]:
    for name, rate in found.items():
        if rate is not None:
            yield _row("panels", at, name, rate)


def _row(group: str, at: str | None, name: str, rate: Rate | None) -> Row:
    if rate is None:
        estimate = Estimate(estimate=nan, reason="these calls do not vary it")
    else:
        low, high = (nan if x is None else x for x in (rate.low, rate.high))
        estimate = Estimate(estimate=rate.estimate, low=low, high=high)
    return Row("", None, group, at, name, "estimate", estimate)


def panel_of(
    tensors: Mapping[str, VerdictTensor],
    declared: Estimand = CENSUS,
    *,
    size: Sequence[int] | None = None,
    of: Sequence[Sequence[str]] = (),
    ties: Ties = "random",
    prices: Mapping[str, float] | None = None,
    seed: int = 0,
) -> PanelAnswer:
    """Return whether a panel of judges is worth its calls; as `decide_panels`, with words."""
    found = decide_panels(tensors, declared, size=size, of=of, ties=ties, prices=prices, seed=seed)
    words = PanelWords(found=found)
    found = replace(found, actions=tuple(words.action(a) for a in found.actions))
    title, says = PanelWords(found=found).title(), PanelWords(found=found).says()
    matched = matched_judges({name: tensors[name] for name in found.judges})
    judges = len(matched)
    return PanelAnswer(
        panel=found,
        judges={
            name: standing_of(name, t, answer_of(t, declared, judges=judges, seed=seed))
            for name, t in matched.items()
        },
        title=title,
        says=says,
        headline=f"{title}: {says[:1].lower()}{says[1:]}",
    )
