"""Item error: what a macroaverage owes to the choice of items, call noise included."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from judgelaw.errors import InputError
from judgelaw.uncertainty.bands import lone_item, stratum_rows
from judgelaw.uncertainty.results import Interval, check_level, is_constant, no_interval, t_interval

COVERS = "new items from the same strata, call sampling included"


def item_interval(
    values: ArrayLike, *, strata: Sequence[str | None] | None = None, level: float = 0.95
) -> Interval:
    """Return the mean of item values with the t interval of stratified item sampling.

    variance = sum_s (n_s/N)^2 s_s^2 / n_s,     df = N - number of strata

    Args:
        values: one value for each item.
        strata: stratum of each item; None is one stratum.
        level: nominal coverage.
    """
    check_level(level)
    v = np.asarray(values, dtype=float)
    if v.ndim != 1 or v.size == 0:
        raise InputError(f"values have shape {v.shape}; give one value for each item")
    groups = stratum_rows(strata, len(v))
    estimate, N = float(v.mean()), len(v)
    lone = [name for name, rows in groups.items() if len(rows) < 2]  # noqa: PLR2004 - to vary
    reason = lone_item(lone, N) if lone else None
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
