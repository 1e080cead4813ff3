"""Is a panel of judges worth its calls, and which: decided once, from their counts.

Three calls of anything look steadier than one. A panel S is worth combining only if its majority is
right more often than every judge alone, and than as many calls of every judge: then nothing was
chosen, and no estimate is better for having been looked for. With x_j the right of judge j on an
item, x_jm that of the vote of m calls of it, X_S that of the panel,

    combine   X_S - x_j is shown and the low end of X_S - x_jm above 0 for every j, and the verdict
              is not shown to change more often than that of the judge that looks best
    keep_one  for every S some j with the high end of X_S - x_j below .05
    alone     x_j - X_all is shown, X_all the majority of all

Panels that are tried share an error of .025, half of it for the panel of all. Without right answers
no panel is advised: judges that agree may be wrong together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from math import ceil, isnan, sqrt
from typing import Final, Literal

import numpy as np

from judgelaw.analysis.answer import LEAST_HELP, LEVEL, Action, Merit, Rate, merit_of, of_pairs
from judgelaw.arrays import PAIR, Floats
from judgelaw.decide import (
    TIE,
    Majority,
    Ties,
    another_judge,
    call_law,
    call_pairs,
    calls_in_turn,
    calls_needed,
    judge_component,
    of_two,
    panel_changes,
    panel_law,
    spread_changes,
    spread_law,
    two_calls,
    wrong_together,
)
from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS, Estimand, decompose_as, item_rates, weights_of
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import (
    Draws,
    MeanBounds,
    clusters_of,
    mean_bounds,
    t_quantile,
    weigh_means,
)
from judgelaw.words import listed

SIZES: Final = (3, 5)
MOST_TRIED: Final = 11
"""Panels that are tried together: all of three and of five among five judges."""
_EVERY_PANEL_TO: Final = 5
_ERROR: Final = 1 - LEVEL
_ONE_SIDE: Final = 0.95
_POWER: Final = 0.84
_MOST_TIMES: Final = 20
_ROUNDING: Final = 1e-9

PanelWord = Literal["combine", "keep_one", "alone", "early", "unchecked"]
CHANGES_OF_PANEL: Final = ("ask_again", "reword", "swap", "both", "another_judge")
COMPONENTS_OF_PANEL: Final = (*COMPONENTS[:-1], "judge", COMPONENTS[-1])


@dataclass(frozen=True, kw_only=True)
class PanelAction(Action):
    """An action about several judges.

    Attributes:
        judges: that it names.
        more_than_calls: how often right as many calls of the judge that looks best are.
        loses: how much more often a panel that is given up may be right, at most.
    """

    judges: tuple[str, ...] = ()
    more_than_calls: float | None = None
    loses: float | None = None


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One panel, beside the judge that looks best and as many calls of it.

    Attributes:
        judges: who votes.
        level: of the bounds that decide about it.
        right: of the majority; None without right answers.
        changes: how often its verdict changes when all are asked again; None where unknown.
        gain: right over the judge that looks best.
        over_calls: right over as many calls of it; None where these are too few.
        combine: whether it is shown to be worth it; None where it could not be tried.
        calls: of an item.
        first: the two of three to ask first, if the third is asked only if need be.
        calls_in_turn: calls of an item then; None for other sizes.
        price: US dollars of an item; None where no prices are known.
    """

    judges: tuple[str, ...]
    level: float
    right: Rate | None = None
    changes: Rate | None = None
    gain: Rate | None = None
    over_calls: Rate | None = None
    combine: bool | None = None
    calls: int = 0
    first: tuple[str, ...] = ()
    calls_in_turn: float | None = None
    price: float | None = None


@dataclass(frozen=True, kw_only=True)
class OneJudge:
    """One judge, asked once or as often as a panel.

    Attributes:
        judge: who.
        calls: of an item.
        right, changes: None where unknown.
        price: US dollars of an item; None where no prices are known.
    """

    judge: str
    calls: int
    right: Rate | None
    changes: Rate | None
    price: float | None = None


