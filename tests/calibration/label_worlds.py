"""Judges of known error rates against people: how often each interval holds the truth.

    python -m calibration.label_worlds [TRIALS]      in tests/: the figures of the documentation

An item's chance to be judged right is Beta distributed with mean TPR or TNR; `spread` 1 makes most
items settled and a few a coin's toss, 10 makes them alike. Three of ten items are positive.
"""

import sys
from collections import Counter
from dataclasses import dataclass
from itertools import product

import numpy as np

from judgelaw.labels.pass_rate import Shares, ppi, rogan_gladen
from judgelaw.labels.proportions import effective_size, kappa, share
from judgelaw.labels.vote_errors import errors
from judgelaw.streams import stream

POSITIVE = 0.3
UNLABELLED = 500
RATES = ((0.6, 0.6), (0.75, 0.95), (0.9, 0.9), (0.95, 0.99), (0.99, 0.99), (0.55, 0.5))
APART = 1 - np.eye(2)
Z = 1.959964
LEAST = 0.93
PAGE = 12


@dataclass(frozen=True)
class World:
    """A judge, and how much of it people looked at."""

    labels: int
    repeats: int
    tpr: float
    tnr: float
    spread: float

    def items(self, right, n, rng):
        """Return how many calls of n items are right."""
        law = rng.beta(right * self.spread, (1 - right) * self.spread, size=n)
        return rng.binomial(self.repeats, law)

    @property
    def truth(self):
        """Return what the intervals should hold."""
        agree = POSITIVE * self.tpr + (1 - POSITIVE) * self.tnr
        says = POSITIVE * self.tpr + (1 - POSITIVE) * (1 - self.tnr)
        chance = POSITIVE * says + (1 - POSITIVE) * (1 - says)
        dice = sum(
            w * mu * (1 - mu) * self.spread / (self.spread + 1)
            for w, mu in ((POSITIVE, self.tpr), (1 - POSITIVE, self.tnr))
        )
        return {
            "tpr": self.tpr,
            "tnr": self.tnr,
            "agreement": agree,
            "kappa": (agree - chance) / (1 - chance),
            "dice": dice,
            "repeatable": 1 - agree - dice,
            "ppi": POSITIVE,
            "rogan-gladen": POSITIVE,
        }


WORLDS = [
    World(n, R, tpr, tnr, spread)
    for n, R, (tpr, tnr), spread in product((30, 100, 300), (1, 3, 8), RATES, (1.0, 10.0))
]


def holds(world, rng):
    """Draw one set of labels and say which intervals hold the truth; `naive ...` beside them."""
    R, truth = world.repeats, world.truth
    yes = max(1, min(world.labels - 1, rng.binomial(world.labels, POSITIVE)))
    right = [world.items(world.tpr, yes, rng), world.items(world.tnr, world.labels - yes, rng)]
    x = [one / R for one in right]
    found = {
        "tpr": share(x[0], R * yes),
        "tnr": share(x[1], R * (world.labels - yes)),
        "agreement": share(np.concatenate(x), R * world.labels),
        "kappa": _kappa(x, R, rng),
        "ppi": ppi(*_random(world, x, rng)),
        "rogan-gladen": _chosen(world, rng),
    }
    if R > 1:
        wrong = R - np.concatenate(right)
        where = np.arange(len(wrong))
        e = errors(wrong, np.full(len(wrong), R), where, len(wrong))
        found |= {"dice": e.dice, "repeatable": e.repeatable}
    ends = {name: (one.low, one.high) for name, one in found.items()}
    ends |= _naive(world, x, R, rng)
    return {
        name: bool(low <= truth[name.removeprefix("naive ").partition(",")[0]] <= high)
        for name, (low, high) in ends.items()
    }


def _kappa(x, R, rng):
    rows = np.array([[x[0].mean(), 1 - x[0].mean()], [1 - x[1].mean(), x[1].mean()]])
    sizes = np.array([effective_size(one, R * len(one)) for one in x])
    return kappa(rows, np.array([len(one) for one in x]), sizes, APART, rng)


def _random(world, x, rng):
    """Return labels of a random subset, the judge's shares there, and on the rest."""
    y = np.repeat([1.0, 0.0], [len(x[0]), len(x[1])])
    return y, np.concatenate([x[0], 1 - x[1]]), _unlabelled(world, rng)


