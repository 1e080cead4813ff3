"""Which prompt to keep: what each is like, and which are not shown to be worse than the best.

All figures are means over items, and unbiased. With `p_k` a prompt's law averaged over orders and
`d_k` its self-pair excess:

    call       sum_o q_o (1 - a_ko): how often two calls of one cell differ
    distance   |p_k - pbar|^2 - [(1 - w_k)^2 d_k + sum_{l != k} w_l^2 d_l], pbar the mean over
               prompts; weighted by w they sum to the prompt component, in every sample
    lean       1/2 [(p_AB(c1) - p_AB(c2)) - (p_BA(c1) - p_BA(c2))], positive to the answer shown
               first (AB shows candidate 1 first)
    accuracy   share of right verdicts

A prompt is kept if no other is shown to be better: with t_k the item mean (larger is better), if
max_l (t_l - t_k) / se_kl is at most c_k, the 95% quantile of that maximum where all are alike (a t
law with N - 1 degrees of freedom and the covariance of the paired items). That alone is deceived
where one prompt errs a little on many items and another fails wholly on a few: a sample without
those few drops the better one, in 44 of 100 studies of 50 items at worst. So the difference must
also be shown if one unseen item differs as far as an item can (Gaffke's bound, at the level of
c_k). The best prompt is then kept in 95 of 100 studies or more, and the others as far as the items
cannot tell them from it.
"""

from dataclasses import dataclass, replace
from math import ceil, nan
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from judgelaw.arrays import Floats, is_exact
from judgelaw.estimate import (
    Array,
    Weights,
    decompose,
    dissimilarity_of,
    of_counts,
    quadratic,
    similarity_of,
    weights_of,
)
from judgelaw.streams import stream
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty import (
    Clusters,
    Draws,
    clusters_of,
    lower_bound,
    upper_bound,
    weigh,
)

Merit = Literal["accuracy", "noise"]

DRAWS = 20_000
WORTH = 0.02
"""The difference that is worth telling apart: two verdicts of a hundred."""
FEW_ITEMS = 100
_POWER = 0.84
"""Added to a critical value: the difference is then found in 80 of 100 studies."""
_WEIGHTS = 1 << 23
"""Random numbers behind the bounds of prompts: 20,000 weightings of 400 items, fewer of more."""
_ONE_SIDED = 1.645
_LEAST_DRAWS = 2_000
_FOLDS = 5
_LEVEL = 0.95
_ROUNDING = 1e-12
_CANDIDATES = ("candidate_1", "candidate_2")


@dataclass(frozen=True, kw_only=True)
class PromptRow:
    """What one prompt is like, on average over items.

    Attributes:
        prompt: its name.
        call: how often two of its calls of one cell differ.
        invalid: share of invalid outputs.
        lean: to the answer shown first (positive) or second, in points of 100; nan where orders
            are not AB and BA.
        accuracy: share of right verdicts; nan without gold.
        distance: squared distance of its law from the mean law of all prompts; nan for one prompt.
        keep: whether no other prompt is shown to be better.
    """

    prompt: str
    call: float
    invalid: float
    lean: float
    accuracy: float
    distance: float
    keep: bool


@dataclass(frozen=True, kw_only=True)
class PromptChoice:
    """All prompts of a judge, and which of them to keep.

    Attributes:
        merit: "accuracy" where there is gold, else "noise" (call noise, less is better).
        rows: every prompt.
        best: the prompt that did best on these items.
        value: its accuracy or call noise.
        low, high: interval for items like these that holds for all prompts together, so for the
            best one too; nan with one item.
        optimism: how much better the best one looks than it is, by cross-fitting; nan with too few
            items.
        items: number of items that decided.
        more_items: items to add so that a difference of two points would be told from nothing;
            0 where these items do, nan where it is not known.
    """

    merit: Merit
    rows: tuple[PromptRow, ...]
    best: str
    value: float
    low: float
    high: float
    optimism: float
    items: int
    more_items: float

    @property
    def kept(self) -> tuple[str, ...]:
        """The prompts to keep."""
        return tuple(row.prompt for row in self.rows if row.keep)


