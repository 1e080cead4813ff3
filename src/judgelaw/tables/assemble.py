"""From the counted cells of one judge to a VerdictTensor."""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT
from judgelaw.duck import foreign_errors, name, text
from judgelaw.errors import TableError
from judgelaw.tables.calls import WORD, Calls, Pair, place_of
from judgelaw.tables.census import Alphabet
from judgelaw.tables.columns import is_empty
from judgelaw.tensor import VerdictTensor

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
    """Return the labels of an axis, sorted."""
    labels = con.execute(
        f"SELECT DISTINCT {name(part)} FROM cells WHERE {_of_pair(pair)} ORDER BY 1"
    ).fetchall()
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
    """Return the verdict that an item's gold label names, None without a label."""
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


def clusters_of_items(calls: Calls) -> dict[str, str]:
    """Return the cluster of every item that has one."""
    item, cluster = calls.label("item"), calls.label("cluster")
    with foreign_errors(calls.table):
        rows = calls.con.execute(
            f"SELECT {item}, min({cluster}), max({cluster}), count({cluster}) < count(*) "
            f"FROM {calls.source} GROUP BY 1 HAVING count({cluster}) > 0 ORDER BY 1"
        ).fetchall()
    for label, low, high, some in rows:
        if low != high or some:
            other = None if low == high else high
            places = [place_of(calls, {"item": label, "cluster": one}) for one in (low, other)]
            raise TableError(
                f"{' and '.join(dict.fromkeys(places))}: item {label!r} has cluster {low!r} in one "
                f"row and {other!r} in another: an item lies in one cluster: correct the column, "
                "or leave it out with columns={'cluster': None}"
            )
    return {label: low for label, low, _, _ in rows}


ALONE = "(item) "
"""Begins the cluster of an item that was given none, where other items have one."""


def in_clusters(tensor: VerdictTensor, of_item: Mapping[str, str]) -> VerdictTensor:
    """Put the items into their clusters; nothing where each is alone in one."""
    found = tuple(of_item.get(item) or f"{ALONE}{item}" for item in tensor.items)
    return tensor if len(set(found)) == len(found) else replace(tensor, clusters=found)


def _masks(
    con: duckdb.DuckDBPyConnection, pair: Pair, shape: tuple[int, int, int, int], planes: int
) -> tuple[Masks, ...]:
    """Lay the masks on a grid; the rank of a label among those of its axis is its place there."""
    _refuse_sparse(con, pair, shape)
    _, k, o, words = shape
    names = ["presence", *(f"plane_{j}" for j in range(planes))]
    item, prompt, order = (
        f"(dense_rank() OVER (ORDER BY {name(part)}) - 1)" for part in ("item", "prompt", "order")
    )
    table = con.execute(
        f"SELECT (({item} * {k} + {prompt}) * {o} + {order}) * {words} + word AS place, "
        f"{', '.join(f'{mask}::UINTEGER AS {mask}' for mask in names)} "
        f"FROM cells WHERE {_of_pair(pair)}"
    ).fetchnumpy()
    grids = []
    for mask in names:
        # Little-endian, so that byte by byte the bits stand in the order of ranks.
        grid = np.zeros(int(np.prod(shape)), dtype="<u4")
        grid[table["place"]] = table.pop(mask)
        grids.append(grid.reshape(shape))
    return tuple(grids)


_DENSE_CELLS = 20_000_000
_FULL = 0.01


def _refuse_sparse(
    con: duckdb.DuckDBPyConnection, pair: Pair, shape: tuple[int, int, int, int]
) -> None:
    """Refuse a design of which next to nothing was asked, before it is laid out."""
    i, k, o, _ = shape
    if i * k * o <= _DENSE_CELLS:
        return
    found = con.execute(f"SELECT count(*) FROM cells WHERE {_of_pair(pair)}").fetchone()
    there = found[0] if found else 0
    if there < _FULL * i * k * o:
        raise TableError(
            f"{i:,} items, {k:,} prompts and {o:,} orders are {i * k * o:,} cells, and calls are "
            f"in {there:,} of them: an item is asked in every prompt, so what is read as one may "
            "belong to the item: name the columns with columns={'prompt': ..., 'item': ...}, or "
            "leave the prompt out with columns={'prompt': None}"
        )


UNSTRATIFIED = "(no stratum)"
"""The stratum of items without one, where other items have one."""


