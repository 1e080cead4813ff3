"""The vote of m calls, without bias: its law, and how often two votes come out the same.

A protocol asks a cell m times and takes the most frequent verdict. Given the counts n of R calls of
the cell, m of them drawn without replacement have vote counts x with h(x | n) = prod_c C(n_c, x_c)
/ C(R, m), so that with g(x) the law of the final verdict

    law    pi_c = sum_x h(x | n) g_c(x)                                    needs R >= m
    pair   W(x, y) = h(x | n) h(y | n - x),   J = sum_xy W(x, y) g(x) g(y)'    needs R >= 2 m

are unbiased for the law of the vote and for the law of two separate votes of the same cell; the
trace of J is the chance that both are the same. Verdicts of two cells are pooled by adding their
vote counts: since cells are independent, their W multiply.

Which verdict wins a tie is a rule: `random` draws one of the most frequent, `tie` rules a tie,
`priority` takes the one that stands first in the alphabet. Invalid outputs vote like any verdict.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, reduce
from math import comb
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import is_exact
from judgelaw.errors import InputError
from judgelaw.estimate import Array

Rule = Literal["random", "tie", "priority"]
TIE = "tie"

_BLOCK = 1 << 22
"""Numbers in a block of rows: 32 MB."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Voted:
    """What a vote comes to, for rows of counts.

    Attributes:
        law: chance of every final verdict, (rows, verdicts).
        same: chance that the vote comes out the same when it is taken again, (rows,); None where
            there are fewer than twice as many calls as votes.
    """

    law: Array
    same: Array | None


def compositions(m: int, verdicts: int) -> NDArray[np.int64]:
    """Return every way in which m votes can fall, (ways, verdicts)."""
    return _compositions(m, verdicts).copy()


@lru_cache(maxsize=64)
def _compositions(m: int, C: int) -> NDArray[np.int64]:
    if C == 1:
        return np.array([[m]])
    return np.concatenate(
        [np.insert(_compositions(m - first, C - 1), 0, first, axis=1) for first in range(m, -1, -1)]
    )


def final_verdict(x: Array, rule: Rule, tie: int | None = None, *, exact: bool = False) -> Array:
    """Return g(x), the law of the final verdict given vote counts (..., verdicts).

    `tie` is the position of that verdict, which the rule of its name needs; `exact` returns
    Fractions.
    """
    # Verdicts are few: NumPy takes ten times as long for the short rows of them.
    columns = np.moveaxis(x, -1, 0)
    most = x == reduce(np.maximum, columns)[..., None]
    several = sum(column.astype(int) for column in np.moveaxis(most, -1, 0))
    one: Any = Fraction(1) if exact else 1.0
    if rule == "random":
        return np.asarray(most * one / several[..., None])
    if rule == "priority":
        return np.asarray((most & (most.cumsum(axis=-1) == 1)) * one)
    if tie is None:
        raise InputError(
            "the rule 'tie' rules a tie, and the alphabet has no verdict 'tie': use 'random' or "
            "'priority'"
        )
    ruled = np.zeros(x.shape[-1], dtype=bool)
    ruled[tie] = True
    return np.asarray(np.where((several > 1)[..., None], ruled, most) * one)


def simplest(m: int, rule: Rule, verdicts: int) -> int:
    """Return the smallest number of votes with the same law as m votes, under the rule.

    Random ties make the second vote worth nothing, whatever the alphabet; with two verdicts that
    holds for every even number.
    """
    if rule != "random":
        return m
    two = 2
    return m - 1 if m == two or (verdicts == two and m % two == 0) else m


@dataclass(frozen=True, kw_only=True, eq=False)
class VoteCounts:
    """How m calls of each row of counts can fall.

    Attributes:
        ways: vote counts, (ways, verdicts).
        once: h(x | n), (rows, ways).
        twice: W(x, y), (rows, ways, ways); None where R < 2 m in a row.
    """

    ways: NDArray[np.int64]
    once: Array
    twice: Array | None


def vote_counts(n: Array, m: int) -> VoteCounts:
    """Return how m calls of each row of counts (rows, verdicts) can fall, R >= m in every row."""
    exact = is_exact(n)
    counts = n.astype(np.int64)
    R = counts.sum(axis=1)
    ways = _compositions(m, n.shape[1])
    choose = _binomials(int(R.max()), m, exact=exact)
    first = _product(choose, counts[:, None], ways[None])
    once = first / choose[R, m][:, None]
    if R.min() < 2 * m:
        return VoteCounts(ways=ways, once=once, twice=None)
    left = counts[:, None] - ways[None]
    second = _product(choose, np.maximum(left, 0)[:, :, None], ways[None, None])
    second = second / choose[R - m, m][:, None, None]
    return VoteCounts(ways=ways, once=once, twice=once[:, :, None] * second)


