"""Shuffling calls across the levels of a facet, many draws at a time, straight to counts.

Verdict codes are shuffled in place of calls; then every code becomes a word with one bit field for
each verdict and a 1 in its own, so that the sum of a cell's words holds its counts. A draw costs a
few passes over the calls, with no one-hot arrays and, in a complete table, no sorting. Alphabets
that do not fit in the fields of one word take several.
"""

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT
from judgelaw.estimate.cells import Array

Facet = Literal["prompt", "order"]
Codes = NDArray[np.int64]

_WORD_BITS = 64


@dataclass(frozen=True, kw_only=True, eq=False)
class Shuffler:
    """The calls of a table, laid out for shuffling across one facet.

    Attributes:
        codes: verdict codes; the last axis is what may be shuffled: the levels of the facet at one
            rank of a block, (ranks, items, others, levels), or all calls of a block,
            (items, others, levels x ranks). The code after the last verdict is "no call".
        verdicts: size of the alphabet.
        ranks: repeat ranks of a cell, present or not.
        by_rank: which of the two layouts `codes` has.
        facet: the facet whose levels are exchanged.
    """

    codes: Codes
    verdicts: int
    ranks: int
    by_rank: bool
    facet: Facet

    @classmethod
    def of(cls, n: Array, ranked: Array | None, facet: Facet) -> Self:
        """Lay out ranked verdicts, or counts where there are none."""
        C = n.shape[-1]
        codes = _expanded(n) if ranked is None else np.asarray(ranked, dtype=np.int64)
        codes = np.where(codes == ABSENT, C, codes)
        blocks = codes if facet == "order" else np.swapaxes(codes, 1, 2)
        if ranked is None:
            rows = blocks.reshape(*blocks.shape[:2], -1)
        else:
            rows = np.moveaxis(blocks, -1, 0)
        return cls(
            codes=np.ascontiguousarray(rows),
            verdicts=C,
            ranks=codes.shape[-1],
            by_rank=ranked is not None,
            facet=facet,
        )

    @property
    def calls(self) -> int:
        """Positions that one draw shuffles."""
        return self.codes.size

    @property
    def movable(self) -> bool:
        """Whether any shuffle can change the table."""
        present = self.codes < self.verdicts
        low = np.where(present, self.codes, self.verdicts).min(axis=-1)
        high = np.where(present, self.codes, -1).max(axis=-1)
        return bool((low < high).any())

    def draw(self, rng: np.random.Generator, draws: int) -> Codes:
        """Return counts of independent shuffles, (draws, items, prompts, orders, verdicts)."""
        shuffled = self._shuffled(rng, draws)
        if not self.by_rank:
            shuffled = shuffled.reshape(*shuffled.shape[:-1], -1, self.ranks)
        counts = self._counted(shuffled, axis=1 if self.by_rank else -1)
        return counts if self.facet == "order" else np.swapaxes(counts, 2, 3)

    def _shuffled(self, rng: np.random.Generator, draws: int) -> Codes:
        present = self.codes < self.verdicts
        copies = np.broadcast_to(self.codes, (draws, *self.codes.shape))
        if present.all():
            return rng.permuted(copies, axis=-1)
        # Present calls come first in a random order, and go to the places that hold a call.
        keys = rng.random(copies.shape)
        keys[:, ~present] = 2.0
        taken = np.take_along_axis(copies, np.argsort(keys, axis=-1), axis=-1)
        places = np.argsort(~present, axis=-1, kind="stable")
        out = np.empty_like(taken)
        np.put_along_axis(out, np.broadcast_to(places, out.shape), taken, axis=-1)
        return out

    def _counted(self, codes: Codes, axis: int) -> Codes:
        bits = self.ranks.bit_length()
        per_word = _WORD_BITS // bits
        field = np.uint64((1 << bits) - 1)
        parts = []
        for first in range(0, self.verdicts, per_word):
            held = range(min(per_word, self.verdicts - first))
            words = np.zeros(self.verdicts + 1, dtype=np.uint64)
            words[[first + j for j in held]] = [1 << (bits * j) for j in held]
            sums = words[codes].sum(axis=axis, dtype=np.uint64)
            parts += [(sums >> np.uint64(bits * j)) & field for j in held]
        return np.stack(parts, axis=-1).astype(np.int64)


def _expanded(n: Array) -> Codes:
    """Return the calls behind counts as codes (items, prompts, orders, ranks), in any order."""
    R = n.sum(axis=-1)
    rank = np.arange(int(R.max()))
    ends = np.cumsum(n, axis=-1)
    codes = (rank[:, None] >= ends[..., None, :]).sum(axis=-1)
    return np.where(rank < R[..., None], codes, ABSENT).astype(np.int64)
