"""Streams of calls with times: judges that are honest about every repeat, and judges in a cache."""

import heapq
from dataclasses import dataclass

import numpy as np

from judgelaw import VerdictTensor
from judgelaw.diagnose import Evidence

ITEMS, PROMPTS, REPEATS = 40, 2, 4
KEY = (None, "judge")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """When a call began, how long it took, and what was said, by cell and rank."""

    started: np.ndarray
    took: np.ndarray
    said: np.ndarray

    def stream(self):
        """Return the calls as a tensor, and what is known of their times."""
        rows = [
            {"item": f"i{i}", "prompt": f"p{k}", "repeat": r, "verdict": "AB"[said]}
            for (i, k, r), said in np.ndenumerate(self.said)
        ]
        tensor = VerdictTensor.from_table(rows)
        place = [int(name[1:]) for name in tensor.items]
        shape = tensor.ranked.shape
        started, took = (x[place].reshape(shape) for x in (self.started, self.took))
        return tensor, Evidence(seconds={KEY: started}, latency={KEY: took})


def ask(seconds, law, rng, *, key=None, hit=None, slots=8):
    """Ask every call in random order, so many at a time, as an engine does.

    Args:
        seconds: from cell, time and generator to how long a drawn reply takes.
        law: from cell and generator to a verdict.
        rng: draws.
        key: from a cell to what a cache looks it up by; None for no cache.
        hit: how long a reply from the cache takes.
        slots: calls at a time.
    """
    shape = (ITEMS, PROMPTS, REPEATS)
    started, took = np.zeros(shape), np.zeros(shape)
    said = np.zeros(shape, dtype=int)
    kept = {}
    free = [0.0] * slots
    heapq.heapify(free)
    for flat in rng.permutation(np.prod(shape)):
        cell = np.unravel_index(flat, shape)
        now = heapq.heappop(free)
        name = key(cell) if key else None
        done, verdict = kept.get(name, (np.inf, None)) if key else (np.inf, None)
        if done <= now:
            length = hit(rng)
        else:
            length, verdict = seconds(cell, now, rng), law(cell, rng)
            if key and now + length < done:
                kept[name] = now + length, verdict
        started[cell], took[cell], said[cell] = now, length, verdict
        heapq.heappush(free, now + length)
    return Asked(started=started, took=took, said=said)


def coin(_cell, rng):
    return int(rng.integers(2))


def settled(cell, _rng):
    """Say the same of an item and prompt at every call, as at temperature 0."""
    return int((7 * cell[0] + 3 * cell[1]) % 5 < 2)


def lognormal(median, spread=0.5):
    return lambda _cell, _now, rng: median * float(np.exp(spread * rng.normal()))


def bursty(_cell, now, rng):
    """Take twenty times as long in one stretch of ten, as a server does that is overloaded."""
    slow = int(now / 2.0) % 10 == 3 or rng.random() < 0.05
    return (6.0 if slow else 0.3) * float(np.exp(0.3 * rng.normal()))


def cold(_cell, now, rng):
    """Take ten times as long until the server is warm."""
    return (3.0 if now < 20 else 0.3) * float(np.exp(0.3 * rng.normal()))


def by_item(cell, _now, rng):
    """Take longer for long items."""
    return 0.2 * (1 + cell[0] % 7) * float(np.exp(0.3 * rng.normal()))


HONEST = {
    "constant": (lambda *_: 0.05, coin),
    "fast": (lognormal(0.001, 1.0), coin),
    "usual": (lognormal(0.8, 0.5), coin),
    "settled": (lognormal(0.8, 0.5), settled),
    "settled and heavy tails": (lognormal(0.8, 1.5), settled),
    "bursty": (bursty, coin),
    "bursty and settled": (bursty, settled),
    "cold": (cold, settled),
    "long items": (by_item, settled),
}
CACHED = {
    "in memory": (lognormal(0.015, 0.2), lambda c: c[:2], lognormal(0.0012, 0.4)),
    "on disk": (lognormal(0.4, 0.5), lambda c: c[:2], lognormal(0.004, 0.5)),
    "in a proxy": (lognormal(0.9, 0.6), lambda c: c[:2], lognormal(0.02, 0.5)),
    "by item": (lognormal(0.4, 0.5), lambda c: c[:1], lognormal(0.004, 0.5)),
}
