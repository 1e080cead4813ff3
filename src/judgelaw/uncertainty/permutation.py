"""Exact permutation tests of "every prompt has the same law", and of "every order has".

Calls are shuffled across the levels of a facet, many draws at a time, straight to counts. Every
call is a word with one field for each verdict and a 1 in its own, so that the sum of a cell's words
holds its counts. Words are shuffled in place of calls. A draw costs a few passes over the calls,
with no one-hot arrays and, in a complete table, no sorting. Alphabets that do not fit in the fields
of one word are shuffled as codes and take several words afterwards.

Under the hypothesis the calls of an item-order block are exchangeable across prompts (of an
item-prompt block across orders). They are shuffled within the repeat rank where ranks are known:
that survives a shock shared by all calls of a rank, and it is the randomisation test of control
layers. Where only counts are known they are shuffled within the whole block.

    p = (1 + #{draws whose statistic >= observed}) / (1 + draws)

The statistic is the macro component, or the component over its call standard error ("studentised").
The plain test is exact for equality of laws. It is none of "component = 0": with an interaction
present it can reject that too often (15% at 5% in a planted case, where the studentised one
rejects 2%).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import inf, nan
from typing import Any, Literal, Self, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import ABSENT, PAIR
from judgelaw.errors import InputError
from judgelaw.estimate import Array, Estimand, Weights, dissimilarity_of
from judgelaw.steps import Advance, unheard
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_variance import call_covariance
from judgelaw.uncertainty.forms import KnownCounts, absent_reason, declare, form_of, require_four

Facet = Literal["prompt", "order"]
Codes = NDArray[np.int64]
Words = NDArray[np.uint64]
Counts = NDArray[np.integer[Any]]

_WORD_BYTES = 8


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
        """Arrange ranked verdicts for shuffling, or counts if there are no ranks."""
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
        if self.by_rank and self.codes.shape[-1] == PAIR and self._whole and self._one_word:
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


Within = Literal["rank", "block"]
Statistic = Callable[[Counts], NDArray[np.float64]]

PERMUTATIONS = 999
_CHUNK = 1 << 16
"""Calls shuffled at a time: 512 kB."""
_TIE = 1e-11
"""In units of the largest dissimilarity. Rounding makes equal statistics differ by 1e-15; distinct
ones differ by 1e-10 in common designs. Without it p was wrong in a fifth of data sets; with it a
near tie counts, which is conservative."""


@dataclass(frozen=True, kw_only=True)
class PermutationTest:
    """A permutation test and exactly what it tested.

    Attributes:
        p: the p value, nan with a reason where nothing can be shuffled.
        statistic: the observed statistic.
        at_least: draws whose statistic reached the observed one, ties included.
        draws: number of draws.
        facet: "prompt" or "order".
        within: "rank" if calls were shuffled within repeat ranks, "block" if within whole blocks.
        studentised: whether the statistic is the component over its call standard error.
        hypothesis: what was tested, in words.
        reason: why p is nan, or None.
    """

    p: float
    statistic: float
    at_least: int
    draws: int
    facet: Facet
    within: Within
    studentised: bool
    hypothesis: str
    reason: str | None = None


def permutation_test(
    x: VerdictTensor | ArrayLike,
    facet: Facet = "prompt",
    *,
    draws: int = PERMUTATIONS,
    seed: int = 0,
    studentised: bool = False,
    within: Within | None = None,
    order_weights: Weights = None,
    prompt_weights: Weights = None,
    dissimilarity: ArrayLike | str | None = None,
    progress: Advance = unheard,
) -> PermutationTest:
    """Test that all levels of a facet share one law in every block.

    A block is an item and order for prompts, an item and prompt for orders. `studentised` divides
    the component by its call standard error, and needs four repeats. `within` is "rank", the
    default where ranks are known (levels with a call there), or "block". `progress` is told after
    every chunk how many draws were just done. Other arguments as in `decompose`.
    """
    _check_request(facet, within, draws)
    r, unit = _in_unit(dissimilarity_of(x, dissimilarity))
    estimand = Estimand(order_weights=order_weights, prompt_weights=prompt_weights, dissimilarity=r)
    known = declare(x, estimand)
    scheme = _scheme(known, within)
    statistic = _statistic(known, facet, studentised=studentised)
    observed = float(statistic(known.n[None])[0])
    shuffler = Shuffler.of(known.n, known.ranked if scheme == "rank" else None, facet)
    reason = _refusal(known, facet, shuffler, observed)
    reached = _reached(known, facet, statistic, observed, studentised=studentised)
    rng = stream(seed, "permutation", facet, scheme)
    at_least = 0 if reason else _count(reached, shuffler, draws, rng, progress)
    return PermutationTest(
        p=(1 + at_least) / (1 + draws) if reason is None else nan,
        statistic=observed if studentised else observed * unit,
        at_least=at_least,
        draws=draws if reason is None else 0,
        facet=facet,
        within=scheme,
        studentised=studentised,
        hypothesis=_hypothesis(facet, scheme, crossed=min(known.n.shape[1:3]) > 1),
        reason=reason,
    )


def _in_unit(dissimilarity: ArrayLike | str | None) -> tuple[ArrayLike | str | None, float]:
    """Return a dissimilarity whose largest entry is 1, and the unit that was divided out.

    What counts as a tie, and so p, then does not depend on the unit of the scores.
    """
    if dissimilarity is None or isinstance(dissimilarity, str):
        return dissimilarity, 1.0
    r = np.asarray(dissimilarity)
    unit = float(r.max()) if r.size else nan
    if not 0 < unit < inf:  # nothing to divide by: `declare` judges it
        return dissimilarity, 1.0
    return np.asarray(r / unit), unit


def _count(
    reached: Callable[[Counts], int],
    shuffler: Shuffler,
    draws: int,
    rng: np.random.Generator,
    progress: Advance,
) -> int:
    """Return how many shuffles have a statistic as large as the observed one."""
    found, at_once = 0, max(1, _CHUNK // shuffler.calls)
    for first in range(0, draws, at_once):
        size = min(at_once, draws - first)
        found += reached(shuffler.draw(rng, size))
        progress(size)
    return found


def _statistic(known: KnownCounts, facet: Facet, *, studentised: bool) -> Statistic:
    """Return the function from counts (draws, items, ...) to the statistic of every draw."""
    if studentised:
        require_four(known, instead="use the plain test, which needs two")

    def component(counts: Counts) -> NDArray[np.float64]:
        return np.asarray(known.decompose(counts)[facet].mean(axis=-1))

    if not studentised or _levels(known, facet) == 1:
        return component
    c = form_of(facet, known.w, known.q)[None]
    cells = known.cells.shape[1:]

    def over_error(counts: Counts) -> NDArray[np.float64]:
        U = component(counts)
        V = call_covariance(counts.reshape(-1, *cells), c, known.M).reshape(len(U), -1)
        variance = V.sum(axis=-1) / V.shape[1] ** 2
        # A table without call noise to divide by counts as extreme, on the side of its component.
        extreme = np.copysign(np.inf, U)
        np.divide(U, np.sqrt(np.abs(variance)), out=extreme, where=variance > 0)
        return extreme

    return over_error


def _reached(
    known: KnownCounts, facet: Facet, statistic: Statistic, observed: float, *, studentised: bool
) -> Callable[[Counts], int]:
    """Return the function that counts the draws whose statistic reaches the observed one."""
    R = known.n.sum(axis=-1)
    asked = known.estimand
    uniform = asked.prompt_weights is None and asked.order_weights is None and known.M is None
    if uniform and not studentised and (R.flat[0] == R).all():
        least = _varying(known.n[None], facet)[0]
        return lambda counts: int((_varying(counts, facet) >= least).sum())
    bar = observed - _TIE * max(1.0, abs(observed))
    return lambda counts: int((statistic(counts) >= bar).sum())


def _varying(counts: Counts, facet: Facet) -> NDArray[np.int64]:
    """Return the part of the macro component that shuffles change, as a whole number.

    With equal weights and R calls in every cell, a component of L levels is, but for a positive
    factor and for margins that no shuffle across its levels moves,

        L (R - 1) sum |n_x|^2 + (L - 1) sum |n_xo|^2

    where n_x are the counts of a level and n_xo those of a cell (Proposition 3, distinct calls).
    In whole numbers equal statistics are ties, and nothing else is.
    """
    axis = 2 if facet == "prompt" else 3
    levels, repeats = counts.shape[axis], int(counts[0, 0, 0, 0].sum())
    # In the order of memory: the shuffled facet comes after the other one.
    n_xo = np.ascontiguousarray(np.moveaxis(counts, axis, 3), dtype=np.float64)
    n_x = np.einsum("diolc->dilc", n_xo)
    varying = levels * (repeats - 1) * _squares(n_x) + (levels - 1) * _squares(n_xo)
    return np.asarray(varying)


def _squares(n: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return the sum of squares of every draw; floats hold whole numbers exactly below 2^53."""
    flat = n.reshape(len(n), -1)
    return np.asarray(np.einsum("ij,ij->i", flat, flat).astype(np.int64))


