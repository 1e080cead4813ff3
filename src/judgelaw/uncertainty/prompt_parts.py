"""The prompt component of crossed factors, split into factors and their interactions.

Where prompts are the full crossing of factors (wrapper x rubric x language), the prompt component
is the sum of one part for every non-empty subset S of the factors, in every sample:

    part of S = sum_{T subset of S} (-1)^(|S| - |T|) H_T,     H_T the agreement of two calls that
    share the levels of T and redraw the other factors and the order

so the part of one factor is what its levels do on average over the others, and that of two is what
they do together beyond that. As a quadratic form over cells (module `forms`) it is a product over
factors: diag(w) - w w' for those in S, w w' for the others, and q q' for the orders.

Bounds are those of one facet: for items like these (module `new_items`) with the range
1 - 1/min(levels of S, verdicts), and for the items asked (module `call_intervals`).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import combinations, product
from math import nan, prod, sqrt

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.estimate import Array, Estimand, decompose_facets
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_bounds import Shown, hidden, shown_by
from judgelaw.uncertainty.call_intervals import FEW_EVENTS, facet_spread
from judgelaw.uncertainty.call_variance import (
    MIN_REPEATS,
    call_covariance,
    smoothed_laws,
    true_call_covariance,
)
from judgelaw.uncertainty.forms import KnownCounts, declare, ranges
from judgelaw.uncertainty.intervals import (
    Interval,
    check_level,
    no_interval,
    shifted_upper,
    spread_of,
    t_quantile,
)
from judgelaw.uncertainty.item_bounds import (
    FEW,
    Clusters,
    clusters_of,
    effective_items,
    lower_bound,
    upper_bound,
    weigh_one,
)
from judgelaw.uncertainty.new_items import COVERS, too_few, weightings_for
from judgelaw.uncertainty.sampled_prompts import Scope
from judgelaw.words import factor_prompt, prompt_factors

_ORDER = "order"
_FIXED = "call sampling, with the items and the crossing of factors fixed"

Part = tuple[str, ...]
"""The factors of a part: one for a main effect, several for an interaction."""


@dataclass(frozen=True, kw_only=True, eq=False)
class FactorParts:
    """The parts of the prompt component of every item, ready for bounds.

    Attributes:
        levels: names of the levels, by factor.
        parts: the subsets of factors, single factors first.
        estimates, plugin: (items, parts).
        unbiased: call-sampling variance of every item and part, (items, parts): unbiased if
            `exact`, else the formula at plug-in laws.
        smoothed: the same by the formula at smoothed laws.
        exact: whether every cell holds the four calls that an unbiased variance takes.
        shown: the few calls that differ, where hardly any does.
        tops: the largest value of each part that a single item can have.
        clusters: of the items, where several belong together.
    """

    levels: Mapping[str, tuple[str, ...]]
    parts: tuple[Part, ...]
    estimates: Floats
    plugin: Floats
    unbiased: Floats
    smoothed: Floats
    exact: bool
    shown: Shown
    tops: tuple[float, ...]
    clusters: Clusters | None = None

    def values(self, part: Part) -> Floats:
        """Return a part of every item."""
        return np.asarray(self.estimates[:, self.parts.index(part)])

    def interval(self, part: Part, *, level: float = 0.95, scope: Scope = "new") -> Interval:
        """Return the mean over items of a part, for items like these or for the items asked."""
        check_level(level)
        x = self.values(part)
        e, p = float(x.mean()), (1 + level) / 2
        if scope == "new" and (reason := too_few(len(x), self.clusters)) is not None:
            return no_interval(estimate=e, level=level, covers=COVERS, reason=reason)
        if scope == "new":
            low, high = self._of_new_items(part, p)
            units = x if self.clusters is None else self.clusters.units(x)
            se, covers = float(units.std(ddof=1)) / sqrt(len(units)), COVERS
        else:
            low, high, se = self._of_calls(part, p)
            covers = _FIXED
        return Interval(
            estimate=e, se=se, low=low, high=high, df=nan, level=level, covers=covers, inverted=True
        )

    def _of_new_items(self, part: Part, p: float) -> tuple[float, float]:
        x = self.values(part)
        one = weigh_one(x, draws=weightings_for(len(x)), clusters=self.clusters)
        top = self.tops[self.parts.index(part)]
        careful = effective_items(x) < FEW
        return lower_bound(x, one, p), upper_bound(x, one, p, top=top, careful=careful)

    def _of_calls(self, part: Part, p: float) -> tuple[float, float, float]:
        at, N = self.parts.index(part), len(self.estimates)
        e = float(self.values(part).mean())
        B, S = (spread_of(V[:, at] / N**2) for V in (self.unbiased, self.smoothed))
        spread, kappa = facet_spread(B, S, exact=self.exact)
        low = e - t_quantile(p, spread.df) * sqrt(spread.variance)
        high = shifted_upper(e, spread, p, kappa=kappa)
        if int(self.shown.off_mode.sum()) <= FEW_EVENTS:
            high = max(high, e + self._hidden(part, p) / N)
        return low, high, sqrt(spread.variance)

    def _hidden(self, part: Part, p: float) -> float:
        """Return what one item may hide in one combination of levels, all cells unanimous."""
        sizes = [len(self.levels[factor]) for factor in part]
        share = prod(size - 1 for size in sizes) / prod(sizes) ** 2
        K, O = self.shown.facets
        calls = int(self.shown.fewest.min()) * K * O // prod(sizes)
        return hidden(share, calls, p) * self.shown.unit


def factor_parts(tensor: VerdictTensor, estimand: Estimand) -> FactorParts | None:
    """Split the prompt component of crossed factors; None where prompts are no such crossing.

    Estimand: the parts above, for a census of all levels with equal weights. Unbiased for two
    calls or more in every cell. Drawn prompts are no crossing.

    Raises:
        NotIdentifiedError: a cell holds one call.
    """
    levels = prompt_factors(tensor.prompts)
    if not levels or estimand.design != "census" or estimand.prompt_weights is not None:
        return None
    known = declare(tensor.select(prompts=_crossing(levels)), estimand)
    return replace(parts_of(known, levels), clusters=clusters_of(tensor.clusters))


def _crossing(levels: Mapping[str, Sequence[str]]) -> list[str]:
    return [
        factor_prompt(dict(zip(levels, chosen, strict=True)))
        for chosen in product(*levels.values())
    ]


def parts_of(known: KnownCounts, levels: Mapping[str, tuple[str, ...]]) -> FactorParts:
    """Return what `factor_parts` does, for counts whose prompts stand in crossed sequence."""
    N, _, O, C = known.n.shape
    sizes = [len(names) for names in levels.values()]
    split = decompose_facets(
        known.n.reshape(N, *sizes, O, C),
        (*levels, _ORDER),
        weights={_ORDER: known.q},
        dissimilarity=known.estimand.dissimilarity,
    )
    parts = tuple(part for size in range(1, len(levels) + 1) for part in combinations(levels, size))
    c = np.stack([part_form(part, levels, known.q) for part in parts])
    n, R = known.cells, known.cells.sum(axis=-1)
    exact = int(R.min()) >= MIN_REPEATS
    laws = n / R[..., None]
    unbiased = (
        call_covariance(n, c, known.M) if exact else true_call_covariance(laws, R, c, known.M)
    )
    smoothed = true_call_covariance(smoothed_laws(n), R, c, known.M)
    return FactorParts(
        levels=levels,
        parts=parts,
        estimates=np.stack([split.components[part] for part in parts], axis=-1),
        plugin=np.stack([split.plugin[part] for part in parts], axis=-1),
        unbiased=np.einsum("naa->na", unbiased),
        smoothed=np.einsum("naa->na", smoothed),
        exact=exact,
        shown=shown_by(known),
        tops=tuple(_top(prod(len(levels[f]) for f in part), known) for part in parts),
    )


def _top(apart: int, known: KnownCounts) -> float:
    """Return the range of a part that tells so many combinations of levels apart."""
    _, _, O, C = known.n.shape
    return ranges(apart, O, C, known.M)["prompt"]


def part_form(part: Part, levels: Mapping[str, Sequence[str]], q: Array) -> Array:
    """Return the coefficients of a part over cells, prompts in crossed sequence, then orders."""
    one = q[0] * 0 + 1  # a number of the kind of the weights: exact where they are

    def of(factor: str) -> Array:
        size = len(levels[factor])
        together = np.full((size, size), one / size**2)
        return np.eye(size, dtype=int) * (one / size) - together if factor in part else together

    return reduce(np.kron, [*map(of, levels), np.outer(q, q)])
