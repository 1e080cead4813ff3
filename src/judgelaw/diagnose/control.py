"""The control layer: hidden labels on byte-identical requests, so the prompt target is 0."""

from collections.abc import Sequence
from math import inf, isnan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.diagnose.family import (
    Bundle,
    Floats,
    Test,
    by_chance,
    permutation_p,
    rate,
    severity,
)
from judgelaw.diagnose.finding import Finding, Severity
from judgelaw.diagnose.shuffles import log_arrangements
from judgelaw.estimate import Design, decompose
from judgelaw.estimate.weights import Weights, weights_of
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_variance import MIN_REPEATS
from judgelaw.uncertainty.calls import call_interval
from judgelaw.uncertainty.items import item_interval
from judgelaw.uncertainty.results import Interval
from judgelaw.uncertainty.shuffle import Shuffler

_LEVEL = 0.99
_CALLS_AT_ONCE = 1 << 18


def control_test(
    tensor: VerdictTensor,
    rng: np.random.Generator,
    *,
    design: Design = "census",
    order_weights: Weights = None,
) -> Bundle:
    """Return the exact two-sided test of "labels change nothing".

    All calls of an item and order were made with one payload, so they are exchangeable over labels
    and ranks. The corrected prompt component has mean 0 over their shuffles.
    """
    if len(tensor.prompts) == 1:
        return Bundle(least={"control": inf}, run=lambda *_: ())
    blocks = tensor.counts.sum(axis=1)
    n = tensor.counts[((blocks > 0).sum(axis=-1) > 1).any(axis=-1)]
    q = weights_of("order", order_weights, len(tensor.orders), tensor.orders)
    shuffler = Shuffler.of(n, None, "prompt") if len(n) else None

    def off(counts: NDArray[Any]) -> Floats:
        found = decompose(counts, design=design, order_weights=q).prompt
        return np.asarray(np.abs(found.sum(axis=-1)))

    def run(_: Sequence[str], most: int) -> list[float]:
        if shuffler is None:
            return [1.0]
        at_once = max(1, _CALLS_AT_ONCE // shuffler.calls)

        def draw(size: int) -> Floats:
            sizes = [min(at_once, size - start) for start in range(0, size, at_once)]
            return np.concatenate([off(shuffler.draw(rng, k)) for k in sizes])

        return [permutation_p(float(off(n[None])[0]), draw, most)]

    return Bundle(least={"control": float(np.exp(-log_arrangements(blocks).sum()))}, run=run)


def control_finding(
    tensor: VerdictTensor,
    test: Test,
    *,
    subject: str,
    design: Design = "census",
    order_weights: Weights = None,
) -> Finding:
    """Say whether labels that change nothing seem to matter.

    The corrected prompt component of a control layer estimates 0 under independent, exchangeable
    calls, while the plug-in stays above it by call noise alone. A corrected value that shuffles of
    the labels do not reach accuses the pipeline, not the prompts.
    """
    if isnan(test.together):
        return _unknown(test, subject)
    error = _error(tensor, design, order_weights)
    plugin = decompose(tensor, design=design, order_weights=order_weights).plugin["prompt"]
    found = severity(test)
    shown = "" if error.reason else f" (99% interval [{error.low:.4f}, {error.high:.4f}])"
    return Finding(
        name="control",
        verdict=found,
        headline=(
            f"Labels that change nothing have a prompt component of {error.estimate:.4f}{shown}, "
            f"where 0 is the truth; the plug-in says {plugin.mean():.4f}.{rate(test)}"
        ),
        advice=_ADVICE[found],
        subject=subject,
        figures={
            "estimate": error.estimate,
            "plugin": float(plugin.mean()),
            "low": error.low,
            "high": error.high,
            "p": test.p,
            "p_adjusted": test.together,
        },
    )


def _unknown(test: Test, subject: str) -> Finding:
    why = f": {by_chance(test)}." if test.least <= 1 else "."
    return Finding(
        name="control",
        verdict="unknown",
        headline="Whether labels change anything is not testable here.",
        advice=f"It needs two labels, and calls of one payload that disagree{why}",
        subject=subject,
    )


_ACCUSED = (
    "Calls of one payload are not exchangeable across labels: look for caching, batching or "
    "scheduling by label before believing any prompt component of this run."
)
_ADVICE: dict[Severity, str] = {
    "ok": "Nothing to do: the correction removes what the plug-in adds.",
    "notice": _ACCUSED,
    "problem": _ACCUSED,
}


def _error(tensor: VerdictTensor, design: Design, order_weights: Weights) -> Interval:
    if tensor.depth[0] >= MIN_REPEATS:
        return call_interval(tensor, level=_LEVEL, design=design, order_weights=order_weights)
    values = decompose(tensor, design=design, order_weights=order_weights).prompt
    return item_interval(values, strata=tensor.strata, level=_LEVEL)
