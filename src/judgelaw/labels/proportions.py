"""Shares of items with repeated calls: intervals that cover, and draws that kappa is made of.

`x_i` in [0, 1] is an item's mean over all its calls, `p` the mean of the items, `n` their number
and `calls` the number of all calls. Several calls of one item are not several items: the interval
is the exact binomial one at an effective size between `n` and `calls`.
"""

from math import nan

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.quantities import Estimate, unknown

TAIL = 0.025
"""What each side of a 95% interval leaves out."""

KAPPA_TAIL = 0.015
"""Quantile of the draws of kappa at which its interval covers 95%."""

DRAWS = 20_000


def effective_size(x: Floats, calls: int, weights: Floats | None = None) -> float:
    """Return the binomial size `m` that a mean over items is worth.

    With SS = sum (x - p)^2 and far = max(p, 1 - p)^2,
    n_e = clip(n^2 p (1 - p) / (SS + far / 2), n, calls), n where SS = 0, and
    m = max(n, n_e (z / t_{n-1})^2) where n_e > n, else n. Half a pseudo-item stands for what was
    never seen. Unequal weights (votes of an item) shrink n to (sum w)^2 / sum w^2.
    """
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415 - loads when an interval is asked for

    w = np.ones(len(x)) if weights is None else weights / weights.mean()
    items = len(x)
    n = float(w.sum() ** 2 / (w**2).sum())
    p = float((w * x).mean())
    squares = float((w**2 * (x - p) ** 2).sum())
    if squares == 0:
        return n
    far = max(p, 1 - p) ** 2
    size = min(max(items**2 * p * (1 - p) / (squares + far / 2), n), n * calls / items)
    if size <= n or items < 2:  # noqa: PLR2004 - no degree of freedom
        return n
    return max(n, size * float(ndtri(1 - TAIL) / stdtrit(items - 1, 1 - TAIL)) ** 2)


def binomial_interval(p: float, m: float, tail: float = TAIL) -> tuple[float, float]:
    """Return the exact (Clopper-Pearson) interval of a share `p` at size `m`, not whole perhaps."""
    from scipy.special import betaincinv  # noqa: PLC0415 - loads when an interval is asked for

    hits, misses = p * m, (1 - p) * m
    low = 0.0 if p <= 0 else float(betaincinv(hits, misses + 1, tail))
    high = 1.0 if p >= 1 else float(betaincinv(hits + 1, misses, 1 - tail))
    return low, high


def share(
    x: Floats, calls: int, *, weights: Floats | None = None, tail: float = TAIL, what: str = "item"
) -> Estimate:
    """Return the mean of item shares with its interval."""
    if not len(x):
        return unknown(f"no {what} is labelled")
    p = float(np.average(x, weights=weights))
    low, high = binomial_interval(p, effective_size(x, calls, weights), tail)
    return Estimate(estimate=p, low=low, high=high)


def kappa_of(joint: Floats, distance: Floats) -> Floats:
    """Return kappa of joint shares (..., labels, verdicts) under a distance of the same shape.

    1 - (mean distance) / (mean distance if label and verdict were independent); distance 0 on the
    diagonal and 1 elsewhere gives Cohen's kappa, squared differences the quadratic one. Undefined
    (nan) where independence would never disagree.
    """
    rows, columns = joint.sum(axis=-1), joint.sum(axis=-2)
    seen = (joint * distance).sum(axis=(-2, -1))
    chance = np.einsum("...a,...b,ab->...", rows, columns, distance)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where(chance > 0, 1 - seen / chance, nan))


def kappa(
    rows: Floats,
    items: NDArray[np.int64],
    sizes: Floats,
    distance: Floats,
    random: np.random.Generator,
) -> Estimate:
    """Return kappa with the interval of draws.

    Shares of the classes are Dirichlet(items + 1/C); the verdicts of a class are Dirichlet(m row)
    plus .5 on the right verdict and .5 spread over the wrong ones, m the class's effective size.
    No draw is as far out as a judge that is always right, or always wrong: the interval reaches to
    the estimate.

    Args:
        rows: verdict shares of each class, (C, verdicts); the first C verdicts are the classes.
        items: labelled items of each class, none of them 0.
        sizes: effective size of each class.
        distance: of a label and a verdict, (C, verdicts).
        random: the stream of the draws.
    """
    classes, verdicts = rows.shape
    weight = items / items.sum()
    estimate = float(kappa_of(weight[:, None] * rows, distance))
    prior = np.full((classes, verdicts), 0.5 / max(verdicts - 1, 1))
    prior[np.arange(classes), np.arange(classes)] = 0.5
    prevalence = random.dirichlet(items + 1 / classes, size=DRAWS)
    laws = np.stack(
        [random.dirichlet(sizes[c] * rows[c] + prior[c], size=DRAWS) for c in range(classes)],
        axis=1,
    )
    drawn = kappa_of(prevalence[..., None] * laws, distance)
    low, high = np.nanquantile(drawn, [KAPPA_TAIL, 1 - KAPPA_TAIL])
    return Estimate(
        estimate=estimate, low=min(float(low), estimate), high=max(float(high), estimate)
    )


def mean_interval(x: Floats) -> Estimate:
    """Return the mean of item values with the t interval over items; none where all are alike."""
    from scipy.special import stdtrit  # noqa: PLC0415 - loads when an interval is asked for

    mean = float(x.mean()) if len(x) else nan
    if len(x) < 2:  # noqa: PLR2004 - no degree of freedom
        return Estimate(estimate=mean, low=nan, high=nan, reason="fewer than two labelled items")
    if not np.ptp(x):
        reason = "all labelled items differ alike: how far others would is not seen"
        return Estimate(estimate=mean, low=nan, high=nan, reason=reason)
    half = float(stdtrit(len(x) - 1, 1 - TAIL) * x.std(ddof=1) / np.sqrt(len(x)))
    return Estimate(estimate=mean, low=mean - half, high=mean + half)


def correlation(x: Floats, y: Floats) -> Estimate:
    """Return Pearson's correlation with the item jackknife on Fisher's z and a t quantile."""
    from scipy.special import stdtrit  # noqa: PLC0415 - loads when an interval is asked for

    n = len(x)
    if n < 4 or x.std() == 0 or y.std() == 0:  # noqa: PLR2004 - z needs four
        return unknown("a correlation needs four labelled items, and scores that vary")
    r = float(np.corrcoef(x, y)[0, 1])
    left_out = _without_each(x, y)
    if abs(r) >= 1 or not np.isfinite(left_out).all() or (abs(left_out) >= 1).any():
        return Estimate(
            estimate=r, low=nan, high=nan, reason="the scores fall on a line with the labels"
        )
    z, each = np.arctanh(r), np.arctanh(left_out)
    se = np.sqrt((n - 1) / n * ((each - each.mean()) ** 2).sum())
    half = float(stdtrit(n - 1, 1 - TAIL) * se)
    return Estimate(estimate=r, low=float(np.tanh(z - half)), high=float(np.tanh(z + half)))


def _without_each(x: Floats, y: Floats) -> Floats:
    """Return the correlation without each item, in one pass."""
    n = len(x) - 1
    x, y = x - x.mean(), y - y.mean()
    sx, sy = -x, -y  # sums over all are 0
    sxx, syy, sxy = (x**2).sum() - x**2, (y**2).sum() - y**2, (x * y).sum() - x * y
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray((sxy - sx * sy / n) / np.sqrt((sxx - sx**2 / n) * (syy - sy**2 / n)))
