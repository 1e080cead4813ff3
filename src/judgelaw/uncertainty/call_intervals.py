"""Call-sampling error of the complete estimator: the same items asked again.

Items, prompts and orders are fixed; only the judge's dice are random. For N items the variance of
the macroaverage is V = sum_i V_i / N^2, with nu = 2 (sum V_i)^2 / sum V_i^2 degrees of freedom. Two
estimates of V_i are kept (module `call_variance`):

    V_B   unbiased from four repeats on; with two or three, the formula at plug-in laws
    V_S   the formula at smoothed laws (n_u + m_i) / (R_u + 1), m_i the profile of the benchmark

Where most cells are settled, V_B rests on a few calls and may be zero or negative; V_S supposes
that cells hide as much noise as the benchmark shows on average. An interval at level p per side:

    R >= 4    V_B if it is positive and nu_B >= 25 (kappa = 5);  else V_S if it is the larger, else
              V_B with the smaller nu (kappa = 3)
    R = 2, 3  max(V_S, V_B), the smaller nu, kappa = 3; the call component's V is at least that of
              the agreements over all cells
    lower     e - t_nu sqrt V
    upper     e + z^2 a/2 + t_nu sqrt(V + z^2 a^2/4),     a = V / max(|e|, kappa sqrt V)

and where five calls or fewer leave the mode of their cell, an exact binomial bound on how often
calls do so holds the upper ends up. Contrasts take max(V_S, V_B) and the smaller nu always.

Resampling items already contains this noise: E[s^2 / N] = V_call + S_U^2 / N, with s^2 the variance
of item estimates and S_U^2 that of the true item values. Show the split, never add the two.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import nan, sqrt
from typing import Final, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import Floats
from judgelaw.errors import NotIdentifiedError
from judgelaw.estimate import CENSUS, COMPONENTS, Decomposition, Design, Estimand, Weights
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_bounds import Shown, hidden_in_one_item, shown_by
from judgelaw.uncertainty.call_variance import (
    MIN_REPEATS,
    call_covariances,
    smoothed_laws,
    true_call_covariance,
)
from judgelaw.uncertainty.forms import (
    Contrast,
    KnownCounts,
    absent_component,
    absent_reason,
    component_map,
    concentration_forms,
    contrast_row,
    contrast_vector,
    declare,
)
from judgelaw.uncertainty.intervals import (
    Interval,
    Spread,
    check_level,
    is_constant,
    no_interval,
    remembered,
    shifted_upper,
    spread_of,
    t_quantile,
    wider,
)

_COVERS: dict[Design, str] = {
    "census": "call sampling, with the items and the prompt census fixed",
    "sampled": "call sampling, with the items and the drawn prompts fixed; "
    "not the drawing of prompts (see prompt_projection)",
}
_SETTLED_DF: Final = 25.0
FEW_EVENTS: Final = 5
_AGREEING: Final = 0.85


_EXACT_ONLY = (
    "the split needs the unbiased variance, which does not exist below four calls in a cell: "
    "acquire four repeats"
)


@dataclass(frozen=True, kw_only=True)
class ErrorSplit:
    """Where the error of a macroaverage comes from.

    Attributes:
        call: variance by call sampling, V.
        item: variance by the choice of items, s^2/N - V; raw, so it may be negative.
        total: s^2/N, what resampling items sees.
        reliability: 1 - mean V_i / s^2, the share of true differences in the variance of item
            estimates. It predicts split-half correlation; near 0 an item ranking is noise.
        reason: why parts are nan, or None.
    """

    call: float
    item: float
    total: float
    reliability: float
    reason: str | None = None


@dataclass(frozen=True, kw_only=True, eq=False)
class Modes:
    """The commonest verdict of every cell, and which cells gave no other.

    Attributes:
        codes: of the commonest verdict, (items, cells).
        weights: 4 / R_u of unanimous cells, 0 of the others, (items, cells).
        forms: of H_XO, H_X, H_O and H_0, (4, cells, cells).
        M: similarity of verdicts.
    """

    codes: NDArray[np.intp]
    weights: Floats
    forms: Floats
    M: Floats

    def moved(self, row: Floats) -> Floats:
        """Return sum over unanimous cells of (4 / R_u) max_c (G_u(mode_u) - G_u(c))^2, by item.

        G_u = M sum_v c_uv e(mode_v) says what a call of cell u adds to the form, by its verdict.
        """
        c = np.tensordot(row, self.forms, axes=1)
        G = (c @ np.eye(len(self.M))[self.codes]) @ self.M
        own = np.take_along_axis(G, self.codes[..., None], axis=-1)
        return np.asarray((self.weights * ((own - G) ** 2).max(axis=-1)).sum(axis=-1))

    def rows(self, rows: NDArray[np.intp]) -> Self:
        """Keep some items."""
        return replace(self, codes=self.codes[rows], weights=self.weights[rows])


@dataclass(frozen=True, kw_only=True, eq=False)
class CallErrors:
    """Item estimates with the covariance of their call-sampling error.

    Attributes:
        estimates: (items, components), in the order of COMPONENTS.
        covariance: of H_XO, H_X, H_O and H_0, (items, 4, 4): unbiased if `exact`, else the formula
            at plug-in laws.
        smoothed: the same by the formula at smoothed laws.
        components: the components in terms of the four H, (5, 4); nan where a facet has one level.
        shown: agreements and the few calls that differ.
        design: "census" or "sampled".
        items: labels of the items, or None.
        second: the second-order part of `covariance`, where that is unbiased; else None.
        modes: the commonest verdict of every cell, where verdicts were counted.
    """

    estimates: Floats
    covariance: Floats
    smoothed: Floats
    components: Floats
    shown: Shown
    design: Design
    items: tuple[str, ...] | None = None
    second: Floats | None = None
    modes: "Modes | None" = None

    @property
    def exact(self) -> bool:
        """Whether every cell holds the four calls that an unbiased variance takes."""
        return bool(self.shown.fewest.min() >= MIN_REPEATS)

    @property
    def covers(self) -> str:
        """Which randomness these errors cover, in words."""
        return _COVERS[self.design]

    def values(self, contrast: Contrast = "prompt") -> Floats:
        """Return the contrast of every item, nan where its component does not exist."""
        ell = contrast_vector(contrast)
        used = ell != 0
        return np.asarray(self.estimates[:, used] @ ell[used])

    def variances(self, contrast: Contrast = "prompt") -> Floats:
        """Return the call-sampling variance V_i of every item; where unbiased, maybe negative."""
        return self._variances(self.covariance, contrast)

    def bounds(self, contrast: Contrast, p: float) -> tuple[float, float]:
        """Return lower and upper bounds of a component or contrast, each at level p."""
        if self.refusal(contrast) is not None:
            return nan, nan
        e = float(self.values(contrast).mean())
        if not isinstance(contrast, str):
            spread = self.wide_spread(contrast)
            return -shifted_upper(-e, spread, p), shifted_upper(e, spread, p)
        spread, kappa = self.spread(contrast)
        upper = shifted_upper(e, spread, p, kappa=kappa)
        lower = e - t_quantile(p, spread.df) * sqrt(spread.variance)
        return lower, max(upper, self._rare_events(contrast, e, p))

    def interval(self, contrast: Contrast = "prompt", *, level: float = 0.95) -> Interval:
        """Return the macroaverage with its interval for the same items asked again."""
        check_level(level)
        e = float(self.values(contrast).mean())
        reason = self.refusal(contrast)
        if reason is not None:
            return no_interval(estimate=e, level=level, covers=self.covers, reason=reason)
        if isinstance(contrast, str):
            spread, _ = self.spread(contrast)
        else:
            spread = self.wide_spread(contrast)
        low, high = self.bounds(contrast, (1 + level) / 2)
        return Interval(
            estimate=e,
            se=sqrt(spread.variance),
            low=low,
            high=high,
            df=spread.df,
            level=level,
            covers=self.covers,
            inverted=True,
        )

    @remembered
    def spread(self, component: str) -> tuple[Spread, float]:
        """Return the variance that bounds of one component use, and kappa."""
        B, S = (self._spread(V) for V in self._both(component))
        spread, kappa = facet_spread(B, S, exact=self.exact)
        if not self.exact and self._floored(component):
            spread = self._at_least_agreements(spread)
        return spread, kappa

    def wide_spread(self, contrast: Contrast) -> Spread:
        """Return the larger variance and the smaller degrees of freedom, as contrasts use them."""
        return self._chosen(self.values(contrast), *self._both(contrast))

    def spread_less_total(self, component: str) -> Callable[[float], Spread]:
        """Return the wide spread of g - rho T as a function of rho, for a component g."""
        g, T = (contrast_row(name, self.components) for name in (component, "total"))
        forms = np.stack([g, T])
        one, all_ = self.values(component), self.values("total")
        moments = [forms @ covariance @ forms.T for covariance in (self.covariance, self.smoothed)]

        def at(rho: float) -> Spread:
            V = (m[:, 0, 0] - 2 * rho * m[:, 0, 1] + rho**2 * m[:, 1, 1] for m in moments)
            return self._chosen(one - rho * all_, *V)

        return at

    def slack(self, contrast: Contrast) -> tuple[float, float]:
        """Return how far missing mass may move the macroaverage; sampled verdicts miss nothing."""
        del contrast
        return 0.0, 0.0

    def slack_less_total(self, component: str) -> Callable[[float], tuple[float, float]]:
        """Return the slack of g - rho T as a function of rho."""
        del component
        return lambda _: (0.0, 0.0)

    def split(self, contrast: Contrast = "prompt") -> ErrorSplit:
        """Return the call part, the item part and the total of the macroaverage's variance."""
        values, V = self.values(contrast), self.variances(contrast)
        N = len(values)
        reason = self.refusal(contrast) or self._no_split()
        call = float(V.sum()) / N**2 if reason is None else nan
        if N < 2:  # noqa: PLR2004 - a variance over items
            reason = reason or "one item has no variance over items: the split needs two or more"
            return ErrorSplit(call=call, item=nan, total=nan, reliability=nan, reason=reason)
        s2 = 0.0 if is_constant(values) else float(values.var(ddof=1))
        if reason is None and s2 == 0:
            reason = "all items have the same estimate: their variance is zero, nothing to split"
        if reason is not None:
            return ErrorSplit(call=nan, item=nan, total=s2 / N, reliability=nan, reason=reason)
        reliability = 1 - float(V.mean()) / s2
        return ErrorSplit(call=call, item=s2 / N - call, total=s2 / N, reliability=reliability)

    def refusal(self, contrast: Contrast = "prompt") -> str | None:
        """Say why these calls give no error for the contrast, or None."""
        if (absent := absent_component(contrast, self.components)) is not None:
            return absent_reason(absent)
        return None

    def rows(self, rows: NDArray[np.intp]) -> Self:
        """Keep some items."""
        return replace(
            self,
            estimates=self.estimates[rows],
            covariance=self.covariance[rows],
            smoothed=self.smoothed[rows],
            shown=self.shown.rows(rows),
            items=None if self.items is None else tuple(self.items[i] for i in rows),
            second=None if self.second is None else self.second[rows],
            modes=None if self.modes is None else self.modes.rows(rows),
        )

    def second_order(self, contrast: Contrast) -> Floats:
        """Return the second-order part of `variances`, of every item."""
        if self.second is None:
            raise NotIdentifiedError(_EXACT_ONLY)
        return self._variances(self.second, contrast)

    def supposed(self, contrast: Contrast) -> float:
        """Return V_S: the variance of the macroaverage at smoothed laws."""
        return float(self._variances(self.smoothed, contrast).sum()) / len(self.estimates) ** 2

    def unseen_slips(self, contrast: Contrast) -> float:
        """Return V_M: the variance that slips in the unanimous cells give the macroaverage.

        A prompt that reverses an item makes every slip there count in full, and of such items few
        calls show any. Every unanimous cell is supposed to slip as often as all calls do.
        """
        if self.modes is None or absent_component(contrast, self.components) is not None:
            return 0.0
        slips = int(self.shown.off_mode.sum()) / int(self.shown.calls.sum())
        moved = self.modes.moved(contrast_row(contrast, self.components))
        return float(slips * (1 - slips) * moved.sum()) / len(self.estimates) ** 2

    def _variances(self, covariance: Floats, contrast: Contrast) -> Floats:
        if absent_component(contrast, self.components) is not None:
            return np.full(len(self.estimates), np.nan)
        row = contrast_row(contrast, self.components)
        return np.asarray(np.einsum("a,nab,b->n", row, covariance, row))

    def _both(self, contrast: Contrast) -> tuple[Floats, Floats]:
        """Return V_B and V_S of every item."""
        return self.variances(contrast), self._variances(self.smoothed, contrast)

    def _chosen(self, values: Floats, unbiased: Floats, smoothed: Floats) -> Spread:
        """Return the variance of a mean of these values, from both estimates by item."""
        del values
        return wider(self._spread(unbiased), self._spread(smoothed))

    def _spread(self, V: Floats) -> Spread:
        return spread_of(V / len(self.estimates) ** 2)

    def _no_split(self) -> str | None:
        if not self.exact:
            return _EXACT_ONLY
        if self.shown.unanimous:
            return (
                "every cell is unanimous, so these calls say nothing about call noise: it may be "
                "small, and it is not known to be zero; acquire more repeats"
            )
        return None

    def _floored(self, component: str) -> bool:
        if component == "call":
            return True
        apart = 1 - float(self.shown.agreement.mean())
        return component == "total" and apart <= (1 - _AGREEING) * self.shown.unit

    def _at_least_agreements(self, spread: Spread) -> Spread:
        """Raise the variance to that of the agreements over all cells, V_J, where it is smaller."""
        a = self.shown.agreement
        if a.size < 2:  # noqa: PLR2004 - to vary
            return spread
        floor = float(a.var(ddof=1)) / a.size
        if floor <= spread.variance:
            return spread
        C = (self.shown.weights**2 * (1 - a) ** 2).sum(axis=1)
        df = 2 * float(C.sum()) ** 2 / float((C**2).sum())
        return Spread(variance=floor, df=max(1.0, min(spread.df, df)))

    def _rare_events(self, component: str, e: float, p: float) -> float:
        """Return the least upper end where hardly any call differs from the others of its cell.

        A single item may hide noise in one prompt, one order or one cell that these calls do not
        show.
        """
        if component in {"call", "total"}:
            return self.rare_events(e, p)
        if int(self.shown.off_mode.sum()) > FEW_EVENTS:
            return -np.inf
        return float(e + hidden_in_one_item(component, self.shown, p) / len(self.estimates))

    def rare_events(self, e: float, p: float) -> float:
        """Return the least upper end of a chance e that two calls differ; -inf if many calls do.

        Two calls differ at most twice as often as one leaves the mode of its cell, and never by
        more than the unit.
        """
        shown = self.shown
        Q, calls = int(shown.off_mode.sum()), int(shown.calls.sum())
        if Q > FEW_EVENTS:
            return -np.inf
        from scipy.special import betaincinv  # noqa: PLC0415 - scipy loads when it is needed

        most = 1.0 if calls == Q else float(betaincinv(Q + 1, calls - Q, p))
        heaviest = float(shown.weights.max()) * len(shown.weights)
        call = float(self.values("call").mean())
        return e + max(0.0, min(1.0, 2 * most * heaviest) * shown.unit - call)


