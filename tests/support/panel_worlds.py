"""Worlds of several judges whose right is known: laws of every judge on every item, and draws.

A world gives the chance of a right verdict of each judge on an item, from what is shared by all
judges on the item and what is each judge's own. The truth of every claim follows from the laws of
very many items.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from judgelaw.decide import Majority, panel_law
from judgelaw.tensor import DEFAULT_VERDICTS, VerdictTensor

RULE = Majority(verdicts=4, tie=2, unread=3)
GOLD = DEFAULT_VERDICTS[0]
_MANY = 20_000


@dataclass(frozen=True)
class PanelWorld:
    """Judges on pairs, asked in one cell.

    Attributes:
        right: from a generator and a number of items to the chance of right, (items, judges).
        invalid: chance of a reply without a verdict, by judge.
        tie: of wrong replies, the share that are ties.
    """

    right: Callable[[np.random.Generator, int], np.ndarray]
    invalid: tuple[float, ...] = ()
    tie: float = 0.1

    def laws(self, rng: np.random.Generator, items: int) -> np.ndarray:
        """Return the laws of every judge, (judges, items, verdicts); candidate_1 is right."""
        p = np.clip(self.right(rng, items), 0, 1).T
        J = len(p)
        lost = np.array(self.invalid or [0.0] * J)[:, None] + np.zeros_like(p)
        wrong = 1 - p
        laws = np.stack([p, (1 - self.tie) * wrong, self.tie * wrong, np.zeros_like(p)], axis=-1)
        laws = laws * (1 - lost)[..., None]
        laws[..., 3] = lost
        return laws

    def draw(
        self, rng: np.random.Generator, items: int, repeats: int
    ) -> Mapping[str, VerdictTensor]:
        """Return the calls of every judge; gold is half candidate_1 and half candidate_2."""
        laws = self.laws(rng, items)
        second = np.arange(items) % 2 == 1
        laws[:, second] = laws[:, second][..., [1, 0, 2, 3]]
        gold = [DEFAULT_VERDICTS[int(x)] for x in second]
        return {
            f"j{j}": VerdictTensor.from_counts(
                rng.multinomial(repeats, law)[:, None, None], gold=gold
            )
            for j, law in enumerate(laws)
        }


@dataclass(frozen=True)
class Truth:
    """What is so: right of each judge, of each panel, and of as many calls of each judge."""

    one: np.ndarray
    panels: Mapping[tuple[str, ...], float]
    calls: Mapping[tuple[int, int], float]
    of_all: float

    def combine(self, S: tuple[str, ...]) -> bool:
        """Whether a panel is right more often than every judge, and than as many calls of each."""
        return self.panels[S] > self.one.max() and self.panels[S] > max(
            self.calls[j, len(S)] for j in range(len(self.one))
        )

    def keep_one(self, tried: list[tuple[str, ...]]) -> bool:
        """Whether none of the panels gains 5 of 100 over the best judge."""
        return all(self.panels[S] - self.one.max() < 0.05 for S in tried)

    def alone(self, judge: str) -> bool:
        """Whether a judge is right more often than the majority of all."""
        return bool(self.one[int(judge[1:])] > self.of_all)


@cache
def truth_of(name: str) -> Truth:
    """Return the truth of a world, from very many of its items."""
    world = WORLDS[name]
    laws = world.laws(np.random.default_rng(99), _MANY)
    J = len(laws)
    names = [f"j{j}" for j in range(J)]
    # A call of one judge is a draw of its law: calls of one item are independent given the item.
    return Truth(
        one=laws[:, :, 0].mean(axis=1) + laws[:, :, 2].mean(axis=1) / 2,
        panels={
            S: _right(panel_law([laws[names.index(j)] for j in S], RULE))
            for m in (3, 5)
            for S in combinations(names, m)
        },
        calls={(j, m): _right(panel_law([laws[j]] * m, RULE)) for j in range(J) for m in (3, 5)},
        of_all=_right(panel_law(list(laws), RULE)),
    )


def _right(law: np.ndarray) -> float:
    return float((law[:, 0] + law[:, 2] / 2).mean())


def _own(*means: float, spread: float = 0.8) -> Callable:
    """Each judge has a chance of its own on every item."""

    def right(rng, items):
        return np.stack(
            [
                rng.beta(spread * m, spread * (1 - m), items) if m < 1 else np.ones(items)
                for m in means
            ],
            axis=1,
        )

    return right


def _shared(*means: float, part: float, spread: float = 2.0) -> Callable:
    """On a part of the items all judges share one chance, on the rest each has its own."""

    def right(rng, items):
        own = _own(*means, spread=spread)(rng, items)
        m = float(np.mean(means))
        one = rng.beta(spread * m, spread * (1 - m), items)[:, None] + (np.array(means) - m)
        return np.where((rng.random(items) < part)[:, None], one, own)

    return right


def _clones(mean: float, judges: int, spread: float = 2.0) -> Callable:
    def right(rng, items):
        return np.repeat(
            rng.beta(spread * mean, spread * (1 - mean), items)[:, None], judges, axis=1
        )

    return right


def _kinds(rows: list[tuple[float, tuple[float, ...]]]) -> Callable:
    """Items of several kinds, each with a share and the chance of every judge there."""

    def right(rng, items):
        which = rng.choice(len(rows), size=items, p=[share for share, _ in rows])
        return np.array([p for _, p in rows])[which]

    return right


WORLDS: dict[str, PanelWorld] = {
    "three alike, independent": PanelWorld(_own(0.85, 0.85, 0.85)),
    "three alike, half of errors shared": PanelWorld(_shared(0.85, 0.85, 0.85, part=0.5)),
    "three alike, all errors shared": PanelWorld(_shared(0.85, 0.85, 0.85, part=1.0)),
    "five alike, independent": PanelWorld(_own(0.8, 0.8, 0.8, 0.8, 0.8)),
    "clones that settle": PanelWorld(_clones(0.8, 3, spread=0.3)),
    "clones that flip": PanelWorld(_clones(0.75, 3, spread=20.0)),
    "one dominant": PanelWorld(_own(0.93, 0.7, 0.68)),
    "one bad": PanelWorld(_own(0.85, 0.84, 0.4)),
    "coins": PanelWorld(_own(0.5, 0.5, 0.5, spread=200.0)),
    "invalid-heavy": PanelWorld(_own(0.85, 0.85, 0.85), invalid=(0.3, 0.05, 0.2)),
    "one invalid-heavy of five": PanelWorld(
        _own(0.85, 0.8, 0.8, 0.75, 0.85), invalid=(0.0, 0.0, 0.4, 0.1, 0.0)
    ),
    "gain at the edge": PanelWorld(
        _kinds(
            [
                (0.85, (1.0, 1.0, 1.0)),
                (0.05, (0.0, 1.0, 1.0)),
                (0.05, (1.0, 0.0, 1.0)),
                (0.05, (1.0, 1.0, 0.0)),
            ]
        )
    ),
    "all but one wrong on rare items": PanelWorld(
        _kinds([(0.95, (1.0, 1.0, 1.0)), (0.05, (1.0, 0.0, 0.0))])
    ),
    "rare items where only the panel is right": PanelWorld(
        _kinds([(0.94, (0.9, 0.9, 0.9)), (0.06, (1.0, 0.0, 0.0))])
    ),
    "five, two strong and alike": PanelWorld(_own(0.9, 0.9, 0.65, 0.6, 0.6)),
    "alone is no better": PanelWorld(_own(0.8, 0.72, 0.72, spread=40.0)),
}
"""Sixteen worlds: clones, shared errors, a dominant judge, coins, many invalid replies, edges."""
