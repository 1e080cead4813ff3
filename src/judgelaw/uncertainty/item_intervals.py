"""Item error: percentile bands from whole items within strata, and intervals of a macroaverage.

Every draw takes, in each stratum, as many items as it holds, with replacement, and averages over
all N items with equal weight. All quantities are resampled together, so differences and ratios
across judges, depths or components are paired.

A draw enters only through how often it takes each item, so it is a row of multiplicities times the
matrix of values: one `bincount` and one small matrix product for a block of draws, instead of
gathering every quantity item by item. Blocks stay inside the second-level cache; larger ones were
measured four times slower. One named stream feeds each stratum, so the draws do not depend on the
block, on the number of quantities, or on the other strata.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import PAIR, Floats
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.streams import stream
from judgelaw.uncertainty.intervals import (
    Interval,
    check_level,
    is_constant,
    no_interval,
    t_interval,
)

Times = NDArray[np.integer[Any]]
Statistic = Callable[[Floats], ArrayLike]
"""From means (..., quantities) to numbers (..., statistics)."""

BAND_DRAWS = 20_000
_BLOCK = 1 << 15
"""Random indices in a block: 256 kB of them."""
_KEPT = 1 << 21
"""Strata whose draws take up to this many numbers are drawn once: 2 MB each, as a rule."""
_NO_WIDTH = (
    "the items of every stratum have the same value, so resampling cannot vary it: a band of no "
    "width would say that the error is zero, and it is not known"
)


@dataclass(frozen=True, kw_only=True)
class Resampling:
    """How items are resampled, and at which level bands are shown."""

    draws: int = BAND_DRAWS
    seed: int = 0
    level: float = 0.95


@dataclass(frozen=True, kw_only=True, eq=False)
class Bands:
    """Percentile bands of several quantities from the same draws.

    Attributes:
        estimate: the statistic at the observed items, one for each quantity.
        low, high: percentiles of the resampled statistic; nan where `reasons` says why.
        level: nominal coverage of each band.
        draws: number of resamples.
        reasons: for each quantity why it has no band, or None.
    """

    estimate: Floats
    low: Floats
    high: Floats
    level: float
    draws: int
    reasons: tuple[str | None, ...]


def item_bands(
    values: ArrayLike,
    *,
    strata: Sequence[str | None] | None = None,
    statistic: Statistic | None = None,
    draws: int = BAND_DRAWS,
    seed: int = 0,
    level: float = 0.95,
) -> Bands:
    """Return stratified whole-item percentile bands of means, or of any function of means.

    Estimand: the statistic at the mean of a benchmark whose items are drawn anew within strata.
    The band already contains call noise (E[s^2/N] = V_call + S_U^2/N): never add the two.

    Args:
        values: per-item quantities (items, quantities), or one quantity (items,).
        strata: stratum of each item; None is one stratum.
        statistic: from means (..., quantities) to (..., statistics); by default the means. The
            difference of two judges is `lambda m: m[..., :1] - m[..., 1:]`, paired by item.
        draws: number of resamples.
        seed: seed of their named streams.
        level: nominal coverage.
    """
    check_level(level)
    v, groups = _checked(values, strata)
    of = statistic or (lambda means: means)
    estimate = np.atleast_1d(np.asarray(of(v.mean(axis=0)), dtype=float))
    if (reason := _lone_item(groups, len(v))) is not None:
        empty = np.full(estimate.shape, np.nan)
        reasons = (reason,) * estimate.size
        return Bands(
            estimate=estimate, low=empty, high=empty, level=level, draws=draws, reasons=reasons
        )
    means = _resample(v, groups, draws=draws, seed=seed)
    drawn = np.asarray(of(means), dtype=float).reshape(draws, estimate.size)
    return _with_width(_percentiles(estimate, drawn, level), drawn)


def resampled_means(
    values: ArrayLike,
    *,
    strata: Sequence[str | None] | None = None,
    draws: int = BAND_DRAWS,
    seed: int = 0,
) -> Floats:
    """Return the means of every quantity in every draw, (draws, quantities).

    Calls with the same seed, strata and number of items take the same items in every draw, so
    ranks, changes of the top judge and other functions of several tables can be banded jointly.

    Raises:
        NotIdentifiedError: a stratum holds one item, which resampling cannot vary.
    """
    v, groups = _checked(values, strata)
    if (reason := _lone_item(groups, len(v))) is not None:
        raise NotIdentifiedError(reason)
    return _resample(v, groups, draws=draws, seed=seed)


def band_of_draws(estimate: ArrayLike, drawn: ArrayLike, *, level: float = 0.95) -> Bands:
    """Return the band of statistics computed elsewhere from `resampled_means`, (draws, ...).

    Unlike those of `item_bands` they may be ranks or counts, where a value that no draw changes is
    a finding: such a band has no width.
    """
    check_level(level)
    point = np.atleast_1d(np.asarray(estimate, dtype=float))
    values = np.asarray(drawn, dtype=float)
    return _percentiles(point, values.reshape(len(values), point.size), level)


def stratum_rows(
    strata: Sequence[str | None] | None, items: int
) -> dict[str | None, NDArray[np.intp]]:
    """Return the rows of every stratum, by its name; one nameless stratum where there are none."""
    if strata is None:
        return {None: np.arange(items)}
    if len(strata) != items:
        raise InputError(f"{len(strata)} strata for {items} items: give each item its stratum")
    # A dict tells names apart exactly; numpy would take "a" and "a\0" for one.
    rows: dict[str | None, list[int]] = {}
    for item, name in enumerate(strata):
        rows.setdefault(name, []).append(item)
    names = sorted(rows, key=lambda name: (name is not None, name or ""))
    return {name: np.array(rows[name], dtype=np.intp) for name in names}


def _checked(
    values: ArrayLike, strata: Sequence[str | None] | None
) -> tuple[Floats, dict[str | None, NDArray[np.intp]]]:
    v = np.asarray(values, dtype=float)
    if v.ndim == 1:
        v = v[:, None]
    if v.ndim != 2 or v.shape[0] == 0:  # noqa: PLR2004 - items by quantities
        raise InputError(
            f"values have shape {v.shape}; bands need one row for each item, (items, quantities)"
        )
    return v, stratum_rows(strata, len(v))


def _resample(
    v: Floats, groups: dict[str | None, NDArray[np.intp]], *, draws: int, seed: int
) -> Floats:
    if draws < 2:  # noqa: PLR2004 - a percentile of one draw is that draw
        raise InputError(
            f"draws = {draws}: percentiles need two draws or more, usually {BAND_DRAWS:,}"
        )
    sums = np.zeros((draws, v.shape[1]))
    for name, rows in groups.items():
        for first, last, times in _times(seed, name, draws, len(rows)):
            sums[first:last] += times.astype(float) @ v[rows]
    sums /= len(v)
    return sums


def _times(seed: int, name: str | None, draws: int, n: int) -> Iterator[tuple[int, int, Times]]:
    """Yield how often draws take each item of a stratum, (draws, items), block by block."""
    if draws * n > _KEPT:
        yield from _drawn(seed, name, draws, n)
        return
    kept = _kept(seed, name, draws, n)
    for first, last in _blocks(draws, n):
        yield first, last, kept[first:last]


@lru_cache(maxsize=32)
def _kept(seed: int, name: str | None, draws: int, n: int) -> Times:
    """Draw a stratum once: depths, judges and layers share their strata."""
    times = np.empty((draws, n), dtype=np.min_scalar_type(n))
    for first, last, part in _drawn(seed, name, draws, n):
        times[first:last] = part
    return times


def _drawn(seed: int, name: str | None, draws: int, n: int) -> Iterator[tuple[int, int, Times]]:
    rng = stream(seed, "bands") if name is None else stream(seed, "bands", name)
    for first, last in _blocks(draws, n):
        size = last - first
        # Row j of the block owns the bins j n to j n + n - 1.
        taken = rng.integers(0, n, size=(size, n))
        taken += np.arange(0, size * n, n)[:, None]
        yield first, last, np.bincount(taken.ravel(), minlength=size * n).reshape(size, n)


def _blocks(draws: int, n: int) -> Iterator[tuple[int, int]]:
    size = max(1, _BLOCK // n)
    for first in range(0, draws, size):
        yield first, min(first + size, draws)


def _percentiles(estimate: Floats, drawn: Floats, level: float) -> Bands:
    finite = np.atleast_1d(np.isfinite(drawn).all(axis=0))
    tail = (1 - level) / 2
    low, high = np.full((2, estimate.size), np.nan)
    if finite.any():
        low[finite], high[finite] = np.quantile(drawn[:, finite], [tail, 1 - tail], axis=0)
    return Bands(
        estimate=estimate,
        low=low.reshape(estimate.shape),
        high=high.reshape(estimate.shape),
        level=level,
        draws=len(drawn),
        reasons=tuple(
            None if ok else _no_band(e, column)
            for ok, e, column in zip(finite, estimate.ravel(), drawn.T, strict=True)
        ),
    )


def _with_width(found: Bands, drawn: Floats) -> Bands:
    """Take back the bands of statistics that no draw changes: equal items show no error."""
    banded = np.array([reason is None for reason in found.reasons])
    banded[banded] = is_constant(drawn[:, banded], axis=0)
    if not banded.any():
        return found
    flat = banded.reshape(found.estimate.shape)
    reasons = zip(banded, found.reasons, strict=True)
    return replace(
        found,
        low=np.where(flat, np.nan, found.low),
        high=np.where(flat, np.nan, found.high),
        reasons=tuple(_NO_WIDTH if equal else reason for equal, reason in reasons),
    )


def _no_band(estimate: float, column: Floats) -> str:
    if np.isnan(estimate):
        return "the quantity is nan for at least one item, so it has no mean and no band"
    bad = int((~np.isfinite(column)).sum())
    return (
        f"the statistic is not finite in {bad} of {len(column)} draws (a ratio over a mean near "
        "zero?): a percentile over the other draws would hide that"
    )


def _lone_item(groups: dict[str | None, NDArray[np.intp]], items: int) -> str | None:
    """Say why strata of one item leave no band and no error; None where no stratum is such."""
    lone = [name for name, rows in groups.items() if len(rows) < PAIR]
    if not lone:
        return None
    if items == 1:
        return f"{items} item: resampling cannot vary it; a band needs two items or more"
    names = ", ".join(repr(name) for name in lone[:5])
    return (
        f"stratum {names} holds one item, which resampling cannot vary, so a band would leave its "
        "uncertainty out: merge it with another stratum, or drop the strata"
    )


COVERS = "new items from the same strata, call sampling included"


def item_interval(
    values: ArrayLike, *, strata: Sequence[str | None] | None = None, level: float = 0.95
) -> Interval:
    """Return the mean of item values with the t interval of stratified item sampling.

    variance = sum_s (n_s/N)^2 s_s^2 / n_s,     df = N - number of strata
    """
    check_level(level)
    v = np.asarray(values, dtype=float)
    if v.ndim != 1 or v.size == 0:
        raise InputError(f"values have shape {v.shape}; give one value for each item")
    groups = stratum_rows(strata, len(v))
    estimate, N = float(v.mean()), len(v)
    reason = _lone_item(groups, N)
    if not np.isfinite(v).all():
        reason = "the quantity is nan for at least one item, so it has no mean and no error"
    if reason is None:
        varying = [v[rows] for rows in groups.values() if not is_constant(v[rows])]
        variance = sum((len(x) / N) ** 2 * x.var(ddof=1) / len(x) for x in varying)
        if varying:
            df = float(N - len(groups))
            return t_interval(
                estimate=estimate, variance=float(variance), df=df, level=level, covers=COVERS
            )
        reason = "the items of every stratum have the same value: no variance, and so no interval"
    return no_interval(estimate=estimate, level=level, covers=COVERS, reason=reason)
