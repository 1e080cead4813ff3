"""How judges rank, and which of them these items tell apart.

Two judges of one law differ on an item by chance alone, so that the sign of the difference is a
toss: flipping the signs of the paired item differences gives the exact null distribution of their
mean, whatever the items and however settled the judges. All pairs of judges share one level (Holm):
of judges that are alike, any two are told apart in at most 1 of 20 audits. Judges that have the
same mean over all items, but owe it to many items here and to few there, are no matter of signs. So
that a kind of item which is rare and was not drawn does not mislead, the difference has to hold in
random weights of the items (Gaffke's bound at 97.5%), with one item more that nobody saw and that
speaks against it: with the largest value that an item can have where few items carry a judge's
mean, else one step beyond the largest that was seen. Estimates that are equal are tied, and judges
that are not told apart are called not separated.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from math import nan

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import PAIR, Floats
from judgelaw.diagnose.family import (
    PROBLEM,
    Bundle,
    Test,
    family_draws,
    holm,
    in_blocks,
    permutation_ps,
    rate,
)
from judgelaw.diagnose.finding import Cell, Finding
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import CENSUS, Estimand, decompose_as
from judgelaw.streams import stream
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    FEW,
    declare,
    effective_items,
    resampled_means,
    unseen_value,
    weigh_one,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Matched:
    """Calls of several judges on the same items and cells, cut to the depth that all have.

    Attributes:
        tensors: by judge, with items, prompts and orders in one sequence.
        items: the common items.
        lost: items of each judge that another lacks.
        depth: repeats in every cell; the smallest of all judges.
        differences: cells of the first judge that another lacks, or the reverse, by judge.
    """

    tensors: Mapping[str, VerdictTensor]
    items: tuple[str, ...]
    lost: Mapping[str, int]
    depth: int
    differences: Mapping[str, int]

    @property
    def strata(self) -> tuple[str, ...] | None:
        """Strata of the common items, as the first judge's calls name them."""
        return next(iter(self.tensors.values())).strata


def match(tensors: Mapping[str, VerdictTensor]) -> Matched:
    """Match judges on the items and cells that all of them have.

    Depths are made equal by frozen prefixes, since a plug-in value depends on the depth.

    Raises:
        InputError: fewer than two judges, cells that differ, or no common item.
    """
    if len(tensors) < PAIR:
        raise InputError(f"{len(tensors)} judge: a comparison needs two or more")
    first_name, first = next(iter(tensors.items()))
    for name, other in tensors.items():
        for axis in ("prompts", "orders"):
            here, there = set(getattr(first, axis)), set(getattr(other, axis))
            if here != there:
                raise InputError(
                    f"{name!r} was asked with {axis} {sorted(there)}, {first_name!r} with "
                    f"{sorted(here)}: a comparison needs the same cells; select the common ones "
                    "(--prompt on the command line)"
                )
    common = set.intersection(*(set(t.items) for t in tensors.values()))
    if not common:
        raise InputError("the judges have no item in common: match them by item id")
    items = tuple(item for item in first.items if item in common)
    chosen = {
        name: t.select(items=items, prompts=first.prompts, orders=first.orders)
        for name, t in tensors.items()
    }
    depth = min(t.depth[0] for t in chosen.values())
    cut = {name: _cut(t, depth) for name, t in chosen.items()}
    return Matched(
        tensors=cut,
        items=items,
        lost={name: len(t.items) - len(items) for name, t in tensors.items()},
        depth=min(t.depth[0] for t in cut.values()),
        differences={name: cell_differences(first, t) for name, t in tensors.items()},
    )


def cell_differences(a: VerdictTensor, b: VerdictTensor) -> int:
    """Count the cells (item, prompt, order) that one of two judges has and the other lacks."""
    return len(_cells(a) ^ _cells(b))


def _cells(t: VerdictTensor) -> set[tuple[str, str, str]]:
    return {(i, k, o) for i in t.items for k in t.prompts for o in t.orders}


