"""A gate: limits on what a judge may show, each passed, failed, or not decided by these calls."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from typing import Literal

import numpy as np

from judgelaw.analysis.depths import Declaration
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import COMPONENTS, decompose
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty.bounds import deviation_bound
from judgelaw.uncertainty.call_variance import MIN_REPEATS
from judgelaw.uncertainty.calls import call_interval
from judgelaw.uncertainty.forms import absent_reason
from judgelaw.uncertainty.gates import Verdict
from judgelaw.uncertainty.items import item_interval
from judgelaw.uncertainty.projection import prompt_projection
from judgelaw.uncertainty.results import Interval

Side = Literal["max", "min"]
Scope = Literal["fixed", "new-items"]

MAXIMA = (*COMPONENTS, "invalid")
MINIMA = ("coverage",)
_PROJECTED = 3
_DRAWN = "the drawn prompts are held fixed: the error of drawing them is not in these bounds"


@dataclass(frozen=True, kw_only=True)
class Limit:
    """One limit: the largest component or invalid rate, or the least coverage, that may be."""

    quantity: str
    side: Side
    value: float

    def __post_init__(self) -> None:
        allowed = MAXIMA if self.side == "max" else MINIMA
        if self.quantity not in allowed:
            other = "min" if self.side == "max" else "max"
            hint = f"; --{other} {self.quantity}=... is there" if self._elsewhere else ""
            raise InputError(
                f"no limit --{self.side} {self.quantity}: it takes {', '.join(allowed)}{hint}"
            )
        if not 0 <= self.value <= 1:
            raise InputError(
                f"--{self.side} {self.quantity}={self.value:g}: a limit lies between 0 and 1"
            )

    @property
    def _elsewhere(self) -> bool:
        return self.quantity in (MINIMA if self.side == "max" else MAXIMA)


@dataclass(frozen=True, kw_only=True)
class LimitDecision:
    """Whether one judge keeps one limit.

    Attributes:
        judge, quantity, side, limit: what was asked.
        verdict: "pass", "fail" or "inconclusive".
        estimate: what was compared with the limit.
        lower, upper: one-sided bounds, each at `level`; nan where there are none.
        covers: which randomness the bounds cover.
        reason: why it is inconclusive, or what to know about the bounds; None otherwise.
    """

    judge: str
    quantity: str
    side: Side
    limit: float
    verdict: Verdict
    estimate: float
    lower: float
    upper: float
    level: float
    covers: str
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class GateReport:
    """The whole gate: failed if one limit failed, else inconclusive if one is, else passed."""

    verdict: Verdict
    limits: tuple[LimitDecision, ...]


@dataclass(frozen=True, kw_only=True)
class Bounded:
    """An estimate between one-sided bounds, nan where there are none."""

    estimate: float
    lower: float
    upper: float
    covers: str
    reason: str | None = None


def check_limits(
    tensors: Mapping[str, VerdictTensor],
    limits: Sequence[Limit],
    *,
    scope: Scope = "fixed",
    level: float = 0.95,
    declared: Declaration | None = None,
    coverage: Mapping[str, float] | None = None,
) -> GateReport:
    """Hold every judge against every limit, by one-sided bounds.

    pass if the upper bound is below the limit, fail if the lower bound is above it.

    Args:
        tensors: the calls, by judge.
        limits: what to check.
        scope: "fixed" for these items asked again (call error), "new-items" for items drawn anew
            from the same strata (item error, which contains call noise).
        level: confidence of each bound.
        declared: design and order weights.
        coverage: share of the planned calls that are there, by judge; needed for its limit.
    """
    if not limits:
        raise InputError(
            "no limit: a gate needs one, such as --max prompt=0.02, or `gate:` in the study"
        )
    asked = declared or Declaration()
    decisions = []
    for judge, tensor in tensors.items():
        for limit in limits:
            if limit.quantity == "coverage":
                found = _coverage(judge, coverage or {})
            elif limit.quantity == INVALID:
                found = _invalid(tensor, scope, level)
            else:
                found = _component(tensor, limit.quantity, scope, level, asked)
            decisions.append(_decided(judge, limit, found, level))
    return GateReport(verdict=overall(d.verdict for d in decisions), limits=tuple(decisions))


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the verdict of several limits together."""
    found = set(verdicts)
    return "fail" if "fail" in found else "inconclusive" if "inconclusive" in found else "pass"


def _decided(judge: str, limit: Limit, found: Bounded, level: float) -> LimitDecision:
    """Compare the bounds with the limit."""
    verdict: Verdict = "inconclusive"
    kept, broken = found.upper < limit.value, found.lower > limit.value
    if limit.side == "min":
        kept, broken = found.lower >= limit.value, found.upper < limit.value
    if kept or broken:
        verdict = "pass" if kept else "fail"
    reason = found.reason
    if verdict == "inconclusive" and reason is None:
        reason = (
            f"the limit {limit.value:g} lies between the bounds: acquire more calls or items, or "
            "move the limit"
        )
    return LimitDecision(
        judge=judge,
        quantity=limit.quantity,
        side=limit.side,
        limit=limit.value,
        verdict=verdict,
        estimate=found.estimate,
        lower=found.lower,
        upper=found.upper,
        level=level,
        covers=found.covers,
        reason=reason,
    )


