"""Variance of components from token probabilities, conditional on the laws of vectors.

Each call r of a cell u has a vector y_r, with mean P_u and covariance S_u over calls. For a
quadratic form `sum_{u,v} c_uv A_uv` (module `forms`), G_u = sum_v c_uv P_v,

    Var = sum_u (4 / R_u) G_u' S_u G_u + sum_{u != v} 2 c_uv^2 tr(S_u S_v) / (R_u R_v)
        + sum_u 2 c_uu^2 tr(S_u^2) / (R_u (R_u - 1))

Two estimates of this covariance over several forms are made, one sharp and one safe.

From four calls in every cell on the sharp one is unbiased, by sums over distinct calls: products of
different calls of a cell stand where verdicts agree or not in module `call_variance`. The safe one
puts means and covariances of the vectors into the formula, which counts what is of second order
about three times: means are noisy themselves.

With two or three calls nothing is unbiased: how a cell's mean goes with its covariance takes three
calls, and |P|^4 takes four. Both estimates then weigh the calls of a cell by omega_r, which is
large for vectors that other cells of the item show too: of two vectors that differ, the one that is
seen elsewhere is the one that a cell has most of the time. With m_u the weighted mean of the
vectors of a cell and W_u their weighted covariance around it, G_u is taken with m_u for the cell's
own P_u, and

    2 tr(S_u W_u)  stands for  tr(S_u^2)

The factor is there because other cells draw m_u towards them, where prompts or orders differ. That
the means of other cells are noisy adds four times the second sum; the sharp estimate takes it off,
the safe one leaves it.

The call component sums agreements of single cells, of which nothing cancels. With three calls only
one number a cell is missing there: with D_u = P_u' S_u P_u + tr(S_u^2), which is known without bias
(it is the variance of the three products of two calls), and the share rho_u of its first part,

    Var a_u = D_u {4 rho_u / R + 2 (1 - rho_u) / (R (R - 1))}

The share is m' S m / (m' S m + tr(S W)), with omega_r that counts what other cells show and not
the call itself: D is there because a call moved, and it would be counted twice. Other cells may
differ for good, and then say little about how this one moves, so rho_u goes a quarter of the way
to 1, the most it can be; all of the way where no other cell shows such vectors.
"""

from dataclasses import dataclass

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.estimate import Array
from judgelaw.uncertainty.call_variance import MIN_REPEATS

_CHUNK = 1 << 20
"""Distances between the vectors of items that are held at a time."""
_TRIPLE = 3
_CAUTION = 0.25
"""How far the share of what goes together is moved from what other cells show to its most."""