def choose_prompts(
    tensor: VerdictTensor, *, order_weights: Weights = None, seed: int = 0
) -> PromptChoice:
    """Describe every prompt, and say which are not shown to be worse than the best."""
    n = tensor.counts
    q = weights_of("order", order_weights, len(tensor.orders), tensor.orders)
    M = similarity_of(dissimilarity_of(tensor, None), n.shape[-1])
    noise = call_noise(n, q, M)
    right = accuracies(tensor, q)
    merit: Merit = "noise" if right is None else "accuracy"
    t = -noise if right is None else right
    top = 1.0 if right is not None else _noisiest(M, n.shape[-1])
    clusters = clusters_of(tensor.clusters)
    keep, critical = not_shown_worse(t, top=top, seed=seed, clusters=clusters)
    invalid, lean = _invalid(tensor, q), leans(tensor)
    means = {
        "call": noise.mean(axis=0),
        "invalid": invalid,
        "lean": np.full(len(keep), nan) if lean is None else 100 * lean.mean(axis=0),
        "accuracy": np.full(len(keep), nan) if right is None else right.mean(axis=0),
        "distance": np.full(len(keep), nan) if len(keep) == 1 else distances(n, q, M).mean(axis=0),
    }
    rows = tuple(
        PromptRow(prompt=name, keep=bool(keep[k]), **{key: float(x[k]) for key, x in means.items()})
        for k, name in enumerate(tensor.prompts)
    )
    best = int(t.mean(axis=0).argmax())
    low, high = _of_best(
        np.abs(t[:, best]), merit, top, prompts=len(rows), seed=seed, clusters=clusters
    )
    return PromptChoice(
        merit=merit,
        rows=rows,
        best=tensor.prompts[best],
        value=float((noise if right is None else right)[:, best].mean()),
        low=low,
        high=high,
        optimism=_optimism(t, seed),
        items=len(t),
        more_items=_more_items(t, keep, best, critical, top),
    )


def _noisiest(M: Array | None, verdicts: int) -> float:
    """Return the most that two calls of a cell can differ on average, whatever their law."""
    return 1 - 1 / max(verdicts, 2) if M is None else float((1 - M).max())


def _of_best(
    x: Floats,
    merit: Merit,
    top: float,
    *,
    prompts: int,
    seed: int,
    clusters: Clusters | None,
) -> tuple[float, float]:
    """Return the interval of one prompt of several, each end at its share of the 5%."""
    if len(x if clusters is None else clusters) == 1:
        return nan, nan
    p = 1 - (1 - _LEVEL) / 2 / prompts
    drawn = _weighed(x[:, None], seed, clusters)
    one = replace(drawn, sums=drawn.sums[0])
    if merit == "noise":
        return lower_bound(x, one, p), upper_bound(x, one, p, top=top, careful=True)
    return -(-one).quantile(p, 0.0), one.quantile(p, top)


