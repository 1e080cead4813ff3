"""What is estimated, and from what: cells, weights and dissimilarities of verdicts.

A cell is a combination of facet levels (prompt, order, ...) of one item. All estimators of this
package are quadratic in the cell means `p`, corrected by the self-pair excess `d` of each cell:

    p_u = n_u / R_u
    a_u = (R_u p_u'M p_u - 1) / (R_u - 1)
    d_u = p_u'M p_u - a_u = (1 - a_u) / R_u

where `a_u` is the agreement of distinct calls and M the similarity of verdicts (the identity for
nominal verdicts). Laws, plug-in and soft verdicts are the same thing with another `d`.

Facet axes come first, then verdicts, and items last: numpy reduces leading axes at memory speed.

A dissimilarity r(z, z') >= 0 with r(z, z) = 0 turns agreement into similarity M = 1 - r. Estimates
stay unbiased and additive for any symmetric r; the components that they estimate are nonnegative
exactly if -r is conditionally positive semidefinite, so anything else is refused.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import as_counts, as_floats
from judgelaw.errors import IncompleteDesignError, InputError, NotIdentifiedError
from judgelaw.tensor import DEFAULT_VERDICTS, VerdictTensor

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
    """Summarise soft verdicts (facets..., repeats, verdicts, items...), a vector for each call.

    s_u = mean_r |y_r|^2,     a_u = (R |ybar_u|^2 - s_u) / (R - 1),     d_u = (s_u - a_u) / R

    A call that is absent is nan. A vector may sum to less than one: a_u is then the mean of the
    products that are known, and never more than the agreement.
    """
    there = (y == y).all(axis=facets + 1)  # noqa: PLR0124 - nan differs from itself, in Fractions too
    known = np.where(np.expand_dims(there, facets + 1), y, 0)
    R = there.sum(axis=facets)
    R = R.astype(object) if y.dtype == object else R
    p = known.sum(axis=facets) / np.expand_dims(R, facets)
    s = (known * known).sum(axis=(facets, facets + 1)) / R
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


_NAMED_AT_MOST = 3

CellNames = Sequence[Sequence[str]]
"""Labels of the item, prompt and order axes, for messages."""


def counts_of(x: VerdictTensor | ArrayLike) -> tuple[NDArray[Any], CellNames | None]:
    """Return the counts of a tensor or an array, and the names of a tensor's cells.

    Calls of pooled prompts are no repeats of one law: pairs of them would bias every estimate.
    """
    if not isinstance(x, VerdictTensor):
        return as_counts(x), None
    if x.pooled:
        raise InputError(
            "the cells of this tensor pool several prompts (coarsen_prompts), and calls of "
            "different prompts are no repeats of one law: pass the tensor before it was "
            "coarsened, with the groups, to judgelaw.estimate.decompose_coarsened"
        )
    return x.counts, (x.items, x.prompts, x.orders)


def check_depth(
    n: NDArray[Any], R: NDArray[Any], *, minimum: int, names: CellNames | None = None
) -> None:
    """Require items, verdicts, and `minimum` calls in every cell; R are the calls of each cell."""
    check_size(n)
    low = int(R.min())
    if low >= minimum:
        return
    if low == 0:
        count, first = _first(np.equal(R, 0), names)
        raise IncompleteDesignError(
            f"{count} of {R.size} cells hold no call, first {first}: "
            "every cell needs calls; complete the run or drop the incomplete items"
        )
    count, first = _first(np.less(R, minimum), names)
    raise NotIdentifiedError(
        f"{count} of {R.size} cells hold fewer than {minimum} calls (R = {low}), first {first}: "
        f"{_remedy(R, minimum, names)}"
    )


def _remedy(R: NDArray[Any], minimum: int, names: CellNames | None) -> str:
    """Say what to do about short cells: where items are whole, those can be kept."""
    whole = int((minimum <= R).all(axis=(1, 2)).sum()) if names is not None else 0
    if whole:
        return (
            f"acquire the missing calls, or keep the {whole} of {len(R)} items that have "
            f"{minimum} in every cell, --incomplete drop (incomplete='drop')"
        )
    return (
        "one call cannot tell chance from the prompt's effect; acquire a second repeat "
        "of every cell (judgelaw.estimate.plugin exists at R = 1, biased)"
    )


def check_size(n: NDArray[Any]) -> None:
    """Require at least one item, one cell and one verdict."""
    if n.size == 0:
        raise InputError(f"counts of shape {n.shape} hold no item, no cell or no verdict")


def _first(wrong: NDArray[Any], names: CellNames | None) -> tuple[int, str]:
    where = np.argwhere(wrong)
    return len(where), "; ".join(_name(cell, names) for cell in where[:_NAMED_AT_MOST])


def _name(cell: NDArray[Any], names: CellNames | None) -> str:
    if names is None:
        return "cell " + str(tuple(int(j) for j in cell))
    return " x ".join(axis[j] for axis, j in zip(names, cell, strict=True))


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


def dissimilarity_of(
    x: VerdictTensor | ArrayLike, given: ArrayLike | str | None
) -> ArrayLike | str | None:
    """Return the dissimilarity that was given, else that of the scale whose scores x holds."""
    if given is None and isinstance(x, VerdictTensor) and x.scale is not None:
        return x.scale.distances(x.verdicts)
    return given


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


Weights = ArrayLike | Mapping[str, float] | None
"""Of a facet's levels, in their order or by name; None weighs them equally."""

