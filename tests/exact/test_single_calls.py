"""Right, reword, swap and both from one call in each cell: unbiased by enumeration, exactly."""

from fractions import Fraction

import numpy as np
import pytest

from judgelaw.estimate import item_rates
from support.enumeration import expectation, fractions, outcomes

LAWS = fractions(
    [[["1/2", "1/3", "1/6"], ["1/3", "2/3", "0"]], [["1/5", "1/5", "3/5"], ["3/4", "1/4", "0"]]]
)
DISTANCES = fractions([["0", "1", "2"], ["1", "0", "1"], ["2", "1", "0"]])
CREDIT = fractions(["1", "1/2", "0"])
EVEN, LEANING = fractions(["1/2", "1/2"]), fractions(["1/3", "2/3"])


def differ(distances):
    same = np.array([[Fraction(int(i != j)) for j in range(3)] for i in range(3)])
    return same if distances is None else distances


def truth(change, w, q, D):
    """Return the mean distance of two calls, whose cells are drawn by the weights."""
    cells = [(k, o) for k in range(2) for o in range(2)]
    wanted = {
        "ask_again": lambda u, v: u == v,
        "reword": lambda u, v: u[0] != v[0] and u[1] == v[1],
        "swap": lambda u, v: u[0] == v[0] and u[1] != v[1],
        "both": lambda u, v: u[0] != v[0] and u[1] != v[1],
    }[change]

    def weight(u, v):
        # A facet that stays the same is drawn once, one that changes twice.
        of_prompt = w[u[0]] if u[0] == v[0] else w[u[0]] * w[v[0]]
        of_order = q[u[1]] if u[1] == v[1] else q[u[1]] * q[v[1]]
        return of_prompt * of_order

    chosen = [(u, v) for u in cells for v in cells if wanted(u, v)]
    apart = sum(weight(u, v) * (LAWS[u] @ D @ LAWS[v]) for u, v in chosen)
    return apart / sum(weight(u, v) for u, v in chosen)


@pytest.mark.parametrize("distances", [None, DISTANCES])
@pytest.mark.parametrize("repeats", [1, 2, [[1, 2], [2, 1]]])
@pytest.mark.parametrize(("w", "q"), [(EVEN, EVEN), (LEANING, EVEN), (LEANING, LEANING)])
def test_every_rate_is_unbiased_in_fractions(distances, repeats, w, q):
    counts, chances = outcomes(LAWS, repeats)
    unread = fractions(["0", "0", "1"])
    found = item_rates(
        counts,
        prompt_weights=w,
        order_weights=q,
        unread=unread,
        credit=CREDIT,
        distances=distances,
    )
    mean = (w[:, None, None] * q[:, None] * LAWS).sum(axis=(0, 1))
    assert expectation(found.right, chances) == mean @ CREDIT
    assert expectation(found.invalid, chances) == mean @ unread
    for change, x in found.changes.items():
        if change == "ask_again" and repeats != 2:
            assert x is None
        else:
            assert expectation(x, chances) == truth(change, w, q, differ(distances)), change


def test_a_facet_of_one_level_has_no_change():
    one = fractions(["1"])
    counts, _ = outcomes(LAWS[:1, :1], 1)
    found = item_rates(counts, prompt_weights=one, order_weights=one, unread=np.zeros(3))
    assert found.right is None
    assert set(found.changes.values()) == {None}
