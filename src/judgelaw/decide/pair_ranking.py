"""Several systems ranked from comparisons of two at a time.

The margin of a pair is the mean over its items of wins minus losses, `d_ab` in [-1, 1]. Systems get
strengths `s`, of sum zero, that fit the margins best, each compared pair alike:

    s = argmin sum over pairs (d_ab - (s_a - s_b))^2,    so that s = L+ B d

with B the incidence matrix of pairs and L = B B'. Where every pair was compared, `s_a` is the mean
margin of a against the others, times (S-1)/S. A difference of strengths is a weighted mean of pair
margins with weights w, hence the mean of item values that lie around it as items lie around their
own pair, so that its interval is that of a mean over items.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from judgelaw.arrays import PAIR, Floats
from judgelaw.decide.prompt_choice import WORTH
from judgelaw.decide.score_parts import CellScores
from judgelaw.decide.scores import JudgeScore, ScoreDifference, ranking_sentence
from judgelaw.decide.scoring import Apart, asked_protocol, groups_of, score_judge, signed_scores
from judgelaw.errors import InputError
from judgelaw.estimate import Design
from judgelaw.quantities import Estimate
from judgelaw.tensor import VerdictTensor
from judgelaw.words import listed

_LEVEL = 0.95


def score_pairs(
    tensor: VerdictTensor,
    systems: Mapping[str, tuple[str, str]],
    *,
    protocol: Mapping[str, Any] | None = None,
    design: Design = "census",
    worth: float = WORTH,
) -> JudgeScore:
    """Rank systems that were compared two at a time, and say which are told apart.

    Args:
        tensor: the calls of one judge, with verdicts candidate_1 and candidate_2.
        systems: who is candidate 1 and who candidate 2, by item.
        protocol: another way to score, as for `score`.
        design: "sampled" where prompts were drawn.
        worth: the difference of strengths that is worth finding.

    Raises:
        InputError: verdicts of another kind, an item of a system with itself, a pair with one item,
            systems that are not linked by any chain of comparisons.
    """
    pairs = _pairs(tensor, systems)
    found = score_judge(replace(tensor, gold=None), protocol=protocol, design=design, worth=worth)
    solve = dict(zip(pairs.names, pairs.solve, strict=True))
    ranked = sorted(solve, key=lambda name: -float(solve[name] @ pairs.margins()))
    couples = list(combinations(ranked, 2))
    asked = asked_protocol(tensor, protocol)

    def apart(a: str, b: str, w: Floats, level: float) -> ScoreDifference:
        how = Apart(design=design, worth=worth, protocol=asked, level=level, reach=pairs.reach(w))
        return how.of(a, b, pairs.weighted(w))

    together = 1 - (1 - _LEVEL) / len(couples)
    differences = tuple(apart(a, b, solve[a] - solve[b], together) for a, b in couples)
    strengths = {a: apart(a, "", solve[a], _LEVEL) for a in ranked}
    groups = groups_of(ranked, differences)
    return replace(
        found,
        sentence=ranking_sentence(groups),
        metric="margin",
        differences=differences,
        systems={
            a: Estimate(estimate=d.estimate, low=d.low, high=d.high) for a, d in strengths.items()
        },
        groups=groups,
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class _Pairs:
    """Comparisons of two systems at a time.

    Attributes:
        cells: wins minus losses, for the system of the pair that stands first.
        pair: which pair each item belongs to.
        names: of the systems.
        solve: strengths from margins, (systems, pairs).
    """

    cells: CellScores
    pair: np.ndarray[Any, np.dtype[np.intp]]
    names: tuple[str, ...]
    solve: Floats

    def margins(self) -> Floats:
        """Return the margin of every pair."""
        y = np.asarray(self.cells.y, dtype=float).mean(axis=(1, 2))
        return np.bincount(self.pair, weights=y) / np.bincount(self.pair)

    def reach(self, w: Floats) -> float:
        """Return how far one item can move the weighted margins, were it the only one."""
        return float(np.abs(len(self.pair) * w / np.bincount(self.pair)).max())

    def weighted(self, w: Floats) -> CellScores:
        """Return values around sum_p w_p d_p that spread as items spread within their pairs."""
        count = np.bincount(self.pair)
        y = np.asarray(self.cells.y, dtype=float)
        margins = np.stack([y[self.pair == p].mean(axis=0) for p in range(len(w))])
        f = (len(y) * w / count)[self.pair][:, None, None]
        widened = np.sqrt(count / (count - 1))[self.pair][:, None, None]
        mean = np.tensordot(w, margins, axes=(0, 0))
        return CellScores(
            y=mean + f * widened * (y - margins[self.pair]),
            s2=f**2 * self.cells.s2,
            v=f**2 * self.cells.v,
        )


def _pairs(tensor: VerdictTensor, systems: Mapping[str, tuple[str, str]]) -> _Pairs:
    if not {"candidate_1", "candidate_2"} <= set(tensor.verdicts):
        raise InputError(
            f"the verdicts {listed(tensor.verdicts)} do not choose between two systems: a ranking "
            "of pairs needs candidate_1 and candidate_2"
        )
    named = [systems[item] for item in tensor.items]
    if own := [i for i, (a, b) in zip(tensor.items, named, strict=True) if a == b]:
        name = systems[own[0]][0]
        raise InputError(f"item {own[0]!r} compares {name!r} with itself: leave it out")
    names = tuple(sorted({name for couple in named for name in couple}))
    couples = sorted({tuple(sorted(couple)) for couple in named})
    at = {couple: p for p, couple in enumerate(couples)}
    pair = np.array([at[tuple(sorted(couple))] for couple in named])
    if (few := np.bincount(pair)).min() < PAIR:
        a, b = couples[int(few.argmin())]
        raise InputError(
            f"{a!r} and {b!r} were compared on one item: a margin needs two or more; add items of "
            "this pair, or leave it out"
        )
    sign = np.array([1.0 if a < b else -1.0 for a, b in named])[:, None, None]
    cells = signed_scores(tensor)
    return _Pairs(
        cells=CellScores(y=sign * cells.y, s2=cells.s2, v=cells.v),
        pair=pair,
        names=names,
        solve=_strengths(names, couples),
    )


def _strengths(names: Sequence[str], couples: Sequence[tuple[str, ...]]) -> Floats:
    """Return L+ B, which turns the margins of pairs into strengths of systems."""
    B = np.zeros((len(names), len(couples)))
    for p, (a, b) in enumerate(couples):
        B[names.index(a), p], B[names.index(b), p] = 1.0, -1.0
    L = B @ B.T
    if np.linalg.matrix_rank(L) < len(names) - 1:
        linked = _linked(names[0], couples)
        apart = next(name for name in names if name not in linked)
        raise InputError(
            f"no chain of comparisons links {names[0]!r} and {apart!r}: rank the linked systems "
            "alone, or compare systems of both groups"
        )
    return np.asarray(np.linalg.pinv(L) @ B)


def _linked(start: str, couples: Sequence[tuple[str, ...]]) -> set[str]:
    found, grew = {start}, True
    while grew:
        more = {name for couple in couples if found & set(couple) for name in couple}
        grew = bool(more - found)
        found |= more
    return found
