"""The gate: limits on what a judge may show, each passed, failed, or not decided by these calls.

A limit passes if the one-sided bound on its far side, at the level asked for, keeps it: all limits
must pass, so that each may be decided at the level itself. It fails if the other bound breaks it,
at 1 - (1 - level) / m for m limits and judges together: so a judge that keeps all of them fails
the gate by chance in 1 - level of cases at most, however many there are.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import CENSUS, COMPONENTS, Estimand
from judgelaw.frames import Result, plain
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty.gate_limits import Limit, Side, held_by
from judgelaw.uncertainty.inference import Inference, infer
from judgelaw.uncertainty.intervals import Interval, check_level
from judgelaw.uncertainty.item_bounds import clusters_of, rate_bounds
from judgelaw.uncertainty.price import Price, price_of_items, price_of_repeats
from judgelaw.uncertainty.sampled_prompts import Scope
from judgelaw.uncertainty.spending import levels_left
from judgelaw.words import StreamName

if TYPE_CHECKING:
    from judgelaw.uncertainty.baseline_gate import Baseline

Verdict = Literal["pass", "fail", "inconclusive"]

RightOf = Callable[[str], "BoundedQuantity"]
"""How often a judge is right on items like these, as its answer bounds it."""
Shift = Callable[[str, str, float], Interval]
"""From a judge, the name of a probe and a level to the shift of the probe."""

_ROUNDING = 1e-12
_NO_LIMIT = "no limit: a gate needs one, such as --max prompt=0.02, or `gate:` in the study"
_SHALLOW = 4
_SHALLOW_NOTE = (
    "R = {depth}: below four repeats these bounds are wrong in up to 9 of 100 cases, not 5; "
    "acquire four repeats"
)


@dataclass(frozen=True, kw_only=True)
class LimitDecision:
    """Whether one judge keeps one limit.

    Attributes:
        judge, quantity, side, limit: what was asked.
        verdict: "pass", "fail" or "inconclusive".
        estimate: what was compared with the limit.
        lower, upper: one-sided bounds; nan where there are none. The one that decides a pass is at
            `level`, the one that decides a failure at `fail_level`.
        level, fail_level: confidence of the two.
        covers: which randomness the bounds cover.
        reason: why it is inconclusive, or what to know about the bounds; None otherwise.
        price: what more items or calls would decide; None where that is not known.
    """

    judge: str
    quantity: str
    side: Side
    limit: float
    verdict: Verdict
    estimate: float
    lower: float
    upper: float
    level: float
    fail_level: float
    covers: str
    reason: str | None = None
    price: Price | None = None


@dataclass(frozen=True, kw_only=True, repr=False)
class Gate(Result):
    """The whole gate: failed if one limit failed, else inconclusive if one is, else passed.

    Attributes:
        verdict: "pass", "fail" or "inconclusive".
        limits: the decision on every judge and limit.
        items: "fixed" for the items asked, "new" for items like them.
        level: confidence of each bound that decides a pass.
        fail_level: of each bound that decides a failure.
    """

    verdict: Verdict
    limits: tuple[LimitDecision, ...]
    items: Scope
    level: float
    fail_level: float

    schema = "judgelaw.gate/1"
    passes = "pass"
    brief = ("judge", "quantity", "side", "limit", "estimate", "lower", "upper", "verdict")

    def in_words(self) -> str:
        """Say whether the limits are kept, and for which items."""
        kept = sum(d.verdict == "pass" for d in self.limits)
        which = "these items asked again" if self.items == "fixed" else "new items like these"
        return f"{self.verdict}, {kept} of {len(self.limits)} limits kept, for {which}"

    def records(self) -> list[dict[str, Any]]:
        """Return one row for each judge and limit, with its criterion where it has one."""
        return [_record(d) for d in self.limits]

    def to_json(self) -> dict[str, Any]:
        """Return the `judgelaw.gate/1` document."""
        return super().to_json() | {"limits": plain(self.records())}


def _record(d: LimitDecision) -> dict[str, Any]:
    name = d.judge
    of = {"judge": name.judge, "criterion": name.criterion} if isinstance(name, StreamName) else {}
    return asdict(d) | of


@dataclass(frozen=True, kw_only=True)
class BoundedQuantity:
    """An estimate between the two bounds that decide, nan where there are none."""

    estimate: float
    lower: float
    upper: float
    covers: str
    reason: str | None = None
    price: Price | None = None


_LOOKED = (
    "these calls were looked at {times} while they grew: a pass is decided at {passing:.2%}, a "
    "failure at {failing:.2%}, so that all looks together err no more often than one at {level:.0%}"
)


@dataclass(frozen=True, kw_only=True)
class GateLevels:
    """The levels at which the limits of a gate pass and fail, and for which items."""

    scope: Scope
    level: float
    fail_level: float

    @classmethod
    def for_limits(cls, m: int, *, scope: Scope, level: float) -> "GateLevels":
        """Share the error of failing among all limits."""
        if m == 0:
            raise InputError(_NO_LIMIT)
        return cls(scope=scope, level=level, fail_level=1 - (1 - level) / m)

    def sides(self, side: Side) -> tuple[float, float]:
        """Return the levels of the lower and of the upper bound."""
        passing, failing = self.level, self.fail_level
        return (failing, passing) if side == "max" else (passing, failing)

    def after(self, looks: tuple[float, ...]) -> "GateLevels":
        """Return the levels that are left where calls were looked at while they grew."""
        passing, failing = levels_left(looks, self.level)[1], levels_left(looks, self.fail_level)[0]
        return replace(self, level=passing, fail_level=failing)


def check_limits(
    tensors: Mapping[str, VerdictTensor],
    limits: Sequence[Limit],
    *,
    scope: Scope = "fixed",
    level: float = 0.95,
    estimand: Estimand = CENSUS,
    coverage: Mapping[str, float] | None = None,
    strict: bool = False,
    baseline: "Baseline | None" = None,
    shift: "Shift | None" = None,
    right: "RightOf | None" = None,
) -> Gate:
    """Hold every judge against every limit, and against its baseline, by one-sided bounds.

    The items are these asked again ("fixed") or others like them ("new", with `strict` as in
    `infer`). `coverage` is the share of the planned calls that are there, by judge, and `shift`
    gives the shift of a probe, `right` how often a judge is right; limits on them need them.
    """
    check_level(level)
    held = held_by(tensors, limits)
    versions = () if baseline is None else baseline.beside(tensors)
    decided = [*held.values(), *(version.margins for version in versions)]
    levels = GateLevels.for_limits(sum(map(len, decided)), scope=scope, level=level)
    how: dict[str, Any] = {"estimand": estimand, "strict": strict}
    decisions = []
    for judge, tensor in tensors.items():
        there, found = (coverage or {}).get(judge), _inference(tensor, held[judge], **how)
        bounds = _Judge(
            judge=judge,
            tensor=tensor,
            levels=levels,
            inference=found,
            coverage=there,
            shift=shift,
            right=right,
        )
        decisions += bounds.decide(held[judge])
    for version in versions:
        decisions += version.decide(levels.after(version.now.looks), **how)
    return Gate(
        verdict=overall(d.verdict for d in decisions),
        limits=tuple(decisions),
        items=scope,
        level=level,
        fail_level=levels.fail_level,
    )


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of several limits together."""
    found = set(verdicts)
    return "fail" if "fail" in found else "inconclusive" if "inconclusive" in found else "pass"