def assemble(parts: Sequence[Part], pair: Pair, *, alphabet: Alphabet, ranks: int) -> VerdictTensor:
    """Make the tensor of one layer and judge, complete or not, from parts with distinct items."""
    whole = parts[0] if len(parts) == 1 else _joined(parts)
    presence, *planes = whole.masks
    return labelled(
        pair,
        alphabet,
        counts=_counts(presence, planes, len(alphabet.verdicts)),
        ranked=_ranked(presence, planes, ranks),
        items=whole.items,
        prompts=whole.prompts,
        orders=whole.orders,
        strata=whole.strata,
        gold=whole.gold,
    )


def labelled(
    pair: Pair,
    alphabet: Alphabet,
    *,
    counts: NDArray[np.int64],
    ranked: NDArray[np.int16],
    items: tuple[str, ...],
    prompts: tuple[str, ...],
    orders: tuple[str, ...],
    strata: tuple[str | None, ...],
    gold: tuple[str | None, ...],
) -> VerdictTensor:
    """Make a tensor of what was counted; strata and gold labels may be missing, some or all."""
    return VerdictTensor(
        counts=counts,
        ranked=ranked,
        items=items,
        prompts=prompts,
        orders=orders,
        verdicts=alphabet.verdicts,
        strata=tuple(s or UNSTRATIFIED for s in strata) if any(strata) else None,
        gold=gold if any(gold) else None,
        layer=pair[0],
        judge=pair[1],
        notes=alphabet.notes,
    )


def _joined(parts: Sequence[Part]) -> Part:
    """Join parts into one grid with sorted items."""
    prompts = tuple(sorted({label for part in parts for label in part.prompts}))
    orders = tuple(sorted({label for part in parts for label in part.orders}))
    items = [label for part in parts for label in part.items]
    ranking = sorted(range(len(items)), key=items.__getitem__)
    row = np.empty(len(items), dtype=np.intp)
    row[ranking] = np.arange(len(items))
    masks = []
    for m in range(len(parts[0].masks)):
        words = parts[0].masks[m].shape[-1]
        grid = np.zeros((len(items), len(prompts), len(orders), words), dtype="<u4")
        start = 0
        for part in parts:
            rows = row[start : start + len(part.items)]
            block = np.ix_(rows, _positions(part.prompts, prompts), _positions(part.orders, orders))
            grid[block] = part.masks[m]
            start += len(part.items)
        masks.append(grid)
    return Part(
        items=tuple(items[i] for i in ranking),
        prompts=prompts,
        orders=orders,
        strata=_reordered((part.strata for part in parts), ranking),
        gold=_reordered((part.gold for part in parts), ranking),
        masks=tuple(masks),
    )


def _positions(labels: Sequence[str], axis: Sequence[str]) -> NDArray[np.intp]:
    return np.array([axis.index(label) for label in labels], dtype=np.intp)


def _reordered(
    parts: Iterable[tuple[str | None, ...]], ranking: Sequence[int]
) -> tuple[str | None, ...]:
    labels = [label for part in parts for label in part]
    return tuple(labels[i] for i in ranking)


def _counts(presence: Masks, planes: Sequence[Masks], verdicts: int) -> NDArray[np.int64]:
    """Count, for every code, the ranks whose planes spell it."""
    counts = np.empty((*presence.shape[:-1], verdicts), dtype=np.int64)
    for code in range(verdicts):
        spelled = reduce(
            np.bitwise_and,
            (plane if code >> j & 1 else ~plane for j, plane in enumerate(planes)),
            presence,
        )
        np.sum(np.bitwise_count(spelled), axis=-1, dtype=np.int64, out=counts[..., code])
    return counts


def _ranked(presence: Masks, planes: Sequence[Masks], ranks: int) -> NDArray[np.int16]:
    """Spread the masks into one verdict code a rank."""

    def bits(mask: Masks) -> NDArray[np.uint8]:
        return np.unpackbits(mask.view(np.uint8), axis=-1, count=ranks, bitorder="little")

    # Codes are built in single bytes where they fit: the arrays are the largest of the whole read.
    narrow = np.dtype(np.uint8 if len(planes) <= 8 else np.uint16)  # noqa: PLR2004 - a byte
    codes = np.zeros((*presence.shape[:-1], ranks), dtype=narrow)
    for j, plane in enumerate(planes):
        codes |= np.left_shift(bits(plane), j, dtype=narrow)
    ranked = codes.astype(np.int16)
    ranked[bits(presence) == 0] = ABSENT
    return ranked
