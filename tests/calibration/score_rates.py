"""How often intervals of scores hold the truth, over worlds that look like judges that score.

    python tests/calibration/score_rates.py            the whole table, some minutes

`test_score_rates.py` runs it in short. A world is a mixture of kinds of items, each with the laws
of its prompts, so that the truth for new items is a weighted sum.
"""

import sys
from dataclasses import dataclass
from os import environ
from pathlib import Path

environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

from judgelaw.estimate import Estimand, population
from judgelaw.scale import ScoreScale
from judgelaw.streams import stream
from judgelaw.tensor import INVALID
from judgelaw.uncertainty import infer

SEED = 20261116
TRIALS = 400
LEVEL = 0.95
LEAST = 0.92
PROMPTS = 3
KINDS = 400
SCALE = (1, 2, 3, 4, 5)
VERDICTS = (*(str(s) for s in SCALE), INVALID)
PARTS = ("call", "prompt", "total")
SCOPES = ("new", "fixed")


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One world at one design, seen through one dissimilarity."""

    world: str
    dissimilarity: str
    items: int = 30
    repeats: int = 4


def _around(centre: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return laws over the scores that fall off with the distance from a centre; none invalid."""
    steps = np.abs(np.array(SCALE) - centre[..., None]) / width[..., None]
    p = np.exp(-(steps**2))
    return np.concatenate([p / p.sum(axis=-1, keepdims=True), np.zeros((*p.shape[:-1], 1))], -1)


def open_world(rng: np.random.Generator) -> np.ndarray:
    """Return laws of a judge that wavers on every item, and whose prompts shift the score."""
    centre = rng.uniform(1.5, 4.5, (KINDS, 1)) + rng.normal(0, 0.5, (KINDS, PROMPTS))
    return _around(centre, rng.uniform(0.6, 2.0, (KINDS, 1)) + np.zeros((KINDS, PROMPTS)))


def settled_world(rng: np.random.Generator) -> np.ndarray:
    """Return laws of a judge that always gives one score, but for one item in ten."""
    centre = rng.integers(1, 6, (KINDS, 1)) + np.zeros((KINDS, PROMPTS))
    laws = _around(centre, np.full((KINDS, PROMPTS), 0.05))
    loose = rng.random(KINDS) < 0.1
    shifted = centre[loose] + rng.choice([-1, 0, 1], (loose.sum(), PROMPTS))
    laws[loose] = _around(shifted, np.full(shifted.shape, 0.9))
    return laws


def failing_world(rng: np.random.Generator) -> np.ndarray:
    """Return laws of a judge that is sometimes unreadable, and one item in six leaps by prompt."""
    laws = _around(
        rng.uniform(2, 5, (KINDS, 1)) + np.zeros((KINDS, PROMPTS)), np.full((KINDS, PROMPTS), 0.7)
    )
    leaps = rng.random(KINDS) < 1 / 6
    far = rng.choice([1.0, 5.0], (int(leaps.sum()), PROMPTS))
    laws[leaps] = _around(far, np.full(far.shape, 0.6))
    unread = np.where(
        rng.random((KINDS, PROMPTS)) < 0.3, rng.uniform(0.02, 0.3, (KINDS, PROMPTS)), 0
    )
    laws *= (1 - unread)[..., None]
    laws[..., -1] = unread
    return laws


WORLDS = {"open": open_world, "settled": settled_world, "failing": failing_world}


@dataclass(frozen=True, kw_only=True)
class Covered:
    """How many intervals held the truth, by scope and component."""

    setting: Setting
    trials: int
    counts: dict[tuple[str, str], int]

    def worst(self) -> float:
        """Return the smallest coverage."""
        return min(self.counts.values()) / self.trials


def measure(setting: Setting, *, trials: int, seed: int) -> Covered:
    """Draw studies of a world, and count the intervals that hold the truth."""
    scale = ScoreScale(values=tuple(map(float, SCALE)), dissimilarity=setting.dissimilarity)
    r = scale.distances(VERDICTS)
    laws = WORLDS[setting.world](stream(seed, "world", setting.world))[:, :, None, :]
    truth = population(laws, dissimilarity=r)
    rng = stream(seed, "studies", setting.world, setting.dissimilarity, setting.items)
    counts = dict.fromkeys([(scope, part) for scope in SCOPES for part in PARTS], 0)
    for _ in range(trials):
        kinds = rng.integers(0, KINDS, setting.items)
        n = rng.multinomial(setting.repeats, laws[kinds])
        known = infer(n, Estimand(dissimilarity=r), draws=2_000)
        for scope, part in counts:
            of = truth[part] if scope == "new" else truth[part][kinds]
            found = known.interval(part, level=LEVEL, scope=scope)
            counts[scope, part] += bool(found.low - 1e-12 <= of.mean() <= found.high + 1e-12)
    return Covered(setting=setting, trials=trials, counts=counts)


def settings() -> list[Setting]:
    """Return every setting of the table."""
    return [
        Setting(world=world, dissimilarity=kind, items=items, repeats=repeats)
        for world in WORLDS
        for kind in ("ordinal", "numeric")
        for items, repeats in ((20, 4), (60, 4), (30, 8), (30, 2))
    ]


def main() -> int:
    """Print the table; fail where an interval holds too seldom."""
    low = []
    for setting in settings():
        found = measure(setting, trials=TRIALS, seed=SEED)
        shares = "  ".join(f"{s} {c} {n / TRIALS:.3f}" for (s, c), n in found.counts.items())
        print(
            f"{setting.world:8} {setting.dissimilarity:8} N={setting.items} "
            f"R={setting.repeats}  {shares}",
            flush=True,
        )
        if found.worst() < LEAST and setting.repeats >= 4:
            low.append(setting)
    return 1 if low else 0


if __name__ == "__main__":
    raise SystemExit(main())
