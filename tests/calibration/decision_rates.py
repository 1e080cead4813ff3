"""How often decisions are wrong, counted over simulated studies of judges with known laws."""

from math import factorial, prod

import numpy as np

import judgelaw as jl
from judgelaw.decide import Protocol, choose_prompts, score_judge
from judgelaw.decide.prompt_choice import not_shown_worse
from judgelaw.decide.votes import compositions, final_verdict
from judgelaw.estimate import population
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from support import judges

POOL = 2_000


def prompts_with(accuracies, rng, size=POOL):
    """Return laws (items, prompts, 1, 2) of items of their own difficulty, right by prompt.

    A third of the items are settled: right or wrong under every prompt.
    """
    base = rng.normal(1.5, 1.5, size=(size, 1))
    own = rng.normal(0, 0.5, size=(size, len(accuracies)))
    right = 1 / (1 + np.exp(-(base + np.array(accuracies) + own)))
    settled = rng.random(size) < 1 / 3
    right[settled] = (base[settled] > 0).astype(float)
    return np.stack([right, 1 - right], axis=-1)[:, :, None]


def best_is_kept(*, effects, items, merit, studies, repeats=4, seed=0):
    """Return how many studies keep the prompt that is best over the pool."""
    laws = prompts_with(effects, stream(seed, "prompts", str(effects)))
    truth = laws[..., 0, 0].mean(axis=0)
    if merit == "noise":
        truth = (laws[..., 0, :] ** 2).sum(axis=-1).mean(axis=0)
    best = int(truth.argmax())
    kept = 0
    for study in range(studies):
        rng = stream(seed, "prompt study", items, merit, study)
        rows = rng.integers(0, POOL, size=items)
        counts = judges.counts(laws[rows], repeats, rng)
        tensor = VerdictTensor.from_counts(
            counts,
            verdicts=["a", "b"],
            gold=["a"] * items if merit == "accuracy" else None,
        )
        kept += choose_prompts(tensor, seed=study).rows[best].keep
    return kept


def null_set_holds(*, items, studies, seed=0):
    """Return how many studies keep one prompt of six that are all alike, on skewed values."""
    kept = 0
    for study in range(studies):
        rng = stream(seed, "null", items, study)
        t = rng.beta(0.5, 0.2, size=(items, 1)) * 0.5 + 0.5 * (rng.random((items, 6)) < 0.8)
        kept += bool(not_shown_worse(t, seed=study)[0][0])
    return kept


def little_or_rare(*, items, studies, repeats=8, seed=0):
    """Return how many studies keep a prompt that errs a little, where others fail on few items.

    The first is wrong in 3 of 100 calls on every item; three others are always wrong on 3.5 of 100
    items, so that a study of 50 items has often seen none of them.
    """
    kept = 0
    for study in range(studies):
        rng = stream(seed, "little or rare", items, study)
        right = np.concatenate(
            [np.full((items, 1), 0.97), (rng.random((items, 3)) >= 0.035) * 1.0], axis=1
        )
        kept += bool(not_shown_worse(rng.binomial(repeats, right) / repeats, seed=study)[0][0])
    return kept


def true_stability(laws, m):
    """Return the mean chance over items that two votes of m calls are the same, ties drawn."""
    x = compositions(m, laws.shape[-1])
    ways = np.array([_ways(row) for row in x.tolist()], dtype=float)
    chances = ways * (laws[:, None] ** x).prod(axis=-1)
    return float(((chances @ final_verdict(x, "random")) ** 2).sum(axis=-1).mean())


def _ways(row):
    return factorial(sum(row)) // prod(factorial(c) for c in row)


