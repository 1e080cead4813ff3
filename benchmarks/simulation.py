"""`simulate point` in full against NumPy drawing one uniform per simulated call."""

import subprocess
import sys

import numpy as np

from benchmarks.figure import at_most, in_turn, shown
from judgelaw.replication import simulate_point

ITEMS = 200_000
CALLS_PER_ITEM = (5 + 5 + 6 + 6) * 2 * 8
"""Two worlds each of five and six prompts, two orders, eight repeats."""

TIME = at_most("simulate point / one float32 uniform per call", 10)
MEMORY = at_most("simulate point, peak memory in MB", 1000)
GROWTH = shown("simulate point, growth")
TARGETS = (TIME, MEMORY, GROWTH)

CHILD = """
from benchmarks.figure import peak_mb
from judgelaw.replication import simulate_point
simulate_point(items={items})
print(peak_mb())
"""


def run(quick: bool = False):
    items, times = (ITEMS // 10, 2) if quick else (ITEMS, 5)
    calls = items * CALLS_PER_ITEM
    megabytes = _memory(items)
    uniforms, point, tenth = in_turn(
        lambda: np.random.default_rng(0).random(calls, dtype=np.float32),
        lambda: simulate_point(items=items),
        lambda: simulate_point(items=items // 10),
        times=times,
    )
    return [
        TIME.found(
            point / uniforms,
            f"{point:.2f} s against {uniforms:.2f} s for {calls / 1e6:.1f} million calls, "
            f"best of {times} in turn",
        ),
        MEMORY.found(megabytes, "resident set of a process of its own, libraries included"),
        GROWTH.found(point / tenth, f"from {items // 10:,} to {items:,} items"),
    ]


def _memory(items: int) -> float:
    command = [sys.executable, "-c", CHILD.format(items=items)]
    child = subprocess.run(command, check=True, capture_output=True, text=True)
    return float(child.stdout)
