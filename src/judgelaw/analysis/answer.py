"""May this judge be used, and what should change: decided once, from its counts.

One mechanism carries every claim: the mean of a value over items, with its bounds for items like
these (`mean_bounds`). Four numbers are thresholds: right on 75 of 100 to rely on it, 10 of 100
(better than always the same answer; steady), 5 of 100 (least help of an action), 95%.

A judge is looked at in several states: as it is, and after each action that is shown to help. Each
word is one bound against one bar:

    change    a state after an action reaches the bar to rely on; now it does not, or is .05 lower
    use       as it is, it reaches that bar
    avoid     every state is below the bar of being better than always the same answer
    weak      every state is below the bar to rely on
    early     none of these is shown

Without right answers: `steady`, `unsteady` or `early`, by how often the verdict changes.
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import ceil, isnan, nan, sqrt
from typing import Final, Literal

import numpy as np

from judgelaw.arrays import PAIR, Floats
from judgelaw.errors import InputError
from judgelaw.estimate import Estimand, ItemRates, item_rates, weights_of
from judgelaw.tensor import DEFAULT_VERDICTS, INVALID, VerdictTensor
from judgelaw.uncertainty import BoundedQuantity, MeanBounds, clusters_of, mean_bounds
from judgelaw.words import candidate_names

LEVEL: Final = 0.975
"""Of each bound; several judges of one table share the error of `1 - SHARED`."""
SHARED: Final = 0.95
RELY: Final = 0.75
BETTER: Final = 0.10
STEADY: Final = 0.10
LEAST_HELP: Final = 0.05
"""An action helps by so much, or it is not worth doing."""
_LEAST_PROMPT_RANGE: Final = -0.5
"""A prompt's effect on an unseen item may be at least so bad when it is called worse."""
_CONTESTED: Final = 0.10
_FALSE_DISCOVERIES: Final = 0.05
_TO_PEOPLE: Final = 1 / 4
BEST_QUALITY: Final = 0.95
"""Of the judges whose number of items to label is known."""
_VOTES: Final = 3
_MOST_ACTIONS: Final = 3
_ROUNDING: Final = 1e-9
_TIE: Final = DEFAULT_VERDICTS[PAIR]

Word = Literal["use", "weak", "change", "avoid", "early", "steady", "unsteady"]
Change = Literal["ask_again", "reword", "swap", "both"]
ActionKind = Literal[
    "repair",
    "drop_prompts",
    "keep_prompt",
    "both_orders",
    "vote",
    "people",
    "label",
    "more_items",
    "other_judge",
    "combine",
    "keep_one",
    "alone",
]
BeforeAfter = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Rate:
    """A share with its interval for items like these.

    Attributes:
        estimate: what was measured.
        low, high: 95% sure; None where no interval can be had.
    """

    estimate: float
    low: float | None
    high: float | None


@dataclass(frozen=True, kw_only=True)
class ClassRate(Rate):
    """How often the judge is right where this is the right verdict.

    Attributes:
        name: the right verdict.
        of: how many items have it.
    """

    name: str
    of: int


@dataclass(frozen=True, kw_only=True)
class Right(Rate):
    """How often the judge is right, with what it is measured by.

    Attributes:
        baseline: what the best fixed reply gets.
        better: the bar of being better than that.
        rely: the bar to rely on.
        asked: the user's own bar, which replaces both; None where none is set.
        beats: whether it is shown to reach the bar of being better, True, or to stay below it,
            False; None where neither is shown.
        enough: the same of the bar to rely on.
        level: of each end.
        by: by right verdict, where these weigh alike.
        calls_right: share of calls with the right verdict, every call alike; None for scores.
        items: how many items have a right verdict that counts.
        only: the right verdict, where it is the same for all items.
        gold_ties: items whose right verdict is a tie, and the mean credit there: they do not count.
    """

    baseline: float
    better: float
    rely: float
    asked: float | None
    beats: bool | None
    enough: bool | None
    level: float
    by: tuple[ClassRate, ...] = ()
    calls_right: float | None = None
    items: int = 0
    only: str | None = None
    gold_ties: tuple[int, float] | None = None

    @property
    def bars(self) -> tuple[float, float]:
        """What it is held against: numbers are not rounded over these."""
        return self.rely, self.better


@dataclass(frozen=True, kw_only=True)
class Contested:
    """Items whose verdict goes against itself in more than one call of ten, with an error rate.

    Attributes:
        items: how many.
        of: items in all.
        ids: which, those that change most first.
        changed: items whose calls differ at all: a fact.
    """

    items: int
    of: int
    ids: tuple[str, ...]
    changed: int


@dataclass(frozen=True, kw_only=True)
class After:
    """What an action is expected to leave.

    Attributes:
        right: None without right answers.
        enough: whether it is shown to reach the bar, True, or to stay below it, False; None where
            neither is shown.
        changes: by kind of change.
        steady: True where every kind of change that the judge shows now is shown to be rare then,
            False where some is shown to be common.
        simplest: the simplest kind of change that is shown to be common.
    """

    right: Rate | None = None
    enough: bool | None = None
    changes: Mapping[str, Rate] = field(default_factory=dict)
    steady: bool | None = None
    simplest: Change | None = None


