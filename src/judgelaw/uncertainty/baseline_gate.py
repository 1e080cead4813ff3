"""Before and after: whether a judge is worse than its baseline by more than a margin.

Both were asked about the same items; items that one of them lacks are left out. "Worse" is more
disagreement, more invalid outputs, or fewer right verdicts. A quantity passes if the upper bound of
the worsening is below the margin, fails if its lower bound is above, and is inconclusive between.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from judgelaw.arrays import Floats, check_number
from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS, Estimand
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty.differences import (
    ItemShares,
    item_shares,
    judge_difference,
    share_difference,
)
from judgelaw.uncertainty.gate_limits import Limit
from judgelaw.uncertainty.gating import (
    BoundedQuantity,
    GateLevels,
    LimitDecision,
    decide_limit,
    shallow_note,
)
from judgelaw.uncertainty.inference import Inference, infer
from judgelaw.uncertainty.intervals import Interval
from judgelaw.uncertainty.item_bounds import clusters_of, effective_items
from judgelaw.uncertainty.new_items import item_difference, signed_interval
from judgelaw.uncertainty.price import Price, price_of_items, price_of_repeats
from judgelaw.words import listed

MARGIN = 0.01
COMPARED = (*COMPONENTS, INVALID, "gold")
_WORSE = {"gold": "gold below baseline"}


@dataclass(frozen=True, kw_only=True)
class Baseline:
    """What a judge is held against.

    Attributes:
        tensors: the earlier calls, by judge.
        margins: how much worse each quantity may be; one number for the usual ones (total, invalid
            outputs, and right verdicts where both have gold).
        match: new names of the baseline's prompts, by old name.
    """

    tensors: Mapping[str, VerdictTensor]
    margins: Mapping[str, float] | float = MARGIN
    match: Mapping[str, str] | None = None

    def __post_init__(self) -> None:
        given = self.margins if isinstance(self.margins, Mapping) else {"total": self.margins}
        for name, margin in given.items():
            if name not in COMPARED:
                raise InputError(
                    f"no margin for {name!r}: a baseline is compared by {listed(COMPARED)}"
                )
            if not 0 <= check_number(f"margin {name}", margin) <= 1:
                raise InputError(f"margin {name}={margin:g}: a margin lies between 0 and 1")

    def beside(self, tensors: Mapping[str, VerdictTensor]) -> "list[Versions]":
        """Put every judge beside its baseline.

        A judge is matched by its name; one judge on each side are matched whatever their names.

        Raises:
            InputError: a judge, prompts or orders without a counterpart, or no common item.
        """
        found = []
        for name, now in tensors.items():
            before = self.tensors.get(name)
            if before is None and len(tensors) == len(self.tensors) == 1:
                (before,) = self.tensors.values()
            if before is None:
                raise InputError(
                    f"the baseline has no judge {name!r}: there are {', '.join(self.tensors)}; "
                    "choose judges with --judge"
                )
            found.append(self._matched(name, now, before))
        return found

    def _matched(self, name: str, now: VerdictTensor, before: VerdictTensor) -> "Versions":
        before = _renamed(now, before, self.match or {})
        known = set(before.items)
        items = [item for item in now.items if item in known]
        if not items:
            raise InputError(
                f"{name!r}: no item of the baseline was asked about now: match them by item id"
            )
        here = now.select(items=items)
        there = before.select(items=items, prompts=now.prompts, orders=now.orders)
        return Versions(
            judge=name,
            now=here,
            before=there,
            margins=_margins(self.margins, here, there),
            lost=len(now.items) + len(before.items) - 2 * len(items),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Versions:
    """A judge before and after, on the same items and cells.

    Attributes:
        judge: its name now.
        now, before: the calls.
        margins: how much worse each quantity may be.
        lost: items that one of the two lacks.
    """

    judge: str
    now: VerdictTensor
    before: VerdictTensor
    margins: Mapping[str, float]
    lost: int

    def decide(
        self, levels: GateLevels, *, estimand: Estimand, strict: bool
    ) -> list[LimitDecision]:
        """Decide every margin."""
        inferred: dict[str, Inference] = {}
        if any(name in COMPONENTS for name in self.margins):
            inferred = {
                when: infer(t, estimand, strict=strict)
                for when, t in (("now", self.now), ("before", self.before))
            }
        decisions = []
        for name, margin in self.margins.items():
            # Any quantity that has a maximum will do: only the value and the side decide.
            limit = Limit(quantity="total", side="max", value=margin)
            bounds = (
                _component(name, self, levels, margin, **inferred)
                if name in COMPONENTS
                else _rate(name, self, levels, margin)
            )
            decided = decide_limit(self.judge, limit, bounds, levels)
            quantity = _WORSE.get(name, f"{name} above baseline")
            if self.lost:
                known = [] if decided.reason is None else [decided.reason]
                decided = replace(decided, reason="; ".join([*known, f"decided on {_kept(self)}"]))
            decisions.append(replace(decided, quantity=quantity))
        return decisions


def _renamed(now: VerdictTensor, before: VerdictTensor, match: Mapping[str, str]) -> VerdictTensor:
    """Give the baseline's prompts the names they have now; single prompts are matched as such."""
    for old, new in match.items():
        if old not in before.prompts or new not in now.prompts:
            raise InputError(
                f"--match prompt={old}:{new}: the baseline has {listed(before.prompts)}, and now "
                f"there are {listed(now.prompts)}"
            )
    prompts = tuple(match.get(name, name) for name in before.prompts)
    if len(now.prompts) == len(prompts) == 1:
        prompts = now.prompts
    if set(prompts) != set(now.prompts) or len(set(prompts)) != len(prompts):
        raise InputError(
            f"the baseline was asked with prompts {listed(before.prompts)}, now with "
            f"{listed(now.prompts)}: match them by --match prompt=OLD:NEW, or choose one on each "
            "side"
        )
    if set(before.orders) != set(now.orders):
        raise InputError(
            f"the baseline was asked in orders {listed(before.orders)}, now in "
            f"{listed(now.orders)}: a comparison needs the same"
        )
    return replace(before, prompts=prompts)


