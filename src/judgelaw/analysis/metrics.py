"""What other metrics say of the same calls, and how much of that is call noise.

All of them count disagreement of pairs of calls. Two calls of one and the same cell disagree with
frequency `call`, which no change of prompt or order caused: over the disagreement that a metric
counts, that is its share of call noise.
"""

from math import nan

import numpy as np

from judgelaw.analysis.depths import AtDepth
from judgelaw.analysis.values import Floats, OtherMetric
from judgelaw.tensor import VerdictTensor

_PROMPT, _ORDER = 1, 2


def other_metrics(tensor: VerdictTensor, s: AtDepth) -> tuple[OtherMetric, ...]:
    """Return flip rates, JSS, Fleiss' kappa, Krippendorff's alpha and the prompt plug-in."""
    call = float(s.found.call.mean())
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
    return (
        OtherMetric(
            name="flip_rate_prompt",
            label="flip rate across prompts",
            value=by_prompt,
            call_noise=_share(call, by_prompt),
            note="two calls of an item and order under different prompts differ",
        ),
        OtherMetric(
            name="jss",
            label="JSS (Judge Sensitivity Score)",
            value=1 - by_prompt,
            call_noise=_share(call, by_prompt),
            note="two calls of an item and order under different prompts agree; the share is that "
            "of the disagreement, 1 - JSS",
        ),
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


def _plugin(s: AtDepth) -> tuple[OtherMetric, ...]:
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
