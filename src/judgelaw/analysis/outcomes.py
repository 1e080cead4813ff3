"""What the calls ended in: verdicts, matches with gold, the position that is favoured."""

import numpy as np

from judgelaw.analysis.values import Floats, OrderDirection, PromptLean, pair_of
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty.call_variance import smoothed_laws
from judgelaw.uncertainty.new_items import signed_interval
from judgelaw.uncertainty.results import spread_of, t_quantile

_CANDIDATES = ("candidate_1", "candidate_2")


def outcomes(tensor: VerdictTensor) -> dict[str, int]:
    """Count the calls by verdict."""
    sums = tensor.counts.sum(axis=(0, 1, 2))
    return {name: int(n) for name, n in zip(tensor.verdicts, sums, strict=True)}


def gold_match(tensor: VerdictTensor) -> float | None:
    """Return the share of calls that gave the item's gold verdict, over the items with gold.

    A tie or an invalid output does not match a gold candidate; an invalid one matches nothing.
    """
    if tensor.gold is None:
        return None
    code = {name: c for c, name in enumerate(tensor.verdicts) if name != INVALID}
    per_verdict = tensor.counts.sum(axis=(1, 2))
    rows = [i for i, gold in enumerate(tensor.gold) if gold is not None]
    if not rows:
        return None
    hits = sum(int(per_verdict[i, code[g]]) for i in rows if (g := str(tensor.gold[i])) in code)
    return hits / int(per_verdict[rows].sum())


def unanimous_cells(tensor: VerdictTensor) -> float:
    """Return the share of cells whose calls all gave one verdict."""
    return float((tensor.counts.max(axis=-1) == tensor.repeats).mean())


def position_choices(tensor: VerdictTensor) -> Floats | None:
    """Return, per item, the shares of the answers displayed first and second; None if unknown.

    Averaged over prompts and equally over AB and BA, so that the better answer favours neither.
    """
    shown = _shown_first(tensor)
    if shown is None:
        return None
    (ab, ba), (one, two) = shown
    p = (tensor.counts / tensor.repeats[..., None]).mean(axis=1)
    first = (p[:, ab, one] + p[:, ba, two]) / 2
    second = (p[:, ab, two] + p[:, ba, one]) / 2
    return np.stack([first, second], axis=-1)


def _shown_first(tensor: VerdictTensor) -> tuple[tuple[int, int], tuple[int, int]] | None:
    """Return where AB and BA are among the orders, and candidates 1 and 2 among the verdicts."""
    names = [name.lower() for name in tensor.orders]
    if sorted(names) != ["ab", "ba"] or not set(_CANDIDATES) <= set(tensor.verdicts):
        return None
    one, two = (tensor.verdicts.index(name) for name in _CANDIDATES)
    return (names.index("ab"), names.index("ba")), (one, two)


def prompt_leans(tensor: VerdictTensor, level: float) -> tuple[PromptLean, ...]:
    """Return how far each prompt leans to the answer shown first, on the items that were asked.

    lean = 1/2 [(p_AB(c1) - p_AB(c2)) - (p_BA(c1) - p_BA(c2))], a mean over items; AB shows c1
    first. Its variance is that of independent calls, at smoothed laws where cells are settled. The
    intervals hold for all prompts together (Bonferroni).
    """
    shown = _shown_first(tensor)
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
    lean = signed_interval(choices[:, 0] - choices[:, 1], level=level)
    band = pair_of(lean)
    favoured = "neither"
    if band is not None and not band[0] <= 0 <= band[1]:
        favoured = "first" if lean.estimate > 0 else "second"
    return OrderDirection(
        first=first, second=second, lean=lean.estimate, band=band, favoured=favoured
    )
