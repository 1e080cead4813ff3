"""Calls with token probabilities: of a known world, and drawn again from a real table."""

from dataclasses import replace

import numpy as np

from judgelaw.tensor import VerdictTensor

WORLDS = ("settled", "open", "open, no effects", "mixed", "rarely unsure")


def drawn_again(table: VerdictTensor, repeats: int, rng: np.random.Generator) -> VerdictTensor:
    """Draw calls from the vectors of every cell of a table, and a verdict from every vector."""
    Y = table.soft
    pick = rng.integers(0, Y.shape[-2], size=(*Y.shape[:-2], repeats))
    y = np.take_along_axis(Y, pick[..., None], axis=-2)
    return with_verdicts(y, table.verdicts, rng)


def with_verdicts(y: np.ndarray, verdicts, rng: np.random.Generator) -> VerdictTensor:
    """Draw a verdict from every vector (items, prompts, orders, repeats, verdicts)."""
    edges = np.cumsum(y / y.sum(axis=-1, keepdims=True), axis=-1)[..., :-1]
    ranked = (rng.random((*y.shape[:-1], 1)) >= edges).sum(axis=-1)
    return replace(VerdictTensor.from_ranked(ranked, verdicts=verdicts), soft=y)


def mean_laws(table: VerdictTensor) -> np.ndarray:
    """Return the law of every cell of `drawn_again`, normalised against rounding."""
    p = table.soft.mean(axis=-2)
    return p / p.sum(axis=-1, keepdims=True)


def moving_world(rng: np.random.Generator, *, items: int, prompts: int, orders: int = 1) -> dict:
    """Return logits and how far they move: most items settled, three in ten less so."""
    shape = (items, prompts, orders, 3)
    logits = 3 * rng.normal(size=(items, 1, 1, 3)) + 0.5 * rng.normal(size=shape)
    noisy = rng.random((items, 1, 1, 1)) < 0.3
    return {"logits": logits, "move": np.where(noisy, 0.3, 0.01)}


def worlds_of_vectors(rng: np.random.Generator, *, items: int, prompts: int, orders: int) -> dict:
    """Return WORLDS by name: how logits differ, how far they move, how often they are lost."""
    shape = (items, prompts, orders, 3)
    item = rng.normal(size=(items, 1, 1, 3))
    prompt = rng.normal(size=(items, prompts, 1, 3))
    order = rng.normal(size=(items, 1, orders, 3))
    own = np.exp(rng.normal(-1.5, 1, size=(items, 1, 1, 1)))
    effects = 0.5 * prompt + 0.4 * order + 0.2 * rng.normal(size=shape)
    everywhere = np.ones((items, 1, 1, 1))
    return {
        "settled": moving_world(rng, items=items, prompts=prompts, orders=orders),
        "open": {"logits": item + effects, "move": 0.5 * everywhere},
        "open, no effects": {"logits": item + 0 * effects, "move": 0.6 * everywhere},
        "mixed": {"logits": 2 * item + effects, "move": own},
        "rarely unsure": {
            "logits": 4 * item + 0.5 * effects,
            "move": 0.05 * everywhere,
            "unsure": 0.1,
        },
    }


def moved(world: dict, repeats: int, rng: np.random.Generator) -> np.ndarray:
    """Draw the vectors of every call of a world; a call that is unsure finds all verdicts alike."""
    logits = world["logits"][..., None, :]
    shape = (*logits.shape[:3], repeats, logits.shape[-1])
    x = logits + world["move"][..., None] * rng.normal(size=shape)
    if "unsure" in world:
        x = np.where(rng.random((*shape[:-1], 1)) < world["unsure"], 0, x)
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)
