"""How often a study that stops by looks decides wrongly, and how many calls it saves.

    python tests/calibration/look_rates.py             the whole table, some ten minutes

`test_looks.py` runs it in short. Nothing was chosen on these seeds.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from os import environ
from pathlib import Path

environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from judgelaw.decide import StopRule
from judgelaw.estimate import COMPONENTS, Estimand
from judgelaw.streams import stream
from judgelaw.uncertainty import CallErrors, declare, errors_of
from support import judges

SEED = 20261121
LOOKS = (4, 8, 16)
FIXED = (8, 12, 14, 16)
"""Depths of a design that is asked at once, for comparison."""
DEPTHS = tuple(sorted({*LOOKS, *FIXED}))
PROMPTS, ORDERS = 6, 2
ITEMS = (16, 50)
TRIALS = 400
LIMITS = (0.005, 0.01, 0.02, 0.05)
GATE = 0.95
SETTLED = ("flips by prompt", "flips by order", "rare noise", "noise in one prompt", "95% settled")
"""Worlds in which most cells are settled and a few are noisy."""
WORLDS = (*SETTLED, "heavy tails", "open, no effects", "open, effects")
TINY = 1e-9
SOME = 1e-4
PROMPT = COMPONENTS.index("prompt")


@dataclass(frozen=True, kw_only=True)
class Trials:
    """Studies of one world: what is true, and the bounds at every depth.

    Attributes:
        truth: of the items of each study, (trials,).
        looked: lower and upper bounds at the looks, (trials, looks, 2).
        fixed: the same for whoever looks once, at each fixed depth, (trials, depths, 2).
        widths: half widths of the 95% interval at the looks, (trials, looks), and its ends.
    """

    truth: np.ndarray
    looked: np.ndarray
    fixed: np.ndarray
    intervals: np.ndarray


def errors(counts: np.ndarray) -> CallErrors:
    known = declare(counts, Estimand())
    return errors_of(known, known.decompose())


def nested(laws: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[int, np.ndarray]]:
    """Yield growing counts of the same calls."""
    counts, before = 0, 0
    for depth in DEPTHS:
        counts = counts + judges.counts(laws, depth - before, rng)
        before = depth
        yield depth, counts


def campaign(world: str, items: int, trials: int) -> Trials:
    """Ask studies of other items of a world, each to the last depth."""
    pool = judges.pool(world, PROMPTS, ORDERS, seed=SEED)
    rule = StopRule(component="prompt", limit=0.02, looks=LOOKS)
    truth, looked, fixed, intervals = [], [], [], []
    for trial in range(trials):
        rng = stream(SEED, "looks", world, items, trial)
        chosen = pool.draw(items, rng)
        truth.append(pool.truth[chosen, PROMPT].mean())
        at = {depth: errors(counts) for depth, counts in nested(pool.laws[chosen], rng)}
        ends = []
        for depth in LOOKS:
            low, high = rule.levels(depth)
            ends.append([at[depth].bounds("prompt", low)[0], at[depth].bounds("prompt", high)[1]])
        looked.append(ends)
        fixed.append([at[depth].bounds("prompt", GATE) for depth in FIXED])
        intervals.append([at[depth].bounds("prompt", 0.975) for depth in LOOKS])
    return Trials(
        truth=np.array(truth),
        looked=np.array(looked),
        fixed=np.array(fixed),
        intervals=np.array(intervals),
    )


def decisions(bounds: np.ndarray, limit: np.ndarray | float) -> tuple[np.ndarray, np.ndarray]:
    """Return 1 for a pass, -1 for a fail, 0 for neither at every look; the first that decides."""
    limit = np.broadcast_to(limit, len(bounds))[:, None]
    found = np.where(bounds[..., 1] < limit - TINY, 1, 0) - (bounds[..., 0] > limit + TINY)
    decided = found != 0
    first = np.where(decided.any(axis=1), decided.argmax(axis=1), found.shape[1] - 1)
    return found[np.arange(len(found)), first], first


def wrong(trials: Trials) -> tuple[float, float]:
    """Return how often a study passes, and fails, where the limit is the truth itself.

    A component of zero cannot be passed by mistake: passes are counted where there is some.
    """
    verdict, _ = decisions(trials.looked, trials.truth)
    some = trials.truth > SOME
    passed = (verdict[some] == 1).mean() if some.any() else 0.0
    return float(passed), float((verdict == -1).mean())


def right(trials: Trials, limit: float) -> tuple[float, float, dict[int, float]]:
    """Return the share of right decisions, the mean depth, and the share at each fixed depth."""
    side = np.where(trials.truth < limit, 1, -1)
    verdict, first = decisions(trials.looked, limit)
    fixed = {
        depth: float((decisions(trials.fixed[:, [at]], limit)[0] == side).mean())
        for at, depth in enumerate(FIXED)
    }
    return float((verdict == side).mean()), float(np.array(LOOKS)[first].mean()), fixed


def covered(trials: Trials, half_width: float) -> float:
    """Return how often the interval holds the truth where a study stops at a half width."""
    low, high = trials.intervals[..., 0], trials.intervals[..., 1]
    narrow = (high - low) / 2 <= half_width
    first = np.where(narrow.any(axis=1), narrow.argmax(axis=1), len(LOOKS) - 1)
    rows = np.arange(len(first))
    inside = (low[rows, first] <= trials.truth + TINY) & (trials.truth <= high[rows, first] + TINY)
    return float(inside.mean())


@dataclass(frozen=True, kw_only=True)
class Saving:
    """Over worlds and limits: right decisions and depth of the looks, and of fixed designs."""

    right: float
    depth: float
    fixed: dict[int, float]

    @property
    def same_share(self) -> float:
        """The fixed depth, between those tried, with the same share of right decisions."""
        return float(np.interp(self.right, list(self.fixed.values()), list(self.fixed)))

    @property
    def saved(self) -> float:
        """The share of its calls that looks save."""
        return 1 - self.depth / self.same_share


def saving(found: list[Trials]) -> Saving:
    """Average over worlds and limits."""
    each = [right(trials, limit) for trials in found for limit in LIMITS]
    return Saving(
        right=float(np.mean([r for r, _, _ in each])),
        depth=float(np.mean([d for _, d, _ in each])),
        fixed={depth: float(np.mean([f[depth] for _, _, f in each])) for depth in FIXED},
    )


def main() -> None:
    found = {}
    for items in ITEMS:
        for world in WORLDS:
            trials = found[items, world] = campaign(world, items, TRIALS)
            passed, failed = wrong(trials)
            held = [covered(trials, width) for width in (0.005, 0.01, 0.02)]
            print(
                f"{world:20} N = {items:3}: wrong pass {passed:.3f}, wrong fail {failed:.3f}; "
                f"held at half widths {' '.join(f'{h:.3f}' for h in held)}",
                flush=True,
            )
        s = saving([found[items, world] for world in SETTLED])
        print(
            f"N = {items}, settled worlds: {s}, same share {s.same_share:.1f}, {s.saved:.2f} saved"
        )
    s = saving([found[items, world] for items in ITEMS for world in SETTLED])
    print(f"settled worlds: {s}, same share at {s.same_share:.1f}, {s.saved:.2f} saved")
    s = saving(list(found.values()))
    print(f"all worlds: {s}, same share at {s.same_share:.1f}, {s.saved:.2f} saved")


if __name__ == "__main__":
    main()