def false_claims(*, world, items, studies, repeats=8, seed=0):
    """Return how many studies claim a protocol that does not meet the target.

    The target is what one call of the steadiest prompt misses by a hair: every claim of one call is
    false, claims of three may be true.
    """
    pool = judges.pool(world, 3, 1, seed=seed)
    truth = {(k, m): true_stability(pool.laws[:, k, 0], m) for k in range(3) for m in (1, 2, 3)}
    target = max(truth[k, 1] for k in range(3)) + 1e-9
    listing = [Protocol(prompts=f"fixed:p{k + 1}", repeats=m) for k, m in truth]
    wrong = 0
    for study in range(studies):
        rng = stream(seed, "claims", world, items, study)
        rows = pool.draw(items, rng)
        tensor = VerdictTensor.from_counts(judges.counts(pool.laws[rows], repeats, rng))
        found = jl.advise(tensor, target, protocols=listing, seed=study).judges["judge"].target
        if found.row is not None:
            p = found.row.protocol
            wrong += truth[int(p.fixed[1:]) - 1, p.repeats] < target
    return wrong


def drawn_scores_covered(*, items, prompts, spread, studies, settled=0.0, repeats=2, seed=0):
    """Return how many intervals of new items with drawn prompts hold the mean of the world.

    A share of the items may be `settled`: always right, but for one in twenty that is always wrong.
    """
    rng = stream(seed, "generator", str(spread))
    base = rng.normal(1.0, 1.5, size=(POOL, 1))
    effect = rng.normal(0, spread, size=(1, 500))
    right = 1 / (1 + np.exp(-(base + effect + rng.normal(0, 0.5, size=(POOL, 500)))))
    fast = rng.random(POOL) < settled
    right[fast] = (rng.random((fast.sum(), 1)) < 0.95) * 1.0
    truth = right.mean()
    held = 0
    for study in range(studies):
        rng = stream(seed, "drawn scores", items, prompts, study)
        rows, columns = rng.integers(0, POOL, items), rng.choice(500, prompts, replace=False)
        p = right[np.ix_(rows, columns)]
        hits = rng.binomial(repeats, p)
        counts = np.stack([hits, repeats - hits], axis=-1)[:, :, None]
        tensor = VerdictTensor.from_counts(counts, verdicts=["pass", "fail"])
        found = score_judge(tensor, design="sampled").score
        held += found.low <= truth <= found.high
    return held


PAIR = ("candidate_1", "candidate_2", "tie")
POINTS = ("1", "2", "3", "4", "5")


def _likely(right):
    """Return laws of two verdicts, the first with these chances."""
    return np.stack([right, 1 - right], axis=-1)


def rare_flips(rng, items, prompts):
    """Settled, nine of ten right; one item in seven flips between calls, under every prompt."""
    right = (rng.random((items, 1)) < 0.9) * 1.0
    loose = rng.random((items, 1)) < 0.15
    return _likely(np.where(loose, rng.uniform(0.2, 0.9, (items, 1)), right) + np.zeros(prompts))


def prompts_on_few_items(rng, items, prompts):
    """Settled; on one item in eight every prompt turns the verdict with a chance of 0.4."""
    right = rng.random((items, 1)) < 0.92
    turned = (rng.random((items, 1)) < 0.12) & (rng.random((items, prompts)) < 0.4)
    return _likely((right ^ turned) * 1.0)


def harsh_prompts(rng, items, prompts):
    """Settled but for one item in seven, which harsh prompts fail more often than lenient ones."""
    right = (rng.random((items, 1)) < 0.92) * 1.0
    share = 0.6 + rng.uniform(-0.3, 0.3, prompts)
    return _likely(np.where(rng.random((items, 1)) < 0.85, right, share))


def settled_pairs(rng, items, prompts):
    """Settled pairs, candidate 1 better in 88 of 100; one pair in ten won, lost or tied."""
    won = (rng.random((items, 1, 1)) < 0.88) * 1.0
    open_ = np.array([0.4, 0.4, 0.2]) + np.zeros((items, prompts, 1))
    laws = np.concatenate([won, 1 - won, 0 * won], axis=-1)
    return np.where(rng.random((items, 1, 1)) < 0.9, laws, open_)


