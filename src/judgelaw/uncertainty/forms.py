"""Components as quadratic forms over the cells of an item, and what is declared of them.

Every concentration H, and so every component and every contrast of components, is

    const + sum_{u,v} c_uv A_uv,     A_uu the agreement of distinct calls of u,  A_uv = p_u'M p_v

with a symmetric matrix c over cells u = (prompt k, order o), in prompt-major order:

    H_XO: [u = v] w_k q_o             H_X: [k = l] w_k q_o q_p
    H_O:  [o = p] q_o w_k w_l         H_0: w_k w_l q_o q_p

So the call-sampling covariance of the four H gives that of everything else by linear algebra.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from judgelaw.arrays import PAIR
from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate import (
    CENSUS,
    COMPONENTS,
    Array,
    Decomposition,
    Design,
    Estimand,
    check_depth,
    check_design,
    counts_of,
    decompose_as,
    dissimilarity_of,
    similarity_of,
    weights_of,
)
from judgelaw.tensor import VerdictTensor
from judgelaw.uncertainty.call_variance import MIN_REPEATS

_AXES = 4


_WIDER = "use call_interval, which falls back on smoothed laws below four"


@dataclass(frozen=True, kw_only=True, eq=False)
class KnownCounts:
    """Counts of a design with everything that an estimator needs to know about it.

    Attributes:
        n: counts (items, prompts, orders, verdicts).
        w, q: weights of prompts and of orders.
        M: similarity of verdicts, None for equality.
        estimand: what is estimated, with weights as arrays where they were given.
        items: labels of the items, or None.
        ranked: verdict codes (items, prompts, orders, repeats), or None.
    """

    n: Array
    w: Array
    q: Array
    M: Array | None
    estimand: Estimand
    items: tuple[str, ...] | None
    ranked: Array | None

    @property
    def top(self) -> dict[str, float]:
        """The largest value that each component of a single item can have."""
        _, K, O, C = self.n.shape
        return ranges(K, O, C, self.M)

    @property
    def cells(self) -> Array:
        """Counts with prompts and orders in one axis, prompt-major: (items, cells, verdicts)."""
        N, K, O, C = self.n.shape
        return self.n.reshape(N, K * O, C)

    def decompose(self, counts: Array | None = None) -> Decomposition:
        """Decompose these counts, or others of the same design (..., items, prompts, ...)."""
        return decompose_as(self.n if counts is None else counts, self.estimand)


def ranges(prompts: int, orders: int, verdicts: int, M: Array | None = None) -> dict[str, float]:
    """Return the largest value that each component of a single item can have, for a census.

    A table that shows one verdict does not show that there is no other. M is the similarity of
    verdicts, None for equality.
    """
    C = max(verdicts, 2)

    def of(levels: int) -> float:
        return 1 - 1 / levels if M is None else _widest(1 - M, levels)

    return {
        "call": of(C),
        "prompt": of(min(prompts, C)),
        "order": of(min(orders, C)),
        "interaction": of(C),
        "total": of(C),
    }


def _widest(r: Array, levels: int) -> float:
    """Return a bound on the mean dissimilarity p'rp of two calls, p a law on so many verdicts.

    p'rp <= max r (1 - 1/levels). Since p'rp is concave in p, every law p gives another bound on all
    laws q: q'rq <= 2 max(rp) - p'rp. The ends of a scale, alone or with what lies off it, make that
    bound exact.
    """
    far = float(r.max())
    first, second = divmod(int(r.argmax()), len(r))
    third = int((r[first] + r[second]).argmax())
    laws = np.zeros((3, len(r)))
    laws[0] = 1 / len(r)
    laws[1, [first, second]] = 1 / 2
    laws[2, [first, second, third]] = 1 / 3
    bounds = [2 * float((r @ p).max()) - float(p @ r @ p) for p in laws]
    return min(far * (1 - 1 / levels), *bounds)


def declare(
    x: VerdictTensor | ArrayLike, estimand: Estimand = CENSUS, *, minimum: Literal[2, 4] = PAIR
) -> KnownCounts:
    """Check calls against what is to be estimated; every cell holds `minimum` calls or more.

    Two calls identify the components, four their call variance.
    """
    tensor = x if isinstance(x, VerdictTensor) else None
    n, _ = counts_of(x)
    if n.ndim != _AXES:
        raise InputError(
            f"counts have shape {n.shape}; errors of macroaverages need the four axes "
            "(items, prompts, orders, verdicts)"
        )
    K, O, C = n.shape[1:]
    check_design(estimand.design, estimand.prompt_weights, K)
    names = None if tensor is None else (tensor.items, tensor.prompts, tensor.orders)
    check_depth(n, n.sum(axis=-1), minimum=PAIR, names=names)
    w = weights_of("prompt", estimand.prompt_weights, K, names and names[1])
    q = weights_of("order", estimand.order_weights, O, names and names[2])
    r = dissimilarity_of(x, estimand.dissimilarity)
    known = KnownCounts(
        n=n,
        w=w,
        q=q,
        M=similarity_of(r, C),
        # Equal weights stay unsaid, which lets `decompose` take its exact integer path.
        estimand=replace(
            estimand,
            dissimilarity=r,
            prompt_weights=None if estimand.prompt_weights is None else w,
            order_weights=None if estimand.order_weights is None else q,
        ),
        items=names and names[0],
        ranked=None if tensor is None else tensor.ranked,
    )
    if minimum == MIN_REPEATS:
        require_four(known)
    return known


def require_four(known: KnownCounts, *, instead: str = _WIDER) -> None:
    """Require the calls that call variance takes; `instead` is what serves with fewer."""
    R = known.n.sum(axis=-1)
    short = int((R < MIN_REPEATS).sum())
    if short:
        raise NotIdentifiedError(
            f"{short} of {R.size} cells hold fewer than {MIN_REPEATS} calls (R = {R.min()}): no "
            "unbiased estimate of call-sampling variance exists below four. Acquire four repeats "
            f"of every cell, or {instead}"
        )


Contrast = str | Mapping[str, float]
"""A component by name, or coefficients by component: `{"prompt": 1, "order": -1}`."""

# Rows are COMPONENTS, columns H_XO, H_X, H_O, H_0; call and total are 1 minus their form.
_CENSUS = ((-1, 0, 0, 0), (0, 1, 0, -1), (0, 0, 1, -1), (1, -1, -1, 1), (0, 0, 0, -1))


def concentration_forms(w: Array, q: Array) -> Array:
    """Return the coefficients of H_XO, H_X, H_O and H_0, (4, cells, cells)."""
    dtype = np.result_type(w, q)
    same_k, same_o = np.eye(len(w), dtype=dtype), np.eye(len(q), dtype=dtype)
    ww, qq = np.outer(w, w), np.outer(q, q)
    return np.stack(
        [
            np.kron(same_k * w, same_o * q),
            np.kron(same_k * w, qq),
            np.kron(ww, same_o * q),
            np.kron(ww, qq),
        ]
    )


def component_map(prompts: int, orders: int, design: Design = "census") -> Array:
    """Return the components in terms of the four concentrations, (5, 4); nan for absent facets.

    Sampled prompts use distinct prompts in squared prompt means: prompt and interaction times
    K/(K-1), order minus interaction/(K-1), total plus prompt/(K-1).
    """
    L = np.array(_CENSUS, dtype=float)
    if design == "sampled":
        call, prompt, order, interaction, total = L
        more = 1 / (prompts - 1) if prompts > 1 else np.nan
        L = np.stack(
            [
                call,
                prompt * (1 + more),
                order - interaction * more,
                interaction * (1 + more),
                total + prompt * more,
            ]
        )
    absent = [prompts < 2, orders < 2]  # noqa: PLR2004 - a facet varies over two levels or more
    for row, facets in ((1, absent[:1]), (2, absent[1:]), (3, absent)):
        if any(facets):
            L[row] = np.nan
    return L


def contrast_vector(contrast: Contrast) -> NDArray[np.float64]:
    """Return the coefficients of a contrast over COMPONENTS."""
    return _single(contrast) if isinstance(contrast, str) else _coefficients(contrast)


@lru_cache
def _single(component: str) -> NDArray[np.float64]:
    found = _coefficients({component: 1.0})
    found.flags.writeable = False
    return found


def _coefficients(weights: Mapping[str, float]) -> NDArray[np.float64]:
    if unknown := [name for name in weights if name not in COMPONENTS]:
        raise InputError(f"no component is called {unknown[0]!r}; there are {list(COMPONENTS)}")
    if not any(weights.values()):
        raise InputError(f"contrast {dict(weights)!r} has no coefficient that is not zero")
    return np.array([weights.get(name, 0.0) for name in COMPONENTS], dtype=float)


def form_of(contrast: Contrast, w: Array, q: Array, design: Design = "census") -> Array:
    """Return the coefficient matrix of a contrast over cells, (cells, cells).

    Raises:
        NotIdentifiedError: the contrast uses a component whose facet has one level.
    """
    row = contrast_row(contrast, component_map(len(w), len(q), design))
    return np.asarray(np.tensordot(row, concentration_forms(w, q), axes=1))


def contrast_row(contrast: Contrast, components: Array) -> Array:
    """Return a contrast in terms of the four concentrations.

    Raises:
        NotIdentifiedError: the contrast uses a component whose facet has one level.
    """
    if (absent := absent_component(contrast, components)) is not None:
        raise NotIdentifiedError(absent_reason(absent))
    ell = contrast_vector(contrast)
    used = ell != 0
    return np.asarray(ell[used] @ components[used])


def absent_component(contrast: Contrast, components: Array) -> str | None:
    """Return the first component of a contrast that the design does not have, or None."""
    absent = (contrast_vector(contrast) != 0) & np.isnan(components).any(axis=1)
    return COMPONENTS[int(np.argmax(absent))] if absent.any() else None


def absent_reason(component: str) -> str:
    """Say why a component does not exist in a design whose facet has one level."""
    facet = {"prompt": "prompt", "order": "order", "interaction": "prompt or order"}.get(
        component, "prompt"
    )
    return (
        f"the {component} component needs two levels of {facet}, and the design has one: "
        "leave the component out, or acquire another level"
    )
