"""Outcomes with an order or a distance: dissimilarities of verdicts.

A dissimilarity r(z, z') >= 0 with r(z, z) = 0 turns agreement into similarity M = 1 - r. Estimates
stay unbiased and additive for any symmetric r; the components that they estimate are nonnegative
exactly if -r is conditionally positive semidefinite, so anything else is refused.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import as_floats
from judgelaw.errors import InputError
from judgelaw.estimate.cells import Array
from judgelaw.tensor import DEFAULT_VERDICTS

_ROUNDING = 1e-10


def ordinal(verdicts: int) -> NDArray[np.float64]:
    """Return |c - d| / (C - 1): steps between ordered verdicts (the Cramer distance of laws)."""
    if verdicts < 2:  # noqa: PLR2004 - one verdict has no steps
        raise InputError(f"{verdicts} verdict has no order: an ordinal scale has two or more")
    c = np.arange(verdicts)
    return np.asarray(np.abs(c[:, None] - c) / (verdicts - 1))


def numeric(scores: Sequence[float]) -> NDArray[np.float64]:
    """Return (s - t)^2 / 2 for verdicts that are scores: components are those of an ANOVA."""
    s = as_floats(scores, "scores").astype(float)
    if s.ndim != 1 or not np.isfinite(s).all():
        raise InputError(f"scores {scores!r} must be one finite number for each verdict")
    return np.asarray((s[:, None] - s) ** 2 / 2)


def similarity_of(
    dissimilarity: ArrayLike | str | None, verdicts: int, names: Sequence[str] | None = None
) -> Array | None:
    """Return M = 1 - r after checking r, or None for nominal verdicts; names are a tensor's."""
    if dissimilarity is None or (isinstance(dissimilarity, str) and dissimilarity == "nominal"):
        return None
    if isinstance(dissimilarity, str):
        if dissimilarity != "ordinal":
            raise InputError(
                f"dissimilarity {dissimilarity!r}: use 'nominal', 'ordinal', or a matrix "
                "(judgelaw.estimate.numeric(scores) makes one)"
            )
        if names is not None and tuple(names) == DEFAULT_VERDICTS:
            raise InputError(
                f"the verdicts {list(names)} are no scale from low to high: 'ordinal' needs one "
                "(recode or name the verdicts in order), or pass a matrix of distances"
            )
        return 1 - ordinal(verdicts)
    r = as_floats(dissimilarity, "dissimilarities")
    _check(r.astype(float), verdicts)
    return np.asarray(1 - r)


def _check(r: NDArray[np.float64], verdicts: int) -> None:
    if r.shape != (verdicts, verdicts):
        raise InputError(f"dissimilarity has shape {r.shape}, not {(verdicts, verdicts)}")
    if not np.isfinite(r).all() or (r < 0).any() or np.diag(r).any() or (r != r.T).any():
        raise InputError(
            "a dissimilarity is finite, not negative, symmetric, and zero on its diagonal"
        )
    centre = np.eye(verdicts) - 1 / verdicts
    low = float(np.linalg.eigvalsh(-centre @ r @ centre).min())
    if low < -_ROUNDING * float(r.max()):
        raise InputError(
            f"this dissimilarity could make true components negative (smallest eigenvalue of the "
            f"centred -r is {low:.3g}, and must be 0 or more): use squared distances of scores, "
            "or absolute differences on a line"
        )