def _cut(t: VerdictTensor, depth: int) -> VerdictTensor:
    """Keep the ranks below `depth`, where ranks are known and every cell has them."""
    if t.ranked is None or t.depth == (depth, depth):
        return t
    prefix = t.prefix(depth)
    return prefix if prefix.depth[0] >= PAIR else replace(t)


TAU = 0.02
"""The paper's descriptive threshold on the prompt component."""
_TIE = 1e-12
_ITEMS_AT_MOST = 1 << 14
"""Of more items an even sample has its signs flipped: that is exact too, and enough."""
_NUMBERS_AT_ONCE = 1 << 20
_WEIGHTS = 4_000
_ONE_SIDE = 0.975


@dataclass(frozen=True, kw_only=True)
class RankStability:
    """How judges rank on one component, from the largest down.

    Attributes:
        component: what they are ranked by.
        depth: repeats behind it.
        estimates, plugins: macroaverages by judge.
        corrected, plugin: names from the largest down.
        flagged, plugin_flagged: judges above the threshold.
        threshold: tau.
        top_differs: share of item resamples in which plug-in and corrected name different top
            judges; nan where items cannot be resampled.
        top_changes: share of resamples in which the corrected top judge is not the observed one, or
            shares its place.
        same_order: share of resamples with the observed corrected ranking from top to bottom.
        separated: pairs (larger, smaller) that the items tell apart, all pairs at one level of 5%.
        p_reversed: of the clearest pair that the plug-in ranks the other way round, all pairs
            considered; 1 without one.
        least: the smallest that `p_reversed` could be.
    """

    component: str
    depth: int
    estimates: Mapping[str, float]
    plugins: Mapping[str, float]
    corrected: tuple[str, ...]
    plugin: tuple[str, ...]
    flagged: tuple[str, ...]
    plugin_flagged: tuple[str, ...]
    threshold: float
    top_differs: float
    top_changes: float
    same_order: float
    separated: tuple[tuple[str, str], ...]
    p_reversed: float
    least: float

    @property
    def in_words(self) -> str:
        """The corrected ranking from the largest down, with = between judges that are tied."""
        return in_words(self.corrected, self.estimates)

    @property
    def plugin_in_words(self) -> str:
        """The plug-in ranking from the largest down, with = between judges that are tied."""
        return in_words(self.plugin, self.plugins)

    @property
    def top(self) -> tuple[str, ...]:
        """The judges that may be the largest: none of them is separated from the first."""
        first = self.corrected[0]
        return tuple(n for n in self.corrected if (first, n) not in self.separated)


def in_words(names: Sequence[str], values: Mapping[str, float]) -> str:
    """Write a ranking; judges whose values are equal are tied."""
    said = names[0]
    for a, b in pairwise(names):
        said += f" {'=' if abs(values[a] - values[b]) <= _TIE else '>'} {b}"
    return said


def rank_stability(
    matched: Matched,
    component: str = "prompt",
    *,
    draws: int,
    seed: int,
    threshold: float = TAU,
    estimand: Estimand = CENSUS,
) -> RankStability:
    """Rank judges on one component, corrected and plug-in, and resample the items."""
    names = tuple(matched.tensors)
    found = [decompose_as(t, estimand) for t in matched.tensors.values()]
    corrected = np.stack([d[component] for d in found], axis=-1)
    plugin = np.stack([d.plugin[component] for d in found], axis=-1)
    means, plugs = corrected.mean(axis=0), plugin.mean(axis=0)
    differs, changes, same = _resampled(corrected, plugin, matched.strata, draws, seed)
    separated, p_reversed, least = _told_apart(
        names, corrected, plugs, _largest(matched, component), seed
    )
    return RankStability(
        component=component,
        depth=matched.depth,
        estimates=dict(zip(names, map(float, means), strict=True)),
        plugins=dict(zip(names, map(float, plugs), strict=True)),
        corrected=_ranked(names, means),
        plugin=_ranked(names, plugs),
        flagged=tuple(n for n, x in zip(names, means, strict=True) if x > threshold),
        plugin_flagged=tuple(n for n, x in zip(names, plugs, strict=True) if x > threshold),
        threshold=threshold,
        top_differs=differs,
        top_changes=changes,
        same_order=same,
        separated=separated,
        p_reversed=p_reversed,
        least=least,
    )