def _unlabelled(world, rng):
    yes = rng.binomial(UNLABELLED, POSITIVE)
    right = world.items(world.tpr, yes, rng), world.items(world.tnr, UNLABELLED - yes, rng)
    return np.concatenate([right[0], world.repeats - right[1]]) / world.repeats


def _enriched(world, rng):
    """Return shares of positives on half the labels each: as many failures as successes."""
    half = world.labels // 2
    R = world.repeats
    return [world.items(world.tpr, half, rng) / R, 1 - world.items(world.tnr, half, rng) / R]


def _chosen(world, rng):
    parts = [*_enriched(world, rng), _unlabelled(world, rng)]
    shares = [Shares(x=one, calls=world.repeats * len(one)) for one in parts]
    return rogan_gladen(*shares, rng)[0]


def _naive(world, x, R, rng):
    """Return what other tools print: calls as items, the delta method, labels taken for random."""
    p, n = x[0].mean(), len(x[0])
    q, f = _enriched(world, rng), _unlabelled(world, rng)
    y = np.repeat([1.0, 0.0], [len(q[0]), len(q[1])])
    wrongly = ppi(y, np.concatenate(q), f)
    return {
        "naive tpr, calls as items": _wilson(p, n * R),
        "naive tpr, t over items": _normal(p, x[0].std(ddof=1) / n**0.5 if n > 1 else 0.0),
        "naive kappa, delta method": _delta_kappa(x),
        "naive rogan-gladen, delta method": _delta_rate(q, f),
        "naive rogan-gladen, ppi on chosen labels": (wrongly.low, wrongly.high),
        "naive ppi, the judge's own rate": _wilson(f.mean(), len(f)),
    }


def _wilson(p, n):
    centre = (p + Z**2 / (2 * n)) / (1 + Z**2 / n)
    return _normal(centre, (p * (1 - p) / n + Z**2 / (4 * n**2)) ** 0.5 / (1 + Z**2 / n))


def _normal(value, se):
    return value - Z * se, value + Z * se


def _delta_kappa(x):
    n = len(x[0]) + len(x[1])
    agree = (x[0].sum() + x[1].sum()) / n
    says = (x[0].sum() + (1 - x[1]).sum()) / n
    chance = len(x[0]) / n * says + len(x[1]) / n * (1 - says)
    if chance == 1:
        return 1.0, 1.0
    return _normal((agree - chance) / (1 - chance), (agree * (1 - agree) / n) ** 0.5 / (1 - chance))


def _delta_rate(q, f):
    tpr, fpr, seen = q[0].mean(), q[1].mean(), f.mean()
    gap = tpr - fpr
    if gap <= 0:
        return 0.0, 0.0
    theta = (seen - fpr) / gap
    return _normal(theta, (seen * (1 - seen) / len(f)) ** 0.5 / gap)


def measure(world, trials, seed):
    """Count how often each interval holds the truth."""
    rng = stream(seed, "labels", *map(str, vars(world).values()))
    held = Counter()
    for _ in range(trials):
        held.update({name: int(ok) for name, ok in holds(world, rng).items()})
    return dict(held)


def main(trials):
    """Print the least and the median coverage of every interval, as far as settings are done."""
    chosen = [WORLDS[i] for i in stream(1, "which settings").permutation(len(WORLDS))]
    found = []
    for n, world in enumerate(chosen, 1):
        found.append(measure(world, trials, 1))
        if n % PAGE == 0:
            summary(chosen, found, trials)


def summary(chosen, found, trials):
    """Print what is known so far."""
    print(f"{len(found)} settings, {trials} trials each", flush=True)
    for name in dict.fromkeys(name for one in found for name in one):
        shares = sorted((one[name] / trials, i) for i, one in enumerate(found) if name in one)
        least, where = shares[0]
        middle = shares[len(shares) // 2][0]
        low = sum(share < LEAST for share, _ in shares)
        print(
            f"{name:45} least {least:.3f}  median {middle:.3f}  below {LEAST}: {low} of "
            f"{len(shares)}  least in {chosen[where]}",
            flush=True,
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
