"""Exact call-sampling variance of the complete estimator, conditional on the cell laws.

For a quadratic form `sum_{u,v} c_uv A_uv` over the cells of an item (module `forms`), with
S_u = diag(P_u) - P_u P_u', G_u = M sum_v c_uv P_v and R^(j) the falling factorial,

    Var = sum_u (4 / R_u) G_u' S_u G_u + sum_{u != v} 2 c_uv^2 tr(M S_u M S_v) / (R_u R_v)
        + sum_u 2 c_uu^2 tr(M S_u M S_u) / R_u^(2)

Here it is a covariance: several forms at once, c_uv^2 becoming c_uv c'_uv. Each of the three sums
is estimated without bias from counts with R_u >= 4 in every cell; below that no unbiased estimate
exists. Separately they predict the variance at any other depth.

The kernels run on floats, and on object arrays of Fractions in the proofs of unbiasedness.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from judgelaw.estimate import Array

MIN_REPEATS: Final = 4
_PRIOR: Final = (0.0, 2.0, 0.3)
"""Calls added to the most frequent, the second and every later verdict of the profile."""
_CHUNK = 1 << 15
"""Numbers in the largest array of a chunk of items: 256 kB, three times faster than 2 MB."""


@dataclass(frozen=True, kw_only=True, eq=False)
class VarianceParts:
    """The parts of a call-sampling covariance that go with 1/R, 1/R^2 and 1/(R(R-1)).

    Attributes:
        linear, cross, pair: symmetric matrices over forms, (items, forms, forms) each: the
            numerators of 1/R, 1/R^2 and 1/(R(R-1)) for an equal number R of calls in every cell.
    """

    linear: Array
    cross: Array
    pair: Array

    def at(self, repeats: int) -> Array:
        """Return the covariance with `repeats` calls in every cell (two or more)."""
        R = repeats
        return np.asarray(self.linear / R + self.cross / (R * R) + self.pair / (R * (R - 1)))


def call_covariance(n: Array, c: Array, M: Array | None = None) -> Array:
    """Return the unbiased call-sampling covariance of quadratic forms, (items, forms, forms).

    Estimand: the covariance of the complete estimators given the cell laws. Condition: independent
    calls, R_u >= 4 in every cell, equal or not. The variance of a contrast l of forms is l' Cov l.

    Args:
        n: counts (items, cells, verdicts).
        c: symmetric coefficients (forms, cells, cells).
        M: similarity of verdicts with unit diagonal; None is the identity.
    """
    return call_covariances(n, c, M)[0]


def call_covariances(n: Array, c: Array, M: Array | None = None) -> tuple[Array, Array]:
    """Return what `call_covariance` does, and its second-order part, each without bias.

    The second-order part V2 is what goes with 1/R^2; the rest of V estimates a square. Arguments
    as in `call_covariance`.
    """
    found = []
    for part in _split(n, n, c):
        counts = _numbers(part)
        R = counts.sum(axis=-1)
        linear, cross, pair = _estimated(counts, c, M, x=1 / R, y=1 / (R * (R - 1)))
        found.append((linear + cross + pair, cross + pair))
    whole, second = (np.concatenate(each) for each in zip(*found, strict=True))
    return whole, second


def variance_parts(n: Array, c: Array, M: Array | None = None) -> VarianceParts:
    """Return unbiased estimates of the parts that go with 1/R, 1/R^2 and 1/(R(R-1)).

    They predict the variance at any depth from a pilot with four calls or more in every cell.
    """
    return _parts(n, c, lambda part, one: _estimated(_numbers(part), c, M, x=one, y=one))


def true_call_covariance(P: Array, R: Array, c: Array, M: Array | None = None) -> Array:
    """Return the call-sampling covariance of quadratic forms under known laws.

    Args:
        P: laws (items, cells, verdicts).
        R: calls of every cell, broadcast over (items, cells), two or more.
        c: symmetric coefficients (forms, cells, cells).
        M: similarity of verdicts with unit diagonal; None is the identity.
    """
    calls = np.broadcast_to(R, P.shape[:-1])
    x, y = 1 / calls, 1 / (calls * (calls - 1))
    pieces = zip(_split(P, P, c), _split(x, P, c), _split(y, P, c), strict=True)
    return np.concatenate([sum(_known(p, c, M, x=xs, y=ys)) for p, xs, ys in pieces])


def true_variance_parts(P: Array, c: Array, M: Array | None = None) -> VarianceParts:
    """Return the parts of the call-sampling covariance under laws (items, cells, verdicts)."""
    return _parts(P, c, lambda part, one: _known(part, c, M, x=one, y=one))


def smoothed_laws(n: Array) -> Array:
    """Return (n_u + m_i) / (R_u + 1) for counts (items, cells, verdicts).

    m_i gives an item's most frequent verdict the share that the most frequent one has over the
    benchmark, its second the second share, and so on; ties go by the order of the alphabet.
    """
    pooled = n.sum(axis=1)
    ranking = np.argsort(-pooled, axis=-1, kind="stable")
    profile = np.take_along_axis(pooled, ranking, axis=-1).sum(axis=0).astype(float)
    C = len(profile)
    profile += np.array([*_PRIOR[:2], *[_PRIOR[2]] * max(0, C - 2)])[:C]
    m = np.empty(pooled.shape)
    np.put_along_axis(m, ranking, np.broadcast_to(profile / profile.sum(), m.shape), axis=-1)
    R = n.sum(axis=-1, keepdims=True)
    return np.asarray((n + m[:, None]) / (R + 1))


Triple = tuple[Array, Array, Array]


def _estimated(n: Array, c: Array, M: Array | None, *, x: Array, y: Array) -> Triple:
    """Return unbiased linear, cross and pair sums, with weights x_u, x_u x_v and y_u.

    T2, T3 and T4 are sums over ordered pairs, triples and quadruples of distinct calls of a cell,
    so that over falling factorials of R they estimate products of laws without bias; t2 and t3 do
    the same for the products of G_u that hold a cell's own law.
    """
    R = n.sum(axis=-1)
    R2 = R * (R - 1)
    R3, R4 = R2 * (R - 2), R2 * (R - 2) * (R - 3)
    p = n / R[..., None]
    v1 = _times(n, M) - 1
    nv = n * v1
    T1 = nv.sum(axis=-1)
    T2 = (n * _times(n, None if M is None else M * M)).sum(axis=-1) - R
    T3 = (nv * v1).sum(axis=-1) - T2
    T4 = T1 * T1 - 4 * T3 - 2 * T2

    g, own = _others(p, c, M)
    Sng = (g * n[:, None]).sum(axis=-1)
    Y = (g * nv[:, None]).sum(axis=-1)
    R2_, R3_ = R2[:, None], R3[:, None]
    t2 = Y / R2_ - (Sng * T1[:, None] - 2 * Y) / R3_
    t3 = T3 / R3 - T4 / R4

    scale = R / (R - 1)
    # S_u is estimated by scale_u (diag p_u - p_u p_u'); the scales join the weights.
    tau = _traces(p, M)
    cc = _products(c)
    own_weight = x * scale
    t1 = _law_covariance(p, g, own_weight)
    # The p_v inside g are noisy themselves, which adds c_uv c'_uv tau_uv / R_v to t1.
    noise = _contract(tau, own_weight, scale / R, cc)
    cross_t2 = _symmetric(own @ np.swapaxes(t2 * x[:, None], -1, -2))
    linear = t1 - noise + cross_t2 + _weighted_own(own, t3 * x)
    cross = _contract(tau, own_weight, own_weight, cc)
    pair = _weighted_own(own, (T2 / R2 - 2 * T3 / R3 + T4 / R4) * y)
    return 4 * linear, 2 * cross, 2 * pair


def _known(P: Array, c: Array, M: Array | None, *, x: Array, y: Array) -> Triple:
    """Return the same three sums from known laws."""
    g, own = _others(P, c, M)
    G = g + own[..., None] * _times(P, M)[:, None]
    traces = _traces(P, M)
    linear = _law_covariance(P, G, x)
    cross = _contract(traces, x, x, _products(c))
    pair = _weighted_own(own, np.diagonal(traces, axis1=-2, axis2=-1) * y)
    return 4 * linear, 2 * cross, 2 * pair


def _others(p: Array, c: Array, M: Array | None) -> tuple[Array, Array]:
    """Return g = M sum_{v != u} c_uv p_v, (items, forms, cells, verdicts), and c_uu."""
    forms, cells, _ = c.shape
    g = _off_diagonal(c).reshape(forms * cells, cells) @ p
    own = np.diagonal(c, axis1=-2, axis2=-1)
    return _times(g, M).reshape(len(p), forms, cells, p.shape[-1]), own


def _law_covariance(p: Array, g: Array, x: Array) -> Array:
    """Return sum_u x_u g_u' (diag p_u - p_u p_u') g_u over forms, (items, forms, forms)."""
    items, forms = g.shape[:2]
    pg = g * p[:, None]
    mean = pg.sum(axis=-1)
    flat = (pg * x[:, None, :, None]).reshape(items, forms, -1)
    second = flat @ np.swapaxes(g.reshape(items, forms, -1), -1, -2)
    return np.asarray(second - (mean * x[:, None]) @ np.swapaxes(mean, -1, -2))


def _traces(p: Array, M: Array | None) -> Array:
    """Return tr(M S_u M S_v) for S_u = diag p_u - p_u p_u', (items, cells, cells).

    = p_u'(M*M)p_v - p_u'(M p_v)^2 - p_v'(M p_u)^2 + (p_u'M p_v)^2, squares taken elementwise.
    """
    Mp = _times(p, M)
    both = p @ np.swapaxes(Mp, -1, -2)
    # The identity is its own square, so without M the first product is the last one.
    plain = both if M is None else p @ np.swapaxes(p @ (M * M), -1, -2)
    one_sided = p @ np.swapaxes(Mp * Mp, -1, -2)
    return np.asarray(plain + both * both - _symmetric(one_sided))


def _products(c: Array) -> Array:
    """Return c_uv c'_uv off the diagonal, (forms^2, cells^2)."""
    forms, cells, _ = c.shape
    off = _off_diagonal(c)
    return (off[:, None] * off).reshape(forms * forms, cells * cells)