@dataclass(frozen=True, kw_only=True)
class WithPerson:
    """Two calls, and a person where they differ or one holds no verdict.

    Attributes:
        judges: who is called; one judge twice, or two.
        sent: share of items that a person decides.
        right: after that.
        gained: right gained over the judge that looks best, for each item sent.
    """

    judges: tuple[str, ...]
    sent: Rate
    right: Rate
    gained: float | None


@dataclass(frozen=True, kw_only=True)
class Together:
    """How often all judges are wrong on the same item: no vote mends these.

    Attributes:
        rate: measured.
        independent: what it would be if errors had nothing to do with each other.
    """

    rate: Rate
    independent: float


@dataclass(frozen=True, kw_only=True)
class Panels:
    """What several judges are worth together.

    Attributes:
        judges: who.
        items: on how many common items.
        counted: items with a right verdict that counts.
        ties: who wins a tied vote.
        word: the decision.
        components: what the disagreement of two calls is made of, the judge as a facet; None where
            the calls cannot tell.
        changes: how often verdicts change, by what differs.
        best: the judge that looks best; without right answers None.
        as_many: that judge asked as often as a panel, by number of calls.
        panels: those that were tried.
        shown: number of the panel to look at, among `panels`; None where none was tried.
        of_all: right of the majority of all judges.
        together: None without right answers.
        people: ways to ask two calls and a person.
        at_most: mean right of these judges, whatever is right; at 95% the high end.
        actions: what to do.
        possible: how many panels there are of the sizes asked.
        reason: why no panel was tried; empty where some were.
        lost: items of each judge that another lacks.
    """

    judges: tuple[str, ...]
    items: int
    counted: int
    ties: Ties
    word: PanelWord
    components: Mapping[str, Rate | None]
    changes: Mapping[str, Rate | None]
    best: OneJudge | None
    as_many: tuple[OneJudge, ...]
    panels: tuple[Tried, ...]
    shown: int | None
    of_all: Rate | None
    together: Together | None
    people: tuple[WithPerson, ...]
    at_most: Rate | None
    actions: tuple[PanelAction, ...]
    possible: int
    reason: str = ""
    lost: Mapping[str, int] = field(default_factory=dict)

    @property
    def panel(self) -> Tried | None:
        """The panel to look at."""
        return None if self.shown is None else self.panels[self.shown]


def matched_judges(tensors: Mapping[str, VerdictTensor]) -> dict[str, VerdictTensor]:
    """Return judges on the items that all of them have, with one alphabet and one gold.

    Each keeps its own prompts, orders and repeats.
    """
    if len(tensors) < PAIR:
        raise InputError(f"{len(tensors)} judge: a panel needs two or more")
    if any(t.scale is not None for t in tensors.values()):
        raise InputError(
            "these verdicts are scores: a majority is of verdicts; average the scores instead "
            "(judgelaw score)"
        )
    if len({t.criterion for t in tensors.values()}) > 1:
        raise InputError("a panel votes on one criterion: name it, --criterion (criterion=)")
    common = set.intersection(*(set(t.items) for t in tensors.values()))
    if not common:
        raise InputError("the judges have no item in common: match them by item id")
    first = next(iter(tensors.values()))
    items = [item for item in first.items if item in common]
    alphabet = dict.fromkeys(v for t in tensors.values() for v in t.verdicts)
    found = {name: t.select(items=items).with_alphabet(alphabet) for name, t in tensors.items()}
    gold = _one_gold(found)
    return {name: replace(t, gold=gold) for name, t in found.items()}


def _one_gold(tensors: Mapping[str, VerdictTensor]) -> tuple[str | None, ...] | None:
    """Return the right verdict of each item, which all judges that have one must share."""
    known = [(name, t.gold) for name, t in tensors.items() if t.gold is not None]
    if not known:
        return None
    merged = list(known[0][1])
    items = next(iter(tensors.values())).items
    for name, gold in known[1:]:
        for i, right in enumerate(gold):
            if right is not None and merged[i] is not None and right != merged[i]:
                raise InputError(
                    f"item {items[i]!r}: {known[0][0]} has the right verdict {merged[i]!r}, {name} "
                    f"{right!r}; a panel is held against one right answer"
                )
            merged[i] = merged[i] if right is None else right
    return tuple(merged)


