"""From the table `cells` of bit masks to a VerdictTensor."""

# ruff: noqa: S608 - every name and literal in the SQL below is quoted by _edge.name and _edge.text

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT
from judgelaw.errors import TableError
from judgelaw.tables._calls import WORD, Calls, Pair, place_of
from judgelaw.tables._edge import foreign_errors, name, text
from judgelaw.tables._verdicts import Alphabet, is_empty
from judgelaw.tensor import VerdictTensor

UNSTRATIFIED = "(no stratum)"
"""The stratum of items without one, where other items have one."""

Masks = NDArray[np.uint32]
"""Shaped (cells, words)."""


def assemble(
    con: duckdb.DuckDBPyConnection, calls: Calls, pair: Pair, *, alphabet: Alphabet, ranks: int
) -> VerdictTensor:
    """Make the tensor of one layer and judge, complete or not."""
    with foreign_errors(calls.table):
        items = _items(con, calls, pair, alphabet)
        prompts = _axis(con, pair, "prompt")
        orders = _axis(con, pair, "order")
        shape = (len(items.names), len(prompts), len(orders))
        presence, planes = _masks(con, pair, shape, -(-ranks // WORD), len(alphabet.planes))
    return VerdictTensor(
        counts=_counts(presence, planes, len(alphabet.verdicts)).reshape(*shape, -1),
        ranked=_ranked(presence, planes, ranks).reshape(*shape, -1),
        items=items.names,
        prompts=prompts,
        orders=orders,
        verdicts=alphabet.verdicts,
        strata=items.strata,
        gold=items.gold,
        layer=pair[0],
        judge=pair[1],
        notes=alphabet.notes,
    )


@dataclass(frozen=True, kw_only=True)
class _Items:
    names: tuple[str, ...]
    strata: tuple[str, ...] | None
    gold: tuple[str | None, ...] | None


def of_pair(pair: Pair) -> str:
    """The SQL that selects the rows of a layer and judge."""
    layer = "layer IS NULL" if pair[0] is None else f"layer = {text(pair[0])}"
    judge = "judge IS NULL" if pair[1] is None else f"judge = {text(pair[1])}"
    return f"{layer} AND {judge}"


def _items(con: duckdb.DuckDBPyConnection, calls: Calls, pair: Pair, alphabet: Alphabet) -> _Items:
    """Code the items in `axis_item` and read what belongs to each."""
    names = _axis(con, pair, "item")
    rows = con.execute(
        f"SELECT item, nullif(stratum, ''), gold FROM cells WHERE {of_pair(pair)} "
        "GROUP BY 1, 2, 3 ORDER BY 1, 2 NULLS FIRST, 3 NULLS FIRST"
    ).fetchall()
    if len(rows) > len(names):
        _refuse_conflict(calls, rows)
    strata = tuple(stratum or UNSTRATIFIED for _, stratum, _ in rows)
    gold = tuple(_gold(calls, item, raw, alphabet) for item, _, raw in rows)
    return _Items(
        names=names,
        strata=strata if set(strata) != {UNSTRATIFIED} else None,
        gold=gold if any(g is not None for g in gold) else None,
    )


def _axis(con: duckdb.DuckDBPyConnection, pair: Pair, part: str) -> tuple[str, ...]:
    """Sort the labels of an axis and keep their codes in the table `axis_PART`."""
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE axis_{part} AS "
        f"SELECT {name(part)}, (row_number() OVER (ORDER BY {name(part)}) - 1)::BIGINT AS code "
        f"FROM (SELECT DISTINCT {name(part)} FROM cells WHERE {of_pair(pair)})"
    )
    labels = con.execute(f"SELECT {name(part)} FROM axis_{part} ORDER BY code").fetchall()
    return tuple(label for (label,) in labels)


def _gold(calls: Calls, item: str, raw: str | None, alphabet: Alphabet) -> str | None:
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
    con: duckdb.DuckDBPyConnection,
    pair: Pair,
    shape: tuple[int, int, int],
    words: int,
    planes: int,
) -> tuple[Masks, list[Masks]]:
    """Lay the masks out in a full grid; a cell without calls stays 0."""
    _, k, o = shape
    names = ["presence", *(f"plane_{j}" for j in range(planes))]
    table = con.execute(
        f"SELECT ((i.code * {k} + p.code) * {o} + q.code) * {words} + word AS place, "
        f"{', '.join(f'{mask}::UINTEGER AS {mask}' for mask in names)} "
        "FROM cells JOIN axis_item i USING (item) JOIN axis_prompt p USING (prompt) "
        f'JOIN axis_order q USING ("order") WHERE {of_pair(pair)}'
    ).fetchnumpy()
    grids = []
    for mask in names:
        grid = np.zeros(int(np.prod(shape)) * words, dtype="<u4")
        grid[table["place"]] = table[mask]
        grids.append(grid.reshape(-1, words))
    return grids[0], grids[1:]


def _counts(presence: Masks, planes: Sequence[Masks], verdicts: int) -> NDArray[np.int64]:
    """Count, for every code, the ranks whose planes spell it."""
    counts = np.empty((len(presence), verdicts), dtype=np.int64)
    for code in range(verdicts):
        spelled = reduce(
            np.bitwise_and,
            (plane if code >> j & 1 else ~plane for j, plane in enumerate(planes)),
            presence,
        )
        np.sum(np.bitwise_count(spelled), axis=-1, dtype=np.int64, out=counts[:, code])
    return counts


def _ranked(presence: Masks, planes: Sequence[Masks], ranks: int) -> NDArray[np.int16]:
    """Spread the masks into one verdict code a rank."""

    def bits(mask: Masks) -> NDArray[np.uint8]:
        return np.unpackbits(mask.view(np.uint8), axis=-1, count=ranks, bitorder="little")

    # Codes are built in single bytes where they fit: the arrays are the largest of the whole read.
    narrow = np.dtype(np.uint8 if len(planes) <= 8 else np.uint16)  # noqa: PLR2004 - a byte
    codes = np.zeros((len(presence), ranks), dtype=narrow)
    for j, plane in enumerate(planes):
        codes |= np.left_shift(bits(plane), j, dtype=narrow)
    ranked = codes.astype(np.int16)
    ranked[bits(presence) == 0] = ABSENT
    return ranked
