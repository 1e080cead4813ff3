"""What the calls ended in: verdicts, matches with gold, the position that is favoured."""

import numpy as np

from judgelaw.analysis.values import Floats, OrderDirection, pair_of
from judgelaw.tensor import INVALID, VerdictTensor
from judgelaw.uncertainty.items import item_interval

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
    names = [name.lower() for name in tensor.orders]
    if sorted(names) != ["ab", "ba"] or not set(_CANDIDATES) <= set(tensor.verdicts):
        return None
    one, two = (tensor.verdicts.index(name) for name in _CANDIDATES)
    p = (tensor.counts / tensor.repeats[..., None]).mean(axis=1)
    ab, ba = names.index("ab"), names.index("ba")
    first = (p[:, ab, one] + p[:, ba, two]) / 2
    second = (p[:, ab, two] + p[:, ba, one]) / 2
    return np.stack([first, second], axis=-1)


def order_direction(tensor: VerdictTensor, level: float) -> OrderDirection | None:
    """Say whether the answer displayed first or second is favoured, over new items."""
    choices = position_choices(tensor)
    if choices is None:
        return None
    first, second = (float(x) for x in choices.mean(axis=0))
    lean = item_interval(choices[:, 0] - choices[:, 1], strata=tensor.strata, level=level)
    band = pair_of(lean)
    favoured = "neither"
    if band is not None and not band[0] <= 0 <= band[1]:
        favoured = "first" if lean.estimate > 0 else "second"
    return OrderDirection(
        first=first, second=second, lean=lean.estimate, band=band, favoured=favoured
    )
