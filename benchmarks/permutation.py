"""Processor time of one draw of the permutation tests, and of the exact call variance.

These are no ratios, so processor time stands in for a quiet machine.
"""

import time
from collections.abc import Callable

import numpy as np

from benchmarks.figure import at_most, shown
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import call_errors, permutation_test

LAW = (0.4, 0.3, 0.2, 0.1)
REPEATS = 8
DRAWS = {
    at_most("permutation draw, prompt (ms)", 1): ("within repeat ranks", {}),
    at_most("permutation draw, order (ms)", 1): ("within repeat ranks", {"facet": "order"}),
    at_most("permutation draw, from counts (ms)", 1): ("within whole blocks", {"within": "block"}),
    at_most("permutation draw, studentised (ms)", 1): (
        "with the exact call variance",
        {"studentised": True},
    ),
}
GROWTH = shown("permutation test, growth")
VARIANCE = at_most("exact call variance (microseconds an item)", 50)
VARIANCE_GROWTH = shown("exact call variance, growth")
TARGETS = (*DRAWS, GROWTH, VARIANCE, VARIANCE_GROWTH)


def run(quick: bool = False):
    draws = 99 if quick else 999
    tensor = _tensor(50)
    what = "50 items x 6 prompts x 2 orders x 8 repeats"
    return [
        *(
            target.found(
                1e3
                * processor(lambda o=options: permutation_test(tensor, draws=draws, **o))
                / draws,
                f"{what}, {draws} draws, {words}; processor time, best of 3",
            )
            for target, (words, options) in DRAWS.items()
        ),
        _growth(),
        *_variance(2_000 if quick else 20_000),
    ]


def _tensor(items: int) -> VerdictTensor:
    laws = np.broadcast_to(LAW, (items, 6, 2, 4))
    return VerdictTensor.from_laws(laws, repeats=REPEATS, seed=0)


def _growth():
    tensors = _tensor(50), _tensor(500)
    few, many = (processor(lambda t=t: permutation_test(t, draws=99)) for t in tensors)
    return GROWTH.found(many / few, "from 50 to 500 items at 99 draws, processor time")


def _variance(items: int):
    counts = np.random.default_rng(0).multinomial(8, LAW, size=(items, 6, 2))
    few, many = (processor(lambda c=c: call_errors(c)) for c in (counts[: items // 10], counts))
    return [
        VARIANCE.found(
            1e6 * many / items,
            f"{items:,} items of (6, 2, 4) counts, all components and contrasts at once; "
            "processor time, best of 3",
        ),
        VARIANCE_GROWTH.found(many / few, f"from {items // 10:,} to {items:,} items"),
    ]


def processor(function: Callable[[], object], times: int = 3) -> float:
    """Return the least processor time of several runs, in seconds."""
    least = float("inf")
    for _ in range(times):
        start = time.process_time()
        function()
        least = min(least, time.process_time() - start)
    return least
