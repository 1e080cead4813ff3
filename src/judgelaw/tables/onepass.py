"""Read a big table in one pass: DuckDB scans and codes, every call goes to its place.

Read a big table in one pass: DuckDB scans and codes, every call goes straight to its place.

A group-by of shuffled rows holds a row for almost every call until it has seen them all; it spills,
and slows down faster than tables grow. Here a call leaves DuckDB as three numbers: a hash of its
item, its place among the cells and ranks, its verdict. Whatever is not in order (a call twice, an
empty label, ranks far apart) is left to the group-by, which finds out what it is and says so.
"""

# ruff: noqa: S608 - names and literals in the SQL below are our own, or quoted by `duck`
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT, count_ranked, positions
from judgelaw.duck import batches, foreign_errors, name, text
from judgelaw.tables.assemble import gold_of, labelled
from judgelaw.tables.calls import Calls, Pair
from judgelaw.tables.census import Census, are_sparse
from judgelaw.tensor import VerdictTensor

EMPTY = np.uint8(255)
"""A place that no call has filled; codes lie below it."""

_CHUNK = 1 << 22
_INDEX = np.uint64(_CHUNK - 1)
_SPARE = 1 << 26
_PLACES = 1 << 32


class TooSparseError(Exception):
    """The grid would hold far more places than calls."""


