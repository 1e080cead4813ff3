"""`decompose` on a million items against one NumPy pass over the same array."""

import tracemalloc

import numpy as np

import judgelaw as jl
from benchmarks.figure import Figure, best


def run(quick: bool = False) -> list[Figure]:
    items = 100_000 if quick else 1_000_000
    rng = np.random.default_rng(0)
    counts = rng.multinomial(8, [0.4, 0.3, 0.2, 0.1], size=(items, 6, 2))
    one_pass = best(counts.sum)
    whole = best(lambda: jl.decompose(counts), 3)
    tracemalloc.start()
    jl.decompose(counts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return [
        Figure(
            name="decompose, time",
            value=whole / one_pass,
            target=20,
            direction="at most",
            detail=f"{items:,} items of (6, 2, 4) counts: {whole:.2f} s against {one_pass:.3f} s "
            "for counts.sum()",
        ),
        Figure(
            name="decompose, memory",
            value=1 + peak / counts.nbytes,
            target=1.5,
            direction="at most",
            detail=f"peak with the array itself, as a multiple of its {counts.nbytes / 1e6:.0f} MB",
        ),
    ]
