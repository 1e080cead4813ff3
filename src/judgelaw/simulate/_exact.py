"""Mean squared errors in closed form, from the laws alone."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from judgelaw.uncertainty import form_of, true_variance_parts


@dataclass(frozen=True, kw_only=True)
class ExactErrors:
    """What the plug-in and the complete estimator of an item's component do at depth R.

    Attributes:
        plugin_bias: expectation of the plug-in minus the truth.
        plugin_mse, complete_mse: mean squared errors; the complete one is all variance.
    """

    plugin_bias: float
    plugin_mse: float
    complete_mse: float

    @property
    def mse_ratio(self) -> float:
        """Plug-in mean squared error over the complete one's; nan where that has none."""
        return self.plugin_mse / self.complete_mse if self.complete_mse > 0 else np.nan


def exact_errors(
    laws: NDArray[np.float64], depths: Sequence[int], *, component: str = "prompt"
) -> tuple[ExactErrors, ...]:
    """Errors at each depth for items with laws (items, prompts, orders, verdicts), averaged.

    In every balanced sample plug-in = complete + multiple x call-component estimate, with the
    multiples (K-1), (O-1), (K-1)(O-1), -KO, -1 over KOR (FORMULAS 2). So the plug-in is a contrast
    of complete components too, and both variances are exact (FORMULAS 4).
    """
    N, K, O, C = laws.shape
    w, q = np.full(K, 1 / K), np.full(O, 1 / O)
    forms = np.stack([form_of(name, w, q) for name in (component, "call")])
    parts = true_variance_parts(laws.reshape(N, K * O, C), forms)
    call = 1 - np.mean(np.sum(laws**2, axis=-1), axis=(1, 2))

    def at(depth: int) -> ExactErrors:
        multiple = excess_multiple(component, K, O) / (K * O * depth)
        contrast = np.array([1.0, multiple])
        covariance = parts.at(depth)
        plugin_variance = covariance @ contrast @ contrast
        return ExactErrors(
            plugin_bias=float(np.mean(multiple * call)),
            plugin_mse=float(np.mean(plugin_variance + (multiple * call) ** 2)),
            complete_mse=float(np.mean(covariance[:, 0, 0])),
        )

    return tuple(at(depth) for depth in depths)


def excess_multiple(component: str, prompts: int, orders: int) -> int:
    """KOR/call times (plug-in minus corrected) of a balanced design (FORMULAS 2)."""
    return {
        "prompt": prompts - 1,
        "order": orders - 1,
        "interaction": (prompts - 1) * (orders - 1),
        "call": -prompts * orders,
        "total": -1,
    }[component]