_ROUNDING_OF_WEIGHTS = 1e-9


def weights_of(
    facet: str,
    given: Weights,
    levels: int,
    names: Sequence[str] | None = None,
    *,
    exact: bool = False,
) -> Array:
    """Return the weights of a facet's levels, positive and summing to one.

    A mapping is by level name, for a tensor whose axes carry names. `exact` weights are Fractions.
    """
    if given is None:
        return np.full(levels, Fraction(1, levels) if exact else 1 / levels)
    if isinstance(given, Mapping):
        given = _by_name(facet, given, names)
    w = as_floats(given, f"{facet} weights")
    if w.shape != (levels,):
        raise InputError(
            f"{facet} weights have shape {w.shape}; the {facet} axis has {levels} levels"
        )
    bad = [x for x in w.tolist() if not x > 0]
    if bad:
        raise InputError(
            f"{facet} weight {bad[0]}: weights are positive; leave out the levels that do not count"
        )
    total = w.sum()
    if abs(total - 1) > _ROUNDING_OF_WEIGHTS:
        raise InputError(f"{facet} weights sum to {total}, not to 1: divide them by their sum")
    return w


Design = Literal["census", "sampled"]


@dataclass(frozen=True, kw_only=True)
class Estimand:
    """What is estimated: everything that `decompose` takes beside the calls.

    Attributes:
        design: "census" if the prompts are all that matter, "sampled" if a generator drew them.
        order_weights: how often each order is used; equal by default.
        prompt_weights: how often each prompt is used; equal by default; census only.
        dissimilarity: "ordinal", "nominal", or a matrix of distances between verdicts; by default
            that of a tensor's scale, else equality.
    """

    design: Design = "census"
    order_weights: Weights = None
    prompt_weights: Weights = None
    dissimilarity: ArrayLike | str | None = None


CENSUS = Estimand()
"""All levels weigh the same, verdicts are equal or not, and the prompts are all that matter."""


def check_design(design: str, prompt_weights: Weights, K: int) -> None:
    """Refuse a design that does not exist, or that these prompts cannot have."""
    if design not in get_args(Design):
        raise InputError(f"design {design!r}: it is 'census' or 'sampled'")
    if design == "sampled":
        if prompt_weights is not None:
            raise InputError(
                "prompt weights make no sense for sampled prompts: the generator's own "
                "probabilities weigh them; leave prompt_weights out or use design='census'"
            )
        if K == 1:
            raise InputError(
                "one prompt was sampled: dispersion over a generator needs two or more "
                "(design='census' reports the other components of this one prompt)"
            )


def _by_name(facet: str, given: Mapping[str, float], names: Sequence[str] | None) -> list[float]:
    if names is None:
        raise InputError(
            f"{facet} weights by name need a VerdictTensor; pass a sequence for an array"
        )
    if set(given) != set(names):
        raise InputError(f"{facet} weights name {sorted(given)}; the levels are {sorted(names)}")
    return [given[name] for name in names]
