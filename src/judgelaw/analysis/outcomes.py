"""What the calls ended in, and what other metrics say of the same calls.

What other metrics say of the same calls, and how much of that is call noise.

All of them count disagreement of pairs of calls. Two calls of one and the same cell disagree with
frequency `call`, which no change of prompt or order caused: over the disagreement that a metric
counts, that is its share of call noise.
"""

from collections import Counter
from math import nan

import numpy as np

from judgelaw.analysis.facet_values import (
    Identity,
    OrderDirection,
    OtherMetric,
    PromptLean,
    SlotPreference,
    pair_of,
)
from judgelaw.arrays import Floats
from judgelaw.decide import shown_first
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty import (
    DepthEstimates,
    Estimand,
    clusters_of,
    signed_interval,
    smoothed_laws,
    spread_of,
    t_quantile,
)
from judgelaw.words import LETTERS, candidate_names, is_permutation


def coverage(tensor: VerdictTensor) -> float:
    """Return the share of calls that are there, of a full table at the deepest cell's depth.

    Items that were dropped as incomplete count as missing altogether.
    """
    items, prompts, orders, _ = tensor.counts.shape
    planned: int = (items + tensor.dropped) * prompts * orders * tensor.depth[1]
    return int(tensor.counts.sum()) / planned


def identity(s: DepthEstimates, estimand: Estimand) -> Identity | None:
    """Return R (plug-in - corrected) beside (K-1)/(K O) call; None where it does not apply.

    Equal in every sample with R calls in every cell and equal weights (paper, eq.
    crossed-plugin-sample-identity). Sampled prompts multiply the excess by K/(K-1): factor 1/O.
    """
    K, O = s.facets
    if K == 1 or not s.balanced or estimand.order_weights is not None:
        return None
    factor = 1 / O if estimand.design == "sampled" else (K - 1) / (K * O)
    scaled = s.depth * (s.found.plugin["prompt"] - s.found.prompt)
    rescaled = factor * s.found.call
    return Identity(
        depth=s.depth,
        scaled_excess=float(scaled.mean()),
        factor=factor,
        rescaled_call=float(rescaled.mean()),
        largest_gap=float(np.abs(scaled - rescaled).max()),
    )


_PROMPT, _ORDER = 1, 2


def _agreement(tensor: VerdictTensor) -> Floats:
    """Return how often two calls of a cell give the same verdict, in every cell."""
    n, R = tensor.counts, tensor.repeats
    return np.asarray((n * (n - 1)).sum(axis=-1) / (R * (R - 1)))


def other_metrics(tensor: VerdictTensor, s: DepthEstimates) -> tuple[OtherMetric, ...]:
    """Return flip rates, JSS, Fleiss' kappa, Krippendorff's alpha and the prompt plug-in."""
    call = float(s.found.call.mean())
    if tensor.scale is not None:  # in all of these metrics two scores differ or not
        call = 1 - float(_agreement(tensor).mean())
    return (*_flips(tensor, call), *_chance_corrected(tensor, call), *_plugin(s))


def flip_rate(tensor: VerdictTensor, axis: int) -> float:
    """Return how often two calls differ that differ in one facet alone; nan with one level.

    mean over items, pairs of levels and levels of the other facet of 1 - p_u . p_v: every call of
    one cell against every call of the other.
    """
    p = np.moveaxis(tensor.counts / tensor.repeats[..., None], axis, 0)
    levels = len(p)
    if levels == 1:
        return nan
    together = (p.sum(axis=0) ** 2).sum(axis=-1) - (p**2).sum(axis=(0, -1))
    return float(1 - together.mean() / (levels * (levels - 1)))


def fleiss_kappa(n: Floats) -> float:
    """Return Fleiss' kappa of counts (items, verdicts), all calls of an item as its raters.

    (Pbar - Pe) / (1 - Pe), Pbar the mean agreement of pairs of calls of an item, Pe that of the
    mean verdict frequencies. Items may have unequal numbers of calls. nan where all calls agree.
    """
    m = n.sum(axis=1)
    agreement = float(((n * (n - 1)).sum(axis=1) / (m * (m - 1))).mean())
    chance = float(((n.sum(axis=0) / n.sum()) ** 2).sum())
    return nan if chance == 1 else (agreement - chance) / (1 - chance)


def krippendorff_alpha(n: Floats) -> float:
    """Return Krippendorff's nominal alpha of counts (items, verdicts); nan where all calls agree.

    1 - D_o / D_e from the coincidences: D_o = (1/n) sum_u (m_u^2 - sum_c n_uc^2) / (m_u - 1),
    D_e = (n^2 - sum_c n_c^2) / (n (n - 1)).
    """
    m, total, of = n.sum(axis=1), n.sum(), n.sum(axis=0)
    expected = float((total**2 - (of**2).sum()) / (total * (total - 1)))
    return nan if expected == 0 else 1 - _observed(n, m) / expected


