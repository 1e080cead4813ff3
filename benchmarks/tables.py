"""From shuffled Parquet calls tables to all components, against DuckDB's bare GROUP BY."""

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb

import judgelaw as jl
from benchmarks.figure import Figure, at_most, best, in_turn, peak_mb, progress

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
    items, times = (2_000, 2) if quick else (50_000, 5)
    with tempfile.TemporaryDirectory(prefix="judgelaw-bench-") as folder:
        table = Path(folder) / "calls.parquet"
        generate(table, items)
        source = str(table)
        bare, whole, read = in_turn(
            lambda: group_by(source),
            lambda: components(source),
            lambda: jl.VerdictTensor.from_table(source),
            times=times,
        )
    figure = TIME.found(
        whole / bare,
        f"{items * CELLS * REPEATS:,} shuffled Parquet rows, {items:,} items: {whole:.2f} s "
        f"({read:.2f} s of it reading, duplicates checked) against {bare:.2f} s for DuckDB's GROUP "
        "BY count over judge, item, prompt, order and verdict, left there; best of "
        f"{times} in turn",
    )
    return [figure, *big(items * FILES, whole, bare, quick=quick)]


def big(items: int, tenth: float, bare_tenth: float, *, quick: bool) -> list[Figure]:
    """Measure ten times the rows, each turn in a process of its own: time, memory, growth."""
    with tempfile.TemporaryDirectory(prefix="judgelaw-bench-") as folder:
        for part in range(FILES):
            generate(Path(folder) / f"part-{part}.parquet", items, part, FILES)
        progress(f"{items * CELLS * REPEATS:,} rows written")
        rounds, began = [], time.monotonic()
        while not rounds or (time.monotonic() - began < ENOUGH_S and len(rounds) < 3 and not quick):
            rounds.append((turn("bare", folder), turn("ours", folder)))
            (bare, _), (whole, peak) = rounds[-1]
            progress(f"GROUP BY {bare:.0f} s; to components {whole:.0f} s, {peak:.2f} GB")
    bare = min(bare for (bare, _), _ in rounds)
    whole = min(whole for _, (whole, _) in rounds)
    rows = f"{items * CELLS * REPEATS:,} rows in {FILES} files"
    how = f"best of {len(rounds)} in turn"
    return [
        BIG_TIME.found(
            whole / bare,
            f"{rows}: {whole:.1f} s against {bare:.1f} s for DuckDB's GROUP BY count, {how}",
        ),
        BIG_MEMORY.found(
            max(peak for _, (_, peak) in rounds),
            f"{rows}: peak resident memory of the process that does it",
        ),
        GROWTH.found(
            whole / tenth,
            f"{rows}: {whole:.1f} s against {tenth:.1f} s for a tenth of them; the bare GROUP BY "
            f"grew {bare / bare_tenth:.1f} times",
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
    """Count in DuckDB and leave the counts there: the least that any reader has to do."""
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
