"""What makes a law a law, checked once at the door with the offending row in the message."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.errors import InputError

SUM_TOLERANCE = 1e-9
"""Rounding of laws written in decimals, and no more."""


def check_laws(laws: ArrayLike, *, what: str = "law") -> NDArray[np.float64]:
    """Return probability vectors along the last axis, or say which row is none and what would be.

    Raises:
        InputError: a row has fewer than two verdicts, a probability outside [0, 1], or a sum
            other than one.
    """
    p = _as_floats(laws, what)
    if p.ndim == 0 or p.shape[-1] < 2:  # noqa: PLR2004 - one verdict cannot disagree
        raise InputError(
            f"{what} {p.tolist()}: a law gives a probability to each of at least two verdicts"
        )
    wrong = ~np.isfinite(p) | (p < 0) | (p > 1)
    if wrong.any():
        where = tuple(int(j) for j in np.argwhere(wrong)[0])
        row = p[where[:-1]].tolist()
        raise InputError(
            f"{what}{_row(where[:-1])} = {row} gives verdict {where[-1]} the probability "
            f"{p[where]}: a probability lies between 0 and 1"
        )
    sums = p.sum(axis=-1)
    off = np.abs(sums - 1) > SUM_TOLERANCE
    if off.any():
        where = tuple(int(j) for j in np.argwhere(off)[0])
        row, total = p[where], float(sums[where])
        remedy = (
            f"divided by its sum it is {[round(float(x), 6) for x in row / total]}"
            if total > 0
            else "give at least one verdict a positive probability"
        )
        raise InputError(
            f"{what}{_row(where)} = {row.tolist()} sums to {total:.9g}, not to 1: {remedy}"
        )
    return p


def check_fraction(name: str, value: object, *, below: float = 1.0) -> float:
    """Return a number in [0, below], or say what the range is."""
    number = check_number(name, value)
    if not 0 <= number <= below:
        raise InputError(f"{name} = {number}: it lies between 0 and {below:g}")
    return number


def check_number(name: str, value: object) -> float:
    """Return a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
        raise InputError(f"{name} = {value!r}: a number is needed")
    number = float(value)
    if not math.isfinite(number):
        raise InputError(f"{name} = {number}: a finite number is needed")
    return number


def check_at_least(name: str, value: object, low: int, why: str) -> int:
    """Return an integer of at least `low`; `why` says what a smaller one would leave undefined."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
        raise InputError(f"{name} = {value!r}: a whole number is needed")
    if value < low:
        raise InputError(f"{name} = {value}: {why}; use {low} or more")
    return int(value)


def check_verdicts(verdicts: Sequence[str], categories: int) -> tuple[str, ...]:
    """Return the names of the verdicts, one distinct name for each probability of a law."""
    names = check_names("verdicts", verdicts)
    if len(names) != categories or len(set(names)) != categories:
        raise InputError(
            f"verdicts {list(names)} name a law of {categories} probabilities: "
            "give one distinct name for each"
        )
    return names


def check_names(name: str, given: object) -> tuple[str, ...]:
    """Return a list of names as a tuple of texts; one text is not a list of its letters."""
    if isinstance(given, (str, bytes, Mapping)) or not isinstance(given, Iterable):
        raise InputError(f"{name} = {given!r}: a list of names is needed, such as [a, b]")
    return tuple(str(one) for one in given)


def check_array(name: str, given: object) -> NDArray[Any]:
    """Return an array of whatever kind, or say that the rows have different lengths."""
    try:
        return np.asarray(given)
    except ValueError as error:
        raise InputError(
            f"{name} = {given!r} is no rectangular array: every row needs the same length"
        ) from error


def _as_floats(laws: ArrayLike, what: str) -> NDArray[np.float64]:
    try:
        return np.asarray(laws, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} {laws!r} is no rectangular array of numbers: every row needs the same "
            "number of probabilities"
        ) from error


def _row(where: tuple[int, ...]) -> str:
    return f"[{', '.join(map(str, where))}]" if where else ""