def _inference(
    tensor: VerdictTensor,
    limits: Sequence[Limit],
    estimand: Estimand,
    *,
    strict: bool,
) -> Inference | None:
    if not any(limit.quantity in COMPONENTS for limit in limits):
        return None
    return infer(tensor, estimand, strict=strict)


@dataclass(frozen=True, kw_only=True)
class _Judge:
    """One judge, ready to be held against any limit."""

    judge: str
    tensor: VerdictTensor
    levels: GateLevels
    inference: Inference | None
    coverage: float | None
    shift: "Shift | None" = None
    right: "RightOf | None" = None

    def decide(self, limits: Sequence[Limit]) -> list[LimitDecision]:
        """Hold the judge against every limit."""
        return [decide_limit(self.judge, limit, self.of(limit), self._left) for limit in limits]

    @property
    def _left(self) -> GateLevels:
        """The levels at which this judge is decided: what looks have left."""
        return self.levels.after(self.tensor.looks)

    def of(self, limit: Limit) -> BoundedQuantity:
        """Return the estimate and the bounds that decide a limit."""
        if limit.quantity == "coverage":
            return self._coverage()
        if limit.probe is not None:
            return self._probe(limit.probe)
        if limit.quantity == INVALID:
            return self._rate(_invalid(self.tensor), limit)
        if limit.quantity == "gold":
            return self._rate(_right(self.judge, self.tensor), limit)
        if limit.quantity == "right":
            if self.right is None:
                raise NotIdentifiedError(f"how often {self.judge!r} is right is not known here")
            return self.right(self.judge)
        return self._component(limit)

    def _component(self, limit: Limit) -> BoundedQuantity:
        name, side = limit.quantity, limit.side
        inference, scope = self.inference, self.levels.scope
        if inference is None:
            raise NotIdentifiedError(f"no bounds were prepared for {name}")
        p, q = self.levels.sides(side)
        lower, upper = inference.bounds(name, p, scope)[0], inference.bounds(name, q, scope)[1]
        note = shallow_note(self.tensor.depth[0], scope)
        return BoundedQuantity(
            estimate=inference.estimate(name),
            lower=lower,
            upper=upper,
            covers=inference.interval(name, scope=scope).covers,
            reason=inference.refusal(name, scope) or note or self._looked(),
            price=None
            if inference.drawn is not None or inference.refusal(name, scope) is not None
            else self._price(inference, limit, (lower, upper), q),
        )

    def _looked(self) -> str | None:
        """Say at which levels a judge is decided that was looked at before, or None."""
        if not (looks := self.tensor.looks):
            return None
        left, times = self._left, "once" if len(looks) == 1 else f"{len(looks)} times"
        return _LOOKED.format(
            times=times, passing=left.level, failing=left.fail_level, level=self.levels.level
        )

    def _price(
        self, inference: Inference, limit: Limit, ends: tuple[float, float], level: float
    ) -> Price | None:
        """Return what a limit on a component costs, in items or in calls of each cell."""
        name = limit.quantity
        if self.levels.scope == "fixed":
            return price_of_repeats(
                inference.estimate(name),
                ends,
                inference.calls.spread(name)[0].variance,
                limit=limit.value,
                repeats=self.tensor.depth[0],
                items=len(inference.calls.estimates),
            )
        if inference.items.drawn.clusters is not None:
            return None
        return price_of_items(
            inference.items.of(name),
            limit=limit.value,
            now=ends[1],
            top=inference.items.top[name],
            careful=inference.items.strict or name in {"call", "total"},
            level=level,
        )

    def _rate(self, counted: "Counted", limit: Limit) -> BoundedQuantity:
        """Bound the share of calls that count, of those in question.

        Fixed items: exact binomial bounds over all calls, valid for unequal rates of cells as well,
        since a sum of unequal Bernoulli variables varies less (Hoeffding 1956). New items: bounds
        of a mean of item shares that grow with every one of them.
        """
        rows, hits, calls = counted
        p, q = self._left.sides(limit.side)
        if self.levels.scope == "fixed":
            total, of = int(hits.sum()), int(calls.sum())
            ends = (_binomial(total, of, p)[0], _binomial(total, of, q)[1])
            return BoundedQuantity(
                estimate=total / of,
                lower=ends[0],
                upper=ends[1],
                covers="call sampling, with the items fixed (exact binomial)",
                price=self._price_in_calls(total, of, ends, limit, len(rows)),
            )
        shares = hits / calls
        labels = self.tensor.clusters
        clusters = clusters_of(labels and [labels[i] for i in rows])
        low, high = (rate_bounds(shares, x, clusters=clusters)[at] for at, x in ((0, p), (1, q)))
        price = None
        if clusters is None:
            turned = limit.side == "min"
            price = price_of_items(
                1 - shares if turned else shares,
                limit=1 - limit.value if turned else limit.value,
                now=1 - low if turned else high,
                top=1.0,
                careful=True,
                level=self._left.level,
            )
            price = price.of_what_is_left() if turned and price is not None else price
        return BoundedQuantity(
            estimate=float(shares.mean()),
            lower=low,
            upper=high,
            covers="new items like these, call sampling included",
            price=price,
        )

    def _price_in_calls(
        self, hits: int, of: int, ends: tuple[float, float], limit: Limit, items: int
    ) -> Price | None:
        """Return what a rate costs in calls; one imagined call is half a hit."""
        chance = (hits + 0.5) / (of + 1)
        turned = limit.side == "min"
        low, high = (1 - ends[1], 1 - ends[0]) if turned else ends
        found = price_of_repeats(
            1 - hits / of if turned else hits / of,
            (low, high),
            chance * (1 - chance) / of,
            limit=1 - limit.value if turned else limit.value,
            repeats=self.tensor.depth[0],
            items=items,
        )
        return found.of_what_is_left() if turned and found is not None else found

    def _probe(self, probe: str) -> BoundedQuantity:
        """Bound how far a probe moves the score, in either direction."""
        if self.shift is None:
            raise NotIdentifiedError(f"no calls of a probe {probe!r}: leave its limit out")
        p, q = self._left.sides("max")
        failing, passing = (self.shift(self.judge, probe, 2 * x - 1) for x in (p, q))
        return BoundedQuantity(
            estimate=abs(passing.estimate),
            lower=max(failing.low, -failing.high),
            upper=max(passing.high, -passing.low),
            covers=passing.covers,
            reason=passing.reason,
        )

    def _coverage(self) -> BoundedQuantity:
        """Return the share of planned calls that are there: a fact, with no error."""
        there = self.coverage
        if there is None:
            raise NotIdentifiedError(
                f"the coverage of {self.judge!r} is not known: leave --min coverage out"
            )
        return BoundedQuantity(
            estimate=there, lower=there, upper=there, covers="nothing random: a count of calls"
        )