def _observed(n: Floats, m: Floats) -> float:
    return float(((m**2 - (n**2).sum(axis=1)) / (m - 1)).sum() / n.sum())


def _flips(tensor: VerdictTensor, call: float) -> tuple[OtherMetric, ...]:
    by_prompt, by_order = flip_rate(tensor, _PROMPT), flip_rate(tensor, _ORDER)
    of = "of an item" if tensor.single else "of an item and order"
    across_prompts = (
        OtherMetric(
            name="flip_rate_prompt",
            label="flip rate across prompts",
            value=by_prompt,
            call_noise=_share(call, by_prompt),
            note=f"two calls {of} under different prompts differ",
        ),
        OtherMetric(
            name="jss",
            label="JSS (Judge Sensitivity Score)",
            value=1 - by_prompt,
            call_noise=_share(call, by_prompt),
            note=f"two calls {of} under different prompts agree; the share is that of the "
            "disagreement, 1 - JSS",
        ),
    )
    if tensor.single:
        return across_prompts
    return (
        *across_prompts,
        OtherMetric(
            name="flip_rate_order",
            label="flip rate across orders",
            value=by_order,
            call_noise=_share(call, by_order),
            note="two calls of an item and prompt in different orders differ",
        ),
    )


def _chance_corrected(tensor: VerdictTensor, call: float) -> tuple[OtherMetric, ...]:
    n = tensor.counts.sum(axis=(1, 2)).astype(float)
    observed = _observed(n, n.sum(axis=1))
    return (
        OtherMetric(
            name="fleiss_kappa",
            label="Fleiss' kappa",
            value=fleiss_kappa(n),
            call_noise=_share(call, observed),
            note="all calls of an item as its raters; the share is that of observed disagreement",
        ),
        OtherMetric(
            name="krippendorff_alpha",
            label="Krippendorff's alpha",
            value=krippendorff_alpha(n),
            call_noise=_share(call, observed),
            note="nominal, all calls of an item as its values; the share is that of observed "
            "disagreement",
        ),
    )


def _plugin(s: DepthEstimates) -> tuple[OtherMetric, ...]:
    plugin = float(s.found.plugin["prompt"].mean())
    excess = plugin - float(s.found.prompt.mean())
    return (
        OtherMetric(
            name="plugin_prompt",
            label="plug-in prompt variance",
            value=plugin,
            call_noise=_share(excess, plugin),
            note="relative frequencies of each prompt taken as its law",
        ),
    )


def _share(noise: float, counted: float) -> float:
    return noise / counted if counted > 0 else nan


def count_outcomes(tensor: VerdictTensor) -> dict[str, int]:
    """Count the calls by verdict."""
    sums = tensor.counts.sum(axis=(0, 1, 2))
    return {name: int(n) for name, n in zip(tensor.verdicts, sums, strict=True)}


def position_choices(tensor: VerdictTensor) -> Floats | None:
    """Return, per item, the shares of the answers displayed first and second; None if unknown.

    Averaged over prompts and equally over AB and BA, so that the better answer favours neither.
    """
    shown = shown_first(tensor)
    if shown is None:
        return None
    (ab, ba), (one, two) = shown
    p = (tensor.counts / tensor.repeats[..., None]).mean(axis=1)
    first = (p[:, ab, one] + p[:, ba, two]) / 2
    second = (p[:, ab, two] + p[:, ba, one]) / 2
    return np.stack([first, second], axis=-1)


def prompt_leans(tensor: VerdictTensor, level: float) -> tuple[PromptLean, ...]:
    """Return how far each prompt leans to the answer shown first, on the items that were asked.

    lean = 1/2 [(p_AB(c1) - p_AB(c2)) - (p_BA(c1) - p_BA(c2))], a mean over items; AB shows c1
    first. Its variance is that of independent calls, at smoothed laws where cells are settled. The
    intervals hold for all prompts together (Bonferroni).
    """
    shown = shown_first(tensor)
    if shown is None:
        return ()
    (ab, ba), (one, two) = shown
    N, K, O, C = tensor.counts.shape
    score = np.zeros((O, C))
    score[ab, [one, two]] = 1.0, -1.0
    score[ba, [one, two]] = -1.0, 1.0
    R = tensor.repeats
    p = tensor.counts / R[..., None]
    smoothed = smoothed_laws(tensor.counts.reshape(N, K * O, C)).reshape(p.shape)
    leans = (p * score).sum(axis=(-1, -2)).mean(axis=0) / 2
    seen, supposed = _variance(p, score) / (R - 1), _variance(smoothed, score) / R
    tail = (1 - level) / 2 / K
    found = []
    for k, name in enumerate(tensor.prompts):
        spreads = [spread_of(v[:, k].sum(axis=-1) / (2 * N) ** 2) for v in (seen, supposed)]
        widest = max(spreads, key=lambda s: s.variance)
        df = min(s.df for s in spreads if s.variance > 0)
        half = t_quantile(1 - tail, df) * float(np.sqrt(widest.variance))
        lean = float(leans[k])
        found.append(PromptLean(prompt=name, lean=lean, interval=(lean - half, lean + half)))
    return tuple(found)


