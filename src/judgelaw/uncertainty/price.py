"""What an undecided limit costs: the limit that a fresh audit of a size will decide.

A margin can always be promised; whether a limit that was fixed beforehand will be decided hangs on
how near it is to a truth that nobody knows. So a price is a list of margins, and a number of items
or calls for the limit itself only where such numbers are kept, from 50 items of the pilot on.

Items like these, N' of them, from N_0 pilot values and one imagined item as large as the largest,
with mean m and standard deviation s:

    tau(N') = m + t_{N'-1} s/sqrt N' + t_{N_0-1,.90} s sqrt(1/N_0 + 1/N') + 3 B/N'

the last where few items carry the sum, n_eff N'/N_0 < 12, or the bound supposes an unseen item
always. The items asked, R' calls in a cell, from the estimate e, its bound u and its variance V:

    tau(R') = e + (u - e) sqrt(R/R') + z_.90 sqrt(V (1 + R/R'))

A margin for items is promised up to four times the items that were seen.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import ceil, floor, inf, isnan, sqrt
from typing import Final, Literal

import numpy as np

from judgelaw.arrays import PAIR, Floats
from judgelaw.uncertainty.intervals import t_quantile
from judgelaw.uncertainty.item_bounds import effective_items

CHANCE: Final = 0.75
"""How often a promised margin is decided by a fresh audit, at least."""
_ASSURED: Final = 0.90
_UNSEEN: Final = 3.0
_CARRIED: Final = 12.0
_TIMES: Final = (1, 2, 4)
_SEEN: Final = 2.0
_FROM: Final = 50
_MOST: Final = 4_096
_STEP: Final = 1.02
_THOUSAND: Final = 1_000


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A size of a fresh audit, and the limit that it will decide.

    Attributes:
        size: items, or calls in a cell.
        limit: a limit so far out passes, in three of four such audits at least.
    """

    size: int
    limit: float


@dataclass(frozen=True, kw_only=True)
class Price:
    """What more calls decide.

    Attributes:
        of: what there would be more of: `items`, or `repeats` of the items asked.
        now: the limit that the calls at hand decide: their bound.
        offers: sizes with the limits that they will decide.
        needed: the size that will decide the limit asked for; None where no such number is kept.
        told: whether such numbers are told at all, from 50 items on.
        side: whether the limit is a largest or a least value.
    """

    of: Literal["items", "repeats"]
    now: float
    offers: tuple[Offer, ...]
    needed: int | None
    told: bool
    side: Literal["max", "min"] = "max"

    def of_what_is_left(self) -> "Price":
        """Return the price of a least value x, given that of a largest value of 1 - x."""
        offers = tuple(Offer(size=o.size, limit=1 - o.limit) for o in self.offers)
        return replace(self, side="min", now=1 - self.now, offers=offers)

    def in_words(self, limit: float) -> str:
        """Say what the limit costs."""
        far = "below" if self.side == "max" else "above"
        unit = "items" if self.of == "items" else "calls a cell"
        each = [f"{_rounded(o.limit, self.side)} with {o.size:,}" for o in self.offers]
        said = (
            f"these calls show it {far} {_rounded(self.now, self.side)}; asked afresh it will be "
            f"shown {far} {', '.join(each)} {unit}"
        )
        if self.needed is not None:
            return f"{said}; the limit {limit:g} itself takes about {self.needed:,}"
        if self.told:
            return f"{said}; for {limit:g} itself no number up to {_MOST:,} is seen to be enough"
        return f"{said}; what {limit:g} itself takes can be told from {_FROM} items on"


def _rounded(x: float, side: Literal["max", "min"]) -> str:
    """Write a margin with three decimals, outwards, so that nothing is promised that is not."""
    scaled = ceil(x * _THOUSAND) if side == "max" else floor(x * _THOUSAND)
    return f"{scaled / _THOUSAND:.3f}"


def price_of_items(
    x: Floats,
    *,
    limit: float,
    now: float,
    top: float,
    careful: bool,
    level: float,
    carried: float | None = None,
) -> Price | None:
    """Return what a limit on the mean of item values costs, for items like these.

    Args:
        x: item values of the pilot, larger ones worse.
        limit: what is asked for.
        now: the bound at hand.
        top: the largest value that an item can have.
        careful: whether bounds suppose an unseen item at `top` always.
        level: of the bound.
        carried: how many items carry the sum, where that is not to be taken from x.
    """
    N = len(x)
    if N < PAIR or isnan(now):
        return None
    items = effective_items(x) if carried is None else carried
    # A pilot in which hardly an item moves has not seen the kind of item that will.
    unseen = max(float(x.max()), top / 2) if items < _SEEN else float(x.max())
    seen = np.append(x, unseen)
    m, s = float(seen.mean()), float(seen.std(ddof=1))

    def margin(size: int) -> float:
        guard = careful or items * size / N < _CARRIED
        ahead = t_quantile(level, size - 1) * s / sqrt(size)
        return m + ahead + _ahead(size) + (_UNSEEN * top / size if guard else 0.0)

    def broken(size: int) -> float:
        return float(x.mean()) - t_quantile(level, size - 1) * s / sqrt(size) - _ahead(size)

    def _ahead(size: int) -> float:
        return t_quantile(_ASSURED, N - 1) * s * sqrt(1 / N + 1 / size)

    told = N >= _FROM
    return Price(
        of="items",
        now=now,
        offers=tuple(Offer(size=k * N, limit=margin(k * N)) for k in _TIMES),
        needed=_least(margin, broken, limit, start=N) if told else None,
        told=told,
    )


def price_of_repeats(
    estimate: float,
    bounds: tuple[float, float],
    variance: float,
    *,
    limit: float,
    repeats: int,
    items: int,
) -> Price | None:
    """Return what a limit costs on the items asked, in calls of each cell.

    Args:
        estimate: the mean that was seen, larger ones worse.
        bounds: its lower and upper bound.
        variance: of the estimate, by calls.
        limit: what is asked for.
        repeats: calls in a cell.
        items: how many were asked.
    """
    low, high = bounds
    if isnan(high) or repeats < PAIR:
        return None
    z = t_quantile(_ASSURED, inf)

    def ahead(size: int) -> float:
        return z * sqrt(variance * (1 + repeats / size))

    def margin(size: int) -> float:
        return estimate + (high - estimate) * sqrt(repeats / size) + ahead(size)

    def broken(size: int) -> float:
        return estimate - (estimate - low) * sqrt(repeats / size) - ahead(size)

    told = items >= _FROM
    return Price(
        of="repeats",
        now=high,
        offers=tuple(Offer(size=k * repeats, limit=margin(k * repeats)) for k in _TIMES),
        needed=_least(margin, broken, limit, start=repeats) if told else None,
        told=told,
    )


def _least(
    margin: Callable[[int], float],
    broken: Callable[[int], float],
    limit: float,
    *,
    start: int,
) -> int | None:
    """Return the least size, to within 2%, that will decide a limit either way."""
    size = start
    while size <= _MOST:
        if margin(size) <= limit or broken(size) >= limit:
            return size
        size = max(size + 1, int(size * _STEP))
    return None
