"""What the counted cells show to be wrong: empty labels, ranks that count nothing, duplicates."""

# ruff: noqa: S608 - no name or literal in the SQL below comes from outside

from collections import defaultdict
from collections.abc import Mapping

import duckdb

from judgelaw.errors import DuplicateCallsError, TableError
from judgelaw.tables._calls import WORD, Calls, Row, place_of
from judgelaw.tables._census import refuse_label
from judgelaw.tables._edge import foreign_errors
from judgelaw.tables._words import counted

_KEYS = ("layer", "judge", "item", "prompt", "order")
_NAMED_AT_MOST = 3
_ROWS_OF_A_CELL = 100_000
_SPARSE = 8
_FEW = 2 * WORD


def check_cells(con: duckdb.DuckDBPyConnection, calls: Calls, ranks: int) -> None:
    """Refuse cells that cannot be those of a design with `ranks` repeats at most."""
    with foreign_errors(calls.table):
        _refuse_empty_labels(con, calls)
        _refuse_sparse_ranks(con, calls, ranks)
        _refuse_duplicates(con, calls)


def _refuse_empty_labels(con: duckdb.DuckDBPyConnection, calls: Calls) -> None:
    for part in ("item", "prompt", "order"):
        empty = con.execute(
            f"SELECT \"{part}\" FROM cells WHERE coalesce(\"{part}\", '') = '' LIMIT 1"
        ).fetchone()
        if empty:
            refuse_label(calls, part, empty[0])


def _refuse_duplicates(con: duckdb.DuckDBPyConnection, calls: Calls) -> None:
    """Refuse a table in which a (judge, layer, item, prompt, order, repeat) has several rows."""
    keys = ", ".join(f'"{key}"' for key in _KEYS)
    twice = con.execute(
        f"SELECT DISTINCT {keys} FROM cells WHERE n <> bit_count(presence) ORDER BY {keys}"
    ).fetchall()
    if not twice:
        return
    named = [_describe(calls, dict(zip(_KEYS, row, strict=True))) for row in twice[:_NAMED_AT_MOST]]
    raise DuplicateCallsError(
        f"{calls.table}: the same call is there again in {counted(len(twice), 'cell')}: "
        f"{'; '.join(named)}: a call has one verdict: "
        "remove the surplus rows, or give separate calls a repeat or layer of their own"
    )


def are_sparse(ranks: int, most: int) -> bool:
    """Say whether ranks run far beyond `most`, the calls of the fullest cell."""
    return ranks > _FEW and ranks > _SPARSE * most


def _refuse_sparse_ranks(con: duckdb.DuckDBPyConnection, calls: Calls, ranks: int) -> None:
    """Refuse ranks that run far beyond the number of calls that any cell holds."""
    if ranks <= _FEW:
        return
    keys = ", ".join(f'"{key}"' for key in _KEYS)
    largest = con.execute(
        f"SELECT max(n) FROM (SELECT sum(n)::BIGINT AS n FROM cells GROUP BY {keys})"
    ).fetchone()
    most = largest[0] if largest else 0
    if are_sparse(ranks, most):
        place = place_of(calls, {"repeat": ranks - 1})
        raise TableError(
            f"{place}: repeat {ranks - 1}, but no cell holds more than {most} calls: repeat "
            "counts the calls of one cell (item x prompt x order): number them 0, 1, 2, ... there"
        )


def _describe(calls: Calls, cell: Mapping[str, str | None]) -> str:
    where = {key: value for key, value in cell.items() if calls.layout.has(key)}
    by_rank: defaultdict[float, list[Row]] = defaultdict(list)
    for row in calls.find(where, at_most=_ROWS_OF_A_CELL):
        by_rank[float(row.values["repeat"] or "nan")].append(row)
    keys = ", ".join(f"{key} {value!r}" for key, value in where.items())
    twice = [(rank, rows) for rank, rows in sorted(by_rank.items()) if len(rows) > 1]
    if not twice:  # beyond the rows looked at
        return keys
    rank, rows = twice[0]
    places = ", ".join(dict.fromkeys(row.place for row in rows[:5]))
    verdicts = ", ".join(repr(row.values["verdict"]) for row in rows[:5])
    return f"{keys}, repeat {rank:.0f} has {len(rows)} rows ({places}; verdicts {verdicts})"