def panels_of(
    judges: Sequence[str],
    *,
    size: Sequence[int] | None = None,
    of: Sequence[Sequence[str]] = (),
) -> tuple[tuple[tuple[str, ...], ...], int]:
    """Return the panels to try, and how many there are of these sizes.

    Named ones (`of`) are all tried. Of five judges or fewer every panel is; of more, those of three
    neighbours as listed, since the best of very many panels looks good by chance.
    """
    sizes = tuple(dict.fromkeys(size or SIZES))
    if wrong := [m for m in sizes if m not in SIZES]:
        raise InputError(f"size = {wrong[0]}: a panel that is tried has 3 judges or 5")
    groups = [list(group) for group in of] or [list(judges)]
    found = dict.fromkeys(
        panel for group in groups for m in sizes for panel in combinations(group, m)
    )
    possible = len(found)
    if of or size:
        if possible > MOST_TRIED:
            raise InputError(
                f"{possible} panels: at most {MOST_TRIED} are tried together, since the best of "
                "many looks good by chance; name up to five judges, --of A,B,C,D,E (of=)"
            )
        return tuple(found), possible
    if len(judges) <= _EVERY_PANEL_TO:
        return tuple(found), possible
    J = len(judges)
    around = [tuple(judges[(i + k) % J] for k in range(SIZES[0])) for i in range(J)]
    return tuple(around[:MOST_TRIED]), possible


