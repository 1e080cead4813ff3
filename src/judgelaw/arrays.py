"""Validation at the door: counts, laws, ranked verdicts and labels."""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Rational
from operator import index
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.errors import InputError

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

PAIR: Final = 2
"""Disagreement is counted over pairs of calls: a cell with fewer than two shows none."""


T = TypeVar("T")

ABSENT = -1
"""Code of a repeat rank that holds no call."""

_EXACT_FLOAT = 2.0**53
_NAMED_AT_MOST = 5


def as_array(x: ArrayLike, what: str) -> NDArray[Any]:
    """Turn an argument into an array; raise if it cannot be one, or has masked entries."""
    try:
        array = np.asarray(x)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{what} cannot be read as an array ({error}): pass rows of equal length"
        ) from error
    if np.ma.is_masked(x):
        raise InputError(
            f"{what} hold masked entries, which have no value here: "
            "fill them (masked_array.filled) or leave out what they stand for"
        )
    return array


def as_floats(x: ArrayLike, what: str) -> NDArray[Any]:
    """Turn what was handed in into floats; exact rationals stay exact."""
    array = as_array(x, what)
    if is_exact(array):
        return array
    if array.dtype.kind not in "biufO":
        raise InputError(f"{what} are {array.dtype}, not numbers")
    try:
        return array.astype(float, copy=False)
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} are not numbers ({error})") from error


def as_whole(value: Any, what: str) -> int:
    """Return a whole number, refusing 2.5, 2.0 and "2" alike."""
    try:
        return index(value)
    except TypeError as error:
        raise InputError(f"{what} = {value!r}: pass a whole number (an int)") from error


def as_counts(counts: ArrayLike) -> NDArray[Any]:
    """Validate an array of counts and return it as integers, without a copy where it is one.

    An object array of whole Fractions stays one: estimates are then exact rationals.
    """
    array = as_array(counts, "counts")
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
    if array.size and np.abs(array).max() > _EXACT_FLOAT and np.isfinite(array).all():
        raise InputError(
            f"counts reach {array.max():.17g}: floats above 2^53 skip whole numbers, "
            "so this is no count; pass integers"
        )
    wrong = ~np.isfinite(array) | (array != np.floor(array)) | (array < 0)
    if wrong.any():
        where = tuple(int(j) for j in np.argwhere(wrong)[0])
        raise InputError(
            f"counts[{where}] = {array[where]}: counts are whole, finite and not negative; "
            "pass numbers of calls, not proportions (laws go to judgelaw.estimate.known_laws)"
        )
    return array.astype(np.int64)


def as_laws(laws: ArrayLike) -> NDArray[np.float64]:
    """Validate probability vectors along the last axis; exact rationals stay exact."""
    p = as_floats(laws, "laws")
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


def end_to_end(ranked: NDArray[np.int16], length: int) -> NDArray[np.int16]:
    """Join the ranks of several prompts (items, prompts, orders, repeats) one after the other."""
    n, k, o, r = ranked.shape
    flat = ranked.transpose(0, 2, 1, 3).reshape(n, o, k * r)
    pad = np.full((n, o, length - k * r), ABSENT, dtype=np.int16)
    return np.concatenate([flat, pad], axis=-1)


def numbered(letter: str, n: int) -> tuple[str, ...]:
    """Return labels by number: i1, i2, ..."""
    return tuple(f"{letter}{i + 1}" for i in range(n))


def labels_of(axis: str, given: Iterable[str] | None, n: int, letter: str) -> tuple[str, ...]:
    """Return the distinct labels of an axis; they are numbered if no labels are given."""
    if given is None:
        return numbered(letter, n)
    names = per_item(axis, given, n)
    if len(set(names)) != n:
        twice = Counter(names).most_common(1)[0][0]
        raise InputError(f"{axis} names {twice!r} more than once: labels of an axis are distinct")
    return names


def per_item(axis: str, given: Iterable[T], n: int) -> tuple[T, ...]:
    """Return one label for each position of an axis."""
    names = tuple(given)
    if len(names) != n:
        raise InputError(f"{axis} has {len(names)} labels for {n} positions of its axis")
    return names


def positions(axis: str, names: tuple[str, ...], wanted: Iterable[str] | None) -> NDArray[np.intp]:
    """Return where the wanted labels stand on their axis, in the order wanted."""
    if wanted is None:
        return np.arange(len(names))
    at = {name: i for i, name in enumerate(names)}
    wanted = list(wanted)
    if unknown := [name for name in wanted if name not in at]:
        raise InputError(f"no {axis} is called {unknown[0]!r}; there are {some(names)}")
    if len(set(wanted)) < len(wanted):
        twice = Counter(wanted).most_common(1)[0][0]
        raise InputError(f"{axis} {twice!r} is named more than once: name each one once")
    return np.array([at[name] for name in wanted], dtype=np.intp)


