"""The non-overlapping two-repeat panel estimator (paper S4.4)."""

import numpy as np

from judgelaw.arrays import ABSENT
from judgelaw.errors import NotIdentifiedError
from judgelaw.estimate.crossed import decompose
from judgelaw.estimate.decomposition import COMPONENTS, Decomposition, decomposition
from judgelaw.estimate.weights import Weights
from judgelaw.tensor import VerdictTensor

_PAIR = 2


def panels(
    tensor: VerdictTensor, *, order_weights: Weights = None, prompt_weights: Weights = None
) -> Decomposition:
    """Decompose each panel of repeat ranks (0, 1), (2, 3), ...: arrays shaped (items, panels).

    Each panel estimates the same components without bias and no call serves in two panels, so the
    spread of an item's panels measures call noise. The mean over panels is the panel estimate; it
    uses fewer pairs than `decompose`. A last odd rank is left out.
    """
    ranked = tensor.ranks(slice(None)).ranked
    if ranked is None or ranked.shape[-1] < _PAIR or (ranked == ABSENT).any():
        raise NotIdentifiedError(
            "panels pair repeat ranks 0-1, 2-3, ...: every cell needs the same ranks, two or more; "
            "take the complete prefix first (tensor.prefix(r), or incomplete='drop')"
        )
    parts = [
        decompose(
            tensor.ranks(slice(first, first + _PAIR)),
            order_weights=order_weights,
            prompt_weights=prompt_weights,
        )
        for first in range(0, ranked.shape[-1] - 1, _PAIR)
    ]
    return decomposition(
        {name: np.stack([part[name] for part in parts], axis=-1) for name in COMPONENTS},
        {name: np.stack([part.plugin[name] for part in parts], axis=-1) for name in COMPONENTS},
    )