def _largest(matched: Matched, component: str) -> float:
    """Return the largest value that the component of one item can have."""
    return declare(next(iter(matched.tensors.values()))).top[component]


def _told_apart(
    names: tuple[str, ...], values: Floats, plugs: Floats, top: float, seed: int
) -> tuple[tuple[tuple[str, str], ...], float, float]:
    """Return the pairs of judges told apart, and how sure the plug-in reverses one of them."""
    if np.isnan(values).any():
        return (), nan, nan
    pairs = list(combinations(range(len(names)), 2))
    x = values[:: -(-len(values) // _ITEMS_AT_MOST)]
    d = np.stack([x[:, a] - x[:, b] for a, b in pairs], axis=-1)
    d = np.where(np.abs(d) <= _TIE, 0.0, d)
    ps = sign_flip_ps(d, stream(seed, "sign flips"), family_draws(len(pairs)))
    told = [at for at, p in enumerate(holm(ps)) if p <= PROBLEM]
    held = [at for at in told if _holds(d[:, at], x[:, list(pairs[at])], top, seed)]
    means = values.mean(axis=0)
    separated = tuple(
        (names[a], names[b]) if means[a] > means[b] else (names[b], names[a])
        for a, b in (pairs[at] for at in held)
    )
    turned = [
        p
        for (a, b), p in zip(pairs, ps, strict=True)
        if (means[a] - means[b]) * (plugs[a] - plugs[b]) < 0
    ]
    least = 2.0 ** (1 - np.count_nonzero(d, axis=0).max())
    return separated, min(1.0, len(pairs) * min(turned, default=1.0)), len(pairs) * float(least)


def _holds(d: Floats, two: Floats, top: float, seed: int) -> bool:
    """Say whether a difference outweighs an item that nobody saw, in random weights of the items.

    `two` are the values of both judges, (items, 2): where few items carry one of them, the unseen
    item has the largest value that there is.
    """
    against = -d if d.sum() > 0 else d
    unseen = unseen_value(against, top, careful=any(effective_items(x) < FEW for x in two.T))
    return weigh_one(against, draws=_WEIGHTS, seed=seed).quantile(_ONE_SIDE, unseen) < 0


def sign_flip_ps(d: Floats, rng: np.random.Generator, most: int) -> list[float]:
    """Return two-sided p values of "the item differences are symmetric about 0", a column each."""

    def draw(size: int, wanted: Sequence[int]) -> list[Floats]:
        parts = []
        for part in in_blocks(size, len(d), _NUMBERS_AT_ONCE):
            signs = 2.0 * rng.integers(0, 2, size=(part, len(d)), dtype=np.int8) - 1
            parts.append(np.abs(signs @ d[:, list(wanted)]))
        return list(np.concatenate(parts).T)

    return permutation_ps([float(x) for x in np.abs(d.sum(axis=0))], draw, most)


def _resampled(
    corrected: Floats, plugin: Floats, strata: Sequence[str] | None, draws: int, seed: int
) -> tuple[float, float, float]:
    if np.isnan(corrected).any():
        return np.nan, np.nan, np.nan
    J = corrected.shape[1]
    try:
        means = resampled_means(
            np.concatenate([corrected, plugin], axis=1), strata=strata, draws=draws, seed=seed
        )
    except NotIdentifiedError:  # a stratum of one item: nothing to resample, and nan says so
        return np.nan, np.nan, np.nan
    ours, theirs = means[:, :J], means[:, J:]
    observed = np.argsort(-corrected.mean(axis=0), kind="stable")
    steps = -np.diff(ours[:, observed], axis=1)
    ahead = ours[:, observed[0]] - ours[:, observed[1:]].max(axis=1)
    return (
        float((_tops(ours) != _tops(theirs)).any(axis=1).mean()),
        float((ahead <= _TIE).mean()),
        float((steps > _TIE).all(axis=1).mean()),
    )


def _tops(means: Floats) -> NDArray[np.bool_]:
    """Say which judges share the top place."""
    return np.asarray(means >= means.max(axis=1, keepdims=True) - _TIE)


def _ranked(names: tuple[str, ...], values: Floats) -> tuple[str, ...]:
    return tuple(names[i] for i in np.argsort(-values, kind="stable"))


def ordering_test(found: RankStability) -> Bundle:
    """Return the test of "the plug-in reverses no judges that differ"."""
    return Bundle(least={"ordering": found.least}, run=lambda *_: [found.p_reversed])


def ordering_finding(found: RankStability, test: Test) -> Finding:
    """Say whether the plug-in reverses judges that the corrected estimate tells apart.

    Which of them a threshold flags, and how estimates rank that are not told apart, is in the
    table: it differs in most clean audits.
    """
    said = _changes(found)
    where = f"by {found.component} at R = {found.depth}"
    return Finding(
        name="ordering",
        verdict="notice" if rate(test) else "ok",
        headline=_ordering(said, where, test),
        advice=(
            "Quote the corrected values: the plug-in ranks judges by call noise as well."
            if said
            else "Either may be quoted; the corrected one does not depend on the depth."
        ),
        figures={
            "depth": float(found.depth),
            "threshold": found.threshold,
            "p": test.p,
            "p_adjusted": test.together,
        },
        columns=("judge", "plugin", "corrected", "plugin_flagged", "flagged"),
        rows=tuple(_row(found, name) for name in found.corrected),
    )


def _ordering(said: Sequence[str], where: str, test: Test) -> str:
    if not said:
        return f"Correction changes neither flags nor the ranking {where}."
    if found := rate(test):
        return f"Correction changes the picture {where}: {'; '.join(said)}.{found}"
    return (
        f"Correction moves the estimates {where}: {'; '.join(said)}. No judges that these items "
        "tell apart change places."
    )


def _changes(found: RankStability) -> list[str]:
    said = []
    if set(found.flagged) != set(found.plugin_flagged):
        said.append(
            f"above {found.threshold:g} the plug-in flags {_list(found.plugin_flagged)}, the "
            f"corrected estimate {_list(found.flagged)}"
        )
    if found.in_words != found.plugin_in_words:
        said.append(
            f"the plug-in ranks {found.plugin_in_words}, the corrected estimate {found.in_words}"
        )
    return said


def _row(found: RankStability, name: str) -> tuple[Cell, ...]:
    flags = name in found.plugin_flagged, name in found.flagged
    return (name, found.plugins[name], found.estimates[name], *flags)


def top_judge_finding(found: RankStability) -> Finding:
    """Say whether one judge has the largest component, or which are not separated."""
    figures = {
        "top_changes": found.top_changes,
        "top_differs": found.top_differs,
        "same_order": found.same_order,
        "separated_pairs": float(len(found.separated)),
    }
    if np.isnan(list(found.estimates.values())).any():
        return Finding(
            name="top_judge",
            verdict="unknown",
            headline="The judges cannot be ranked: there is no such component.",
            advice="Rank them by a component that all of them have.",
            figures=figures,
        )
    alone = len(found.top) == 1
    return Finding(
        name="top_judge",
        verdict="ok" if alone else "unknown",
        headline=_top(found),
        advice=(
            "It may be named: other items like these would leave it on top."
            if alone
            else "Do not name a worst judge from these items: show the differences with their "
            "intervals."
        ),
        figures=figures,
    )


def _top(found: RankStability) -> str:
    first, *others = found.top
    level = f"of judges that are alike, any are told apart in at most 1 of {1 / PROBLEM:.0f} audits"
    if not others:
        return (
            f"{first} has the largest {found.component} component, told apart from every other "
            f"judge ({level})."
        )
    if not found.separated:
        return f"The judges are not separated by their {found.component} components ({level})."
    return (
        f"{first} and {_list(tuple(others))} are not separated by their {found.component} "
        f"components: any of them may have the largest ({level})."
    )


def _list(names: tuple[str, ...]) -> str:
    return ", ".join(names) if names else "none"
