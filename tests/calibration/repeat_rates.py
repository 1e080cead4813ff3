"""What repeats by item are worth where noise is concentrated, and what they cost where it is even.

    python tests/calibration/repeat_rates.py           the whole table, some ten minutes

`test_repeats.py` runs it in short. Given the repeats of every item the call variance is known from
the laws, so that nothing but the earlier run is simulated.
"""

import sys
from dataclasses import dataclass
from os import environ
from pathlib import Path

environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from judgelaw.decide import choose_repeats
from judgelaw.decide.repeats import _Noise, variance
from judgelaw.estimate import Estimand
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from support import judges

SEED = 5
PROMPTS, ORDERS, ITEMS = 6, 2, 50
LEAST, MOST, MEAN = SIZE = (4, 16, 8)
EARLIER = (4, 8)
PILOTS = 15
CONCENTRATED = ("noise in one prompt", "heavy tails", "flips by order", "95% settled")
EVEN = ("rare noise", "open, no effects", "open, effects")


@dataclass(frozen=True, kw_only=True)
class Worth:
    """Variance over that of equal repeats and as many calls, over earlier runs.

    Attributes:
        chosen: as the program chooses, equal repeats among its choices.
        always: if items always differed in repeats.
        by_item: share of earlier runs after which they do.
    """

    chosen: float
    always: float
    by_item: float


def worth(world: str, repeats: int, pilots: int, component: str = "prompt") -> Worth:
    """Draw earlier runs, choose, and compare the variance of the run after them."""
    pool = judges.pool(world, PROMPTS, ORDERS, seed=SEED)
    noise = _Noise(component=component, estimand=Estimand(), size=SIZE)
    w, q = np.full(PROMPTS, 1 / PROMPTS), np.full(ORDERS, 1 / ORDERS)
    sums, by_item = np.zeros(3), 0
    for pilot in range(pilots):
        rng = stream(SEED, world, ITEMS, repeats, pilot)
        laws = pool.laws[pool.draw(ITEMS, rng)]
        counts = judges.counts(laws, repeats, rng)
        earlier = VerdictTensor.from_counts(counts)
        found = choose_repeats(earlier, least=LEAST, most=MOST, mean=MEAN, component=component)
        by_item += found.by_item
        true = noise.parts_of_laws(laws.reshape(ITEMS, PROMPTS * ORDERS, -1), w, q)
        given = (
            np.array(list(found.repeats.values())),
            noise.allocate(noise.parts(counts)),
            np.array(MEAN),
        )
        sums += [variance(true, r).sum() for r in given]
    chosen, always, equal = sums
    return Worth(chosen=chosen / equal, always=always / equal, by_item=by_item / pilots)


def main() -> None:
    for world in (*CONCENTRATED, *EVEN):
        for repeats in EARLIER:
            print(f"{world:20} earlier R = {repeats}: {worth(world, repeats, PILOTS)}", flush=True)


if __name__ == "__main__":
    main()
