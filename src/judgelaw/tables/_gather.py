"""Bring the masks of one layer and judge home from the table `cells`."""

# ruff: noqa: S608 - every name and literal in the SQL below is quoted by _edge.name and _edge.text

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from judgelaw.errors import TableError
from judgelaw.tables._calls import WORD, Calls, Pair, place_of
from judgelaw.tables._edge import foreign_errors, name, text
from judgelaw.tables._verdicts import Alphabet, is_empty

Masks = NDArray[np.uint32]


@dataclass(frozen=True, kw_only=True)
class Part:
    """The masks of some of the items, in a full grid in which a cell without calls is 0.

    Attributes:
        items, prompts, orders: the labels found, sorted.
        strata, gold: of each item, None where it has none.
        masks: presence first, then the planes, each (items, prompts, orders, words).
    """

    items: tuple[str, ...]
    prompts: tuple[str, ...]
    orders: tuple[str, ...]
    strata: tuple[str | None, ...]
    gold: tuple[str | None, ...]
    masks: tuple[Masks, ...]


def gather(
    con: duckdb.DuckDBPyConnection, calls: Calls, pair: Pair, *, alphabet: Alphabet, ranks: int
) -> Part:
    """Read what `cells` holds of a layer and judge."""
    with foreign_errors(calls.table):
        items, prompts, orders = (_axis(con, pair, part) for part in ("item", "prompt", "order"))
        strata, gold = _of_items(con, calls, pair, items, alphabet)
        shape = (len(items), len(prompts), len(orders), -(-ranks // WORD))
        return Part(
            items=items,
            prompts=prompts,
            orders=orders,
            strata=strata,
            gold=gold,
            masks=_masks(con, pair, shape, len(alphabet.planes)),
        )


def _of_pair(pair: Pair) -> str:
    layer = "layer IS NULL" if pair[0] is None else f"layer = {text(pair[0])}"
    judge = "judge IS NULL" if pair[1] is None else f"judge = {text(pair[1])}"
    return f"{layer} AND {judge}"


def _axis(con: duckdb.DuckDBPyConnection, pair: Pair, part: str) -> tuple[str, ...]:
    """Sort the labels of an axis and keep their codes in the table `axis_PART`."""
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE axis_{part} AS "
        f"SELECT {name(part)}, (row_number() OVER (ORDER BY {name(part)}) - 1)::BIGINT AS code "
        f"FROM (SELECT DISTINCT {name(part)} FROM cells WHERE {_of_pair(pair)})"
    )
    labels = con.execute(f"SELECT {name(part)} FROM axis_{part} ORDER BY code").fetchall()
    return tuple(label for (label,) in labels)


def _of_items(
    con: duckdb.DuckDBPyConnection,
    calls: Calls,
    pair: Pair,
    items: Sequence[str],
    alphabet: Alphabet,
) -> tuple[tuple[str | None, ...], tuple[str | None, ...]]:
    """Read the one stratum and gold label of each item."""
    if not (calls.layout.has("stratum") or calls.layout.has("gold")):
        return (None,) * len(items), (None,) * len(items)
    rows = con.execute(
        f"SELECT item, stratum, gold FROM cells WHERE {_of_pair(pair)} "
        "GROUP BY 1, 2, 3 ORDER BY 1, 2 NULLS FIRST, 3 NULLS FIRST"
    ).fetchall()
    if len(rows) > len(items):
        _refuse_conflict(calls, rows)
    strata = tuple(stratum for _, stratum, _ in rows)
    return strata, tuple(gold_of(calls, item, raw, alphabet) for item, _, raw in rows)


def gold_of(calls: Calls, item: str, raw: str | None, alphabet: Alphabet) -> str | None:
    """Return the verdict that an item's gold label names, None where it has none."""
    if raw is None or is_empty(raw):
        return None
    gold = alphabet.name(raw)
    if gold is None:
        place = place_of(calls, {"item": item, "gold": raw})
        raise TableError(
            f"{place}: gold {raw!r} of item {item!r} is no verdict of {list(alphabet.verdicts)}, "
            "so no call could match it: write gold labels as verdicts, or leave the column out "
            "with columns={'gold': None}"
        )
    return gold


def _refuse_conflict(calls: Calls, rows: Sequence[tuple[Any, ...]]) -> None:
    for one, other in pairwise(rows):
        if one[0] == other[0]:
            part, position = ("stratum", 1) if one[1] != other[1] else ("gold", 2)
            places = [
                place_of(calls, {"item": one[0], part: row[position]}) for row in (one, other)
            ]
            raise TableError(
                f"{' and '.join(dict.fromkeys(places))}: item {one[0]!r} has {part} "
                f"{one[position]!r} in one row and {other[position]!r} in another: an item has "
                f"one {part}: correct the column, or leave it out with columns={{{part!r}: None}}"
            )


def _masks(
    con: duckdb.DuckDBPyConnection, pair: Pair, shape: tuple[int, int, int, int], planes: int
) -> tuple[Masks, ...]:
    _, k, o, words = shape
    names = ["presence", *(f"plane_{j}" for j in range(planes))]
    table = con.execute(
        f"SELECT ((i.code * {k} + p.code) * {o} + q.code) * {words} + word AS place, "
        f"{', '.join(f'{mask}::UINTEGER AS {mask}' for mask in names)} "
        "FROM cells JOIN axis_item i USING (item) JOIN axis_prompt p USING (prompt) "
        f'JOIN axis_order q USING ("order") WHERE {_of_pair(pair)}'
    ).fetchnumpy()
    grids = []
    for mask in names:
        # Little-endian, so that byte by byte the bits stand in the order of ranks.
        grid = np.zeros(int(np.prod(shape)), dtype="<u4")
        grid[table["place"]] = table.pop(mask)
        grids.append(grid.reshape(shape))
    return tuple(grids)
