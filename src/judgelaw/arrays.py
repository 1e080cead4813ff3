"""Validation at the door: counts, laws and ranked verdicts as arrays."""

from numbers import Rational
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.errors import InputError

ABSENT = -1
"""Code of a repeat rank that holds no call."""


def as_counts(counts: ArrayLike) -> NDArray[Any]:
    """Validate an array of counts and return it as integers, without a copy where it is one.

    An object array of whole Fractions stays one: estimates are then exact rationals.
    """
    array = np.asarray(counts)
    if is_exact(array):
        if wrong := [x for x in array.flat if x < 0 or x.denominator != 1]:
            raise InputError(f"count {wrong[0]}: a count of calls is whole and not negative")
        return array
    if array.dtype.kind in "iu":
        if array.dtype.kind == "i" and array.size and (low := array.min()) < 0:
            where = tuple(int(j) for j in np.argwhere(array == low)[0])
            raise InputError(f"counts[{where}] = {low}: a count of calls is never negative")
        return array
    if array.dtype.kind != "f":
        raise InputError(f"counts are {array.dtype}, not numbers: pass whole numbers of calls")
    wrong = ~np.isfinite(array) | (array != np.floor(array)) | (array < 0)
    if wrong.any():
        where = tuple(int(j) for j in np.argwhere(wrong)[0])
        raise InputError(
            f"counts[{where}] = {array[where]}: counts are whole, finite and not negative; "
            "pass numbers of calls, not proportions (laws go to judgelaw.estimate.population)"
        )
    return array.astype(np.int64)


def as_laws(laws: ArrayLike) -> NDArray[np.float64]:
    """Validate probability vectors along the last axis; exact rationals stay exact."""
    given = np.asarray(laws)
    p = given if is_exact(given) else np.asarray(laws, dtype=float)
    if p.ndim == 0:
        raise InputError("a law is a vector of probabilities, not one number")
    wrong = np.not_equal(p, p) | (p < 0) | (p > 1)
    if wrong.any():
        where = tuple(int(j) for j in np.argwhere(wrong)[0])
        raise InputError(f"law[{where}] = {p[where]}: a probability lies between 0 and 1")
    sums = p.sum(axis=-1)
    off = np.asarray(np.abs(sums - 1) > 1e-9)  # noqa: PLR2004 - rounding of decimal laws, no more
    if off.any():
        where = tuple(int(j) for j in np.argwhere(off)[0])
        raise InputError(f"law{list(where)} = {p[where].tolist()} sums to {sums[where]}, not to 1")
    return p


def is_exact(array: NDArray[Any]) -> bool:
    """Tell whether an array holds exact rationals, as the proofs by enumeration do."""
    return array.dtype == object and all(isinstance(x, Rational) for x in array.flat)


def count_ranked(ranked: NDArray[np.int16], verdicts: int) -> NDArray[np.int64]:
    """Count verdict codes over the last axis, leaving `ABSENT` out."""
    counts = np.empty((*ranked.shape[:-1], verdicts), dtype=np.int64)
    for code in range(verdicts):
        np.sum(ranked == code, axis=-1, out=counts[..., code])
    return counts