@dataclass(kw_only=True)
class Grid:
    """Verdict codes by item and place; items are known by a hash of 64 bits.

    Calls are sorted by item before they are laid down, a chunk at a time: then neither the search
    for an item nor the writing jumps about in memory, and ten times the calls take ten times as
    long, which is not so for a group-by.

    Attributes:
        width: places of an item.
        calls: how many calls will come, at most.
    """

    width: int
    calls: int
    codes: NDArray[np.uint8] = field(init=False)
    _known: NDArray[np.uint64] = field(init=False)
    _rows: NDArray[np.int64] = field(init=False)
    _waiting: list[tuple[NDArray[Any], ...]] = field(init=False, default_factory=list)
    _size: int = field(init=False, default=0)

    def __post_init__(self) -> None:
        self._refuse_emptiness(items=1)
        self.codes = np.empty((0, self.width), np.uint8)
        self._known = np.empty(0, np.uint64)
        self._rows = np.empty(0, np.int64)

    def add(
        self, items: NDArray[np.uint64], places: NDArray[np.uint32], codes: NDArray[np.uint8]
    ) -> None:
        """Take calls; the arrays are copied."""
        for start in range(0, len(items), _CHUNK):
            piece = tuple(a[start : start + _CHUNK].copy() for a in (items, places, codes))
            if self._size + len(piece[0]) > _CHUNK:
                self.flush()
            self._waiting.append(piece)
            self._size += len(piece[0])

    def flush(self) -> None:
        """Write the waiting calls to their places."""
        if not self._waiting:
            return
        items, places, codes = (np.concatenate(a) for a in zip(*self._waiting, strict=True))
        self._waiting, self._size = [], 0
        order = _grouping(items)
        items = items[order]
        starts = np.flatnonzero(np.r_[True, items[1:] != items[:-1]])
        rows = np.repeat(self._rows_of(items[starts]), np.diff(np.r_[starts, len(items)]))
        self.codes.reshape(-1)[rows * self.width + places[order]] = codes[order]

    def rows(self, items: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the row of each item, -1 for one that no call had."""
        if not len(self._known):
            return np.full(len(items), -1)
        at = np.searchsorted(self._known, items)
        at[at == len(self._known)] = 0
        return np.where(self._known[at] == items, self._rows[at], -1)

    def filled(self) -> int:
        """Return how many places hold a call."""
        return sum(int(np.count_nonzero(row != EMPTY)) for row in np.array_split(self.codes, 64))

    @property
    def items(self) -> NDArray[np.uint64]:
        """The items that calls had, sorted."""
        return self._known

    def _rows_of(self, items: NDArray[np.uint64]) -> NDArray[np.int64]:
        """Return the rows of items, making rows for those that are new."""
        rows = self.rows(items)
        new = np.unique(items[rows < 0])
        if not len(new):
            return rows
        at = np.searchsorted(self._known, new)
        first = len(self._known)
        self._known = np.insert(self._known, at, new)
        self._rows = np.insert(self._rows, at, np.arange(first, first + len(new)))
        self._make_room()
        return self.rows(items)

    def _make_room(self) -> None:
        needed, there = len(self._known), len(self.codes)
        self._refuse_emptiness(needed)
        if needed > there:
            more = np.full((max(needed - there, there // 2), self.width), EMPTY)
            self.codes = np.concatenate([self.codes, more])

    def _refuse_emptiness(self, items: int) -> None:
        if items * self.width > 4 * self.calls + _SPARE or self.width > _PLACES:
            raise TooSparseError


def _grouping(items: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Return an order in which equal items stand together.

    The position of a call replaces the low bits of its item's hash: sorting whole numbers is
    several times faster than sorting their positions. Items that agree in all other bits may
    alternate; then they stand in several groups, which does no harm.
    """
    keys = items & ~_INDEX
    keys |= np.arange(len(items), dtype=np.uint64)
    keys.sort()
    keys &= _INDEX
    return keys.astype(np.intp)


_OF_ITEM = ("layer", "judge", "item", "stratum", "gold")

_LABELS_FROM = 10
"""Labels are looked for in this part of the rows first: items that were asked often are there."""

_ITEMS_AT_ONCE = 4096
"""A block that stays in the cache while it is spread and counted."""


@dataclass(frozen=True, kw_only=True)
class _Axes:
    """The labels of a table that are few, and which of them each pair has."""

    pairs: tuple[Pair, ...]
    prompts: tuple[str, ...]
    orders: tuple[str, ...]
    ranks: int
    cells: frozenset[tuple[Pair, str, str]]

    @property
    def width(self) -> int:
        return len(self.prompts) * len(self.orders) * self.ranks


@dataclass(frozen=True, kw_only=True)
class _Items:
    """The items of one pair, sorted: their labels, and their rows in the grid."""

    names: tuple[str, ...]
    strata: tuple[str | None, ...]
    gold: tuple[str | None, ...]
    rows: NDArray[np.int64]


def read_in_one_pass(
    calls: Calls, census: Census, pairs: Sequence[Pair]
) -> dict[Pair, VerdictTensor] | None:
    """Read the tensors of the pairs; None where the table is not as one pass needs it."""
    if len(census.alphabet.verdicts) >= int(EMPTY):
        return None
    with foreign_errors(calls.table):
        axes = _axes(calls, census, pairs)
        if axes is None:
            return None
        try:
            grid = Grid(width=axes.width, calls=census.calls)
            taken = _fill(grid, calls, census, axes)
        except TooSparseError:
            return None
        if grid.filled() != taken:
            return None
        items = _items(grid, calls, census, axes)
    if items is None:
        return None
    tensors = {pair: _tensor(grid, census, axes, pair, items[pair]) for pair in pairs}
    most = max(int(tensor.counts.sum(axis=-1).max()) for tensor in tensors.values())
    return None if are_sparse(axes.ranks, most) else tensors


def _axes(calls: Calls, census: Census, pairs: Sequence[Pair]) -> _Axes | None:
    parts = ("layer", "judge", "prompt", "order")
    rows = calls.con.execute(
        f"SELECT DISTINCT {', '.join(map(calls.label, parts))} FROM {calls.source}"
    ).fetchall()
    cells = {((layer, judge), p, o) for layer, judge, p, o in rows if (layer, judge) in pairs}
    prompts: set[str] = {prompt for _, prompt, _ in cells}
    orders: set[str] = {order for _, _, order in cells}
    if {None, ""} & (prompts | orders):
        return None
    return _Axes(
        pairs=tuple(pairs),
        prompts=tuple(sorted(prompts)),
        orders=tuple(sorted(orders)),
        ranks=max(census.ranks[pair] for pair in pairs),
        cells=frozenset(cells),
    )


def _fill(grid: Grid, calls: Calls, census: Census, axes: _Axes) -> int:
    """Write every call of the pairs to its place; return how many there were."""
    prompt = _code(calls.label("prompt"), axes.prompts)
    order = _code(calls.label("order"), axes.orders)
    # In 64 bits: places may outnumber what a product of two 32-bit numbers holds.
    place = f"({prompt} * {len(axes.orders)}::BIGINT + {order}) * {axes.ranks} + ({calls.rank()})"
    codes = census.alphabet.codes
    verdict = _lookup(calls.label("verdict"), codes)
    query = (
        f"SELECT {_key(calls, axes)}::UBIGINT, ({place})::UINTEGER, ({verdict})::UTINYINT "
        f"FROM {calls.source} WHERE {_of(calls, census, axes)}"
    )
    taken = 0
    for items, places, verdicts in batches(calls.con.sql(query), ("u8", "u4", "u1")):
        grid.add(items, places, verdicts)
        taken += len(items)
    grid.flush()
    return taken


def _items(grid: Grid, calls: Calls, census: Census, axes: _Axes) -> dict[Pair, _Items] | None:
    """Find the labels of every item; None where one is empty, or has two strata or gold labels."""
    there = _parts(calls, axes)
    columns = ", ".join(f"{calls.label(part)} AS {name(part)}" for part in there)
    source = (
        f"SELECT {_key(calls, axes)} AS key, {columns} "
        f"FROM {calls.source} WHERE {_of(calls, census, axes)}"
    )
    some = max(census.calls // _LABELS_FROM, 1)
    # Sorted there, in parallel; sorting again what is sorted costs next to nothing.
    found = [_columns(calls, f"SELECT DISTINCT * FROM ({source} LIMIT {some}) ORDER BY item")]
    missing = np.setdiff1d(grid.items, found[0]["key"])
    if len(missing):
        calls.con.register("missing", {"key": missing})
        wanted = "SELECT key FROM missing"
        found.append(_columns(calls, f"SELECT DISTINCT * FROM ({source}) WHERE key IN ({wanted})"))
        calls.con.unregister("missing")
    labels = {part: np.concatenate([one[part] for one in found]) for part in ("key", *there)}
    if len(labels["key"]) != len(grid.items):
        return None
    return _of_pairs(labels, grid.rows(labels["key"]), calls, census, axes)


def _of_pairs(
    labels: Mapping[str, NDArray[Any]],
    rows: NDArray[np.int64],
    calls: Calls,
    census: Census,
    axes: _Axes,
) -> dict[Pair, _Items] | None:
    found = {}
    for pair in axes.pairs:
        here = np.arange(len(rows))
        if len(axes.pairs) > 1:
            tests = [
                labels[p] == value
                for p, value in zip(("layer", "judge"), pair, strict=True)
                if p in labels
            ]
            here = np.flatnonzero(np.logical_and.reduce(tests))
        names = labels["item"][here].tolist()
        if not all(names) or len(set(names)) < len(names):
            return None
        order = sorted(range(len(names)), key=names.__getitem__)
        here, items = here[order], tuple(names[i] for i in order)
        nothing = (None,) * len(items)
        found[pair] = _Items(
            names=items,
            strata=tuple(labels["stratum"][here].tolist()) if "stratum" in labels else nothing,
            gold=nothing
            if "gold" not in labels
            else tuple(
                gold_of(calls, item, gold, census.alphabet)
                for item, gold in zip(items, labels["gold"][here].tolist(), strict=True)
            ),
            rows=rows[here],
        )
    return found


def _columns(calls: Calls, query: str) -> dict[str, NDArray[Any]]:
    """Run a query and return its columns, None where a text is missing."""
    found = calls.con.execute(query).fetchnumpy()
    return {
        part: np.array(column.tolist(), dtype=object) if column.dtype == object else column
        for part, column in found.items()
    }


def _tensor(grid: Grid, census: Census, axes: _Axes, pair: Pair, items: _Items) -> VerdictTensor:
    """Cut the grid of one pair out of the whole."""
    prompts = [p for p in axes.prompts if any((pair, p, o) in axes.cells for o in axes.orders)]
    orders = [o for o in axes.orders if any((pair, p, o) in axes.cells for p in axes.prompts)]
    ranks, verdicts = census.ranks[pair], len(census.alphabet.verdicts)
    at_prompts = positions("prompt", axes.prompts, prompts)
    at_orders = positions("order", axes.orders, orders)
    shape = (len(prompts), len(orders))
    ranked = np.empty((len(items.rows), *shape, ranks), dtype=np.int16)
    counts = np.empty((len(items.rows), *shape, verdicts), dtype=np.int64)
    whole = grid.codes.reshape(-1, len(axes.prompts), len(axes.orders), axes.ranks)
    for start in range(0, len(items.rows), _ITEMS_AT_ONCE):
        here = slice(start, start + _ITEMS_AT_ONCE)
        block = whole[items.rows[here]][:, at_prompts][:, :, at_orders, :ranks]
        ranked[here] = block
        ranked[here][block == EMPTY] = ABSENT
        counts[here] = count_ranked(ranked[here], verdicts)
    return labelled(
        pair,
        census.alphabet,
        counts=counts,
        ranked=ranked,
        items=items.names,
        prompts=tuple(prompts),
        orders=tuple(orders),
        strata=items.strata,
        gold=items.gold,
    )


def _key(calls: Calls, axes: _Axes) -> str:
    """The hash that stands for an item of a pair, its stratum and gold label included."""
    return f"hash({', '.join(map(calls.label, _parts(calls, axes)))})"


def _parts(calls: Calls, axes: _Axes) -> list[str]:
    """The columns that tell items apart; of one pair, its name does not."""
    known = () if len(axes.pairs) > 1 else ("layer", "judge")
    return [part for part in _OF_ITEM if calls.layout.has(part) and part not in known]


def _of(calls: Calls, census: Census, axes: _Axes) -> str:
    return "true" if len(axes.pairs) == len(census.ranks) else calls.in_pairs(axes.pairs)


def _code(label: str, axis: Sequence[str]) -> str:
    return _lookup(label, {name: code for code, name in enumerate(axis)})


def _lookup(label: str, codes: Mapping[str, int]) -> str:
    """Look a label up in a constant map: done once for each word of a column's dictionary."""
    entries = ", ".join(f"{text(word)}: {code}" for word, code in codes.items())
    return f"(MAP {{{entries}}})[{label}]"
