"""Item bands of diagnostics: one for the table, and a wider one that decides whether to speak."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.errors import NotIdentifiedError
from judgelaw.uncertainty.bands import band_of_draws, resampled_means

Floats = NDArray[np.float64]
Pair = tuple[float, float]
Statistic = Callable[[Floats], Floats]

ALARM = 0.99
"""Coverage of the band that must leave out zero before a diagnostic speaks up."""


@dataclass(frozen=True, kw_only=True)
class How:
    """How diagnostics resample items."""

    draws: int
    seed: int
    level: float = 0.95


@dataclass(frozen=True, kw_only=True)
class Resampled:
    """A statistic with its item band, and the wider band that decides.

    Attributes:
        estimate: at the items at hand.
        band: at the level asked for; None where items cannot be resampled.
        outer: at 99%.
    """

    estimate: float
    band: Pair | None
    outer: Pair | None

    @property
    def alarming(self) -> bool:
        """Whether the wider band leaves out zero."""
        return self.outer is not None and not self.outer[0] <= 0 <= self.outer[1]


def resampled(
    values: Floats, statistic: Statistic, strata: Sequence[str] | None, how: How
) -> tuple[Resampled, ...]:
    """Band functions of item means, (..., quantities) to (..., statistics)."""
    point = np.atleast_1d(statistic(values.mean(axis=0)))
    try:
        means = resampled_means(values, strata=strata, draws=how.draws, seed=how.seed)
    except NotIdentifiedError:  # a stratum of one item; `None` in place of a band says so
        return tuple(Resampled(estimate=float(x), band=None, outer=None) for x in point)
    drawn = statistic(means).reshape(how.draws, point.size)
    inner = band_of_draws(point, drawn, level=how.level)
    outer = band_of_draws(point, drawn, level=ALARM)
    return tuple(
        Resampled(
            estimate=float(point[i]),
            band=_pair(inner.low[i], inner.high[i]),
            outer=_pair(outer.low[i], outer.high[i]),
        )
        for i in range(point.size)
    )


def _pair(low: float, high: float) -> Pair | None:
    return None if np.isnan(low) else (float(low), float(high))
