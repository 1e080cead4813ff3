"""Bounds for items like these, where most items are settled and a few are not.

Item values x_i, i = 1..N, have mean m, standard deviation s and se = s / sqrt N. A t bound assumes
that the sample shows the tail of its own population. Judges that are settled on most items do not:
the items that flip are rare, and a sample may hold none of them. Three upper bounds at level p are
therefore combined:

    t       m + t_{N-1,p} se
    Hall    m - 3 se [cbrt(1 + A (y - A/6)) - 1] / A,     A = skewness / sqrt N,  y = t_{N-1,1-p}
    Gaffke  G(b) = p-quantile of sum_i W_i x_i + W_{N+1} b,     W uniform on the simplex

Gaffke's bound adds one item that nobody saw, with the largest value b that an item can have. How
many items carry the sum is n_eff = (sum x^2)^2 / sum x^4.

    upper, call and total:   max(t, G(B))
    upper, a facet:          max(t, G(B)) if n_eff < 8, else max(t, Hall, G(min(B, 2 x1 - x2)))
    lower:                   min(t, -G(-x; max(0, -min x))) for N < 50,
                             else min(t, -Hall(-x), -G(-x; -min x))

with B the range of the component and x1, x2 the two largest values. Strata are ignored: the target
is the same, and t errors of small strata cover far too little. Where items lie in clusters, these
are the units, and an unseen one always lies at the end of the range (`item_bounds`).

All bounds of one set of items come from the same draws of W, so the draws are one matrix product.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, nan

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.errors import InputError
from judgelaw.estimate import COMPONENTS
from judgelaw.uncertainty.forms import Contrast, absent_reason, contrast_vector
from judgelaw.uncertainty.intervals import Interval, check_level, no_interval, remembered
from judgelaw.uncertainty.item_bounds import (
    DRAWS,
    FEW,
    LEAST_DRAWS,
    MOST_NUMBERS,
    Clusters,
    Draws,
    carried_bound,
    effective_items,
    lower_bound,
    may_be_positive,
    standard_error,
    upper_bound,
    weigh,
)

COVERS = "new items like these, call sampling included"


ONE_ITEM = "one item says nothing about other items: a bound for new items needs two or more"
ONE_CLUSTER = "one cluster says nothing about others: a bound for new items needs two or more"
_CARRIED = 10.0
_STEPS = 4
_HALVINGS = 8


@dataclass(frozen=True, kw_only=True, eq=False)
class NewItems:
    """The components of every item, ready for bounds on items like them.

    Attributes:
        values: (items, components), in the order of COMPONENTS; nan for absent facets.
        top: range of each component, by name.
        drawn: random weightings of the components.
        strict: whether to suppose an unseen item at the end of the range always; otherwise a
            facet that many items carry is spared that, and a kind of item that is rare and was
            never seen is left out of account.
    """

    values: Floats
    top: Mapping[str, float]
    drawn: Draws
    strict: bool = False

    def of(self, contrast: Contrast) -> Floats:
        """Return the contrast of every item."""
        ell = contrast_vector(contrast)
        used = ell != 0
        return np.asarray(self.values[:, used] @ ell[used])

    def drawn_of(self, contrast: Contrast) -> Draws:
        """Return the random weightings of a contrast."""
        ell = contrast_vector(contrast)
        terms = [ell[c] * self.drawn.sums[c] for c in np.flatnonzero(ell)]
        return replace(self.drawn, sums=sum(terms[1:], start=terms[0]))

    def refusal(self, *components: str) -> str | None:
        """Say why these items give no bound for the components, or None."""
        absent = [c for c in components if np.isnan(self.values[:, COMPONENTS.index(c)]).any()]
        if absent:
            return absent_reason(absent[0])
        return too_few(len(self.values), self.drawn.clusters)

    @remembered
    def bounds(self, component: str, p: float) -> tuple[float, float]:
        """Return lower and upper bounds of a component, each at level p; nan where there are none.

        With one item they are nan; `refusal` says why.
        """
        if self.refusal(component) is not None:
            return nan, nan
        x, drawn = self.of(component), self.drawn_of(component)
        careful = self._careful(component in {"call", "total"}, x)
        upper = upper_bound(x, drawn, p, top=self.top[component], careful=careful)
        return lower_bound(x, drawn, p), upper

    def interval(self, component: str, *, level: float = 0.95) -> Interval:
        """Return the mean of a component with its interval for new items."""
        check_level(level)
        x = self.of(component)
        reason = self.refusal(component)
        if reason is not None:
            estimate = float(x.mean())
            return no_interval(estimate=estimate, level=level, covers=COVERS, reason=reason)
        low, high = self.bounds(component, (1 + level) / 2)
        return _interval(x, low, high, level, self.drawn.clusters)

    def lead(self, first: str, second: str, *, level: float = 0.95) -> Interval:
        """Return the first component minus the second, with its interval for new items."""
        check_level(level)
        contrast = {first: 1.0, second: -1.0}
        y = self.of(contrast)
        reason = self.refusal(first, second)
        if reason is not None:
            return no_interval(estimate=float(y.mean()), level=level, covers=COVERS, reason=reason)
        careful = self._careful(False, y)
        low, high = _both_sides(
            y, self.drawn_of(contrast), (1 + level) / 2, top=self.top["total"], careful=careful
        )
        return _interval(y, low, high, level, self.drawn.clusters)

    def share_upper(self, component: str, p: float) -> float:
        """Return the largest share of the total that the items allow at level p, in [0, 1]."""
        if self.refusal(component, "total") is not None:
            return nan
        careful = self._careful(False, self.of(component))

        def allowed(rho: float) -> bool:
            y, drawn = self._less(component, rho)
            top = (1 - rho) * self.top[component]
            return may_be_positive(y, drawn, p, top=top, careful=careful or self._few(y))

        return largest_allowed(allowed)

    def share_lower(self, component: str, p: float) -> float:
        """Return the smallest share of the total that the items allow at level p, in [0, 1]."""
        if self.refusal(component, "total") is not None:
            return nan
        careful = self._careful(False, self.of({"total": 1.0, component: -1.0}))

        def allowed(rest: float) -> bool:
            y, drawn = self._less(component, 1 - rest)
            top = (1 - rest) * self.top["total"]
            return may_be_positive(-y, -drawn, p, top=top, careful=careful or self._few(y))

        return 1 - largest_allowed(allowed)

    def _less(self, component: str, rho: float) -> tuple[Floats, Draws]:
        """Return y_i = g_i - rho T_i and its random weightings."""
        contrast = {component: 1.0, "total": -rho} if rho else {component: 1.0}
        return self.of(contrast), self.drawn_of(contrast)

    def _careful(self, always: bool, x: Floats) -> bool:  # noqa: FBT001 - one word reads better
        return always or self.strict or self._few(x)

    @staticmethod
    def _few(x: Floats) -> bool:
        return effective_items(x) < FEW


def new_item_bounds(
    estimates: Sequence[Floats],
    *,
    top: Mapping[str, float],
    draws: int = DRAWS,
    seed: int = 0,
    strict: bool = False,
    clusters: Clusters | None = None,
) -> list[NewItems]:
    """Prepare the bounds of all components for items like these.

    `estimates` are (items, components) of the same items, at several depths maybe; `top` is the
    range of each component. Where there are very many items, there are fewer random weightings.
    """
    values = np.concatenate(estimates, axis=1)
    drawn = weigh(values, draws=weightings_for(len(values), draws), seed=seed, clusters=clusters)
    width = len(COMPONENTS)
    return [
        NewItems(
            values=each,
            top=top,
            drawn=replace(drawn, sums=drawn.sums[d * width : (d + 1) * width]),
            strict=strict,
        )
        for d, each in enumerate(estimates)
    ]


def weightings_for(items: int, draws: int = DRAWS) -> int:
    """Return how many weightings so many items get: their bounds then hang on no single item."""
    return min(draws, max(LEAST_DRAWS, MOST_NUMBERS // items))


def item_difference(
    a: NewItems,
    b: NewItems,
    contrast: Contrast,
    *,
    level: float = 0.95,
    p: float | None = None,
    unit: float = 1.0,
) -> Interval:
    """Return A minus B of two judges, paired by item, with its interval for new items.

    Both are on the same items in the same order, from the same draws. For several intervals
    together, `p` is the level of each end, in place of (1 + level) / 2. A contrast that is no
    single component is a rate, whose largest value is the `unit`.
    """
    check_level(level)
    if a.values.shape != b.values.shape:
        raise InputError(
            f"the judges were asked about {len(a.values)} and {len(b.values)} items: a difference "
            "is of the same items; select the common ones in both"
        )
    one, other = a.of(contrast), b.of(contrast)
    y = one - other
    used = [contrast] if isinstance(contrast, str) else [c for c, x in contrast.items() if x]
    reason = a.refusal(*used) or b.refusal(*used)
    if reason is not None:
        return no_interval(estimate=float(y.mean()), level=level, covers=COVERS, reason=reason)
    drawn = replace(a.drawn, sums=a.drawn_of(contrast).sums - b.drawn_of(contrast).sums)
    careful = a.strict or any(effective_items(x) < FEW for x in (one, other))
    side = (1 + level) / 2 if p is None else p
    top = max(a.top[contrast], b.top[contrast]) if isinstance(contrast, str) else unit
    low, high = _both_sides(y, drawn, side, top=top, careful=careful)
    return _interval(y, low, high, level, a.drawn.clusters)


def too_few(items: int, clusters: Clusters | None) -> str | None:
    """Say why so many items, or clusters of them, give no bound; None where they do."""
    if clusters is None:
        return ONE_ITEM if items == 1 else None
    return ONE_CLUSTER if len(clusters) == 1 else None


def signed_interval(
    y: Floats,
    *,
    top: float = 1.0,
    level: float = 0.95,
    strict: bool = False,
    clusters: Clusters | None = None,
) -> Interval:
    """Return the mean of signed item values in [-top, top], with its interval for new items.

    `strict` supposes one unseen item at the end of its range, however many items carry the mean.
    """
    return signed_intervals(y[:, None], top=top, level=level, strict=strict, clusters=clusters)[0]


def signed_intervals(
    values: Floats,
    *,
    top: float = 1.0,
    level: float = 0.95,
    strict: bool = False,
    clusters: Clusters | None = None,
) -> list[Interval]:
    """Return what `signed_interval` does for quantities (items, quantities), from one weighting."""
    check_level(level)
    if (reason := too_few(len(values), clusters)) is not None:
        return [
            no_interval(estimate=float(x), level=level, covers=COVERS, reason=reason)
            for x in values.mean(axis=0)
        ]
    drawn = weigh(values, draws=weightings_for(len(values)), clusters=clusters)
    found = []
    for y, sums in zip(values.T, drawn.sums, strict=True):
        one = replace(drawn, sums=sums)
        careful = strict or effective_items(y) < FEW
        low, high = _both_sides(y, one, (1 + level) / 2, top=top, careful=careful)
        found.append(_interval(y, low, high, level, clusters))
    return found


def treated_interval(y: Floats, *, top: float = 1.0, level: float = 0.95) -> Interval:
    """Return the mean change of items by a treatment of each, with its interval for new items.

    The values are differences of calls, in [-top, top], so that dice move every item. Dice do not
    show whether the treatment moves all items alike or a few of them, so ten items must carry the
    values before the sample is taken for its population. From there on the ends are those of t and
    Hall; an unseen item beyond them would make intervals hold in 98 to 99 of 100 studies.
    """
    check_level(level)
    if len(y) == 1:
        return no_interval(estimate=float(y[0]), level=level, covers=COVERS, reason=ONE_ITEM)
    p = (1 + level) / 2
    low, high = (carried_bound(x, p, top=top, few=_CARRIED) for x in (-y, y))
    return _interval(y, -low, high, level)


def largest_allowed(allowed: Callable[[float], bool]) -> float:
    """Return the largest number in [0, 1] that is allowed, 0 if none is.

    Looked for from above in steps, then by halving, since what is allowed need not be an interval.
    """
    refused = inf
    for step in range(_STEPS, -1, -1):
        rho = step / _STEPS
        if allowed(rho):
            break
        refused = rho
    else:
        return 0.0
    if refused is inf:
        return 1.0
    for _ in range(_HALVINGS):
        middle = (rho + refused) / 2
        rho, refused = (middle, refused) if allowed(middle) else (rho, middle)
    # Return the refused end, which is on the safe side: the border lies below it.
    return refused


def _both_sides(
    y: Floats, drawn: Draws, p: float, *, top: float, careful: bool
) -> tuple[float, float]:
    """Return bounds of a difference, whose range is the same on both sides."""
    return (
        -upper_bound(-y, -drawn, p, top=top, careful=careful),
        upper_bound(y, drawn, p, top=top, careful=careful),
    )


def _interval(
    x: Floats, low: float, high: float, level: float, clusters: Clusters | None = None
) -> Interval:
    x = x if clusters is None else clusters.units(x)
    return Interval(
        estimate=float(x.mean()),
        se=standard_error(x),
        low=low,
        high=high,
        df=float(len(x) - 1),
        level=level,
        covers=COVERS,
        inverted=True,
    )
