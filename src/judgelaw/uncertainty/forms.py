"""Components as quadratic forms: coefficient matrices over the cells of an item.

Every concentration H, and so every component and every contrast of components, is

    const + sum_{u,v} c_uv A_uv,     A_uu the agreement of distinct calls of u,  A_uv = p_u'M p_v

with a symmetric matrix c over cells u = (prompt k, order o), in prompt-major order:

    H_XO: [u = v] w_k q_o             H_X: [k = l] w_k q_o q_p
    H_O:  [o = p] q_o w_k w_l         H_0: w_k w_l q_o q_p

So the call-sampling covariance of the four H gives that of everything else by linear algebra.
"""

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from judgelaw.errors import InputError, NotIdentifiedError
from judgelaw.estimate.cells import Array
from judgelaw.estimate.decomposition import COMPONENTS, Design

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
    if isinstance(contrast, str):
        return _single(contrast)
    return _coefficients(contrast)


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


def contrast_name(contrast: Contrast) -> str:
    """Return a contrast in words, `prompt - order`."""
    if isinstance(contrast, str):
        return contrast
    terms = [_term(c, name) for name, c in contrast.items() if c]
    return " ".join(terms).removeprefix("+ ")


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


def _term(coefficient: float, name: str) -> str:
    sign = "-" if coefficient < 0 else "+"
    size = abs(coefficient)
    return f"{sign} {name}" if size == 1 else f"{sign} {size:g} {name}"