@dataclass(frozen=True, kw_only=True)
class Action:
    """One thing that is shown to help, or that would tell.

    Attributes:
        kind: which of the closed menu.
        text: in the imperative.
        why: how, or on what evidence.
        prompts: that it names.
        calls: for each verdict, where that changes.
        change: the kind of change that it lowers.
        changes, right: before and after.
        ties: share of items that become ties.
        items: items that it names, or how many more to ask about.
        more: how many items in all.
        quality: how often the judge is right, where `more` or `items` rest on a guess of it.
        invalid: share of replies without a verdict among what is named.
        prompt_right: right under the prompts named, and under the others.
        after: what is expected.
        command: what to type, with RUN or TABLE for the place.
    """

    kind: ActionKind
    text: str = ""
    why: str = ""
    prompts: tuple[str, ...] = ()
    calls: int | None = None
    change: Change | None = None
    changes: BeforeAfter | None = None
    right: BeforeAfter | None = None
    ties: float | None = None
    items: int | None = None
    more: int | None = None
    quality: float | None = None
    invalid: float | None = None
    prompt_right: BeforeAfter | None = None
    after: After | None = None
    command: str | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Answer:
    """May this judge be used, and what should change.

    Attributes:
        word: the decision.
        title: it with its condition, for people.
        says: one sentence of at most 22 words.
        headline: both.
        right: None where no item has a right verdict.
        answered_right: the same among replies that gave a verdict; None where there is none.
        invalid: share of replies that gave no verdict.
        changes: by `ask_again`, `reword`, `swap`, `both`; None where these calls cannot tell. Of
            scores, by how many points two calls differ.
        steady: whether every change is shown to be rare, some to be common, or neither (None).
        simplest: the simplest kind of change that is shown to be common.
        contested: items that go against themselves.
        actions: at most three, the first one first.
        problem: what makes the answer worthless, in a sentence; empty where nothing does.
        remedy: what to do about it.
        span: points from the lowest to the highest score; None for verdicts.
        single: whether single answers were judged.
        one_call: whether every cell holds one call.
        clusters: how many clusters the items lie in, None where each stands for itself.
    """

    word: Word
    right: Right | None
    answered_right: float | None
    invalid: float
    changes: Mapping[str, Rate | None]
    contested: Contested
    actions: tuple[Action, ...] = ()
    title: str = ""
    says: str = ""
    headline: str = ""
    steady: bool | None = None
    simplest: Change | None = None
    problem: str = ""
    remedy: str = ""
    span: float | None = None
    single: bool = False
    one_call: bool = False
    clusters: int | None = None

    def __repr__(self) -> str:
        lines = [f"{self.word}: {self.headline or self.says}"]
        lines += [f"{place}. {action.text}" for place, action in enumerate(self.actions, 1)]
        return "\n".join(lines)

    @property
    def widest(self) -> Change | None:
        """The change that varies most of what these calls vary."""
        known = [name for name in WIDEST if self.changes[name] is not None]
        return known[0] if known else None


WIDEST: Final[tuple[Change, ...]] = ("both", "reword", "swap", "ask_again")
SIMPLEST: Final[tuple[Change, ...]] = ("ask_again", "swap", "reword", "both")


@dataclass(frozen=True, kw_only=True, eq=False)
class Merit:
    """What every verdict is worth, item by item, and how items weigh.

    Attributes:
        credit: (counted items, verdicts).
        counted: which items have a right verdict that counts.
        names: the right verdict of each.
        classes: of the counted items, None where all items weigh the same.
        weights: of the classes.
        baseline: what the best fixed reply gets.
        constant: what it gets on each item, where that differs by item (scores).
        one_class: whether all right verdicts are the same, so that a fixed reply gets all.
    """

    credit: Floats
    counted: Sequence[int]
    names: tuple[str, ...]
    classes: tuple[str, ...] | None
    weights: Mapping[Hashable, float] | None
    baseline: float
    constant: Floats | None
    one_class: bool

    @property
    def shares(self) -> Floats:
        """The weight of each counted item."""
        if self.classes is None or self.weights is None:
            return np.full(len(self.counted), 1 / len(self.counted))
        seen = Counter(self.classes)
        return np.array([self.weights[name] / seen[name] for name in self.classes])


def merit_of(tensor: VerdictTensor) -> Merit | None:
    """Return what verdicts are worth; None where no item has a right verdict."""
    gold = tensor.gold or ()
    pairs = of_pairs(tensor)
    worth = {*DEFAULT_VERDICTS[:PAIR]} if pairs else {*tensor.verdicts} - {INVALID}
    counted = [i for i, right in enumerate(gold) if right in worth]
    if not counted:
        return None
    names = tuple(str(gold[i]) for i in counted)
    credit = _credit_of(tensor, names, pairs=pairs)
    seen = Counter(names)
    if tensor.scale is not None:
        best = int(credit.mean(axis=0).argmax())
        return Merit(
            credit=credit,
            counted=counted,
            names=names,
            classes=None,
            weights=None,
            baseline=float(credit[:, best].mean()),
            constant=credit[:, best],
            one_class=len(seen) == 1,
        )
    both_orders = pairs and len(tensor.orders) > 1
    even: dict[Hashable, float] = dict.fromkeys(seen, 1 / len(seen))
    return Merit(
        credit=credit,
        counted=counted,
        names=names,
        classes=None if both_orders else names,
        weights=None if both_orders else even,
        baseline=1 / PAIR if pairs else 1 / len(seen),
        constant=None,
        one_class=len(seen) == 1 and not both_orders,
    )


def of_pairs(tensor: VerdictTensor) -> bool:
    """Whether two candidates are compared."""
    named = tensor.scale is None and {*DEFAULT_VERDICTS[:PAIR]} <= {*tensor.verdicts}
    return named and candidate_names(PAIR + 1)[-1] not in tensor.verdicts


def _credit_of(tensor: VerdictTensor, right: Sequence[str], *, pairs: bool) -> Floats:
    """Return what every verdict is worth where each of these is right."""
    if tensor.scale is not None:
        credit = 1 - tensor.scale.points(tensor.verdicts) / tensor.scale.span
        found = np.array([credit[tensor.verdicts.index(name)] for name in right])
    else:
        found = np.array([[float(v == name) for v in tensor.verdicts] for name in right])
    if pairs and _TIE in tensor.verdicts:
        found[:, tensor.verdicts.index(_TIE)] = 1 / PAIR
    if INVALID in tensor.verdicts:
        found[:, tensor.verdicts.index(INVALID)] = 0
    return np.asarray(found)


@dataclass(frozen=True, kw_only=True, eq=False)
class State:
    """The judge as it is, or after an action.

    Attributes:
        action: that leads there; None for the judge as it is.
        right: by counted item; None without right answers.
        valid: share of replies with a verdict, where right counts these alone.
        level: of its bounds.
    """

    action: Action | None
    right: Floats | None
    level: float
    valid: Floats | None = None


