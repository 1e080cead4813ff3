"""Simulated calls drawn in bulk, and prompt components from whole-number sums.

Four calls at once are drawn exactly, by one look-up in a table of 65,536 entries. A cell's calls
come in blocks of two consecutive repeats. With four verdicts a block has 10 count vectors, so two
blocks have 100 outcomes, and sixteen random bits choose among them: outcome x gets floor(2^16 p_x)
entries of the table. The few entries left over (fewer than 100 of 65,536) are marked; a draw that
hits one is drawn again from what rounding down has left, by inversion of a double. So an outcome
has its probability up to the spacing of doubles, below 2^-53, and not up to the 2^-16 of the table;
the price is a second draw in less than one case of 650.

Outcomes are packed: byte 2c of the 64-bit word counts verdict c in the first block, byte 2c + 1 in
the second. Adding words adds counts; masking gives one block in four fields of sixteen bits.

For a balanced design of K prompts, O orders and R calls a cell, with counts n_ko (vectors over
verdicts) and sums over the dotted index,

    S_XO = sum_ko |n_ko|^2,   S_X = sum_k |n_k.|^2,   S_0 = |n_..|^2

    plug-in   K^2 O^2 R^2         times prompt = K S_X - S_0
    complete  K^2 O^2 R^2 (R - 1) times prompt = (R - 1)(K S_X - S_0) - (K - 1)(K O R^2 - S_XO)

(FORMULAS 2, balanced). Both right-hand sides are whole numbers: signs, ties with a threshold and
sums over items are exact, whatever the order of summation.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import check_at_least
from judgelaw.errors import InputError
from judgelaw.worlds import World

Words = NDArray[np.uint64]

FIELDS = 4
"""Verdicts that fit into a packed word."""

_BITS = 16
_FIELD_MASK = np.uint64(0x00FF_00FF_00FF_00FF)
_BYTE = np.uint64(8)


@dataclass(frozen=True, kw_only=True, eq=False)
class PairTable:
    """The law of two blocks of two calls, as a table.

    Attributes:
        entries: packed outcome for each 16-bit number below `settled`.
        settled: entries from here on are marked: the draw is decided by the remainder.
        outcomes: every packed outcome.
        remainder: cumulative law over outcomes of what rounding down has left; ends in 1.
    """

    entries: Words
    settled: int
    outcomes: Words
    remainder: NDArray[np.float64]

    @classmethod
    def of(cls, law: NDArray[np.float64]) -> "PairTable":
        """Tabulate the law of a cell with at most four verdicts."""
        counts, chances = _block_outcomes(law)
        outcomes = (counts[:, None] + (counts << _BYTE)[None, :]).ravel()
        scaled = np.outer(chances, chances).ravel() * (1 << _BITS)
        whole = np.floor(scaled).astype(np.int64)
        entries = np.zeros(1 << _BITS, dtype=np.uint64)
        settled = int(whole.sum())
        entries[:settled] = np.repeat(outcomes, whole)
        left = scaled - whole
        total = left.sum()
        # A law of point masses leaves nothing, and no entry is marked then.
        remainder = np.cumsum(left / total) if total > 0 else np.ones(len(left))
        remainder[-1] = 1.0
        return cls(entries=entries, settled=settled, outcomes=outcomes, remainder=remainder)

    def draw(self, rng: np.random.Generator, size: int) -> Words:
        """Draw packed pairs of blocks."""
        raw = rng.bit_generator.random_raw(-(-size // 4))
        # Little-endian on every machine, so that a seed means the same draws everywhere.
        bits = np.asarray(raw).astype("<u8", copy=False).view("<u2")[:size]
        drawn = self.entries.take(bits, mode="clip")
        marked = np.flatnonzero(bits >= self.settled)
        if marked.size:
            chosen = np.searchsorted(self.remainder, rng.random(marked.size), side="right")
            drawn[marked] = self.outcomes[chosen]
        return drawn


def split_blocks(pairs: Words, first: Words, second: Words) -> None:
    """Write the first and the second block of packed pairs, in fields of sixteen bits."""
    np.bitwise_and(pairs, _FIELD_MASK, out=first)
    np.right_shift(pairs, _BYTE, out=second)
    np.bitwise_and(second, _FIELD_MASK, out=second)


def _block_outcomes(law: NDArray[np.float64]) -> tuple[Words, NDArray[np.float64]]:
    """Packed count vectors of two calls, and their probabilities."""
    pairs = list(combinations_with_replacement(range(len(law)), 2))
    counts = [(1 << (_BITS * a)) + (1 << (_BITS * b)) for a, b in pairs]
    chances = [law[a] * law[b] * (1 if a == b else 2) for a, b in pairs]
    return np.array(counts, dtype=np.uint64), np.array(chances)


REPEATS = 8
DEPTHS = (2, 4, 8)
PANELS = 4
"""Blocks of two consecutive repeats."""

ROW_DEPTHS = np.array([2, 2, 2, 2, 4, 8])
"""Rows of every array here: four blocks of two repeats, then the prefixes of four and eight."""

DEPTH_ROWS = {2: 0, 4: 4, 8: 5}
"""The first block is the prefix of two."""

_ROWS = len(ROW_DEPTHS)
_MOST_CALLS = 255  # their square still fits sixteen bits
_HORIZONTAL = np.uint64(0x0001_0001_0001_0001)
_TOP = np.uint64(48)
_BLOCK = 4096  # items: the working set stays in a second-level cache


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemBlock:
    """Numerators of the prompt component, whole numbers shaped (rows, items).

    Attributes:
        plugin, complete: see the module's formulas; divide by `Design.scales`.
        cells: packed counts (prompts, orders, rows, items), kept only where asked for.
    """

    plugin: NDArray[np.int64]
    complete: NDArray[np.int64]
    cells: Words | None

    def counts(self, row: int) -> NDArray[np.float32]:
        """Counts (prompts, orders, verdicts, items) of one row, contiguous over items."""
        if self.cells is None:
            raise InputError("counts of cells were not kept: simulate with keep_cells=True")
        fields = self.cells[:, :, row].view("<u2").reshape(*self.cells.shape[:2], -1, FIELDS)
        return fields.transpose(0, 1, 3, 2).astype(np.float32, order="C")


@dataclass(frozen=True, kw_only=True, eq=False)
class Design:
    """One homogeneous world at K prompts and O orders, eight calls a cell."""

    laws: NDArray[np.float64]

    @classmethod
    def of(cls, world: World, *, prompts: int, orders: int = 2) -> "Design":
        """Take the laws that every item of the world shares.

        Raises:
            InputError: the world or the design does not fit packed counting.
        """
        if not world.identical_items or world.copying:
            raise InputError("packed simulation needs independent calls and one law for all items")
        if len(world.verdicts) > FIELDS or prompts * orders * REPEATS > _MOST_CALLS:
            most = _MOST_CALLS // (orders * REPEATS)
            raise InputError(
                f"{prompts} prompts x {orders} orders x {len(world.verdicts)} verdicts do not fit "
                f"packed counting: at most {most} prompts at this number of orders, and {FIELDS} "
                "verdicts; `judgelaw simulate custom` takes any design"
            )
        check_at_least("prompts", prompts, 2, "one prompt cannot differ from itself")
        return cls(laws=world.laws(items=1, prompts=prompts, orders=orders)[0])

    @property
    def prompts(self) -> int:
        """Number of prompts."""
        return int(self.laws.shape[0])

    @property
    def orders(self) -> int:
        """Number of orders."""
        return int(self.laws.shape[1])

    @property
    def scales(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Denominators (rows,) of the plug-in and of the complete numerators."""
        plugin = (self.prompts * self.orders * ROW_DEPTHS) ** 2
        return plugin, plugin * (ROW_DEPTHS - 1)

    def blocks(
        self, rng: np.random.Generator, items: int, *, keep_cells: bool = False, block: int = _BLOCK
    ) -> Iterator[ItemBlock]:
        """Simulate items block by block."""
        tables = [[PairTable.of(law) for law in row] for row in self.laws]
        for start in range(0, items, block):
            yield _simulate(tables, rng, min(block, items - start), keep_cells=keep_cells)


