"""Unbiased call-sampling variance of the prompt component, for balanced designs and many items.

The same estimate as `judgelaw.uncertainty.call_variance.call_covariance` (FORMULAS 4), and a test
holds one against the other. The prompt form has two coefficients only,

    c_uv = [k = l] / (K O^2) - 1 / (K^2 O^2),    c_uu = (K - 1) / (K^2 O^2),

so sums over pairs of cells become squares of sums: an order of magnitude less work than the general
matrix of cells, which makes a calibration of millions of items a matter of seconds. All
intermediate sums are whole numbers, below 2^24 for the designs that packed counting admits, so
single precision holds them exactly.
"""

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

Singles = NDArray[np.float32]
Floats = NDArray[np.float64]


def prompt_variance(n: Singles) -> Floats:
    """Variance estimates (items,) from counts (prompts, orders, verdicts, items), R >= 4 each."""
    K, O, _, items = n.shape
    R = float(n[0, 0, :, 0].sum())
    by_prompt = n.sum(axis=1)
    everything = by_prompt.sum(axis=0)
    cells = np.zeros((7, items))
    for k in range(K):
        for o in range(O):
            # K^2 O^2 R times g_u, the form's pull of all other cells.
            g = K * (by_prompt[k] - n[k, o]) - (everything - n[k, o])
            _add_cell(cells, n[k, o], g)
    R2, R3, R4 = R * (R - 1), R * (R - 1) * (R - 2), R * (R - 1) * (R - 2) * (R - 3)
    T1, T3, T4, ngg, ng2, Y, ngT1 = cells
    c_uu, unit = (K - 1) / (K * O) ** 2, 1 / ((K * O) ** 2 * R)
    t1 = (ngg / R - ng2 / R**2) * unit**2 * R / (R - 1)
    t2 = (Y / R2 - (ngT1 - 2 * Y) / R3) * unit
    t3 = T3 / R3 - T4 / R4
    own = T1 / R2 - 2 * T3 / R3 + T4 / R4
    return np.asarray(
        4 / R * (t1 + 2 * c_uu * t2 + c_uu**2 * t3)
        + 2 * c_uu**2 / R2 * own
        - 2 / R**2 * _pairs_of_cells(n, R)
    )


def _add_cell(cells: Floats, n: Singles, g: Singles) -> None:
    """Add a cell's sums: T1 (= T2 for nominal verdicts), T3, T4, and those with g."""
    less = n - 1
    nv = n * less
    T1 = nv.sum(axis=0)
    T3 = (nv * less).sum(axis=0) - T1
    ng = n * g
    pull = ng.sum(axis=0)
    cells[0] += T1
    cells[1] += T3
    cells[2] += T1 * T1 - 4 * T3 - 2 * T1
    cells[3] += (ng * g).sum(axis=0)
    cells[4] += pull * pull
    cells[5] += (ng * less).sum(axis=0)
    cells[6] += pull * T1


def _pairs_of_cells(n: Singles, R: float) -> Floats:
    """Return sum_{u != v} c_uv^2 tr(Sh_u Sh_v), with Sh = R/(R-1) (diag p - p p').

    R^2 (diag p - p p') has the entries n_c (R - n_c) and -n_c n_d, whole numbers; the trace of a
    product of two such matrices is the sum of products of entries, off-diagonal ones twice.
    """
    K, O, C, _ = n.shape
    pairs = list(combinations(range(C), 2))
    own = (n * (R - n)).astype(np.float32)
    cross = np.stack([n[:, :, c] * n[:, :, d] for c, d in pairs], axis=2)
    each = _norm(own, cross).sum(axis=(0, 1))
    own_k, cross_k = own.sum(axis=1), cross.sum(axis=1)
    of_prompts = _norm(own_k, cross_k).sum(axis=0)
    of_all = _norm(own_k.sum(axis=0), cross_k.sum(axis=0))
    across = 1 / (K * O) ** 4
    within = ((K - 1) / (K * O) ** 2) ** 2
    same_prompt, other_prompt = of_prompts - each, of_all - of_prompts
    return np.asarray((within * same_prompt + across * other_prompt) / R**4 * (R / (R - 1)) ** 2)


def _norm(own: Singles, cross: Singles) -> Floats:
    total = (own * own).sum(axis=-2, dtype=np.float64)
    total += 2 * (cross * cross).sum(axis=-2, dtype=np.float64)
    return np.asarray(total)
