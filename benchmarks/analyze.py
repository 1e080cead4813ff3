"""`judgelaw analyze` on the paper's protocol: 44,112 calls in seven streams, as people have them.

People have run folders, so the folder is what the target is about; a table of the same calls stands
beside it.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from dataclasses import replace
from itertools import product
from pathlib import Path

from benchmarks.figure import at_most, best, progress, shown
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
DRAWS = 999
LAW = "prompt: 0.003, order: 0.015, interaction: 0.001, item_spread: 0.3"
STUDY = f"""
version: 1
name: paper
seed: 1
items:
  source: jsonl
  path: items.jsonl
  selections: {{matched: {{per_stratum: 10}}, rest: {{complement_of: matched}}}}
prompts: paper-six
judges:
  - {{name: judge-1, provider: simulated, model: one, law: {{world: {{{LAW}, seed: 1}}}}}}
  - {{name: judge-2, provider: simulated, model: two, law: {{world: {{{LAW}, seed: 2}}}}}}
  - {{name: judge-3, provider: simulated, model: three, law: {{world: {{{LAW}, seed: 3}}}}}}
  - {{name: judge-4, provider: simulated, model: four, law: {{world: {{{LAW}, seed: 4}}}}}}
layers:
  - {{name: evaluation, role: evaluation, repeats: 8, items: matched, judges: [judge-1]}}
  - {{name: reference, role: reference, repeats: 16, items: matched, judges: [judge-1]}}
  - {{name: control, role: control, repeats: 8, items: matched, labels: 6, judges: [judge-1]}}
  - {{name: broad, repeats: 4, items: rest, judges: [judge-1]}}
  - {{name: panel, repeats: 4, items: matched, judges: [judge-2, judge-3, judge-4]}}
transport: {{concurrency: 64}}
"""
COLUMNS = ("judge", "layer", "item", "stratum", "prompt", "order", "repeat", "verdict", "gold")


SECONDS = at_most("analyze a run folder of 44,112 calls, seconds", 3)
TABLE = shown("analyze a table of 44,112 calls, seconds")
PERMUTED = at_most("permutation tests, milliseconds a draw", 5)
GROWTH = shown("analyze, growth")
TARGETS = (SECONDS, TABLE, PERMUTED, GROWTH)


def run(quick: bool = False):
    times = 1 if quick else 5
    with tempfile.TemporaryDirectory(prefix="judgelaw-bench-") as folder:
        table = Path(folder) / "calls.parquet"
        calls = generate(table)
        run_folder(Path(folder))
        of_run = [spending(Path(folder) / "run", permutations=None) for _ in range(times)]
        spent = [spending(table) for _ in range(times)]
        permuted = min(spending(table, permutations=DRAWS)[1] for _ in range(min(times, 2)))
        wall, used = min(wall for wall, _ in spent), min(used for _, used in spent)
        figures = [
            SECONDS.found(
                min(wall for wall, _ in of_run),
                "five layers, seven streams, simulated judges; 20,000 draws, 999 shuffles, every "
                "table and diagnostic, process start and imports included, best of "
                f"{times}; {min(used for _, used in of_run):.2f} s of processor time",
            ),
            TABLE.found(
                wall,
                f"{calls:,} calls, {len(STREAMS)} streams, 20,000 draws, no shuffles, best of "
                f"{times}; {used:.2f} s of processor time",
            ),
            PERMUTED.found(
                1000 * (permuted - used) / (DRAWS * 2 * len(STREAMS)),
                f"{DRAWS} draws for prompts and orders of every stream; processor time beyond that "
                "of an analysis without them",
            ),
        ]
        return figures if quick else [*figures, growth(Path(folder) / "ten.parquet", calls, wall)]


def growth(table: Path, calls: int, wall: float):
    progress("ten times the items")
    many = generate(table, times=10)
    return GROWTH.found(
        best(lambda: analyze(table), 1) / wall,
        f"from {calls:,} to {many:,} calls, ten times the items in every stream",
    )


def spending(table: Path, permutations: int | None = 0) -> tuple[float, float]:
    """Return the wall and the processor seconds of one analysis."""
    before = _processor_seconds()
    wall = best(lambda: analyze(table, permutations), 1)
    return wall, _processor_seconds() - before


def _processor_seconds() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def generate(table: Path, *, times: int = 1) -> int:
    """Write the seven streams as one canonical calls table; return the number of calls.

    The broad audit follows the items of the other streams.
    """
    columns: dict[str, list[object]] = {name: [] for name in COLUMNS}
    for seed, (layer, judge, items, repeats, strata) in enumerate(STREAMS):
        start = 50 * times if layer == "broad" else 0
        names = [f"item-{start + i:05d}" for i in range(items * times)]
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


def analyze(source: Path, permutations: int | None = 0) -> None:
    """Analyse a table or a run; permutations as the program has them by default if None."""
    shuffles = () if permutations is None else ("--permutations", str(permutations))
    judgelaw("analyze", str(source), *shuffles, "--json", os.devnull)


def judgelaw(*arguments: str) -> None:
    """Run a command as it runs once installed: from bytecode, which pip writes for a package."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = f"{tempfile.gettempdir()}/judgelaw-bench-bytecode"
    command = [sys.executable, "-m", "judgelaw", *arguments]
    subprocess.run(command, check=True, capture_output=True, env=environment)


def run_folder(folder: Path) -> None:
    """Acquire the paper's protocol from simulated judges into `folder/run`."""
    progress("acquiring a run of simulated judges")
    items = [
        {
            "id": f"item-{i:03d}",
            "stratum": f"s{i % 5}",
            "instruction": f"Instruction {i}: " + "which of the two answers is right? " * 8,
            "candidate_1": f"The first answer to {i}.",
            "candidate_2": f"The second answer to {i}.",
            "gold": "candidate_1",
        }
        for i in range(419)
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    (folder / "study.yaml").write_text(STUDY)
    judgelaw("run", str(folder / "study.yaml"), "--out", str(folder / "run"))
