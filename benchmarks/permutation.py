"""Processor time of one draw of the permutation tests, and of the exact call variance.

These are no ratios, so processor time stands in for a quiet machine.
"""

import time
from collections.abc import Callable

import numpy as np

from benchmarks.figure import Figure
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import call_errors, permutation_test

SHAPE = (50, 6, 2)
REPEATS = 8


def run(quick: bool = False) -> list[Figure]:
    draws = 99 if quick else 999
    laws = np.broadcast_to([0.4, 0.3, 0.2, 0.1], (*SHAPE, 4))
    tensor = VerdictTensor.from_laws(laws, repeats=REPEATS, seed=0)
    what = "50 items x 6 prompts x 2 orders x 8 repeats"
    figures = [
        Figure(
            name=f"permutation draw, {name} (ms)",
            value=1e3
            * processor(lambda options=options: permutation_test(tensor, **options))
            / draws,
            target=1,
            direction="at most",
            detail=f"{what}, {draws} draws, {options_in_words}",
        )
        for name, options_in_words, options in (
            ("prompt", "within repeat ranks", {"draws": draws}),
            ("order", "within repeat ranks", {"facet": "order", "draws": draws}),
            ("from counts", "within whole blocks", {"within": "block", "draws": draws}),
            ("studentised", "with the exact call variance", {"studentised": True, "draws": draws}),
        )
    ]
    items = 2_000 if quick else 20_000
    counts = np.random.default_rng(0).multinomial(8, [0.4, 0.3, 0.2, 0.1], size=(items, 6, 2))
    seconds = processor(lambda: call_errors(counts))
    return [
        *figures,
        Figure(
            name="exact call variance (microseconds an item)",
            value=1e6 * seconds / items,
            target=50,
            direction="at most",
            detail=f"{items:,} items of (6, 2, 4) counts, all components and contrasts at once",
        ),
    ]


def processor(function: Callable[[], object], times: int = 3) -> float:
    """Return the least processor time of several runs, in seconds."""
    least = float("inf")
    for _ in range(times):
        start = time.process_time()
        function()
        least = min(least, time.process_time() - start)
    return least
