"""From shuffled Parquet calls tables to all components, against DuckDB's bare GROUP BY."""

import subprocess
import sys
import tempfile
from pathlib import Path

import duckdb

import judgelaw as jl
from benchmarks.figure import Figure, best

# ruff: noqa: S608 - numbers and a path of our own

REPEATS = 17
CELLS = 12
FILES = 10

READ_IN_A_CHILD = """
import sys, time
import judgelaw as jl
jl.decompose(jl.VerdictTensor.from_table(sys.argv[1])).macro()
status = open("/proc/self/status").read()
print(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")))
"""


def run(quick: bool = False) -> list[Figure]:
    items = 5_000 if quick else 50_000
    with tempfile.TemporaryDirectory(prefix="judgelaw-bench-") as folder:
        table = Path(folder) / "calls.parquet"
        generate(table, items)
        bare, whole, read = measure(str(table), times=3)
    figures = [
        Figure(
            name="calls table to components, time",
            value=whole / bare,
            target=2.0,
            direction="at most",
            detail=f"{items * CELLS * REPEATS:,} shuffled Parquet rows, {items:,} items: "
            f"{whole:.2f} s ({read:.2f} s of it reading, duplicates checked) against {bare:.2f} s "
            "for DuckDB's GROUP BY count over judge, item, prompt, order and verdict, left there",
        )
    ]
    return figures if quick else figures + big(items * FILES, whole)


def big(items: int, tenth: float) -> list[Figure]:
    """Measure ten times the rows: time, memory, and how both grow."""
    with tempfile.TemporaryDirectory(prefix="judgelaw-bench-") as folder:
        for file in range(FILES):
            generate(Path(folder) / f"part-{file}.parquet", items, file, FILES)
        bare, whole, _ = measure(f"{folder}/*.parquet", times=1)
        child = [sys.executable, "-c", READ_IN_A_CHILD, folder]
        peak = int(subprocess.run(child, check=True, capture_output=True, text=True).stdout) / 2**20
    rows = f"{items * CELLS * REPEATS:,} rows in {FILES} files"
    return [
        Figure(
            name="big calls table to components, time",
            value=whole / bare,
            target=2.0,
            direction="at most",
            detail=f"{rows}: {whole:.0f} s against {bare:.0f} s for DuckDB's GROUP BY count",
        ),
        Figure(
            name="big calls table to components, GB of memory",
            value=peak,
            target=2.0,
            direction="at most",
            detail=f"{rows}: peak resident memory of a process that does it",
        ),
        Figure(
            name="calls table to components, growth",
            value=whole / tenth,
            target=11.0,
            direction="at most",
            detail=f"{rows}: {whole:.0f} s against {tenth:.1f} s for a tenth of them",
        ),
    ]


def measure(source: str, times: int) -> tuple[float, float, float]:
    """Alternate, so that a busy moment of the machine does not fall on one side alone."""
    bare = whole = read = float("inf")
    for _ in range(times):
        bare = min(bare, best(lambda: group_by(source), 1))
        whole = min(whole, best(lambda: components(source), 1))
        read = min(read, best(lambda: jl.VerdictTensor.from_table(source), 1))
    return bare, whole, read


def generate(table: Path, items: int, part: int = 0, parts: int = 1) -> None:
    """Write items x 6 prompts x 2 orders x 17 repeats in random order, or one of several parts."""
    rows = items * CELLS * REPEATS // parts
    with duckdb.connect() as con:
        con.execute(
            f"""COPY (
                SELECT 'judge-a' AS judge,
                    'item-' || lpad((i // {CELLS * REPEATS})::VARCHAR, 6, '0') AS item,
                    'prompt-' || ((i // {2 * REPEATS}) % 6) AS prompt,
                    CASE WHEN (i // {REPEATS}) % 2 = 0 THEN 'AB' ELSE 'BA' END AS "order",
                    (i % {REPEATS})::INTEGER AS repeat,
                    CASE WHEN hash(i + 1) % 10 < 6 THEN 'candidate_1'
                        WHEN hash(i + 1) % 10 < 8 THEN 'candidate_2'
                        WHEN hash(i + 1) % 10 < 9 THEN 'tie' ELSE 'invalid' END AS verdict
                FROM (SELECT j * {parts} + {part} AS i FROM range({rows}) t(j)) ORDER BY hash(i)
            ) TO '{table}' (FORMAT parquet)"""
        )


def group_by(source: str) -> None:
    """Count in DuckDB and leave the counts there: the least that any reader has to do."""
    with duckdb.connect() as con:
        con.execute(
            'CREATE TABLE counts AS SELECT judge, item, prompt, "order", verdict, count(*) AS n '
            f"FROM '{source}' GROUP BY ALL"
        )


def components(source: str) -> jl.Decomposition:
    return jl.decompose(jl.VerdictTensor.from_table(source)).macro()
