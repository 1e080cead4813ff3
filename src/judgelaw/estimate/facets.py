"""Any number of crossed facets: concentrations of all their subsets, and the Moebius rule.

For a subset S of the facets, with weights that multiply over facets,

    H_S = sum_{x_S} W(x_S) ( |sum_{x_-S} W(x_-S) p_x|^2 - sum_{x_-S} W(x_-S)^2 d_x )

    component of a non-empty S = sum_{T subset of S} (-1)^(|S| - |T|) H_T
    call = 1 - H_all,     total = 1 - H_nothing

so that call and the components of all non-empty subsets add up to the total in every sample.
A subset is a bit mask here: bit f is set where it holds facet f.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import as_counts, is_exact
from judgelaw.errors import InputError
from judgelaw.estimate.estimand import (
    Array,
    Cells,
    check_depth,
    facets_first,
    of_counts,
    quadratic,
    similarity_of,
    weights_of,
)


@dataclass(frozen=True, kw_only=True)
class Concentrations:
    """Concentrations H_S of every subset S of the facets, self-pairs apart.

    Attributes:
        inclusive: |.|^2 terms with every call paired with itself too, by bit mask.
        self_pairs: what those self-pairs add, by bit mask.
    """

    inclusive: tuple[Array, ...]
    self_pairs: tuple[Array, ...]

    @property
    def distinct(self) -> tuple[Array, ...]:
        """The unbiased H_S, from pairs of distinct calls."""
        return tuple(h - s for h, s in zip(self.inclusive, self.self_pairs, strict=True))


def concentrations(cells: Cells, weights: Sequence[Array]) -> Concentrations:
    """Return H_S of every subset of the facets, in one pass over the cells for each."""
    masks = range(1 << len(weights))
    parts = [_concentration(cells, weights, mask) for mask in masks]
    return Concentrations(
        inclusive=tuple(h for h, _ in parts), self_pairs=tuple(s for _, s in parts)
    )


def _concentration(cells: Cells, weights: Sequence[Array], mask: int) -> tuple[Array, Array]:
    p, d = cells.p, cells.d
    # From the last axis to the first, so that the positions of the other axes do not move.
    for f in reversed(range(len(weights))):
        if not mask >> f & 1:
            p, d = _average(p, weights[f], f), _average(d, weights[f] ** 2, f)
    kept = [w for f, w in enumerate(weights) if mask >> f & 1]
    h = quadratic(p, len(kept), cells.similarity)
    for w in kept:
        h, d = _average(h, w, 0), _average(d, w, 0)
    return h, d


def _average(x: Array, w: Array, axis: int) -> Array:
    shape = [1] * x.ndim
    shape[axis] = -1
    return np.asarray((x * w.reshape(shape)).sum(axis=axis))


def balanced_concentrations(n: Array, facets: int, R: Array) -> Concentrations:
    """Return H_S under uniform weights and equal repeats R, from sums of squared counts alone.

    The sums are whole numbers and stay exact; only the last divisions round.
    """
    levels = n.shape[:facets]
    everything = (1 << facets) - 1
    squares = []
    for mask in range(everything + 1):
        rest = tuple(f for f in range(facets) if not mask >> f & 1)
        margin = n.sum(axis=rest) if rest else n
        flat = margin.reshape(-1, *R.shape)
        squares.append(np.einsum("u...,u...->...", flat, flat).astype(float))
    cells = prod(levels)
    d = (1 - (squares[everything] / cells - R) / (R * (R - 1.0))) / R
    inclusive, self_pairs = [], []
    for mask, square in enumerate(squares):
        averaged = prod(size for f, size in enumerate(levels) if not mask >> f & 1)
        inclusive.append(square / (cells * averaged * R**2))
        self_pairs.append(d / averaged)
    return Concentrations(inclusive=tuple(inclusive), self_pairs=tuple(self_pairs))


def moebius(H: Sequence[Array]) -> tuple[Array, ...]:
    """Return the component of every subset by bit mask; the empty subset holds call = 1 - H_all."""
    components = [1 - H[-1]]
    for S in range(1, len(H)):
        subsets = [T for T in range(S + 1) if T & S == T]
        signed = (H[T] if (S ^ T).bit_count() % 2 == 0 else -H[T] for T in subsets)
        components.append(np.asarray(sum(signed)))
    return tuple(components)


@dataclass(frozen=True, kw_only=True)
class FacetDecomposition:
    """Components of any number of crossed facets, each of the leading shape of the counts.

    Attributes:
        call, total: residual call disagreement, and all disagreement.
        components: by the names of the facets that interact, `components["prompt", "order"]`;
            nan where a facet has one level only.
        plugin: the same components at empirical laws taken at face value, biased upwards.
    """

    facets: tuple[str, ...]
    call: Array
    total: Array
    components: Mapping[tuple[str, ...], Array]
    plugin: Mapping[tuple[str, ...], Array]


def decompose_facets(
    counts: ArrayLike,
    facets: Sequence[str],
    *,
    weights: Mapping[str, ArrayLike] | None = None,
    dissimilarity: ArrayLike | str | None = None,
) -> FacetDecomposition:
    """Decompose counts (..., facet 1, ..., facet F, verdicts) into main effects and interactions.

    Estimand: the Moebius components of H_S above for the declared levels and weights (a census of
    every facet). Unbiased for any repeats of two or more in each cell, equal or not.
    """
    n = as_counts(counts)
    names = tuple(facets)
    if not names or n.ndim < len(names) + 1 or len(set(names)) != len(names):
        raise InputError(
            f"counts of shape {n.shape} with facets {names}: name each facet axis once, "
            "the last axis holds the verdicts"
        )
    if unknown := set(weights or {}) - set(names):
        raise InputError(f"weights for {min(unknown)!r}; the facets are {list(names)}")
    check_depth(n, n.sum(axis=-1), minimum=2)
    first = facets_first(n, len(names) + 1)
    ws = [
        weights_of(name, (weights or {}).get(name), size, exact=is_exact(n))
        for name, size in zip(names, first.shape, strict=False)
    ]
    M = similarity_of(dissimilarity, n.shape[-1])
    H = concentrations(of_counts(first, len(names), M), ws)
    sizes = first.shape[: len(names)]
    return FacetDecomposition(
        facets=names,
        call=1 - H.distinct[-1],
        total=1 - H.distinct[0],
        components=_named(moebius(H.distinct), names, sizes),
        plugin=_named(moebius(H.inclusive), names, sizes),
    )


def _named(
    components: Sequence[Array], names: tuple[str, ...], sizes: Sequence[int]
) -> dict[tuple[str, ...], Array]:
    out = {}
    for size in range(1, len(names) + 1):
        for subset in combinations(range(len(names)), size):
            value = components[sum(1 << f for f in subset)]
            present = all(sizes[f] > 1 for f in subset)
            out[tuple(names[f] for f in subset)] = value if present else np.full_like(value, np.nan)
    return out
