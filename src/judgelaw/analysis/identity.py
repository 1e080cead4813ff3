"""The live identity check: what repeats add to the prompt plug-in is rescaled call noise."""

import numpy as np

from judgelaw.analysis.depths import AtDepth, Declaration
from judgelaw.analysis.values import Identity


def identity(s: AtDepth, declared: Declaration) -> Identity | None:
    """Return R (plug-in - corrected) beside (K-1)/(K O) call; None where it does not apply.

    Equal in every sample with R calls in every cell and equal weights (paper, eq.
    crossed-plugin-sample-identity). Sampled prompts multiply the excess by K/(K-1): factor 1/O.
    """
    K, O = s.facets
    if K == 1 or not s.balanced or declared.order_weights is not None:
        return None
    factor = 1 / O if declared.design == "sampled" else (K - 1) / (K * O)
    scaled = s.depth * (s.found.plugin["prompt"] - s.found.prompt)
    rescaled = factor * s.found.call
    return Identity(
        depth=s.depth,
        scaled_excess=float(scaled.mean()),
        factor=factor,
        rescaled_call=float(rescaled.mean()),
        largest_gap=float(np.abs(scaled - rescaled).max()),
    )