def _margins(
    given: Mapping[str, float] | float, now: VerdictTensor, before: VerdictTensor
) -> dict[str, float]:
    if isinstance(given, Mapping):
        return {name: float(x) for name, x in given.items()}
    both = all(any(g is not None for g in t.gold or ()) for t in (now, before))
    return dict.fromkeys(("total", INVALID, *(["gold"] if both else [])), float(given))


def _component(
    name: str,
    version: Versions,
    levels: GateLevels,
    margin: float,
    *,
    now: Inference,
    before: Inference,
) -> BoundedQuantity:
    """Bound how much more of a component there is now."""
    reason = now.refusal(name, levels.scope) or before.refusal(name, levels.scope)
    p, q = levels.sides("max")
    price = None
    if levels.scope == "new":
        low, high = (item_difference(now.items, before.items, name, p=x) for x in (p, q))
        if reason is None and now.items.drawn.clusters is None:
            one, other = now.items.of(name), before.items.of(name)
            price = price_of_items(
                one - other,
                limit=margin,
                now=high.high,
                top=max(now.items.top[name], before.items.top[name]),
                careful=now.items.strict,
                level=q,
                carried=min(effective_items(one), effective_items(other)),
            )
    else:
        low, high = (judge_difference(now, before, name, p=x) for x in (p, q))
        depth = min(version.now.depth[0], version.before.depth[0])
        if reason is None:
            price = _price_in_calls(low, high, version, margin)
        reason = reason or shallow_note(depth, levels.scope)
    return BoundedQuantity(
        estimate=low.estimate,
        lower=low.low,
        upper=high.high,
        covers=f"{low.covers}, on {_kept(version)}",
        reason=reason,
        price=price,
    )


def _price_in_calls(
    low: Interval, high: Interval, version: Versions, margin: float
) -> Price | None:
    """Return what a margin costs, both judges asked again so often."""
    return price_of_repeats(
        high.estimate,
        (low.low, high.high),
        high.se**2,
        limit=margin,
        repeats=min(version.now.depth[0], version.before.depth[0]),
        items=len(version.now.items),
    )


def _rate(name: str, version: Versions, levels: GateLevels, margin: float) -> BoundedQuantity:
    """Bound how much more often outputs are invalid now, or how much less often right.

    New items: bounds of a signed mean over items, with one unseen item at the end of its range: a
    judge that now fails wholly on a few items may have shown none of them. The items asked: the
    unbiased variance of independent calls, cut at the bounds for new items.
    """
    judges = [_shares(name, t, version.judge) for t in (version.now, version.before)]
    if name == "gold":
        judges.reverse()
    now, before = judges
    clusters = clusters_of(version.now.clusters)

    def new(p: float) -> Interval:
        y = now.means - before.means
        return signed_interval(y, level=2 * p - 1, strict=True, clusters=clusters)

    def here(p: float) -> Interval:
        ends = new(p)
        known = None if ends.reason is not None else (ends.low, ends.high)
        return share_difference(now, before, p=p, new=known)

    low, high = (new(p) if levels.scope == "new" else here(p) for p in levels.sides("max"))
    price = None
    if levels.scope == "fixed":
        price = None if low.reason else _price_in_calls(low, high, version, margin)
    elif clusters is None:
        price = price_of_items(
            now.means - before.means,
            limit=margin,
            now=high.high,
            top=1.0,
            careful=True,
            level=levels.level,
        )
    return BoundedQuantity(
        estimate=low.estimate,
        lower=low.low,
        upper=high.high,
        covers=f"{low.covers}, on {_kept(version)}",
        reason=low.reason,
        price=price,
    )


def _kept(version: Versions) -> str:
    lost = f" ({version.lost:,} that one of the two lacks left out)" if version.lost else ""
    return f"{len(version.now.items):,} matched items{lost}"


def _shares(name: str, tensor: VerdictTensor, judge: str) -> ItemShares:
    _, K, O, _ = tensor.counts.shape
    counted = _counted(name, tensor, judge)
    return item_shares(tensor.counts, counted, np.full((K, O), 1 / (K * O)))


def _counted(name: str, tensor: VerdictTensor, judge: str) -> Floats:
    """Return which verdicts count, (items, verdicts)."""
    N, C = len(tensor.items), len(tensor.verdicts)
    if name == INVALID:
        which = np.array([v == INVALID for v in tensor.verdicts], dtype=float)
        return np.broadcast_to(which, (N, C))
    gold = tensor.gold or (None,) * N
    if any(g is None for g in gold):
        raise InputError(
            f"{judge!r}: a margin of gold needs a gold verdict for every matched item, now and in "
            "the baseline"
        )
    right = [[v == g and v != INVALID for v in tensor.verdicts] for g in gold]
    return np.array(right, dtype=float)