def _variance(p: Floats, score: Floats) -> Floats:
    """Return the variance of a score under laws (..., orders, verdicts)."""
    mean = (p * score).sum(axis=-1)
    return np.asarray((p * score**2).sum(axis=-1) - mean**2)


def order_direction(tensor: VerdictTensor, level: float) -> OrderDirection | None:
    """Say whether the answer displayed first or second is favoured, over new items."""
    choices = position_choices(tensor)
    if choices is None:
        return None
    first, second = (float(x) for x in choices.mean(axis=0))
    clusters = clusters_of(tensor.clusters)
    lean = signed_interval(choices[:, 0] - choices[:, 1], level=level, clusters=clusters)
    band = pair_of(lean)
    favoured = "neither"
    if band is not None and not band[0] <= 0 <= band[1]:
        favoured = "first" if lean.estimate > 0 else "second"
    return OrderDirection(
        first=first, second=second, lean=lean.estimate, band=band, favoured=favoured
    )


def slot_choices(tensor: VerdictTensor) -> Floats | None:
    """Return, per item, the share of calls for the answer in each displayed slot; None if unknown.

    Averaged over prompts and over whole circles of orders, which show every candidate equally
    often in every slot, so that the better answer favours none.
    """
    score = _slot_scores(tensor)
    if score is None:
        return None
    p = (tensor.counts / tensor.repeats[..., None]).mean(axis=1)
    return np.asarray(np.einsum("noc,soc->ns", p, score))


def _slot_scores(tensor: VerdictTensor) -> Floats | None:
    """Return the weight of every order and verdict in the share of each slot."""
    orders = [order.upper() for order in tensor.orders]
    n = len(orders[0])
    if any(len(order) != n or not is_permutation(order) for order in orders):
        return None
    circles = Counter(_circle(order) for order in orders)
    whole = [o for o, order in enumerate(orders) if circles[_circle(order)] == n]
    verdict = {name: code for code, name in enumerate(tensor.verdicts)}
    names = dict(zip(LETTERS, candidate_names(n), strict=False))
    if not whole or not any(name in verdict for name in names.values()):
        return None
    score = np.zeros((n, len(orders), len(verdict)))
    for o in whole:
        for slot, letter in enumerate(orders[o]):
            if names[letter] in verdict:
                score[slot, o, verdict[names[letter]]] = 1 / len(whole)
    return score


def _circle(order: str) -> str:
    """Return the rotation of an order that shows A first."""
    at = order.index(LETTERS[0])
    return order[at:] + order[:at]


def slot_preferences(tensor: VerdictTensor, level: float) -> tuple[SlotPreference, ...]:
    """Return how often each slot is chosen, and how far that is from an even share.

    The error for the items asked is that of independent calls, at smoothed laws where cells are
    settled; its intervals hold for all slots together (Bonferroni).
    """
    score, shares = _slot_scores(tensor), slot_choices(tensor)
    if score is None or shares is None:
        return ()
    N, K, O, C = tensor.counts.shape
    lean = shares - shares.mean(axis=1, keepdims=True)
    R = tensor.repeats
    p = tensor.counts / R[..., None]
    smoothed = smoothed_laws(tensor.counts.reshape(N, K * O, C)).reshape(p.shape)
    tail, top = (1 - level) / 2 / len(score), 1 - 1 / len(score)
    clusters = clusters_of(tensor.clusters)
    found = []
    for slot, contrast in enumerate(score - score.mean(axis=0)):
        terms = _variance(p, contrast) / (R - 1), _variance(smoothed, contrast) / R
        spreads = [spread_of(v.sum(axis=(1, 2)) / (K * N) ** 2) for v in terms]
        widest = max(spreads, key=lambda s: s.variance)
        df = min(s.df for s in spreads if s.variance > 0)
        half = t_quantile(1 - tail, df) * float(np.sqrt(widest.variance))
        mean = float(lean[:, slot].mean())
        found.append(
            SlotPreference(
                slot=LETTERS[slot],
                share=float(shares[:, slot].mean()),
                lean=mean,
                interval=pair_of(
                    signed_interval(lean[:, slot], top=top, level=level, clusters=clusters)
                ),
                call_interval=(mean - half, mean + half),
            )
        )
    return tuple(found)
