"""How often the judge calls a tie."""

from judgelaw.analysis.catalogue import Entry
from judgelaw.tensor import VerdictTensor


def tie_share(tensor: VerdictTensor) -> float | None:
    """Share of calls that ended in a tie; not known where a tie is no verdict."""
    if "tie" not in tensor.verdicts:
        return None
    sums = tensor.counts.sum(axis=(0, 1, 2))
    return float(sums[tensor.verdicts.index("tie")] / sums.sum())


QUANTITIES = (Entry(tie_share, "Calls that ended in a tie"),)