def _scheme(known: KnownCounts, within: Within | None) -> Within:
    if within == "rank" and known.ranked is None:
        raise InputError(
            "within='rank' needs ranked verdicts, and only counts are known: leave it out to "
            "shuffle within whole blocks"
        )
    return within or ("block" if known.ranked is None else "rank")


def _refusal(known: KnownCounts, facet: Facet, shuffler: Shuffler, observed: float) -> str | None:
    if _levels(known, facet) == 1:
        return absent_reason(facet)
    if not shuffler.movable:
        return (
            f"no shuffle across {facet}s changes the table: all calls that may be exchanged have "
            "the same verdict, so there is nothing to test"
        )
    if not np.isfinite(observed):
        return (
            "the call variance of the observed table is not positive, so its component cannot be "
            "studentised: use the plain test, or acquire more repeats"
        )
    return None


def _levels(known: KnownCounts, facet: Facet) -> int:
    return int(known.n.shape[1 if facet == "prompt" else 2])


def _hypothesis(facet: Facet, within: Within, *, crossed: bool) -> str:
    other = "order" if facet == "prompt" else "prompt"
    block = f"item-{other} block" if crossed else "item"
    how = "within repeat ranks" if within == "rank" else "within whole blocks"
    return f"every {facet} has the same law in every {block}; calls exchanged across {facet}s {how}"


def _check_request(facet: str, within: str | None, draws: int) -> None:
    if facet not in get_args(Facet):
        raise InputError(f"facet {facet!r}: calls are exchanged across 'prompt' or 'order'")
    if within is not None and within not in get_args(Within):
        raise InputError(f"within {within!r}: calls are exchanged within a 'rank' or a 'block'")
    if draws < 1:
        raise InputError(f"draws = {draws}: a permutation test needs one draw or more")
