"""Call-sampling variance: unbiased by full enumeration, in fractions, with no tolerance."""

from fractions import Fraction

import numpy as np
import pytest

from judgelaw.estimate import COMPONENTS, decompose, similarity_of
from judgelaw.uncertainty import (
    call_covariance,
    call_covariances,
    component_map,
    concentration_forms,
    item_shares,
    true_call_covariance,
    true_variance_parts,
    variance_parts,
)
from support.enumeration import expectation, fractions, outcomes

F = Fraction

TWO_PROMPTS = fractions([[["1/2", "1/2"]], [["1/5", "4/5"]]])
THREE_VERDICTS = fractions([[["1/2", "1/3", "1/6"]], [["1/10", "1/5", "7/10"]]])
TWO_BY_TWO = fractions([[["1/2", "1/2"], ["1/3", "2/3"]], [["1/5", "4/5"], ["3/4", "1/4"]]])
ORDINAL = fractions([["0", "1/2", "1"], ["1/2", "0", "1/2"], ["1", "1/2", "0"]])
THIRDS = fractions(["1/3", "2/3"])
QUARTERS = fractions(["1/4", "3/4"])

CASES = {
    "two prompts": {"laws": TWO_PROMPTS, "repeats": 4},
    "unequal repeats": {"laws": TWO_PROMPTS, "repeats": [[4], [5]], "prompt_weights": THIRDS},
    "ordinal": {"laws": THREE_VERDICTS, "repeats": 4, "dissimilarity": ORDINAL},
    "sampled": {"laws": TWO_PROMPTS, "repeats": [[5], [4]], "design": "sampled"},
    "crossed": {
        "laws": TWO_BY_TWO,
        "repeats": 4,
        "prompt_weights": THIRDS,
        "order_weights": QUARTERS,
    },
}


def forms_of(laws, **options):
    """Coefficients of the components that the design has, as Fractions, and their names."""
    K, O = laws.shape[:2]
    w = options.get("prompt_weights", fractions([F(1, K)] * K))
    q = options.get("order_weights", fractions([F(1, O)] * O))
    L = component_map(K, O, options.get("design", "census"))
    names = [name for name, row in zip(COMPONENTS, L, strict=True) if not np.isnan(row).any()]
    rows = fractions([row.tolist() for row in L if not np.isnan(row).any()])
    return np.tensordot(rows, concentration_forms(w, q), axes=1), names


def flat(x):
    """Prompts and orders in one axis of cells."""
    return x.reshape(*x.shape[:-3], -1, x.shape[-1])


def covariance_by_enumeration(laws, repeats, **options):
    n, chances = outcomes(laws, repeats)
    _, names = forms_of(laws, **options)
    found = decompose(n, **options)
    values = np.stack([found[name] for name in names], axis=-1)
    centred = values - expectation(values, chances)
    products = centred[:, :, None] * centred[:, None, :]
    return expectation(products, chances), n, chances


@pytest.mark.parametrize("case", CASES)
def test_estimate_and_closed_form_equal_the_enumerated_covariance(case):
    """E V = Var of what `decompose` returns = the formula at the laws, for every component."""
    given = CASES[case]
    truth, n, chances = covariance_by_enumeration(**given)
    options = {k: v for k, v in given.items() if k not in {"laws", "repeats"}}
    c, _ = forms_of(given["laws"], **options)
    M = similarity_of(options.get("dissimilarity"), given["laws"].shape[-1])
    estimated = expectation(call_covariance(flat(n), c, M), chances)
    R = np.broadcast_to(fractions(given["repeats"]), given["laws"].shape[:-1]).reshape(1, -1)
    closed = true_call_covariance(flat(given["laws"][None]), R, c, M)[0]
    assert (estimated == truth).all()
    assert (closed == truth).all()


@pytest.mark.parametrize("depth", [2, 3, 6])
def test_parts_of_a_pilot_predict_the_variance_at_another_depth(depth):
    """A pilot with four and five calls expects the enumerated variance at 2, 3 and 6 calls."""
    truth, _, _ = covariance_by_enumeration(TWO_PROMPTS, depth)
    n, chances = outcomes(TWO_PROMPTS, [[4], [5]])
    c, _ = forms_of(TWO_PROMPTS)
    R = F(depth)
    predicted = variance_parts(flat(n), c).at(R)
    assert (expectation(predicted, chances) == truth).all()
    assert (true_variance_parts(flat(TWO_PROMPTS[None]), c).at(R)[0] == truth).all()