@dataclass(frozen=True, kw_only=True, eq=False)
class _Moments:
    """Vectors (items, cells, repeats, verdicts) with zeros where a call is absent, and moments."""

    y: Floats
    there: Array
    R: Floats
    p: Floats
    S: Floats

    def linear(self, G: Floats) -> Floats:
        """Return sum_u (4 / R_u) G_u' S_u G_u over forms."""
        return np.asarray(
            4 * np.einsum("nfuc,nucd,ngud,nu->nfg", G, self.S, G, 1 / self.R, optimize=True)
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class SoftVariance:
    """Estimates of how far calls move quadratic forms, and the agreement of every cell.

    Attributes:
        sharp, safe: covariances of the forms, (items, forms, forms).
        agreement: variance of the agreement of every cell, (items, cells), where the fewest calls
            of a cell are three; None where two do not show D, or four leave nothing to borrow.
    """

    sharp: Floats
    safe: Floats
    agreement: Floats | None


def soft_variance(y: Floats, c: Array) -> SoftVariance:
    """Return the variances of quadratic forms and of agreements.

    Args:
        y: vectors (items, cells, repeats, verdicts), nan where a call is absent; two or more a
            cell.
        c: symmetric coefficients (forms, cells, cells).
    """
    there = ~np.isnan(y[..., 0])
    known = np.where(there[..., None], y, 0)
    R = there.sum(axis=-1).astype(float)
    p = known.sum(axis=-2) / R[..., None]
    off = np.where(there[..., None], y - p[:, :, None], 0)
    S = np.swapaxes(off, -1, -2) @ off / (R - 1)[..., None, None]
    m = _Moments(y=known, there=there, R=R, p=p, S=S)
    own = np.diagonal(c, axis1=-2, axis2=-1)
    others = c - own[:, :, None] * np.eye(c.shape[-1])
    g = np.einsum("fuv,nvc->nfuc", others, p)
    cross = _cross(m, others)
    if R.min() >= MIN_REPEATS:
        sharp, safe = _unbiased(m, g, own), _plug_in(m, g, own)
        return SoftVariance(sharp=sharp - 2 * cross, safe=safe + 2 * cross, agreement=None)
    near = np.concatenate([_near(*part) for part in _in_chunks(m)])
    both = _weighted(m, g, own, near)
    agreement = _agreement(m, near) if R.min() >= _TRIPLE else None
    return SoftVariance(sharp=both - 2 * cross, safe=both + 2 * cross, agreement=agreement)


def _cross(m: _Moments, others: Array) -> Floats:
    """Return sum_{u != v} c_uv c'_uv tr(S_u S_v) / (R_u R_v), (items, forms, forms)."""
    flat = m.S.reshape(*m.S.shape[:2], -1)
    traces = flat @ np.swapaxes(flat, -1, -2) / (m.R[:, :, None] * m.R[:, None, :])
    forms = len(others)
    pairs = (others[:, None] * others[None]).reshape(forms**2, -1)
    return np.asarray((traces.reshape(len(traces), -1) @ pairs.T).reshape(-1, forms, forms))


def _owned(own: Array, x: Floats) -> Floats:
    """Return sum_u c_uu c'_uu x_u over forms, (items, forms, forms)."""
    return np.asarray(np.einsum("fu,gu,nu->nfg", own, own, x, optimize=True))


def _plug_in(m: _Moments, g: Floats, own: Array) -> Floats:
    """Return the first and the last sum at the means and covariances of the vectors."""
    G = g + own[None, :, :, None] * m.p[:, None]
    squares = (m.S**2).sum(axis=(-2, -1)) / (m.R * (m.R - 1))
    return np.asarray(m.linear(G) + 2 * _owned(own, squares))


def _unbiased(m: _Moments, g: Floats, own: Array) -> Floats:
    """Return the first and the last sum without bias, but for the noise of g.

    T2, T3 and T4 are sums over ordered pairs, triples and quadruples of distinct calls of a cell.
    """
    R = m.R
    R2, R3 = R * (R - 1), R * (R - 1) * (R - 2)
    R4 = R3 * (R - 3)
    h, T2, T3 = _distinct(m)
    T1 = h.sum(axis=-1)
    T4 = T1**2 - 4 * T3 - 2 * T2
    gy = np.einsum("nfuc,nurc->nfur", g, m.y)
    Y = (gy * h[:, None]).sum(axis=-1)
    t2 = Y / R2[:, None] - (gy.sum(axis=-1) * T1[:, None] - 2 * Y) / R3[:, None]
    t3 = T3 / R3 - T4 / R4
    mixed = np.einsum("fu,ngu->nfg", own, t2 / R[:, None])
    pair = (T2 / R2 - 2 * T3 / R3 + T4 / R4) / R2
    both = mixed + np.swapaxes(mixed, -1, -2)
    return np.asarray(m.linear(g) + 4 * both + _owned(own, 4 * t3 / R + 2 * pair))


def _distinct(m: _Moments) -> tuple[Floats, Floats, Floats]:
    """Return every call's products with the others of its cell, summed, and T2 and T3."""
    products = m.y @ np.swapaxes(m.y, -1, -2)
    each = np.arange(products.shape[-1])
    products[..., each, each] = 0
    h = products.sum(axis=-1)
    T2 = (products**2).sum(axis=(-2, -1))
    return h, T2, (h**2).sum(axis=-1) - T2


def _weighted(m: _Moments, g: Floats, own: Array, near: Floats) -> Floats:
    """Return the first and the last sum with the vectors of a cell weighted by omega."""
    mean, around = _around(m, np.where(m.there, 1 + near, 0))
    G = g + own[None, :, :, None] * mean[:, None]
    return np.asarray(m.linear(G) + 4 * _owned(own, around / (m.R * (m.R - 1))))


def _agreement(m: _Moments, near: Floats) -> Floats:
    """Return the variance of the agreement of every cell of three calls or more."""
    unlike = near.sum(axis=-1) == 0
    mean, around = _around(m, np.where(unlike[..., None], m.there, near))
    along = np.einsum("nuc,nucd,nud->nu", mean, m.S, mean, optimize=True)
    both = along + around
    rho = along / np.where(both > 0, both, 1)
    rho = np.where(unlike, 1, rho + _CAUTION * (1 - rho))
    _, T2, T3 = _distinct(m)
    R2 = m.R * (m.R - 1)
    D = T2 / R2 - T3 / (R2 * (m.R - 2))
    return np.asarray(D * (4 * rho / m.R + 2 * (1 - rho) / R2))


def _around(m: _Moments, weight: Floats) -> tuple[Floats, Floats]:
    """Return the weighted mean of the vectors of every cell, and tr(S W) around it."""
    omega = weight / weight.sum(axis=-1, keepdims=True)
    mean = (omega[..., None] * m.y).sum(axis=-2)
    off = np.where(m.there[..., None], m.y - mean[:, :, None], 0)
    around = np.einsum("nurc,nucd,nurd,nur->nu", off, m.S, off, omega, optimize=True)
    return mean, around


def _in_chunks(m: _Moments) -> list[tuple[Floats, Array]]:
    N, U, R, _ = m.y.shape
    size = max(1, _CHUNK // (U * R) ** 2)
    return [(m.y[i : i + size], m.there[i : i + size]) for i in range(0, N, size)]


def _near(y: Floats, there: Array) -> Floats:
    """Count the calls of the item's other cells that show the vector of every call.

    They lie within half of the largest distance between calls of its cell. Counts are (items,
    cells, repeats), zero for a call that is absent.
    """
    N, U, R, C = y.shape
    flat = y.reshape(N, U * R, C)
    squares = (flat**2).sum(axis=-1)
    apart = squares[:, :, None] + squares[:, None] - 2 * flat @ np.swapaxes(flat, -1, -2)
    known = there.reshape(N, U * R)
    apart = np.where(known[:, :, None] & known[:, None], apart, np.inf)
    blocks = apart.reshape(N, U, R, U, R)
    each = np.arange(U)
    inside = blocks[:, each, :, each].transpose(1, 0, 2, 3)
    reach = np.where(np.isfinite(inside), inside, 0).max(axis=(-2, -1))
    near = blocks < reach[:, :, None, None, None] / 4
    near[:, each, :, each] = False
    return np.asarray(near.sum(axis=(-2, -1)), dtype=float)
