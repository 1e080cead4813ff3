"""How often the answer is wrong: its words and its actions, over judges whose law is known.

    python tests/calibration/answer_rates.py            the whole table, some hours
    python tests/calibration/answer_rates.py --write    and put it into docs/explanation

`make calibrate` runs it; `test_answer_rates.py` runs a part of it in short. A world is a pool of
items with known laws and right answers; a study draws items, or clusters of them, from the pool and
calls from their laws, and gets its answer. One study in ten goes through `jl.analyze`, which must
say the same. What is true of items like these is taken from the laws of the whole pool, by
arithmetic of its own. Settings in which a claim was false more often than in 5% of the studies, or
an interval covered less than chance explains (one in ten does), are measured again with ten times
as many other studies; these count. The seed of the table chose nothing.
"""

import argparse
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from os import cpu_count, environ
from pathlib import Path

environ.setdefault("OPENBLAS_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from scipy.stats import binom

import judgelaw as jl
from judgelaw.analysis import answer_of
from judgelaw.estimate import Estimand
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor

SEED = 20261119
TRIALS = 200
POOL = 4_000
PAIRS = ("candidate_1", "candidate_2", "tie", "invalid")
LABELS = ("pass", "fail", "invalid")
SCALE = (1, 2, 3, 4, 5)
AGAIN = 10
DOUBT = 0.1
THROUGH_ANALYZE = 10
ALLOWED = 0.05
COVERED = 0.93
PAGE = Path(__file__).parents[2] / "docs/explanation/decisions.md"
BEGIN, END = "<!-- answer rates: begin -->", "<!-- answer rates: end -->"
SIZES, DEPTHS = (8, 16, 50, 200), (2, 4, 8)
DESIGNS = (*((n, r) for n in SIZES for r in DEPTHS), (50, 1))


@dataclass(frozen=True, kw_only=True, eq=False)
class Pool:
    """Items of a world.

    Attributes:
        laws: (items, prompts, orders, verdicts), candidates restored.
        gold: code of the right verdict of each item.
        verdicts: their names.
        scale: whether verdicts are scores.
        cluster: number of each item's cluster, None where each stands for itself.
        weights: of the orders, None for equal ones.
        unequal: whether cells hold R to 2 R calls.
    """

    laws: np.ndarray
    gold: np.ndarray
    verdicts: tuple[str, ...] = PAIRS
    scale: bool = False
    cluster: np.ndarray | None = None
    weights: tuple[float, ...] | None = None
    unequal: bool = False

    def study(self, items: int, repeats: int, rng: np.random.Generator, *, gold: bool):
        """Draw items, or whole clusters until there are enough, and calls from their laws."""
        if self.cluster is None:
            rows, clusters = rng.integers(0, len(self.laws), size=items), None
        else:
            drawn, rows = [], np.array([], dtype=int)
            of = np.split(np.arange(len(self.cluster)), np.flatnonzero(np.diff(self.cluster)) + 1)
            while len(rows) < items:
                drawn.append(of[rng.integers(0, len(of))])
                rows = np.concatenate(drawn)
            clusters = [f"c{c}" for c, part in enumerate(drawn) for _ in part]
        laws = self.laws[rows]
        most = 2 * repeats if self.unequal else repeats
        u = rng.random((*laws.shape[:-1], most))
        codes = (u[..., None] >= np.cumsum(laws, axis=-1)[..., None, :-1]).sum(axis=-1)
        if self.unequal:
            kept = rng.integers(repeats, most + 1, size=laws.shape[:-1])
            kept = kept if repeats > 1 else np.full_like(kept, 1)  # one call, and others more: no
            codes[np.arange(most) >= kept[..., None]] = -1
        orders = ("AB", "BA")[: laws.shape[2]] if self.verdicts == PAIRS else ("single",)
        tensor = VerdictTensor.from_ranked(
            codes,
            verdicts=self.verdicts,
            orders=orders,
            clusters=clusters,
            gold=[self.verdicts[g] for g in self.gold[rows]] if gold else None,
        )
        return tensor.on_scale(SCALE, "ordinal") if self.scale else tensor


def pairs(rng, right, *, K=1, O=2, slip=0.0, size=POOL):
    """Return laws of pairs from chances of being right (items,) or (items, prompts)."""
    p = np.asarray(right, dtype=float)
    p = np.repeat(p[:, None], K, axis=1) if p.ndim == 1 else p
    p = p * (1 - slip) + (1 - p) * slip
    gold = rng.integers(0, 2, size=size)
    laws = np.zeros((size, p.shape[1], O, 4))
    for g in (0, 1):
        here = gold == g
        laws[here, :, :, g] = p[here][:, :, None]
        laws[here, :, :, 1 - g] = 1 - p[here][:, :, None]
    return laws, gold


def of_pairs(drawn):
    """Return a pool of laws and right answers."""
    laws, gold = drawn
    return Pool(laws=laws, gold=gold)


def settled(rng, share, **how):
    """Return pairs on which the judge is always right, or always wrong."""
    return of_pairs(pairs(rng, rng.random(POOL) < share, **how))


def of_prompts(rng, shares, **how):
    """Return pairs with a share of right items for each prompt; good prompts agree."""
    best, u = max(shares), rng.random(POOL)
    right = np.stack([u < best if s == best else rng.random(POOL) < s for s in shares], axis=1)
    return of_pairs(pairs(rng, right, **how))


def leaning(rng, share, right=0.95):
    """Return pairs of which some follow the position."""
    laws, gold = pairs(rng, rng.random(POOL) < right, K=3)
    lean = rng.random(POOL) < share
    laws[lean] = 0
    laws[lean, :, 0, 0] = laws[lean, :, 1, 1] = 1
    return Pool(laws=laws, gold=gold)


def open_judge(rng, right, spread=6.0, K=1, O=1):
    """Return pairs on which every call is right with a chance of the item's own."""
    p = rng.beta(spread * right, spread * (1 - right), size=POOL)
    return of_pairs(pairs(rng, p, K=K, O=O))


def few_flippers(rng):
    """Return settled pairs of which one item in twenty is a coin."""
    laws, gold = pairs(rng, rng.random(POOL) < 0.9, K=3)
    laws[rng.random(POOL) < 0.05] = (0.5, 0.5, 0, 0)
    return Pool(laws=laws, gold=gold)


def near_uniform(rng):
    """Return calls that hardly depend on anything, over four verdicts."""
    laws = rng.dirichlet((30, 30, 30, 10), size=(POOL, 3, 2))
    return Pool(laws=laws, gold=rng.integers(0, 2, size=POOL))


def invalid_by(rng, rates, right=0.95):
    """Return pairs of which some replies hold no verdict, by prompt."""
    laws, gold = pairs(rng, rng.random(POOL) < right, K=len(rates))
    rates = np.array(rates)[None, :, None, None]
    return Pool(laws=laws * (1 - rates) + rates * np.eye(4)[3], gold=gold)


def labels(rng, right_pass, right_fail, fails, *, K=2, noise=0.0):
    """Return pass or fail, with fails of their own rate."""
    gold = (rng.random(POOL) < fails).astype(int)
    hit = rng.random(POOL) < np.where(gold == 0, right_pass, right_fail)
    said = np.where(hit, gold, 1 - gold)
    laws = np.zeros((POOL, K, 1, 3))
    laws[np.arange(POOL), :, :, said] = 1 - noise
    laws[np.arange(POOL), :, :, 1 - said] = noise
    return Pool(laws=laws, gold=gold, verdicts=LABELS)


def scores(rng, off, K=2):
    """Return scores 1 to 5 that lie so many points off, half of that anew in each call."""
    gold = rng.integers(0, 5, size=POOL)
    shift = rng.normal(0, off, size=POOL)
    centre = np.clip(gold + shift, 0, 4)
    grid = np.arange(5)
    weight = np.exp(-((grid - centre[:, None]) ** 2) / (2 * (off / 2 + 0.15) ** 2))
    law = weight / weight.sum(axis=1, keepdims=True)
    laws = np.zeros((POOL, K, 1, 6))
    laws[..., :5] = law[:, None, None]
    verdicts = (*map(str, SCALE), "invalid")
    return Pool(laws=laws, gold=gold, verdicts=verdicts, scale=True)


def with_ties(rng, right=0.85):
    """Return pairs with ties, where one item in seven has a tie for its right verdict."""
    laws, gold = pairs(rng, rng.random(POOL) < right, K=2)
    said_tie = rng.random(POOL) < 0.1
    laws[said_tie] = np.eye(4)[2]
    gold[rng.random(POOL) < 1 / 7] = 2
    return Pool(laws=laws, gold=gold)


def clustered(rng, *, right=None, unequal=False, classes=False, alike=False):
    """Return items that are right or wrong together, five or one to ten of them in a cluster.

    With `classes` three items in ten should fail, with `alike` all items of a cluster or none.
    """
    sizes, total = [], 0
    while total < POOL:
        sizes.append(int(rng.integers(1, 11)) if unequal else 5)
        total += sizes[-1]
    cluster = np.repeat(np.arange(len(sizes)), sizes)[:POOL]
    size = np.repeat(sizes, sizes)[:POOL]
    p = rng.beta(4, 1, size=len(sizes))[cluster] if right is None else np.full(POOL, right)
    if unequal:
        p = np.where(size > 6, 0.7 * p, p)  # the large ones are hard
    hit = rng.random(POOL) < p
    if not classes:
        laws, gold = pairs(rng, hit, K=2)
        return Pool(laws=laws, gold=gold, cluster=cluster)
    gold = (rng.random(POOL) < 0.3).astype(int)
    if alike:
        gold = (rng.random(len(sizes)) < 0.3).astype(int)[cluster]
    said = np.where(hit, gold, 1 - gold)
    laws = np.zeros((POOL, 2, 1, 3))
    laws[np.arange(POOL), :, :, said] = 1
    return Pool(laws=laws, gold=gold, verdicts=LABELS, cluster=cluster)


def _weighed(rng):
    pool = leaning(rng, 0.3)
    return Pool(laws=pool.laws, gold=pool.gold, weights=(0.8, 0.2))


def _unequal(rng):
    """Return a judge of whom no two cells need hold as many calls."""
    pool = of_prompts(rng, (0.9, 0.9, 0.4), slip=0.1)
    return Pool(laws=pool.laws, gold=pool.gold, unequal=True)


WORLDS: dict[str, Callable[[np.random.Generator], Pool]] = {
    "settled, .90": lambda rng: settled(rng, 0.90, K=3),
    "settled, at the bar": lambda rng: settled(rng, 0.75),
    "settled, just below": lambda rng: settled(rng, 0.72),
    "settled, at better": lambda rng: settled(rng, 0.60),
    "stable and wrong": lambda rng: settled(rng, 0.35, K=3),
    "always the first": lambda rng: leaning(rng, 1.0),
    "follows the position, 30%": lambda rng: leaning(rng, 0.3),
    "coin": lambda rng: open_judge(rng, 0.5, spread=1e6, K=3, O=2),
    "nearly uniform": near_uniform,
    "open, right .80": lambda rng: open_judge(rng, 0.80),
    "open, at the bar": lambda rng: open_judge(rng, 0.75, spread=2, K=2, O=2),
    "calls right .85": lambda rng: open_judge(rng, 0.85, spread=1e6),
    "one bad prompt of six": lambda rng: of_prompts(rng, (0.9,) * 5 + (0.3,)),
    "two bad of six": lambda rng: of_prompts(rng, (0.92,) * 4 + (0.4, 0.2), slip=0.02),
    "one good of six": lambda rng: of_prompts(rng, (0.95,) + (0.6,) * 5),
    "prompts alike": lambda rng: of_prompts(rng, (0.8,) * 4, slip=0.05),
    "few flippers": few_flippers,
    "invalid 20%": lambda rng: invalid_by(rng, (0.2, 0.2, 0.2)),
    "invalid in one prompt": lambda rng: invalid_by(rng, (0.0, 0.0, 0.6)),
    "always passes, 30% fails": lambda rng: labels(rng, 1, 0, 0.3),
    "labels, 20% fails": lambda rng: labels(rng, 0.95, 0.8, 0.2, noise=0.02),
    "labels at the bar": lambda rng: labels(rng, 0.75, 0.75, 0.3),
    "scores, half a point off": lambda rng: scores(rng, 0.5),
    "scores, near the bar": lambda rng: scores(rng, 1.0),
    "ties that are right": with_ties,
    "clusters of five": clustered,
    "clusters, unequal": lambda rng: clustered(rng, unequal=True),
    "clusters of labels": lambda rng: clustered(rng, classes=True),
    "clusters of one label": lambda rng: clustered(rng, classes=True, alike=True, unequal=True),
    "orders 80 to 20": _weighed,
    "unequal repeats": _unequal,
}


# The truth -----------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Truth:
    """What holds for all items of a world, by its laws.

    Attributes:
        pool: the world.
        right: how often it is right, under the weights of right answers.
        baseline: what the best fixed reply gets.
        margin: of right over the bar to rely on; below 0 where it is not reached.
        better: of right over the bar of being better than a fixed reply.
    """

    pool: Pool
    right: float
    baseline: float
    margin: float
    better: float


def credit(pool: Pool) -> np.ndarray:
    """Return what each verdict is worth on each item, (items, verdicts)."""
    names = pool.verdicts
    if pool.scale:
        found = 1 - np.abs(np.arange(5) - pool.gold[:, None]) / 4
        return np.concatenate([found, np.zeros((len(found), 1))], axis=1)
    found = np.eye(len(names))[pool.gold]
    if names == PAIRS:
        found[:, 2] = 0.5
    found[:, names.index("invalid")] = 0
    return found


def _weights(pool: Pool) -> np.ndarray:
    """Return the weight of each item in right."""
    if pool.verdicts == LABELS:
        seen = np.bincount(pool.gold, minlength=2)
        return 1 / (2 * seen[pool.gold])
    counted = pool.gold < 2 if pool.verdicts == PAIRS else np.ones(len(pool.gold), dtype=bool)
    if pool.verdicts == PAIRS and pool.laws.shape[2] == 1:
        seen = np.bincount(pool.gold[counted], minlength=2)
        return np.where(counted, 1 / (2 * seen[np.minimum(pool.gold, 1)]), 0.0)
    return counted / counted.sum()


def right_of(pool: Pool, laws: np.ndarray | None = None) -> float:
    """Return how often laws (items, prompts, orders, verdicts) are right."""
    laws = pool.laws if laws is None else laws
    q = np.array(pool.weights or [1 / laws.shape[2]] * laws.shape[2])
    of_item = np.einsum("nkoc,o,nc->n", laws, q, credit(pool)) / laws.shape[1]
    return float(_weights(pool) @ of_item)


def truth_of(pool: Pool) -> Truth:
    """Return what is true of a world."""
    right = right_of(pool)
    if pool.scale:
        fixed = credit(pool)[:, :5]
        c = fixed[:, int(fixed.mean(axis=0).argmax())]
        b = float(c.mean())
        low = 0.1 + c if b <= 0.5 else 0.2 + 0.8 * c
        high = np.full(len(c), 0.75) if b <= 0.5 else (1 + c) / 2
        return Truth(
            pool=pool,
            right=right,
            baseline=b,
            margin=right - float(high.mean()),
            better=right - float(low.mean()),
        )
    b = 0.5
    return Truth(
        pool=pool,
        right=right,
        baseline=b,
        margin=right - max(0.75, (1 + b) / 2),
        better=right - (b + min(0.1, (1 - b) / 5)),
    )


def changes_of(pool: Pool, prompts=None) -> dict[str, float]:
    """Return how often verdicts change, by what changes; of scores as a share of the span."""
    laws = pool.laws if prompts is None else pool.laws[:, prompts]
    _, K, O, _ = laws.shape
    q = np.array(pool.weights or [1 / O] * O)
    w = np.full(K, 1 / K)
    if pool.scale:
        steps = np.abs(np.subtract.outer(np.arange(5), np.arange(5))) / 4
        D = np.ones((6, 6))
        D[:5, :5], D[5, 5] = steps, 0
    else:
        D = 1 - np.eye(laws.shape[-1])
    apart = np.einsum("nkoc,cd,nlpd->klop", laws, D, laws, optimize=True) / len(laws)
    same_k, same_o = np.eye(K, dtype=bool), np.eye(O, dtype=bool)
    W = np.einsum("k,l,o,p->klop", w, w, q, q)

    def mean(of_prompt, of_order):
        keep = of_prompt[:, :, None, None] & of_order[None, None]
        mass = np.where(keep, W, 0)
        if of_prompt is same_k:
            mass = np.where(keep, w[:, None, None, None] * np.einsum("o,p->op", q, q), 0)
        if of_order is same_o:
            mass = np.where(keep, mass / np.maximum(q, 1e-300)[None, None, :, None], 0)
        return float((mass * apart).sum() / mass.sum())

    found = {"ask_again": mean(same_k, same_o)}
    if K > 1:
        found["reword"] = mean(~same_k, same_o)
    if O > 1:
        found["swap"] = mean(same_k, ~same_o)
    if K > 1 and O > 1:
        found["both"] = mean(~same_k, ~same_o)
    return found


def _majority(laws: np.ndarray) -> np.ndarray:
    """Return the law of the majority of three calls; three different verdicts are drawn from."""
    most = laws**3 + 3 * laws**2 * (1 - laws)
    split = 1 - most.sum(axis=-1, keepdims=True)
    C = laws.shape[-1]
    drawn = np.zeros_like(laws)
    for a in range(C):
        for b in range(C):
            for c in range(C):
                if len({a, b, c}) == 3:
                    mass = laws[..., a] * laws[..., b] * laws[..., c] / 3
                    for v in (a, b, c):
                        drawn[..., v] += mass
    assert np.allclose(drawn.sum(axis=-1, keepdims=True), split)
    return most + drawn


def helps(action, truth: Truth, names: tuple[str, ...], *, gold: bool) -> bool:
    """Whether an action does good to the judge as it is, by its law: never beside another one."""
    pool, kind = truth.pool, action.kind
    laws = pool.laws
    if kind in {"drop_prompts", "keep_prompt"}:
        named = [names.index(p) for p in action.prompts]
        rest = [k for k in range(len(names)) if k not in named]
        kept = rest if kind == "drop_prompts" else named
        if gold:
            return right_of(pool, laws[:, kept]) > truth.right
        after = changes_of(pool, kept)
        return after.get("reword", after["ask_again"]) < changes_of(pool)["reword"]
    if kind == "repair":
        named = [names.index(p) for p in action.prompts] or [*range(len(names))]
        return float(laws[:, named][..., pool.verdicts.index("invalid")].mean()) > 0
    if kind == "both_orders":
        p1, p2 = laws[:, :, 0], laws[:, :, 1]
        law = p1 * p2
        law[..., 2] = 1 - law[..., [0, 1, 3]].sum(axis=-1)
        after = 1 - float((law**2).sum(axis=-1).mean())
        better = after < changes_of(pool)["swap"]
        worth = credit(pool)
        right = float(_weights(pool) @ np.einsum("nkc,nc->n", law, worth) / laws.shape[1])
        return better and (not gold or right > truth.right - 0.01)
    if kind == "vote":
        law = _majority(laws)
        after = 1 - float((law**2).sum(axis=-1).mean())
        better = after < changes_of(pool)["ask_again"]
        return better and (not gold or right_of(pool, law) >= truth.right - 1e-12)
    return True


# The measure ---------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Events over the studies of one world at one design.

    Attributes:
        world, items, repeats, trials: the setting.
        said: words, and actions by kind, that were said.
        false: claims that were wrong, by what they claim.
        covered: intervals that held their truth, and how many there were, by quantity.
    """

    world: str
    items: int
    repeats: int
    trials: int
    said: Counter = field(default_factory=Counter)
    false: Counter = field(default_factory=Counter)
    covered: Counter = field(default_factory=Counter)
    of: Counter = field(default_factory=Counter)

    @property
    def doubtful(self) -> bool:
        """Whether a claim was false more often, or an interval covered less, than is allowed."""
        false = max(self.false.values(), default=0) > ALLOWED * self.trials
        return false or any(
            binom.cdf(self.covered[what], n, COVERED) < DOUBT for what, n in self.of.items()
        )

    def misses(self, sure: float) -> list[str]:
        """Name what is wrong more often than is allowed, beyond what counting explains."""
        found = [
            f"{what} {n / self.trials:.3f}"
            for what, n in self.false.items()
            if binom.sf(n - 1, self.trials, ALLOWED) < sure
        ]
        return found + [
            f"{what} covers {self.covered[what] / n:.3f}"
            for what, n in self.of.items()
            if binom.cdf(self.covered[what], n, COVERED) < sure
        ]


def measure(world: str, items: int, repeats: int, trials: int, seed: int = SEED) -> Rates:
    """Draw studies from a world, and hold everything that is said against the truth."""
    pool = WORLDS[world](stream(seed, "answer world", world))
    truth, changes = truth_of(pool), changes_of(pool)
    rng = stream(seed, "answer studies", world, items, repeats)
    found = Rates(world=world, items=items, repeats=repeats, trials=trials)
    weights = None
    if pool.weights is not None:
        weights = dict(zip(("AB", "BA"), pool.weights, strict=True))
    for trial in range(trials):
        for gold in (True, False):
            study = pool.study(items, repeats, rng, gold=gold)
            answer = answer_of(study, Estimand(order_weights=weights))
            if trial % THROUGH_ANALYZE == 0:
                _same(answer, jl.analyze(study, permutations=0, draws=50, order_weights=weights))
            wrong = {*_wrong_words(answer, truth, changes)}
            acts = {*_wrong_actions(answer, truth, gold=gold)}
            found.false.update(wrong | acts | ({"any action"} if acts else set()))
            found.said.update(_said(answer, gold=gold))
            _cover(answer, truth, changes, found)
    return found


def measure_twice(world: str, items: int, repeats: int, trials: int, seed: int) -> Rates:
    """Measure a setting; if it looks doubtful, with more studies that had no part in that."""
    found = measure(world, items, repeats, trials, seed)
    if not found.doubtful:
        return found
    return measure(world, items, repeats, AGAIN * trials, seed + 1)


def _same(answer, analysis):
    """Hold what the front door says against the answer; findings may take its place."""
    (judge,) = analysis.judges.values()
    assert judge.answer == answer or judge.answer.problem, (answer.headline, judge.answer.headline)


def _wrong_words(answer, truth, changes):
    """Yield the words that are false."""
    right = answer.right
    widest = next(c for c in ("both", "reword", "swap", "ask_again") if c in changes)
    said = {
        "use below the bar": answer.word == "use" and truth.margin < 0,
        "weak at the bar": answer.word == "weak" and truth.margin >= 0,
        "avoid above better": answer.word == "avoid" and truth.better >= 0,
        "better than a fixed reply": right is not None
        and right.beats is True
        and truth.right <= truth.baseline,
        "steady": answer.word == "steady" and max(changes.values()) > 0.1,
        "unsteady": answer.word == "unsteady" and changes[widest] < 0.1,
    }
    yield from (what for what, false in said.items() if false)


def _wrong_actions(answer, truth, *, gold):
    """Yield the actions that do no good."""
    names = tuple(f"p{k + 1}" for k in range(truth.pool.laws.shape[1]))
    for action in answer.actions:
        if not helps(action, truth, names, gold=gold):
            yield f"action {action.kind}"


def _said(answer, *, gold):
    """Yield the word, and the actions that are said to help."""
    yield answer.word if gold else f"{answer.word} (unchecked)"
    if gold:
        yield from (action.kind for action in answer.actions)


def _cover(answer, truth, changes, found):
    """Count the intervals that hold their truth."""
    unit = 4 if truth.pool.scale else 1
    held = {name: (rate, unit * changes[name]) for name, rate in answer.changes.items() if rate}
    if answer.right is not None:
        held["right"] = (answer.right, truth.right)
    for name, (rate, exact) in held.items():
        if rate.low is not None:
            found.of[name] += 1
            found.covered[name] += rate.low - 1e-9 <= exact <= rate.high + 1e-9


CHANGES = ("ask_again", "reword", "swap", "both")
CLAIMS = (
    *("use below the bar", "weak at the bar", "avoid above better", "better than a fixed reply"),
    *("any action", "steady", "unsteady"),
)


def table(found: list[Rates]) -> tuple[str, list[str]]:
    """Return the tables in Markdown, and what misses."""
    cells = sum(len(CLAIMS) + len(r.of) for r in found)
    sure = 0.05 / cells
    first = min(r.trials for r in found)
    again = sum(r.trials >= AGAIN * first for r in found)
    most = max((r.trials for r in found if r.trials < AGAIN * first), default=first)
    misses = [
        f"{r.world}, N = {r.items}, R = {r.repeats}: {m}" for r in found for m in r.misses(sure)
    ]
    about = (
        f"{len(found)} settings of {len({r.world for r in found})} worlds, "
        f"{first if first == most else f'{first} to {most}'} studies each "
        f"with right answers and as many without; {again} doubtful settings again, with {AGAIN} "
        "times as many. How often what is said is false, in the worst setting of each world "
        f"({_designs(found)}), and least coverage of the intervals of right and of changes. A miss "
        "is a count that .05 (coverage .93) does not explain at "
        f"{sure:.0e}, which allows for {cells:,} cells. The last row holds all studies together."
    )
    lines = [
        about,
        "",
        "| world | use | weak | avoid | better | action | steady | unsteady | right | changes | |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|",
    ]
    for world in dict.fromkeys(r.world for r in found):
        rows = [r for r in found if r.world == world]
        rates = [max(r.false[c] / r.trials for r in rows) for c in CLAIMS]
        covers = []
        for names in (("right",), CHANGES):
            got = [r.covered[n] / r.of[n] for r in rows for n in names if r.of[n]]
            covers.append(f"{min(got):.3f}" if got else "-")
        wrong = [m for r in rows for m in r.misses(sure)]
        said = " | ".join(f"{rate:.3f}" if rate else "0" for rate in rates)
        lines.append(f"| {world} | {said} | {' | '.join(covers)} | {'; '.join(wrong)} |")
    trials = sum(r.trials for r in found)
    every = [f"{sum(r.false[c] for r in found) / trials:.4f}" for c in CLAIMS]
    for names in (("right",), CHANGES):
        held = sum(r.covered[n] for r in found for n in names)
        every.append(f"{held / max(1, sum(r.of[n] for r in found for n in names)):.3f}")
    lines.append(f"| all | {' | '.join(every)} | |")
    return "\n".join([*lines, "", *_power(found)]), misses


def _designs(found: list[Rates]) -> str:
    """Say which sizes and depths were measured."""
    depths = {n: sorted({r.repeats for r in found if r.items == n}) for n in _sizes(found)}
    return "; ".join(f"N = {n} with R = {', '.join(map(str, R))}" for n, R in depths.items())


def _sizes(found: list[Rates]) -> list[int]:
    return sorted({r.items for r in found})


def _far(repeats: int) -> int:
    """Return how far from four calls a cell: a design of every size is shown."""
    return abs(repeats - 4)


def _power(found: list[Rates]) -> list[str]:
    about = (
        "What is said, of 100 studies with right answers: words, then actions; and the words of as "
        "many without right answers."
    )
    designs = {n: min((r.repeats for r in found if r.items == n), key=_far) for n in _sizes(found)}
    heads = [f"N = {n}, R = {r}" for n, r in designs.items()]
    lines = [
        about,
        "",
        f"| world | {' | '.join(heads)} |",
        f"|---|{'---|' * len(heads)}",
    ]
    words = ("use", "change", "weak", "avoid", "early")
    kinds = ("repair", "drop_prompts", "keep_prompt", "both_orders", "vote", "people")
    for world in dict.fromkeys(r.world for r in found):
        cells = []
        for design in designs.items():
            rows = [r for r in found if (r.world, r.items, r.repeats) == (world, *design)]
            said = rows[0].said if rows else Counter()
            trials = rows[0].trials if rows else 1
            parts = [f"{w} {round(100 * said[w] / trials)}" for w in words if said[w]]
            parts += [f"{k} {round(100 * said[k] / trials)}" for k in kinds if said[k]]
            steady = {w: said[f"{w} (unchecked)"] for w in ("steady", "unsteady")}
            parts += [f"{w} {round(100 * n / trials)}" for w, n in steady.items() if n]
            cells.append(", ".join(parts))
        lines.append(f"| {world} | {' | '.join(cells)} |")
    return lines


def main() -> int:
    """Measure everything, print it, and put it into the documentation if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--processes", type=int, default=cpu_count())
    parser.add_argument("--worlds", nargs="*", default=[*WORLDS])
    parser.add_argument("--write", action="store_true", help="put the tables into the docs")
    asked = parser.parse_args()
    settings = [(w, *design) for w in asked.worlds for design in DESIGNS]
    with ProcessPoolExecutor(asked.processes) as workers:
        jobs = [workers.submit(measure_twice, *s, asked.trials, asked.seed) for s in settings]
        rates = []
        for job in jobs:
            rates.append(job.result())
            r = rates[-1]
            row = (r.world, r.items, r.repeats, r.trials, dict(r.said), dict(r.false))
            print(*row, file=sys.stderr, flush=True)
    text, misses = table(rates)
    git = ["git", "-C", str(PAGE.parent), "rev-parse", "--short", "HEAD"]
    commit = subprocess.run(git, capture_output=True, text=True, check=False).stdout.strip()
    text = f"Measured on {datetime.now(UTC):%Y-%m-%d} at commit {commit}, seed {asked.seed}. {text}"
    print(text)
    if asked.write:
        before, rest = PAGE.read_text().split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")
    for miss in misses:
        print(f"MISS {miss}")
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