def shallow_note(depth: int, scope: Scope) -> str | None:
    """Say that bounds of few repeats are wrong more often than they say, or None."""
    return _SHALLOW_NOTE.format(depth=depth) if depth < _SHALLOW and scope == "fixed" else None


def decide_limit(
    judge: str, limit: Limit, found: BoundedQuantity, levels: GateLevels
) -> LimitDecision:
    """Compare the bounds with the limit; rounding decides nothing."""
    verdict: Verdict = "inconclusive"
    low, high, at = found.lower, found.upper, limit.value
    if limit.side == "max":
        kept, broken = high < at - _ROUNDING, low > at + _ROUNDING
    else:
        kept, broken = low >= at - _ROUNDING, high < at - _ROUNDING
    if kept or broken:
        verdict = "pass" if kept else "fail"
    reason = found.reason
    if verdict == "inconclusive" and reason is None:
        more = "acquire more calls or items, or move the limit"
        said = more if found.price is None else found.price.in_words(at)
        reason = f"the limit {at:g} lies between the bounds: {said}"
    return LimitDecision(
        judge=judge,
        quantity=limit.quantity,
        side=limit.side,
        limit=at,
        verdict=verdict,
        estimate=found.estimate,
        lower=low,
        upper=high,
        level=levels.level,
        fail_level=levels.fail_level,
        covers=found.covers,
        reason=reason,
        price=found.price,
    )


