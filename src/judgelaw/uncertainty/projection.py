"""Error of the prompt component when prompts were drawn from a generator (paper, S2.4).

The prompt component is a U-statistic over prompts with kernel

    h(k, l) = (a_k + a_l) / 2 - P_k'M P_l,     a_k the debiased |P_k|^2,  P_k = sum_o q_o p_ko

With hbar_k the mean of h(k, l) over l != k and s1^2 the variance of the K values hbar_k, the
paper's standard error is 2 sqrt(s1^2 / K), for use with a normal quantile as K grows. At small K
the means hbar_k share their terms: (K-1)/(K-2) times that, with a t quantile of K - 1 degrees,
covers .94-.97 at K = 4 to 20 where the paper's form covers .77-.92, for a uniform family of
prompts; with a skewed family .91-.94 was measured at the same K. Both are given.

The same K prompts serve all items, so the macroaverage averages h_i(k, l) over items first.
"""

from dataclasses import dataclass
from math import inf, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.errors import NotIdentifiedError
from judgelaw.estimate.cells import Array, of_counts
from judgelaw.estimate.weights import Weights
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.declared import Declared, declare
from judgelaw.uncertainty.results import Interval, check_level, no_interval, t_interval

Floats = NDArray[np.float64]

_MIN_PROMPTS = 3
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
    h = prompt_kernel(_declared(x, order_weights, dissimilarity))
    return _projected(h.mean(axis=0)[None])[0]


def item_projections(
    x: VerdictTensor | ArrayLike,
    *,
    order_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
) -> tuple[Projection, ...]:
    """Return the prompt component of every item with its own projection variance."""
    return _projected(prompt_kernel(_declared(x, order_weights, dissimilarity)))


def prompt_kernel(known: Declared) -> Floats:
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


def _declared(
    x: VerdictTensor | ArrayLike, order_weights: Weights, dissimilarity: ArrayLike | str | None
) -> Declared:
    known = declare(x, order_weights=order_weights, dissimilarity=dissimilarity)
    K = known.n.shape[1]
    if K < _MIN_PROMPTS:
        raise NotIdentifiedError(
            f"{K} prompts were drawn: the projection variance needs {_MIN_PROMPTS} or more; draw "
            "more prompts, or declare them a census and use call_interval"
        )
    return known
