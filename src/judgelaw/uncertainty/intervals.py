"""What an uncertainty calculation hands on, and the interval of the two-repeat panel."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import lru_cache, wraps
from math import inf, isfinite, nan, sqrt
from typing import Concatenate, ParamSpec, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import COMPONENTS, Weights, panels
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.forms import Contrast, absent_reason, contrast_vector

_ROUNDING = 1e-12
S = TypeVar("S")
P = ParamSpec("P")
T = TypeVar("T")


def remembered(method: Callable[Concatenate[S, P], T]) -> Callable[Concatenate[S, P], T]:
    """Let a frozen value keep what its method returned, by arguments: many ask the same again."""
    place = f"_{method.__qualname__}"

    @wraps(method)
    def found(value: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        kept: dict[Hashable, T] = vars(value).setdefault(place, {})
        asked = (args, *kwargs.items())
        if asked not in kept:
            kept[asked] = method(value, *args, **kwargs)
        return kept[asked]

    return found


@dataclass(frozen=True, kw_only=True)
class Interval:
    """An estimate with its error.

    Attributes:
        estimate: the point estimate, raw.
        se: its standard error, nan where none can be had.
        low, high: ends of the two-sided interval, nan where none can be had.
        df: degrees of freedom of the t quantile used (inf for a normal one).
        level: nominal coverage.
        covers: which randomness the interval covers, in words.
        reason: why `se`, `low` and `high` are nan, or None.
        warning: what to know before believing a finite interval, or None.
        inverted: whether the ends are more than estimate -/+ t se.
    """

    estimate: float
    se: float
    low: float
    high: float
    df: float
    level: float
    covers: str
    reason: str | None = None
    warning: str | None = None
    inverted: bool = False

    @property
    def width(self) -> float:
        """Length of the interval."""
        return self.high - self.low

    def at_level(self, level: float) -> Self:
        """Return the same estimate and error with the interval of another level.

        Raises:
            InputError: the ends are more than estimate -/+ t se, so `se` and `df` do not give them.
        """
        check_level(level)
        if self.inverted:
            raise InputError(
                f"level = {level}: the ends of this interval are more than estimate -/+ t se, so "
                "another level cannot be had from it; ask for it anew with level=..."
            )
        if self.reason is not None:
            return replace(self, level=level)
        half = t_quantile((1 + level) / 2, self.df) * self.se
        return replace(self, level=level, low=self.estimate - half, high=self.estimate + half)


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A variance with the degrees of freedom that its estimate has."""

    variance: float
    df: float


def wider(B: Spread, S: Spread) -> Spread:
    """Return the larger variance with the smaller degrees of freedom; S where B is none."""
    if B.variance <= 0:
        return S
    return Spread(variance=max(B.variance, S.variance), df=min(B.df, S.df))


def t_interval(
    *,
    estimate: float,
    variance: float,
    df: float,
    level: float,
    covers: str,
    warning: str | None = None,
) -> Interval:
    """Return estimate -/+ t_df sqrt(variance); the variance is positive."""
    se = sqrt(variance)
    half = t_quantile((1 + level) / 2, df) * se
    return Interval(
        estimate=estimate,
        se=se,
        low=estimate - half,
        high=estimate + half,
        df=df,
        level=level,
        covers=covers,
        warning=warning,
    )


def no_interval(*, estimate: float, level: float, covers: str, reason: str) -> Interval:
    """Return an estimate whose error cannot be had, with the reason."""
    return Interval(
        estimate=estimate,
        se=nan,
        low=nan,
        high=nan,
        df=nan,
        level=level,
        covers=covers,
        reason=reason,
    )


@lru_cache(maxsize=1 << 14)
def t_quantile(probability: float, df: float) -> float:
    """Return the quantile of Student's t; df may be fractional or infinite."""
    from scipy.special import ndtri, stdtrit  # noqa: PLC0415 - scipy loads when it is needed

    return float(stdtrit(df, probability) if isfinite(df) else ndtri(probability))


