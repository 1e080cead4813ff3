"""What a statistician looks for: reliability of items, alpha of scores, the prompt's shared part.

Distances of verdicts are those of the components (equality, steps, or half the squared difference),
and every mean over items is of distinct items, so that nothing is biased upwards.

    item   H_0 - A,  A = mean over i != j of P_i . P_j    how far items differ, judged by all cells
    icc    item / (item + total) = 1 - total / (1 - A)    of one call under a cell drawn anew
    phi    item / (item + sum F U + call / (s b m))       of s prompts, b orders, m calls in each

with F(s, K) = (1 - s/K) K/(K-1)/s for s of K prompts, likewise for orders, and the product for
their interaction. All prompts and orders together have F = 0. Intervals leave one item, or one
cluster of items, out at a time; of many, one group of them.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from math import exp, log, sqrt

import numpy as np

from judgelaw.analysis.answer import merit_of, of_pairs
from judgelaw.analysis.catalogue import Entry
from judgelaw.arrays import PAIR, Floats
from judgelaw.estimate import decompose, dissimilarity_of, similarity_of
from judgelaw.quantities import Estimate
from judgelaw.streams import stream
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import clusters_of, t_quantile

_SIDE = 0.975
_ROUNDING = 1e-12
_LEAST_ITEMS = 3
_MOST_GROUPS = 500


@dataclass(frozen=True, kw_only=True)
class Study:
    """How far a design of so many prompts, orders and calls tells items apart.

    Attributes:
        prompts, orders, repeats: of an item.
        phi: share of true differences of items in the variance of what it gives.
    """

    prompts: int
    orders: int
    repeats: int
    phi: float

    @property
    def calls(self) -> int:
        """Calls of an item."""
        return self.prompts * self.orders * self.repeats


def icc(tensor: VerdictTensor) -> Estimate | None:
    """Share of the items' own differences in how far single calls differ: 1 is no noise at all."""
    parts = _item_parts(tensor)
    if parts is None:
        return None
    total, laws, M = parts

    def of(rows: Floats) -> float:
        apart = 1 - _between(laws, M, rows)
        return float(rows @ total / rows.sum()) / apart if apart > _ROUNDING else np.nan

    return _one_less(of, tensor)


def alpha_ordinal(tensor: VerdictTensor) -> Estimate | None:
    """Krippendorff's alpha of scores by their ranks: 1 is full agreement, 0 that of chance."""
    return _alpha(tensor, ordinal=True)


def alpha_interval(tensor: VerdictTensor) -> Estimate | None:
    """Krippendorff's alpha of scores by squared differences: 1 is full agreement, 0 chance."""
    return _alpha(tensor, ordinal=False)


def prompt_shared(tensor: VerdictTensor) -> Estimate | None:
    """How far prompts shift all items alike, in the unit of the prompt component."""
    found = _shared(tensor)
    return None if found is None else found[0]


def prompt_by_item(tensor: VerdictTensor) -> Estimate | None:
    """What is left of the prompt component: how far prompts shift single items against others."""
    found = _shared(tensor)
    return None if found is None else found[1]


def dependability(tensor: VerdictTensor) -> list[Study]:
    """Return phi of every number of prompts and orders that was asked, and 1 to 16 repeats."""
    parts = _item_parts(tensor)
    if parts is None:
        return []
    total, laws, M = parts
    item = 1 - float(total.mean()) - _between(laws, M, np.ones(len(total)))
    U = {name: float(x.mean()) for name, x in decompose(tensor).items()}
    K, O = len(tensor.prompts), len(tensor.orders)
    found = []
    for s in range(1, K + 1):
        for b in range(1, O + 1):
            for m in (1, 2, 4, 8, 16):
                noise = U["call"] / (s * b * m)
                noise += sum(
                    f * U[name]
                    for name, f in (
                        ("prompt", drawn(s, K)),
                        ("order", drawn(b, O)),
                        ("interaction", drawn(s, K) * drawn(b, O)),
                    )
                    if f
                )
                phi = item / (item + noise) if item > _ROUNDING and item + noise > 0 else np.nan
                found.append(Study(prompts=s, orders=b, repeats=m, phi=float(min(phi, 1.0))))
    return found


def drawn(s: int, levels: int) -> float:
    """Return what drawing s of so many levels leaves of their component: 0 where all are used."""
    return 0.0 if s == levels else (1 - s / levels) * levels / (levels - 1) / s


def _item_parts(tensor: VerdictTensor) -> tuple[Floats, Floats, Floats] | None:
    """Return the total of every item, its law over all cells, and the similarity of verdicts."""
    if len(tensor.items) < _LEAST_ITEMS or tensor.depth[0] < PAIR:
        return None
    laws = (tensor.counts / tensor.repeats[..., None]).mean(axis=(1, 2))
    similarity = similarity_of(dissimilarity_of(tensor, None), laws.shape[-1])
    M = np.eye(laws.shape[-1]) if similarity is None else np.asarray(similarity, dtype=float)
    return np.asarray(decompose(tensor).total, dtype=float), laws, M


def _between(laws: Floats, M: Floats, rows: Floats) -> float:
    """Return the mean of P_i . P_j over pairs of distinct items, of some of the items."""
    sums = rows @ laws
    own = rows @ ((laws @ M) * laws).sum(axis=1)
    n = rows.sum()
    return float((sums @ M @ sums - own) / (n * (n - 1)))


def _left_out(tensor: VerdictTensor) -> Iterator[Floats]:
    """Yield which items stay as each item, or each cluster, is left out.

    Of more than `_MOST_GROUPS`, random groups of equal size take turns (the delete-a-group
    jackknife), so that the work grows with the items and not with their square.
    """
    N, clusters = len(tensor.items), clusters_of(tensor.clusters)
    of = np.arange(N) if clusters is None else clusters.of
    groups = int(of.max()) + 1
    if groups > _MOST_GROUPS:
        of = (stream(0, "jackknife groups").permutation(groups) % _MOST_GROUPS)[of]
    for c in range(min(groups, _MOST_GROUPS)):
        yield (of != c).astype(float)


