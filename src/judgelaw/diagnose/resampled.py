"""Item bands of diagnostics: they describe, and do not decide."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.errors import NotIdentifiedError
from judgelaw.uncertainty.bands import band_of_draws, resampled_means

Floats = NDArray[np.float64]
Pair = tuple[float, float]
Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True, kw_only=True)
class How:
    """How diagnostics resample items."""

    draws: int
    seed: int
    level: float = 0.95


@dataclass(frozen=True, kw_only=True)
class Resampled:
    """A statistic with its item band.

    Attributes:
        estimate: at the items at hand.
        band: at the level asked for; None where items cannot be resampled.
    """

    estimate: float
    band: Pair | None


def resampled(
    values: Floats, statistic: Statistic, strata: Sequence[str] | None, how: How
) -> tuple[Resampled, ...]:
    """Band functions of item means, (..., quantities) to (..., statistics)."""
    point = np.atleast_1d(statistic(values.mean(axis=0)))
    try:
        means = resampled_means(values, strata=strata, draws=how.draws, seed=how.seed)
    except NotIdentifiedError:  # a stratum of one item; `None` in place of a band says so
        return tuple(Resampled(estimate=float(x), band=None) for x in point)
    drawn = statistic(means).reshape(how.draws, point.size)
    bands = band_of_draws(point, drawn, level=how.level)
    return tuple(
        Resampled(estimate=float(point[i]), band=_pair(bands.low[i], bands.high[i]))
        for i in range(point.size)
    )


def _pair(low: float, high: float) -> Pair | None:
    return None if np.isnan(low) else (float(low), float(high))
