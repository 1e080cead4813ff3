"""How often intervals cover: one of four candidates chosen, and prompts that cross two factors.

    python tests/calibration/several_rates.py [studies]

A world is a pool of items with known laws (module `support.judges`). Worlds of several candidates
are shown in cyclic orders: each item has a law over its candidates, and may like a slot.
"""

import sys
from functools import cache

import numpy as np

from judgelaw.analysis.outcomes import slot_preferences
from judgelaw.estimate import COMPONENTS, Estimand, population
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import factor_parts, infer
from judgelaw.uncertainty.prompt_parts import part_form
from judgelaw.words import candidate_names
from support import judges

SEED = 20261116
N_CANDIDATES = 4
ORDERS = ("ABCD", "BCDA", "CDAB", "DABC")
VERDICTS = (*candidate_names(N_CANDIDATES), "tie", "invalid")
PROMPTS = tuple(f"wrapper={w},rubric={r}" for w in ("a", "b") for r in ("x", "y", "z"))
LEVELS = {"wrapper": ("a", "b"), "rubric": ("x", "y", "z")}
LEVEL = 0.95
ROUNDING = 1e-12
SCOPES = ("new", "fixed")


def shown_laws(quality, slots, mix):
    """Return laws (items, prompts, orders, verdicts) of judges that mix a candidate and a slot.

    Args:
        quality: law over candidates, (items, prompts, candidates).
        slots: law over displayed slots, (items, prompts, slots).
        mix: how much the slot decides, (items, prompts).
    """
    items, prompts, n = quality.shape
    laws = np.zeros((items, prompts, len(ORDERS), len(VERDICTS)))
    for o, order in enumerate(ORDERS):
        stands = ["ABCD".index(letter) for letter in order]
        laws[:, :, o, :n] = (1 - mix[..., None]) * quality
        laws[:, :, o, stands] += mix[..., None] * slots
    return laws


def settled(rng, items, prompts):
    """Nine items of ten always choose one candidate; the others follow a slot or roll dice."""
    best = np.eye(N_CANDIDATES)[rng.integers(0, N_CANDIDATES, items)]
    dice = rng.dirichlet(np.ones(N_CANDIDATES), items)
    open_ = rng.random(items) < 0.1
    quality = np.where(open_[:, None], 0.3 * best + 0.7 * dice, best)
    mix = np.where(rng.random(items) < 0.1, rng.uniform(0.2, 1.0, items), 0.0)
    slots = np.tile([0.7, 0.1, 0.1, 0.1], (items, 1))
    return _alike(quality, slots, mix, prompts)


def leaning(rng, items, prompts):
    """Every item is open, and the first slot pulls by item."""
    quality = rng.dirichlet(2 * np.ones(N_CANDIDATES), items)
    mix = rng.beta(2, 6, items)
    slots = np.tile([0.6, 0.2, 0.1, 0.1], (items, 1))
    return _alike(quality, slots, mix, prompts)


def moved(rng, items, prompts):
    """Prompts move the choice and the slot that is liked, item by item."""
    base = rng.normal(0, 1.5, (items, 1, N_CANDIDATES))
    quality = np.exp(base + rng.normal(0, 0.5, (items, prompts, N_CANDIDATES)))
    slots = np.exp(rng.normal(0, 1, (items, prompts, N_CANDIDATES)))
    quality, slots = (x / x.sum(axis=-1, keepdims=True) for x in (quality, slots))
    return shown_laws(quality, slots, rng.beta(1, 5, (items, prompts)))


def _alike(quality, slots, mix, prompts):
    return shown_laws(
        *(np.repeat(x[:, None], prompts, axis=1) for x in (quality, slots, mix)),
    )


CHOOSING = {"settled": settled, "leaning": leaning, "moved by prompts": moved}
CROSSING = ("95% settled", "heavy tails", "open, effects")


@cache
def choosing_pool(world, prompts=2, size=4_000):
    laws = CHOOSING[world](stream(SEED, "several", world), size, prompts)
    leans = np.stack([_lean(laws, slot) for slot in range(N_CANDIDATES)], axis=-1)
    return laws, np.stack([population(laws)[c] for c in COMPONENTS], axis=-1), leans


