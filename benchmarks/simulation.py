"""`simulate point` in full against NumPy drawing one uniform per simulated call."""

import subprocess
import sys

import numpy as np

from benchmarks.figure import Figure, best
from judgelaw.simulate import simulate_point

ITEMS = 200_000
CALLS_PER_ITEM = (5 + 5 + 6 + 6) * 2 * 8
"""Two worlds each of five and six prompts, two orders, eight repeats."""

MEMORY = """
import resource
from judgelaw.simulate import simulate_point
simulate_point(items={items})
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def run(quick: bool = False) -> list[Figure]:
    items = ITEMS // 10 if quick else ITEMS
    calls = items * CALLS_PER_ITEM
    # First of all: a child starts with the high-water mark of its parent.
    child = subprocess.run(
        [sys.executable, "-c", MEMORY.format(items=items)],
        check=True,
        capture_output=True,
        text=True,
    )
    megabytes = int(child.stdout) / 1024
    uniforms = best(lambda: np.random.default_rng(0).random(calls, dtype=np.float32), times=3)
    point = best(lambda: simulate_point(items=items), times=3)
    return [
        Figure(
            name="simulate point / one float32 uniform per call",
            value=point / uniforms,
            target=10,
            direction="at most",
            detail=f"{point:.2f} s against {uniforms:.2f} s for {calls / 1e6:.1f} million calls",
        ),
        Figure(
            name="simulate point, peak memory in MB",
            value=megabytes,
            target=1000,
            direction="at most",
            detail="resident set of a process of its own, libraries included",
        ),
    ]