def some(names: Sequence[str]) -> str:
    """Name the first few labels in a message."""
    shown = ", ".join(repr(name) for name in names[:_NAMED_AT_MOST])
    more = len(names) - _NAMED_AT_MOST
    return f"{shown} and {more} more" if more > 0 else shown


def grouped(names: Sequence[Hashable], groups: Mapping[str, Iterable[Hashable]]) -> list[list[int]]:
    """Return the positions of each group's prompts, after checking that each prompt has one."""
    members = [tuple(group) for group in groups.values()]
    named = Counter(name for group in members for name in group)
    if set(named) != set(names) or max(named.values(), default=0) > 1 or () in members:
        raise InputError(
            f"groups must hold each prompt once, and one prompt or more each; prompts are "
            f"{list(names)}, groups name {sorted(map(str, named.elements()))}"
        )
    at = {name: i for i, name in enumerate(names)}
    return [[at[name] for name in group] for group in members]


SUM_TOLERANCE = 1e-9
"""Rounding of laws written in decimals, and no more."""


def check_laws(laws: ArrayLike, *, what: str = "law") -> NDArray[np.float64]:
    """Return probability vectors along the last axis; raise for a row that is not one.

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
    """Return an array of any type; raise if its rows have different lengths."""
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


def dropped_note(items: int, lost: NDArray[np.intp], strata: Sequence[str] | None) -> str:
    """Say how many items lacked calls, and of which strata."""
    note = f"dropped {len(lost)} of {items} items without two calls in every cell"
    if strata is not None:
        tally = Counter(strata[i] for i in lost)
        note += " (" + ", ".join(f"{s} {n}" for s, n in sorted(tally.items())) + ")"
    return note


ROUNDING_OF_SOFT = 1e-4
"""Providers work in single precision, and round what they write."""
_NOTHING = 1e-9


def soft_fault(
    y: NDArray[Any], ranked: NDArray[Any], verdicts: Sequence[str]
) -> tuple[tuple[int, ...], str] | None:
    """Return where token probabilities of calls (..., verdicts) cannot be right, and why.

    Absent calls are nan. A vector may lack mass, never have too much of it, and it must leave room
    for the verdict that was sampled from it.
    """
    there = ranked != ABSENT
    p = np.where(there[..., None], y, 0.0)
    outside = ((p < 0) | (p > 1 + ROUNDING_OF_SOFT) | np.isnan(p)).any(axis=-1)
    if outside.any():
        at = tuple(int(j) for j in np.argwhere(outside)[0])
        return at, f"{y[at].tolist()} are no probabilities: each lies between 0 and 1"
    sums = p.sum(axis=-1)
    over = sums > 1 + ROUNDING_OF_SOFT
    if over.any():
        at = tuple(int(j) for j in np.argwhere(over)[0])
        words = (
            f"the probabilities of {', '.join(verdicts)} sum to {sums[at]:.6g}, and at most 1 is "
            "there to share: write probabilities, not their logarithms or scores"
        )
        return at, words
    own = np.take_along_axis(p, np.where(there, ranked, 0)[..., None].astype(int), axis=-1)[..., 0]
    against = there & (own + np.maximum(0, 1 - sums) < _NOTHING)
    if against.any():
        at = tuple(int(j) for j in np.argwhere(against)[0])
        words = (
            f"the sampled verdict {verdicts[ranked[at]]!r} has probability 0 in its own vector "
            f"{y[at].tolist()}: the vector belongs to another call, or its columns are mixed up; "
            "correct them, or leave the probabilities out (soft='never', --soft never)"
        )
        return at, words
    return None


def recoded(
    counts: NDArray[np.int64],
    ranked: NDArray[np.int16] | None,
    places: Sequence[int],
    verdicts: int | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int16] | None]:
    """Return counts and codes with every verdict at its new place; several may share one.

    There are as many places as the last one says, or `verdicts` of them.
    """
    found = np.zeros((*counts.shape[:-1], verdicts or max(places) + 1), dtype=np.int64)
    for old, new in enumerate(places):
        found[..., new] += counts[..., old]
    if ranked is None:
        return found, None
    code = np.array(places, dtype=np.int16)
    return found, np.where(ranked == ABSENT, ABSENT, code[ranked]).astype(np.int16)