def _simulate(
    tables: list[list[PairTable]], rng: np.random.Generator, items: int, *, keep_cells: bool
) -> ItemBlock:
    K, O = len(tables), len(tables[0])
    S_XO, S_X = (np.zeros((_ROWS, items), dtype=np.uint64) for _ in range(2))
    everything = np.zeros((_ROWS, items), dtype=np.uint64)
    kept = np.empty((K, O, _ROWS, items), dtype=np.uint64) if keep_cells else None
    square = np.empty((_ROWS, items), dtype=np.uint64)
    cell = np.empty((_ROWS, items), dtype=np.uint64)
    prompt = np.empty((_ROWS, items), dtype=np.uint64)
    for k, row in enumerate(tables):
        prompt[:] = 0
        for o, table in enumerate(row):
            if kept is not None:
                cell = kept[k, o]
            _draw_cell(table, rng, cell)
            S_XO += _squares(cell, square)
            prompt += cell
        S_X += _squares(prompt, square)
        everything += prompt
    xo, x, all_calls = map(_across_fields, (S_XO, S_X, _squares(everything, square)))
    R = ROW_DEPTHS[:, None]
    plugin = K * x - all_calls
    complete = (R - 1) * plugin - (K - 1) * (K * O * R * R - xo)
    return ItemBlock(plugin=plugin, complete=complete, cells=kept)


def _draw_cell(table: PairTable, rng: np.random.Generator, cell: Words) -> None:
    """Fill the rows of one cell: four blocks, then the prefixes of four and of eight."""
    items = cell.shape[1]
    pairs = table.draw(rng, 2 * items).reshape(2, items)
    split_blocks(pairs, cell[0:4:2], cell[1:4:2])
    np.add(cell[0], cell[1], out=cell[4])
    np.add(cell[2], cell[3], out=cell[5])
    np.add(cell[4], cell[5], out=cell[5])


def _squares(words: Words, out: Words) -> Words:
    """Square each field of sixteen bits; counts stay below 256, so nothing overflows."""
    fields = words.view(np.uint16)
    np.multiply(fields, fields, out=out.view(np.uint16))
    return out


def _across_fields(words: Words) -> NDArray[np.int64]:
    """Sum the four fields of every word: the product gathers them in the top sixteen bits."""
    return np.asarray(((words * _HORIZONTAL) >> _TOP).astype(np.int64))
