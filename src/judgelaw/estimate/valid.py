"""What conditioning on valid outputs does: the honest estimator, and the popular one.

Invalid outputs are outcomes. Dropping them changes the law that is estimated and the items that
can be kept; both functions are sensitivity analyses, and say what they lose.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate.checks import counts_of
from judgelaw.estimate.crossed import decompose
from judgelaw.estimate.decomposition import Decomposition
from judgelaw.estimate.weights import Weights
from judgelaw.tensor import INVALID, VerdictTensor

_PAIR = 2


@dataclass(frozen=True, kw_only=True)
class ConditionalOnValid:
    """Components of the laws given a valid output, on the items where they can be had.

    Attributes:
        decomposition: of the kept items.
        kept: labels of the items with two valid calls in every cell.
        lost: labels of the others, selected away by the output process itself.
    """

    decomposition: Decomposition
    kept: tuple[str, ...]
    lost: tuple[str, ...]


def conditional_on_valid(
    tensor: VerdictTensor,
    *,
    invalid: Sequence[str] = (INVALID,),
    order_weights: Weights = None,
    prompt_weights: Weights = None,
) -> ConditionalOnValid:
    """Estimate the components of the laws P(z | prompt, order, valid), each cell at its own weight.

    Needs two valid calls in every cell of an item; unbiased given the numbers of valid calls
    (paper S4.3).
    """
    valid = _without(tensor, invalid)
    enough = np.all(valid.repeats >= _PAIR, axis=(1, 2))
    if not enough.any():
        raise NotIdentifiedError(
            f"none of the {len(tensor.items)} items has two valid calls in every cell: "
            "conditioning on valid outputs loses the whole benchmark; keep invalid as an outcome"
        )
    kept = tuple(name for name, ok in zip(tensor.items, enough, strict=True) if ok)
    lost = tuple(name for name, ok in zip(tensor.items, enough, strict=True) if not ok)
    estimate = decompose(
        valid.select(items=kept), order_weights=order_weights, prompt_weights=prompt_weights
    )
    return ConditionalOnValid(decomposition=estimate, kept=kept, lost=lost)


def delete_invalid_and_pool(
    tensor: VerdictTensor, *, invalid: Sequence[str] = (INVALID,)
) -> Decomposition:
    """Delete invalid calls, pool the orders of each prompt, and decompose what is left.

    The comparator that many pipelines use. It targets order mixtures weighted by how often each
    order parses, not the declared ones, and pooling biases the agreement itself
    (`pooled_order_agreement`): shown to be compared with, not to be used.
    """
    valid = _without(tensor, invalid)
    counts, _ = counts_of(valid)
    return decompose(counts.sum(axis=2, keepdims=True))


def _without(tensor: VerdictTensor, invalid: Sequence[str]) -> VerdictTensor:
    if unknown := [name for name in invalid if name not in tensor.verdicts]:
        raise InputError(f"unknown verdict {unknown[0]!r}; the alphabet is {list(tensor.verdicts)}")
    keep = [j for j, name in enumerate(tensor.verdicts) if name not in invalid]
    return replace(
        tensor,
        counts=tensor.counts[..., keep],
        verdicts=tuple(tensor.verdicts[j] for j in keep),
        ranked=None,
    )
