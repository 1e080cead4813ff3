"""Verdicts drawn call by call from given laws."""

import numpy as np
from numpy.typing import NDArray


def draw_ranked(
    laws: NDArray[np.float64], repeats: int, rng: np.random.Generator, *, copying: float = 0.0
) -> NDArray[np.int16]:
    """Draw verdict codes shaped (..., repeats) from laws shaped (..., verdicts).

    With `copying`, each call after the first repeats the verdict before it in its cell with that
    probability. The law of a single call stays what it was; agreement of two calls of a cell that
    are g ranks apart becomes |P|^2 + copying^g (1 - |P|^2).
    """
    uniforms = rng.random((*laws.shape[:-1], repeats))
    codes = np.zeros(uniforms.shape, dtype=np.int16)
    edges = np.cumsum(laws, axis=-1)
    # A law sums to one up to rounding; a last positive verdict must still catch the rest.
    edges[edges > 1 - 1e-12] = 1.0
    for c in range(laws.shape[-1] - 1):
        codes += uniforms >= edges[..., c, None]
    if copying:
        kept = rng.random(uniforms.shape) < copying
        for r in range(1, repeats):
            np.copyto(codes[..., r], codes[..., r - 1], where=kept[..., r])
    return codes
