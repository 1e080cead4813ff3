"""Population components of known laws, from their definition as mean squared deviations."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, kw_only=True)
class Components:
    """Exact components of a world: means over its items.

    Kept apart from `judgelaw.estimate.population`, which uses the four concentrations H: the two
    are different arithmetic for the same numbers, and tests hold them against each other.
    """

    call: float
    prompt: float
    order: float
    interaction: float
    total: float


def components_of(laws: NDArray[np.float64]) -> Components:
    """Components of laws (items, prompts, orders, verdicts), equal weights (S3.1, explicit form).

    call = E[1 - |P_XO|^2], prompt = E|P_X - p|^2, order = E|P_O - p|^2,
    interaction = E|P_XO - P_X - P_O + p|^2, total = 1 - |p|^2, then the mean over items.
    """
    centre = laws.mean(axis=(1, 2), keepdims=True)
    of_prompt = laws.mean(axis=2, keepdims=True)
    of_order = laws.mean(axis=1, keepdims=True)
    return Components(
        call=float(1 - np.mean(np.sum(laws**2, axis=-1))),
        prompt=_mean_square(of_prompt - centre),
        order=_mean_square(of_order - centre),
        interaction=_mean_square(laws - of_prompt - of_order + centre),
        total=float(1 - np.mean(np.sum(centre**2, axis=-1))),
    )


def _mean_square(deviation: NDArray[np.float64]) -> float:
    return float(np.mean(np.sum(deviation**2, axis=-1)))
