"""The share of a class among items that nobody labelled, corrected for the judge's errors.

Which correction is valid depends on how the labelled items were chosen, and no table tells: it is
asked for. A random subset takes prediction-powered inference; any other choice takes the judge's
error rates from the labelled items (Rogan and Gladen), supposing that they hold elsewhere.
"""

from dataclasses import dataclass
from math import nan
from typing import Literal

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.labels.proportions import DRAWS, TAIL, effective_size
from judgelaw.quantities import Estimate, unknown

LabelChoice = Literal["random", "chosen"]
METHODS = {"random": "ppi", "chosen": "rogan-gladen"}
_MOST_USELESS = 0.025
"""Share of draws with TPR + TNR <= 1 above which the judge's word says nothing."""

_FEWEST = 2


@dataclass(frozen=True, kw_only=True)
class PassRate:
    """How often one class is the right one, as the judge says and corrected.

    Attributes:
        of: the class, None where none was named.
        observed: the judge's share of it on the items nobody labelled; on all where all are.
        observed_everywhere: the judge's share of it on all items.
        corrected: on the items nobody labelled; None where there are none, or nobody said how
            the labelled ones were chosen.
        corrected_everywhere: on all items, labels counted as they are.
        method: `ppi` or `rogan-gladen`, None without a correction.
        reason: why there is no correction.
    """

    of: str | None
    observed: float
    observed_everywhere: float
    corrected: Estimate | None = None
    corrected_everywhere: Estimate | None = None
    method: str | None = None
    reason: str = ""


def ppi(y: Floats, f: Floats, f_u: Floats) -> Estimate:
    """Return the prediction-powered mean of `y` over items of which a random subset has labels.

    lam = clip(cov(y, f) / (var f (1 + n/N)), 0, 1), theta = ybar + lam (fbar_U - fbar_L),
    variance (sum (res - mean res)^2 + 1) / (n (n - 1)) + lam^2 var(f_U) / N with
    res = y - lam f, t quantile of n - 1. The + 1 keeps a judge that was never wrong honest.

    Args:
        y: labels, 0 or 1.
        f: the judge's item means on the labelled items.
        f_u: the same on the items nobody labelled.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - loads when an interval is asked for

    n, others = len(y), len(f_u)
    if n < _FEWEST:
        return unknown("fewer than two labelled items")
    spread = float(f.var(ddof=1))
    lam = 0.0
    if spread > 0:
        lam = float(np.clip(np.cov(y, f)[0, 1] / (spread * (1 + n / others)), 0, 1))
    residual = y - lam * f
    theta = float(y.mean() + lam * (f_u.mean() - f.mean()))
    ours = (float(((residual - residual.mean()) ** 2).sum()) + 1) / (n * (n - 1))
    theirs = lam**2 * float(f_u.var(ddof=1)) / others if others > 1 else 0.0
    half = float(stdtrit(n - 1, 1 - TAIL)) * (ours + theirs) ** 0.5
    return Estimate(estimate=theta, low=theta - half, high=theta + half)


@dataclass(frozen=True, kw_only=True)
class Shares:
    """The judge's share of the class, item by item, and the calls behind them.

    Attributes:
        x: one share an item.
        calls: calls of all these items.
    """

    x: Floats
    calls: int

    @property
    def mean(self) -> float:
        """The mean over items."""
        return float(self.x.mean())

    def draws(self, random: np.random.Generator) -> Floats:
        """Draw the share: Beta(p m + .5, (1 - p) m + .5) at the effective size m."""
        m, p = effective_size(self.x, self.calls), self.mean
        return random.beta(p * m + 0.5, (1 - p) * m + 0.5, size=DRAWS)


def rogan_gladen(
    positive: Shares, negative: Shares, unlabelled: Shares, random: np.random.Generator
) -> tuple[Estimate, Estimate]:
    """Return the share of the class among unlabelled items, and among all items.

    theta = clip((q + TNR - 1) / (TPR + TNR - 1), 0, 1) in draws of TPR, TNR and q; a draw with
    TPR + TNR <= 1 counts as 0 below and 1 above. No point where that happens in more than .025 of
    the draws: the judge may be no better than a coin.

    Args:
        positive: shares on labelled items of the class: their mean is the TPR.
        negative: shares on labelled items of other classes: their mean is 1 - TNR.
        unlabelled: shares on items nobody labelled: their mean is q.
        random: the stream of the draws.
    """
    tpr, fpr = positive.draws(random), negative.draws(random)
    q = unlabelled.draws(random)
    gap = tpr - fpr
    useless = gap <= 0
    with np.errstate(invalid="ignore", divide="ignore"):
        theta = np.clip((q - fpr) / gap, 0, 1)
    low = float(np.quantile(np.where(useless, 0.0, theta), TAIL))
    high = float(np.quantile(np.where(useless, 1.0, theta), 1 - TAIL))
    point, reason = nan, ""
    if useless.mean() > _MOST_USELESS:
        reason = (
            "TPR + TNR is near 1: the judge may say as much as a coin, so its word corrects nothing"
        )
    else:
        gap_seen = positive.mean - negative.mean
        point = float(np.clip((unlabelled.mean - negative.mean) / gap_seen, 0, 1))
    there = Estimate(estimate=point, low=low, high=high, reason=reason)
    n1, n = len(positive.x), len(positive.x) + len(negative.x)
    everywhere = [
        (n1 + len(unlabelled.x) * x) / (n + len(unlabelled.x)) for x in (point, low, high)
    ]
    return there, Estimate(
        estimate=everywhere[0], low=everywhere[1], high=everywhere[2], reason=reason
    )
