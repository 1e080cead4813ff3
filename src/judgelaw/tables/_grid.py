"""A grid of verdict codes that grows by items, filled call by call in any order."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        """Lay down what waits."""
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
