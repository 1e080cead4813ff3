"""Error of the prompt component when prompts were drawn from a generator (paper, S2.4).

The prompt component is a U-statistic over prompts with kernel

    h(k, l) = (a_k + a_l) / 2 - P_k'M P_l,     a_k the debiased |P_k|^2,  P_k = sum_o q_o p_ko

With hbar_k the mean of h(k, l) over l != k and s1^2 the variance of the K values hbar_k, the
paper's standard error is 2 sqrt(s1^2 / K), for use with a normal quantile as K grows. At small K
the means hbar_k share their terms: (K-1)/(K-2) times that, with a t quantile of K - 1 degrees,
covers .94-.97 at K = 4 to 20 where the paper's form covers .77-.92, for a uniform family of
prompts; with a skewed family .91-.94 was measured at the same K. Both are given.

The same K prompts serve all items, so the macroaverage averages h_i(k, l) over items first.

Claims use `DrawnPrompts`. Its upper bound supposes one prompt and one item that nobody drew: with
random weights W over K + 1 prompts and w over N + 1 items,

    theta* = [sum_i w_i sum_{k != l} W_k W_l h_i(k, l) + w_{N+1} b_I D + v b_P] / (D + v)
    D = sum_{k != l <= K} W_k W_l,     v = 2 W_{K+1} (1 - W_{K+1})

where b_I and b_P are the most that an unseen item or prompt may add. .5 is a working cap: an unseen
wording flips half of the items at most.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isnan, nan, sqrt
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import Floats
from judgelaw.errors import NotIdentifiedError
from judgelaw.estimate import COMPONENTS, Array, Estimand, Weights, decompose_as, of_counts
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.forms import Contrast, KnownCounts, contrast_vector, declare
from judgelaw.uncertainty.intervals import (
    Interval,
    check_level,
    no_interval,
    t_interval,
    t_quantile,
)
from judgelaw.uncertainty.item_bounds import DRAWS, effective_items

Scope = Literal["fixed", "new"]
"""The items that were asked, or items like them."""

MIN_PROMPTS = 3
_CAP = 0.5
_MANY_PROMPTS = 20
_FEW_ITEMS = 8
_BLOCK = 1 << 21
_MOST_PRODUCTS = 1_000_000_000
_LEAST_DRAWS = 2_000
_ROUNDING = 1e-12
_FACETS = 2
_COVERS = "the drawing of prompts from their generator and call sampling, with the items fixed"
_AT_ZERO = (
    "the projection variance is at zero (what the prompts vary by is no more than pair noise): the "
    "normal limit does not hold there, so take this interval as a rough guide and do not read "
    "its end as a test of no prompt effect; the permutation test is one"
)


@dataclass(frozen=True, kw_only=True)
class Projection:
    """The sampled-prompt component with its projection variance.

    Attributes:
        estimate: the prompt component for prompts drawn from a generator.
        prompts: K.
        variance: s1^2, the variance of the prompts' mean kernels.
        signal: s1^2 freed of the noise of pairs, an unbiased estimate of the projection variance
            that may be negative; nan at K = 3, where pairs leave nothing to judge noise by.
    """

    estimate: float
    prompts: int
    variance: float
    signal: float

    @property
    def se(self) -> float:
        """Small-K standard error, 2 sqrt(s1^2 / K) (K-1)/(K-2)."""
        return self.paper_se * (self.prompts - 1) / (self.prompts - 2)

    @property
    def paper_se(self) -> float:
        """The paper's standard error, 2 sqrt(s1^2 / K)."""
        return 2 * sqrt(self.variance / self.prompts)

    @property
    def at_zero(self) -> bool:
        """Whether the projection variance cannot be told from zero."""
        return self._constant or self.signal <= 0

    @property
    def _constant(self) -> bool:
        return sqrt(self.variance) <= _ROUNDING

    def interval(self, *, level: float = 0.95) -> Interval:
        """Return the small-K interval, with a t quantile of K - 1 degrees."""
        return self._interval(self.se, float(self.prompts - 1), level)

    def paper_interval(self, *, level: float = 0.95) -> Interval:
        """Return the paper's interval, with a normal quantile; too narrow at small K."""
        return self._interval(self.paper_se, inf, level)

    def _interval(self, se: float, df: float, level: float) -> Interval:
        check_level(level)
        if self._constant:
            reason = (
                "all prompts have the same mean kernel: the projection variance is zero, the "
                "normal limit does not hold, and an interval of width zero would be wrong"
            )
            return no_interval(estimate=self.estimate, level=level, covers=_COVERS, reason=reason)
        return t_interval(
            estimate=self.estimate,
            variance=se**2,
            df=df,
            level=level,
            covers=_COVERS,
            warning=_AT_ZERO if self.at_zero else None,
        )


