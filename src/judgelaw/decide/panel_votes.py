"""The vote of several judges, one call each, without bias: its verdicts, and how often they change.

Judges answer independently, given the item. With P_j the law of one call of judge j, J_j the law of
two separate calls of it, and g(c | z) the share of verdict c in the majority of the votes z,

    law      Q(c) = sum_z g(c | z) prod_j P_j(z_j)
    changes  1 - sum_c sum_{z, z'} g(c | z) g(c | z') prod_j J_j(z_j, z'_j)

Both are multilinear in unbiased estimates from separate calls, hence unbiased: the law from one
call a judge on, the changes from two. A verdict that no judge gave on an item has no part in it, so
that items are counted over the verdicts that were given there.

Many calls of one judge, spread evenly over its cells (m calls in U cells: m // U in each, and one
more in m % U of them, all choices alike), are one hypergeometric draw a cell; the law of their
majority is a product of generating functions and as exact.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from math import comb
from typing import Any, Literal, get_args

import numpy as np

from judgelaw.arrays import PAIR, is_exact
from judgelaw.errors import InputError
from judgelaw.estimate import Array
from judgelaw.streams import stream

Ties = Literal["random", "tie", "first"]
TIES: tuple[Ties, ...] = get_args(Ties)
Invalid = Literal["drop", "count"]

_BLOCK = 1 << 22
"""Numbers in a block of items: 32 MB."""
_ENUMERATED = 1 << 14
"""Up to so many ways in which judges can vote, all are looked at."""
_MOST_WAYS = 1 << 18
_DRAWS, _AT_ONCE = 60, 1 << 20


@dataclass(frozen=True, kw_only=True)
class Majority:
    """How votes become a verdict.

    Attributes:
        verdicts: how many there are.
        ties: `random` draws one of the most frequent, `tie` rules a tie, `first` takes the one
            among them that the judge listed first gave.
        tie: position of that verdict; the rule of its name needs it.
        unread: position of the reply that holds no verdict, None where every reply holds one.
        invalid: `drop` leaves such replies out of the vote, unless all are; `count` lets them vote.
    """

    verdicts: int
    ties: Ties = "random"
    tie: int | None = None
    unread: int | None = None
    invalid: Invalid = "drop"

    def __post_init__(self) -> None:
        if self.ties == "tie" and self.tie is None:
            raise InputError(
                "ties 'tie': there is no verdict 'tie' among these; take 'random' or 'first'"
            )

    def among(self, given: Sequence[int]) -> "tuple[Majority, tuple[int, ...]]":
        """Return the same rule for some verdicts alone, and which these are."""
        kept = {*given, self.tie} if self.ties == "tie" and self.tie is not None else {*given}
        names = tuple(sorted(kept))
        return Majority(
            verdicts=len(names),
            ties=self.ties,
            tie=names.index(self.tie) if self.tie in kept and self.tie is not None else None,
            unread=names.index(self.unread)
            if self.unread in kept and self.unread is not None
            else None,
            invalid=self.invalid,
        ), names

    def of_counts(self, x: Sequence[int]) -> dict[int, Fraction]:
        """Return the law of the verdict, given how many votes each got; `first` as `random`."""
        counted = [*x]
        if self.unread is not None and self.invalid == "drop" and sum(x) > x[self.unread]:
            counted[self.unread] = 0
        most = [c for c, votes in enumerate(counted) if votes == max(counted)]
        if len(most) > 1 and self.ties == "tie" and self.tie is not None:
            return {self.tie: Fraction(1)}
        return dict.fromkeys(most, Fraction(1, len(most)))

    def of_votes(self, z: Sequence[int]) -> dict[int, Fraction]:
        """Return the law of the verdict, given the vote of each judge."""
        found = self.of_counts([z.count(c) for c in range(self.verdicts)])
        if len(found) > 1 and self.ties == "first":
            return {next(c for c in z if c in found): Fraction(1)}
        return found


@lru_cache(maxsize=128)
def _by_votes(rule: Majority, m: int, *, exact: bool) -> Array:
    """Return g(c | z), (verdicts, ..., verdicts): the final verdict first, then m votes."""
    C = rule.verdicts
    g = np.full((C, *[C] * m), Fraction(0), dtype=object)
    for z in product(range(C), repeat=m):
        for c, share in rule.of_votes(z).items():
            g[(c, *z)] = share
    return g if exact else g.astype(float)


def panel_law(laws: Sequence[Array], rule: Majority) -> Array:
    """Return Q, the law of the verdict of a panel, from those of its judges (items, verdicts)."""
    found = np.zeros_like(laws[0])
    m = len(laws)
    for rows, own, names in _by_support(laws, rule):
        at = np.ix_(rows, names)
        ways = own.verdicts**m
        if ways > _MOST_WAYS and own.ties == "first":
            raise InputError(
                f"ties 'first' with {m} judges and {own.verdicts} verdicts on an item: take "
                "'random' or 'tie', or name fewer judges"
            )
        if ways > _ENUMERATED and own.ties != "first":
            counts = _convolved(
                [{_one(c, own): P[at][:, c] for c in range(own.verdicts)} for P in laws]
            )
            found[at] = _ruled(counts, own, like=laws[0])
            continue
        g = _by_votes(own, m, exact=is_exact(laws[0]))
        for part in _parts(rows, g.size // own.verdicts):
            block = np.ix_(part, names)
            X: Any = np.moveaxis(g, 0, -1).reshape(own.verdicts, -1)
            X = laws[0][block] @ X
            for P in laws[1:]:
                X = X.reshape(len(part), own.verdicts, -1)
                X = (P[block][:, :, None] * X).sum(axis=1)
            found[block] = X
    return found


def panel_changes(laws: Sequence[Array], pairs: Sequence[Array], rule: Majority) -> Array:
    """Return how often the verdict of a panel differs when all its judges are asked again.

    Args:
        laws: of one call of each judge, (items, verdicts): they tell which verdicts were given.
        pairs: of two separate calls of each judge, (items, verdicts, verdicts).
        rule: how votes become a verdict.
    """
    found = np.zeros_like(laws[0][:, 0])
    for rows, own, names in _by_support(laws, rule):
        C, m = own.verdicts, len(laws)
        if C ** (m + 1) > _MOST_WAYS:
            raise InputError(
                f"a panel of {m} judges with {C} verdicts on an item: too many ways to vote; name "
                "fewer judges"
            )
        g = _by_votes(own, m, exact=is_exact(laws[0]))
        for part in _parts(rows, g.size):
            X: Any = np.broadcast_to(np.moveaxis(g, 0, -1).reshape(1, C, -1), (len(part), C, C**m))
            for J in pairs:
                X = J[np.ix_(part, names, names)] @ X.reshape(len(part), C, -1)
                X = np.moveaxis(X, 1, -1).reshape(len(part), C, -1)
            # The axes have come round: the final verdict stands first now.
            same = (g.reshape(1, -1) * X.reshape(len(part), -1)).sum(axis=1)
            found[part] = 1 - same
    return np.asarray(found)


def calls_in_turn(first: Array, second: Array, rule: Majority) -> Array:
    """Return the calls of an item where a third judge is asked only if need be, (items,).

    That is if the first two differ, or one of them gave no verdict: 3 - sum_{c valid} P_1 P_2. The
    verdict is that of all three, whatever they say.
    """
    return np.asarray(3 - _agreed(first, second, rule))


def _agreed(first: Array, second: Array, rule: Majority) -> Array:
    """Return the chance that two calls give the same verdict, and it is one."""
    same = first * second
    return np.asarray(same.sum(axis=1) - (0 if rule.unread is None else same[:, rule.unread]))


def two_calls(pairs: Array, credit: Array, rule: Majority) -> tuple[Array, Array]:
    """Return the share of items sent to a person, and the credit then: a person is right.

    Args:
        pairs: the law of two calls, (items, verdicts, verdicts): J of one judge, P_a P_b of two.
        credit: of each verdict, (items, verdicts).
        rule: which reply holds no verdict.
    """
    stands = pairs[:, range(rule.verdicts), range(rule.verdicts)].copy()
    if rule.unread is not None:
        stands[:, rule.unread] = 0
    sent = 1 - stands.sum(axis=1)
    return np.asarray(sent), np.asarray((stands * credit).sum(axis=1) + sent)


def of_two(first: Array, second: Array) -> Array:
    """Return the law of one call of each of two judges, (items, verdicts, verdicts)."""
    return np.asarray(first[:, :, None] * second[:, None, :])


def wrong_together(laws: Sequence[Array], credit: Array) -> Array:
    """Return the chance that every judge is wrong, with no credit at all, (items,)."""
    wrong = (credit == 0) * 1
    found: Any = 1
    for P in laws:
        found = found * (P * wrong).sum(axis=1)
    return np.asarray(found)


# One judge ---------------------------------------------------------------------------------------


def call_law(n: Array, prompt_weights: Array, order_weights: Array) -> Array:
    """Return P, the law of one call in a random cell, from counts (items, prompts, orders, C)."""
    p = n / n.sum(axis=-1)[..., None]
    cells = (prompt_weights[:, None] * order_weights)[..., None]
    return np.asarray((cells * p).sum(axis=(1, 2)))


def call_pairs(n: Array, prompt_weights: Array, order_weights: Array) -> Array | None:
    """Return J, the law of two calls that differ in prompt and in order, where there are several.

    Of a judge with one cell two distinct calls of it, (n n' - diag n) / (R (R - 1)); None where it
    holds one call. The mean over pairs of cells is taken over both sequences of the pair.
    """
    R = n.sum(axis=-1)
    p = n / R[..., None]
    w, q = prompt_weights[:, None, None], order_weights[:, None]
    if n.shape[1] == 1 and n.shape[2] == 1:
        if R.min() < PAIR:
            return None
        one = n[:, 0, 0]
        C, times = n.shape[-1], (R * (R - 1))[:, 0, 0]
        distinct = one[:, :, None] * one[:, None, :]
        distinct[:, range(C), range(C)] = one * (one - 1)
        return np.asarray(distinct / times[:, None, None])
    found = _outer((w * q * p).sum(axis=(1, 2)))
    if n.shape[1] > 1:  # leave out pairs under the same prompt
        by_prompt = w[:, 0] * (q * p).sum(axis=2)
        found = found - _outer(by_prompt).sum(axis=1)
    if n.shape[2] > 1:
        by_order = q * (w * p).sum(axis=1)
        found = found - _outer(by_order).sum(axis=1)
    if n.shape[1] > 1 and n.shape[2] > 1:  # taken away twice
        found = found + _outer(w * q * p).sum(axis=(1, 2))
    others = 1
    for weights, levels in ((prompt_weights, n.shape[1]), (order_weights, n.shape[2])):
        if levels > 1:
            others = others * (1 - (weights**2).sum())
    return np.asarray(found / others)


def _outer(x: Array) -> Array:
    return np.asarray(x[..., :, None] * x[..., None, :])


def calls_needed(m: int, cells: int) -> int:
    """Return the calls that one cell needs where m are spread evenly over so many."""
    return -(-m // cells)


def spread_law(n: Array, m: int, rule: Majority) -> Array:
    """Return the law of the majority of m calls of one judge, spread evenly over its cells.

    n are counts (items, cells, verdicts) with `calls_needed(m, cells)` calls in every cell. The
    judge listed first is always the same one: `first` takes the verdict of the first call.
    """
    U = n.shape[1]
    whole, more = divmod(m, U)
    found = np.zeros((len(n), rule.verdicts), dtype=object if is_exact(n) else float)
    p = n.sum(axis=1)
    for rows, own, names in _by_support([p], rule):
        cells: list[Mapping[tuple[int, ...], Array]] = []
        for u in range(U):
            x = n[:, u][np.ix_(rows, names)]
            drawn = {(*ways, 0): h for ways, h in _drawn(x, whole, own.verdicts)}
            if more:
                drawn |= {(*ways, 1): h for ways, h in _drawn(x, whole + 1, own.verdicts)}
            cells.append(drawn)
        counts = _convolved(cells, most=more)
        chosen = {ways[:-1]: h / comb(U, more) for ways, h in counts.items() if ways[-1] == more}
        found[np.ix_(rows, names)] = _ruled(chosen, own, like=found)
    return found


def _drawn(x: Array, m: int, C: int) -> Iterator[tuple[tuple[int, ...], Array]]:
    """Yield every way in which m calls of one cell can fall, with its chance on every item."""
    R = x.sum(axis=1)
    for ways in _ways(m, C):
        h: Any = 0 * R + 1
        for c, k in enumerate(ways):
            for i in range(k):
                h = h * (x[:, c] - i) / (i + 1)
        total: Any = 0 * R + 1
        for i in range(m):
            total = total * (R - i) / (i + 1)
        yield ways, h / total


@lru_cache(maxsize=64)
def _ways(m: int, C: int) -> tuple[tuple[int, ...], ...]:
    if C == 1:
        return ((m,),)
    return tuple((first, *rest) for first in range(m + 1) for rest in _ways(m - first, C - 1))


def spread_changes(
    n: Array, m: int, rule: Majority, *, seed: int = 0, draws: int = _DRAWS
) -> Array | None:
    """Return how often the majority of m calls differs from that of m others, (items,).

    Calls are put into random order within cells, and cells within items: one vote takes the first
    calls, the other vote the next ones, of cells drawn anew. That is unbiased, and its own error is
    small. None where the cells hold fewer than twice the calls of a vote.
    """
    N, U, C = n.shape
    each = calls_needed(m, U)
    if n.sum(axis=-1).min() < PAIR * each:
        return None
    rng = stream(seed, "panel", "spread", m)
    ranks = np.arange(int(n.sum(axis=-1).max()))
    codes = (ranks[:, None] >= n.cumsum(axis=-1)[:, :, None]).sum(axis=-1)
    g = _by_counts(rule, m)
    place = (m + 1) ** np.arange(C)
    different = np.zeros(N)
    copies = max(1, min(draws, _AT_ONCE // codes.size))
    rounds = -(-draws // copies)
    tiled = np.tile(codes, (copies, 1, 1))
    for _ in range(rounds):
        keys = rng.random(tiled.shape, dtype=np.float32)
        keys[tiled == C] = 2.0
        calls = np.take_along_axis(tiled, keys.argsort(axis=-1), axis=-1)
        votes = []
        for which in range(PAIR):
            own = calls[:, :, which * each : (which + 1) * each].astype(np.int64)
            taken = np.full(own.shape, each)
            if m % U:
                order = rng.random(own.shape[:2]).argsort(axis=-1).argsort(axis=-1)
                taken = (each - (order >= m % U))[:, :, None]
            used = np.arange(each) < taken
            x = [((own == c) & used).sum(axis=(1, 2)) for c in range(C)]
            votes.append(g[np.stack(x, axis=-1) @ place])
        apart = 1 - (votes[0] * votes[1]).sum(axis=1)
        different += apart.reshape(copies, N).sum(axis=0)
    return np.asarray(different / (rounds * copies))


@lru_cache(maxsize=16)
def _by_counts(rule: Majority, m: int) -> Array:
    """Return the law of the verdict for every number that stands for vote counts."""
    C = rule.verdicts
    g = np.zeros(((m + 1) ** C, C))
    for ways in _ways(m, C):
        at = sum(k * (m + 1) ** c for c, k in enumerate(ways))
        for c, share in rule.of_counts(ways).items():
            g[at, c] = float(share)
    return g


# Several judges as a facet -----------------------------------------------------------------------


def across_judges(laws: Sequence[Array], weights: Array) -> Array:
    """Return sum_{j != l} v_j v_l P_j . P_l: two judges drawn at random agree, (items,)."""
    P = [v * law for v, law in zip(weights, laws, strict=True)]
    together: Any = sum(P)
    alone: Any = sum((p * p).sum(axis=1) for p in P)
    return np.asarray((together * together).sum(axis=1) - alone)


def judge_component(same: Sequence[Array], laws: Sequence[Array], weights: Array) -> Array:
    """Return sum_j v_j |P_j - Pbar|^2, how far judges' laws are from their mean, (items,).

    That is sum_j v_j (1 - v_j) H_0j - sum_{j != l} v_j v_l P_j . P_l, with `same` the H_0j: how
    often two calls of judge j agree, each in a cell drawn at random.
    """
    own: Any = sum(v * (1 - v) * H for v, H in zip(weights, same, strict=True))
    return np.asarray(own - across_judges(laws, weights))


def another_judge(laws: Sequence[Array], weights: Array) -> Array:
    """Return how often a call of another judge differs, (items,)."""
    return np.asarray(1 - across_judges(laws, weights) / (1 - (weights**2).sum()))


# Counting ----------------------------------------------------------------------------------------


def _by_support(laws: Sequence[Array], rule: Majority) -> Iterator[tuple[Array, Majority, Array]]:
    """Yield rows of items with the same verdicts given, the rule for these, and which they are."""
    seen: Any = 0
    for P in laws:
        seen = seen + (P != 0)
    given = np.asarray(seen > 0)
    patterns: dict[tuple[bool, ...], list[int]] = defaultdict(list)
    for i, pattern in enumerate(map(tuple, given.tolist())):
        patterns[pattern].append(i)
    for pattern, rows in patterns.items():
        own, names = rule.among([c for c, there in enumerate(pattern) if there])
        yield np.array(rows), own, np.array(names)


def _parts(rows: Array, numbers: int) -> Iterator[Array]:
    size = max(1, _BLOCK // max(1, numbers))
    for first in range(0, len(rows), size):
        yield rows[first : first + size]


def _one(c: int, rule: Majority) -> tuple[int, ...]:
    return tuple(int(c == i) for i in range(rule.verdicts))


def _convolved(
    cells: Sequence[Mapping[tuple[int, ...], Array]], *, most: int | None = None
) -> dict[tuple[int, ...], Array]:
    """Return the chance of every sum of vote counts; the last count may be bounded by `most`."""
    found: dict[tuple[int, ...], Any] = {}
    for cell in cells:
        if not found:
            found = dict(cell)
            continue
        then: dict[tuple[int, ...], Any] = {}
        for so_far, h in found.items():
            for ways, chance in cell.items():
                together = tuple(map(int.__add__, so_far, ways))
                if most is None or together[-1] <= most:
                    there = then.get(together)
                    then[together] = h * chance if there is None else there + h * chance
        found = then
    return found


def _ruled(counts: Mapping[tuple[int, ...], Array], rule: Majority, *, like: Array) -> Array:
    """Return the law of the verdict from the chances of vote counts, (items, verdicts)."""
    exact = is_exact(like)
    found = None
    for ways, h in counts.items():
        if found is None:
            found = np.zeros((len(h), rule.verdicts), dtype=like.dtype)
        for c, share in rule.of_counts(ways).items():
            found[:, c] = found[:, c] + h * (share if exact else float(share))
    return np.asarray(found)