def _weighed(values: Floats, seed: int, clusters: Clusters | None) -> Draws:
    """Weigh values of items (items, prompts) at random."""
    draws = min(DRAWS, max(_LEAST_DRAWS, _WEIGHTS // len(values)))
    return weigh(np.asarray(values, dtype=float), draws=draws, seed=seed, clusters=clusters)


def call_noise(n: Array, q: Array, M: Array | None = None) -> Array:
    """Return how often two calls of a cell differ, (items, prompts), averaged over orders.

    M is the similarity of verdicts, None for equality; scores differ by how far they are apart.
    """
    cells = of_counts(np.moveaxis(n, 0, -1), 2, M)
    R = np.moveaxis(n.sum(axis=-1), 0, -1)
    return np.asarray(np.tensordot(q, cells.d * R, axes=(0, 1)).T)


def distances(n: Array, q: Array, M: Array | None = None) -> Array:
    """Return the squared distance of every prompt from the consensus of all, (items, prompts)."""
    K = n.shape[1]
    w = weights_of("prompt", None, K, exact=is_exact(n))
    cells = of_counts(np.moveaxis(n, 0, -1), 2, M)
    p = np.tensordot(q, cells.p, axes=(0, 1))
    d = np.tensordot(q**2, cells.d, axes=(0, 1))
    off = p - np.tensordot(w, p, axes=(0, 0))
    apart = quadratic(off, 1, M)
    of_all = np.tensordot(w**2, d, axes=(0, 0))
    return np.asarray((apart - ((1 - 2 * w)[:, None] * d + of_all)).T)


def _invalid(tensor: VerdictTensor, q: Array) -> Floats:
    """Return the share of invalid outputs of every prompt, all items alike."""
    if INVALID not in tensor.verdicts:
        return np.zeros(len(tensor.prompts))
    share = tensor.counts[..., tensor.verdicts.index(INVALID)] / tensor.repeats
    return np.asarray(share.mean(axis=0) @ q)


def leans(tensor: VerdictTensor) -> Floats | None:
    """Return how far every item and prompt leans to the answer shown first; None if unknown."""
    shown = shown_first(tensor)
    if shown is None:
        return None
    return lean_of(tensor.counts, *shown)


def lean_of(n: Array, orders: tuple[int, int], candidates: tuple[int, int]) -> Array:
    """Return the lean of counts (items, prompts, orders, verdicts), given the places of AB and BA.

    1/2 [(p_AB(c1) - p_AB(c2)) - (p_BA(c1) - p_BA(c2))] is linear in the laws, so unbiased.
    """
    (ab, ba), (one, two) = orders, candidates
    toward = (n[..., one] - n[..., two]) / n.sum(axis=-1)
    return np.asarray((toward[:, :, ab] - toward[:, :, ba]) / 2)


def shown_first(tensor: VerdictTensor) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return where AB and BA are among the orders, and candidates 1 and 2 among the verdicts."""
    names = [name.lower() for name in tensor.orders]
    if sorted(names) != ["ab", "ba"] or not set(_CANDIDATES) <= set(tensor.verdicts):
        return None
    one, two = (tensor.verdicts.index(name) for name in _CANDIDATES)
    return (names.index("ab"), names.index("ba")), (one, two)


def gold_codes(tensor: VerdictTensor) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """Return the items that have a gold verdict, and its place in the alphabet; None without.

    A gold verdict that no call may give, `invalid` among them, has no place: -1.
    """
    rows = [i for i, gold in enumerate(tensor.gold or ()) if gold is not None]
    if not rows or tensor.gold is None:
        return None
    code = {name: c for c, name in enumerate(tensor.verdicts) if name != INVALID}
    return np.array(rows), np.array([code.get(str(tensor.gold[i]), -1) for i in rows])


def accuracies(tensor: VerdictTensor, q: Array | None = None) -> Floats | None:
    """Return the share of right verdicts of every item with gold and prompt; None without gold.

    q are the weights of orders, all alike by default.
    """
    if q is None:
        q = weights_of("order", None, len(tensor.orders))
    p = np.tensordot(tensor.counts / tensor.repeats[..., None], q, axes=(2, 0))
    return right_of(np.asarray(p, dtype=float), gold_codes(tensor))


SOURCES: Final = ("call", "prompt", "order", "interaction", "systematic")


def wrong_by_source(
    n: Array, gold: NDArray[np.intp], order_weights: Weights = None
) -> dict[str, Array]:
    """Split the share of wrong verdicts of every item by what makes them wrong.

    With e_g the law that is always right and Pbar the mean law of an item's cells,

        2 (1 - accuracy) = call + prompt + order + interaction + |e_g - Pbar|^2

    and the last is 1 - 2 accuracy + H_0, so that all parts are unbiased and add up in every sample.

    Args:
        n: counts (items, prompts, orders, verdicts), two calls or more in every cell.
        gold: place of each item's right verdict; -1 where no verdict is right.
        order_weights: how often each order is used.

    Returns:
        `wrong`, and the half of each part: together they are `wrong`. A facet with one level is
        nan: its part is among the systematic.
    """
    found = decompose(n, order_weights=order_weights)
    q = weights_of("order", order_weights, n.shape[2], exact=is_exact(n))
    p = np.tensordot((n / n.sum(axis=-1)[..., None]).sum(axis=1), q, axes=(1, 0)) / n.shape[1]
    right = np.where(gold >= 0, p[np.arange(len(n)), np.maximum(gold, 0)], 0)
    parts = {name: np.asarray(found[name] / 2) for name in SOURCES[:-1]}
    return {"wrong": 1 - right, **parts, "systematic": (1 - right) - found["total"] / 2}


def right_of(laws: Floats, gold: tuple[NDArray[np.intp], NDArray[np.intp]] | None) -> Floats | None:
    """Return the mass that laws (items, ..., verdicts) give to the gold verdict of each item."""
    if gold is None:
        return None
    rows, codes = gold
    found = laws[rows]
    at = np.maximum(codes, 0).reshape(-1, *[1] * (found.ndim - 1))
    mass = np.take_along_axis(found, at, axis=-1)[..., 0]
    return np.asarray(np.where((codes >= 0).reshape(-1, *[1] * (mass.ndim - 1)), mass, 0.0))


def not_shown_worse(
    t: Floats,
    *,
    top: float = 1.0,
    level: float = _LEVEL,
    draws: int = DRAWS,
    seed: int = 0,
    clusters: Clusters | None = None,
) -> tuple[NDArray[np.bool_], Floats]:
    """Return which columns are not shown to have a smaller mean than another, and how it is judged.

    Args:
        t: values of items (items, K), paired; larger is better.
        top: how far two columns can differ on one item.
        level: chance with which the best is among those kept.
        draws: random draws behind the critical values.
        seed: of their named stream.
        clusters: of the items, where several belong together.

    Returns:
        keep, and the critical value c_k of every column; nan where it differs from no other.
    """
    from scipy.special import stdtr  # noqa: PLC0415 - scipy loads when it is needed

    units = t if clusters is None else np.stack([clusters.units(x) for x in t.T], axis=-1)
    N, K = units.shape
    keep, critical = np.ones(K, dtype=bool), np.full(K, nan)
    if N == 1:
        return keep, critical
    covariance = np.atleast_2d(np.cov(units, rowvar=False)) / N
    z = _all_alike(covariance, N, draws, seed)
    variance, mean = np.diag(covariance), t.mean(axis=0)
    drawn = None
    for k in range(K):
        se = np.sqrt(np.maximum(variance + variance[k] - 2 * covariance[k], 0))
        apart = np.flatnonzero(se > _ROUNDING)
        if len(apart) == 0:
            continue
        alike = ((z[:, apart] - z[:, [k]]) / se[apart]).max(axis=1)
        critical[k] = np.quantile(alike, level)
        better = apart[(mean[apart] - mean[k]) / se[apart] > critical[k]]
        if len(better) == 0:
            continue
        if drawn is None:
            drawn = _weighed(t, seed, clusters)
        p = float(stdtr(N - 1, critical[k]))
        for other in better:
            behind = replace(drawn, sums=drawn.sums[k] - drawn.sums[other])
            if upper_bound(t[:, k] - t[:, other], behind, p, top=top, careful=True) < 0:
                keep[k] = False
                break
    return keep, critical


def _all_alike(covariance: Floats, items: int, draws: int, seed: int) -> Floats:
    """Draw errors of the means of columns that do not differ, (draws, columns)."""
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0))
    rng = stream(seed, "prompts", len(values))
    z = rng.standard_normal((draws, len(values))) @ root.T
    # The covariance is estimated: as for a t quantile, which matters below 100 items.
    return np.asarray(z * np.sqrt((items - 1) / rng.chisquare(items - 1, size=(draws, 1))))


def _optimism(t: Floats, seed: int) -> float:
    """Return how much better the best column looks than on items that did not choose it."""
    N, K = t.shape
    if K == 1 or N < 2 * _FOLDS:
        return 0.0 if K == 1 else nan
    folds = stream(seed, "folds").permutation(N) % _FOLDS
    honest = np.empty(N)
    for fold in range(_FOLDS):
        here = folds == fold
        honest[here] = t[here, int(t[~here].mean(axis=0).argmax())]
    return float(t.mean(axis=0).max() - honest.mean())


def _more_items(
    t: Floats, keep: NDArray[np.bool_], best: int, critical: Floats, top: float
) -> float:
    """Return the items to add until a difference of WORTH would be found, 0 where it would be.

    Where few items differ, the spread is that of a difference that sits on few items as well: what
    five settled items show of it is nothing. One more part, 1/WORTH, is for the unseen item.
    """
    others = [k for k in np.flatnonzero(keep) if k != best]
    if not others or len(t) == 1:
        return nan
    seen = max(float((t[:, best] - t[:, k]).var(ddof=1)) for k in others)
    shown = critical[others][~np.isnan(critical[others])]
    z = _POWER + (float(shown.max()) if len(shown) else _ONE_SIDED)
    needed = z**2 * max(seen, WORTH * (top - WORTH)) / WORTH**2 + 1 / WORTH
    return float(max(0, ceil(needed) - len(t)))