def decide(
    tensor: VerdictTensor,
    estimand: Estimand,
    *,
    judges: int = 1,
    seed: int = 0,
    at_least: float | None = None,
) -> Answer:
    """Return the answer of one judge, without words; from one call in each cell on.

    Args:
        tensor: calls in every cell.
        estimand: the weights of prompts and orders.
        judges: how many judges of one table are looked at together, none named beforehand.
        seed: of the random weights of items.
        at_least: the user's own bar, as a share; it replaces both bars.
    """
    return _Decision(
        tensor=tensor, estimand=estimand, judges=judges, seed=seed, asked=at_least
    ).answer()


def new_item_changes(
    tensor: VerdictTensor, estimand: Estimand, *, level: float, seed: int = 0
) -> dict[str, Rate | None]:
    """Return how often verdicts change on items like these, bounded as the answer bounds them."""
    of = _Decision(tensor=tensor, estimand=estimand, judges=1, seed=seed, asked=None)
    return of.changes(level)


@dataclass(frozen=True, kw_only=True, eq=False)
class _Decision:
    """One judge under decision: its item values, bounds and menu of actions."""

    tensor: VerdictTensor
    estimand: Estimand
    judges: int
    seed: int
    asked: float | None

    # What is measured -------------------------------------------------------------------------

    @cached_property
    def level(self) -> float:
        """Of each bound of right and of changes."""
        return max(LEVEL, 1 - (1 - SHARED) / self.judges)

    @cached_property
    def merit(self) -> Merit | None:
        """What verdicts are worth."""
        return merit_of(self.tensor)

    @cached_property
    def laws(self) -> Floats:
        """Mean verdict vector of each cell, (items, prompts, orders, verdicts)."""
        n = self.tensor.counts
        return np.asarray(n / n.sum(axis=-1, keepdims=True))

    @cached_property
    def weights(self) -> tuple[Floats, Floats]:
        """Weights of prompts and of orders."""
        t, e = self.tensor, self.estimand
        w = weights_of("prompt", e.prompt_weights, len(t.prompts), t.prompts)
        q = weights_of("order", e.order_weights, len(t.orders), t.orders)
        return np.asarray(w, dtype=float), np.asarray(q, dtype=float)

    @cached_property
    def even(self) -> bool:
        """Whether prompts and orders weigh alike: actions were measured for these alone."""
        return all(float(np.ptp(x)) < _ROUNDING for x in self.weights)

    @cached_property
    def span(self) -> float:
        """The largest distance of two verdicts."""
        return 1.0 if self.tensor.scale is None else self.tensor.scale.span

    @cached_property
    def distances(self) -> Floats | None:
        """Between verdicts, as a share of the largest; None for equality."""
        scale = self.tensor.scale
        return None if scale is None else scale.points(self.tensor.verdicts) / scale.span

    @cached_property
    def unread(self) -> Floats:
        """Which verdicts are none."""
        return np.array([v == INVALID for v in self.tensor.verdicts], dtype=float)

    @cached_property
    def repeats(self) -> tuple[int, int]:
        """The fewest and the most calls in a cell."""
        R = self.tensor.counts.sum(axis=-1)
        return int(R.min()), int(R.max())

    def rates(self, prompts: Sequence[int] | None = None) -> ItemRates:
        """Return the rates of items, under all prompts or some, these alike."""
        n, (w, q) = self.tensor.counts, self.weights
        if prompts is not None:
            n, w = n[:, list(prompts)], np.full(len(prompts), 1 / len(prompts))
        return item_rates(
            n,
            prompt_weights=w,
            order_weights=q,
            unread=self.unread,
            distances=self.distances,
        )

    @cached_property
    def now(self) -> ItemRates:
        """The rates of items as the judge was asked."""
        return self.rates()

    @cached_property
    def prompt_right(self) -> Floats:
        """Right of each counted item under each prompt."""
        assert self.merit is not None  # noqa: S101 - callers look first
        p = np.einsum("o,nkoc->nkc", self.weights[1], self.laws[self.merit.counted])
        return np.asarray(np.einsum("nkc,nc->nk", p, self.merit.credit))

    @cached_property
    def right_now(self) -> Floats | None:
        """Right of each counted item."""
        return None if self.merit is None else np.asarray(self.prompt_right @ self.weights[0])

    # Bounds -----------------------------------------------------------------------------------

    def bounds(
        self,
        y: Floats,
        level: float,
        ends: tuple[float, float] = (0.0, 1.0),
        *,
        of_right: bool = False,
    ) -> MeanBounds:
        """Return a mean over items with its bounds; of right under the weights of right."""
        m = self.merit if of_right else None
        classes, weights = (None, None) if m is None else (m.classes, m.weights)
        labels = self.tensor.clusters
        if labels is not None and m is not None:
            labels = tuple(labels[i] for i in m.counted)
        found = mean_bounds(
            y,
            level,
            ends=ends,
            classes=classes,
            weights=weights,
            lone_items=weights is not None and len(weights) > PAIR,
            clusters=clusters_of(labels),
            seed=self.seed,
        )
        bare = m is not None and m.one_class
        return replace(found, low=np.nan, high=np.nan) if bare else found

    def shown(self, y: Floats, level: float, *, least: float = 0.0, of_right: bool = False) -> bool:
        """Whether a contrast is shown: its mean is worth it, and its low end above zero."""
        m = self.merit if of_right else None
        mean = float(y.mean() if m is None else m.shares @ y)
        if mean < LEAST_HELP - _ROUNDING:
            return False
        low = min(least, float(y.min()))
        high = max(1.0, float(y.max()))
        return self.bounds(y, level, (low, high), of_right=of_right).low > 0

    def rate(self, y: Floats, level: float, *, of_right: bool = False, unit: float = 1.0) -> Rate:
        """Return a share, or so many `unit`s, with ends cut at the range."""
        found = self.bounds(y, level, of_right=of_right)
        if isnan(found.low):
            return Rate(estimate=unit * found.estimate, low=None, high=None)
        return Rate(
            estimate=unit * found.estimate,
            low=unit * max(0.0, found.low),
            high=unit * min(1.0, found.high),
        )

    @cached_property
    def bars(self) -> tuple[float, float]:
        """The bar of being better than a fixed reply, and that to rely on."""
        b = 0.0 if self.merit is None else self.merit.baseline
        if self.asked is not None:
            return self.asked, self.asked
        return b + min(BETTER, (1 - b) / 5), max(RELY, (1 + b) / 2)

    def _line(self, which: int) -> tuple[float, Floats] | None:
        """Return a bar that moves with the best constant score: at the mean, and item by item."""
        m = self.merit
        if m is None or m.constant is None or self.asked is not None:
            return None
        c, b = m.constant, m.baseline
        if which == 0:
            line = BETTER + c if b <= 1 / 2 else 0.2 + 0.8 * c
        else:
            line = np.full(len(c), RELY) if b <= 1 / 2 else (1 + c) / 2
        return self.bars[which], np.asarray(line)

    def against(self, state: State, which: int) -> tuple[bool, bool]:
        """Return whether a state reaches a bar, and whether it is below it."""
        if state.right is None:
            return False, False
        x, X, line = state.right, self.bars[which], self._line(which)
        if line is None and state.valid is None:
            found = self.bounds(x, state.level, of_right=True)
            return found.low >= X, found.high < X
        at, by_item = line if line is not None else (X, np.full(len(x), X))
        valid = 1.0 if state.valid is None else state.valid
        ends = (-at, 1 - at) if state.valid is None else (-1.0, 1.0)
        y = x - by_item * valid
        found = self.bounds(
            y,
            state.level,
            (min(ends[0], float(y.min())), max(ends[1], float(y.max()))),
            of_right=True,
        )
        return found.low >= 0, found.high < 0

    def shown_against(self, state: State, which: int) -> bool | None:
        """Whether a state is shown to reach a bar, or to be below it; None where neither is."""
        reaches, below = self.against(state, which)
        return True if reaches else (False if below else None)

    # The menu ---------------------------------------------------------------------------------

    @cached_property
    def right_rate(self) -> Rate | None:
        """How often the judge is right as it is."""
        now = self.right_now
        return None if now is None else self.rate(now, self.level, of_right=True)

    @property
    def right_estimate(self) -> float:
        """How often the judge is right as it is, where there are right answers."""
        return nan if self.right_rate is None else self.right_rate.estimate

    def _right_pair(self, after: Rate | None) -> BeforeAfter | None:
        now = self.right_rate
        return None if now is None or after is None else (now.estimate, after.estimate)

    def _after(self, state: State, changes: Mapping[str, Floats | None] | None = None) -> After:
        known = {
            name: self.rate(x, self.level, unit=self.span)
            for name, x in (changes or {}).items()
            if x is not None
        }
        steady, simplest = self._steadiness(known)
        told = {name for name, x in self.now.changes.items() if x is not None}
        if state.action is not None and state.action.kind in {"vote", "both_orders"}:
            steady = None if steady and told - {*known} else steady
        right = None
        if state.right is not None:
            if state.valid is None:
                right = self.rate(state.right, state.level, of_right=True)
            else:
                right = self._ratio(state)
        return After(
            right=right,
            enough=self.shown_against(state, 1),
            changes=known,
            steady=steady,
            simplest=simplest,
        )

    def _ratio(self, state: State) -> Rate | None:
        """Return right among the replies that hold a verdict; its ends by trying bars."""
        assert self.merit is not None and state.right is not None and state.valid is not None  # noqa: S101, PT018
        v = self.merit.shares
        if v @ state.valid <= 0:
            return None
        at = float(v @ state.right / (v @ state.valid))
        ends = []
        for sign in (-1, 1):
            inside, outside = at, (0.0 if sign < 0 else 1.0)
            for _ in range(12):
                middle = (inside + outside) / 2
                y = state.right - middle * state.valid
                found = self.bounds(y, state.level, (-1.0, 1.0), of_right=True)
                if isnan(found.low):
                    return Rate(estimate=at, low=None, high=None)
                holds = found.low < 0 if sign < 0 else found.high > 0
                inside, outside = (middle, outside) if holds else (inside, middle)
            ends.append(inside)
        return Rate(estimate=at, low=ends[0], high=ends[1])

    @cached_property
    def invalid_by_prompt(self) -> Floats:
        """Share of calls without a verdict, (items, prompts)."""
        q = self.weights[1]
        return np.asarray(np.einsum("o,nko->nk", q, self.laws @ self.unread))

    @cached_property
    def silent_prompts(self) -> list[int]:
        """Prompts shown to leave replies without a verdict: to be repaired, not left out."""
        K = len(self.tensor.prompts)
        level, y = 1 - (1 - self.level) / K, self.invalid_by_prompt
        return [k for k in range(K) if self.shown(y[:, k], level)]

    def repair(self) -> State | None:
        """Replies that hold no verdict, of all prompts or of some that are named."""
        if not self.unread.any():
            return None
        y, K, named = self.now.invalid, len(self.tensor.prompts), self.silent_prompts
        if not named and not self.shown(y, self.level):
            return None
        valid = right = None
        if self.merit is not None:
            valid, right = 1 - y[self.merit.counted], self.right_now
        of = named if 0 < len(named) < K else list(range(K))
        action = Action(
            kind="repair",
            prompts=tuple(self.tensor.prompts[k] for k in of) if len(of) < K else (),
            invalid=float(self.invalid_by_prompt[:, of].mean()),
        )
        state = State(action=action, right=right, valid=valid, level=self.level)
        return self._acted(state)

    def prompts(self) -> State | None:
        """Prompts to leave out, or the one to keep; those to be repaired stay where they are."""
        K = len(self.tensor.prompts)
        if not self.even or K < PAIR:
            return None
        keep = {*self.silent_prompts}
        if self.merit is None:
            return self._unlike(keep) if K > PAIR else None
        level, right = 1 - (1 - self.level) / K, self.prompt_right
        y = (right.sum(axis=1, keepdims=True) - right) / (K - 1) - right
        mean = self.merit.shares @ y
        tried = [k for k in range(K) if k not in keep]
        worse = [
            k for k in tried if self.shown(y[:, k], level, least=_LEAST_PROMPT_RANGE, of_right=True)
        ]
        better = (
            []
            if keep
            else [k for k in tried if self.shown(-y[:, k], level, least=-1.0, of_right=True)]
        )
        if not worse and not better:
            return None
        most = max(abs(mean[k]) for k in [*worse, *better])
        best = [k for k in better if abs(mean[k]) >= most - _ROUNDING]
        if best:
            shared = 1 - (1 - self.level) / len(better)
            return self._keeping(best[:1], "keep_prompt", shared, best[:1])
        return self._keeping(
            [k for k in range(K) if k not in worse], "drop_prompts", self.level, worse
        )

    def _unlike(self, keep: set[int]) -> State | None:
        """Prompts that are unlike the others, where no right answers say which are worse."""
        K, q = len(self.tensor.prompts), self.weights[1]
        p = self.laws
        near = p if self.distances is None else p @ self.distances
        same = np.einsum("o,nkoc,nloc->nkl", q, p, near)
        apart = 1 - same if self.distances is None else same
        every = np.arange(K)
        ys = []
        for k in range(K):
            others = every[every != k]
            among = apart[:, others][:, :, others].copy()
            among[:, np.arange(K - 1), np.arange(K - 1)] = 0
            ys.append(
                apart[:, k, others].mean(axis=1) - among.sum(axis=(1, 2)) / ((K - 1) * (K - 2))
            )
        level = 1 - (1 - self.level) / K
        unlike = [
            k
            for k in range(K)
            if k not in keep and self.shown(ys[k], level, least=_LEAST_PROMPT_RANGE)
        ]
        if not unlike or len(unlike) == K:
            return None
        kept = [k for k in range(K) if k not in unlike]
        return self._keeping(kept, "drop_prompts", self.level, unlike)

    def _keeping(
        self, kept: Sequence[int], kind: ActionKind, level: float, named: Sequence[int]
    ) -> State:
        names, right = self.tensor.prompts, None
        if self.merit is not None:
            right = self.prompt_right[:, list(kept)].mean(axis=1)
        changes = self.rates(kept).changes
        after = changes["reword"] if len(kept) > 1 else changes["ask_again"]
        before = self.now.changes["reword"]
        pair = None
        if before is not None and after is not None:
            pair = (self.span * float(before.mean()), self.span * float(after.mean()))
        apart = None
        if self.merit is not None:
            others = [k for k in range(len(names)) if k not in named]
            by = self.merit.shares @ self.prompt_right
            apart = (float(by[list(named)].mean()), float(by[others].mean()))
        action = Action(
            kind=kind,
            prompts=tuple(names[k] for k in named),
            change="reword",
            changes=pair,
            prompt_right=apart,
        )
        return self._acted(State(action=action, right=right, level=level), changes)

    def _acted(self, state: State, changes: Mapping[str, Floats | None] | None = None) -> State:
        """Add to the action of a state what it is expected to leave."""
        assert state.action is not None  # noqa: S101 - a state after an action
        after = self._after(state, changes)
        right = self._right_pair(after.right)
        return replace(state, action=replace(state.action, right=right, after=after))

    def both_orders(self) -> State | None:
        """Ask in both orders; where they differ, a tie."""
        swap = self.now.changes["swap"]
        if (
            not self.even
            or len(self.tensor.orders) != PAIR
            or swap is None
            or self.repeats[0] < PAIR
            or not of_pairs(self.tensor)
        ):
            return None
        kept = np.array([v != _TIE for v in self.tensor.verdicts])
        n = self.tensor.counts
        R = n.sum(axis=-1)
        p1, p2 = self.laws[:, :, 0], self.laws[:, :, 1]
        law = np.where(kept, p1 * p2, 0.0)
        ties = 1 - law.sum(axis=-1)
        pairs = R * (R - 1)
        same = n * (n - 1) / pairs[..., None]
        distinct = n[..., :, None] * n[..., None, :] / pairs[..., None, None]
        index = np.arange(n.shape[-1])
        distinct[..., index, index] = same
        stable = (
            (same[:, :, 0] * same[:, :, 1])[..., kept].sum(axis=-1)
            + 1
            - 2 * law.sum(axis=-1)
            + (distinct[:, :, 0] * distinct[:, :, 1])[..., kept, :][..., kept].sum(axis=(-2, -1))
        )
        after = (1 - stable).mean(axis=1)
        if not self.shown(swap - after, self.level):
            return None
        right = None
        if self.merit is not None and self.right_now is not None:
            counted, credit = self.merit.counted, self.merit.credit
            by_prompt = np.einsum("nkc,nc->nk", law[counted], credit) + ties[counted] / PAIR
            right = np.asarray(by_prompt.mean(axis=1))
            if not self._not_lowered(right - self.right_now, LEAST_HELP):
                return None
        action = Action(
            kind="both_orders",
            calls=PAIR,
            change="swap",
            changes=(float(swap.mean()), float(after.mean())),
            ties=float(ties.mean()),
        )
        # Who asks in both orders has no order left to swap: that is what asking again changes then.
        changes = {"ask_again": after, "swap": after}
        return self._acted(State(action=action, right=right, level=self.level), changes)

    def _not_lowered(self, y: Floats, by: float) -> bool:
        ends = (min(0.0, float(y.min())), max(1.0, float(y.max())))
        low = self.bounds(y, self.level, ends, of_right=True).low
        return low > -by if by else low >= 0

    def vote(self) -> State | None:
        """Ask three times and take the majority, cell by cell; a tie of three is drawn."""
        if not self.even or self.repeats[0] < _VOTES + 1 or self.tensor.scale is not None:
            return None
        n = self.tensor.counts.astype(float)
        R = n.sum(axis=-1)
        twice = n * (n - 1)
        four = twice * (n - 2) * (n - 3)
        a = twice.sum(axis=-1) / (R * (R - 1))
        squared = (twice.sum(axis=-1) ** 2 - (twice**2).sum(axis=-1) + four.sum(axis=-1)) / (
            R * (R - 1) * (R - 2) * (R - 3)
        )
        e = (1 - a).mean(axis=(1, 2))
        most = (2 * (1 - 2 * a + squared)).mean(axis=(1, 2))
        if not self.shown(e - most, self.level):
            return None
        right = None
        if self.merit is not None and self.right_now is not None:
            law = majority_law(n)[self.merit.counted].mean(axis=(1, 2))
            right = (law * self.merit.credit).sum(axis=-1)
            if not self._not_lowered(right - self.right_now, 0.0):
                return None
        action = Action(
            kind="vote",
            calls=_VOTES,
            change="ask_again",
            changes=(float(e.mean()), float(most.mean())),
        )
        return self._acted(State(action=action, right=right, level=self.level), {"ask_again": most})

    @cached_property
    def contested(self) -> Contested:
        """Items whose calls are off their commonest verdict in more than one of ten."""
        from scipy.special import bdtrc  # noqa: PLC0415 - loaded with an answer only

        totals = self.tensor.counts.sum(axis=(1, 2))
        n = totals.sum(axis=-1)
        off = n - totals.max(axis=-1)
        p = np.where(off > 0, bdtrc(np.maximum(off, 1) - 1, n, _CONTESTED), 1.0)
        order = np.argsort(p, kind="stable")
        ranks = np.arange(1, len(p) + 1)
        passed = np.flatnonzero(p[order] <= _FALSE_DISCOVERIES * ranks / len(p))
        found = order[: passed[-1] + 1] if len(passed) else order[:0]
        first = sorted(map(int, found), key=lambda i: (-off[i] / n[i], i))
        return Contested(
            items=len(first),
            of=len(p),
            ids=tuple(self.tensor.items[i] for i in first),
            changed=int(np.count_nonzero(off)),
        )

    def people(self) -> Action | None:
        """Send contested items to a person."""
        k, change = self.contested.items, self.widest
        if change is None or not 0 < k <= _TO_PEOPLE * self.contested.of:
            return None
        x = self.now.changes[change]
        assert x is not None  # noqa: S101 - `widest` names one that is known
        sent = np.isin(np.array(self.tensor.items, dtype=object), self.contested.ids)
        if not self.shown(np.where(sent, x, -x), self.level):
            return None
        right: Rate | None = None
        if self.merit is not None and self.right_now is not None:
            x_right = np.where(sent[self.merit.counted], 1.0, self.right_now)
            right = self.rate(x_right, self.level, of_right=True)
        after = float(np.where(sent, 0.0, x).mean())
        return Action(
            kind="people",
            items=k,
            change=change,
            changes=(self.span * float(x.mean()), self.span * after),
            right=self._right_pair(right),
        )

    @cached_property
    def widest(self) -> Change | None:
        """The change that varies most of what these calls vary."""
        return next((c for c in WIDEST if self.now.changes[c] is not None), None)

    # The price of knowing ---------------------------------------------------------------------

    def more_items(self, *, acts: bool) -> Action:
        """Return how many items would tell, where a price can be named."""
        x, bar = self._priced()
        found = Action(kind="more_items")
        if x is None:
            return found
        m = self.merit
        alike: Mapping[Hashable, float] = {None: 1.0}
        v = alike if m is None or m.weights is None else m.weights
        labels = np.array([None] * len(x) if m is None or m.classes is None else m.classes)
        parts = {g: x[labels == g] for g in v}
        if m is not None and m.one_class:
            return replace(found, why="one class")
        mean = float(sum(v[g] * float(part.mean()) for g, part in parts.items()))
        by_class = {
            g: v[g] ** 2
            * (((part - part.mean()) ** 2).sum() + max(part.mean(), 1 - part.mean()) ** 2 / 2)
            / (max(1, len(part) - 1) * len(part))
            for g, part in parts.items()
        }
        V = max(float(sum(by_class.values())), self._cluster_variance(parts, v))
        largest = max(by_class, key=lambda g: by_class[g])
        if m is not None and m.weights is not None and len(m.weights) > 1:
            found = replace(found, prompts=(str(largest),))
        g = min(abs(mean - bar) - sqrt(V), 0.12)
        h = (_z(self.level) + 0.84) * sqrt(len(x) * V)
        cheap = g > 0 and (m is None or m.baseline < 1) and len(x) >= _PRICED and not acts
        if cheap:
            needed = ceil(((h + sqrt(h * h + 6 * g)) / (2 * g)) ** 2)
            needed = max(len(x) + 1, needed)
            if needed <= 20 * len(x):
                return replace(found, items=needed - len(x), more=needed, quality=None)
        if m is None:
            return found
        quality, enough = self._row(mean)
        return replace(found, more=max(enough, len(x) + 1), quality=quality)

    def _cluster_variance(
        self, parts: Mapping[Hashable, Floats], weights: Mapping[Hashable, float]
    ) -> float:
        """Return the variance of a mean over clusters of items; 0 where each stands for itself."""
        labels, m = self.tensor.clusters, self.merit
        if labels is not None and m is not None:
            labels = tuple(labels[i] for i in m.counted)
        clusters = clusters_of(labels)
        if clusters is None:
            return 0.0
        names = np.array([None] * sum(map(len, parts.values())))
        if m is not None and m.classes is not None:
            names = np.array(m.classes)
        units = np.zeros(len(clusters))
        for g, part in parts.items():
            units += weights[g] * clusters.within(names == g).units(part)
        return float(units.var(ddof=1)) / len(units) if len(units) > 1 else 0.0

    def _priced(self) -> tuple[Floats | None, float]:
        """Return the item values that a price is about, and the bar they are held against."""
        if self.right_now is not None:
            return self.right_now, self.bars[1]
        return (None if self.widest is None else self.now.changes[self.widest]), STEADY

    def label(self, widest_low: float) -> Action:
        """Return how many right answers to give, and how few would do at the best.

        Where two calls differ one is wrong, so that half of the least change bounds the accuracy.
        """
        possible = 1 - widest_low / 2
        quality, items = self._row(min(0.9, possible), floor=True)
        best, fewest = self._row(possible, floor=True)
        more = fewest if quality < best == BEST_QUALITY else None
        return Action(kind="label", items=items, quality=quality, more=more)

    def _row(self, share: float, *, floor: bool = False) -> tuple[float, int]:
        """Return an accuracy, and how many items show it to be enough in four of five audits."""
        if self.asked is not None and self.asked >= 0.85:  # noqa: PLR2004 - the table of a bar of .9
            rows = {0.95: 255, 0.98: 85}
        elif of_pairs(self.tensor):
            both = len(self.tensor.orders) > 1
            rows = (
                {0.80: 588, 0.85: 142, 0.90: 60, 0.95: 33}
                if both
                else {0.80: 600, 0.85: 170, 0.90: 67, 0.95: 38}
            )
        elif len({*self.tensor.verdicts} - {INVALID}) > _FEW_LABELS:
            rows = {0.80: 850, 0.85: 267, 0.90: 142, 0.95: 95}
        else:
            rows = {0.80: 720, 0.85: 190, 0.90: 85, 0.95: 45}
        if floor:
            known = [q for q in rows if q <= share + _ROUNDING] or [min(rows)]
            quality = max(known)
        else:
            quality = min(rows, key=lambda q: abs(q - share))
        return quality, rows[quality]

    # The answer -------------------------------------------------------------------------------

    def changes(self, level: float) -> dict[str, Rate | None]:
        """Return how often verdicts change, by kind of change; in points where they are scores."""
        return {
            name: None if x is None else self.rate(x, level, unit=self.span)
            for name, x in self.now.changes.items()
        }

    def answer(self) -> Answer:
        """Decide."""
        changes = self.changes(self.level)
        now = State(action=None, right=self.right_now, level=self.level)
        repair = self.repair()
        steps = [repair, self.prompts()]
        if repair is None:
            steps += [self.both_orders(), self.vote()]
        acts = [state for state in steps if state is not None]
        steady, simplest = self._steadiness(changes)
        word = self._word(now, acts, steady=steady, repaired=repair is not None)
        return Answer(
            word=word,
            right=self._right(now),
            answered_right=self._answered(),
            invalid=float(self.now.invalid.mean()),
            changes=changes,
            contested=self.contested,
            actions=tuple(self._menu(word, acts, changes))[:_MOST_ACTIONS],
            steady=steady,
            simplest=simplest,
            span=None if self.tensor.scale is None else self.tensor.scale.span,
            single=self.tensor.single,
            one_call=self.repeats[1] == 1,
            clusters=None if (found := clusters_of(self.tensor.clusters)) is None else len(found),
        )

    def _steadiness(self, changes: Mapping[str, Rate | None]) -> tuple[bool | None, Change | None]:
        """Return whether verdicts are steady, and the simplest change that shows they are not."""
        known = [rate for rate in changes.values() if rate is not None]
        bar = STEADY * self.span
        for name in SIMPLEST:
            rate = changes.get(name)
            if rate is not None and rate.low is not None and rate.low > bar:
                return False, name
        if known and all(r.high is not None and r.high <= bar for r in known):
            return True, None
        return None, None

    def _word(
        self, now: State, acts: Sequence[State], *, steady: bool | None, repaired: bool
    ) -> Word:
        if self.merit is None:
            widest = self.widest
            if steady is False and widest is not None:
                rate = self.rate(self._known(widest), self.level)
                return "unsteady" if rate.low is not None and rate.low > STEADY else "early"
            return "steady" if steady and not repaired else "early"
        passes = self.against(now, 1)[0]
        for state in acts:
            gains = state.action is not None and state.action.right is not None
            pair = state.action.right if gains and state.action is not None else None
            lifts = pair is not None and pair[1] - pair[0] >= LEAST_HELP - _ROUNDING
            if self.against(state, 1)[0] and (not passes or lifts):
                return "change"
        if passes:
            return "use"
        states = [now, *acts]
        for which, word in ((0, "avoid"), (1, "weak")):
            margin = self.bars[which] + LEAST_HELP
            best = float((self.merit.shares @ self.prompt_right).max())
            if all(self.against(s, which)[1] for s in states) and best < margin:
                return word  # type: ignore[return-value]  # one of the two above
        return "early"

    def _known(self, change: Change) -> Floats:
        x = self.now.changes[change]
        assert x is not None  # noqa: S101 - named because it is known
        return x

    def _menu(
        self, word: Word, acts: Sequence[State], changes: Mapping[str, Rate | None]
    ) -> Iterator[Action]:
        """Yield what is worth doing, in the order in which it is printed."""
        if word == "avoid":
            yield Action(kind="other_judge")
            return
        shown = [state.action for state in acts if state.action is not None]
        if word == "steady":
            shown = [action for action in shown if action.kind == "repair"]
        people = self.people() if not shown and word not in {"steady", "weak"} else None
        first = [*shown, *([people] if people else [])]
        last = [*self._last(word, changes, acts=bool(shown))]
        yield from first[: _MOST_ACTIONS - len(last)]
        yield from last

    def _last(
        self, word: Word, changes: Mapping[str, Rate | None], *, acts: bool
    ) -> Iterator[Action]:
        """Yield what would tell, or what else to try."""
        if word == "weak":
            yield Action(kind="other_judge")
        if self.merit is None:
            widest = None if self.widest is None else changes[self.widest]
            low = 0.0 if widest is None or widest.low is None else widest.low / self.span
            yield self.label(low)
        if word == "early":
            yield self.more_items(acts=acts)

    def _right(self, now: State) -> Right | None:
        m = self.merit
        if m is None or now.right is None:
            return None
        rate = self.right_rate
        assert rate is not None  # noqa: S101 - there are right answers
        better, rely = self.bars
        return Right(
            estimate=rate.estimate,
            low=rate.low,
            high=rate.high,
            baseline=m.baseline,
            better=better,
            rely=rely,
            asked=self.asked,
            beats=self.shown_against(now, 0),
            enough=self.shown_against(now, 1),
            level=now.level,
            by=self._by_class(now.right),
            calls_right=None if m.constant is not None else float(now.right.mean()),
            items=len(m.counted),
            only=m.names[0] if m.one_class else None,
            gold_ties=self._gold_ties(),
        )

    def _gold_ties(self) -> tuple[int, float] | None:
        """Return how many items have a tie for their right verdict, and the mean credit there."""
        gold, verdicts = self.tensor.gold or (), self.tensor.verdicts
        rows = [i for i, right in enumerate(gold) if right == _TIE]
        if not rows or not of_pairs(self.tensor):
            return None
        credit = np.array([1.0 if v == _TIE else float(v != INVALID) / 2 for v in verdicts])
        w, q = self.weights
        found = np.einsum("k,o,nkoc,c->n", w, q, self.laws[rows], credit)
        return len(rows), float(found.mean())

    def _by_class(self, x: Floats) -> tuple[ClassRate, ...]:
        m = self.merit
        if m is None or m.classes is None or of_pairs(self.tensor):
            return ()
        found = []
        for name, count in Counter(m.classes).most_common():
            part = x[np.array([c == name for c in m.classes])]
            rate = mean_bounds(part, self.level, seed=self.seed)
            ends = (None, None) if isnan(rate.low) else (max(0.0, rate.low), min(1.0, rate.high))
            found.append(
                ClassRate(name=name, of=count, estimate=rate.estimate, low=ends[0], high=ends[1])
            )
        return tuple(found)

    def _answered(self) -> float | None:
        """Return how often replies that gave a verdict are right."""
        m, x = self.merit, self.right_now
        if m is None or x is None:
            return None
        valid = 1 - self.now.invalid[m.counted]
        return float(m.shares @ x / (m.shares @ valid)) if (m.shares @ valid) > 0 else None


