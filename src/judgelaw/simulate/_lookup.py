"""Exact draws of four calls at once, by one look-up in a table of 65,536 entries.

A cell's calls come in blocks of two consecutive repeats. With four verdicts a block has 10 count
vectors, so two blocks have 100 outcomes, and sixteen random bits choose among them: outcome x gets
floor(2^16 p_x) entries of the table. The few entries left over (fewer than 100 of 65,536) are
marked; a draw that hits one is drawn again from what rounding down has left, by inversion of a
double. So an outcome has its probability up to the spacing of doubles, below 2^-53, and not up to
the 2^-16 of the table; the price is a second draw in less than one case of 650.

Outcomes are packed: byte 2c of the 64-bit word counts verdict c in the first block, byte 2c + 1 in
the second. Adding words adds counts; masking gives one block in four fields of sixteen bits.
"""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

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