def _component(
    tensor: VerdictTensor, name: str, scope: Scope, level: float, declared: Declaration
) -> Bounded:
    """Bound a component by the error that the scope asks for, one-sided t."""
    found, note = _error(tensor, name, scope, declared)
    if found.reason is None:
        sided = found.at_level(2 * level - 1)
        return Bounded(
            estimate=found.estimate,
            lower=sided.low,
            upper=sided.high,
            covers=found.covers,
            reason=note,
        )
    if scope == "fixed" and not np.isnan(found.estimate):
        return _by_deviation(tensor, name, level, declared)
    return Bounded(
        estimate=found.estimate, lower=nan, upper=nan, covers=found.covers, reason=found.reason
    )


def _error(
    tensor: VerdictTensor, name: str, scope: Scope, declared: Declaration
) -> tuple[Interval, str | None]:
    """Return the estimate with the error that the scope asks for, and a note on it."""
    values = decompose(tensor, design=declared.design, order_weights=declared.order_weights)[name]
    items = item_interval(values, strata=tensor.strata)
    if np.isnan(values).any():
        return replace(items, reason=absent_reason(name)), None
    drawn_fixed = _DRAWN if declared.design == "sampled" else None
    if scope == "new-items":
        return items, drawn_fixed
    if declared.design == "sampled" and name == "prompt" and len(tensor.prompts) >= _PROJECTED:
        drawn = prompt_projection(tensor, order_weights=declared.order_weights).interval()
        return drawn, drawn.warning
    if tensor.depth[0] < MIN_REPEATS:
        return items, (
            f"R = {tensor.depth[0]}: call error needs {MIN_REPEATS} repeats; the item error used "
            "instead contains it, and is conservative for a fixed benchmark"
        )
    calls = call_interval(
        tensor, name, design=declared.design, order_weights=declared.order_weights
    )
    if calls.reason is None:
        return calls, drawn_fixed
    return items, "calls show no noise here; the item error used instead is conservative"


def _by_deviation(tensor: VerdictTensor, name: str, level: float, declared: Declaration) -> Bounded:
    """Bound a component by McDiarmid where neither calls nor items vary: wide, always valid."""
    bound = deviation_bound(
        tensor,
        name,
        level=2 * level - 1,
        design=declared.design,
        order_weights=declared.order_weights,
    )
    return Bounded(
        estimate=bound.estimate,
        lower=bound.low,
        upper=bound.high,
        covers="call sampling, whatever the laws (McDiarmid)",
        reason="neither calls nor items vary, so no error can be estimated: a distribution-free "
        "bound was used; more repeats or items narrow it",
    )


def _invalid(tensor: VerdictTensor, scope: Scope, level: float) -> Bounded:
    """Bound the rate of invalid outputs.

    Fixed items: exact binomial bounds over all calls, valid for unequal rates of cells as well,
    since a sum of unequal Bernoulli variables varies less (Hoeffding 1956). New items: the t
    bound over items; where no item has one, the share of items that would have any, which is
    larger, is bounded exactly.
    """
    n = tensor.counts.sum(axis=(1, 2))
    bad = np.zeros(len(n)) if INVALID not in tensor.verdicts else n[..., _code(tensor)]
    calls = n.sum(axis=1)
    rate = float(bad.sum() / calls.sum())
    if scope == "fixed":
        lower, upper = _binomial(int(bad.sum()), int(calls.sum()), level)
        covers = "call sampling, with the items fixed (exact binomial)"
        return Bounded(estimate=rate, lower=lower, upper=upper, covers=covers)
    if bad.sum() == 0:
        lower, upper = _binomial(0, len(n), level)
        covers = "new items: the share of items with any invalid output (exact binomial)"
        return Bounded(estimate=rate, lower=lower, upper=upper, covers=covers)
    found = item_interval(bad / calls, strata=tensor.strata, level=2 * level - 1)
    return Bounded(
        estimate=found.estimate,
        lower=found.low,
        upper=found.high,
        covers=found.covers,
        reason=found.reason,
    )


def _code(tensor: VerdictTensor) -> int:
    return tensor.verdicts.index(INVALID)


def _binomial(hits: int, of: int, level: float) -> tuple[float, float]:
    """Return exact one-sided bounds of a proportion (Clopper and Pearson), each at `level`."""
    from scipy.special import betaincinv  # noqa: PLC0415 - scipy loads when it is needed

    low = 0.0 if hits == 0 else float(betaincinv(hits, of - hits + 1, 1 - level))
    high = 1.0 if hits == of else float(betaincinv(hits + 1, of - hits, level))
    return low, high


def _coverage(judge: str, coverage: Mapping[str, float]) -> Bounded:
    """Return the share of planned calls that are there: a fact, with no error."""
    if judge not in coverage:
        raise NotIdentifiedError(
            f"the coverage of {judge!r} is not known: leave --min coverage out"
        )
    there = coverage[judge]
    return Bounded(
        estimate=there, lower=there, upper=there, covers="nothing random: a count of calls"
    )