def facet_spread(B: Spread, S: Spread, *, exact: bool) -> tuple[Spread, float]:
    """Return the variance that bounds of one component use, and kappa.

    Args:
        B: unbiased if `exact`, else at plug-in laws.
        S: at smoothed laws.
        exact: whether every cell holds four calls or more.
    """
    if exact and B.variance > 0 and B.df >= _SETTLED_DF:
        return B, 5.0
    # Unbiased terms of both signs nearly cancel, and leave the sum one degree of freedom. Where
    # that sum is not the variance used, its degrees say nothing about it.
    return (S if exact and B.variance <= S.variance else wider(B, S)), 3.0


def call_errors(x: VerdictTensor | ArrayLike, estimand: Estimand = CENSUS) -> CallErrors:
    """Return item estimates with the covariance of their call-sampling error.

    Condition: independent calls, two or more in every cell; from four on the covariance is exactly
    unbiased.

    Raises:
        NotIdentifiedError: a cell holds one call.
    """
    known = declare(x, estimand)
    return errors_of(known, known.decompose())


def errors_of(known: KnownCounts, found: Decomposition) -> CallErrors:
    """Return what `call_errors` does, for counts that were checked and decomposed."""
    K, O = known.n.shape[1:3]
    c, n = concentration_forms(known.w, known.q), known.cells
    R = n.sum(axis=-1)
    second = None
    if int(R.min()) >= MIN_REPEATS:
        covariance, second = call_covariances(n, c, known.M)
    else:
        covariance = true_call_covariance(n / R[..., None], R, c, known.M)
    return CallErrors(
        estimates=np.stack([found[name] for name in COMPONENTS], axis=-1),
        covariance=covariance,
        second=second,
        modes=Modes(
            codes=n.argmax(axis=-1),
            weights=np.where(n.max(axis=-1) == R, 4 / R, 0.0),
            forms=c,
            M=np.eye(n.shape[-1]) if known.M is None else known.M,
        ),
        smoothed=true_call_covariance(smoothed_laws(n), R, c, known.M),
        components=component_map(K, O, known.estimand.design),
        shown=shown_by(known),
        design=known.estimand.design,
        items=known.items,
    )


def call_interval(
    x: VerdictTensor | ArrayLike,
    contrast: Contrast = "prompt",
    *,
    level: float = 0.95,
    design: Design = "census",
    order_weights: Weights = None,
    prompt_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
) -> Interval:
    """Return the macroaverage of a component or contrast with its interval for the same items.

    >>> import numpy as np
    >>> counts = np.random.default_rng(1).multinomial(8, [0.4, 0.3, 0.2, 0.1], size=(50, 6, 2))
    >>> found = call_interval(counts, "prompt")
    >>> found.low < 0 < found.high  # one law under every prompt
    True
    """
    estimand = Estimand(
        design=design,
        order_weights=order_weights,
        prompt_weights=prompt_weights,
        dissimilarity=dissimilarity,
    )
    return call_errors(x, estimand).interval(contrast, level=level)
