"""Studies with probes of known effect: laws, laws of changed answers, and calls drawn from both."""

import numpy as np

from judgelaw.diagnose import Changed
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from support.judges import WORLDS

FIRST = np.array([1.0, 0.0, 0.5, 0.0])
SECOND = np.array([0.0, 1.0, 0.5, 0.0])
SIDES = tuple(enumerate((FIRST, SECOND)))
POOL = 20_000


def calls(laws, R, rng, **labels):
    n = rng.multinomial(R, laws)
    return VerdictTensor.from_counts(n, items=[f"i{i}" for i in range(len(n))], **labels)


def pulled(laws, to, by):
    """Move so much of the law to one candidate from the other, as far as the other has it."""
    moved = laws.copy()
    mass = np.minimum(moved[..., 1 - to], by)
    moved[..., 1 - to] -= mass
    moved[..., to] += mass
    return moved


def shift(laws, by):
    """Return the true shift of these laws."""
    return float(np.mean([(pulled(laws, to, by) - laws) @ scores for to, scores in SIDES]))


def pull_for(world, wanted, prompts=2, orders=2):
    """Return the pull that shifts a world by so much on average; found by halving."""
    laws = WORLDS[world](stream(1, "pool", world), POOL, prompts, orders)
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if shift(laws, middle) < wanted else (low, middle)
    return high


def study(world, *, by=0.0, N=40, R=4, seed=0, probes=1):
    """Return the baseline, the probed calls, and the true shift of these items."""
    rng = stream(seed, "probed", world)
    laws = WORLDS[world](rng, N, 2, 2)
    baseline = calls(laws, R, rng)
    probed = {
        f"probe-{number}": [
            Changed(
                side=f"candidate_{to + 1}", calls=calls(pulled(laws, to, by), R, rng), scores=scores
            )
            for to, scores in SIDES
        ]
        for number in range(probes)
    }
    return baseline, probed, shift(laws, by)
