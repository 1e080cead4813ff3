"""How much resampling a table of this size can have while somebody waits."""

from collections.abc import Iterable

from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.bands import DRAWS
from judgelaw.uncertainty.permutation import DRAWS as PERMUTATIONS

_PICKS = 100_000_000
_LEAST_DRAWS = 1_000
_MOVES = 1_000_000_000
LEAST_PERMUTATIONS = 99


def draws_for(tensors: Iterable[VerdictTensor]) -> int:
    """Return the item resamples of the bands: fewer for more than five thousand items.

    The ends of a band over many items are read off as well from a tenth of the draws: their error
    is a share of a width that is itself small.
    """
    items = max(len(tensor.items) for tensor in tensors)
    return min(DRAWS, max(_LEAST_DRAWS, _PICKS // items))


def permutations_for(tensors: Iterable[VerdictTensor]) -> int:
    """Return the shuffles of a permutation test: fewer for more than a million calls.

    None, where not even 99 can be had: a test of ten million calls finds whatever is there.
    """
    calls = max(int(tensor.counts.sum()) for tensor in tensors)
    found = min(PERMUTATIONS, _MOVES // max(calls, 1))
    return found if found >= LEAST_PERMUTATIONS else 0
