"""How differences of two judges on the items asked do: coverage, width, power.

    python -m calibration.difference_rates [TRIALS]      in tests/: eight worlds, N = 16, 50, 200

Two judges of one kind (module `support.judges`) answer the same items; the second is drawn anew,
and rolls dice in three calls of a hundred. As a null both have one law. The oracle is the normal
interval of the true sampling deviation.
"""

import sys
from dataclasses import dataclass
from itertools import product
from math import sqrt

import numpy as np

from judgelaw.estimate import COMPONENTS
from judgelaw.streams import stream
from judgelaw.uncertainty import (
    infer,
    item_difference,
    item_shares,
    judge_difference,
    mean_bounds,
    share_difference,
)
from support import judges

SEED = 20261119
Z = 1.959964
P = 0.975
ROUNDING = 1e-12
SETTINGS = tuple(product(judges.WORLDS, (16, 50, 200), (4, 8)))
PROMPTS, NOISE = 6, 0.03
RIGHT = "right"


@dataclass(frozen=True, kw_only=True)
class Row:
    """One quantity in one setting.

    Attributes:
        missed: how often the truth lies below and above the interval.
        width: median over that of the oracle; nan where calls do not vary.
        shown, could: how often zero is left out, by these intervals and by the oracle.
        apart: the truth over the true sampling deviation.
        wider: intervals that are wider than those for items like these.
    """

    setting: tuple
    quantity: str
    trials: int
    missed: tuple[int, int]
    width: float
    shown: int
    could: int
    apart: float
    wider: int

    @property
    def coverage(self):
        """How often the truth is held."""
        return 1 - sum(self.missed) / self.trials


def pair_of_judges(world, items, seed, *, null):
    """Return the laws of two judges on the same items."""
    rng = stream(seed, "pair", world, items, str(null))
    one, other = (judges.pool(world, PROMPTS, 1, seed=seed + s, size=400).laws for s in (0, 1))
    rows = rng.integers(0, len(one), items)
    if null:
        return one[rows], one[rows]
    return one[rows], (1 - NOISE) * other[rows] + NOISE / judges.VERDICTS


def measure(world, items, repeats, trials, *, null=False, seed=SEED):
    """Return a row for each component, and for how often candidate 1 is said."""
    laws = pair_of_judges(world, items, seed, null=null)
    rng = stream(seed, "calls", world, items, repeats, str(null))
    credit = np.eye(judges.VERDICTS)[np.zeros(items, dtype=int)]
    cells = np.full((PROMPTS, 1), 1 / PROMPTS)
    truth = {name: _truth(laws, name) for name in ("call", "prompt", "total")}
    truth[RIGHT] = float((laws[0] - laws[1])[..., 0].mean())
    found = {name: [] for name in truth}
    wider = dict.fromkeys(truth, 0)
    for _ in range(trials):
        counts = [judges.counts(law, repeats, rng) for law in laws]
        a, b = (infer(n, draws=2_000) for n in counts)
        for name in ("call", "prompt", "total"):
            here, new = judge_difference(a, b, name), item_difference(a.items, b.items, name)
            found[name].append((here.estimate, here.low, here.high))
            wider[name] += here.low < new.low or here.high > new.high
        one, other = (item_shares(n, credit, cells) for n in counts)
        new = mean_bounds(one.means - other.means, P, ends=(-1.0, 1.0))
        here = share_difference(one, other, p=P, new=(new.low, new.high))
        found[RIGHT].append((here.estimate, here.low, here.high))
        wider[RIGHT] += here.low < new.low or here.high > new.high
    return [
        _row((world, items, repeats), name, np.array(found[name]), truth[name], wider[name])
        for name in truth
    ]


def _truth(laws, name):
    a, b = (judges.pool_of(law).truth[:, COMPONENTS.index(name)].mean() for law in laws)
    return float(a - b)


def _row(setting, name, found, truth, wider):
    e, low, high = found.T
    sd = float(e.std(ddof=1))
    varies = sd > ROUNDING
    return Row(
        setting=setting,
        quantity=name,
        trials=len(e),
        missed=(int((low > truth + ROUNDING).sum()), int((high < truth - ROUNDING).sum())),
        width=float(np.median(high - low)) / (2 * Z * sd) if varies else np.nan,
        shown=int(((low > 0) | (high < 0)).sum()),
        could=int((np.abs(e) > Z * sd).sum()) if varies else 0,
        apart=abs(truth) / sd if varies else np.nan,
        wider=wider,
    )


def tell(rows, what):
    """Print what rows come to."""
    coverage = np.array([r.coverage for r in rows])
    one_sided = np.array([max(r.missed) / r.trials for r in rows])
    print(
        f"{what}: {len(rows)} rows, coverage least {coverage.min():.3f}, "
        f"mean {coverage.mean():.3f}; one-sided error most {one_sided.max():.3f}, "
        f"above .06 in {(one_sided > 0.06).mean():.1%}; "
        f"never wider: {sum(r.wider for r in rows) == 0}",
        flush=True,
    )
    for items in (16, 50, 200):
        width = np.array([r.width for r in rows if r.setting[1] == items])
        width = width[np.isfinite(width)]
        print(
            f"  N = {items}: width over the oracle's {np.median(width):.2f}, at most 1.2 in "
            f"{(width <= 1.2).mean():.2f}",
            flush=True,
        )
    able = [r for r in rows if 1 <= r.apart <= 5]
    if able:
        trials = sum(r.trials for r in able)
        shown, could = (sum(getattr(r, k) for r in able) / trials for k in ("shown", "could"))
        print(f"  power, truth 1 to 5 sd: {shown:.2f}, the oracle's {could:.2f}", flush=True)


def main(trials):
    """Print the table."""
    rows, nulls = [], []
    for world, items, repeats in SETTINGS:
        rows += measure(world, items, repeats, trials)
        if repeats == 4:
            nulls += measure(world, items, repeats, trials, null=True)
        print(".", end="", flush=True)
    print()
    for name in ("call", "prompt", "total", RIGHT):
        tell([r for r in rows if r.quantity == name], name)
    components = [r for r in rows if r.quantity != RIGHT]
    tell(components, "all components")
    worst = sorted([*rows, *nulls], key=lambda r: r.coverage)[:5]
    for r in worst:
        print("  worst:", r.setting, r.quantity, f"{r.coverage:.3f}", r.missed)
    for what, some in (("components", False), (RIGHT, True)):
        of = [r for r in nulls if (r.quantity == RIGHT) == some]
        shown = sum(r.shown for r in of) / sum(r.trials for r in of)
        error = sqrt(shown * (1 - shown) / sum(r.trials for r in of))
        print(f"nulls rejected, {what}: {shown:.3f} ({error:.3f})", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 300)
