"""Shuffling calls across the levels of a facet, many draws at a time, straight to counts.

Every call is a word with one field for each verdict and a 1 in its own, so that the sum of a cell's
words holds its counts. Words are shuffled in place of calls. A draw costs a few passes over the
calls, with no one-hot arrays and, in a complete table, no sorting. Alphabets that do not fit in the
fields of one word are shuffled as codes and take several words afterwards.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import ABSENT
from judgelaw.estimate.cells import Array

Facet = Literal["prompt", "order"]
Codes = NDArray[np.int64]
Words = NDArray[np.uint64]
Counts = NDArray[np.integer[Any]]

_WORD_BYTES = 8
_PAIR = 2


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
        present = self._present
        low = np.where(present, self.codes, self.verdicts).min(axis=-1)
        high = np.where(present, self.codes, -1).max(axis=-1)
        return bool((low < high).any())

    def draw(self, rng: np.random.Generator, draws: int) -> Counts:
        """Return counts of independent shuffles, (draws, items, prompts, orders, verdicts)."""
        if self.by_rank and self.codes.shape[-1] == _PAIR and self._whole and self._one_word:
            sums = [self._swapped(rng, draws)]
        elif self._one_word:
            sums = [self._summed(self._shuffled(self._words[0][self.codes], rng, draws))]
        else:
            codes = self._shuffled(self.codes, rng, draws)
            sums = [self._summed(words[codes]) for words in self._words]
        fields = np.stack(sums, axis=-1).view(self._field)
        counts = fields[..., : self.verdicts]
        return counts if self.facet == "order" else np.swapaxes(counts, 2, 3)

    @cached_property
    def _present(self) -> NDArray[np.bool_]:
        return self.codes < self.verdicts

    @cached_property
    def _whole(self) -> bool:
        return bool(self._present.all())

    @cached_property
    def _field(self) -> np.dtype[Any]:
        """The widest fields of which a word has enough, else the narrowest that hold the ranks."""
        holding = [size for size in (4, 2, 1) if self.ranks < 1 << (8 * size)]
        fitting = [size for size in holding if size * self.verdicts <= _WORD_BYTES]
        return np.dtype(f"u{fitting[0] if fitting else holding[-1]}")

    @cached_property
    def _words(self) -> list[Words]:
        """Tables from codes to words; each holds as many verdicts as a word has fields."""
        size = _WORD_BYTES // self._field.itemsize
        tables = -(-self.verdicts // size)
        fields = np.zeros((self.verdicts + 1, tables * size), dtype=self._field)
        np.fill_diagonal(fields[: self.verdicts], 1)
        return list(fields.view(np.uint64).T)

    @property
    def _one_word(self) -> bool:
        return len(self._words) == 1

    def _summed(self, words: Words) -> Words:
        """Add up the words of every cell."""
        if self.by_rank:
            return np.asarray(words.sum(axis=1))
        return np.asarray(words.reshape(*words.shape[:-1], -1, self.ranks).sum(axis=-1))

    def _swapped(self, rng: np.random.Generator, draws: int) -> Words:
        """Exchange two levels or not, and add up: what `_shuffled` and `_summed` give, by one bit.

        `Generator.permuted` takes the lowest bit of 32 for a row of two, and swaps if it is 0.
        """
        words = self._words[0][self.codes]
        shape = (draws, *words.shape[:-1])
        stays = rng.integers(0, 1 << 32, size=shape, dtype=np.uint32) & 1
        # Fields of a difference may borrow from their neighbours; in the sum that is undone.
        added = words[..., 1].sum(axis=0) + (stays * (words[..., 0] - words[..., 1])).sum(axis=1)
        return np.stack([added, words.sum(axis=(0, -1)) - added], axis=-1)

    def _shuffled(self, values: NDArray[Any], rng: np.random.Generator, draws: int) -> NDArray[Any]:
        """Shuffle one value for each call; what stands for "no call" stays where it is."""
        # Repeated, not broadcast: a copy of what is broadcast would lie draw by draw in memory.
        copies = np.repeat(values[None], draws, axis=0)
        if self._whole:
            return rng.permuted(copies, axis=-1, out=copies)
        # Present calls come first in a random order, and go to the places that hold a call.
        keys = rng.random(copies.shape)
        keys[:, ~self._present] = 2.0
        taken = np.take_along_axis(copies, np.argsort(keys, axis=-1), axis=-1)
        places = np.argsort(~self._present, axis=-1, kind="stable")
        out = np.empty_like(taken)
        np.put_along_axis(out, np.broadcast_to(places, out.shape), taken, axis=-1)
        return out


def _expanded(n: Array) -> Codes:
    """Return the calls behind counts as codes (items, prompts, orders, ranks), in any order."""
    R = n.sum(axis=-1)
    rank = np.arange(int(R.max()))
    ends = np.cumsum(n, axis=-1)
    codes = (rank[:, None] >= ends[..., None, :]).sum(axis=-1)
    return np.where(rank < R[..., None], codes, ABSENT).astype(np.int64)
