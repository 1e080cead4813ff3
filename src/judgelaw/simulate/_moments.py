"""Running moments of simulated estimates, whole numbers throughout where it matters."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(kw_only=True, eq=False)
class ErrorMoments:
    """Sums over items of errors of the plug-in and the complete estimator, by depth.

    The only mutable value of the simulation: it lives inside one loop and leaves as numbers.
    """

    truth: float
    items: int = 0
    negative: Floats | int = 0
    _plugin: Floats | int = 0
    _complete: Floats | int = 0
    _squares: Floats | int = 0
    _fourth: Floats | int = field(default=0)

    def add(self, plugin: Floats, complete: Floats, negative: NDArray[np.bool_]) -> None:
        """Take in estimates shaped (depths, items); `negative` is decided on whole numbers."""
        a, b = plugin - self.truth, complete - self.truth
        self.items += plugin.shape[1]
        self.negative = self.negative + negative.sum(axis=1)
        self._plugin = self._plugin + a.sum(axis=1)
        self._complete = self._complete + b.sum(axis=1)
        a2, b2 = a * a, b * b
        self._squares = self._squares + np.stack([a2.sum(axis=1), b2.sum(axis=1)])
        self._fourth = self._fourth + np.stack(
            [np.einsum("ri,ri->r", x, y) for x, y in ((a2, a2), (a2, b2), (b2, b2))]
        )

    @property
    def bias(self) -> tuple[Floats, Floats]:
        """Mean errors of the plug-in and of the complete estimator."""
        return np.asarray(self._plugin / self.items), np.asarray(self._complete / self.items)

    @property
    def bias_error(self) -> tuple[Floats, Floats]:
        """Monte Carlo standard errors of the mean errors."""
        n = self.items
        mean_squares = np.asarray(self._squares) / n
        variances = (mean_squares - np.stack(self.bias) ** 2) * n / (n - 1)
        errors = np.sqrt(np.maximum(variances, 0) / n)  # rounding, where no estimate ever varies
        return errors[0], errors[1]

    @property
    def mse_ratio(self) -> tuple[Floats, Floats]:
        """Plug-in over complete mean squared error, with its Monte Carlo error (delta method)."""
        n = self.items
        mean = np.asarray(self._squares) / n
        aa, ab, bb = np.asarray(self._fourth) / n
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(mean[1] > 0, mean[0] / mean[1], np.nan)
            spread = aa - 2 * ratio * ab + ratio**2 * bb
            return ratio, np.sqrt(np.maximum(spread, 0) / n) / mean[1]
