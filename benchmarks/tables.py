"""From a shuffled Parquet calls table to all components, against DuckDB's bare GROUP BY."""

import tempfile
from pathlib import Path

import duckdb

import judgelaw as jl
from benchmarks.figure import Figure, best

# ruff: noqa: S608 - numbers and a path of our own

REPEATS = 17
CELLS = 12


def run(quick: bool = False) -> list[Figure]:
    items = 5_000 if quick else 50_000
    with tempfile.TemporaryDirectory(prefix="judgelaw-bench-") as folder:
        table = Path(folder) / "calls.parquet"
        generate(table, items)
        # Alternating, so that a busy moment of the machine does not fall on one side alone.
        bare, whole, read = float("inf"), float("inf"), float("inf")
        for _ in range(3):
            bare = min(bare, best(lambda: group_by(table), 1))
            whole = min(whole, best(lambda: components(table), 1))
            read = min(read, best(lambda: jl.VerdictTensor.from_table(table), 1))
    rows = items * CELLS * REPEATS
    return [
        Figure(
            name="calls table to components, time",
            value=whole / bare,
            target=2.0,
            direction="at most",
            detail=f"{rows:,} shuffled Parquet rows, {items:,} items: {whole:.2f} s ({read:.2f} s "
            f"of it reading, duplicates checked) against {bare:.2f} s for DuckDB's GROUP BY count "
            "over judge, item, prompt, order and verdict, left in the database",
        )
    ]


def generate(table: Path, items: int) -> None:
    """Write items x 6 prompts x 2 orders x 17 repeats in random order, with text labels."""
    with duckdb.connect() as con:
        con.execute(
            f"""COPY (
                SELECT 'judge-a' AS judge,
                    'item-' || lpad((i // {CELLS * REPEATS})::VARCHAR, 5, '0') AS item,
                    'prompt-' || ((i // {2 * REPEATS}) % 6) AS prompt,
                    CASE WHEN (i // {REPEATS}) % 2 = 0 THEN 'AB' ELSE 'BA' END AS "order",
                    (i % {REPEATS})::INTEGER AS repeat,
                    CASE WHEN hash(i + 1) % 10 < 6 THEN 'candidate_1'
                        WHEN hash(i + 1) % 10 < 8 THEN 'candidate_2'
                        WHEN hash(i + 1) % 10 < 9 THEN 'tie' ELSE 'invalid' END AS verdict
                FROM range({items * CELLS * REPEATS}) t(i) ORDER BY hash(i)
            ) TO '{table}' (FORMAT parquet)"""
        )


def group_by(table: Path) -> None:
    """Count in DuckDB and leave the counts there: the least that any reader has to do."""
    with duckdb.connect() as con:
        con.execute(
            'CREATE TABLE counts AS SELECT judge, item, prompt, "order", verdict, count(*) AS n '
            f"FROM '{table}' GROUP BY ALL"
        )


def components(table: Path) -> jl.Decomposition:
    return jl.decompose(jl.VerdictTensor.from_table(table)).macro()
