"""Weights of a facet's levels: uniform by default, otherwise declared and checked."""

from collections.abc import Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.arrays import as_floats
from judgelaw.errors import InputError
from judgelaw.estimate.cells import Array

Weights = ArrayLike | Mapping[str, float] | None
"""Of a facet's levels, in their order or by name; None weighs them equally."""

_ROUNDING = 1e-9


def weights_of(
    facet: str,
    given: Weights,
    levels: int,
    names: Sequence[str] | None = None,
    *,
    exact: bool = False,
) -> Array:
    """Return the weights of a facet's levels, positive and summing to one.

    A mapping is by level name, for a tensor whose axes carry names. `exact` weights are Fractions.
    """
    if given is None:
        return np.full(levels, Fraction(1, levels) if exact else 1 / levels)
    if isinstance(given, Mapping):
        given = _by_name(facet, given, names)
    w = as_floats(given, f"{facet} weights")
    if w.shape != (levels,):
        raise InputError(
            f"{facet} weights have shape {w.shape}; the {facet} axis has {levels} levels"
        )
    bad = [x for x in w.tolist() if not x > 0]
    if bad:
        raise InputError(
            f"{facet} weight {bad[0]}: weights are positive; leave out the levels that do not count"
        )
    total = w.sum()
    if abs(total - 1) > _ROUNDING:
        raise InputError(f"{facet} weights sum to {total}, not to 1: divide them by their sum")
    return w


def _by_name(facet: str, given: Mapping[str, float], names: Sequence[str] | None) -> list[float]:
    if names is None:
        raise InputError(
            f"{facet} weights by name need a VerdictTensor; pass a sequence for an array"
        )
    if set(given) != set(names):
        raise InputError(f"{facet} weights name {sorted(given)}; the levels are {sorted(names)}")
    return [given[name] for name in names]