def decide_panels(
    tensors: Mapping[str, VerdictTensor],
    estimand: Estimand,
    *,
    size: Sequence[int] | None = None,
    of: Sequence[Sequence[str]] = (),
    ties: Ties = "random",
    prices: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Panels:
    """Return whether a panel of judges is worth its calls.

    Args:
        tensors: calls of each judge, in every one of its cells.
        estimand: the weights of prompts and orders.
        size: sizes of the panels to try, 3 and 5 by default.
        of: judges among whom panels are formed, in one list or several; by default all.
        ties: who wins a tied vote.
        prices: US dollars of a call, by judge.
        seed: of the random weights of items.
    """
    named = dict.fromkeys(name for group in of for name in group)
    if unknown := [name for name in named if name not in tensors]:
        raise InputError(f"no judge is called {unknown[0]!r}: there are {listed(tuple(tensors))}")
    chosen = {name: tensors[name] for name in named} if named else dict(tensors)
    matched = matched_judges(chosen)
    tried, possible = panels_of(tuple(matched), size=size, of=of)
    found = _Deciding(
        tensors=matched,
        estimand=estimand,
        tried=tried,
        ties=ties,
        prices=prices or {},
        seed=seed,
    ).panels(possible)
    lost = {name: len(chosen[name].items) - found.items for name in chosen}
    return replace(found, lost=lost)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Deciding:
    """Several judges under decision: their laws, item values and bounds."""

    tensors: Mapping[str, VerdictTensor]
    estimand: Estimand
    tried: tuple[tuple[str, ...], ...]
    ties: Ties
    prices: Mapping[str, float]
    seed: int

    # What is measured -------------------------------------------------------------------------

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The judges."""
        return tuple(self.tensors)

    @cached_property
    def one(self) -> VerdictTensor:
        """The judge with the fewest orders: what weights of right go by."""
        return min(self.tensors.values(), key=lambda t: len(t.orders))

    @cached_property
    def rule(self) -> Majority:
        """How votes become a verdict."""
        verdicts = self.one.verdicts
        return Majority(
            verdicts=len(verdicts),
            ties=self.ties,
            tie=verdicts.index(TIE) if TIE in verdicts else None,
            unread=verdicts.index(INVALID) if INVALID in verdicts else None,
        )

    @cached_property
    def merit(self) -> Merit | None:
        """What verdicts are worth."""
        return merit_of(self.one)

    def weights(self, name: str) -> tuple[Floats, Floats]:
        """Return the weights of a judge's prompts and of its orders."""
        t, e = self.tensors[name], self.estimand
        w = weights_of("prompt", e.prompt_weights, len(t.prompts), t.prompts)
        q = weights_of("order", e.order_weights, len(t.orders), t.orders)
        return np.asarray(w, dtype=float), np.asarray(q, dtype=float)

    @cached_property
    def even(self) -> bool:
        """Whether all cells weigh alike: calls are spread evenly over these alone."""
        return all(float(np.ptp(x)) < _ROUNDING for name in self.names for x in self.weights(name))

    @cached_property
    def laws(self) -> Mapping[str, Floats]:
        """Of one call of each judge, (items, verdicts)."""
        return {j: call_law(self.tensors[j].counts, *self.weights(j)) for j in self.names}

    @cached_property
    def pairs(self) -> Mapping[str, Floats | None]:
        """Of two separate calls of each judge; None where it was called once."""
        return {j: call_pairs(self.tensors[j].counts, *self.weights(j)) for j in self.names}

    def cells(self, name: str) -> Floats:
        """Return the counts of a judge, (items, cells, verdicts)."""
        n = self.tensors[name].counts
        return np.asarray(n.reshape(len(n), -1, n.shape[-1]))

    def right_of(self, law: Floats) -> Floats:
        """Return the right of each counted item under a law of verdicts."""
        assert self.merit is not None  # noqa: S101 - callers look first
        return np.asarray((law[self.merit.counted] * self.merit.credit).sum(axis=1))

    @cached_property
    def right(self) -> Mapping[str, Floats]:
        """Of each judge, by counted item."""
        return {name: self.right_of(law) for name, law in self.laws.items()}

    def mean(self, y: Floats) -> float:
        """Return the mean of a value of counted items under the weights of right."""
        assert self.merit is not None  # noqa: S101 - callers look first
        return float(self.merit.shares @ y)

    @cached_property
    def by_right(self) -> tuple[str, ...]:
        """The judges, the one that looks best first."""
        return tuple(sorted(self.names, key=lambda j: -self.mean(self.right[j])))

    @property
    def best(self) -> str:
        """The judge that looks best."""
        return self.by_right[0]

    def reaches(self, name: str, m: int) -> bool:
        """Whether a judge has the calls for a vote of m, spread over its cells."""
        U = self.tensors[name].counts.shape[1] * self.tensors[name].counts.shape[2]
        return self.even and calls_needed(m, U) <= self.tensors[name].depth[0]

    @cached_property
    def _spread(self) -> dict[tuple[str, int], Floats]:
        return {}

    def right_of_calls(self, name: str, m: int) -> Floats:
        """Return the right of the vote of m calls of a judge, by counted item."""
        if (name, m) not in self._spread:
            self._spread[name, m] = self.right_of(spread_law(self.cells(name), m, self.rule))
        return self._spread[name, m]

    # Bounds -----------------------------------------------------------------------------------

    @cached_property
    def _drawn(self) -> dict[bytes, Draws]:
        return {}

    def weigh(self, ys: Sequence[Floats], *, of_right: bool = True) -> None:
        """Draw the random weights of several values at once: each draw is most of a bound."""
        classes = self.merit is not None and of_right and self.merit.classes is not None
        if ys and not classes and self.one.clusters is None and len(ys[0]) >= PAIR:
            drawn = weigh_means(np.stack(ys, axis=1), seed=self.seed)
            self._drawn.update({y.tobytes(): one for y, one in zip(ys, drawn, strict=True)})

    def bounds(
        self, y: Floats, level: float, ends: tuple[float, float], *, of_right: bool
    ) -> MeanBounds:
        """Return a mean over items with its bounds; of right under the weights of right."""
        m = self.merit if of_right else None
        labels = self.one.clusters
        if labels is not None and m is not None:
            labels = tuple(labels[i] for i in m.counted)
        weights = None if m is None else m.weights
        found = mean_bounds(
            y,
            level,
            ends=ends,
            classes=None if m is None else m.classes,
            weights=weights,
            lone_items=weights is not None and len(weights) > PAIR,
            clusters=clusters_of(labels),
            seed=self.seed,
            drawn=self._drawn.get(y.tobytes()) if labels is None and weights is None else None,
        )
        bare = m is not None and m.one_class
        return replace(found, low=np.nan, high=np.nan) if bare else found

    def rate(self, y: Floats, level: float = LEVEL, *, of_right: bool = True) -> Rate:
        """Return a share with ends cut at its range."""
        found = self.bounds(y, level, (0.0, 1.0), of_right=of_right)
        if isnan(found.low):
            return Rate(estimate=found.estimate, low=None, high=None)
        low, high = max(0.0, found.low), min(1.0, found.high)
        return Rate(estimate=found.estimate, low=low, high=high)

    def contrast(self, y: Floats, level: float) -> Rate:
        """Return a difference of right with its ends."""
        low, high = min(0.0, float(y.min())), max(1.0, float(y.max()))
        found = self.bounds(y, level, (low, high), of_right=True)
        if isnan(found.low):
            return Rate(estimate=found.estimate, low=None, high=None)
        return Rate(estimate=found.estimate, low=found.low, high=found.high)

    def shown(self, y: Floats, level: float, *, least: float = 0.0, of_right: bool = True) -> bool:
        """Whether a contrast is shown: its mean is worth it, and its low end above zero."""
        mean = self.mean(y) if of_right else float(y.mean())
        if mean < LEAST_HELP - _ROUNDING:
            return False
        ends = (min(least, float(y.min())), max(1.0, float(y.max())))
        return self.bounds(y, level, ends, of_right=of_right).low > 0

    # Panels -----------------------------------------------------------------------------------

    def levels(self) -> dict[tuple[str, ...], float]:
        """Return the level of each panel: half of the error is that of the panel of all."""
        whole = [S for S in self.tried if len(S) == len(self.names)]
        rest = len(self.tried) - len(whole)
        if whole and rest:
            return {S: 1 - _ERROR / 2 / (1 if S in whole else rest) for S in self.tried}
        return dict.fromkeys(self.tried, 1 - _ERROR / max(1, len(self.tried)))

    def law_of(self, S: Sequence[str]) -> Floats:
        """Return the law of the majority of a panel."""
        return panel_law([self.laws[j] for j in S], self.rule)

    def changes_of(self, S: Sequence[str]) -> Floats | None:
        """Return how often the verdict of a panel changes; None where a judge was called once."""
        pairs = [pair for j in S if (pair := self.pairs[j]) is not None]
        if len(pairs) < len(S):
            return None
        return panel_changes([self.laws[j] for j in S], pairs, self.rule)

    @cached_property
    def _changes_of_one(self) -> Mapping[str, Floats | None]:
        return {j: self.changes_of([j]) for j in self.names}

    def price(self, calls: Mapping[str, float]) -> float | None:
        """Return what an item costs, where the price of every call is known."""
        if not set(calls) <= set(self.prices):
            return None
        return sum(n * self.prices[name] for name, n in calls.items())

    def try_panel(self, S: tuple[str, ...], level: float) -> Tried:
        """Measure one panel, and decide about it."""
        m = len(S)
        changes = self.changes_of(S)
        first, in_turn = self.in_turn(S)
        found = Tried(
            judges=S,
            level=level,
            changes=None if changes is None else self.rate(changes, of_right=False),
            calls=m,
            first=first,
            calls_in_turn=in_turn,
            price=self.price(dict.fromkeys(S, 1.0)),
        )
        if self.merit is None:
            return found
        X = self.right_of(self.law_of(S))
        gain, over = X - self.right[self.best], None
        if self.reaches(self.best, m):
            y = X - self.right_of_calls(self.best, m)
            self.weigh([X, gain, y])
            over = self.contrast(y, level)
        return replace(
            found,
            right=self.rate(X),
            gain=self.contrast(gain, level),
            over_calls=over,
            combine=self.combines(X, m, level, changes),
        )

    def in_turn(self, S: tuple[str, ...]) -> tuple[tuple[str, ...], float | None]:
        """Return whom to ask first of three, and the calls of an item then."""
        if len(S) != SIZES[0]:
            return (), None
        calls = {
            pair: float(calls_in_turn(self.laws[pair[0]], self.laws[pair[1]], self.rule).mean())
            for pair in combinations(S, PAIR)
        }
        first = min(calls, key=lambda pair: calls[pair])
        return first, calls[first]

    def combines(self, X: Floats, m: int, level: float, changes: Floats | None) -> bool | None:
        """Whether a panel is worth it; None where as many calls of a judge are not to be had."""
        if not all(self.reaches(j, m) for j in self.names):
            return None
        gains = [X - self.right[j] for j in self.by_right]
        over = [X - self.right_of_calls(j, m) for j in self.by_right]
        if any(self.mean(y) < LEAST_HELP - _ROUNDING for y in gains):
            return False
        if any(self.mean(y) <= 0 for y in over):
            return False
        self.weigh([*gains, *over])
        if not all(self.shown(y, level) for y in gains):
            return False
        ends = [(min(0.0, float(y.min())), max(1.0, float(y.max()))) for y in over]
        if not all(
            self.bounds(y, level, end, of_right=True).low > 0
            for y, end in zip(over, ends, strict=True)
        ):
            return False
        before = self._changes_of_one[self.best]
        rises = changes is not None and before is not None
        return not (
            rises
            and changes is not None
            and before is not None
            and self.shown(changes - before, level, of_right=False)
        )

    def no_panel_gains(self, rights: Mapping[tuple[str, ...], Floats]) -> bool:
        """Whether no panel that was tried gains 5 of 100 over the best judge alone."""
        level = 1 - _ERROR / len(self.names)
        return bool(rights) and all(self._gains_little(X, level) for X in rights.values())

    def _gains_little(self, X: Floats, level: float) -> bool:
        for j in self.by_right:
            y = X - self.right[j]
            if self.mean(y) >= LEAST_HELP:
                return False  # the others gain more yet
            if self.bounds(y, level, (-1.0, 1.0), of_right=True).high < LEAST_HELP:
                return True
        return False

    def alone(self, of_all: Floats) -> str | None:
        """Return the judge that is shown to be right more often than the majority of all."""
        level = 1 - _ERROR / len(self.names)
        return next(
            (j for j in self.by_right if self.shown(self.right[j] - of_all, level, least=-1.0)),
            None,
        )

    # Beside panels ------------------------------------------------------------------------------

    @cached_property
    def shares(self) -> Floats:
        """The weights of judges: all alike."""
        return np.full(len(self.names), 1 / len(self.names))

    def components(self) -> dict[str, Rate | None]:
        """Return what the disagreement of two calls is made of, the judge as a facet."""
        found: dict[str, Rate | None] = dict.fromkeys(COMPONENTS_OF_PANEL)
        if min(t.depth[0] for t in self.tensors.values()) < PAIR:
            return found
        own = [decompose_as(t, self.estimand) for t in self.tensors.values()]
        parts: dict[str, Floats] = {}
        for name in COMPONENTS[:-1]:
            each = np.stack([part[name] for part in own])
            if not np.isnan(each).all():
                parts[name] = np.asarray(self.shares @ np.nan_to_num(each))
        same = [1 - part["total"] for part in own]
        parts["judge"] = judge_component(same, [*self.laws.values()], self.shares)
        parts["total"] = np.sum([*parts.values()], axis=0)
        return found | self.rates(parts)

    def rates(self, values: Mapping[str, Floats]) -> dict[str, Rate | None]:
        """Return shares of all items by name."""
        self.weigh([*values.values()], of_right=False)
        return {name: self.rate(x, of_right=False) for name, x in values.items()}

    def changes(self) -> dict[str, Rate | None]:
        """Return how often verdicts change: those of a judge on average, and of another judge."""
        found: dict[str, Rate | None] = dict.fromkeys(CHANGES_OF_PANEL)
        unread = np.array([v == INVALID for v in self.one.verdicts], dtype=float)
        rates = []
        for name in self.names:
            w, q = self.weights(name)
            n = self.tensors[name].counts
            rates.append(item_rates(n, prompt_weights=w, order_weights=q, unread=unread).changes)
        values: dict[str, Floats] = {}
        for change in CHANGES_OF_PANEL[:-1]:
            known = [x for of in rates if (x := of[change]) is not None]
            if len(known) == len(rates):
                values[change] = np.mean(known, axis=0)
        values["another_judge"] = another_judge([*self.laws.values()], self.shares)
        return found | self.rates(values)

    def together(self) -> Together:
        """Return how often all judges are wrong on the same item."""
        assert self.merit is not None  # noqa: S101 - callers look first
        laws = [law[self.merit.counted] for law in self.laws.values()]
        each = [self.mean(wrong_together([law], self.merit.credit)) for law in laws]
        return Together(
            rate=self.rate(wrong_together(laws, self.merit.credit)),
            independent=float(np.prod(each)),
        )

    def people(self) -> Iterator[WithPerson]:
        """Yield the judge that looks best twice, then with every other, and a person."""
        assert self.merit is not None  # noqa: S101 - callers look first
        counted, credit, best = self.merit.counted, self.merit.credit, self.best
        now = self.mean(self.right[best])
        ways: list[tuple[tuple[str, ...], Floats | None]] = [((best, best), self.pairs[best])]
        ways += [
            ((best, other), of_two(self.laws[best], self.laws[other]))
            for other in self.by_right[1:]
        ]
        found = [
            (judges, *two_calls(pairs[counted], credit, self.rule))
            for judges, pairs in ways
            if pairs is not None
        ]
        self.weigh([y for _, *ys in found for y in ys])
        for judges, sent, right in found:
            share = self.mean(sent)
            yield WithPerson(
                judges=judges,
                sent=self.rate(sent),
                right=self.rate(right),
                gained=(self.mean(right) - now) / share if share > _ROUNDING else None,
            )

    def at_most(self) -> Rate:
        """Return the mean right that these judges can have, whatever the right answers are.

        Where two verdicts are d apart, their credits sum to at most 2 - d: for any right answer
        (right_j + right_l) / 2 <= 1 - E d / 2. The mean is taken over all pairs of judges.
        """
        d = self._apart()
        pairs = list(combinations(self.laws.values(), PAIR))
        x = np.mean([1 - np.einsum("nc,cd,nd->n", a, d, b) / 2 for a, b in pairs], axis=0)
        return self.rate(np.asarray(x), _ONE_SIDE, of_right=False)

    def _apart(self) -> Floats:
        """Return how far verdicts are apart in credit; one invalid 1, two 2."""
        verdicts = self.one.verdicts
        if of_pairs(self.one):
            place = {verdicts[0]: 0.0, verdicts[1]: 1.0, TIE: 0.5}
            at = np.array([place.get(v, np.nan) for v in verdicts])
            d = np.abs(at[:, None] - at)
        else:
            d = 1 - np.eye(len(verdicts))
        none = np.array([v == INVALID for v in verdicts])
        d[none, :], d[:, none] = 1.0, 1.0
        d[np.ix_(none, none)] = 2.0
        return np.asarray(d)

    # The answer ---------------------------------------------------------------------------------

    def panels(self, possible: int) -> Panels:
        """Decide."""
        levels = self.levels()
        found = tuple(self.try_panel(S, levels[S]) for S in self.tried)
        base = Panels(
            judges=self.names,
            items=len(self.one.items),
            counted=0 if self.merit is None else len(self.merit.counted),
            ties=self.ties,
            word="unchecked",
            components=self.components(),
            changes=self.changes(),
            best=None,
            as_many=(),
            panels=found,
            shown=0 if found else None,
            of_all=None,
            together=None,
            people=(),
            at_most=self.at_most(),
            actions=(),
            possible=possible,
        )
        return base if self.merit is None else self._with_gold(base)

    def _with_gold(self, base: Panels) -> Panels:
        X_all = self.right_of(self.law_of(self.names))
        good = [i for i, S in enumerate(base.panels) if S.combine]
        measured = {S.judges: S.right.estimate for S in base.panels if S.right is not None}
        order = sorted(
            good or range(len(base.panels)), key=lambda i: -measured[base.panels[i].judges]
        )
        shown = order[0] if order else None
        tried = {
            S.judges: self.right_of(self.law_of(S.judges))
            for S in base.panels
            if S.combine is not None
        }
        alone = None if good else self.alone(X_all)
        keep = not good and self.no_panel_gains(tried)
        word: PanelWord = (
            "combine" if good else "alone" if alone else "keep_one" if keep else "early"
        )
        found = replace(
            base,
            word=word,
            best=self.one_judge(self.best, 1),
            shown=shown,
            as_many=tuple(
                self.one_judge(self.best, m)
                for m in dict.fromkeys(len(S.judges) for S in base.panels)
                if self.reaches(self.best, m)
            ),
            of_all=self.rate(X_all),
            together=self.together(),
            people=tuple(self.people()),
            at_most=None,
            reason=self.untried(base),
        )
        return replace(found, actions=tuple(self.menu(found, alone, keep=keep)))

    def one_judge(self, name: str, m: int) -> OneJudge:
        """Return one judge, asked m times."""
        if m == 1:
            x, changes = self.right[name], self._changes_of_one[name]
        else:
            x = self.right_of_calls(name, m)
            changes = spread_changes(self.cells(name), m, self.rule, seed=self.seed)
        return OneJudge(
            judge=name,
            calls=m,
            right=self.rate(x),
            changes=None if changes is None else self.rate(changes, of_right=False),
            price=self.price({name: float(m)}),
        )

    def untried(self, base: Panels) -> str:
        """Say why no panel could be tried."""
        if any(S.combine is not None for S in base.panels):
            return ""
        if not base.panels:
            return "two judges"
        return "weights" if not self.even else "calls"

    def menu(self, found: Panels, alone: str | None, *, keep: bool) -> Iterator[PanelAction]:
        """Yield what is worth doing."""
        best, S = found.best, found.panel
        assert best is not None and best.right is not None  # noqa: S101, PT018 - with right answers
        before = best.right.estimate
        if found.word == "combine" and S is not None and S.right is not None:
            many = next((x for x in found.as_many if x.calls == S.calls), None)
            yield PanelAction(
                kind="combine",
                judges=S.judges,
                calls=S.calls,
                right=(before, S.right.estimate),
                changes=_before_after(best.changes, S.changes),
                more_than_calls=many.right.estimate if many and many.right else None,
            )
            return
        if alone is not None and found.of_all is not None:
            yield PanelAction(
                kind="alone",
                judges=(alone,),
                calls=1,
                right=(found.of_all.estimate, self.mean(self.right[alone])),
            )
        if keep and S is not None and S.right is not None:
            level = 1 - _ERROR / len(self.names)
            y = self.right_of(self.law_of(S.judges)) - self.right[self.best]
            high = self.bounds(y, level, (-1.0, 1.0), of_right=True).high
            yield PanelAction(
                kind="keep_one",
                judges=(alone or self.best,),
                calls=1,
                right=(S.right.estimate, before),
                loses=max(0.0, high),
            )
        if alone is None and not keep:
            yield self.more(found)

    def more(self, found: Panels) -> PanelAction:
        """Return how many items would tell, where they would."""
        S, N = found.panel, found.counted
        action = PanelAction(kind="more_items")
        if found.reason or S is None or S.gain is None or S.over_calls is None:
            return replace(action, why=found.reason)
        X = self.right_of(self.law_of(S.judges))
        y, over = X - self.right[self.best], X - self.right_of_calls(self.best, len(S.judges))
        needed: float = np.inf
        if self.mean(y) >= LEAST_HELP:
            gaps = [(y, self.mean(y), S.level), (over, self.mean(over), S.level)]
        else:
            gaps = [(y, LEAST_HELP - self.mean(y), 1 - _ERROR / len(self.names))]
        if all(gap > 0 for _, gap, _ in gaps):
            needed = max(self._items(x, gap, level) for x, gap, level in gaps)
        if needed > _MOST_TIMES * N:
            return replace(action, judges=S.judges, why="close")
        total = max(ceil(needed), N + 1)
        return replace(action, judges=S.judges, items=total - N, more=total)

    def _items(self, y: Floats, gap: float, level: float) -> float:
        """Return how many items show a contrast that is so far from its bar, in four of five."""
        m = self.merit
        assert m is not None  # noqa: S101 - callers look first
        centre = self.mean(y)
        spread = len(y) * float((m.shares**2 * (y - centre) ** 2).sum())
        z = t_quantile(level, 10_000) + _POWER
        return (z * sqrt(spread) / gap) ** 2


def _before_after(before: Rate | None, after: Rate | None) -> tuple[float, float] | None:
    return None if before is None or after is None else (before.estimate, after.estimate)