def high_points(rng, items, prompts):
    """Four items of five always get five points; others fewer; one in twenty anything."""
    at = rng.choice(5, size=(items, 1), p=[0.02, 0.03, 0.05, 0.1, 0.8])
    laws = np.eye(5)[np.broadcast_to(at, (items, prompts))]
    return np.where(rng.random((items, 1, 1)) < 0.05, 0.2, laws)


DRAWN = {
    "rare flips": (rare_flips, ("pass", "fail"), 0.85 * 0.9 + 0.15 * 0.55),
    "prompts on few items": (
        prompts_on_few_items,
        ("pass", "fail"),
        0.88 * 0.92 + 0.12 * (0.92 * 0.6 + 0.08 * 0.4),
    ),
    "harsh prompts": (harsh_prompts, ("pass", "fail"), 0.85 * 0.92 + 0.15 * 0.6),
    "settled pairs": (settled_pairs, PAIR, 0.9 * 0.88 + 0.1 * 0.5),
    "high points": (high_points, POINTS, 0.95 * 4.63 + 0.05 * 3),
}
"""Judges that are settled on most items: their laws, their verdicts, and their score."""


def settled_scores_covered(*, world, items, prompts, repeats, studies, seed=0):
    """Return how many intervals with drawn prompts hold the score of a judge of `DRAWN`."""
    laws_of, verdicts, truth = DRAWN[world]
    held = 0
    for study in range(studies):
        rng = stream(seed, "settled scores", world, items, prompts, study)
        counts = rng.multinomial(repeats, laws_of(rng, items, prompts))[:, :, None]
        tensor = VerdictTensor.from_counts(counts, verdicts=list(verdicts))
        found = score_judge(tensor, design="sampled").score
        held += found.low <= truth <= found.high
    return held


def fixed_prompt_scores_covered(*, items, level, studies, seed=0):
    """Return how many intervals of fixed prompts hold the mean of a mostly settled world."""
    rng = stream(seed, "census scores", str(level))
    right = (rng.random(POOL) < level).astype(float)
    unsettled = rng.random(POOL) < 0.3
    right[unsettled] = rng.beta(8 * level, 8 * (1 - level), size=POOL)[unsettled]
    truth, held = right.mean(), 0
    for study in range(studies):
        rng = stream(seed, "census study", items, str(level), study)
        hits = rng.binomial(2, right[rng.integers(0, POOL, items)])
        counts = np.stack([hits, 2 - hits], axis=-1)[:, None, None]
        tensor = VerdictTensor.from_counts(counts, verdicts=["pass", "fail"])
        found = score_judge(tensor).score
        held += found.low <= truth <= found.high
    return held


def worse_by(laws, share):
    """Return laws of a judge that answers anything at all in a share of its calls."""
    return (1 - share) * laws + share * np.array([0.4, 0.4, 0.1, 0.1])


def worse_judges_passed(*, world, scope, quantity, items, studies, share=0.06, repeats=4, seed=0):
    """Return how many judges pass that are worse than the baseline by exactly the margin."""
    pool = judges.pool(world, 2, 1, seed=seed)
    later = worse_by(pool.laws, share)

    def worsening(rows):
        before, now = pool.laws[rows], later[rows]
        if quantity == "total":
            return float((population(now).total - population(before).total).mean())
        return float((before[..., 0] - now[..., 0]).mean())

    passed = 0
    everywhere = worsening(np.arange(len(pool.laws)))
    for study in range(studies):
        rng = stream(seed, "baseline", world, scope, quantity, items, study)
        rows = pool.draw(items, rng)
        margin = worsening(rows) if scope == "fixed" else everywhere
        gold = ["candidate_1"] * items
        before, now = (
            VerdictTensor.from_counts(judges.counts(x[rows], repeats, rng), gold=gold)
            for x in (pool.laws, later)
        )
        gate = jl.gate(now, {}, baseline=before, margin={quantity: max(margin, 0.0)}, items=scope)
        passed += gate.verdict == "pass"
    return passed
