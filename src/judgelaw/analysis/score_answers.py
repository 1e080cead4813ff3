"""What scores say beside their disagreement: their mean, each prompt's, and how they fit gold.

A reply without a score is left out of means; how many there are is counted. An item's score is the
mean of its cells, so that a prompt that fails often does not count less.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judgelaw.arrays import Floats
from judgelaw.labels import correlation, mean_interval
from judgelaw.quantities import FIT_KEYS, MEAN_KEYS, Estimate, Quantity, unknown
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import (
    clusters_of,
    signed_interval,
    smoothed_laws,
    spread_of,
    t_quantile,
)


@dataclass(frozen=True, kw_only=True)
class PromptScores:
    """The scores that one prompt led to.

    Attributes:
        prompt: its name.
        mean: with errors.
        counts: calls by verdict, from low to high, invalid ones last.
    """

    prompt: str
    mean: Estimate
    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class ScoresAgainstGold:
    """How scores fit the gold scores of the items that have one.

    Attributes:
        items: with a gold score.
        exact: share of calls that give the gold score; a call without a score does not.
        mae: mean absolute error of a call, in points.
        bias: mean score less gold, in points.
        rank_correlation: of item means and gold (Spearman).
    """

    items: int
    exact: float
    mae: Estimate
    bias: Estimate
    rank_correlation: Estimate


@dataclass(frozen=True, kw_only=True)
class ScoreAnswers:
    """What the scores of one judge say beside their disagreement.

    Attributes:
        scale: the scores, from low to high.
        dissimilarity: "ordinal", "numeric" or "nominal".
        meaning: what the number of a component means, in words.
        mean: the mean score.
        by_prompt: the scores of every prompt.
        gold: None where no item has a gold score.
    """

    scale: tuple[float, ...]
    dissimilarity: str
    meaning: str
    mean: Estimate
    by_prompt: tuple[PromptScores, ...]
    gold: ScoresAgainstGold | None

    @property
    def span(self) -> float:
        """Points from the lowest to the highest score."""
        return self.scale[-1] - self.scale[0]

    def quantities(self) -> Iterator[tuple[str, str | None, Quantity]]:
        """Yield name, prompt and value of every estimate."""
        yield "mean_score", None, Quantity({"estimate": self.mean})
        for one in self.by_prompt:
            yield "mean_score", one.prompt, Quantity({"estimate": one.mean})
        for name in () if self.gold is None else ("mae", "bias", "rank_correlation"):
            yield name, None, Quantity({"estimate": getattr(self.gold, name)})

    def to_json(self) -> dict[str, Any]:
        """Return plain values."""
        gold = self.gold
        return {
            "scale": self.scale,
            "dissimilarity": self.dissimilarity,
            "meaning": self.meaning,
            "mean": _kept(self.mean, MEAN_KEYS),
            "by_prompt": [
                {"prompt": x.prompt, "mean": _kept(x.mean, MEAN_KEYS), "counts": dict(x.counts)}
                for x in self.by_prompt
            ],
            "gold": gold
            and {
                "items": gold.items,
                "exact": gold.exact,
                **{
                    name: _kept(getattr(gold, name), FIT_KEYS)
                    for name in ("mae", "bias", "rank_correlation")
                },
            },
        }


def _kept(x: Estimate, keys: Sequence[str]) -> dict[str, Any]:
    return {key: getattr(x, key) for key in keys}


def score_answers(tensor: VerdictTensor, level: float) -> ScoreAnswers | None:
    """Return what scores say; None where verdicts are no scores."""
    scale = tensor.scale
    if scale is None:
        return None
    return ScoreAnswers(
        scale=scale.values,
        dissimilarity=scale.dissimilarity,
        meaning=scale.meaning,
        mean=mean_score(tensor, level),
        by_prompt=tuple(_of_prompt(tensor, name, level) for name in tensor.prompts),
        gold=_against_gold(tensor),
    )


def _of_prompt(tensor: VerdictTensor, prompt: str, level: float) -> PromptScores:
    calls = tensor.select(prompts=[prompt])
    counts = calls.counts.sum(axis=(0, 1, 2)).tolist()
    return PromptScores(
        prompt=prompt,
        mean=mean_score(calls, level),
        counts=dict(zip(tensor.verdicts, counts, strict=True)),
    )


def mean_score(tensor: VerdictTensor, level: float) -> Estimate:
    """Return the mean score of the replies that hold one.

    Its call variance is that of independent calls, from their spread or at smoothed laws, whichever
    is the larger: cells that agree do not show that there is no noise.
    """
    n, s = _valid(tensor)
    R = n.sum(axis=-1)
    spoke = R.sum(axis=1) > 0
    if not spoke.any() or tensor.scale is None:
        return unknown("no reply holds a score")
    n, R = n[spoke], R[spoke]
    there = R > 0
    share = there / there.sum(axis=1, keepdims=True)
    p = n / np.maximum(R, 1)[..., None]
    y = ((p @ s) * share).sum(axis=1)
    estimate = float(y.mean())
    values = tensor.scale.values
    middle, half = (values[0] + values[-1]) / 2, (values[-1] - values[0]) / 2
    labels = tensor.clusters
    clusters = clusters_of(labels and [labels[i] for i in np.flatnonzero(spoke)])
    new = signed_interval(y - middle, top=half, level=level, clusters=clusters)
    seen = np.where(R > 1, _variance(p, s) / np.maximum(R - 1, 1), np.nan)
    supposed = _variance(smoothed_laws(n), s) / np.maximum(R, 1)
    worst = np.fmax(seen, supposed) if (R[there] < 2).any() else seen  # noqa: PLR2004 - to vary
    spreads = [
        spread_of((np.where(there, v, 0.0) * share**2).sum(axis=1) / len(y) ** 2)
        for v in (worst, supposed)
    ]
    variance = max(spread.variance for spread in spreads)
    df = min(spread.df for spread in spreads if spread.variance > 0)
    reach = t_quantile((1 + level) / 2, df) * float(np.sqrt(variance))
    return Estimate(
        estimate=estimate,
        low=new.low + middle,
        high=new.high + middle,
        call_se=float(np.sqrt(variance)),
        call_interval=(estimate - reach, estimate + reach),
    )


def _valid(tensor: VerdictTensor) -> tuple[Floats, Floats]:
    """Return the counts of scores (items, cells, scores), and the scores."""
    assert tensor.scale is not None  # noqa: S101 - the caller looked
    keep = [c for c, name in enumerate(tensor.verdicts) if name != INVALID]
    names = [tensor.verdicts[c] for c in keep]
    N = len(tensor.items)
    n = tensor.counts[..., keep].reshape(N, -1, len(keep)).astype(float)
    return n, tensor.scale.scores(names)


def _variance(p: Floats, s: Floats) -> Floats:
    return np.asarray(p @ s**2 - (p @ s) ** 2)


def _against_gold(tensor: VerdictTensor) -> ScoresAgainstGold | None:
    scale = tensor.scale
    if scale is None or tensor.gold is None:
        return None
    known = dict(zip(scale.names, scale.values, strict=True))
    gold = np.array([known.get(str(g), np.nan) for g in tensor.gold])
    n, s = _valid(tensor)
    calls = n.sum(axis=1)
    everything = tensor.counts.sum(axis=(1, 2, 3))
    rows = ~np.isnan(gold)
    if not rows.any():
        return None
    right = (calls[rows] * (s == gold[rows, None])).sum(axis=1)
    scored = rows & (calls.sum(axis=1) > 0)
    m, g = calls[scored], gold[scored]
    R = m.sum(axis=1)
    mean = (m @ s) / R
    apart = (m * np.abs(s - g[:, None])).sum(axis=1) / R
    return ScoresAgainstGold(
        items=int(rows.sum()),
        exact=float(right.sum() / everything[rows].sum()),
        mae=mean_interval(apart),
        bias=mean_interval(mean - g),
        rank_correlation=correlation(_ranks(mean), _ranks(g)),
    )


def _ranks(x: Floats) -> Floats:
    from scipy.stats import rankdata  # noqa: PLC0415 - loads where items have gold

    return np.asarray(rankdata(x), dtype=float)