def _contract(tau: Array, a: Array, b: Array, cc: Array) -> Array:
    """Return sum_{u != v} c_uv c'_uv a_u b_v tau_uv, (items, forms, forms)."""
    forms = round(len(cc) ** 0.5)
    weighted = tau * (a[:, :, None] * b[:, None, :])
    return np.asarray((weighted.reshape(len(tau), -1) @ cc.T).reshape(len(tau), forms, forms))


def _weighted_own(own: Array, x: Array) -> Array:
    """Return sum_u c_uu c'_uu x_u, (items, forms, forms)."""
    forms = len(own)
    products = (own[:, None] * own).reshape(forms * forms, -1)
    return np.asarray((x @ products.T).reshape(len(x), forms, forms))


def _symmetric(a: Array) -> Array:
    return a + np.swapaxes(a, -1, -2)


def _off_diagonal(c: Array) -> Array:
    out = c.copy()
    each = np.arange(c.shape[-1])
    out[:, each, each] = 0
    return out


def _times(x: Array, M: Array | None) -> Array:
    return x if M is None else x @ M


def _numbers(n: Array) -> Array:
    return n if n.dtype == object else n.astype(float)


def _parts(n: Array, c: Array, of: Callable[[Array, Array], Triple]) -> VarianceParts:
    triples = [of(part, np.ones(part.shape[:-1], dtype=c.dtype)) for part in _split(n, n, c)]
    linear, cross, pair = (np.concatenate(part) for part in zip(*triples, strict=True))
    return VarianceParts(linear=linear, cross=cross, pair=pair)


def _split(x: Array, n: Array, c: Array) -> list[Array]:
    """Cut the items of x into chunks whose temporary arrays stay in cache, or nearly."""
    forms, cells, _ = c.shape
    largest = cells * max(forms * n.shape[-1], cells)
    size = max(1, _CHUNK // largest)
    return [x[first : first + size] for first in range(0, max(len(x), 1), size)]
