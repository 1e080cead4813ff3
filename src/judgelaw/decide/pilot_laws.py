"""Which laws the items of another study may have, as far as a pilot tells.

A study that is still to come asks other items. Their laws are drawn in two steps.

Which items: the pilot's items and one that nobody saw get random weights, uniform on the simplex
(a Bayesian bootstrap), and the items of the study are chosen with these weights. So a study differs
from the pilot as much as two samples of items differ, and rare kinds of items that the pilot
missed are allowed for.

Which laws: calls of a pilot are few, and the frequencies of its cells differ by the dice alone. So
the law of a cell is shrunk, in three levels, each as far as the pilot's own calls ask for it:

    item      theta ~ Dirichlet(calls of the item + m),     m the profile of the benchmark
    prompt    a_k ~ Dirichlet(calls of the prompt + tau theta),     order: b_o likewise
    cell      p_ko ~ Dirichlet(calls of the cell + tau a_k b_o / theta)

with a concentration tau of its own for every item and level: on a grid, in proportion to the
likelihood of the item's calls and to how common each concentration is in the benchmark (fitted by
maximum likelihood). Large tau: prompts do not matter. Small tau: they flip the verdict. An item
that nobody saw has a theta uniform on the simplex, and half of the time any concentration of the
grid, half of the time one as common as in the benchmark.

Laws drawn from each cell's own calls, without the levels, were measured too: they take the dice of
the pilot for effects of the prompt, and too little of them for call noise.
"""

from dataclasses import dataclass
from math import sqrt
from typing import Final, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import Floats, check_laws
from judgelaw.estimate import Array
from judgelaw.uncertainty import KnownCounts, smoothed_laws

_GRID: Final = np.array([0.01, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 1000.0])
"""Concentrations, from a law of each level's own to the same law everywhere."""
_RAISED = 0.75
"""Chosen by simulation: the fit still shrinks effects that all items have a little of."""
_ROUNDS = 50
_LEAST = 1e-9
"""No verdict is impossible: keeps logarithms finite."""


class Laws(Protocol):
    """Where the laws of a study that is still to come are drawn from."""

    def draw(self, items: int, rng: np.random.Generator) -> Floats:
        """Draw the laws of a study, (items, prompts, orders, verdicts)."""


@dataclass(frozen=True, kw_only=True, eq=False)
class SupposedLaw:
    """One law in every cell of every item: call noise, and no effect of anything."""

    law: Floats
    prompts: int
    orders: int

    def draw(self, items: int, rng: np.random.Generator) -> Floats:
        """Return the same law everywhere; nothing is random about it."""
        del rng
        return np.tile(self.law, (items, self.prompts, self.orders, 1))


def suppose(law: ArrayLike, *, prompts: int, orders: int) -> SupposedLaw:
    """Suppose one law in every cell.

    Raises:
        InputError: the numbers are no law.
    """
    return SupposedLaw(law=check_laws(law), prompts=prompts, orders=orders)


@dataclass(frozen=True, kw_only=True, eq=False)
class Level:
    """The calls at one level of a pilot, and how far they ask for laws of their own.

    Attributes:
        counts: (items, places, verdicts), a place being a prompt, an order or a cell.
        chances: of every concentration, (items, grid).
        unseen: the same for an item that nobody saw, (grid,).
    """

    counts: Array
    chances: Floats
    unseen: Floats

    def mean(self, around: Floats) -> Floats:
        """Return the expected law of every place, around a law (items, places or 1, verdicts)."""
        calls = self.counts.sum(axis=-1, keepdims=True)
        tau = _GRID[:, None, None, None]
        laws = (self.counts + tau * around) / (calls + tau)
        return np.asarray(np.einsum("ng,gnpc->npc", self.chances, laws))

    def draw(self, around: Floats, chosen: "Chosen", rng: np.random.Generator) -> Floats:
        """Draw a law for every place of the chosen items, (items, places, verdicts)."""
        chances = chosen.of(self.chances, self.unseen).cumsum(axis=-1)
        at = (rng.random((len(chances), 1)) > chances).sum(axis=-1)
        tau = _GRID[np.minimum(at, len(_GRID) - 1)]
        return _dirichlet(chosen.of(self.counts, 0) + tau[:, None, None] * around, rng)


@dataclass(frozen=True, kw_only=True, eq=False)
class Chosen:
    """Items of a simulated study: rows of the pilot, or a kind not in it where `unseen`."""

    rows: NDArray[np.intp]
    unseen: NDArray[np.bool_]

    def of(self, values: Array, otherwise: ArrayLike) -> Array:
        """Return the values of the chosen items; the unseen one has other ones."""
        apart = self.unseen.reshape(-1, *[1] * (values.ndim - 1))
        return np.where(apart, otherwise, values[self.rows])