def prompt_projection(
    x: VerdictTensor | ArrayLike,
    *,
    order_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
) -> Projection:
    """Return the macroaveraged prompt component of sampled prompts with its projection variance.

    Raises:
        NotIdentifiedError: fewer than three prompts were drawn.
    """
    h = prompt_kernel(_drawn(x, order_weights, dissimilarity))
    return _projected(h.mean(axis=0)[None])[0]


def item_projections(
    x: VerdictTensor | ArrayLike,
    *,
    order_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
) -> tuple[Projection, ...]:
    """Return the prompt component of every item with its own projection variance."""
    return _projected(prompt_kernel(_drawn(x, order_weights, dissimilarity)))


@dataclass(frozen=True, kw_only=True, eq=False)
class DrawnPrompts:
    """What drawing the prompts adds to the error of every component.

    Attributes:
        kernel: h_i(k, l), (items, prompts, prompts).
        estimates: macroaverages, (components,).
        without: the same without each prompt in turn, (prompts, components).
        item_variance: variance of the item values of every component, (components,).
        draws: random weightings of prompts and items.
        seed: of their named stream.
        unit: dissimilarity of the two verdicts that are farthest apart.
    """

    kernel: Floats
    estimates: Floats
    without: Floats
    item_variance: Floats
    draws: int
    seed: int
    unit: float = 1.0

    def bounds(self, component: str, p: float, scope: Scope) -> tuple[float, float]:
        """Return lower and upper bounds of a component, each at level p.

        For the prompt component by the projection and theta*. For the others by leaving out one
        prompt at a time (a jackknife), with the item variance beside it for new items.
        """
        if component == "prompt":
            projected = _projected(self.kernel.mean(axis=0)[None])[0]
            estimate, V_P = projected.estimate, projected.se**2
        else:
            estimate, V_P = self.jackknife(component)
        N = len(self.kernel)
        V_I = float(self.item_variance[COMPONENTS.index(component)]) / N if scope == "new" else 0.0
        half = self.half_width(V_P, V_I, p)
        upper = estimate + half
        if component == "prompt" and not isnan(half):
            unseen = self._unseen_new if scope == "new" else self._unseen_fixed
            upper = max(upper, float(np.quantile(unseen, p)))
        return estimate - half, upper

    def jackknife(self, contrast: Contrast) -> tuple[float, float]:
        """Return a contrast, and its variance by leaving out one prompt at a time."""
        ell = contrast_vector(contrast)
        used = ell != 0
        left, K = self.without[:, used] @ ell[used], len(self.without)
        variance = (K - 1) / K * float(((left - left.mean()) ** 2).sum())
        return float(self.estimates[used] @ ell[used]), variance

    def half_width(self, V_P: float, V_I: float, p: float) -> float:
        """Return half the interval of prompts and items, each end at level p; nan without error."""
        N, K = self.kernel.shape[:2]
        V = V_P + V_I
        if V <= 0:
            return nan
        items = V_I**2 / (N - 1) if V_I else 0.0
        return t_quantile(p, V**2 / (V_P**2 / (K - 1) + items)) * sqrt(V)

    @property
    def cap(self) -> float:
        """The most that an unseen prompt or item is supposed to add, unless one seen adds more."""
        return _CAP * self.unit

    @cached_property
    def _unseen_fixed(self) -> Floats:
        return self._unseen("fixed")

    @cached_property
    def _unseen_new(self) -> Floats:
        return self._unseen("new")

    def _unseen(self, scope: Scope) -> Floats:
        """Return theta* of every draw."""
        N, K = self.kernel.shape[:2]
        h = np.where(np.eye(K, dtype=bool), 0.0, self.kernel).reshape(N, K * K)
        u = h.sum(axis=1) / (K * (K - 1))
        cap = self.cap
        b_I, b_P = _unseen_item(u, cap), unseen_prompt(h.mean(axis=0), K, cap)
        rng = stream(self.seed, "drawn prompts", K, N, scope)
        out = np.empty(self.draws)
        size = max(1, _BLOCK // (N + 1 + K * K))
        for first in range(0, self.draws, size):
            part = slice(first, min(first + size, self.draws))
            m = part.stop - first
            W = rng.dirichlet(np.ones(K + 1), size=m)
            pairs = W[:, :K, None] * W[:, None, :K]
            D = pairs.sum(axis=(1, 2)) - (W[:, :K] ** 2).sum(axis=1)
            v = 2 * W[:, K] * (1 - W[:, K])
            if scope == "new":
                w = rng.dirichlet(np.ones(N + 1), size=m)
                mean, last = w[:, :N] @ h, w[:, N]
            else:
                mean, last = np.broadcast_to(h.mean(axis=0), (m, K * K)), np.zeros(m)
            seen = (pairs.reshape(m, K * K) * mean).sum(axis=1)
            out[part] = (seen + last * b_I * D + v * b_P) / (D + v)
        return out


def drawn_prompts(known: KnownCounts, *, draws: int = DRAWS, seed: int = 0) -> DrawnPrompts:
    """Return what the drawing of three prompts or more adds to the error of every component."""
    K = known.n.shape[1]
    sampled = replace(known.estimand, design="sampled", prompt_weights=None)
    found = decompose_as(known.n, sampled)
    values = np.stack([found[name] for name in COMPONENTS])
    variance = values.var(axis=1, ddof=1) if values.shape[1] > 1 else np.full(len(values), np.nan)
    without = [decompose_as(np.delete(known.n, k, axis=1), sampled).macro() for k in range(K)]
    return DrawnPrompts(
        kernel=prompt_kernel(known),
        estimates=values.mean(axis=1),
        without=np.array([[float(m[name]) for name in COMPONENTS] for m in without]),
        item_variance=variance,
        unit=1.0 if known.M is None else float((1 - known.M).max()),
        draws=min(draws, max(_LEAST_DRAWS, _MOST_PRODUCTS // (values.shape[1] * K * K))),
        seed=seed,
    )


def _unseen_item(u: Floats, cap: float) -> float:
    """Return b_I, the most that an item nobody asked may add."""
    first = float(u.max())
    if effective_items(u) < _FEW_ITEMS:
        return max(first, cap)
    second = float(np.partition(u, -2)[-2])
    return max(first, min(cap, 2 * first - second))


def unseen_prompt(hbar: Floats, K: int, cap: float) -> float:
    """Return b_P, the most that a prompt nobody drew may differ from another."""
    most = float(hbar.max())
    return max(most, cap if K < _MANY_PROMPTS else min(cap, 2 * most))


def prompt_kernel(known: KnownCounts) -> Floats:
    """Return h(k, l) of every item, (items, prompts, prompts); its diagonal is not used."""
    cells = of_counts(np.moveaxis(known.n, 0, -1).astype(float), _FACETS, known.M)
    P = np.einsum("o,kocn->nkc", known.q, cells.p)
    products = P @ np.swapaxes(P if known.M is None else P @ known.M, -1, -2)
    own = np.einsum("o,kon->nk", known.q**2, cells.d)
    a = np.diagonal(products, axis1=-2, axis2=-1) - own
    return np.asarray((a[:, :, None] + a[:, None, :]) / 2 - products)


def projection_moments(h: Array) -> tuple[Array, Array, Array]:
    """Return estimate, s1^2 and the noise-free signal of kernels (..., K, K).

    Hoeffding: h = U + h1(k) + h1(l) + h2(k, l), the h2 of different pairs uncorrelated. Hence
    E s1^2 = ((K-2)/(K-1))^2 Var h1 + (K-2)/(K-1)^2 Var h2, and the residual of the additive fit,
    with K(K-3)/2 degrees of freedom, estimates Var h2.
    """
    K = h.shape[-1]
    pairs = 1 - np.eye(K, dtype=int)
    hbar = (h * pairs).sum(axis=-1) / (K - 1)
    U = hbar.mean(axis=-1)
    s1 = hbar.var(axis=-1, ddof=1)
    df = K * (K - 3) // 2
    if df == 0:
        return U, s1, np.full_like(U, np.nan)
    effect = (hbar - U[..., None]) * (K - 1) / (K - 2)
    fit = U[..., None, None] + effect[..., :, None] + effect[..., None, :]
    residual = (h - fit) * pairs
    noise = (residual * residual).sum(axis=(-1, -2)) / (2 * df)
    signal = s1 * (K - 1) ** 2 / (K - 2) ** 2 - noise / (K - 2)
    return U, s1, signal


def _projected(h: Floats) -> tuple[Projection, ...]:
    K = h.shape[-1]
    return tuple(
        Projection(estimate=float(U), prompts=K, variance=float(s1), signal=float(signal))
        for U, s1, signal in zip(*projection_moments(h), strict=True)
    )


def _drawn(
    x: VerdictTensor | ArrayLike, order_weights: Weights, dissimilarity: ArrayLike | str | None
) -> KnownCounts:
    known = declare(x, Estimand(order_weights=order_weights, dissimilarity=dissimilarity))
    K = known.n.shape[1]
    if K < MIN_PROMPTS:
        raise NotIdentifiedError(
            f"{K} prompts were drawn: the projection variance needs {MIN_PROMPTS} or more; draw "
            "more prompts, or declare them a census and use call_interval"
        )
    return known
