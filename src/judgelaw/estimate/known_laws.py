"""Components of known laws, and what finite repeats can and cannot tell of them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import as_counts, as_laws, as_whole, is_exact
from judgelaw.errors import InputError, JudgelawError
from judgelaw.estimate.decomposition import (
    Decomposition,
    as_decomposition,
    crossed_components,
)
from judgelaw.estimate.estimand import (
    Array,
    Cells,
    Design,
    check_design,
    facets_first,
    of_laws,
    quadratic,
    similarity_of,
    weights_of,
)
from judgelaw.estimate.facets import Concentrations, concentrations

Functional = Literal["quadratic", "entropy"]

_ROUNDING = 1e-12


def jensen_gap(
    laws: ArrayLike, weights: ArrayLike | None = None, functional: Functional = "quadratic"
) -> float:
    """Return E Phi(P) - Phi(E P) over laws (signals, verdicts) with their weights.

    "quadratic" (|p|^2) gives the dispersion of the second-order law, "entropy" (-H(p), in nats) the
    mutual information of verdict and signal. For known laws only: the entropy gap has no unbiased
    estimate from counts.
    """
    P, w = _experiment(laws, weights)
    phi = _functional(functional)
    return float((w * phi(P)).sum() - phi(w @ P))


@dataclass(frozen=True, kw_only=True)
class ConvexChain:
    """Jensen gaps along a chain of coarsenings of one experiment, from blind to all-seeing.

    Attributes:
        barycentre: the mean law, common to every member of the chain.
        gaps: of the mean law (0), each coarser signal, the finest signal, and the verdict itself.
    """

    barycentre: NDArray[np.float64]
    gaps: tuple[float, ...]


def convex_chain(
    laws: ArrayLike,
    coarsenings: Sequence[Sequence[Sequence[int]]],
    weights: ArrayLike | None = None,
    functional: Functional = "quadratic",
) -> ConvexChain:
    """Return the gaps of nested coarsenings, coarsest first: conditional Jensen puts them in order.

    Each coarsening groups the signals (rows of `laws`), merging groups of the next (paper S4.2).
    The common barycentre is checked, not assumed.
    """
    P, w = _experiment(laws, weights)
    barycentre = w @ P
    chain: list[list[tuple[int, ...]]] = [[tuple(range(len(P)))]]
    chain += [[tuple(g) for g in c] for c in coarsenings]
    finest: list[tuple[int, ...]] = [(i,) for i in range(len(P))]
    for coarse, fine in zip(chain, [*chain[1:], finest], strict=True):
        _check_nested(coarse, fine, len(P))
    gaps = []
    for groups in [*chain, finest]:
        merged, mass = _merge(P, w, groups)
        if not np.allclose(mass @ merged, barycentre, rtol=0, atol=_ROUNDING):
            raise JudgelawError("a coarsening moved the barycentre: this is a defect of judgelaw")
        gaps.append(jensen_gap(merged, mass, functional))
    occurs = barycentre > 0
    certain = jensen_gap(np.eye(P.shape[1])[occurs], barycentre[occurs], functional)
    return ConvexChain(barycentre=barycentre, gaps=(*gaps, certain))


@dataclass(frozen=True, kw_only=True)
class MixingLaw:
    """A law on binary response probabilities: `points` of P(first verdict) with their masses."""

    points: tuple[float, ...]
    masses: tuple[float, ...]

    def count_law(self, repeats: int) -> NDArray[np.float64]:
        """Return the law of the number of first verdicts among `repeats` anonymous calls."""
        from scipy.stats import binom  # noqa: PLC0415 - scipy loads when it is used

        counts = np.arange(repeats + 1)
        return np.asarray(
            sum(
                m * binom.pmf(counts, repeats, t)
                for t, m in zip(self.points, self.masses, strict=True)
            )
        )


def same_count_law(repeats: int) -> tuple[MixingLaw, MixingLaw]:
    """Construct two different mixing laws that no number of R-call clusters can tell apart.

    R + 2 equally spaced points t_i in [0, 1] have linearly dependent moment vectors
    (1, t, ..., t^R); the dependence alternates in sign like the binomial coefficients of an
    (R+1)-th difference, and its normalised positive and negative parts share their first R moments
    (paper S4.1).
    """
    if as_whole(repeats, "repeats") < 1:
        raise InputError(f"repeats = {repeats}: a cluster has one call or more")
    from scipy.special import comb  # noqa: PLC0415 - scipy loads when it is used

    i = np.arange(repeats + 2)
    t = i / (repeats + 1)
    dependence = (-1.0) ** i * comb(repeats + 1, i)
    total = dependence[dependence > 0].sum()

    def part(sign: int) -> MixingLaw:
        side = sign * dependence > 0
        masses = np.abs(dependence[side]) / total
        return MixingLaw(points=tuple(t[side].tolist()), masses=tuple(masses.tolist()))

    return part(1), part(-1)


def _experiment(laws: ArrayLike, weights: ArrayLike | None) -> tuple[Array, Array]:
    P = as_laws(laws)
    if P.ndim != 2:  # noqa: PLR2004 - signals and verdicts
        raise InputError(f"laws have shape {P.shape}; an experiment is (signals, verdicts)")
    return P, weights_of("signal", weights, len(P))


def _functional(name: Functional) -> Callable[[Array], Array]:
    if name == "quadratic":
        return lambda p: np.asarray((p * p).sum(axis=-1))
    if name == "entropy":
        from scipy.special import xlogy  # noqa: PLC0415 - scipy loads when it is used

        return lambda p: np.asarray(xlogy(p, p).sum(axis=-1))
    raise InputError(f"functional {name!r}: it is 'quadratic' or 'entropy'")


def _check_nested(
    coarse: Sequence[tuple[int, ...]], fine: Sequence[tuple[int, ...]], signals: int
) -> None:
    if sorted(i for group in coarse for i in group) != list(range(signals)):
        raise InputError(f"coarsening {coarse} must hold each of the {signals} signals once")
    for group in fine:
        if not any(set(group) <= set(big) for big in coarse):
            raise InputError(
                f"group {group} is split by the coarser {coarse}: list coarsenings from coarse to "
                "fine, each merging groups of the next"
            )


def _merge(P: Array, w: Array, groups: Sequence[tuple[int, ...]]) -> tuple[Array, Array]:
    mass = np.array([w[list(g)].sum() for g in groups])
    merged = np.stack([w[list(g)] @ P[list(g)] / m for g, m in zip(groups, mass, strict=True)])
    return merged, mass


_FACETS = 2
_AXES = 3


def population(
    laws: ArrayLike,
    *,
    design: Design = "census",
    order_weights: ArrayLike | None = None,
    prompt_weights: ArrayLike | None = None,
    dissimilarity: ArrayLike | str | None = None,
) -> Decomposition:
    """Return the true components of cell laws (..., prompts, orders, verdicts).

    They are what `decompose` estimates (Propositions 1 and 3); `plugin` holds the same values,
    since laws that are known need no correction. With `design="sampled"` the laws are those of
    the drawn prompts, and the values estimate the generator's without call noise.
    """
    P, weights = _laws_of(laws, design, prompt_weights, order_weights)
    law = of_laws(facets_first(P, _AXES), _FACETS, similarity_of(dissimilarity, P.shape[-1]))
    H = concentrations(law, weights)
    return as_decomposition(crossed_components(H), design, *P.shape[-3:-1])


def expected_plugin(
    laws: ArrayLike,
    repeats: ArrayLike,
    *,
    design: Design = "census",
    order_weights: ArrayLike | None = None,
    prompt_weights: ArrayLike | None = None,
    dissimilarity: ArrayLike | str | None = None,
) -> Decomposition:
    """Return the true components, with the expectation of the plug-in at these repeats beside them.

    E|p_u|^2 = |P_u|^2 + (1 - |P_u|^2) / R_u while products of distinct cells are unbiased, so the
    plug-in expects the truth plus the self-pairs of cells with excess d_u = (1 - |P_u|^2) / R_u.
    Every published inflation is a case of it, each at R = 1 too: Theorem 1 (sampled prompts),
    Proposition 2 (a census), the balanced crossed excess, and its general form.

    Args:
        laws: (..., prompts, orders, verdicts).
        repeats: calls of each cell, a number or an array like (..., prompts, orders).
        design: as for `decompose`.
        order_weights: as for `decompose`.
        prompt_weights: as for `decompose`.
        dissimilarity: as for `decompose`.
    """
    P, weights = _laws_of(laws, design, prompt_weights, order_weights)
    R = np.broadcast_to(as_counts(repeats), P.shape[:-1])
    if not (R >= 1).all():
        raise InputError(f"repeats = {R.min()}: the plug-in needs one call or more in every cell")
    M = similarity_of(dissimilarity, P.shape[-1])
    p = facets_first(P, _AXES)
    d = (1 - quadratic(p, _FACETS, M)) / facets_first(R, _FACETS)
    H = concentrations(Cells(p=p, d=d, similarity=M), weights)
    inflated = tuple(x + s for x, s in zip(H.inclusive, H.self_pairs, strict=True))
    expected = Concentrations(inclusive=inflated, self_pairs=H.self_pairs)
    return as_decomposition(crossed_components(expected), design, *P.shape[-3:-1])


def pooled_order_agreement(a: ArrayLike, b: ArrayLike, calls: int) -> Array:
    """Return the expected agreement of `calls` calls of each of two orders, pooled unordered.

    |(a + b)/2|^2 - |a - b|^2 / (4 (2n - 1)): pooling undershoots the declared mixture of the two
    orders (paper, eq. S-pooled-order-bias), which is why orders stay apart here.
    """
    if as_whole(calls, "calls") < 1:
        raise InputError(f"calls = {calls}: pooling two orders needs one call or more of each")
    first, second = as_laws(a), as_laws(b)
    mixture = ((first + second) ** 2).sum(axis=-1) / 4
    return np.asarray(mixture - ((first - second) ** 2).sum(axis=-1) / (4 * (2 * calls - 1)))


def _laws_of(
    laws: ArrayLike,
    design: Design,
    prompt_weights: ArrayLike | None,
    order_weights: ArrayLike | None,
) -> tuple[Array, tuple[Array, Array]]:
    P = as_laws(laws)
    if P.ndim < _AXES:
        raise InputError(
            f"laws have shape {P.shape}; they need the axes (..., prompts, orders, verdicts)"
        )
    K, O = P.shape[-3:-1]
    check_design(design, prompt_weights, K)
    w = weights_of("prompt", prompt_weights, K, exact=is_exact(P))
    q = weights_of("order", order_weights, O, exact=is_exact(P))
    return P, (w, q)
