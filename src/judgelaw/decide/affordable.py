"""What a number of calls can buy, and how soon looks will decide, as far as a pilot tells.

Calls go into items or into repeats. For the items that were asked only repeats help. For items
like them more items nearly always do: repeats cannot lower what items differ by.
"""

from dataclasses import dataclass
from typing import Final

import numpy as np

from judgelaw.arrays import PAIR, check_at_least
from judgelaw.decide.assurance import MOST_ITEMS, MOST_REPEATS, Outlook
from judgelaw.decide.looks import StopRule
from judgelaw.steps import Advance, unheard
from judgelaw.streams import stream
from judgelaw.uncertainty import Scope, call_errors

REPEATS: Final = (2, 4, 8, 16)
"""Repeats of a cell that are tried for items like those of the pilot."""
_LIKELY: Final = 0.05
"""A rule that decides less often than this is called hopeless."""


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One way to spend a number of calls.

    Attributes:
        scope: "fixed" for the items asked, "new" for items like them.
        items, repeats, calls: its size.
        expected: half width of the 95% interval, the mean over simulated studies.
        half_width: what it will be at most, with a chance of `assurance`.
        assurance: that chance.
        chance: of reaching the half width that was asked for; None where none was.
    """

    scope: Scope
    items: int
    repeats: int
    calls: int
    expected: float
    half_width: float
    assurance: float
    chance: float | None


@dataclass(frozen=True, kw_only=True)
class Spending:
    """What a number of calls of one judge buys.

    Attributes:
        component: whose interval is to be narrow.
        budget: calls that may be made.
        these: on the items of the study, as many repeats as they allow; None below two.
        new: the best of `tried`, for items like those of the pilot; None where none is possible.
        tried: the ways that were tried for new items.
    """

    component: str
    budget: int
    these: Choice | None
    new: Choice | None
    tried: tuple[Choice, ...]


def spend(
    outlook: Outlook,
    component: str,
    budget: int,
    *,
    items: int,
    cells: int,
    half_width: float | None = None,
    advance: Advance = unheard,
) -> Spending:
    """Choose items and repeats for a number of calls.

    Args:
        outlook: of studies that are still to come, from a pilot.
        component: whose interval is to be narrow.
        budget: calls of one judge.
        items: of the study as it is declared.
        cells: prompts times orders.
        half_width: a width whose chance is asked for.
        advance: is told of every simulated study.
    """
    check_at_least("budget", budget, PAIR * cells, "two calls in every cell of one item")

    def choice(scope: Scope, N: int, R: int) -> Choice:
        found, _ = outlook.simulate([(scope, component)], items=N, repeats=[R], advance=advance)
        widths = outlook.with_reserve(found[:, 0, 0])
        return Choice(
            scope=scope,
            items=N,
            repeats=R,
            calls=N * R * cells,
            expected=float(widths.mean()),
            half_width=float(outlook.assured(found)[0, 0]),
            assurance=outlook.assurance,
            chance=None if half_width is None else float((widths <= half_width).mean()),
        )

    here = min(budget // (items * cells), MOST_REPEATS)
    sizes = [(min(budget // (cells * R), MOST_ITEMS), R) for R in REPEATS]
    tried = tuple(choice("new", N, R) for N, R in sizes if N > 1)
    return Spending(
        component=component,
        budget=budget,
        these=choice("fixed", items, here) if here >= PAIR else None,
        new=min(tried, key=lambda one: one.half_width, default=None),
        tried=tried,
    )


@dataclass(frozen=True, kw_only=True)
class StopForecast:
    """How soon looks will decide, over simulated studies.

    Attributes:
        decided: share of studies that have stopped by each look, {repeats: share}.
        passed, failed: share of studies that pass, and that fail, at whichever look; for a half
            width, those that reach it are `passed`.
        repeats: on average, of the studies that stop and of those that do not.
    """

    decided: dict[int, float]
    passed: float
    failed: float
    repeats: float

    @property
    def hopeless(self) -> bool:
        """Whether hardly a study decides."""
        return self.passed + self.failed < _LIKELY


def foresee_stop(
    outlook: Outlook, rule: StopRule, *, items: int, advance: Advance = unheard
) -> StopForecast:
    """Simulate studies that stop by a rule."""
    verdicts, depths = [], []
    for study in range(outlook.studies):
        verdict, depth = _stopped(outlook, rule, study, items)
        verdicts.append(verdict)
        depths.append(depth)
        advance(1)
    ended = np.array(depths)
    stopped = np.array([verdict != "inconclusive" for verdict in verdicts])
    return StopForecast(
        decided={depth: float((stopped & (ended <= depth)).mean()) for depth in rule.looks},
        passed=float(np.mean([verdict in ("pass", "reached") for verdict in verdicts])),
        failed=float(np.mean([verdict == "fail" for verdict in verdicts])),
        repeats=float(ended.mean()),
    )


def _stopped(outlook: Outlook, rule: StopRule, study: int, items: int) -> tuple[str, int]:
    """Ask one simulated study depth by depth; return what decided, and where."""
    laws, rng = outlook.laws_of(study, items), stream(outlook.seed, "plan", "looks", study)
    counts, before = np.zeros(laws.shape, dtype=np.int64), 0
    for depth in rule.looks:
        counts += rng.multinomial(depth - before, laws)
        before = depth
        errors = call_errors(counts, outlook.estimand)
        low, high = rule.levels(depth)
        ends = errors.bounds(rule.component, low)[0], errors.bounds(rule.component, high)[1]
        verdict = rule.stopped_by(*ends)
        if verdict != "inconclusive":
            break
    return verdict, depth
