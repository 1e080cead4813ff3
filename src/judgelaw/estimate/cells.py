"""Cells: what every estimator needs to know of the calls, and nothing else.

A cell is a combination of facet levels (prompt, order, ...) of one item. All estimators of this
package are quadratic in the cell means `p`, corrected by the self-pair excess `d` of each cell:

    p_u = n_u / R_u
    a_u = (R_u p_u'M p_u - 1) / (R_u - 1)
    d_u = p_u'M p_u - a_u = (1 - a_u) / R_u

where `a_u` is the agreement of distinct calls and M the similarity of verdicts (the identity for
nominal verdicts). Laws, plug-in and soft verdicts are the same thing with another `d`.

Facet axes come first, then verdicts, and items last: numpy reduces leading axes at memory speed.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
"""Floats in use; object arrays of Fractions in the exact proofs."""


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Means and self-pair excesses of cells.

    Attributes:
        p: mean verdict vector of each cell, (facets..., verdicts, items...).
        d: self-pair excess of each cell, (facets..., items...).
        similarity: M, (verdicts, verdicts), or None for the identity.
    """

    p: Array
    d: Array
    similarity: Array | None = None


def of_counts(n: Array, facets: int, similarity: Array | None = None) -> Cells:
    """Summarise counts (facets..., verdicts, items...) of cells with two calls or more."""
    R = n.sum(axis=facets)
    p = n / np.expand_dims(R, facets)
    pMp = quadratic(p, facets, similarity)
    a = (R * pMp - 1) / (R - 1)
    return Cells(p=p, d=(1 - a) / R, similarity=similarity)


def of_laws(p: Array, facets: int, similarity: Array | None = None) -> Cells:
    """Summarise known laws, or empirical ones taken at face value (the plug-in): no excess."""
    return Cells(p=p, d=np.zeros_like(p.sum(axis=facets)), similarity=similarity)


def of_soft(y: Array, facets: int) -> Cells:
    """Summarise soft verdicts (facets..., repeats, verdicts, items...), a law for each call.

    s_u = mean_r |y_r|^2,     a_u = (R |ybar_u|^2 - s_u) / (R - 1),     d_u = (s_u - a_u) / R
    """
    R = y.shape[facets]
    p = y.mean(axis=facets)
    s = (y * y).sum(axis=facets + 1).mean(axis=facets)
    a = (R * (p * p).sum(axis=facets) - s) / (R - 1)
    return Cells(p=p, d=(s - a) / R)


def facets_first(x: Array, axes: int) -> Array:
    """Move the last `axes` axes (facets, then verdicts) to the front, so that items come last."""
    return np.moveaxis(x, range(x.ndim - axes, x.ndim), range(axes))


def quadratic(p: Array, axis: int, similarity: Array | None) -> Array:
    """Return p'Mp along the verdict axis."""
    if similarity is None:
        return np.asarray((p * p).sum(axis=axis))
    Mp = np.moveaxis(np.tensordot(similarity, p, axes=(1, axis)), 0, axis)
    return np.asarray((p * Mp).sum(axis=axis))
