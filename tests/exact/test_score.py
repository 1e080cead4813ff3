"""The variances behind a score by full enumeration, in fractions, with no tolerance."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from judgelaw.decide.score_parts import FACETS, ScoreProtocol, cell_scores, score_parts
from support.enumeration import expectation, fractions, outcomes

F = Fraction
LAWS = fractions(
    [
        [[["1/2", "1/2"], ["1/3", "2/3"]], [["1/5", "4/5"], ["3/4", "1/4"]]],
        [[["1/6", "5/6"], ["0", "1"]], [["2/3", "1/3"], ["1/2", "1/2"]]],
    ]
)
VALUES = fractions(["1", "1/3"])


def effects(y):
    """Squared effects of a table (prompts, orders), averaged over levels."""
    K, O = y.shape
    mean = y.sum() / F(K * O)
    prompt = y.sum(axis=1) / F(O) - mean
    order = y.sum(axis=0) / F(K) - mean
    both = y - mean - prompt[:, None] - order
    return {
        "prompt": (prompt**2).sum() / F(K),
        "order": (order**2).sum() / F(O),
        "interaction": (both**2).sum() / F(K * O),
    }


@pytest.mark.parametrize("R", [2, [[[2, 3], [2, 2]], [[2, 2], [3, 2]]]])
def test_the_parts_of_a_score_are_unbiased(R):
    n, chances = outcomes(LAWS, R)
    found = [score_parts(cell_scores(counts, VALUES)) for counts in n]
    y = (LAWS * VALUES).sum(axis=-1)

    def mean(of):
        return expectation(np.array([of(x) for x in found], dtype=object), chances)

    for facet in FACETS:
        U = (effects(y[0])[facet] + effects(y[1])[facet]) / F(2)
        B = effects((y[0] + y[1]) / F(2))[facet]
        assert mean(lambda x, facet=facet: x.per_item[facet]) == U
        assert mean(lambda x, facet=facet: x.asked[facet]) == B
        assert mean(lambda x, facet=facet: x.shared[facet]) == 2 * B - U
    items = y.sum(axis=(1, 2)) / F(4)
    assert mean(lambda x: x.items) == ((items - items.sum() / F(2)) ** 2).sum()
    variance = (LAWS * VALUES**2).sum(axis=-1) - y**2
    assert mean(lambda x: x.call) == variance.sum() / F(8)
    calls = np.broadcast_to(R, variance.shape)
    assert mean(lambda x: x.noise) == sum(
        v / F(64 * int(r)) for v, r in zip(variance.flat, calls.flat, strict=True)
    )


def test_values_of_each_item_are_its_own():
    n = fractions([[[[2, 1]]], [[[1, 3]]]])
    own = cell_scores(n, fractions([["1", "0"], ["0", "1"]]))
    assert own.y.reshape(-1).tolist() == [F(2, 3), F(3, 4)]


@pytest.mark.parametrize(("s", "K"), [(1, 3), (2, 3), (1, 2)])
def test_the_variance_of_drawn_prompts_is_that_of_all_draws(s, K):
    """Fixed laws, no dice: every draw of s of K prompts for these very items, all counted."""
    y = fractions([["1/2", "1/3", "7/8"], ["1/5", "1", "0"]])[:, :K]
    cells = cell_scores(
        np.stack([y * 1000, 1000 - y * 1000], axis=-1)[:, :, None], fractions([1, 0])
    )
    still = type(cells)(y=cells.y, s2=cells.s2 * 0, v=cells.v * 0)
    parts = score_parts(still)
    draws = [y[:, list(chosen)].sum() / F(2 * s) for chosen in combinations(range(K), s)]
    mean = sum(draws) / F(len(draws))
    truth = sum((x - mean) ** 2 for x in draws) / F(len(draws))
    asked = ScoreProtocol(prompts=s, orders=1, repeats=1, items=2, new_items=False)
    assert parts.variance(asked) == pytest.approx(float(truth), abs=1e-15)
    own = [[y[i, list(c)].sum() / F(s) for c in combinations(range(K), s)] for i in range(2)]
    each = [x + z for x in own[0] for z in own[1]]
    middle = sum(each) / F(len(each))
    truth = sum((x - middle) ** 2 for x in each) / F(4 * len(each))
    alone = ScoreProtocol(prompts=s, orders=1, repeats=1, items=2, draw="item", new_items=False)
    assert parts.variance(alone) == pytest.approx(float(truth), abs=1e-15)
