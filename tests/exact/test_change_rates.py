"""How often verdicts change: unbiased by enumeration, and linear in the components, exactly."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from judgelaw.estimate import decompose
from judgelaw.uncertainty import CHANGES, change_contrast
from support.enumeration import expectation, fractions, outcomes

TWO_BY_TWO = fractions([[["1/2", "1/2"], ["1/3", "2/3"]], [["1/5", "4/5"], ["3/4", "1/4"]]])
THREE_PROMPTS = fractions(
    [[["1/2", "1/2"], ["1", "0"]], [["1/5", "4/5"], ["0", "1"]], [["1/3", "2/3"], ["1/4", "3/4"]]]
)
THREE_ORDERS = fractions([[["1/2", "1/2"], ["1/3", "2/3"], ["1/7", "6/7"]]])
ONE_ORDER = fractions([[["1/2", "1/3", "1/6"]], [["1/4", "1/4", "1/2"]], [["0", "1/5", "4/5"]]])


def pairs(change, K, O):
    """Return the pairs of cells that two calls come from, each with the same weight."""
    cells = list(product(range(K), range(O)))
    other = {
        "ask_again": lambda u, v: u == v,
        "reword": lambda u, v: u[0] != v[0] and u[1] == v[1],
        "swap": lambda u, v: u[0] == v[0] and u[1] != v[1],
        "both": lambda u, v: u[0] != v[0] and u[1] != v[1],
    }[change]
    return [(u, v) for u in cells for v in cells if other(u, v)]


def truth(change, laws):
    """Return the chance that two calls disagree, by the laws of their cells."""
    K, O = laws.shape[:2]
    chosen = pairs(change, K, O)
    return sum(1 - laws[u] @ laws[v] for u, v in chosen) / len(chosen)


def counted(change, n):
    """Count the pairs of distinct calls that disagree, cell by cell: the definition."""
    K, O, _ = n.shape
    shares = []
    for u, v in pairs(change, K, O):
        R, S = n[u].sum(), n[v].sum()
        same = (n[u] * (n[u] - 1)).sum() / (R * (R - 1)) if u == v else (n[u] @ n[v]) / (R * S)
        shares.append(1 - same)
    return sum(shares) / len(shares)


def of_components(change, found, K, O, design="census"):
    contrast = change_contrast(change, K, O, design)
    return sum(c * found[name] for name, c in contrast.items())


def possible(K, O):
    return [c for c in CHANGES if pairs(c, K, O)]


@pytest.mark.parametrize(
    ("laws", "repeats", "design"),
    [
        (TWO_BY_TWO, 2, "census"),
        (TWO_BY_TWO, [[2, 3], [4, 2]], "census"),
        (TWO_BY_TWO, [[2, 3], [4, 2]], "sampled"),
        (THREE_PROMPTS, 2, "census"),
        (THREE_PROMPTS, 2, "sampled"),
        (THREE_ORDERS, [[2, 2, 3]], "census"),
        (ONE_ORDER, 2, "census"),
        (ONE_ORDER, 2, "sampled"),
    ],
)
def test_each_change_is_unbiased_in_fractions(laws, repeats, design):
    K, O = laws.shape[:2]
    counts, chances = outcomes(laws, repeats)
    found = decompose(counts, design=design)
    for change in possible(K, O):
        estimate = of_components(change, found, K, O, design)
        assert expectation(estimate, chances) == truth(change, laws), change


@pytest.mark.parametrize("design", ["census", "sampled"])
@pytest.mark.parametrize("shape", [(2, 2, 2), (4, 2, 3), (3, 3, 4), (5, 1, 3)])
def test_the_contrast_counts_pairs_of_calls_in_every_sample(shape, design):
    K, O, _ = shape
    rng = np.random.default_rng(sum(shape))
    for _ in range(5):
        n = rng.integers(1, 4, size=shape)
        exact = np.vectorize(Fraction, otypes=[object])(n)
        found = decompose(exact[None], design=design)
        for change in possible(K, O):
            assert of_components(change, found, K, O, design)[0] == counted(change, exact), change


def test_unequal_weights_of_two_orders_leave_a_swap_as_it_is():
    """With weights, reword keeps its contrast; a swap of two orders has no weights to speak of."""
    n = np.random.default_rng(3).integers(1, 5, size=(3, 2, 3))
    exact = np.vectorize(Fraction, otypes=[object])(n)
    q = fractions(["1/5", "4/5"])
    found = decompose(exact[None], order_weights=q)
    a = [[counted("ask_again", exact[k : k + 1, o : o + 1]) for o in range(2)] for k in range(3)]
    again = sum(q[o] * a[k][o] for k in range(3) for o in range(2)) / 3
    assert of_components("ask_again", found, 3, 2)[0] == again
    reword = sum(q[o] * counted("reword", exact[:, o : o + 1]) for o in range(2))
    assert of_components("reword", found, 3, 2)[0] == reword
