"""How often calls give the gold verdict, and how often the calls of a cell agree."""

from judgelaw.analysis.catalogue import Entry
from judgelaw.tensor import INVALID, VerdictTensor


def gold_match(tensor: VerdictTensor) -> float | None:
    """Share of calls that gave the gold verdict, every call alike; nothing else counts."""
    if tensor.gold is None:
        return None
    code = {name: c for c, name in enumerate(tensor.verdicts) if name != INVALID}
    per_verdict = tensor.counts.sum(axis=(1, 2))
    rows = [i for i, gold in enumerate(tensor.gold) if gold is not None]
    if not rows:
        return None
    hits = sum(int(per_verdict[i, code[g]]) for i in rows if (g := str(tensor.gold[i])) in code)
    return hits / int(per_verdict[rows].sum())


def unanimous_cells(tensor: VerdictTensor) -> float | None:
    """Share of cells whose calls all gave one verdict; not known from one call in each."""
    if tensor.depth[1] == 1:
        return None
    return float((tensor.counts.max(axis=-1) == tensor.repeats).mean())


QUANTITIES = (
    Entry(gold_match, "Calls that gave the gold verdict"),
    Entry(unanimous_cells, "Cells that agree with themselves"),
)