def _binomials(most: int, m: int, *, exact: bool) -> Array:
    """Return C(a, b) for a up to `most` and b up to m."""
    table = [[comb(a, b) for b in range(m + 1)] for a in range(most + 1)]
    if exact:
        return np.array([[Fraction(c) for c in row] for row in table], dtype=object)
    return np.array(table, dtype=float)


def _product(choose: Array, of: NDArray[np.int64], x: NDArray[np.int64]) -> Array:
    """Return prod_c C(of_c, x_c) over the last axis."""
    C = x.shape[-1]
    found = choose[of[..., 0], x[..., 0]]
    for c in range(1, C):
        found = found * choose[of[..., c], x[..., c]]
    return np.asarray(found)


def vote(n: Array, m: int, rule: Rule, tie: int | None = None) -> Voted:
    """Return what m votes of one cell come to, for rows of counts (rows, verdicts)."""
    return _in_blocks((n,), m, rule, tie)


def pooled_vote(one: Array, other: Array, m: int, rule: Rule, tie: int | None = None) -> Voted:
    """Return what 2 m votes come to, m of each of two cells, for rows of counts of both."""
    return _in_blocks((one, other), m, rule, tie)


def consistent_vote(one: Array, other: Array, m: int, rule: Rule, tie: int) -> Voted:
    """Return what two votes come to that must agree, else a tie is ruled: m calls of each cell.

    With t the tie, and J and pi those of the two votes,

        law   pi1_c pi2_c for c other than t, and the rest for t
        same  sum_{c != t} J1_cc J2_cc + 1 - 2 sum_{c != t} pi1_c pi2_c + sum_{c,d != t} J1_cd J2_cd
    """
    found = [_with_pairs(n, m, rule, tie) for n in (one, other)]
    others = [c for c in range(one.shape[1]) if c != tie]
    (pi1, J1), (pi2, J2) = found
    law = pi1 * pi2
    agreed = law[:, others].sum(axis=1)
    law[:, tie] = 1 - agreed
    if J1 is None or J2 is None:
        return Voted(law=law, same=None)
    block = np.ix_(range(len(one)), others, others)
    both = (J1 * J2)[block]
    diagonal = np.arange(len(others))
    same = both[:, diagonal, diagonal].sum(axis=1) + 1 - 2 * agreed + both.sum(axis=(1, 2))
    return Voted(law=law, same=same)


def _with_pairs(n: Array, m: int, rule: Rule, tie: int) -> tuple[Array, Array | None]:
    """Return pi and J of one cell, for distinct rows of counts."""
    rows, back = _distinct(n)
    found = vote_counts(rows, m)
    g = final_verdict(found.ways, rule, tie, exact=is_exact(n))
    pi = (found.once @ g)[back]
    if found.twice is None:
        return pi, None
    J = np.swapaxes(np.tensordot(found.twice, g, axes=(1, 0)), 1, 2) @ g
    return pi, J[back]


def _in_blocks(cells: tuple[Array, ...], m: int, rule: Rule, tie: int | None) -> Voted:
    """Vote on distinct rows of counts, some at a time."""
    C = cells[0].shape[1]
    rows, back = _distinct(np.concatenate(cells, axis=1))
    size = max(1, _BLOCK // len(_compositions(m, C)) ** 2)
    parts = []
    for first in range(0, len(rows), size):
        block = rows[first : first + size]
        split = [block[:, c * C : (c + 1) * C] for c in range(len(cells))]
        parts.append(_voted(split, m, rule, tie))
    law = np.concatenate([part.law for part in parts])[back]
    if any(part.same is None for part in parts):
        return Voted(law=law, same=None)
    return Voted(law=law, same=np.concatenate([np.asarray(part.same) for part in parts])[back])


def _voted(cells: list[Array], m: int, rule: Rule, tie: int | None) -> Voted:
    exact = is_exact(cells[0])
    falls = [vote_counts(n, m) for n in cells]
    ways = falls[0].ways
    if len(cells) == 1:
        g = final_verdict(ways, rule, tie, exact=exact)
        law, W = falls[0].once @ g, falls[0].twice
        same = None if W is None else ((W @ g) * g).sum(axis=(1, 2))
        return Voted(law=law, same=same)
    # g of pooled votes, by the ways of both cells: (ways, ways, verdicts).
    g = final_verdict(ways[:, None] + ways[None], rule, tie, exact=exact)
    one, other = falls
    C = g.shape[-1]
    law = np.stack([((one.once @ g[..., c]) * other.once).sum(axis=1) for c in range(C)], axis=1)
    if one.twice is None or other.twice is None:
        return Voted(law=law, same=None)
    same = sum(
        (one.twice * (g[..., c] @ other.twice @ g[..., c].T)).sum(axis=(1, 2)) for c in range(C)
    )
    return Voted(law=law, same=np.asarray(same))


def _distinct(n: Array) -> tuple[Array, NDArray[np.intp]]:
    """Return the distinct rows of counts, and which of them each row is."""
    if is_exact(n):
        return n, np.arange(len(n))
    rows, back = np.unique(n, axis=0, return_inverse=True)
    return rows, back.reshape(-1)
