"""`judgelaw analyze` on a table of the size of the paper's: 44,112 calls in seven streams."""

import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

from benchmarks.figure import Figure, best
from judgelaw.tables import write_calls
from judgelaw.worlds import World

WORLD = World.from_effects(prompt=0.003, order=0.015, interaction=0.001, item_spread=0.3)
# layer, judge, items, repeats, strata: the matched layers, the broad audit, three further judges.
STREAMS = (
    ("control", "judge-1", 50, 8, 5),
    ("evaluation", "judge-1", 50, 8, 5),
    ("reference", "judge-1", 50, 16, 5),
    ("broad", "judge-1", 369, 4, 10),
    ("evaluation", "judge-2", 50, 4, 5),
    ("evaluation", "judge-3", 50, 4, 5),
    ("evaluation", "judge-4", 50, 4, 5),
)
COLUMNS = ("judge", "layer", "item", "stratum", "prompt", "order", "repeat", "verdict", "gold")


def run(quick: bool = False) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="judgelaw-bench-") as folder:
        table = Path(folder) / "calls.parquet"
        calls = generate(table)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        times = 1 if quick else 3
        wall = best(lambda: analyze(table), times)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        used = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / times
        permuted = best(lambda: analyze(table, permutations=99), 1)
    return [
        Figure(
            name="analyze 44,112 calls, seconds",
            value=wall,
            target=3.0,
            direction="at most",
            detail=f"{calls:,} calls, {len(STREAMS)} streams, 20,000 draws, every table and "
            f"diagnostic, process start and imports included; {used:.2f} s of processor time",
        ),
        Figure(
            name="permutation tests, milliseconds a draw",
            value=1000 * (permuted - wall) / (99 * 2 * len(STREAMS)),
            target=5.0,
            direction="at most",
            detail="prompts and orders of every stream, averaged over streams",
        ),
    ]


def generate(table: Path) -> int:
    """Write the seven streams as one canonical calls table; return the number of calls."""
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for seed, (layer, judge, items, repeats, strata) in enumerate(STREAMS):
        start = 50 if layer == "broad" else 0
        names = [f"item-{start + i:03d}" for i in range(items)]
        tensor = WORLD.tensor(items=names, prompts=6, orders=2, repeats=repeats, seed=seed)
        tensor = replace(tensor, orders=("AB", "BA"))
        for i, k, o, r in product(*(range(n) for n in tensor.ranked.shape)):
            verdict = tensor.verdicts[tensor.ranked[i, k, o, r]]
            place = (names[i], f"s{i % strata}", tensor.prompts[k], tensor.orders[o], r)
            row = (judge, layer, *place, verdict, "candidate_1")
            for name, value in zip(COLUMNS, row, strict=True):
                columns[name].append(value)
    write_calls(table, [columns])
    return len(columns["judge"])


def analyze(table: Path, permutations: int = 0) -> None:
    subprocess.run(
        [
            *(sys.executable, "-m", "judgelaw", "analyze", str(table)),
            *("--permutations", str(permutations), "--json", os.devnull),
        ],
        check=True,
        capture_output=True,
    )