def _one_less(of: Callable[[Floats], float], tensor: VerdictTensor) -> Estimate | None:
    """Return 1 - x with its interval, x > 0 a ratio of means: a jackknife of its logarithm."""
    x = of(np.ones(len(tensor.items)))
    if not x > 0:
        return Estimate(estimate=1 - x) if np.isfinite(x) else None
    values = np.array([of(rows) for rows in _left_out(tensor)])
    if len(values) < _LEAST_ITEMS or not (values > 0).all():
        return Estimate(estimate=1 - x)
    G = len(values)
    se = sqrt((G - 1) / G * float(((np.log(values) - np.log(values).mean()) ** 2).sum()))
    half = t_quantile(_SIDE, G - 1) * se
    return Estimate(estimate=1 - x, low=1 - exp(log(x) + half), high=1 - exp(log(x) - half))


def _alpha(tensor: VerdictTensor, *, ordinal: bool) -> Estimate | None:
    """Return alpha of the calls of an item as raters of it; calls without a score are left out."""
    if tensor.scale is None or len(tensor.items) < _LEAST_ITEMS:
        return None
    scores = tensor.scale.scores(tensor.verdicts)
    kept = [c for c, v in enumerate(tensor.verdicts) if v != INVALID and np.isfinite(scores[c])]
    kept.sort(key=lambda c: scores[c])
    n = tensor.counts.sum(axis=(1, 2))[:, kept].astype(float)
    n = np.where(n.sum(axis=1, keepdims=True) < PAIR, 0.0, n)
    pooled = n.sum(axis=0)
    at = np.cumsum(pooled) - pooled / 2 if ordinal else scores[kept]
    d = (at[:, None] - at[None, :]) ** 2
    m = n.sum(axis=1)
    within = ((n @ d) * n).sum(axis=1) / np.maximum(m - 1, 1)

    def of(rows: Floats) -> float:
        sums = rows @ n
        size = sums.sum()
        expected = sums @ d @ sums / (size - 1) if size > 1 else 0.0
        return float(rows @ within / expected) if expected > _ROUNDING else np.nan

    return _one_less(of, tensor)


def _shared(tensor: VerdictTensor) -> tuple[Estimate, Estimate] | None:
    """Return M and U - M: the prompt component that all items share, and the rest.

    With D_ik = P_ik - mean_k P_ik in a coding that items share (right, wrong, tie, invalid for
    pairs; the labels or scores themselves else), M is the mean of D_ik . D_jk over k and i != j.
    """
    K, N = len(tensor.prompts), len(tensor.items)
    if K < PAIR or N < _LEAST_ITEMS or tensor.depth[0] < PAIR:
        return None
    coded = _coded(tensor)
    if coded is None:
        return None
    U, laws, M = coded
    D = laws - laws.mean(axis=1, keepdims=True)
    own = np.einsum("nkc,cd,nkd->n", D, M, D)

    def of(keep: Floats) -> tuple[float, float]:
        sums, n = np.einsum("n,nkc->kc", keep, D), keep.sum()
        squares = float(np.einsum("kc,cd,kd->", sums, M, sums))
        shared = (squares - float(keep @ own)) / (K * n * (n - 1))
        return shared, float(keep @ U / n) - shared

    values = np.array([of(keep) for keep in chain([np.ones(len(D))], _left_out(tensor))])
    whole, left = values[0], values[1:]
    G = len(left)
    if G < _LEAST_ITEMS:
        shared, rest = (Estimate(estimate=float(x)) for x in whole)
        return shared, rest
    se = np.sqrt((G - 1) / G * ((left - left.mean(axis=0)) ** 2).sum(axis=0))
    half = t_quantile(_SIDE, G - 1) * se
    shared, rest = (
        Estimate(estimate=float(x), low=float(x - h), high=float(x + h))
        for x, h in zip(whole, half, strict=True)
    )
    return shared, rest


def _coded(tensor: VerdictTensor) -> tuple[Floats, Floats, Floats] | None:
    """Return the prompt component of items, laws of prompts in a shared coding, similarity."""
    names: Sequence[str] = tensor.verdicts
    laws = (tensor.counts / tensor.repeats[..., None]).mean(axis=2)
    U = np.asarray(decompose(tensor).prompt, dtype=float)
    M = similarity_of(dissimilarity_of(tensor, None), len(names))
    like = np.eye(len(names)) if M is None else np.asarray(M, dtype=float)
    if not of_pairs(tensor):
        return U, laws, like
    merit = merit_of(tensor)
    if merit is None or len(merit.counted) < len(tensor.items):
        return None
    first, second = (names.index(f"candidate_{c}") for c in (1, 2))
    turned = np.array([name == names[second] for name in merit.names])
    coded = laws.copy()
    coded[turned] = coded[turned][..., _swapped(len(names), first, second)]
    return U, coded, like


def _swapped(n: int, a: int, b: int) -> list[int]:
    order = list(range(n))
    order[a], order[b] = b, a
    return order


QUANTITIES = (
    Entry(icc, "How far items differ, beside noise (ICC)", ".3f"),
    Entry(alpha_ordinal, "Krippendorff's alpha, ordinal", ".3f"),
    Entry(alpha_interval, "Krippendorff's alpha, interval", ".3f"),
    Entry(prompt_shared, "Prompt effect on all items alike", ".4f"),
    Entry(prompt_by_item, "Prompt effect item by item", ".4f"),
)
