"""What a diagnostic hands on: words, advice and figures, with bands over items."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.errors import NotIdentifiedError
from judgelaw.quantities import Estimate, Pair
from judgelaw.uncertainty import Resampling, band_of_draws, resampled_means

Severity = Literal["ok", "notice", "problem", "unknown"]
"""`notice`: read before quoting; `problem`: the estimates may be wrong; `unknown`: not testable."""

Cell = str | int | float | None
"""One cell of a table; None is not available."""


@dataclass(frozen=True, kw_only=True)
class Finding:
    """One diagnostic of one stream of calls, or of several together.

    Attributes:
        name: which diagnostic, `rank_gap`, `replay`, ...
        verdict: "ok", "notice", "problem", or "unknown" where the data cannot answer.
        headline: what was found, in one sentence.
        advice: what to do about it, in one sentence.
        subject: judge, or "judge / layer", that it is about; "" for all of them.
        figures: the numbers of the headline by name; nan where one cannot be had.
        columns, rows: the evidence as a table.
    """

    name: str
    verdict: Severity
    headline: str
    advice: str
    subject: str = ""
    figures: Mapping[str, float] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Cell, ...], ...] = ()


def untestable(name: str, headline: str, advice: str, subject: str = "") -> Finding:
    """Return the finding of a diagnostic that these calls cannot answer."""
    return Finding(name=name, verdict="unknown", headline=headline, advice=advice, subject=subject)


Statistic = Callable[[Floats], Floats]


def resampled(
    values: Floats, statistic: Statistic, strata: Sequence[str] | None, how: Resampling
) -> tuple[Estimate, ...]:
    """Band functions of item means, (..., quantities) to (..., statistics)."""
    point = np.atleast_1d(statistic(values.mean(axis=0)))
    try:
        means = resampled_means(values, strata=strata, draws=how.draws, seed=how.seed)
    except NotIdentifiedError:  # a stratum of one item; `None` in place of a band says so
        return tuple(Estimate(estimate=float(x), band=None) for x in point)
    drawn = statistic(means).reshape(how.draws, point.size)
    bands = band_of_draws(point, drawn, level=how.level)
    return tuple(
        Estimate(estimate=float(point[i]), band=_pair(bands.low[i], bands.high[i]))
        for i in range(point.size)
    )


def _pair(low: float, high: float) -> Pair | None:
    return None if np.isnan(low) else (float(low), float(high))