Counted = tuple[Sequence[int], NDArray[np.int64], NDArray[np.int64]]
"""Items in question, and of each how many of its calls count."""


def _invalid(tensor: VerdictTensor) -> Counted:
    """Return invalid outputs and calls of every item."""
    n = tensor.counts.sum(axis=(1, 2))
    bad = np.zeros(len(n), dtype=np.int64)
    if INVALID in tensor.verdicts:
        bad = n[:, tensor.verdicts.index(INVALID)]
    return range(len(n)), bad, n.sum(axis=1)


def _right(judge: str, tensor: VerdictTensor) -> Counted:
    """Return right verdicts and calls of every item that has a gold verdict."""
    gold = tensor.gold or ()
    rows = [i for i, right in enumerate(gold) if right is not None]
    if not rows:
        raise NotIdentifiedError(
            f"{judge!r} has no gold verdicts to be held against: leave --min gold out, or give the "
            "table a gold column"
        )
    code = {name: c for c, name in enumerate(tensor.verdicts) if name != INVALID}
    n = tensor.counts[rows].sum(axis=(1, 2))
    right = [n[at, code[g]] if (g := str(gold[i])) in code else 0 for at, i in enumerate(rows)]
    return rows, np.array(right, dtype=np.int64), n.sum(axis=1)


def _binomial(hits: int, of: int, level: float) -> tuple[float, float]:
    """Return exact one-sided bounds of a proportion (Clopper and Pearson), each at `level`."""
    from scipy.special import betaincinv  # noqa: PLC0415 - scipy loads when it is needed

    low = 0.0 if hits == 0 else float(betaincinv(hits, of - hits + 1, 1 - level))
    high = 1.0 if hits == of else float(betaincinv(hits + 1, of - hits, level))
    return low, high