_FEW_LABELS: Final = 5
_PRICED: Final = 16
"""From so many items on a price of knowing is named."""


def right_bounds(judge: str, tensor: VerdictTensor, estimand: Estimand) -> BoundedQuantity:
    """Return how often a judge is right on items like these, as its answer bounds it."""
    right = decide(tensor, estimand).right
    if right is None:
        raise InputError(
            f"{judge!r} has no right answers to be held against: leave --min right out, or give "
            "the table a gold column"
        )
    known = right.low is not None and right.high is not None
    return BoundedQuantity(
        estimate=right.estimate,
        lower=right.low if right.low is not None else nan,
        upper=right.high if right.high is not None else nan,
        covers="new items like these, call sampling included; right answers alike",
        reason=None if known else "too few right answers of each kind for an interval",
    )


@dataclass(frozen=True, kw_only=True)
class Best:
    """The one of several judges that is shown to be right more often than each of the others.

    Attributes:
        name: of the judge.
        behind: how much more often, at least and at most, by other judge.
    """

    name: str
    behind: Mapping[str, BeforeAfter]


def best_of(
    tensors: Mapping[str, VerdictTensor], estimand: Estimand, *, seed: int = 0
) -> Best | None:
    """Return the judge that is shown to be the best, on the items that two judges share."""
    known = {
        name: (
            decision,
            {decision.tensor.items[i]: x for i, x in zip(m.counted, right, strict=True)},
        )
        for name, tensor in tensors.items()
        for decision in [
            _Decision(tensor=tensor, estimand=estimand, judges=1, seed=seed, asked=None)
        ]
        if (m := decision.merit) is not None and (right := decision.right_now) is not None
    }
    if len(known) < PAIR or len(known) < len(tensors):
        return None
    name = max(known, key=lambda each: known[each][0].right_estimate)
    decision, mine = known[name]
    behind: dict[str, BeforeAfter] = {}
    for other, (_, its) in known.items():
        if other == name:
            continue
        shared = [item for item in mine if item in its]
        found = _difference(decision, {item: mine[item] - its[item] for item in shared}, seed)
        if found is None or not found.low > 0:
            return None
        behind[other] = (found.low, found.high)
    return Best(name=name, behind=behind)