@dataclass(frozen=True, kw_only=True, eq=False)
class PilotLaws:
    """What a pilot lets us expect of items like its own.

    Attributes:
        items: calls of every item, with one more that follows the profile of the benchmark.
        prompts, orders, cells: the levels below; None where there is nothing to tell apart.
        facets: numbers of prompts and orders.
    """

    items: Floats
    prompts: Level | None
    orders: Level | None
    cells: Level | None
    facets: tuple[int, int]

    def draw(self, items: int, rng: np.random.Generator) -> Floats:
        """Draw the items of a study, and their laws."""
        K, O = self.facets
        chosen = self._choose(items, rng)
        theta = _dirichlet(chosen.of(self.items, 1.0), rng)[:, None]
        a = theta if self.prompts is None else self.prompts.draw(theta, chosen, rng)
        b = theta if self.orders is None else self.orders.draw(theta, chosen, rng)
        laws = _crossed(a, b, theta)
        if self.cells is not None:
            laws = self.cells.draw(laws, chosen, rng)
        return laws.reshape(items, K, O, -1)

    def _choose(self, items: int, rng: np.random.Generator) -> Chosen:
        seen = len(self.items)
        weights = rng.standard_exponential(seen + 1).cumsum()
        rows = np.searchsorted(weights, rng.random(items) * weights[-1])
        return Chosen(rows=np.minimum(rows, seen - 1), unseen=rows >= seen)


def laws_from_pilot(known: KnownCounts) -> PilotLaws:
    """Learn from the counts of a pilot, two calls or more in every cell."""
    n, cells = known.n, known.cells
    K, O = n.shape[1:3]
    profile = smoothed_laws(cells)[:, 0] * (cells[:, 0].sum(axis=-1, keepdims=True) + 1)
    items = cells.sum(axis=1) + profile - cells[:, 0]
    theta = (items / items.sum(axis=-1, keepdims=True))[:, None]
    prompts = _level(n.sum(axis=2), theta, free=_RAISED * (1 - 1 / K)) if K > 1 else None
    orders = _level(n.sum(axis=1), theta, free=_RAISED * (1 - 1 / O)) if O > 1 else None
    crossed = None
    if prompts is not None and orders is not None:
        crossed = _level(cells, _crossed(prompts.mean(theta), orders.mean(theta), theta))
    return PilotLaws(items=items, prompts=prompts, orders=orders, cells=crossed, facets=(K, O))


def _level(counts: Array, around: Floats, *, free: float = 1.0) -> Level:
    """Fit how common each concentration is, by expectation and maximisation.

    `free` is the share of degrees of freedom that the law around which places spread has left.
    """
    calls = counts.sum(axis=-1, keepdims=True)
    # Places lie too close to their own mean: with two orders, by half of the variance.
    spread = calls * around + (counts - calls * around) / sqrt(free)
    likelihood = _likelihood(np.maximum(spread, 0.0), around)
    common = np.full(len(_GRID), 1 / len(_GRID))
    for _ in range(_ROUNDS):
        chances = likelihood * common
        chances /= chances.sum(axis=-1, keepdims=True)
        common = chances.mean(axis=0)
    return Level(counts=counts, chances=chances, unseen=(common + 1 / len(_GRID)) / 2)


def _likelihood(counts: Array, around: Floats) -> Floats:
    """Return the likelihood of every concentration, (items, grid), its largest value being 1."""
    from scipy.special import gammaln  # noqa: PLC0415 - scipy loads when it is needed

    alpha = _GRID[:, None, None, None] * np.maximum(around, _LEAST)
    total = alpha.sum(axis=-1)
    verdicts = (gammaln(alpha + counts) - gammaln(alpha)).sum(axis=-1)
    calls = gammaln(total + counts.sum(axis=-1)) - gammaln(total)
    logs = (verdicts - calls).sum(axis=-1).T
    return np.asarray(np.exp(logs - logs.max(axis=-1, keepdims=True)))


def _crossed(a: Floats, b: Floats, theta: Floats) -> Floats:
    """Return a_k b_o / theta as laws of cells, prompt-major: (items, cells, verdicts)."""
    log_a, log_b, log_theta = (np.log(np.maximum(x, _LEAST)) for x in (a, b, theta))
    logs = log_a[:, :, None] + log_b[:, None] - log_theta[:, :, None]
    return _normalised(logs).reshape(len(a), -1, a.shape[-1])


def _dirichlet(alpha: Floats, rng: np.random.Generator) -> Floats:
    """Draw laws; by logarithms, since gamma numbers of a small shape are too small for floats."""
    shape = np.maximum(alpha, _LEAST)
    logs = np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape
    return _normalised(logs)


def _normalised(logs: Floats) -> Floats:
    p = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return np.asarray(p / p.sum(axis=-1, keepdims=True))