@pytest.mark.parametrize("calls", [2, 3])
def test_no_unbiased_variance_exists_below_four_calls(calls):
    """|P|^4 has degree four in the law, and an expectation over R calls has degree R at most."""
    law = F(1, 7)
    variance = []
    for step in range(6):
        p = law * (step + 1) / 2
        truth, _, _ = covariance_by_enumeration(fractions([[[p, 1 - p]], [["1", "0"]]]), calls)
        variance.append(truth[0, 0])
    differences = np.array(variance, dtype=object)
    for _ in range(4):
        differences = np.diff(differences)
    assert differences.all(), "the fourth differences of a polynomial of degree 3 would vanish"


@pytest.mark.parametrize("case", CASES)
def test_second_order_part_is_unbiased(case):
    """E V2 = sum_{u != v} 2 c_uv^2 tr(M S_u M S_v) / (R_u R_v), and R^(2) below where u = v."""
    given = CASES[case]
    options = {k: v for k, v in given.items() if k not in {"laws", "repeats"}}
    n, chances = outcomes(given["laws"], given["repeats"])
    c, _ = forms_of(given["laws"], **options)
    C = given["laws"].shape[-1]
    M = similarity_of(options.get("dissimilarity"), C)
    _, second = call_covariances(flat(n), c, M)
    P = flat(given["laws"])
    R = np.broadcast_to(fractions(given["repeats"]), given["laws"].shape[:-1]).reshape(-1)
    S = [np.diag(p) - np.outer(p, p) for p in P]
    like = fractions(np.eye(C, dtype=int).tolist()) if M is None else M
    cells = range(len(P))
    truth = sum(
        2
        * np.outer(c[:, u, v], c[:, u, v])
        * np.trace(like @ S[u] @ like @ S[v])
        / (R[u] * (R[v] - (u == v)))
        for u in cells
        for v in cells
    )
    assert (expectation(second, chances) == truth).all()


@pytest.mark.parametrize("repeats", [2, 3, [[2], [3]]])
def test_variance_of_a_share_is_unbiased(repeats):
    """E [sum W^2 p(1-p)/(R-1)] = Var of the weighted share, for other credits than 0 and 1 too."""
    weights = np.array([[0.25], [0.75]])
    n, chances = outcomes(THREE_VERDICTS, repeats)
    p = np.array([float(x) for x in chances])
    for credit in ([1.0, 0.0, 0.0], [1.0, 0.5, 0.0]):
        worth = np.tile(credit, (len(n), 1))
        found = item_shares(n.astype(float), worth, weights)
        mean = p @ found.means
        assert p @ found.variances == pytest.approx(p @ (found.means - mean) ** 2, rel=1e-12)


def test_item_variance_exceeds_call_variance_by_the_spread_of_true_items():
    """E[s^2 / N] = V_call + S_U^2 / N: the item error is conservative by exactly that."""
    items = [TWO_PROMPTS, fractions([[["1", "0"]], [["1/3", "2/3"]]])]
    N = len(items)
    truth = [decompose_law(law) for law in items]
    variances, tables = [], []
    for law in items:
        truth_cov, n, chances = covariance_by_enumeration(law, 2)
        variances.append(truth_cov[1, 1])
        tables.append((decompose(n).prompt, chances))
    (a, pa), (b, pb) = tables
    s2 = (a[:, None] - b[None, :]) ** 2 / 2
    expected = (s2 * pa[:, None] * pb[None, :]).sum()
    mean = sum(truth) / N
    spread = sum((u - mean) ** 2 for u in truth) / (N - 1)
    assert expected / N == sum(variances) / N**2 + spread / N


def decompose_law(law):
    """True prompt component of two prompts: a quarter of their squared distance."""
    difference = law[0, 0] - law[1, 0]
    return (difference * difference).sum() / 4