def _lean(laws, slot):
    """Return how far the share of a slot is from the mean share of all, item by item."""
    shares = [
        np.mean(
            [laws[:, :, o, "ABCD".index(order[s])] for o, order in enumerate(ORDERS)], axis=(0, 2)
        )
        for s in range(N_CANDIDATES)
    ]
    return shares[slot] - np.mean(shares, axis=0)


def choosing(world, *, studies, items=20, repeats=4, seed=SEED):
    """Return how often intervals of components and of slots cover, {name: share}."""
    laws, truth, leans = choosing_pool(world)
    rng = stream(seed, "choosing", world, items, repeats)
    hits = dict.fromkeys([*_names(COMPONENTS), *_names([f"slot {s}" for s in "ABCD"])], 0)
    for _ in range(studies):
        rows = rng.integers(0, len(laws), items)
        counts = judges.counts(laws[rows], repeats, rng)
        tensor = VerdictTensor.from_counts(counts, orders=ORDERS, verdicts=VERDICTS)
        found = infer(tensor, draws=4_000)
        for scope, true in (("new", truth.mean(axis=0)), ("fixed", truth[rows].mean(axis=0))):
            for c, name in enumerate(COMPONENTS):
                ends = found.bounds(name, (1 + LEVEL) / 2, scope)
                hits[f"{scope} {name}"] += _holds(ends, true[c])
        for s, slot in enumerate(slot_preferences(tensor, LEVEL)):
            hits[f"new slot {slot.slot}"] += _holds(slot.interval, leans[:, s].mean())
            hits[f"fixed slot {slot.slot}"] += _holds(slot.call_interval, leans[rows, s].mean())
    return {name: n / studies for name, n in hits.items()}


def crossing(world, *, studies, items=20, repeats=4, seed=SEED):
    """Return how often intervals of the parts of factors cover, {name: share}."""
    pool = judges.pool(world, len(PROMPTS), 2, seed=SEED)
    rng = stream(seed, "crossing", world, items, repeats)
    parts = [("wrapper",), ("rubric",), ("wrapper", "rubric")]
    cells = pool.laws.reshape(len(pool.laws), -1, pool.laws.shape[-1])
    truth = np.stack(
        [
            np.einsum("uv,nuc,nvc->n", part_form(part, LEVELS, np.full(2, 0.5)), cells, cells)
            for part in parts
        ],
        axis=-1,
    )
    hits = dict.fromkeys(_names([" x ".join(part) for part in parts]), 0)
    for _ in range(studies):
        rows = pool.draw(items, rng)
        counts = judges.counts(pool.laws[rows], repeats, rng)
        found = factor_parts(VerdictTensor.from_counts(counts, prompts=PROMPTS), Estimand())
        for scope, true in (("new", truth.mean(axis=0)), ("fixed", truth[rows].mean(axis=0))):
            for at, part in enumerate(parts):
                interval = found.interval(part, level=LEVEL, scope=scope)
                name = f"{scope} {' x '.join(part)}"
                hits[name] += _holds((interval.low, interval.high), true[at])
    return {name: n / studies for name, n in hits.items()}


def _names(of):
    return [f"{scope} {name}" for scope in SCOPES for name in of]


def _holds(ends, value):
    return ends[0] - ROUNDING <= value <= ends[1] + ROUNDING


def main():
    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    for measure, worlds in ((choosing, CHOOSING), (crossing, CROSSING)):
        for world in worlds:
            for items, repeats in ((20, 4), (50, 4), (20, 2)):
                found = measure(world, studies=studies, items=items, repeats=repeats)
                worst = sorted(found.items(), key=lambda pair: pair[1])[:4]
                said = ", ".join(f"{name} {rate:.3f}" for name, rate in worst)
                print(f"{measure.__name__} {world:18} N={items} R={repeats}: {said}", flush=True)


if __name__ == "__main__":
    main()