def spread_of(V: NDArray[np.float64]) -> Spread:
    """Return the sum of independent terms' variances with its degrees of freedom, one or more."""
    total, squares = float(V.sum()), float((V**2).sum())
    return Spread(variance=total, df=max(1.0, 2 * total**2 / squares) if squares > 0 else 1.0)


def shifted_upper(e: float, spread: Spread, p: float, *, kappa: float = 3.0) -> float:
    """Return the upper end: a variance that grows with the estimate moves it outwards."""
    V = spread.variance
    if V <= 0:
        return e
    z, t = t_quantile(p, inf), t_quantile(p, spread.df)
    a = V / max(abs(e), kappa * sqrt(V))
    return e + z**2 * a / 2 + t * sqrt(V + z**2 * a**2 / 4)


def is_constant(values: NDArray[np.float64], *, axis: int = -1) -> NDArray[np.bool_]:
    """Say where values differ along an axis by no more than rounding.

    Equal values leave a computed variance of about 1e-34, which is not zero and would pass for an
    error of 1e-17: an interval of no width, from values that say nothing about their error.
    """
    size = np.maximum(1.0, np.abs(values).max(axis=axis))
    return np.asarray(np.ptp(values, axis=axis) <= _ROUNDING * size)


def check_level(level: float) -> None:
    """Require a nominal coverage strictly between 0 and 1."""
    if not 0 < level < 1:
        raise InputError(f"level = {level}: a nominal coverage lies between 0 and 1, such as 0.95")


_COVERS = "call sampling of the panel estimator, with the items and the prompt census fixed"


def panel_interval(
    tensor: VerdictTensor,
    contrast: Contrast = "prompt",
    *,
    level: float = 0.95,
    order_weights: Weights = None,
    prompt_weights: Weights = None,
) -> Interval:
    """Return the panel estimate with its Welch-Satterthwaite interval.

    Repeat ranks (0, 1), (2, 3), ... are J panels, each estimating U_i without bias. With s_i^2 the
    variance of item i over its panels, V = sum_i s_i^2 / (N^2 J) and
    nu = V^2 / sum_i {s_i^2 / (N^2 J)}^2 / (J - 1).

    Needs J >= 2, that is four ranks in every cell. The interval belongs to the panel estimate, not
    to the complete one, whose own (`call_interval`) is about half as wide.
    """
    check_level(level)
    found = panels(tensor, order_weights=order_weights, prompt_weights=prompt_weights)
    ell = contrast_vector(contrast)
    used = [(name, x) for name, x in zip(COMPONENTS, ell, strict=True) if x]
    if absent := [name for name, _ in used if np.isnan(found[name]).any()]:
        reason = absent_reason(absent[0])
        return no_interval(estimate=np.nan, level=level, covers=_COVERS, reason=reason)
    U = np.asarray(sum(x * found[name] for name, x in used))
    J = U.shape[-1]
    if J < 2:  # noqa: PLR2004 - a variance over panels
        raise NotIdentifiedError(
            f"{U.shape[-1]} panel of two repeats: the spread over panels needs two, that is four "
            "repeats in every cell; below that use the item error"
        )
    estimate, V, nu = (float(x) for x in welch(U))
    if not V > 0:
        reason = (
            "all panels of every item agree, so their spread says nothing about call noise: "
            "acquire more repeats, or use the item error"
        )
        return no_interval(estimate=estimate, level=level, covers=_COVERS, reason=reason)
    return t_interval(estimate=estimate, variance=V, df=nu, level=level, covers=_COVERS)


def welch(U: Floats) -> tuple[Floats, Floats, Floats]:
    """Return mean, variance and degrees of freedom of panel values (..., items, panels).

    The degrees are nan where no item varies over its panels.
    """
    N, J = U.shape[-2:]
    s2 = np.where(is_constant(U), 0.0, U.var(axis=-1, ddof=1))
    terms = s2 / (N**2 * J)
    V = terms.sum(axis=-1)
    squares = (terms**2).sum(axis=-1) / (J - 1)
    nu = np.divide(V**2, squares, out=np.full_like(V, np.nan), where=squares > 0)
    return U.mean(axis=(-1, -2)), V, nu
