"""Worlds that look like real judges: pools of items with known laws.

Nearly every cell of a real judge is settled, and a few items flip: by prompt, by order, by chance.
A world is a pool of items whose laws (items, prompts, orders, verdicts) are known; a study draws
items from the pool, and calls from their laws. So the truth is known for the items asked (their
mean) and for items like them (the pool's).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from judgelaw.estimate import COMPONENTS, population
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.worlds import draw_ranked

POOL = 4_000
VERDICTS = 4
OPEN = (0.5, 0.3, 0.15, 0.05)


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Laws of many items, and their true components (items, components)."""

    laws: np.ndarray
    truth: np.ndarray

    def draw(self, items: int, rng: np.random.Generator) -> np.ndarray:
        """Choose the items of a study."""
        return rng.integers(0, len(self.laws), size=items)


def settled(rng, size, K, O):
    """Cells that always say the same, candidate 1 or 2 by item."""
    side = rng.integers(0, 2, size=size)
    laws = np.zeros((size, K, O, VERDICTS))
    laws[np.arange(size), :, :, side] = 1
    return laws


def _swap(laws, where):
    """Exchange candidates 1 and 2 in some cells."""
    out = laws.copy()
    out[where] = out[where][..., [1, 0, 2, 3]]
    return out


def flips_by_prompt(rng, size, K, O):
    """One item in ten gives the other verdict under one prompt or more, always."""
    flip = (rng.random(size) < 0.1)[:, None] & (rng.random((size, K)) < 0.4)
    return _swap(settled(rng, size, K, O), np.repeat(flip[:, :, None], O, axis=2))


def flips_by_order(rng, size, K, O):
    """One item in eight follows the position under every prompt, one in ten wavers a little."""
    laws = settled(rng, size, K, O)
    if O > 1:
        follows = rng.random(size) < 0.125
        where = np.zeros((size, K, O), dtype=bool)
        where[:, :, 1] = follows[:, None]
        laws = _swap(laws, where)
    waver = rng.random(size) < 0.1
    laws[waver] = 0.9 * laws[waver] + 0.1 * np.array([0.4, 0.4, 0.1, 0.1])
    return laws


def rare_noise(rng, size, K, O):
    """Every cell leaves its verdict in two calls of a hundred."""
    return 0.98 * settled(rng, size, K, O) + 0.02 * np.array([0.35, 0.35, 0.2, 0.1])


def noisy_prompt(rng, size, K, O):
    """The first prompt rolls dice on three items in ten; all else is settled."""
    laws = settled(rng, size, K, O)
    noisy = rng.random(size) < 0.3
    laws[noisy, 0] = 0.5 * laws[noisy, 0] + 0.5 * np.array([0.45, 0.45, 0.1, 0.0])
    return laws


def heavy_tails(rng, size, K, O):
    """Items differ a hundredfold in how far prompt and order move them."""
    base = rng.normal(0, 3, size=(size, 1, 1, 1)) * np.array([1, -1, 0, 0])
    base = base + np.array([0, 0, -1.0, -2.5])
    sensitivity = np.exp(rng.normal(-1.0, 1.3, size=(size, 1, 1, 1)))
    prompt = rng.normal(size=(size, K, 1, VERDICTS))
    order = rng.normal(size=(size, 1, O, VERDICTS))
    both = rng.normal(size=(size, K, O, VERDICTS))
    return _softmax(base + sensitivity * (prompt + 0.7 * order + 0.4 * both))


def mostly_settled(rng, size, K, O):
    """Nineteen items of twenty are settled; the others are open, with prompt and order effects."""
    laws = settled(rng, size, K, O)
    some = rng.random(size) < 0.05
    laws[some] = open_with_effects(rng, int(some.sum()), K, O)
    return laws


def open_alike(rng, size, K, O):
    """Every item is open, and neither prompt nor order matters."""
    law = rng.dirichlet(4 * np.array(OPEN), size=size)
    return np.broadcast_to(law[:, None, None], (size, K, O, VERDICTS)).copy()


def open_with_effects(rng, size, K, O):
    """Every item is open, and prompt and order move it."""
    base = np.log(np.array(OPEN)) + rng.normal(0, 0.5, size=(size, 1, 1, VERDICTS))
    prompt = rng.normal(0, 0.5, size=(size, K, 1, VERDICTS))
    order = rng.normal(0, 0.4, size=(size, 1, O, VERDICTS))
    return _softmax(base + prompt + order)


def _softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


WORLDS: dict[str, Callable] = {
    "flips by prompt": flips_by_prompt,
    "flips by order": flips_by_order,
    "rare noise": rare_noise,
    "noise in one prompt": noisy_prompt,
    "heavy tails": heavy_tails,
    "95% settled": mostly_settled,
    "open, no effects": open_alike,
    "open, effects": open_with_effects,
}


def pool(name: str, prompts: int, orders: int, *, seed: int, size: int = POOL) -> Pool:
    """Return the pool of a world."""
    rng = stream(seed, "pool", name, prompts, orders)
    return pool_of(WORLDS[name](rng, size, prompts, orders))


def pool_of(laws: np.ndarray) -> Pool:
    """Return laws with their true components."""
    found = population(laws)
    return Pool(laws=laws, truth=np.stack([found[name] for name in COMPONENTS], axis=-1))


def generated(name: str, *, items: int, prompts: int, seed: int) -> np.ndarray:
    """Return laws (items, prompts, 1, verdicts) of a generator whose prompts move all items.

    "shared" prompts differ by a normal effect, "skewed" ones by nothing much in nine of ten cases
    and by a lot in the tenth, "alike" ones by nothing.
    """
    rng = stream(seed, "generator", name)
    base = np.log(np.array(OPEN)) + rng.normal(0, 0.7, size=(items, 1, 1, VERDICTS))
    effect = rng.normal(size=(1, prompts, 1, VERDICTS))
    size = {
        "shared": 0.6,
        "skewed": np.where(rng.random((1, prompts, 1, 1)) < 0.1, 2.0, 0.1),
        "alike": 0.0,
    }[name]
    own = rng.normal(0, 0.0 if name == "alike" else 0.2, size=(items, prompts, 1, VERDICTS))
    return _softmax(base + size * effect + own)


def counts(laws: np.ndarray, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Draw calls from laws (..., verdicts), counted."""
    return rng.multinomial(repeats, laws / laws.sum(axis=-1, keepdims=True))


def tensor(laws: np.ndarray, repeats: int, rng: np.random.Generator) -> VerdictTensor:
    """Draw calls with their ranks."""
    return VerdictTensor.from_ranked(draw_ranked(laws, repeats, rng))
