"""`decompose` on a million items against one NumPy pass over the same array."""

import tracemalloc

import numpy as np

import judgelaw as jl
from benchmarks.figure import at_most, in_turn, shown

TIME = at_most("decompose, time", 20)
MEMORY = at_most("decompose, memory", 1.5)
GROWTH = shown("decompose, growth")
TARGETS = (TIME, MEMORY, GROWTH)


def run(quick: bool = False):
    items, times = (100_000, 3) if quick else (1_000_000, 7)
    rng = np.random.default_rng(0)
    counts = rng.multinomial(8, [0.4, 0.3, 0.2, 0.1], size=(items, 6, 2))
    tenth = counts[: items // 10]
    one_pass, whole, part = in_turn(
        counts.sum, lambda: jl.decompose(counts), lambda: jl.decompose(tenth), times=times
    )
    tracemalloc.start()
    jl.decompose(counts)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return [
        TIME.found(
            whole / one_pass,
            f"{items:,} items of (6, 2, 4) counts: {whole:.2f} s against {one_pass:.3f} s for "
            f"counts.sum(), best of {times} in turn",
        ),
        MEMORY.found(
            1 + peak / counts.nbytes,
            f"peak with the array itself, as a multiple of its {counts.nbytes / 1e6:.0f} MB",
        ),
        GROWTH.found(whole / part, f"from {items // 10:,} to {items:,} items"),
    ]