def _difference(decision: _Decision, y: Mapping[str, float], seed: int) -> MeanBounds | None:
    m = decision.merit
    if m is None or len(y) < PAIR:
        return None
    of = {decision.tensor.items[i]: g for i, g in zip(m.counted, m.names, strict=True)}
    labels = decision.tensor.clusters
    together = None if labels is None else dict(zip(decision.tensor.items, labels, strict=True))
    classes = None if m.classes is None else [of[item] for item in y]
    seen: dict[Hashable, float] = {} if classes is None else dict.fromkeys(classes, 1.0)
    weights = {g: 1 / len(seen) for g in seen}
    return mean_bounds(
        np.array([*y.values()]),
        LEVEL,
        ends=(-1.0, 1.0),
        classes=classes,
        weights=weights if classes is not None else None,
        lone_items=len(weights) > PAIR,
        clusters=clusters_of(None if together is None else [together[item] for item in y]),
        seed=seed,
    )


def majority_law(n: Floats) -> Floats:
    """Return the law of a majority of three distinct calls of each cell; three verdicts are drawn.

    n are counts (..., verdicts), three calls or more. Of C(R, 3) draws C(n_c, 2)(R - n_c) +
    C(n_c, 3) have the majority c, and n_c e_2(others) hold c among three different verdicts.
    """
    R = n.sum(axis=-1, keepdims=True)
    all_draws = R * (R - 1) * (R - 2) / 6
    most = n * (n - 1) / 2 * (R - n) + n * (n - 1) * (n - 2) / 6
    squares = (n * n).sum(axis=-1, keepdims=True)
    two_others = ((R - n) ** 2 - (squares - n * n)) / 2
    return np.asarray((most + n * two_others / 3) / all_draws)


def _z(p: float) -> float:
    from scipy.special import ndtri  # noqa: PLC0415 - loaded with an answer only

    return float(ndtri(p))
