"""From shuffled Parquet calls tables to all components, against DuckDB's bare GROUP BY."""

import json
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import duckdb

import judgelaw as jl
from benchmarks.figure import Figure, at_most, best, peak_mb, progress

# ruff: noqa: S608 - numbers and a path of our own

REPEATS = 17
CELLS = 12
FILES = 10
ENOUGH_S = 200
"""Another round over the big table is begun only while less than this was spent on it."""

TIME = at_most("calls table to components, time", 2.0)
BIG_TIME = at_most("big calls table to components, time", 2.0)
BIG_MEMORY = at_most("big calls table to components, GB of memory", 2.0)
GROWTH = at_most("calls table to components, growth", 11.0)
TARGETS = (TIME, BIG_TIME, BIG_MEMORY, GROWTH)


def run(quick: bool = False) -> list[Figure]:
    items, times = (2_000, 1) if quick else (50_000, 4)
    small = rounds(items, parts=1, most=times)
    figure = TIME.found(
        small.whole / small.bare,
        f"{items * CELLS * REPEATS:,} shuffled Parquet rows, {items:,} items: {small.whole:.2f} s, "
        f"duplicates checked, against {small.bare:.2f} s for DuckDB's GROUP BY count over judge, "
        f"item, prompt, order and verdict, left there; best of {small.times} in turn",
    )
    large = rounds(items * FILES, parts=FILES, most=1 if quick else 3)
    return [
        figure,
        *grown(small, large, f"{items * FILES * CELLS * REPEATS:,} rows, {FILES} files"),
    ]


@dataclass(frozen=True, kw_only=True)
class Rounds:
    """The best of some rounds over one table, in seconds, and the most memory of ours."""

    bare: float
    whole: float
    peak: float
    times: int


def rounds(items: int, *, parts: int, most: int) -> Rounds:
    """Write a table and take turns over it, each in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="judgelaw-bench-") as folder:
        for part in range(parts):
            generate(Path(folder) / f"part-{part}.parquet", items, part, parts)
        progress(f"{items * CELLS * REPEATS:,} rows written")
        turns, began = [], time.monotonic()
        while not turns or (time.monotonic() - began < ENOUGH_S and len(turns) < most):
            turns.append((turn("bare", folder), turn("ours", folder)))
            (bare, _), (whole, peak) = turns[-1]
            progress(f"GROUP BY {bare:.1f} s; to components {whole:.1f} s, {peak:.2f} GB")
    return Rounds(
        bare=min(bare for (bare, _), _ in turns),
        whole=min(whole for _, (whole, _) in turns),
        peak=max(peak for _, (_, peak) in turns),
        times=len(turns),
    )


def grown(small: Rounds, large: Rounds, rows: str) -> list[Figure]:
    return [
        BIG_TIME.found(
            large.whole / large.bare,
            f"{rows}: {large.whole:.1f} s against {large.bare:.1f} s for DuckDB's GROUP BY count, "
            f"best of {large.times} in turn",
        ),
        BIG_MEMORY.found(large.peak, f"{rows}: peak resident memory of the process that does it"),
        GROWTH.found(
            large.whole / small.whole,
            f"{rows}: {large.whole:.1f} s against {small.whole:.1f} s for a tenth of them; the "
            f"bare GROUP BY grew {large.bare / small.bare:.1f} times",
        ),
    ]


def turn(kind: str, folder: str) -> tuple[float, float]:
    """Return the seconds and the peak gigabytes of one pass over a folder."""
    command = [sys.executable, "-m", "benchmarks.tables", kind, folder]
    child = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    seconds, peak = json.loads(child.stdout)
    return seconds, peak


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
    """Count in DuckDB and leave the counts there.

    A reader can do better: verdicts packed in bits leave one group a cell, where this has one for
    each verdict that a cell has seen.
    """
    with duckdb.connect() as con:
        con.execute(
            'CREATE TABLE counts AS SELECT judge, item, prompt, "order", verdict, count(*) AS n '
            f"FROM '{source}' GROUP BY ALL"
        )


def components(source: str) -> jl.Decomposition:
    return jl.decompose(jl.VerdictTensor.from_table(source)).macro()


def main(kind: str, folder: str) -> None:
    whole = {"bare": lambda: group_by(f"{folder}/*.parquet"), "ours": lambda: components(folder)}
    seconds = best(whole[kind], 1)
    print(json.dumps([seconds, peak_mb() / 1024]))


if __name__ == "__main__":
    main(*sys.argv[1:])
